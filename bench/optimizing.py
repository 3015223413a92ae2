"""`isomer optimize` run many times: one answer as a row, checked, and measured again."""
import contextlib
import json
import pathlib
import tempfile

import _paths  # noqa: F401
import programs
import zoo


@contextlib.contextmanager
def filled_model(name, kept):
    """A model of the zoo with its weights, from the folder `kept` if it has it, and a folder to write into."""
    with tempfile.TemporaryDirectory(dir=kept) as temporary:
        folder = pathlib.Path(temporary)
        model = kept / f"{name}.onnx" if kept else None
        yield model if model and model.exists() else zoo.fill(name, folder), folder


def optimize(model, out, *options):
    """What it answers, and whether the checker accepts what it wrote."""
    isomer = programs.program("isomer")
    done = programs.run([isomer, "optimize", str(model), "-o", str(out), "--json", "--quiet", *options], timeout=3000)
    if done.code != 0:
        return {"result": "failed", "reason": done.stderr[-300:]}
    row = json.loads(done.stdout) | {"seconds": done.seconds, "peak_bytes": done.peak_bytes}
    check = programs.run([isomer, "check", str(model), str(out), f"{out}.cert", "--json"], timeout=900)
    row |= {"accepted": check.code == 0, "check_seconds": check.seconds}
    if check.code != 0:
        row["rejected"] = check.stdout[-300:]
    return row


def bench(a, b, *options):
    """The one measured against the other, independently; None: it can't be."""
    answer = programs.run([programs.program("isomer"), "bench", str(a), str(b), "--json", *options], timeout=900)
    if answer.code != 0:
        return None
    pair = json.loads(answer.stdout)["pairs"][0]
    return {key: pair[key] for key in ("ratio", "low", "high", "verdict")}
