"""What the records of rules_cover.py say of each proposer and of each kind of step. Needs no package."""
import re

SAME = 1.001  # a cost that is not further from another one is the same
FAR = "backtrack:1.05"
STRATEGIES = ("greedy", FAR)
# The text of `simplify`, which goes along with every proposer that runs alone.
OF_SIMPLIFY = ("* changes nothing", "* nodes compute what * does", "* values are known before anything runs")


def loses(run, than):
    """How many times as high a cost is; 1 where it is the same, or lower, or not known."""
    if not run or not than or run["cost"] <= SAME * than["cost"]:
        return 1.0
    return run["cost"] / than["cost"]


def kind_of(change):
    """What a step says of itself, without names and numbers: "* nodes linear in * are one * convolution"."""
    text = re.sub(r"\b\w+ producing \S+", "*", change)
    text = re.sub(r"[^\s,:]*[\d_/][^\s,:]*|\b[b-z]\b", "*", text)
    text = re.sub(r"\b(in|from|to|of|before|after|at) a(?= are|,|$)", r"\1 *", text)
    return re.sub(r"\bout\b|\*(, \*)+", "*", text)


def kinds_of(row, who):
    alone = row["alone"].get(who) or {"changes": []}
    return {kind_of(c) for c in alone["changes"]} - {*OF_SIMPLIFY}


def line(rows, who):
    """The graphs in whose results a proposer has a step: their number; where it alone gains, and in how many of these the pack alone is as good; by strategy
    how often leaving it out loses, of how many; the largest loss, and where."""
    alone = [r for r in rows if r["alone"].get(who) and r["alone"][who]["cost"] * SAME < 1]
    lost = {s: [(loses(r["without"][who][s], r["all"][s]), r["graph"]) for r in rows if s in r["without"][who]] for s in STRATEGIES}
    return {"graphs": len(rows), "alone": len(alone), "covered": sum(loses(r["pack"], r["alone"][who]) == 1 for r in alone),
            "lost": {s: sum(x > 1 for x, _ in lost[s]) for s in STRATEGIES}, "asked": {s: len(lost[s]) for s in STRATEGIES},
            "worst": max([*lost[FAR], *lost["greedy"]], default=(1.0, ""))}


def proposers(rows):
    """{proposer: line}, the ones that have a step in a result."""
    names = sorted({who for r in rows for who in r.get("without", {})})
    return {who: line([r for r in rows if who in r.get("without", {})], who) for who in names}


def kinds(rows):
    """{(proposer, kind of step): line}, of graphs in which the proposer alone takes steps of one kind only."""
    found = {}
    for row in rows:
        for who in row.get("without", {}):
            if len(of := kinds_of(row, who)) == 1:
                found.setdefault((who, *of), []).append(row)
    return {key: line(of, key[0]) for key, of in sorted(found.items())}


def cells(entry):
    worst, where = entry["worst"]
    return (entry["graphs"], f"{entry['covered']} of {entry['alone']}", *(f"{entry['lost'][s]} of {entry['asked'][s]}" for s in (FAR, "greedy")),
            f"{worst:.2f}, {where}" if worst > 1 else "none")


def runs(row):
    """All searches of a graph."""
    found = [*row["all"].values(), row.get("pack"), *row.get("alone", {}).values(), *(run for of in row.get("without", {}).values() for run in of.values())]
    return [run for run in found if run]
