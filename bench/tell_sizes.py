"""The page of sizes that change: operators for a few sizes in one model. From the lines of bench/compile_sizes.py."""


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


def page(told, provenance, generated):
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
    return lines[:-1]
