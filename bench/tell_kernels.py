"""The page of `isomer optimize --kernels`, from the lines of bench/kernel_time.py."""
WANTED_AGAIN = 10  # seconds
# The example of the README's first lines.
EXAMPLE, WORDS = "rapidocr-onnxruntime/rec4", "PP-OCRv4 text recognition, as `rapidocr-onnxruntime` ships it"


def example(told):
    made = next((row["first"] for row in told[1] if row["model"] == EXAMPLE), None) if told else None
    if not made or not made.get("kernels"):
        return
    times = f" ({made['before_ms']:.1f} → {made['after_ms']:.1f} ms a line)" if made.get("after_ms") else ""
    yield from (f"{WORDS}: **{made['ratio']:.1f}× faster** than ONNX Runtime{times}, "
                f"at every width, proved equal, written in {made['seconds']:.0f} s.", "")


def cell(made):
    if not made.get("ratio"):
        return f"{made['result']}: {made['reason']}".replace("|", "/")
    kernels = "" if made["kernels"] else f" (no kernels: {made['why_no_kernels']})".replace("|", "/")
    return f"{made['ratio']:.2f} [{made['low']:.2f}, {made['high']:.2f}]{kernels}"


def page(told, provenance, generated):
    lines = ["# Results: `isomer optimize --kernels`", "", generated, ""]
    if told is None:
        return [*lines, "Not measured yet: `bench/kernel_time.py`."]
    head, rows = told
    lines += ["Each model is made twice with the default budget of 5 minutes: "
              "first with an empty [cache](../reference/commands.md), then with what the "
              "first run left there. Times are of the whole command, in seconds. The gain is over ONNX Runtime on the model as it is; one thread.",
              "", provenance(head), "",
              "| model | gain, 95 % interval | first, s | wanted, s | C++ compiler, s | gain, second time | second, s | wanted, s |",
              "|---|---|--:|--:|--:|---|--:|--:|"]
    for row in rows:
        first, second = row["first"], row["second"]
        compiler = f"{first['compiler_ms'] / 1000:.1f}" if first.get("compiler_ms") is not None else "-"
        lines.append(f"| {row['model']} | {cell(first)} | {first['seconds']:.1f} | {row['wanted']} | {compiler} | {cell(second)} | {second['seconds']:.1f} | "
                     f"{WANTED_AGAIN} |")
    return lines
