#!/usr/bin/env python3
"""Moves the sources of src/ into storeys, by tools/storeys.tsv, and rewrites whatever names them. It changes no logic.

  tools/storeys.py            moves, rewrites, formats, stages all of it (git add), then checks
  tools/storeys.py --check    only checks: includes resolve, libraries see what they include, paths that are named exist
To run it on a newer tree: drop the commit of its result, rebase, run it again, commit. A file that is new goes where its folder goes.
"""
import collections
import fnmatch
import os
import pathlib
import re
import runpy
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SRC = ROOT / "src"
ROWS = dict(line.split("\t") for line in (ROOT / "tools/storeys.tsv").read_text().splitlines() if line and not line.startswith("#"))
OLD = {row for row in ROWS if "/" not in row}  # folders
NEW = {new.split("/")[0] for new in ROWS.values()}
# Of a folder that became several: what is meant where no file is named.
AS_WHOLE = {"runtime": "runtime", "rules": "rules", "lower": "compiler", "pipeline": "app"}
# Libraries: what they were called, and what they are called.
TARGETS = {**{old: ROWS[old].replace("/", "_") for old in OLD}, **AS_WHOLE}
TEXTS = (".md", ".py", ".txt", ".cmake", ".h", ".cpp", ".inc", ".toml", ".yml", ".yaml", ".json", ".sh", "")
LEFT_ALONE = ("bench/results/", "docs/results/", "tests/golden/", "tools/storeys.", "rules/", "examples/models/")
CODE = (".h", ".cpp", ".inc")

LIBRARIES = '''\
# One library per room, or per storey where rooms are small, in the order of the house: each sees only those above it.
# tools/check_includes enforces the same order on the sources, of all rooms.
isomer_library(base    DEPENDS fmt::fmt Threads::Threads ${GMP_LIBRARY} PRIVATE_DEPENDS ${CMAKE_DL_LIBS})

isomer_library(model/expr     DEPENDS isomer_base ${GMPXX_LIBRARY} ${GMP_LIBRARY})
isomer_library(model/eval     DEPENDS isomer_model_expr)
isomer_library(model/analysis DEPENDS isomer_model_eval)
isomer_library(model/ops      DEPENDS isomer_model_analysis)
isomer_library(model/graph    DEPENDS isomer_model_ops)

isomer_library(io/npz  DEPENDS isomer_model_graph PRIVATE_DEPENDS PkgConfig::libzip)
isomer_library(io/onnx DEPENDS isomer_model_graph PRIVATE_DEPENDS isomer_onnx_proto)

isomer_library(kernel/normal  DEPENDS isomer_model_eval PRIVATE_DEPENDS ${ISL_LIBRARY})
isomer_library(kernel/prove   DEPENDS isomer_kernel_normal isomer_model_graph)
isomer_library(kernel/certify DEPENDS isomer_kernel_prove isomer_io_onnx PRIVATE_DEPENDS nlohmann_json::nlohmann_json
               PROGRAM isomer-check MAIN check_main.cpp)  # tests/isomer_check_test.py knows what it may link

isomer_library(runtime DEPENDS isomer_io_onnx isomer_kernel_prove
               PRIVATE_DEPENDS nlohmann_json::nlohmann_json isomer_runtime_headers SQLite::SQLite3
               PROGRAM isomer-worker MAIN worker/worker_main.cpp)
isomer_library(rules   DEPENDS isomer_kernel_prove)
set_source_files_properties(src/rules/text/rule_book.cpp PROPERTIES INCLUDE_DIRECTORIES "${CMAKE_BINARY_DIR}/generated")

isomer_library(optimizer/facts   DEPENDS isomer_kernel_prove)
isomer_library(optimizer/propose DEPENDS isomer_optimizer_facts isomer_rules)
isomer_library(optimizer/plans   DEPENDS isomer_kernel_certify isomer_optimizer_facts PRIVATE_DEPENDS nlohmann_json::nlohmann_json)
isomer_library(optimizer/search  DEPENDS isomer_runtime isomer_optimizer_propose isomer_optimizer_plans PRIVATE_DEPENDS ${CMAKE_DL_LIBS})
set_source_files_properties(src/optimizer/search/prior.cpp PROPERTIES INCLUDE_DIRECTORIES "${CMAKE_BINARY_DIR}/generated")
isomer_library(equate   DEPENDS isomer_optimizer_facts isomer_kernel_certify)
isomer_library(compiler DEPENDS isomer_runtime)
set_source_files_properties(src/compiler/emit/module.cpp PROPERTIES INCLUDE_DIRECTORIES "${CMAKE_BINARY_DIR}/generated")

isomer_library(app     ROOMS inputs rules equality measure optimize explore
               DEPENDS isomer_optimizer_search isomer_equate isomer_rules isomer_io_npz)
isomer_library(app/report DEPENDS isomer_app nlohmann_json::nlohmann_json)
set_source_files_properties(src/app/report/report.cpp src/app/report/exploration_page.cpp
                            PROPERTIES INCLUDE_DIRECTORIES "${CMAKE_BINARY_DIR}/generated")
isomer_library(app/api DEPENDS isomer_app_report isomer_compiler)
isomer_command(cli     OUTPUT isomer
               DEPENDS isomer_app_api CLI11::CLI11)
'''
STOREYS = '''\
STOREYS = [
    ("base", []),
    ("model", ["expr", "eval", "analysis", "ops", "graph"]),
    ("io", ["npz", "onnx"]),
    ("kernel", ["normal", "prove", "certify"]),
    ("runtime", ["engines", "worker", "judge"]),
    ("rules", ["text", "generate"]),
    ("optimizer", ["facts", "propose", "plans", "search"]),
    ("equate", []),
    ("compiler", ["loops", "schedule", "emit", "tune", "cover"]),
    ("app", ["inputs", "rules", "equality", "measure", "optimize", "explore", "report", "api"]),
    ("cli", []),
]
'''
TRUSTED = "base model/expr model/eval model/analysis model/ops model/graph io/onnx kernel/normal kernel/prove kernel/certify".split()
without = lambda *rooms: " ".join(room for room in TRUSTED if room not in rooms)
quoted = lambda rooms: ", ".join(f'"{room}"' for room in rooms).replace(' "io/onnx"', '\n           "io/onnx"')

