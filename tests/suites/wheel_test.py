"""The Python package: its wheel, made of this build, in a fresh environment without this tree.

  tests/suites/wheel_test.py                 makes the wheel of $ISOMER's build, installs it, runs what is below
  tests/suites/wheel_test.py --wheel FILE    the same for a wheel that is there already, with this Python
  tests/suites/wheel_test.py --inside ...    what is run inside: public functions, doctests, docs/reference/python.md, README's block, Ctrl-C

Between the two, docs/get-started.md and the guides run with the wheel, where the trained models that they use are there.

Says how large the wheel is and how long `import isomer` takes; neither is a verdict about time.
"""
import argparse
import doctest
import importlib.util
import inspect
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import threading

if "--inside" not in sys.argv:  # inside, this tree is not there
    import _paths  # noqa: F401
    import pages as runnable

SKIPPED = 77
MOST_BYTES = 20e6  # of a wheel


def run(*command, **options):
    ran = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False, **options)
    assert ran.returncode == 0, f"{command} ended with {ran.returncode}\n{ran.stdout}{ran.stderr}"
    return ran.stdout


# ---- outside: the wheel and the environment


def make_wheel(build, source):
    """Compiles nothing but the extension: the rest is what the build has made. Always in the same folder, so that ccache knows it."""
    folder = build / "python"
    shutil.rmtree(folder, ignore_errors=True)
    cmake = shutil.which("cmake") or shutil.which("cmake", path=str(pathlib.Path(sys.executable).parent))
    run(cmake, "--install", build, "--prefix", folder / "prefix", "--strip")
    settings = {"build-dir": folder / "build", "cmake.define.ISOMER_PREFIX": folder / "prefix"}
    if shutil.which("ccache"):
        settings["cmake.define.CMAKE_CXX_COMPILER_LAUNCHER"] = "ccache"
    run(sys.executable, "-m", "pip", "wheel", "--no-index", "--no-deps", "--no-build-isolation", "-w", folder / "dist",
        *(word for key, value in settings.items() for word in ("-C", f"{key}={value}")), source)
    (wheel,) = (folder / "dist").glob("isomer_onnx-*.whl")
    return wheel


def fresh_environment(wheel, folder):
    """A virtual environment with the wheel, and with the packages of this Python's, but for none of this tree."""
    run(sys.executable, "-m", "venv", "--without-pip", folder / "venv")
    python = folder / "venv" / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps", "--disable-pip-version-check", wheel)
    (site,) = (folder / "venv" / "lib").glob("python3.*/site-packages")
    (site / "others.pth").write_text(sysconfig.get_paths()["purelib"])
    environment = {"PATH": f"{python.parent}:/usr/bin:/bin", "HOME": str(folder), "ISOMER_CACHE": "none"}
    return python, environment


def import_milliseconds(python, environment):
    """The time of `import isomer` alone, as this process's own time: the median of some runs."""
    program = "import time; t = time.process_time(); import isomer; print(time.process_time() - t)"
    return 1000 * statistics.median(float(run(python, "-c", program, env=environment)) for _ in range(7))


