"""The page of sizes that change: operators for a few sizes in one model. From the lines of bench/compile_sizes.py and bench/twins.py."""
import twins


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


def twins_section(told, provenance):
    """Zoo models with open sizes beside the same models with fixed sizes (bench/twins.py)."""
    if told is None:
        return []
    head, rows = told
    rows = [row for row in rows if "gain" in row["fixed"] and "gain" in row["open"]]
    losing = [row["twin"] for row in rows if twins.loses(row)]
    judge = "the runtime" if "--measure" in head["command"] else "`--judge cost`"
    lines = ["## What `optimize` finds at open sizes", "",
             f"Models of the zoo with open sizes (`NAME.dyn`) beside the same models with fixed sizes, judged at one size by {judge}. *kept*: the open model's "
             f"gain as a share of the fixed one's. **{len(losing)} of {len(rows)} lose more than {1 - twins.LOST:.0%}** ({', '.join(losing) or 'none'}).", "",
             provenance(head), "",
             "| model | fixed | open | kept | s fixed | s open | steps that only the fixed one has |", "|---|--:|--:|--:|--:|--:|---|"]
    for row in rows:
        fixed, opened = row["fixed"], row["open"]
        lines.append(f"| {row['twin']} | {fixed['gain']:.3f} | {opened['gain']:.3f} | {opened['gain'] / fixed['gain']:.3f} | {fixed['seconds']:.0f} | "
                     f"{opened['seconds']:.0f} | {twins.fewer_steps(row)} |")
    return [*lines, ""]


def page(told, of_twins, provenance, generated):
    lines = ["# Sizes that change", "", generated, ""]
    if told is None:
        return [*lines, "Not measured yet: `bench/compile_sizes.py`."]
    head, rows = told
    done = [r for r in rows if "rows" in r]
    fast = [row["ratio"] for r in done for row in r["rows"] if row["is_given"] and not row.get("reason") and "ratio" in row]
    other = [row["ratio"] for r in done for row in r["rows"] if (not row["is_given"] or row.get("reason")) and "ratio" in row]
    lines += ["`isomer compile --as custom-op` with several `--shape` writes one model that [runs at every size](../how-to/compile.md#sizes-that-change). "
              f"ONNX Runtime on the model as it is = 1.00. {len(fast)} sizes with operators: {words(fast)}. {len(other)} other sizes, where the model's own "
              f"nodes run behind the comparison of sizes: {words(other)}.", "", provenance(head), ""]
    for record in done:
        lines += [f"## {record['model']}", "", *table(record), ""]
    return [*lines, *twins_section(of_twins, provenance)][:-1]