# file, what is there (a regular expression), what it becomes. Each must match.
LISTS = [
    ("CMakeLists.txt", r"# One library per folder, in the order.*?DEPENDS isomer_(api|app_api) CLI11::CLI11\)\n", LIBRARIES),
    ("cmake/IsomerInstall.cmake", r"isomer_shared PRIVATE isomer_report\)", "isomer_shared PRIVATE isomer_app_report isomer_compiler)"),
    ("cmake/IsomerTargets.cmake", r"\^\(base\|expr\|eval\|normal\|analysis\|graph\|onnx\|prove\|certify\)\$",
     "^(base|model/(expr|eval|analysis|graph)|io/onnx|kernel/(normal|prove|certify))$"),
    ("cmake/IsomerTargets.cmake", r"\^\(expr\|eval\|normal\|analysis\)\$", "^(model/(expr|eval|analysis)|kernel/normal)$"),
    ("cmake/IsomerTargets.cmake", r'STREQUAL "eval"', 'STREQUAL "model/eval"'),
    ("cmake/IsomerRulePack.cmake", r"rules/generated_text\.h", "rules/text/generated_text.h"),
    ("cmake/IsomerRulePack.cmake", r"search/prior_text\.h", "optimizer/search/prior_text.h"),
    ("cmake/IsomerKernels.cmake", r"generated/lower/kernels_text\.h", "generated/compiler/emit/kernels_text.h"),
    ("cmake/IsomerReportPage.cmake", r"generated/report/page_text\.h", "generated/app/report/page_text.h"),
    ("CMakeLists.txt", r"generated/rules/generated_text\.h and generated/search/prior_text\.h",
     "generated/rules/text/generated_text.h and generated/optimizer/search/prior_text.h"),
    ("CMakeLists.txt", r"generated/report/page_text\.h", "generated/app/report/page_text.h"),
    ("CMakeLists.txt", r"generated/lower/kernels_text\.h", "generated/compiler/emit/kernels_text.h"),
    ("tests/contract/CMakeLists.txt", r"LABELS ops ", "LABELS model/ops "),
    ("tools/check_includes", r"STOREYS = \[\n.*?\n\]\n", STOREYS),
    ("tools/check_includes", r"APART = \[\]", 'APART = [("optimizer", "compiler"), ("equate", "compiler")]'),
    ("tools/check_includes", r'"\^isl/"\), "normal"', '"^isl/"), "kernel/normal"'),
    ("tools/check_includes", r'h\$"\), "onnx"', 'h$"), "io/onnx"'),
    ("tools/check_includes", r'h\$"\), "npz"', 'h$"), "io/npz"'),
    ("tools/check_includes", r" The nearest\n# word is a matter of spelling, which the library's own messages have, too\.\n", "\n"),
    ("tools/check_includes", r"\$\|pipeline/nearest_word\\\.h\$\)", "$)"),
    ("tools/check_includes", r"\|certify/check_main\\\.cpp\$\|runtime/\(worker_main\|fault\)",
     r"|kernel/certify/check_main\.cpp$|runtime/worker/(worker_main|fault)"),
    ("tools/check_includes", r'"graph comes after ops"', '"model/graph comes after model/ops"'),
    ("tools/check_includes", r'(?=    \("src/ops/b\.cpp", )',
     '''    ("src/kernel/certify/a.cpp", '#include "runtime/judge/judge.h"\\n', "runtime/judge comes after kernel/certify"),
    ("src/kernel/certify/b.cpp", '#include "io/onnx/model.h"\\n#include "kernel/prove/step.h"\\n', None),
    ("src/compiler/emit/a.cpp", '#include "optimizer/facts/site.h"\\n', "is apart from it"),
    ("src/model/a.cpp", "", "in no folder of the house"),
'''),
    ("tests/isomer_check_test.py", r'TRUSTED = \{"base".*?\}', "TRUSTED = {" + quoted(TRUSTED) + "}"),
    ("tests/kernel_mutants.py", r'FOLDERS = \["base".*?\]', "FOLDERS = [" + quoted([*TRUSTED, "rules", "app"]) + "]"),
    ("tests/kernel_mutants.py", r'NEXT = \{"expr".*?\}\n',
     '''NEXT = {"model/expr": ["model/eval", "kernel/normal", "kernel/prove"], "model/eval": ["contract", "kernel/prove"],
        "kernel/normal": ["kernel/prove", "contract", "fuzz"], "model/analysis": ["contract"],
        "model/graph": ["kernel/prove", "kernel/certify"], "io/onnx": ["kernel/certify", "app"],
        "kernel/prove": ["kernel/certify", "fuzz"], "kernel/certify": ["checker", "app"], "base": ["model/expr", "kernel/certify"]}
'''),
    ("tests/together_test.py", r'for folder in \("ops", "propose"\):', 'for folder in ("model/ops", "optimizer/propose"):'),
    ("tests/together_test.py", r'"src" / folder\)\.glob\(', '"src" / folder).rglob('),
    ("tests/damaged_plans.py", r"\bisomer_search_test\b", "isomer_optimizer_search_test"),
    (".ci/run", r"asan_folders=\(.*?\)", f"asan_folders=({without('base')} io/npz)"),
    ("tools/nightly", r"over propose, search, pipeline, api, cli, runtime, rules, equate", "over runtime, rules, optimizer, equate, compiler, app and cli"),
    ("tools/nightly", r"which=\(propose .*?\)", "which=(runtime rules optimizer/propose optimizer/search equate compiler app app/api cli)"),
    ("tools/nightly", r"trusted=\(base .*?\)", f"trusted=({' '.join(TRUSTED)})"),
    ("tools/portable", r"FOLDERS:-base .*?\}", "FOLDERS:-" + without("model/ops") + "}"),
    ("bench/train_prior.py", r"\(src/search/features\.h\)\. Nothing", "(src/optimizer/search/features.h).\nNothing"),
    ("README.md", r"-L normal for one folder", "-L kernel/normal for one folder"),
    ("python/LICENSES.md", r"src/normal/term\.h", "src/model/expr/rational.h"),
    ("ARCHITECTURE.md", r"`expr`, `eval`, `normal` and `analysis` `-O3`", "`model/expr`, `model/eval`, `model/analysis` and `kernel/normal` `-O3`"),
]