def outside(wheel):
    source = pathlib.Path(os.environ.get("ISOMER_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if wheel is None:
            build = pathlib.Path(os.environ.get("ISOMER", source / "build/release/isomer")).parent
            if not (build / "libisomer.so").exists() or not (build / "isomer-worker").exists() or not (build / "isomer-check").exists():
                print("skipped: the library or a program is not built")
                return SKIPPED
            if not (importlib.util.find_spec("nanobind") and importlib.util.find_spec("scikit_build_core")):
                print("skipped: no nanobind or scikit-build-core here; tools/setup installs them")
                return SKIPPED
            wheel = make_wheel(build, source)
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
        assert wheel.stat().st_size < MOST_BYTES
        python, environment = fresh_environment(wheel, folder)
        work = folder / "work"
        work.mkdir()
        # Copied, so that nothing beside them can be imported.
        script = shutil.copy(__file__, work)
        pages = [shutil.copy(source / page, work) for page in ("docs/reference/python.md", "README.md")]
        inside = subprocess.run([python, script, "--inside", *pages], cwd=work, env=environment, check=False)
        check_guides(python, environment, folder)
        print(f"import isomer: {import_milliseconds(python, environment):.0f} ms of CPU time")
        return inside.returncode


def check_guides(python, environment, folder):
    """Get started and the guides, as far as pages_test.py does not run them: they need the package."""
    if not shutil.which("clang++") and not shutil.which("g++"):
        print("no C++ compiler here: pages about kernels are not tested")
        return
    for page in filter(runnable.needs_package, runnable.pages()):
        work = folder / page.stem
        work.mkdir()
        if not runnable.run(page, work, python, environment):
            print(f"{page.name}: its trained model is not there; tools/fetch_trained brings it")


# ---- inside: only what a user has


def check_documented(page):
    """Each public name has a text of its own and is on the page."""
    import isomer

    for module, prefix in ((isomer, ""), (isomer.rules, "rules.")):
        names = isomer.__all__ if module is isomer else [n for n, v in vars(module).items() if getattr(v, "__module__", "") == module.__name__ and n[0] != "_"]
        for name in names:
            if name.startswith("_"):
                continue
            assert re.search(rf"\b{re.escape(prefix + name)}\b", page), f"docs/reference/python.md does not tell {prefix}{name}"
            text = getattr(module, name).__doc__ or ""
            assert text and not text.startswith(f"{name}("), f"{prefix}{name} has no text"


def has_compiler():
    """Whether there is a C++ compiler, which only `compile` needs; an old system may have none."""
    folders = [pathlib.Path(p) for p in os.environ["PATH"].split(":")]
    return bool(os.environ.get("CXX")) or any(next(folder.glob(name), None) for folder in folders for name in ("clang++*", "g++*"))


def check_doctests():
    import isomer

    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner()
    modules = [isomer, isomer._functions, isomer._inputs, isomer._module, isomer._results, isomer.rules]
    if pathlib.Path(isomer.get_library_path()).exists():  # left out where its header was not to be had
        modules.append(isomer._provider)
    for module in modules:
        for test in finder.find(module):
            if has_compiler() or "isomer.compile(" not in test.docstring:
                runner.run(test)
    failed, tried = runner.summarize()
    assert failed == 0 and tried > 40, (failed, tried)
    options = [p.name for p in inspect.signature(isomer.optimize).parameters.values() if p.kind is p.KEYWORD_ONLY]
    assert options == list(isomer._functions.OptimizeOptions.__annotations__)
    functions = [f for f in vars(isomer).values() if getattr(f, "__module__", "") == "isomer._functions"]
    assert functions and all(">>> import isomer" in f.__doc__ for f in functions), "a function without an example"


def check_page(page):
    if not has_compiler():
        print("no C++ compiler here: `compile` is not tested")
        page = re.sub(r"^## Compiled models$.*?^(?=## )", "", page, flags=re.S | re.M)
    text = "\n".join(re.findall(r"^```python\n(.*?)^```$", page, re.S | re.M))
    assert "isomer.optimize" in text
    exec(compile(text, "a page", "exec"), {})


def branches(blocks, channels=64, size=56):
    """Blocks of two convolutions that are one: enough work to be interrupted in."""
    import numpy as np
    import onnx

    draw, body, x = np.random.default_rng(0), "", "x"
    weights = []
    for k in range(blocks):
        body += f"a{k} = Conv <pads = [1, 1, 1, 1]> ({x}, w{k}) b{k} = Conv ({x}, v{k}) c{k} = Add (a{k}, b{k}) y{k} = Relu (c{k}) "
        x = f"y{k}"
        weights += [(f"w{k}", draw.normal(size=(channels, channels, 3, 3))), (f"v{k}", draw.normal(size=(channels, channels, 1, 1)))]
    shape = f"float[1, {channels}, {size}, {size}]"
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> g ({shape} x) => ({shape} {x}) {{ {body} }}')
    model.graph.initializer.extend(onnx.numpy_helper.from_array((w / channels).astype(np.float32), n) for n, w in weights)
    return model


def raised(kind, function):
    try:
        function()
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__}")


def check_readme(page):
    import onnx

    onnx.save(branches(1, channels=8, size=8), "model.onnx")
    check_page(page)


def check_calls():
    import numpy as np
    import onnx

    import isomer

    small = branches(1, channels=8, size=8)
    onnx.save(small, "small.onnx")
    # On the runtime, from file to file.
    found = isomer.optimize(pathlib.Path("small.onnx"), "out.onnx", budget=30)
    assert found.model == pathlib.Path("out.onnx") and found.result in ("improved", "unchanged") and found.report["runtime"]["version"], found
    assert isomer.check("small.onnx", "out.onnx", "out.onnx.cert") and isomer.prove(small, "out.onnx")
    # Feeds and outputs as arrays, of several types; what is not contiguous is what it looks like.
    x = np.random.default_rng(1).normal(size=(1, 8, 8, 8)).astype(np.float32)
    wrong = isomer.run(small, {"x": x}, engine="runtime")["y0"] - isomer.run("small.onnx", {"x": np.asfortranarray(x)})["y0"]
    assert np.abs(wrong).max() < 1e-4
    assert isomer.run(small, {"x": x}, engine="double")["y0"].dtype == np.float64
    np.savez("feeds.npz", x=x)
    assert not isomer.compare(small, "out.onnx", feeds="feeds.npz").differ and not isomer.compare(small, "out.onnx", feeds={"x": x}).differ
    for dtype, name in ((np.int64, "int64"), (np.float16, "float16"), (np.bool_, "bool")):
        same = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> g ({name}[N] x) => ({name}[N] y) {{ y = Identity(x) }}')
        given = np.array([0, 1, 1], dtype)
        back = isomer.run(same, {"x": given})["y"]
        assert back.dtype == dtype and (back == given).all()
        back[0] = 1  # its own memory
    # A model for one size, and a result that is the model itself.
    fixed = isomer.optimize(same, judge="cost", fix_shape=True, shape={"N": 7})
    assert fixed.model.graph.input[0].type.tensor_type.shape.dim[0].dim_value == 7 and isomer.check(same, fixed.model, fixed.certificate, shape={"N": 7})
    assert isomer.optimize(same, judge="cost").result != "unchanged" or isomer.optimize(same, judge="cost").model is same
    # What is wrong is said.
    assert "missing.onnx" in str(raised(isomer.BadInput, lambda: isomer.inspect("missing.onnx")))
    raised(ValueError, lambda: isomer.optimize(small, strategy="best", judge="cost"))
    raised(ValueError, lambda: isomer.optimize(small, judge="coin"))
    raised(ValueError, lambda: isomer.optimize(small, budget="soon"))
    raised(TypeError, lambda: isomer.optimize("small.onnx"))
    raised(TypeError, lambda: isomer.inspect(3))
    raised(TypeError, lambda: bool(isomer.compare(small, small, engine="reference")))
    raised(isomer.RuntimeFailed, lambda: isomer.bench(small, runtime=isomer.Runtime(library="/nonexistent.so")))
    onnx.save(branches(1, channels=8, size=8), "outside.onnx", save_as_external_data=True, location="weights", size_threshold=0)
    raised(ValueError, lambda: isomer.inspect(onnx.load("outside.onnx", load_external_data=False)))
    unknown = onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 17, "mine" : 1]> g (float[N] x) => (float[N] y) { y = mine.Mystery(x) }')
    assert isomer.inspect(unknown).opaque[0]["op"] == "Mystery"
    raised(isomer.NotModelled, lambda: isomer.run(unknown, {"x": x[0, 0, 0]}))
    for shown in (found, isomer.inspect(small), isomer.prove(small, small), isomer.explain(found.certificate)):
        assert repr(shown).startswith("<") and "<table>" in shown._repr_html_() and shown.report


