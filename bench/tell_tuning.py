"""The page of tuned schedules, from the lines of bench/tuning.py."""
import math
import statistics

POINTS = (10, 20, 40, 80, 160, 320)  # schedules timed


def mean(numbers):
    return math.exp(statistics.fmean(map(math.log, numbers)))


def at(row, tried):
    """The expected speedup after `tried` schedules; None: the search had ended."""
    curve = [p for p in row["curve"][:-1] if p["tried"] <= tried]
    return curve[-1]["expected"] if curve and row["curve"][-1]["tried"] >= 0.8 * tried else None


def whole(row):
    return row["ratio"] if row["is_taken"] else 1.0


def page(found, provenance, generated):
    yield from ("# Results: tuned schedules", "", generated, "",
                "`isomer compile --tune` ([how](../guides/compile.md#tuning)), one thread. Each model is tuned from nothing, once per way of searching, for "
                "`--tune` of the command below. *N timed*: the time of all units, untuned, divided by that of the best schedules after N measurements, "
                "by the luckiest of many measurements. *Measured again*: the same for the accepted schedules, on fresh samples. *Whole model*: "
                "tuned against untuned, by turns; 1.00 if the untuned one is kept. `learned`, a cost model of boosted trees, was removed since.", "")
    if found is None:
        yield "There are no results yet."
        return
    head, rows = found
    good = [r for r in rows if "failure" not in r]
    searches = list(dict.fromkeys(r["search"] for r in good))
    points = [p for p in POINTS if any(at(r, p) for r in good)]
    yield from ("| search | models | " + " | ".join(f"{p} timed" for p in points) + " | measured again | whole model |",
                "|---|---:|" + "---:|" * (len(points) + 2))
    for search in searches:
        mine = [r for r in good if r["search"] == search]
        cells = [[x for x in (at(r, p) for r in mine) if x] for p in points]
        yield (f"| {search} | {len(mine)} | " + " | ".join(f"{mean(c):.3f}" if len(c) == len(mine) else "-" for c in cells) +
               f" | {mean([r['expected'] for r in mine]):.3f} | {mean([whole(r) for r in mine]):.3f} |")
    yield from ("", "Geometric means over models.", "", provenance(head), "",
                "| model | search | seconds | schedules timed | refused | units | of them changed | measured again | whole model |",
                "|---|---|---:|---:|---:|---:|---:|---:|---:|")
    for r in sorted(good, key=lambda r: (r["model"], r["search"])):
        yield (f"| {r['model']} | {r['search']} | {r['seconds']:.0f} | {r['tried']} | {r['refused']} | {r['units']} | {r['taken']} | {r['expected']:.3f} | "
               f"{whole(r):.3f} |")
    for r in rows:
        if "failure" in r:
            yield f"| {r['model']} | {r['search']} | **failed**: {r['failure'].strip().splitlines()[-1][:80].replace('|', '/')} | | | | | | |"