def git_files():
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    return [n for n in names if pathlib.PurePath(n).suffix in TEXTS and not n.startswith(LEFT_ALONE) and (ROOT / n).is_file()]


def new_place(path):
    """Where a path below src/ of the old tree goes."""
    stem = path.rsplit(".", 1)[0] if "." in path.rsplit("/", 1)[-1] else path
    for part in (stem, re.sub(r"(_test|_fuzz)$", "", stem)):
        if part in ROWS and "/" in part:
            return ROWS[part] + path[len(part):]
    folder = path
    while "/" in folder:
        folder = folder.rsplit("/", 1)[0]
        if folder in ROWS:
            return ROWS[folder] + path[len(folder):]
    return None


class Rewriter:
    """Names of the old tree in a text, as names of the new one."""
    FOLDERS = "|".join(sorted(OLD))
    INCLUDE = re.compile(rf'(#\s*include\s*")((?:{FOLDERS})/[\w./-]+)(")')
    # src/ops/conv.cpp, src/ops, ops/conv.h, prove/step
    FILE = re.compile(rf"(?:(?<=SOURCE_DIR\}}/)|(?<=\.\./)|(?<![\w./\-]))(src/)?((?:{FOLDERS})(?:/[\w*]+)*(?:\.(?:h|cpp|inc))?)(?![\w\-]|/[\w]|\.\w)")
    PIECES = re.compile(rf'"src" / "({FOLDERS})" / (f?)"([^"]*)"')
    FOLDER = re.compile(rf"(?<![\w./\-])((?!rules|report|runtime|cli|base|equate)(?:{FOLDERS}))/(?![\w*.<\[{{])")

    def __init__(self, old_files):
        self.files = old_files
        self.stems = {f.rsplit(".", 1)[0] for f in old_files}
        self.guessed = []  # what was rewritten though it names no file as a whole

    def include(self, match):
        path = match[2]
        is_generated = path.rsplit(".", 1)[0] in ROWS
        return match[1] + (new_place(path) if path in self.files or is_generated else path) + match[3]

    def file(self, match, name):
        prefix, path = match[1] or "", match[2]
        folder, inside = path.split("/")[0], "/" in path
        exists = path in self.files or path in self.stems
        if not prefix and not exists:
            if not ("*" in path and fnmatch.filter(self.files, path + "*")):
                return match[0]
        if not inside:
            return prefix + AS_WHOLE.get(folder, ROWS[folder]) if prefix else match[0]
        if "*" in path:  # graph/infer*: of all files, the first one's folder
            first = sorted(fnmatch.filter(self.files, path + "*")) or [path]
            return prefix + new_place(first[0]).rsplit("/", 1)[0] + "/" + path.rsplit("/", 1)[1]
        if path not in self.files:
            self.guessed.append(f"{name}: {match[0]} -> {prefix}{new_place(path)}")
        return prefix + new_place(path)

    def text(self, name, text):
        if name.endswith(CODE):
            text = self.INCLUDE.sub(self.include, text)
            return re.sub(r"//[^\n]*|/src/normal/\S+", lambda m: self.comment(name, m[0]), text)
        text = self.PIECES.sub(lambda m: self.pieces(m), text)
        text = self.FILE.sub(lambda m: self.file(m, name), text)
        if name.endswith(".md"):
            text = self.FOLDER.sub(lambda m: AS_WHOLE.get(m[1], ROWS[m[1]]) + "/", text)
        return text

    def comment(self, name, text):
        if text.startswith("/src/"):
            return "/src/" + new_place(text[5:].rstrip('");')) + text[len(text.rstrip('");')):]
        text = self.FILE.sub(lambda m: self.file(m, name), text)
        return self.FOLDER.sub(lambda m: AS_WHOLE.get(m[1], ROWS[m[1]]) + "/", text)

    def pieces(self, match):
        place = new_place(f"{match[1]}/{match[3]}") if not match[2] else f"{ROWS[match[1]]}/{match[3]}"
        folder, file = place.rsplit("/", 1)
        return " / ".join(['"src"', *(f'"{part}"' for part in folder.split("/")), f'{match[2]}"{file}"'])


