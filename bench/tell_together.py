"""The page of graphs and kernels, apart and together, from the lines of bench/together.py."""
import math
import statistics

WAYS = {"openvino": "OpenVINO", "graph": "graph", "kernels": "kernels", "after": "one after the other", "together": "together"}


def ratio(row, way):
    """What a way gives; where it found nothing, what it starts from. None: not measured."""
    if way == "openvino":
        return row.get("openvino")
    if way in row["ways"]:
        return row["ways"][way]["ratio"]
    return 1.0 if way in ("graph", "kernels") else ratio(row, "kernels")


def summary(rows):
    """Per way: of how many models, geometric mean, the same without the two best, median, those slower than 0.98."""
    for way, title in WAYS.items():
        found = sorted(r for r in (ratio(row, way) for row in rows) if r)
        if not found:
            continue
        def mean(numbers):
            return f"{math.exp(statistics.fmean(map(math.log, numbers))):.2f}" if numbers else "-"

        yield f"| {title} | {len(found)} | {mean(found)} | {mean(found[:-2])} | {statistics.median(found):.2f} | {sum(r < 0.98 for r in found)} |"


def beaten(rows, ways):
    """The models on which together is faster than all of these ways, by 5 % or more."""
    gains = sorted(((ratio(r, "together") / max(ratio(r, way) for way in ways), r["model"]) for r in rows), reverse=True)
    better = [f"{name} ({gain:.2f})" for gain, name in gains if gain >= 1.05]
    return f"{len(better)}" + (": " + ", ".join(better) if better else "")


def ahead_of_openvino(rows):
    both = [r for r in rows if r.get("openvino")]
    return f"Together is ahead of OpenVINO on {sum(ratio(r, 'together') > r['openvino'] for r in both)} of {len(both)} models that both run."


def against_estimates(rows):
    """Beside what an estimate says there is: contractions as fast as oneDNN's, Winograd as its prototype, the rest one pass."""
    shares = [ratio(r, "together") / r["estimate"] for r in rows if r.get("estimate")]
    if shares:
        mean = math.exp(statistics.fmean(map(math.log, shares)))
        yield from ("", f"*estimate*: contractions at the measured speed of oneDNN's primitives, Winograd as its prototype, one pass over the rest "
                    f"(`../shared/headroom`); it contains no fusion across convolutions. On the {len(shares)} models that have an estimate, "
                    f"together reaches {mean:.2f} of it "
                    f"in the geometric mean, and at 0.95 or more on {sum(s >= 0.95 for s in shares)}.")


def taken(row):
    made = row.get("together_made") or row.get("kernels_made") or {}
    if "operators" not in made:
        return "**failed**: " + (made.get("failure", "").strip().splitlines() or [""])[-1][:120].replace("|", "/")
    operators = made["operators"]
    words = "no operator" if operators == 0 else "one operator" if operators == 1 else f"{operators} operators"
    graph = {"": "the model's graph", "graph.onnx": "the graph of `optimize`", "cost.onnx": "the graph of `--judge cost`",
             "optimize": "the graph of `optimize`", "optimize for kernels": "the graph of `--judge cost`"}.get(made["graph"], "a mixture")
    return f"{words}, {graph}"


def page(found, provenance, generated):
    yield from ("# Results: graphs and kernels, apart and together", "", generated, "",
                "Models of the zoo, one thread; ONNX Runtime with all of its optimizations on the model as it is = 1.00. *graph*: what `isomer optimize` "
                "writes. *kernels*: `isomer compile --as custom-op` of the model. *one after the other*: the same of the output of `optimize`. *together*: "
                "equal graphs offered to one choice of regions and engines ([how](../guides/kernels.md)). All of these run "
                "by turns in one process; ratios are of CPU time, the median over turns. OpenVINO in float32 runs in a separate process, by turns. A "
                "way that finds no gain has the ratio of its input.", "")
    if found is None:
        yield "There are no results yet."
        return
    head, rows = found
    failed = [r for r in rows if "ways" not in r]
    rows = [r for r in rows if "ways" in r]
    yield from (f"{len(rows)} models" + (f"; {len(failed)} failed" if failed else "") +
                " so far: those that the run reached, mostly small ones. They are no sample of the zoo, so their means are not those of the zoo.", "",
                "| way | models | geometric mean | without the two best | median | slower than 0.98 |", "|---|---:|---:|---:|---:|---:|", *summary(rows), "",
                "By 5 % or more, together beats:", "",
                f"- one after the other on {beaten(rows, ['after'])}",
                f"- each of graph, kernels and one after the other on {beaten(rows, ['after', 'kernels', 'graph'])}", "", ahead_of_openvino(rows),
                *against_estimates(rows), "", provenance(head), "",
                "| model | ms | " + " | ".join(WAYS.values()) + " | estimate | together: what was taken |", "|---|---:|" + "---:|" * (len(WAYS) + 1) + "---|")
    for r in sorted(rows, key=lambda r: -ratio(r, "together")):
        figures = " | ".join(f"{ratio(r, way):.2f}" if ratio(r, way) else "-" for way in WAYS)
        estimate = f"{r['estimate']:.2f}" if r.get("estimate") else "-"
        yield f"| {r['model']} | {r['ways']['raw_ms']:.2f} | {figures} | {estimate} | {taken(r)} |"
    for r in failed:
        yield f"| {r['model']} |" + " |" * (len(WAYS) + 2) + f" {r.get('failure', '')[:80].replace('|', '/')} |"