def check_threads():
    """Others run while Isomer works: `progress` does, in another thread than the one that waits. What it raises is raised."""
    import isomer

    callers = set()
    isomer.optimize(branches(1, channels=8, size=8), judge="cost", progress=lambda now: callers.add(threading.get_ident()))
    assert callers and threading.get_ident() not in callers

    def fail(now):
        raise LookupError(now)

    raised(LookupError, lambda: isomer.optimize(branches(2, size=28), progress=fail, budget="30s"))


INTERRUPTED = """
import isomer, sys, onnx
found = isomer.optimize(sys.argv[1], "best.onnx", budget="5m", progress=lambda now: print(now, flush=True))
assert found.report["stopped_by"] == "interrupt", found.report["stopped_by"]
assert isomer.check(sys.argv[1], "best.onnx", found.certificate)
print("best so far:", found)
print("benching", flush=True)
try:
    isomer.bench(sys.argv[1], sys.argv[1], seconds=300, progress=lambda now: print(now, flush=True))
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def check_interrupts():
    import onnx

    onnx.save(branches(6), "large.onnx")
    child = subprocess.Popen([sys.executable, "-c", INTERRUPTED, "large.onnx"], stdout=subprocess.PIPE, text=True)
    said = [child.stdout.readline()]
    child.send_signal(signal.SIGINT)  # in the middle of optimize
    while said[-1] and "benching" not in said[-1]:
        said.append(child.stdout.readline())
    said.append(child.stdout.readline())
    child.send_signal(signal.SIGINT)  # in the middle of bench
    said += child.communicate(timeout=300)[0].splitlines()
    assert child.returncode == 0 and said[-1] == "interrupted", said
    assert any(line.startswith("best so far: <Optimized") for line in said), said


def check_commands():
    """The programs of the wheel, started as a user starts them."""
    run("isomer", "optimize", "small.onnx", "-o", "by_command.onnx", "--budget", "30s", "--quiet")
    assert "accepted" in run("isomer-check", "small.onnx", "by_command.onnx", "by_command.onnx.cert")
    assert "ONNX Runtime" in run("isomer", "bench", "small.onnx", "--seconds", "1", "--json")
    assert run("isomer", "--version").split()[1] == __import__("isomer").__version__
    assert subprocess.run(["isomer-onnx", "inspect", "missing.onnx"], capture_output=True, check=False).returncode == 2


def inside(page, readme):
    import isomer

    assert pathlib.Path(isomer.__file__).is_relative_to(sys.prefix), isomer.__file__
    check_documented(page)
    check_doctests()
    check_page(page)
    check_readme(readme)
    check_calls()
    check_commands()
    check_threads()
    check_interrupts()
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheel", type=pathlib.Path)
    parser.add_argument("--inside", nargs=2, metavar=("PYTHON.MD", "README.MD"))
    arguments = parser.parse_args()
    if arguments.inside:
        return inside(*(pathlib.Path(page).read_text(encoding="utf-8") for page in arguments.inside))
    return outside(arguments.wheel)


if __name__ == "__main__":
    sys.exit(main())
