#!/usr/bin/env python3
"""Where the time of a compiled module goes: the share of each nest.

  bench/module_profile.py DIR [--runs 50] [--most 20] [--compiler clang++]
DIR is what `isomer compile` wrote, for this machine. Its source is compiled once more with a clock around every call of a nest, and run on made-up inputs, by
one thread; of each nest the median over all runs is taken. Nests that run strip by strip are added up over their strips. Nests that are alike share a function,
whose comment in the source names the first of them: the table has one row for each call, in the order of time. Exit 77: there is no C++ compiler.
"""
import argparse
import json
import math
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FLAGS = ["-std=c++17", "-O3", "-march=native", "-mprefer-vector-width=512", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast", "-w"]
COMPILERS = [f"clang++-{version}" for version in range(30, 10, -1)] + ["clang++", "g++"]
BYTES = {"float": 4, "double": 8, "float16": 2, "bfloat16": 2, "int8": 1, "uint8": 1, "bool": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4,
         "int64": 8, "uint64": 8}
CLOCK = """
#include <time.h>
static double profile_now() { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return (double)t.tv_sec * 1e9 + (double)t.tv_nsec; }
static double profile_ns[%d];
"""
MAIN = """
#include <stdio.h>
int main() {
  %(name)s_module* module = %(name)s_create("%(weights)s");
  if (module == NULL) return 1;
  char* workspace = (char*)aligned_alloc(64, (%(name)s_workspace_size(module) + 127) / 64 * 64);
  const void* inputs[%(inputs)d + 1];
  void* outputs[%(outputs)d + 1];
%(memory)s
  for (int run = 0; run < %(runs)d + 3; ++run) {
    memset(profile_ns, 0, sizeof profile_ns);
    %(name)s_run(module, inputs, outputs, workspace);
    for (int k = 0; k < %(calls)d && run >= 3; ++k) printf("%%.0f ", profile_ns[k]);
    if (run >= 3) printf("\\n");
  }
  return 0;
}
"""


def with_clocks(source, name):
    """The source with a clock around every call of its run, and what is called, in order."""
    titles = dict((function, title) for title, function in re.findall(rf"^// (.*)\nstatic __attribute__\(\(noinline\)\) \w+ ({name}_\d+)\(", source, re.M))
    begin = source.index(f"static int {name}_all(const void* const* inputs, void* const* outputs, char* workspace, const char* weights, "
                         "im_team* team) {\n  (void)")
    end = source.index("\n}\n", begin)
    calls, lines = [], []
    for line in source[begin:end].split("\n"):
        call = re.match(rf" +(?:if \()?(?:im_for\(.*?\) {{ (?:return )?)?({name}_\d+|im_border|memset)\(", line)
        if not call:
            lines.append(line)
            continue
        lines.append(f"{{ const double began = profile_now();\n{line}\nprofile_ns[{len(calls)}] += profile_now() - began; }}")
        calls.append(titles.get(call[1], "zeros around a tensor"))
    return source[:begin] + CLOCK % max(1, len(calls)) + "\n".join(lines) + source[end:], calls


def memory_of(ports, array):
    """Floats are small numbers, all else is zero: an index that is inside of every tensor."""
    text = ""
    for k, port in enumerate(ports):
        count = max(1, math.prod(port["shape"]))
        text += f"  {array}[{k}] = calloc({count}, {BYTES[port['type']]});\n"
        if array == "inputs" and port["type"] == "float":
            text += f"  for (long i = 0; i < {count}; ++i) ((float*)inputs[{k}])[i] = (float)((i * 2654435761u) % 1000) / 500 - 1;\n"
    return text


def build(folder, compiler, runs, program):
    """Compiles a module with clocks to a program; returns what it calls."""
    about = json.loads((folder / "interface.json").read_text(encoding="utf-8"))
    name = about["name"]
    source, calls = with_clocks((folder / f"{name}.cpp").read_text(encoding="utf-8"), name)
    source += MAIN % {"name": name, "weights": folder / about["weights"], "inputs": len(about["inputs"]), "outputs": len(about["outputs"]), "runs": runs,
                      "memory": memory_of(about["inputs"], "inputs") + memory_of(about["outputs"], "outputs"), "calls": len(calls)}
    program.with_suffix(".cpp").write_text(source, encoding="utf-8")
    subprocess.run([compiler, *FLAGS, "-I", str(folder), str(program.with_suffix(".cpp")), "-o", str(program), "-lm", "-ldl", "-lpthread"], check=True)
    return calls


def run(program, calls, share=0.5):
    """Nanoseconds of each call that this share of its runs stays below: by default the median."""
    rows = [list(map(float, line.split())) for line in subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()]
    return [(sorted(column)[int(share * len(column))], call) for column, call in zip(zip(*rows), calls, strict=True)]


def profile(folder, compiler, runs):
    with tempfile.TemporaryDirectory(prefix="isomer_profile_") as scratch:
        program = pathlib.Path(scratch) / "profile"
        return sorted(run(program, build(folder, compiler, runs, program)), reverse=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--most", type=int, default=20, help="rows to print")
    parser.add_argument("--compiler", default=next(filter(shutil.which, COMPILERS), None))
    options = parser.parse_args()
    if options.compiler is None:
        print("there is no C++ compiler")
        return 77
    found = profile(options.folder.resolve(), options.compiler, options.runs)
    whole = sum(ns for ns, _ in found)
    print("| share | us | nest |\n|---:|---:|---|")
    for ns, call in found[:options.most]:
        print(f"| {100 * ns / whole:.1f} % | {ns / 1000:.1f} | {call} |")
    rest = found[options.most:]
    if rest:
        print(f"| {100 * sum(ns for ns, _ in rest) / whole:.1f} % | {sum(ns for ns, _ in rest) / 1000:.1f} | {len(rest)} more |")
    print(f"\n{whole / 1000:.0f} us in {len(found)} calls, clocks included")
    return 0


if __name__ == "__main__":
    sys.exit(main())
