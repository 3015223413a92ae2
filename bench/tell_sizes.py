"""The page of sizes that change. From the lines of bench/open_sizes.py, bench/compile_sizes.py and bench/fixed_and_open.py."""
import math
import statistics

import fixed_and_open


def cell(row):
    return f"{row['ratio']:.2f} [{row['low']:.2f}, {row['high']:.2f}]" if "ratio" in row else "-"


def words(ratios):
    return f"{min(ratios):.2f} to {max(ratios):.2f}" if ratios else "not measured"


def table(record):
    lines = [f"`{record['command']}` took {record['seconds']:.0f} s; the file of {record['bytes_in'] / 1e6:.1f} MB became {record['bytes_out'] / 1e6:.1f} MB, "
             "library and weights included.", "",
             "| size | operators | ONNX Runtime, ms | speedup, 95 % interval | outputs differ by | error against float64, before → after |",
             "|--:|---|--:|---|--:|---|"]
    for row in sorted(record["rows"], key=lambda r: r["number"]):
        made = "no" if not row["is_given"] else "no: " + row["reason"] if row.get("reason") else "yes"
        ms = f"{row['ms']:.2f}" if "ms" in row else "-"
        errors = row.get("errors")
        against = f"{errors['runtime']:.0e} → {errors['module']:.0e}" if errors else "-"
        lines.append(f"| {row['number']} | {made} | {ms} | {cell(row)} | {row['apart']:.0e} | {against} |")
    return lines


def open_beside_fixed(told, provenance):
    """Zoo models with open sizes beside the same models with fixed sizes (bench/fixed_and_open.py)."""
    if told is None:
        return []
    head, rows = told
    rows = [row for row in rows if "gain" in row["fixed"] and "gain" in row["open"]]
    losing = [row["model"] for row in rows if fixed_and_open.loses(row)]
    judge = "the runtime" if "--measure" in head["command"] else "`--judge cost`"
    lines = ["## What `optimize` finds at open sizes", "",
             f"Models of the zoo with open sizes (`NAME.dyn`) beside the same models with fixed sizes, judged at one size by {judge}. *kept*: the open model's "
             f"gain as a share of the fixed one's. **{len(losing)} of {len(rows)} lose more than {1 - fixed_and_open.LOST:.0%}** "
             f"({', '.join(losing) or 'none'}).", "",
             provenance(head), "",
             "| model | fixed | open | kept | s fixed | s open | steps that only the fixed one has |", "|---|--:|--:|--:|--:|--:|---|"]
    for row in rows:
        fixed, opened = row["fixed"], row["open"]
        lines.append(f"| {row['model']} | {fixed['gain']:.3f} | {opened['gain']:.3f} | {opened['gain'] / fixed['gain']:.3f} | {fixed['seconds']:.0f} | "
                     f"{opened['seconds']:.0f} | {fixed_and_open.fewer_steps(row)} |")
    return [*lines, ""]


def speeds_at(row, way):
    """"1x16 1.28, 1x128 1.16"."""
    found = [(at["size"], at[way]) for at in row.get("rows", []) if "ratio" in at.get(way, {})]
    return ", ".join(f"{size} {f['ratio']:.2f}" for size, f in found)


def rights_of(row, way):
    """At how many sizes it ran, of those at which ONNX Runtime runs, and how far outputs are apart at most."""
    found = [at[way] for at in row.get("rows", []) if way in at]
    ran = [f["apart"] for f in found if "apart" in f]
    return f"{len(ran)} of {len(found)}, {max(ran):.0e}" if ran else "-"


def message_of(made):
    return made.get("message", "").split("; --as custom-op leaves")[0][:160].replace("|", "/").replace("\n", " ")


def open_section(told, provenance):
    """Models compiled with open sizes (bench/open_sizes.py)."""
    if told is None:
        return []
    head, rows = told
    cells = [at[way]["ratio"] for row in rows for at in row.get("rows", []) for way in ("operators",) if "ratio" in at.get(way, {})]
    general = [s["ratio"] for row in rows for s in row.get("special", []) if "ratio" in s]
    lines = ["## Open sizes", "",
             "`isomer compile MODEL` makes a module for [every size](../guides/compile.md#sizes-that-a-run-is-given), `--as custom-op` operators that run at "
             "every size, with ONNX Runtime for the rest. Each model ran at up to eight sizes; *sizes* counts those at which the result ran, of those at which "
             "ONNX Runtime runs, and gives the largest difference of outputs, relative to the largest value. Speedups are over ONNX Runtime on the "
             "model as it is, at "
             "three sizes; *general / special* compares the module with one that is made for the size alone.", ""]
    if cells:
        lines += [f"{len(cells)} measurements with operators: geometric mean {math.exp(sum(map(math.log, cells)) / len(cells)):.2f}, {words(cells)}. "
                  f"{len(general)} with a general module beside a special one: {words(general)}.", ""]
    times = [row["module"]["seconds"] / s["seconds"] for row in rows for s in row.get("special", []) if "ratio" in s and s.get("seconds")]
    if times:
        lines += [f"Making a general module takes {words(times)} times the time of a special one, C++ compiler included "
                  f"(median {statistics.median(times):.2f}).", ""]
    lines += [provenance(head), "",
              "| model | module: sizes | speedup | general / special | s | operators: sizes | speedup | s |", "|---|---|---|---|--:|---|---|--:|"]
    for row in rows:
        module, operators = row.get("module", {}), row.get("operators", {})
        is_made = module.get("exit") == 0
        special = ", ".join(f"{s['ratio']:.2f}" for s in row.get("special", []) if "ratio" in s)
        made = rights_of(row, "module") if is_made else "refused: " + message_of(module)
        lines.append(f"| {row['model']} | {made} | {speeds_at(row, 'module')} | {special} | "
                     f"{module.get('seconds', 0):.0f} | {rights_of(row, 'operators')} | {speeds_at(row, 'operators')} | {operators.get('seconds', 0):.0f} |")
    return [*lines, ""]


def page(told, of_pairs, of_open, provenance, generated):
    lines = ["# Sizes that change", "", generated, "", *open_section(of_open, provenance)]
    if told is None:
        return [*lines, "Not measured yet: `bench/compile_sizes.py`."]
    lines += ["## Several sizes in one model", ""]
    head, rows = told
    done = [r for r in rows if "rows" in r]
    fast = [row["ratio"] for r in done for row in r["rows"] if row["is_given"] and not row.get("reason") and "ratio" in row]
    other = [row["ratio"] for r in done for row in r["rows"] if (not row["is_given"] or row.get("reason")) and "ratio" in row]
    lines += ["`isomer compile --as custom-op` with several `--shape` writes one model that [runs at every size](../guides/compile.md#sizes-that-change). "
              f"ONNX Runtime on the model as it is = 1.00. {len(fast)} sizes with operators: {words(fast)}. {len(other)} other sizes, where the model's own "
              f"nodes run behind the comparison of sizes: {words(other)}.", "", provenance(head), ""]
    for record in done:
        lines += [f"### {record['model']}", "", *table(record), ""]
    return [*lines, *open_beside_fixed(of_pairs, provenance)][:-1]
