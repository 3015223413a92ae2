"""libisomer.so: an installed tree, moved elsewhere, is all that another project needs; it shows what its headers declare and nothing else."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx

build = pathlib.Path(os.environ["ISOMER"]).parent
source = pathlib.Path(os.environ["ISOMER_SOURCE_DIR"])
cmake = shutil.which("cmake") or shutil.which("cmake", path=str(pathlib.Path(sys.executable).parent))
if not ((build / "libisomer.so").exists() and (build / "isomer-worker").exists() and cmake):
    print("skipped: the library or its worker is not built, or there is no cmake")
    sys.exit(77)


def run(*command, **options):
    ran = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False, **options)
    assert ran.returncode == 0, f"{command} ended with {ran.returncode}\n{ran.stdout}{ran.stderr}"
    return ran.stdout


def declared():
    """Names of the functions and classes that the public headers show."""
    text = "\n".join(header.read_text(encoding="utf-8") for header in sorted((source / "include/isomer").glob("*.h")))
    return set(re.findall(r"^ISOMER_API [^;(]*?(\w+)\(", text, re.M)), set(re.findall(r"^class ISOMER_API (\w+)", text, re.M))


def check_symbols(library):
    functions, classes = declared()
    assert {"isomer_optimize", "optimize", "check", "bench"} <= functions and classes == {"Error", "Model", "NotModelledError"}, (functions, classes)
    shown = [line.split(" ", 2)[2] for line in run("nm", "-DC", "--defined-only", library).splitlines()]
    seen = set()
    for symbol in shown:
        name = re.sub(r"^(vtable|typeinfo|typeinfo name) for ", "", symbol)
        name = re.sub(r"\[abi:\w+\]", "", name)
        if match := re.match(r"isomer::api::(\w+)", name):
            assert match[1] in functions | classes, f"{symbol} is in no public header"
            seen.add(match[1])
        else:
            assert symbol in functions, f"{symbol} is in no public header"
            seen.add(symbol)
    assert seen == functions | classes, f"not in the library: {sorted((functions | classes) - seen)}"
    print(f"{len(shown)} symbols, all of the public headers")


def check_name(library):
    version = re.search(r"project\(isomer VERSION (\d+\.\d+)(\.\d+)", (source / "CMakeLists.txt").read_text(encoding="utf-8"))
    dynamic = run("readelf", "-d", library)
    assert f"[libisomer.so.{version[1]}]" in dynamic, dynamic
    assert library.resolve().name == f"libisomer.so.{version[1]}{version[2]}", library.resolve()
    assert str(build) not in dynamic and str(source) not in dynamic, f"a path of this machine is in it:\n{dynamic}"


def write_model(path):
    weights = np.random.default_rng(0).standard_normal((2, 8, 8)).astype(np.float32)
    model = onnx.parser.parse_model("""
      <ir_version: 8, opset_import: ["" : 17]>
      block (float[4, 8] x) => (float[4, 8] y) { a = MatMul (x, w) b = MatMul (x, v) c = Add (a, b) y = Relu (c) }
    """)
    model.graph.initializer.extend(onnx.numpy_helper.from_array(w, n) for w, n in zip(weights, "wv"))
    onnx.save(model, path)


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    run(cmake, "--install", build, "--prefix", folder / "there")
    prefix = (folder / "there").rename(folder / "elsewhere")
    (library,) = prefix.rglob("libisomer.so")
    check_symbols(library)
    check_name(library)
    assert sorted(p.name for p in (prefix / "include").rglob("*.h")) == sorted(p.name for p in (source / "include/isomer").glob("*.h"))
    assert sorted(p.name for p in (prefix / "bin").iterdir()) == ["isomer", "isomer-check", "isomer-worker"]
    for text in (*prefix.rglob("*.cmake"), *prefix.rglob("*.pc")):
        assert str(folder / "there") not in text.read_text(encoding="utf-8"), text

    model = folder / "model.onnx"
    write_model(model)
    # No ISOMER_WORKER: the library finds the program that was installed with it.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("ISOMER")} | {"VIRTUAL_ENV": sys.prefix}
    run(cmake, "-S", source / "examples/consumer", "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={prefix}",
        "-DCMAKE_C_FLAGS=-Werror", "-DCMAKE_CXX_FLAGS=-Werror", "-DCMAKE_BUILD_TYPE=Release")
    run(cmake, "--build", folder / "build")
    print(run(folder / "build/consumer", model, folder / "a.onnx", "runtime", env=environment))
    print(run(folder / "build/consumer_c", model, folder / "b.onnx", env=environment))
    assert (folder / "a.onnx").read_bytes() == (folder / "b.onnx").read_bytes()
    assert not list(folder.glob(".isomer-*")), "scratch files are left"

    # Without CMake.
    if shutil.which("pkg-config"):
        (pc,) = prefix.rglob("isomer.pc")
        flags = run("pkg-config", "--cflags", "--libs", "isomer", env=dict(os.environ, PKG_CONFIG_PATH=str(pc.parent))).split()
        run("cc", "-std=c99", source / "examples/consumer/consumer.c", "-o", folder / "by_hand", *flags, f"-Wl,-rpath,{library.parent}")
        run(folder / "by_hand", model, folder / "c.onnx", env=environment)
