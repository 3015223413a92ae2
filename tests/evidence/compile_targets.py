#!/usr/bin/env python3
# nightly: --check | timeout=1200
"""Modules for processors that this machine is not: ten small models of the zoo, compiled for aarch64 and for WebAssembly, run by an emulator and by Node.

  tests/evidence/compile_targets.py [--models NAME,...] [--targets aarch64,wasm32] [--filled DIR] [--compiler "python3 -m ziglang c++"]
  tests/evidence/compile_targets.py --check          two models, for CI
An aarch64 module is linked, as an archive, into a program in C, which qemu-aarch64 runs; a module of WebAssembly is what `--target wasm32` wrote, loaded by
Node. Outputs are compared with ONNX Runtime's: max|y - y'| / max|y'|, the worst output, at most 1e-4. Exit 1: one is further off, or fails; 77: there is
nothing to run them with (Zig's compiler; qemu-user with an aarch64 libc; Node).
"""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx

import _paths  # noqa: F401
import modules
import programs
import reference
import zoo

TEN = ["gcn", "dlrm", "wide_deep", "moe_dense", "lstm_unrolled", "rnn_tagger", "gru_tagger", "llama_tiny_kv", "mobilenet_v3_small", "squeezenet1_1"]
SHORT = ["gcn", "mobilenet_v3_small"]
MOST = 1e-4
BYTES = {"float": 4, "double": 8, "int64": 8, "int32": 4, "bool": 1, "uint8": 1}

