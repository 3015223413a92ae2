#!/usr/bin/env python3
"""Mutation score of the kernel: is there a test that fails if one place of the code that isomer-check links is wrong?

  tests/evidence/kernel_mutants.py --keep FOLDER [--mutants 300] [--seed 1] [--runs 20] [--only K] [--list] [--jobs 2]

Places are drawn by seed in the sources that tools/trusted_lines calls machinery (those of isomer-check, without operators and
headers): a comparison, sum or connective swapped, a number off by one, true for false, a condition negated or never met (an
early return dropped), a statement left out. All of them are compiled into one build of a copy of the tree, each behind the number
that the environment variable ISOMER_MUTANT names; a mutant that does not compile is drawn anew. Then for each mutant the tests of
the folders and short attacks are run, those of its own folder first, until one notices:
  killed    a test fails, crashes or takes more than four times its usual time, and 30 s
  weaker    only the figures of an attack change: it proves less
  survived  nothing notices; each is printed with file, line and change
Everything is kept in FOLDER: run it again and it goes on where it was. --runs ends after this number of mutants.
"""
import argparse
import concurrent.futures
import importlib.machinery
import importlib.util
import itertools
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
COPIED = ("src", "tests", "bench", "cmake", "docs", "include", "rules", "tools", "CMakeLists.txt", "CMakePresets.json")
# Compiled with flags of its own; the command line.
LEFT_OUT = {"src/model/eval/contraction_avx2.cpp", "src/kernel/certify/check_main.cpp"}
SLOW = 1.5  # seconds of one test
MEMORY = 6 << 30  # a mutant may not end, and must not take the machine with it
SWITCH = """#pragma once
#include <cstdlib>
inline int isomer_mutant() {
  static const int number = std::getenv("ISOMER_MUTANT") ? std::atoi(std::getenv("ISOMER_MUTANT")) : 0;
  return number;
}
"""

# ---------------------------------------------------------------------------------------------------- places

# clang-format puts blanks around binary operators and none inside of template brackets.
SWAPS = [(" < ", " <= "), (" <= ", " < "), (" > ", " >= "), (" >= ", " > "), (" == ", " != "), (" != ", " == "), (" + ", " - "),
         (" - ", " + "), (" += ", " -= "), (" -= ", " += "), (" && ", " || "), (" || ", " && "), ("std::min(", "std::max("),
         ("std::max(", "std::min("), ("::any_of(", "::all_of("), ("::all_of(", "::any_of("), (".front()", ".back()"),
         (".back()", ".front()")]