def rename_targets(text):
    return re.sub(rf"\bisomer_({Rewriter.FOLDERS})(_test)?\b", lambda m: f"isomer_{TARGETS[m[1]]}{m[2] or ''}", text)


def self_tests(text):
    """The invented trees of tools/check_includes: no file of theirs exists."""
    head, tests = text.split("SELF_TEST = [", 1)
    names = re.compile(rf'(src/|#include ")((?:{Rewriter.FOLDERS})/[\w./]+\.(?:h|cpp))')
    tests = names.sub(lambda m: m[0] if m[2].endswith(".pb.h") else m[1] + new_place(m[2]), tests)
    tests = re.sub(r"only src/(normal|onnx|npz) may", lambda m: f"only src/{ROWS[m[1]]} may", tests)
    return head + "SELF_TEST = [" + tests


def move():
    if not (SRC / "expr").is_dir():
        sys.exit("storeys: src/expr is gone: this tree has been moved already")
    old_files = {str(f.relative_to(SRC)) for f in SRC.rglob("*") if f.is_file()}
    rewriter = Rewriter(old_files)
    texts = {}
    for name in git_files():
        try:
            texts[name] = (ROOT / name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
    before = dict(texts)
    for number, (name, pattern, _) in enumerate(LISTS):  # a mark for now: what is put there has its new names already
        texts[name], count = re.subn(pattern, f"\0{number}\0", texts[name], flags=re.S)
        if count == 0:
            sys.exit(f"storeys: {name} no longer has {pattern}")
    for name, text in texts.items():
        if name == "tools/check_includes":
            texts[name] = self_tests(text)
            continue
        if name.endswith((".cmake", "CMakeLists.txt")):
            text = rename_targets(text)
        texts[name] = rewriter.text(name, text)
    for name, text in texts.items():
        texts[name] = re.sub("\0(\\d+)\0", lambda m: LISTS[int(m[1])][2], text)
    places = {}
    for file in sorted(old_files):
        places[file] = new_place(file)
        if places[file] is None:
            sys.exit(f"storeys: no row says where {file} goes")
    if clashes := [n for n, k in collections.Counter(places.values()).items() if k > 1]:
        sys.exit(f"storeys: several files would become {clashes}")
    for name, text in texts.items():
        if text != before[name]:
            (ROOT / name).write_text(text, encoding="utf-8")
    for file, new in places.items():
        # By another name first: runtime/worker.h must make room for the folder runtime/worker.
        (ROOT / ".storeys" / new).parent.mkdir(parents=True, exist_ok=True)
        os.rename(SRC / file, ROOT / ".storeys" / new)
    for folder, _, _ in os.walk(SRC, topdown=False):
        os.rmdir(folder)
    os.rename(ROOT / ".storeys", SRC)
    print(*rewriter.guessed, sep="\n")
    changed = [places[n[4:]] for n in texts if n.startswith("src/") and n.endswith((".h", ".cpp"))]
    others = [n for n in texts if not n.startswith("src/") and n.endswith((".h", ".cpp")) and texts[n] != before[n]]
    subprocess.run(["tools/format", *(f"src/{n}" for n in changed), *others], cwd=ROOT, check=True)
    subprocess.run(["git", "add", "-A"], cwd=ROOT, check=True)
    print(f"storeys: {sum(a != b for a, b in places.items())} of {len(places)} files moved, {sum(texts[n] != before[n] for n in texts)} texts changed")


# --------------------------------------------------------------------------------------------------- checks

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)
GENERATED = {"compiler/emit/kernels_text.h", "rules/text/generated_text.h", "optimizer/search/prior_text.h", "app/report/page_text.h",
             "cli/contract_text.h"}


