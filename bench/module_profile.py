#!/usr/bin/env python3
"""Where the time of a compiled module goes: the share of each nest.

  bench/module_profile.py DIR [--runs 50] [--most 20] [--threads 1] [--compiler clang++] [--sizes N=1 H=320 W=320]
DIR is what `isomer compile` wrote, for this machine. Its source is compiled once more with a clock around every call of a nest, and run on made-up inputs, by
one thread; of each nest the median over all runs is taken. With --threads it also runs by that number, and the speedup of each nest is printed; where
they divide rows of strips, it is the caller's part. --sizes: of a module whose sizes are open, all of them. Nests that run strip by strip are added up over
their strips. Nests that are alike share a function, whose comment in the source names the first of them: the table has one row for each call, in the order of
time. Exit 77: there is no C++ compiler.
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
int main(int, char** words) {
  %(name)s_module* module = %(name)s_create_with_threads("%(weights)s", atoi(words[1]));
  if (module == NULL) return 1;
  %(declared)s
  char* workspace = (char*)aligned_alloc(64, (%(name)s_workspace_size(module%(last)s) + 127) / 64 * 64);
  const void* inputs[%(inputs)d + 1];
  void* outputs[%(outputs)d + 1];
%(memory)s
  for (int run = 0; run < %(runs)d + 3; ++run) {
    memset(profile_ns, 0, sizeof profile_ns);
    %(name)s_run(module%(last)s, inputs, outputs, workspace);
    for (int k = 0; k < %(calls)d && run >= 3; ++k) printf("%%.0f ", profile_ns[k]);
    if (run >= 3) printf("\\n");
  }
  return 0;
}
"""


def with_clocks(source, name):
    """The source with a clock around every call of its run, and what is called, in order."""
    titles = dict((function, title) for title, function in re.findall(rf"^// (.*)\n#if IM_IN_SHARE.*\nIM_FUNCTION \w+ ({name}_\d+)\(", source, re.M))
    head = re.escape("const void* const* inputs, void* const* outputs, char* workspace, const char* weights, im_team* team) {\n  (void)")
    begin = re.search(rf"static int {name}_all\((?:const int64_t\* sizes, )?{head}", source).start()
    end = source.index("\n}\n", begin)
    calls, lines, is_apart = [], [], False
    for line in source[begin:end].split("\n"):
        # Strips whose rows threads divide, each all of the nests: the caller's is clocked.
        is_apart = (is_apart or bool(re.match(r" +if \(im_for\(.*{$", line))) and not line.startswith("    })")
        call = re.match(rf" +(?:if \()?(?:im_for\(.*?\) {{ (?:return )?)?({name}_\d+|im_border|memset)\(", line)
        if not call:
            lines.append(line)
            continue
        mine = "if (thread == 0) " if is_apart else ""
        lines.append(f"{{ const double began = profile_now();\n{line}\n{mine}profile_ns[{len(calls)}] += profile_now() - began; }}")
        calls.append(titles.get(call[1], "zeros around a tensor"))
    return source[:begin] + CLOCK % max(1, len(calls)) + "\n".join(lines) + source[end:], calls


def memory_of(ports, array, sizes):
    """Floats are small numbers, all else is zero: an index that is inside of every tensor."""
    def extent(e):  # a number, or an expression of sizes
        if isinstance(e, int):
            return e
        for name, number in sorted(sizes, key=lambda size: -len(size[0])):
            e = e.replace(name, str(number))
        return eval(e.replace("/", "//"), {"floor": math.floor, "max": max, "min": min})

    text = ""
    for k, port in enumerate(ports):
        count = max(1, math.prod(map(extent, port["shape"])))
        text += f"  {array}[{k}] = calloc({count}, {BYTES[port['type']]});\n"
        if array == "inputs" and port["type"] == "float":
            text += f"  for (long i = 0; i < {count}; ++i) ((float*)inputs[{k}])[i] = (float)((i * 2654435761u) % 1000) / 500 - 1;\n"
    return text


def build(folder, compiler, runs, program, sizes=()):
    """Compiles a module with clocks to a program; returns what it calls. `sizes`: pairs of names and numbers, where some are open."""
    about = json.loads((folder / "interface.json").read_text(encoding="utf-8"))
    name = about["name"]
    given = f"const int64_t sizes[] = {{{', '.join(str(dict(sizes)[size['name']]) for size in about['sizes'])}}};"
    source, calls = with_clocks((folder / f"{name}.cpp").read_text(encoding="utf-8"), name)
    source += MAIN % {"name": name, "weights": folder / about["weights"], "inputs": len(about["inputs"]), "outputs": len(about["outputs"]), "runs": runs,
                      "memory": memory_of(about["inputs"], "inputs", sizes) + memory_of(about["outputs"], "outputs", sizes), "calls": len(calls),
                      "last": ", sizes" if sizes else "", "declared": given if sizes else ""}
    program.with_suffix(".cpp").write_text(source, encoding="utf-8")
    subprocess.run([compiler, *FLAGS, "-I", str(folder), str(program.with_suffix(".cpp")), "-o", str(program), "-lm", "-ldl", "-lpthread"], check=True)
    return calls


def run(program, calls, share=0.5, threads=1):
    """Nanoseconds of each call that this share of its runs stays below: by default the median."""
    rows = [list(map(float, line.split())) for line in subprocess.run([program, str(threads)], capture_output=True, text=True, check=True).stdout.splitlines()]
    return [(sorted(column)[int(share * len(column))], call) for column, call in zip(zip(*rows), calls, strict=True)]


def profile(folder, compiler, runs, threads, sizes=()):
    """(nanoseconds, nest, nanoseconds by that many threads), in the order of time."""
    with tempfile.TemporaryDirectory(prefix="isomer_profile_") as scratch:
        program = pathlib.Path(scratch) / "profile"
        calls = build(folder, compiler, runs, program, sizes)
        one = run(program, calls)
        several = run(program, calls, threads=threads) if threads > 1 else one
        return sorted(((ns, call, by_all) for (ns, call), (by_all, _) in zip(one, several, strict=True)), reverse=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--most", type=int, default=20, help="rows to print")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--compiler", default=next(filter(shutil.which, COMPILERS), None))
    parser.add_argument("--sizes", nargs="*", default=[], metavar="NAME=NUMBER")
    options = parser.parse_args()
    sizes = [(name, int(number)) for name, _, number in (s.rpartition("=") for s in options.sizes)]
    if options.compiler is None:
        print("there is no C++ compiler")
        return 77
    found, n = profile(options.folder.resolve(), options.compiler, options.runs, options.threads, sizes), options.threads
    whole = sum(ns for ns, _, _ in found)

    def cells(rows, what):
        ns, by_all = (sum(r[k] for r in rows) for k in (0, 2))
        return f"| {100 * ns / whole:.1f} % | {ns / 1000:.1f} | " + (f"{by_all / 1000:.1f} | {ns / max(by_all, 1):.2f} | " if n > 1 else "") + f"{what} |"

    print("| share | us | " + (f"us, {n} | gain | " if n > 1 else "") + "nest |\n|---:|---:|" + ("---:|---:|" if n > 1 else "") + "---|")
    for row in found[:options.most]:
        print(cells([row], row[1]))
    rest = found[options.most:]
    if rest:
        print(cells(rest, f"{len(rest)} more"))
    several = f"; {sum(r[2] for r in found) / 1000:.0f} us by {n} threads" if n > 1 else ""
    print(f"\n{whole / 1000:.0f} us in {len(found)} calls, clocks included{several}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
