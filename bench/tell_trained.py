"""The page of trained models: every command on each (trained_right), speed (trained_speed), pairs in the wild (trained_prove)."""
import collections
import math
import statistics

CLASSES = ("improved", "unchanged", "ran", "refused", "failed")
WAY_TITLES = {"inspect": "`inspect`", "bare": "`bench` without any option", "cost": "`optimize --judge cost`", "default": "`optimize`",
              "module": "`compile`", "custom-op": "`compile --as custom-op`"}
SPEED_TITLES = {"graph": "`optimize`", "kernels": "`compile --as custom-op`", "both": "both", "openvino": "OpenVINO"}
# What would help a model whose time is spent in such operators; the first that matches.
REMEDIES = (
    ("DynamicQuantizeLinear MatMulInteger MatMulIntegerToFloat DynamicQuantizeMatMul ConvInteger QLinearConv QLinearMatMul QGemm", "kernels for int8"),
    ("LSTM GRU RNN DynamicQuantizeLSTM", "kernels for recurrent cells"),
    ("If Loop Scan", "rewrites inside of control flow"),
    ("STFT DFT", "a Fourier transform by products of fewer terms"),
    ("Attention MultiHeadAttention", "fused attention"),
    ("Conv FusedConv ConvTranspose", "faster convolutions at these sizes"),
    ("MatMul Gemm FusedMatMul FusedGemm", "faster matrix products at these sizes"),
    ("Resize", "a kernel for resizing"),
    ("Transpose Concat Slice Gather Pad Expand Tile ReorderInput ReorderOutput", "fewer copies"),
)


def cell(text, most=200):
    text = " ".join(str(text).split()).replace("|", "/")
    return text if len(text) <= most else text[:most].rsplit(" ", 1)[0] + " …"


def mean(numbers):
    return math.exp(statistics.fmean(map(math.log, numbers)))


# ---- every command ---------------------------------------------------------------------------------------------------

def right_section(found, provenance):
    yield from ("## Every command on every model", "",
                "Real inputs at the usual size. *Improved*: the result is a changed model, both checkers accept it, its interface is the same, and its task's "
                "answer is the same at every size that it accepts. *Refused*: the message names the node or the input, the reason and the options "
                "to set. *Failed*: "
                "anything else, for example a changed answer.", "")
    if found is None:
        yield from ("There are no results yet.", "")
        return
    head, rows = latest(found, "model", "way")
    counts = collections.Counter((row["way"], row["class"]) for row in rows)
    answers = [one for row in rows for one in row.get("answers", []) if "same" in one]
    failed, refused = (f"{sum(row['class'] == kind for row in rows)} {kind} ({len({row['model'] for row in rows if row['class'] == kind})} models)"
                       for kind in ("failed", "refused"))
    changed = [one for one in answers if not one["same"]]
    sensitive = sum(one["sensitive"] for one in changed)
    more = f" {sensitive} more changed by no more than twice what ONNX Runtime's own passes change." if sensitive else ""
    yield from (f"**{len({row['model'] for row in rows})} models, {len(rows)} runs: {failed}, {refused}. {len(answers)} answers compared, "
                f"{len(changed) - sensitive} changed.**" + more,
                "", provenance(head), "", "| command | " + " | ".join(CLASSES) + " |", "|---|" + "---:|" * len(CLASSES))
    for way, title in WAY_TITLES.items():
        if any(counts[way, kind] for kind in CLASSES):
            yield f"| {title} | " + " | ".join(str(counts[way, kind]) for kind in CLASSES) + " |"
    yield ""
    for kind, title in (("failed", "Failed"), ("refused", "Refused")):
        of_it = [row for row in rows if row["class"] == kind]
        if of_it:
            yield from (f"### {title}", "", "| model | command | why |", "|---|---|---|",
                        *(f"| {row['model']} | {WAY_TITLES[row['way']]} | {cell(row['why'])} |" for row in of_it), "")


