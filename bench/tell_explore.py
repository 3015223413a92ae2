"""What is told of who is asked first (search_prior.jsonl), on the page about exploring."""
import math
import statistics

SHARE = 0.95


def prior_section(found, structures, expert, provenance):
    if found is None:
        return
    head, rows = found
    good = [r for r in rows if "error" not in r]
    gaining = [r for r in good if r["none"]["gain"] > 1.0005]
    both = [r for r in gaining if r["none"]["until"] and r["prior"]["until"]]
    yield from ("## Who is asked first", "", provenance(head), "")
    if both:
        ratios = [r["prior"]["until"] / r["none"]["until"] for r in both]
        lower = [r["model"] for r in good if r["prior"]["gain"] < r["none"]["gain"] - 0.002]
        higher = [r["model"] for r in good if r["prior"]["gain"] > r["none"]["gain"] + 0.002]
        yield (f"`isomer optimize --judge cost` with a prior that knows nothing of the model's family, against `--no-prior`: CPU time until {SHARE:.0%} "
               f"of the gain that the latter has in the end. Of {len(gaining)} models that gain by the analytic cost {len(both)} come to it with the prior, in "
               f"{math.exp(statistics.fmean(map(math.log, ratios))):.2f} of the time (geometric mean; median {statistics.median(ratios):.2f}; "
               f"{sum(x <= 0.5 for x in ratios)} in half of it or less; {sum(x > 1.05 for x in ratios)} take longer). "
               f"Lower in the end: {', '.join(lower) or 'none'}. Higher: {', '.join(higher) or 'none'}.")
        yield ""
    yield from ("| model | gain | with prior | s | s with prior | asked first | why |", "|---|---:|---:|---:|---:|---|---|")
    for r in sorted(gaining, key=lambda r: r["model"]):
        until = [r[arm]["until"] for arm in ("none", "prior")]
        cells = [r["model"], f"{r['none']['gain']:.4f}", f"{r['prior']['gain']:.4f}",
                 *("never" if u is None else f"{u:.2f}" for u in until), ", ".join(r["first"] or ["all"]), r["why"] or ""]
        yield "| " + " | ".join(cells) + " |"
    yield ""
    for title, found_apart in (("Structures by themselves", structures), ("The expert suite", expert)):
        if not found_apart:
            continue
        head, rows = found_apart
        good = [r for r in rows if "error" not in r]
        both = [r for r in good if r["none"]["gain"] > 1.0005 and r["none"]["until"] and r["prior"]["until"]]
        mean = math.exp(statistics.fmean(math.log(r["prior"]["until"] / r["none"]["until"]) for r in both))
        lower = [r["model"] for r in good if r["prior"]["gain"] < r["none"]["gain"] - 0.002]
        yield (f"{title} ({provenance(head)[:-1]}): {len(good)}, of which {sum(r['none']['gain'] > 1.0005 for r in good)} gain by the analytic cost, "
               f"with the prior in {mean:.2f} of the time; lower with the prior: {', '.join(lower) or 'none'}.")
        yield ""