def masked(text):
    """The text with comments and literals blanked out, of the same length: where the structure is read."""
    blank = lambda m: re.sub(r"[^\n]", " ", m.group(0))
    return re.sub(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', blank, text, flags=re.S)


def closing(mask, at):
    """The position of the bracket that closes the one at `at`."""
    depth = 0
    for i in range(at, len(mask)):
        depth += (mask[i] in "([{") - (mask[i] in ")]}")
        if depth == 0:
            return i
    return None


def end_of_statement(mask, at):
    depth = 0
    for i in range(at, len(mask)):
        depth += (mask[i] in "([{") - (mask[i] in ")]}")
        if depth < 0:
            return None
        if depth == 0 and mask[i] == ";":
            return i
    return None


def top_level(mask, begin, end, wanted):
    """The first position of `wanted` outside of brackets."""
    depth = 0
    for i in range(begin, end):
        depth += (mask[i] in "([{") - (mask[i] in ")]}")
        if depth == 0 and mask.startswith(wanted, i):
            return i
    return None


def changes(text, mask, begin, end):
    """(what, changed text) of one token between begin and end."""
    for token, other in SWAPS:
        for m in re.finditer(re.escape(token), mask[begin:end]):
            at = begin + m.start()
            yield f"{token.strip()} -> {other.strip()}", text[begin:at] + other + text[at + len(token):end]
    for m in re.finditer(r"(?<![\w.:])(true|false|\d+)(?![\w.'])", mask[begin:end]):
        at, word = begin + m.start(), m.group(1)
        other = {"true": "false", "false": "true"}.get(word) or str(int(word) + 1)
        yield f"{word} -> {other}", text[begin:at] + other + text[at + len(word):end]


def one_line(text):
    return re.sub(r"\s*\n\s*", " ", re.sub(r"//[^\n]*", "", text))


def conditions(mask):
    """(begin, end) of the conditions of if, while and for."""
    for m in re.finditer(r"\b(if|while) \(", mask):
        begin, end = m.end(), closing(mask, m.end() - 1)
        if end is None:
            continue
        semicolon = top_level(mask, begin, end, ";")
        if semicolon is not None:
            begin = semicolon + 2
        if top_level(mask, begin, end, " = ") is None:  # no declaration
            yield begin, end
    for m in re.finditer(r"\bfor \(", mask):
        end = closing(mask, m.end() - 1)
        first = end and top_level(mask, m.end(), end, ";")
        second = first and top_level(mask, first + 1, end, ";")
        if second and mask[first + 1:second].strip():
            yield first + 2, second


STATEMENT = re.compile(r"(?m)^ {2,}(?:else )?((?:[a-z_]\w*(?:(?:\.|->|::)\w+|\[[^\]\n]*\])*(?:\(| [-+*|&^]?= )|\+\+|--|continue;|break;))")
KEYWORDS = re.compile(r"(?:if|for|while|switch|return|throw|static_assert|sizeof|case|using|else|do|delete|co_\w+)\b")
DECLARATION = re.compile(r"(?m)^ {2,}(?:const )?(?:auto|bool|int|double|float|std::[\w:]+(?:<[\w:, ]+>)?|[A-Z]\w*) \w+ = ")


def places(text):
    """All mutants of a file: (begin, end, line, what, replacement with {n} for its number)."""
    mask = masked(text)
    found = []

    def add(begin, end, what, replacement):
        found.append((begin, end, text.count("\n", 0, begin) + 1, what, replacement))

    def braces(s):
        return one_line(s).replace("{", "{{").replace("}", "}}")

    for begin, end in conditions(mask):
        whole = braces(text[begin:end])
        for what, changed in changes(text, mask, begin, end):
            add(begin, end, what, f"(isomer_mutant() == {{n}} ? ({braces(changed)}) : ({whole}))")
        add(begin, end, "condition negated", f"static_cast<bool>({whole}) != (isomer_mutant() == {{n}})")
        add(begin, end, "condition never met", f"isomer_mutant() != {{n}} && ({whole})")
    for m in re.finditer(r"\breturn (?=[^;{])", mask):
        begin, end = m.start(), end_of_statement(mask, m.start())
        if end is None:
            continue
        for what, changed in changes(text, mask, begin, end):
            add(begin, end + 1, what, f"{{{{ if (isomer_mutant() == {{n}}) {braces(changed)}; {braces(text[begin:end])}; }}}}")
    for m in STATEMENT.finditer(mask):
        begin = m.start(1)
        end = end_of_statement(mask, begin)
        if KEYWORDS.match(mask, begin) or end is None:
            continue
        before = mask[:m.start()].rstrip()
        if not before.endswith((";", "{", "}", ")", ":", "else")) or re.search(r"(?:=|\breturn|\?) *$", before):
            continue
        whole = braces(text[begin:end])
        add(begin, end + 1, "left out", f"{{{{ if (isomer_mutant() != {{n}}) {{{{ {whole}; }}}} }}}}")
        for what, changed in changes(text, mask, begin, end):
            add(begin, end + 1, what, f"{{{{ if (isomer_mutant() == {{n}}) {{{{ {braces(changed)}; }}}} else {{{{ {whole}; }}}} }}}}")
    for m in DECLARATION.finditer(mask):
        begin, end = m.end(), end_of_statement(mask, m.end())
        if end is None or "[" in mask[begin:end] or top_level(mask, begin, end, ",") is not None or mask[begin] == "{":
            continue
        whole = braces(text[begin:end])
        for what, changed in changes(text, mask, begin, end):
            add(begin, end, what, f"isomer_mutant() == {{n}} ? ({braces(changed)}) : ({whole})")
    return found


# ----------------------------------------------------------------------------------------------------- build


def machinery(build):
    loader = importlib.machinery.SourceFileLoader("trusted_lines", str(ROOT / "tools" / "trusted_lines"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("trusted_lines", loader))
    loader.exec_module(module)
    return sorted(f for f in module.linked_files(build) if f.endswith(".cpp") and not module.is_specification(f) and f not in LEFT_OUT)


def kind_of(what):
    word = what.split(" -> ")[0]
    kinds = {"comparison": {"<", "<=", ">", ">=", "==", "!="}, "connective": {"&&", "||"}, "sum": {"+", "-", "+=", "-="}}
    found = [kind for kind, words in kinds.items() if word in words]
    if found or " -> " not in what:
        return found[0] if found else what
    return "constant" if re.fullmatch(r"\d+|true|false", word) else "one for the other"


def draw(files, seed, count, refused, kept):
    """`count` mutants that don't overlap; of those drawn before, the ones that compile stay, with their numbers."""
    rng = random.Random(f"{seed} {len(refused)}")
    every = [(f, *place) for f in files for place in places((ROOT / f).read_text())]
    rng.shuffle(every)
    # One of each kind in turn: conditions are many, sums are few.
    by_kind = {}
    for place in every:
        by_kind.setdefault(kind_of(place[4]), []).append(place)
    turns = itertools.zip_longest(*(by_kind[kind] for kind in sorted(by_kind)))
    every = [place for turn in turns for place in turn if place is not None]
    mutants = dict(kept)
    taken = {}
    for m in mutants.values():
        taken.setdefault(m["file"], []).append((m["begin"], m["end"]))
    number = max([0, *mutants, *refused]) + 1
    for file, begin, end, line, what, replacement in every:
        if len(mutants) >= count:
            break
        spans = taken.setdefault(file, [])
        gone = any(r["file"] == file and r["begin"] == begin and r["what"] == what for r in refused.values())
        if gone or any(begin < e and b < end for b, e in spans):
            continue
        spans.append((begin, end))
        mutants[number] = {"file": file, "begin": begin, "end": end, "line": line, "what": what, "replacement": replacement}
        number += 1
    return mutants, len(every)


def write_tree(tree, mutants):
    """The copy of the tree with all mutants in it; lines keep their numbers, and files that are as they should be their times."""
    by_file = {}
    for number, m in mutants.items():
        by_file.setdefault(m["file"], []).append((number, m))
    sources = [p for part in COPIED for p in ([ROOT / part] if (ROOT / part).is_file() else sorted((ROOT / part).rglob("*"))) if p.is_file()]
    for source in sources:
        name = str(source.relative_to(ROOT))
        if name in by_file:
            text = source.read_text()
            for number, m in sorted(by_file[name], key=lambda x: -x[1]["begin"]):
                lost = text.count("\n", m["begin"], m["end"])
                text = text[:m["begin"]] + m["replacement"].format(n=number) + "\n" * lost + text[m["end"]:]
            data = f'#include "isomer_mutant.h"\n#line 1\n{text}'.encode()
        else:
            data = source.read_bytes()
        if name == "CMakeLists.txt":  # warnings about nonsense are no reason to stop
            quiet = " ".join(f'"${{CMAKE_SOURCE_DIR}}/{f}"' for f in sorted(by_file))
            data += f"set_source_files_properties({quiet} PROPERTIES COMPILE_OPTIONS -w)\n".encode()
        write_if_other(tree / name, data)
    write_if_other(tree / "src" / "isomer_mutant.h", SWITCH.encode())
    if not (tree / ".deps").exists():
        (tree / ".deps").symlink_to((ROOT / ".deps").resolve())


def write_if_other(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_bytes() != data:
        path.write_bytes(data)


def refused_by_compiler(output, mutants):
    """Numbers of the mutants on lines that the compiler complains about; of a file without such a line, all of them."""
    bad = set()
    for file in {m["file"] for m in mutants.values()}:
        name = re.escape(file.removeprefix("src/"))
        lines = {int(n) for n in re.findall(rf"{name}:(\d+):\d+: error", output)}
        failed = re.search(rf"FAILED: \S*{re.escape(file)}\.o", output)
        if not lines and not failed:
            continue
        spans = {k: (m["line"], m["line"] + (ROOT / file).read_text().count("\n", m["begin"], m["end"]))
                 for k, m in mutants.items() if m["file"] == file}
        hit = {k for k, (first, last) in spans.items() if any(first <= line <= last for line in lines)}
        bad |= hit or set(spans)
    return bad


def build(tree, targets, jobs):
    cmake = shutil.which("cmake", path=f"{ROOT}/.deps/venv/bin:{os.environ['PATH']}")
    if not (tree / "build/release/build.ninja").exists():
        subprocess.run([cmake, "--preset", "release"], cwd=tree, check=True, stdout=subprocess.DEVNULL)
    done = subprocess.run([cmake, "--build", "--preset", "release", f"-j{jobs}", "--target", *targets, "--", "-k", "0"], cwd=tree,
                          capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


# ----------------------------------------------------------------------------------------------------- suites


FOLDERS = ["base", "model/expr", "model/eval", "model/analysis", "model/ops", "model/graph",
           "io/onnx", "kernel/normal", "kernel/prove", "kernel/certify", "rules", "app"]


def test_of(folder):
    return f"isomer_{folder.replace('/', '_')}_test"


def suites(tree):
    """[(name, target, command)], in the order in which they are run for a mutant of no folder among them."""
    release = tree / "build/release"
    out = [(f, test_of(f), [str(release / test_of(f)), "--gtest_fail_fast", "--gtest_brief=1"]) for f in FOLDERS]
    out.append(("contract", "isomer_contract_test",
                [str(release / "tests/isomer_contract_test"), "--gtest_fail_fast", "--gtest_brief=1"]))
    out.append(("fuzz", "isomer-prover-fuzz", [str(release / "tests/isomer-prover-fuzz"), "--pairs", "400", "--show", "0",
                                               "--laws-every", "3", "--brief", "1"]))
    out.append(("mutants", "isomer-prover-mutants",
                [str(release / "tests/isomer-prover-mutants"), "--mutants", "30", str(tree / "tests/attack/rewrites.rules")]))
    out.append(("checker", "isomer-checker-mutants", [str(release / "isomer-checker-mutants"), "--edits", "300", "--no-runtime"]))
    return out


# The suites that look at a folder most closely, after its own.
NEXT = {"model/expr": ["model/eval", "kernel/normal", "kernel/prove"], "model/eval": ["contract", "kernel/prove"],
        "kernel/normal": ["kernel/prove", "contract", "fuzz"], "model/analysis": ["contract"],
        "model/graph": ["kernel/prove", "kernel/certify"], "io/onnx": ["kernel/certify", "app"],
        "kernel/prove": ["kernel/certify", "fuzz"], "kernel/certify": ["checker", "app"], "base": ["model/expr", "kernel/certify"]}


def figures(output):
    """What an attack counts, without the times it took."""
    brief = re.findall(r"^brief: .*$", output, re.M)
    return brief or sorted(set(re.findall(r"\d+ (?:proved|accepted|rejected|missed|undecided)", output)))


def run(command, number, limit):
    """(what happened, figures, seconds)"""
    start = time.monotonic()
    try:
        done = subprocess.run(["prlimit", f"--as={MEMORY}", "--core=0", *command], capture_output=True, text=True, errors="replace", timeout=limit,
                              env=dict(os.environ, ISOMER_MUTANT=str(number), ISOMER_CONTRACT_CASES="12"))
    except subprocess.TimeoutExpired:
        return "does not end", [], limit
    seconds = time.monotonic() - start
    if done.returncode == 0:
        return None, figures(done.stdout), seconds
    first = re.search(r"^\[  FAILED  \] ([^\n(]*?)(?: \(|,|$)", done.stdout, re.M)
    return (first.group(1) if first else f"exit {done.returncode}"), [], seconds


def in_two(name, target, command, folder):
    """[(name, target, command)]: where a few tests of a suite take most of its time, they are a suite of their own, which comes later."""
    if "--gtest_brief=1" not in command:
        return [(name, target, command)]
    times = folder / f"times_{name.replace('/', '_')}.json"
    if not times.exists():
        subprocess.run([*command, f"--gtest_output=json:{times}"], capture_output=True)
    tests = [(f"{case['name']}.{test['name']}", float(test["time"].rstrip("s")))
             for case in json.loads(times.read_text())["testsuites"] for test in case["testsuite"]]
    slow = ":".join(test for test, seconds in tests if seconds > SLOW)
    return [(name, target, [*command, f"--gtest_filter=-{slow}"]), (f"{name}-slow", target, [*command, f"--gtest_filter={slow}"])] if slow else [
        (name, target, command)]


def healthy(all_suites, tree):
    """{suite: (figures, seconds)} without a mutant; a suite that fails then gives no information."""
    known = tree.parent / "healthy.json"
    if known.exists():
        return json.loads(known.read_text())
    out = {}
    for name, _, command in all_suites:
        failure, numbers, seconds = run(command, 0, 1200)
        print(f"without a mutant: {name:9} {failure or 'passes'}, {seconds:.1f} s", flush=True)
        if failure:
            sys.exit(f"{name} fails without a mutant: {' '.join(command)}")
        out[name] = (numbers, seconds)
    known.write_text(json.dumps(out))
    return out


def judge(number, mutant, all_suites, well):
    folder = next((f for f in FOLDERS if mutant["file"].startswith(f"src/{f}/")), "")
    order = [folder, *NEXT.get(folder, [])]
    ranked = sorted(all_suites, key=lambda s: (order.index(s[0]) if s[0] in order else len(order), well[s[0]][1]))
    weaker = None
    for name, _, command in ranked:
        failure, numbers, _ = run(command, number, max(30, 4 * well[name][1]))
        if failure:
            return {"outcome": "killed", "by": f"{name}: {failure}"}
        if numbers != well[name][0] and weaker is None:
            weaker = f"{name}: {', '.join(numbers)[:100]}"
    return {"outcome": "weaker" if weaker else "survived", "by": weaker or ""}


# ------------------------------------------------------------------------------------------------------- main


def report(mutants, results):
    done = {k: results[k] for k in mutants if k in results}
    count = lambda what: sum(r["outcome"] == what for r in done.values())
    print(f"\n{len(done)} of {len(mutants)} mutants judged: {count('killed')} killed, {count('weaker')} prove less and are noticed by "
          f"figures only, {count('survived')} survived")
    if done:
        print(f"score: {100 * count('killed') / len(done):.1f} % killed, {100 * (len(done) - count('survived')) / len(done):.1f} % noticed")
    for k, r in done.items():
        if r["outcome"] != "killed":
            m = mutants[k]
            print(f"  {r['outcome']:8} {k:4} {m['file']}:{m['line']}: {m['what']}: {source_line(m)}" + (f"  [{r['by']}]" if r["by"] else ""))


def source_line(m):
    return one_line((ROOT / m["file"]).read_text()[m["begin"]:m["end"]]).strip()[:100]


def prepare(tree, arguments, state):
    """Draws and builds until everything compiles; returns the mutants."""
    saved = json.loads(state.read_text()) if state.exists() else {"mutants": {}, "refused": {}, "built": False}
    mutants, refused = ({int(k): m for k, m in saved[w].items()} for w in ("mutants", "refused"))
    if saved["built"]:
        return mutants
    files = saved.get("files") or machinery(arguments.build.resolve())
    targets = [target for _, target, _ in suites(tree)]
    while True:
        mutants, places_ = draw(files, arguments.seed, arguments.mutants, refused, mutants)
        write_tree(tree, mutants)
        state.write_text(json.dumps({"mutants": mutants, "refused": refused, "built": False, "files": files}))
        print(f"{len(mutants)} mutants of {places_} places in {len(files)} files; building", flush=True)
        code, output = build(tree, targets, arguments.jobs)
        if code == 0:
            break
        bad = refused_by_compiler(output, mutants)
        if not bad:
            sys.exit(output[-4000:])
        print(f"{len(bad)} don't compile and are drawn anew", flush=True)
        for k in bad:
            refused[k] = mutants.pop(k)
    state.write_text(json.dumps({"mutants": mutants, "refused": refused, "built": True, "files": files}))
    return mutants


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=pathlib.Path, required=True)
    parser.add_argument("--mutants", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=1 << 30)
    parser.add_argument("--only", type=int)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", help="where isomer-check is built")
    arguments = parser.parse_args()
    tree = arguments.keep.resolve() / "tree"
    tree.mkdir(parents=True, exist_ok=True)
    mutants = prepare(tree, arguments, tree.parent / "mutants.json")
    if arguments.list:
        for k, m in mutants.items():
            print(f"{k:4} {m['file']}:{m['line']}: {m['what']}: {source_line(m)}")
        return 0
    log = tree.parent / "results.jsonl"
    results = {r["mutant"]: r for r in map(json.loads, log.read_text().splitlines())} if log.exists() else {}
    all_suites = [part for suite in suites(tree) for part in in_two(*suite, tree.parent)]
    well = healthy(all_suites, tree)
    open_ = [k for k in mutants if (k not in results if arguments.only is None else k == arguments.only)][:arguments.runs]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool, log.open("a") as out:
        judged = {pool.submit(judge, k, mutants[k], all_suites, well): k for k in open_}
        for future in concurrent.futures.as_completed(judged):
            number = judged[future]
            mutant, results[number] = mutants[number], {"mutant": number, **future.result()}
            print(f"{number:4} {results[number]['outcome']:8} {mutant['file']}:{mutant['line']}: {mutant['what']}  {results[number]['by']}",
                  flush=True)
            out.write(json.dumps(results[number]) + "\n")
            out.flush()
    report(mutants, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
