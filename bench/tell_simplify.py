"""The page of `isomer simplify`, from the lines of bench/simplify.py."""
import statistics

import simplify


def cell(row, tool):
    made = row.get(tool, {})
    return made.get("nodes", "fails" if "failure" in made else "-")


def seconds(row, tool):
    return f"{row[tool]['seconds']:.1f}" if tool in row else "-"


def headline(told):
    rows = [row for row in told[1] if "nodes" in row["isomer"]]
    close = sum(map(simplify.is_close, rows))
    return (f"{len(rows)} models of the zoo, `simplify`", f"{close} with the fewest nodes of three simplifiers, or at most {simplify.CLOSE - 1:.0%} more; "
            f"median {statistics.median(row['isomer']['seconds'] for row in rows):.1f} s", "simplify.md")


def page(told, provenance, generated):
    lines = ["# `isomer simplify` beside other simplifiers", "", generated, ""]
    if told is None:
        return [*lines, "Not measured yet: `bench/simplify.py`."]
    head, rows = told
    whole = [row for row in rows if "nodes" in row["isomer"]]
    names = {"isomer": "Isomer", "onnxsim": "onnxsim", "onnxslim": "OnnxSlim"}
    close = sum(map(simplify.is_close, whole))
    medians = ", ".join(f"{names[tool]} {statistics.median(row[tool]['seconds'] for row in whole if tool in row):.1f} s"
                        for tool in names if any(tool in row for row in whole))
    lines += ["Models of the zoo, one export of each network. "
              f"**On {close} of {len(whole)} the result has the fewest nodes, or at most {simplify.CLOSE - 1:.0%} more.** "
              f"Every result is proved equal and accepted by `isomer-check`. Median times: {medians}; each tool reads a file and writes one.", "",
              provenance(head), "",
              "| model | nodes | Isomer | onnxsim | OnnxSlim | s Isomer | s onnxsim | s OnnxSlim |", "|---|--:|--:|--:|--:|--:|--:|--:|"]
    for row in sorted(whole, key=lambda row: row["model"]):
        lines.append(f"| {row['model']} | {row['nodes']} | " + " | ".join(str(cell(row, tool)) for tool in names) + " | "
                     + " | ".join(seconds(row, tool) for tool in names) + " |")
    return lines