def latest(found, *fields):
    """The last record of each key: a later line replaces an earlier one."""
    head, rows = found
    return head, list({tuple(row[f] for f in fields): row for row in rows}.values())


# ---- speed -----------------------------------------------------------------------------------------------------------

def ratio(row, way):
    """What a way gives; where it found nothing, what it starts from."""
    measured = row["ways"].get(way, {}).get("ratio")
    if measured or way == "openvino":
        return measured
    return 1.0 if way != "both" else max(ratio(row, "graph"), ratio(row, "kernels"))


def best_way(row):
    """The fastest way that is faster with 95 % confidence, or None."""
    sure = [way for way in ("graph", "kernels", "both") if row["ways"].get(way, {}).get("low", 0) > 1]
    return max(sure, key=lambda way: ratio(row, way), default=None)


def speed_summary(rows):
    yield from ("| way | models | geometric mean | median | best | surely slower |", "|---|---:|---:|---:|---:|---:|")
    for way, title in SPEED_TITLES.items():
        numbers = [ratio(row, way) for row in rows if ratio(row, way)]
        slower = sum(row["ways"].get(way, {}).get("high", 1) < 0.98 for row in rows)
        if numbers:
            yield f"| {title} | {len(numbers)} | {mean(numbers):.3f} | {statistics.median(numbers):.3f} | {max(numbers):.2f} | {slower} |"


def headline(found):
    rows = [row for row in latest(found, "model")[1] if "ways" in row]
    both, openvino = ([ratio(row, way) for row in rows if ratio(row, way)] for way in ("both", "openvino"))
    slower = sum(row["ways"].get("both", {}).get("high", 1) < 0.98 for row in rows)
    return (f"{len(rows)} trained models out of packages", f"geometric mean {mean(both):.2f}× with kernels, {slower or 'none'} slower; OpenVINO "
            f"{mean(openvino):.2f}× on {len(openvino)} of them", "trained.md")


def what_would_help(operators):
    weight = collections.Counter()
    for name, share in operators:
        remedy = next((words for names, words in REMEDIES if name in names.split()), "")
        weight[remedy] += share
    weight.pop("", None)
    return weight.most_common(1)[0][0] if weight else "fewer and larger operators"


def time_spent(row):
    return ", ".join(f"{name} {share:.0%}" for name, share in row["operators"][:3])


def speed_row(row):
    raw, best = row["ways"]["raw"], best_way(row)
    figures = " | ".join(f"{ratio(row, way):.2f}" if ratio(row, way) else "-" for way in SPEED_TITLES)
    load = f"{raw['load_ms']:.0f} → {row['ways'][best]['load_ms']:.0f}" if best else f"{raw['load_ms']:.0f}"
    size = f"{row['bytes']['raw'] / 1e6:.1f} → {row['bytes'][best] / 1e6:.1f}" if best else f"{row['bytes']['raw'] / 1e6:.1f}"
    seconds = sum(made["seconds"] for made in row["made"].values())
    done = "; ".join(f"{SPEED_TITLES[way]}: {made['words']}" for way, made in row["made"].items() if made["class"] == "improved" and made["words"])
    return f"| {row['model']} | {raw['ms']:.2f} | {figures} | {load} | {size} | {seconds:.0f} | {cell(done, 160)} |"


