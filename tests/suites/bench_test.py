"""isomer bench and isomer run --engine ort: the contract of streams, JSON and exit codes, on real runtimes."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx

ISOMER = os.environ["ISOMER"]
if not os.access(ISOMER, os.X_OK):
    print("skipped: the command is not built")
    sys.exit(77)
os.environ["VIRTUAL_ENV"] = sys.prefix


def isomer(*arguments, expected=0):
    done = subprocess.run([ISOMER, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == expected, (arguments, done.returncode, done.stdout, done.stderr)
    return done


def model(folder, name, body, shape="batch, 20000"):
    path = folder / f"{name}.onnx"
    onnx.save(onnx.parser.parse_model(f"""
      <ir_version: 8, opset_import: ["" : 17]>
      g (float[{shape}] x) => (float[{shape}] y) {{ {body} }}"""), path)
    return path


def test_a_profile_is_written_for_other_viewers(folder):
    path = model(folder, "two", "a = Erf(x) y = Tanh(a)")
    data, trace = folder / "data.json", folder / "trace.json"
    isomer("bench", path, "--seconds", 1, "--node-data", data, "--trace", trace)
    results = json.loads(data.read_text())["results"]
    assert set(results) == {"node", "node_1"} and all(r["value"] > 0 for r in results.values()), results
    events = [e for e in json.loads(trace.read_text())["traceEvents"] if e["ph"] == "X"]
    assert [(e["name"], e["args"]["nodes"]) for e in events] == [("Erf", ["node"]), ("Tanh", ["node_1"])], events
    assert events[1]["ts"] >= events[0]["ts"] + events[0]["dur"] > 0
    assert "exactly one model" in isomer("bench", path, path, "--trace", trace, expected=2).stderr
    assert "overwrite" in isomer("bench", path, "--trace", path, expected=2).stderr


def test_bench_tells_which_is_faster(folder):
    short, long = model(folder, "short", "y = Erf(x)"), model(folder, "long", "a = Erf(x) b = Erf(a) c = Erf(b) y = Erf(c)")
    answer = json.loads(isomer("bench", long, short, "--seconds", 12, "--json").stdout)
    assert {"runtime", "version", "threads", "models", "pairs"} <= set(answer)
    assert (answer["runtime"], answer["threads"]) == ("ort", 1)
    assert answer["network"] in ("seccomp", "namespace")
    assert "batch=1" in answer["inputs"]
    for entry in answer["models"]:
        assert {"path", "latency_ns", "peak_bytes", "operators"} <= set(entry)
        assert entry["latency_ns"]["low"] <= entry["latency_ns"]["median"] <= entry["latency_ns"]["high"]
        assert entry["operators"][0]["op"] == "Erf"
    pair, = answer["pairs"]
    assert pair["verdict"] == "faster" and 1 < pair["low"] <= pair["ratio"] <= pair["high"]
    text = isomer("bench", long, short, "--seconds", 2).stdout
    assert "faster" in text or "no difference" in text


def test_bench_on_two_runtimes(folder):
    one = model(folder, "one", "y = Erf(x)")
    answer = json.loads(isomer("bench", one, "--runtime", "ort,openvino", "--seconds", 2, "--json").stdout)
    assert answer["runtime"] == "ort" and [other["runtime"] for other in answer["others"]] == ["openvino"]
    assert answer["pairs"] == []


def test_bench_takes_from_its_cache(folder):
    a, b = model(folder, "a", "y = Erf(x)"), model(folder, "b", "t = Erf(x) y = Erf(t)")
    cache = folder / "timings.sqlite"
    first = json.loads(isomer("bench", a, b, "--seconds", 1, "--cache", cache, "--json").stdout)["pairs"][0]
    again = json.loads(isomer("bench", a, b, "--seconds", 1, "--cache", cache, "--json").stdout)["pairs"][0]
    assert (first["from_cache"], again["from_cache"]) == (False, True)
    assert first["ratio"] == again["ratio"]
    other = json.loads(isomer("bench", a, b, "--seconds", 1, "--cache", cache, "--threads", 2, "--json").stdout)["pairs"][0]
    assert not other["from_cache"]


def test_what_is_refused(folder):
    one = model(folder, "one", "y = Erf(x)")
    assert isomer("bench", one, "--runtime-library", "/nonexistent.so", expected=2).stderr.startswith("isomer: ")
    assert isomer("bench", folder / "none.onnx", expected=2).stderr.startswith("isomer: ")
    assert "--runtime-config" in isomer("bench", one, "--runtime-config", "x", expected=2).stderr
    unknown = folder / "unknown.onnx"
    node = onnx.helper.make_node("NoSuchOperator", ["x"], ["y"], domain="com.example")
    value = lambda name: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2])
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph([node], "g", [value("x")], [value("y")]), ir_version=8,
                                     opset_imports=[onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("com.example", 1)]),
              unknown)
    done = isomer("bench", unknown, "--json", expected=2)
    assert "refuses" in done.stderr and "error" in json.loads(done.stdout)


def test_run_on_ort_is_what_the_formulas_say(folder):
    small = model(folder, "small", "t = Relu(x) y = Softmax(t)", "batch, 5")
    np.savez(folder / "f.npz", x=np.random.default_rng(0).standard_normal((3, 5)).astype(np.float32))
    for engine in ("ort", "reference"):
        isomer("run", small, "--feeds", folder / "f.npz", "-o", folder / f"{engine}.npz", "--engine", engine)
    ort, reference = (np.load(folder / f"{engine}.npz")["y"] for engine in ("ort", "reference"))
    assert np.allclose(ort, reference, atol=1e-6) and ort.shape == (3, 5)
    assert "'x'" in isomer("run", small, "-o", folder / "o.npz", "--engine", "ort", expected=2).stderr


for name, test in list(globals().items()):
    if name.startswith("test_"):
        print(name, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            test(pathlib.Path(folder))