def includes_of(file):
    return INCLUDE.findall(file.read_text(encoding="utf-8"))


def unresolved():
    for top in ("src", "include", "tests", "bench", "python", "cmake"):
        for file in (ROOT / top).rglob("*"):
            if file.suffix not in CODE:
                continue
            for header in includes_of(file):
                places = (SRC, ROOT / "include", ROOT / "tests", file.parent, ROOT / "python")
                if not (header in GENERATED or header.endswith(".pb.h") or any((p / header).is_file() for p in places)):
                    yield f"{file.relative_to(ROOT)}: includes {header}, which is not there"


def libraries():
    """{target: (folders, what it links)} of isomer_library and isomer_command."""
    text = re.sub(r"#[^\n]*", "", (ROOT / "CMakeLists.txt").read_text())
    out = {}
    for folder, rest in re.findall(r"^isomer_(?:library|command)\(([\w/]+)([^)]*)\)", text, re.M):
        words = rest.split()
        rooms = []
        if "ROOMS" in words:
            rooms = words[words.index("ROOMS") + 1:words.index("DEPENDS")]
        out["isomer_" + folder.replace("/", "_")] = ([f"{folder}/{r}/" for r in rooms] or [folder + "/"], {w for w in words if w.startswith("isomer_")})
    return out


def closure(target, links):
    seen, left = set(), [target]
    while left:
        for other in links.get(left.pop(), ()):
            if other not in seen:
                seen.add(other)
                left.append(other)
    return seen