# Inputs and outputs are files 0, 1, ... in a folder, as bytes.
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include "{name}.h"
static const long in_bytes[] = {{{inputs}}}, out_bytes[] = {{{outputs}}};
static FILE* file(const char* folder, const char* kind, long k, const char* mode) {{
  char path[4096];
  snprintf(path, sizeof(path), "%s/%s%ld", folder, kind, k);
  return fopen(path, mode);
}}
int main(int argc, char** argv) {{
  const long ins = {ins}, outs = {outs};
  void *inputs[{ins} + 1], *outputs[{outs} + 1];
  char weights[4096];
  if (argc < 2) return 2;
  for (long k = 0; k < ins; ++k) {{
    inputs[k] = malloc(in_bytes[k] + 1);
    FILE* f = file(argv[1], "in", k, "rb");
    if (f == NULL || fread(inputs[k], 1, in_bytes[k], f) != (size_t)in_bytes[k]) return 3;
    fclose(f);
  }}
  for (long k = 0; k < outs; ++k) outputs[k] = malloc(out_bytes[k] + 1);
  snprintf(weights, sizeof(weights), "%s/{name}.weights", argv[1]);
  {name}_module* module = {name}_create(weights);
  if (module == NULL) return 4;
  void* workspace = aligned_alloc(64, ({name}_workspace_size(module) + 127) / 64 * 64);
  if ({name}_run(module, (const void* const*)inputs, outputs, workspace) != 0) return 5;
  for (long k = 0; k < outs; ++k) {{
    FILE* f = file(argv[1], "out", k, "wb");
    if (f == NULL || fwrite(outputs[k], 1, out_bytes[k], f) != (size_t)out_bytes[k] || fclose(f) != 0) return 6;
  }}
  {name}_destroy(module);
  return 0;
}}
"""
SCRIPT = """
import {{ readFileSync, writeFileSync }} from 'node:fs';
import {{ WASI }} from 'node:wasi';
const folder = process.argv[2], name = '{name}', inBytes = [{inputs}], outBytes = [{outputs}];
const wasi = new WASI({{ version: 'preview1', preopens: {{ '/': folder }} }});
const {{ instance }} = await WebAssembly.instantiate(readFileSync(`${{folder}}/${{name}}.wasm`), wasi.getImportObject());
wasi.initialize(instance);
const c = instance.exports, bytes = () => new Uint8Array(c.memory.buffer), words = () => new Uint32Array(c.memory.buffer);
const text = (s) => {{ const at = c.malloc(s.length + 1); bytes().set(new TextEncoder().encode(s + '\\0'), at); return at; }};
const list = (pointers) => {{ const at = c.malloc(4 * pointers.length + 4); words().set(pointers, at / 4); return at; }};
const module = c[name + '_create'](text(`/${{name}}.weights`));
if (module === 0) process.exit(4);
const inputs = inBytes.map((n, k) => {{ const at = c.malloc(n + 1); bytes().set(readFileSync(`${{folder}}/in${{k}}`), at); return at; }});
const outputs = outBytes.map((n) => c.malloc(n + 1));
const workspace = Math.ceil(c.malloc(c[name + '_workspace_size'](module) + 128) / 64) * 64;
if (c[name + '_run'](module, list(inputs), list(outputs), workspace) !== 0) process.exit(5);
outputs.forEach((at, k) => writeFileSync(`${{folder}}/out${{k}}`, bytes().slice(at, at + outBytes[k])));
c[name + '_destroy'](module);
"""


def sysroot():
    places = [pathlib.Path("/usr/aarch64-linux-gnu"), pathlib.Path("/")]
    return next((str(p) for p in places if (p / "lib/ld-linux-aarch64.so.1").exists()), None)


def emulator():
    return next((p for p in map(shutil.which, ("qemu-aarch64", "qemu-aarch64-static")) if p), None)


def zig(given):
    """The words of its compiler; None: there is none."""
    if given:
        return given.split()
    if shutil.which("zig"):
        return ["zig", "c++"]
    for python in (sys.executable, shutil.which("python3")):
        if python and subprocess.run([python, "-m", "ziglang", "version"], capture_output=True, check=False).returncode == 0:
            return [python, "-m", "ziglang", "c++"]
    return None


def run_there(target, folder, about, compiler):
    """Runs the module on what is in `folder`; what failed, or ''."""
    filled = {"name": about["name"], "ins": len(about["inputs"]), "outs": len(about["outputs"])}
    for key in ("inputs", "outputs"):
        filled[key] = ", ".join(str(int(np.prod(p["shape"], dtype=np.int64)) * BYTES[p["type"]]) for p in about[key])
    if target == "wasm32":
        (folder / "run.mjs").write_text(SCRIPT.format(**filled))
        command = ["node", "--no-warnings", str(folder / "run.mjs"), str(folder)]
    else:
        filled["inputs"], filled["outputs"] = filled["inputs"] or "0", filled["outputs"] or "0"
        (folder / "main.c").write_text(PROGRAM.format(**filled))
        linked = subprocess.run([*compiler[:-1], "cc", "-target", "aarch64-linux-gnu", str(folder / "main.c"), str(folder / f"lib{about['name']}.a"),
                                 "-o", str(folder / "main"), "-lm", "-lpthread"], capture_output=True, text=True, check=False)
        if linked.returncode != 0:
            return linked.stderr[-300:]
        command = [emulator(), "-L", sysroot(), str(folder / "main"), str(folder)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
    return "" if ran.returncode == 0 else f"ended with {ran.returncode}: {ran.stderr[-300:]}"


def distance(name, target, model, folder, compiler):
    shapes, sizes = zoo.index()[name]["run_shapes"], zoo.shape_options(name)
    made = modules.compile_model(model, folder, *sizes, "--target", target, "--compiler", " ".join(compiler))
    if made.returncode != 0:
        return made.stderr[-300:]
    about = json.loads((folder / "interface.json").read_text())
    feeds = reference.feeds_of(onnx.load(model, load_external_data=False), shapes)
    for k, port in enumerate(about["inputs"]):
        (folder / f"in{k}").write_bytes(np.ascontiguousarray(feeds[port["name"]]).tobytes())
    if failure := run_there(target, folder, about, compiler):
        return failure
    worst = 0.0
    for k, expected in enumerate(modules.session(model).run([p["name"] for p in about["outputs"]], feeds)):
        got = np.frombuffer((folder / f"out{k}").read_bytes(), expected.dtype).reshape(expected.shape)
        worst = max(worst, modules.distance(expected, got))
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(TEN))
    parser.add_argument("--targets", default="aarch64,wasm32")
    parser.add_argument("--filled", type=pathlib.Path)
    parser.add_argument("--compiler", default="")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    compiler = zig(options.compiler)
    can = {"aarch64": emulator() and sysroot(), "wasm32": shutil.which("node")}
    targets = [t for t in options.targets.split(",") if can[t]]
    if not compiler or not targets:
        print("skipped: nothing to compile or to run such modules with")
        return programs.SKIPPED
    faults = 0
    print("| model | " + " | ".join(targets) + " |\n|---|" + "---:|" * len(targets))
    for name in SHORT if options.check else options.models.split(","):
        told = []
        with tempfile.TemporaryDirectory(prefix="isomer_targets_") as folder:
            model = zoo.fill_once(name, pathlib.Path(folder), options.filled)
            for target in targets:
                (there := pathlib.Path(folder) / target).mkdir()
                found = distance(name, target, model, there, compiler)
                is_good = isinstance(found, float) and found <= MOST
                faults += not is_good
                told.append(f"{found:.1e}{'' if is_good else ' FAR'}" if isinstance(found, float) else f"FAILED: {found}")
        print(f"| {name} | " + " | ".join(told) + " |", flush=True)
    print(f"\n{faults} faults")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
