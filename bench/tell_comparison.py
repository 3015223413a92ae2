"""The page about other tools, from rows of bench/comparison.py. Losses stand before wins."""
import math
import statistics

SURE = 1.02  # a result counts as faster or slower by more than this at the near end of its interval
NAMES = {"isomer": "isomer", "onnxsim": "onnxsim", "onnxslim": "OnnxSlim", "onnxoptimizer": "onnxoptimizer",
         "ort_extended": "ONNX Runtime, saved (extended)", "ort_all": "ONNX Runtime, saved (all)", "openvino": "OpenVINO, as runtime"}
SAME = {"ratio": 1.0, "low": 1.0, "high": 1.0}  # a model that came back as it was
ABOUT = """What other tools make of the models of the zoo, and what `isomer optimize` does. Ratios are latency before / after on ONNX Runtime with all
of its own optimizations, one thread, measured in turns; brackets are 95 % intervals. *Proved* is what `isomer prove` says of the original and
the result, within a time limit; of isomer's own results, what `isomer check` says of the certificate. Time and memory are the tool's own, from
start to file; isomer uses the budget that it is given. OpenVINO writes no ONNX model: it is measured as a runtime on the original, and its time
and memory are those of loading and running it."""


def speed(row):
    return row.get("time") or SAME


def interval(pair):
    return f"{pair['ratio']:.2f} [{pair['low']:.2f}, {pair['high']:.2f}]"


def proofs(tool, rows):
    """(proved, refuted, undecided), as texts."""
    if tool == "openvino":
        return "-", "-", "-"
    if tool == "isomer":
        accepted = sum(r["accepted"] for r in rows)
        return str(accepted), str(len(rows) - accepted), "0"
    verdicts = [r["equal"]["verdict"] for r in rows if "equal" in r]
    proved, refuted = verdicts.count("proved"), verdicts.count("refuted")
    return str(proved), str(refuted), str(len(verdicts) - proved - refuted)


def summary(by_tool):
    yield "| tool | models | failed | faster | slower | mean | best | worst | median s | most memory, MB | proved | refuted | not decided |"
    yield "|---|" + "---:|" * 12
    for tool, title in NAMES.items():
        rows = by_tool.get(tool, [])
        done = [r for r in rows if "failure" not in r]
        if not done:
            continue
        pairs = [speed(r) for r in done]
        ratios = [p["ratio"] for p in pairs]
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        yield (f"| {title} | {len(rows)} | {len(rows) - len(done)} | {sum(p['low'] > SURE for p in pairs)} | {sum(p['high'] < 1 / SURE for p in pairs)} | "
               f"{mean:.3f} | {max(ratios):.2f} | {min(ratios):.2f} | {statistics.median(r['seconds'] for r in done):.1f} | "
               f"{max(r['peak_bytes'] for r in done) / 1e6:.0f} | {' | '.join(proofs(tool, done))} |")
    yield ""


def certified(rows):
    asked = [r["certify"] for r in rows if "certify" in r]
    told = [c for c in asked if "failure" not in c]
    if not told:
        return
    proved, outputs = sum(c["proved"] for c in told), sum(c["outputs"] for c in told)
    refuted = sum("refuted" in c["words"] for c in told)
    equal = sum(r.get("equal", {}).get("verdict") == "proved" for r in rows if "certify" in r)
    yield (f"onnxsim's own proof (`--certify`, with float inputs said to be within 10) proves {proved} of {outputs} outputs, "
           f"calls something different in {refuted} models and fails on {len(asked) - len(told)}; "
           f"`isomer prove`, for all inputs, proves {equal} of these {len(asked)} models.")
    yield ""


def counted(verdicts):
    return ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items())) or "not asked"


def faults(rows):
    total = sum(r["faults"] for r in rows)
    if not total:
        return
    yield from ("## Planted faults", "",
                f"{total} changes in one place of a model; each changes the outputs on ONNX Runtime. A fault that is called equal is a "
                "false proof.", "",
                "| who is asked | what was said | false proofs |", "|---|---|---:|")
    for who, title in (("isomer", "`isomer prove`"), ("certify", "onnxsim's `certify`")):
        verdicts = {}
        for r in rows:
            for verdict, count in r[who].items():
                verdicts[verdict] = verdicts.get(verdict, 0) + count
        yield f"| {title} | {counted(verdicts)} | {sum(who == w for r in rows for w, _ in r['false'])} |"
    yield ""


def duels(by_tool, is_ours):
    """(model, tool, our speed, theirs) where one is faster than the other with 95 % confidence; the largest difference first."""
    ours = {r["model"]: speed(r) for r in by_tool.get("isomer", []) if "failure" not in r}
    for tool in (t for t in NAMES if t != "isomer"):
        for r in by_tool.get(tool, []):
            if "failure" in r or r["model"] not in ours:
                continue
            first, second = (ours[r["model"]], speed(r)) if is_ours else (speed(r), ours[r["model"]])
            if first["low"] > SURE * second["high"]:
                yield r["model"], tool, ours[r["model"]], speed(r)


def duel_table(by_tool, title, is_ours):
    found = sorted(duels(by_tool, is_ours), key=lambda d: (d[2]["ratio"] / d[3]["ratio"]) * (-1 if is_ours else 1))
    yield from (f"## {title}: {len(found)}", "")
    if found:
        yield from ("| model | tool | isomer | the tool |", "|---|---|---|---|")
        yield from (f"| {model} | {NAMES[tool]} | {interval(ours)} | {interval(theirs)} |" for model, tool, ours, theirs in found)
        yield ""


def failures(by_tool):
    failed = [(NAMES[tool], r) for tool in NAMES for r in by_tool.get(tool, []) if "failure" in r]
    if failed:
        yield from (f"## Failures: {len(failed)}", "", "| tool | model | it said |", "|---|---|---|")
        yield from (f"| {title} | {r['model']} | {r['failure'].replace('|', '/')} |" for title, r in failed)
        yield ""


def page(rows):
    """All but the head of the page."""
    by_tool = {}
    for r in sorted(rows, key=lambda r: r["model"]):
        by_tool.setdefault(r["tool"], []).append(r)
    yield from (ABOUT, "")
    yield from summary(by_tool)
    yield (f"*Faster* and *slower*: by more than {100 * (SURE - 1):.0f} % at the near end of the interval. Means are geometric, over the models that "
           "did not fail; a model that isomer gave back unchanged counts as 1.")
    yield ""
    yield from certified(by_tool.get("onnxsim", []))
    yield from faults(by_tool.get("faults", []))
    yield from duel_table(by_tool, "Where another tool is faster than isomer, with 95 % confidence", False)
    yield from duel_table(by_tool, "Where isomer is faster than another tool, with 95 % confidence", True)
    yield from failures(by_tool)