def unlinked():
    """Files whose includes belong to a library that theirs does not link."""
    known = libraries()
    links = {target: linked for target, (_, linked) in known.items()}
    owner = lambda path: next((t for t, (folders, _) in known.items() if path.startswith(tuple(folders))), None)
    units = [(f, owner(str(f.relative_to(SRC)))) for f in SRC.rglob("*") if f.suffix in CODE]
    for cmake in [*(ROOT / "tests").rglob("CMakeLists.txt"), ROOT / "bench/CMakeLists.txt"]:
        text = cmake.read_text()
        for target, words in re.findall(r"target_link_libraries\(([\w-]+)([^)]*)\)", text):
            links.setdefault(target, set()).update(w for w in words.split() if w.startswith("isomer_"))
        for target, words in re.findall(r"add_(?:executable|library)\(([\w-]+)([^)]*)\)", text):
            units += [(cmake.parent / w, target) for w in words.split() if w.endswith(".cpp") and (cmake.parent / w).is_file()]
    for file, target in units:
        if target is None:
            yield f"{file.relative_to(ROOT)}: is in no library"
            continue
        seen = closure(target, links) | {target}
        for header in includes_of(file):
            of = owner(header)
            if of and of not in seen and not header.endswith("/testing.h"):  # inline functions, for tests
                yield f"{file.relative_to(ROOT)}: includes {header}, but {target} does not link {of}"
    names = collections.Counter((t, f.name) for f, t in units if f.suffix == ".cpp" and f.is_relative_to(SRC))
    yield from (f"{t}: several objects are called {name}" for (t, name), k in names.items() if k > 1)


def missing_paths():
    """Files below src/ that a text names and that are not there."""
    files = {str(f.relative_to(SRC)) for f in SRC.rglob("*") if f.is_file()}
    stems = {f.rsplit(".", 1)[0] for f in files}
    folders = {str(f.relative_to(SRC)) for f in SRC.rglob("*") if f.is_dir()}
    with_src = re.compile(r"(?:(?<=[\}\"]/)|(?<=\.\./)|(?<![\w./\-]))src/([a-z_0-9]+(?:/[a-z_0-9]+)*(?:\.(?:h|cpp|inc))?)(?![\w*{])")
    alone = re.compile(rf"(?<![\w./\-])((?:{'|'.join(sorted(OLD | NEW))})(?:/[a-z_0-9]+)+\.(?:h|cpp|inc))(?!\w)")
    for name in git_files():
        if name in ("tools/check_includes", "tools/storeys.py", "CHANGELOG.md"):
            continue
        text = (ROOT / name).read_text(encoding="utf-8", errors="replace")
        for path in with_src.findall(text):
            if path not in files | stems | folders and not re.search(r"(^|/)(foo|fuse)(_test)?\b", path):
                yield f"{name}: src/{path} is not there"
        if not name.endswith(CODE):
            text = re.sub(r"generated/\S+", "", text)
        for path in alone.findall(text):
            if path not in files | GENERATED and not (ROOT / "tests" / path).is_file() and not re.search(r"/(foo|fuse)(_test)?\.", path):
                yield f"{name}: {path} is not there"


def circles_of_corners():
    """Folders inside of a room that include each other in a circle. The room's own files and tests may include any."""
    arrows = collections.defaultdict(set)
    for file in (SRC / "optimizer/propose").rglob("*"):
        if file.suffix in CODE and not file.name.endswith("_test.cpp"):
            here = str(file.parent.relative_to(SRC))
            arrows[here] |= {h.rsplit("/", 1)[0] for h in includes_of(file)}
    corners = {c for c in arrows if c.count("/") == 2}
    for a in corners:
        if a in closure(a, {c: (arrows[c] & corners) - {c} for c in corners}):
            yield f"{a}: includes itself through others"


def check():
    found = [*unresolved(), *unlinked(), *missing_paths(), *circles_of_corners()]
    print(*found, sep="\n")
    for arguments in ([], ["--self-test"], ["--count"]):
        found += [1] * subprocess.run([sys.executable, "tools/check_includes", *arguments], cwd=ROOT).returncode
    house = runpy.run_path(str(ROOT / "tools/check_includes"))
    known = libraries()
    owner = lambda path: next((t for t, (folders, _) in known.items() if path.startswith(tuple(folders))), None)
    storey = lambda target: target.split("_")[1]
    arrows = {(owner(str(f.relative_to(SRC))), owner(h)) for f in SRC.rglob("*") if f.suffix in CODE for h in includes_of(f)}
    arrows = {(a, b) for a, b in arrows if a and b and a != b}
    between = {(storey(a), storey(b)) for a, b in arrows if storey(a) != storey(b)}
    inside = {(a, b) for a, b in arrows if storey(a) == storey(b)}
    print(f"libraries: {len(known)}, floors {house['longest_chain'](list(known), arrows)}, arrows {len(arrows)}; "
          f"between storeys, and inside of one: {len(between) + len(inside)}")
    print(f"storeys: {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    if not sys.argv[1:]:
        move()
    sys.exit(check())