def speed_section(found, provenance):
    yield from ("## Speed", "",
                "One thread, real inputs at the usual size; ONNX Runtime with all of its optimizations on the model as it is = 1.00, higher is faster. All "
                "ways run by turns in one process; ratios are of CPU time, the median over turns. *both*: `compile --as custom-op` of the output of "
                "`optimize`. A way that finds no gain has the ratio of its input. OpenVINO runs in float32 at this size (-: not converted).", "")
    if found is None:
        yield from ("There are no results yet.", "")
        return
    head, rows = latest(found, "model")
    good, failed = [row for row in rows if "ways" in row], [row for row in rows if "ways" not in row]
    gaining = [row for row in good if best_way(row)]
    yield from (f"**{len(rows)} models: {len(gaining)} faster, {len(good) - len(gaining)} as they were, {len(failed)} not measured.**", "",
                provenance(head), "", *speed_summary(good), "",
                "| model | ms | " + " | ".join(SPEED_TITLES.values()) + " | load, ms | MB | seconds taken | what was done |",
                "|---|---:|" + "---:|" * len(SPEED_TITLES) + "---:|---:|---:|---|", *map(speed_row, sorted(good, key=lambda row: -ratio(row, "both"))), "")
    if len(gaining) < len(good):
        yield from ("### No gain", "", "| model | its time | what would help | `optimize` says | `compile` says |", "|---|---|---|---|---|")
        for row in good:
            if not best_way(row):
                said = [cell(row["made"].get(way, {}).get("words", ""), 140) for way in ("graph", "kernels")]
                yield f"| {row['model']} | {time_spent(row)} | {what_would_help(row['operators'])} | {said[0]} | {said[1]} |"
        yield ""
    for row in failed:
        yield f"- {row['model']} was not measured: {cell(row['failure'])}"


# ---- pairs -----------------------------------------------------------------------------------------------------------

def strongest(rows):
    """The strongest answer for each pair: decided, and for all sizes; if none is decided, that at one size."""
    found = {}
    for row in rows:
        is_decided = row["verdict"] in ("proved", "refuted")
        rank = (is_decided, is_decided == (row["at"] == "all sizes" and not row.get("sizes")))
        key = row["first"], row["second"]
        if key not in found or rank > found[key][0]:
            found[key] = rank, row
    return [row for _, row in found.values()]


def verdict_words(row):
    sizes = row.get("sizes") or ("" if row["at"] == "all sizes" else "one size")
    words = row["verdict"] + (f" at {sizes}" if sizes and row["verdict"] in ("proved", "refuted") else "")
    return words + (", but for rounded constants" if row["verdict"] == "proved" and row.get("constants_rounded") else "")


def pairs_section(found, provenance):
    yield from ("## Pairs in the wild", "",
                "Packages ship one set of weights as several graphs, and several trainings under one name. `isomer prove` in both directions; the stronger "
                "answer is shown. *near*: constants differ by rounding or denormals, so that the two are not equal over the reals.", "")
    if found is None:
        yield from ("There are no results yet.", "")
        return
    head, rows = latest(found, "first", "second", "order", "at")
    shown = strongest(rows)
    for kind, wanted in (("equal", "proved"), ("near", "decided"), ("different", "refuted")):
        of_it = [row for row in shown if row["expected"] == kind]
        done = sum(row["verdict"] == wanted or wanted == "decided" and row["verdict"] != "undecided" for row in of_it)
        yield f"- {kind}: {done} of {len(of_it)} {wanted}"
    yield from (f"- wrong answers: {sum(bool(row['fault']) for row in rows)}", "", provenance(head), "",
                "| pair | expected | verdict | s | why |", "|---|---|---|---:|---|")
    for row in shown:
        compared = [r["compare"] for r in rows if (r["first"], r["second"]) == (row["first"], row["second"]) and "compare" in r]
        parting = next((one["parting"] for one in compared if one.get("parting")), "")
        words = row["fault"] or row.get("why", "") + (f"; on real inputs they part at {parting}" if parting else "")
        yield f"| {row['first']}, {row['second']} | {row['expected']} | {verdict_words(row)} | {row['seconds']:.1f} | {cell(words)} |"
    yield ""


def page(right, speed, pairs, provenance, generated):
    yield from ("# Results: trained models out of packages", "", generated, "",
                "The models that packages ship ([which, and how to fetch them](../developers/trained-models.md)): with trained weights, open sizes, int8, "
                "float16, control flow. [Per package](packages.md): the speedup of each package.", "")
    yield from right_section(right, provenance)
    yield from speed_section(speed, provenance)
    yield from pairs_section(pairs, provenance)
