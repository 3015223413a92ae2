"""The page about what was tried to hurt a user: docs/developers/reliability.md, from reliability.jsonl (tests/lib/reliability.py writes it)."""

# In the order of the page: the promise's key, what must hold, what one try is, how many of them are wanted (None: all there are).
PROMISES = {
    "system_faults": ("Any one call of the system fails (open, read, write, fsync, rename, truncate, mmap, malloc, fork, poll, mkdir), or all from it on: an "
                      "output is absent, as before, or whole; inputs are untouched; nothing false is said; another exit code than 0 comes with a clear line",
                      "failed calls", None),
    "kills": ("kill -9 at any moment, half of them aimed at the write: the output is absent, the old one, or the new one, each whole; the next run "
              "leaves nothing behind", "kills", 1000),
    "interrupts": ("Ctrl-C or SIGTERM at any moment: the best model so far, valid and checked, within 3 s", "signals", 200),
    "damaged_caches": ("A cache of timings or proofs that is cut, flipped, foreign or poisoned: no crash, nothing false, and what is found is what was kept",
                       "caches", 10000),
    "shared_cache": ("Processes that share a cache and are killed: what was acknowledged is there", "acknowledged entries", None),
    "worker_faults": ("The process with the runtime dies, hangs, stops or lies: an answer all the same, no process and no file left", "faults", None),
    "swap_races": ("External data that is swapped for a link out of the model's directory while it is read: no byte of another file is taken", "races", 2000),
    "hostile": ("Models made to hurt: refused with a clear line, nothing written, nothing outside read", "models", None),
    "tricky": ("Legal models with traps: taken, and the same outputs bit for bit", "models", None),
    "random_models": ("Random models, optimized: the result is accepted by the checker, not refuted, and on ONNX Runtime what *equal* promises",
                      "models", 20000),
    "soak": ("One process that optimizes for hours, beside others that are killed, interrupted and given damaged files: its memory stays as it is, no "
             "process, file, shared memory or lock is left", "runs", None),
    "sandbox": ("The process with the runtime, tried from inside: what it must not do is refused by the kernel", "attempts", None),
    "hardened": ("The programs as they are built: position independent, read-only relocations, no executable stack, stack protector, checked library calls, no "
                 "path of the machine that built them", "properties", None),
    "reproducible": ("Two builds in different folders: the same bytes", "files", None),
    "pins": ("What is downloaded to build and test is pinned by hash, and listed in the bill of materials (tools/sbom)", "parts", None),
    "branches": ("Branches of the trusted folders that the unit tests take", "branches", None),
    "very_large": ("A decoder of 70 billion parameters with sparse weights, and a model of 100,000 nodes: inspected, optimized by cost, checked",
                   "commands", None),
}
FUZZED = "fuzz."  # how the keys of fuzz targets begin
WANTED_EXECUTIONS = 10**7


def count(number):
    return f"{number:,}"


def made_by(row):
    by = row["by"]
    return f"`{by['command']}`, build {by['build']}, {by['date']}, {duration(row['seconds'])}, load {by['load']} on {by['cores']} threads"


def duration(seconds):
    return f"{seconds} s" if seconds < 120 else f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def text(value):
    return count(value) if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else str(value)


def page(rows, generated):
    by_key = {r["promise"]: r for r in rows}
    unknown = [k for k in by_key if k not in PROMISES and not k.startswith(FUZZED)]
    if unknown:
        raise SystemExit(f"reliability.jsonl: no description for {', '.join(unknown)}")
    yield from ("# Reliability: faults, attacks and fuzzing", "", generated, "",
                "Isomer reads untrusted files, runs for minutes, and overwrites files that matter. This page lists the faults and attacks that "
                "scripts tried, how",
                "often, and what went wrong. Short forms of most scripts run in CI; `tools/nightly` runs the long ones. The part that",
                "proofs rest on is attacked separately: [attacks](../results/attacks.md), [the checker](../concepts/checker.md).",
                "The promises to users are in [SECURITY.md](../../SECURITY.md).", "",
                "| what must hold | tried | wanted | went wrong |", "|---|---:|---:|---:|")
    for key, (title, unit, wanted) in PROMISES.items():
        if row := by_key.get(key):
            yield f"| [{title}](#{key}) | {count(row['tried'])} {unit} | {count(wanted) if wanted else 'all'} | {row['wrong']} |"
        else:
            yield f"| {title} | not yet | {count(wanted) if wanted else 'all'} | |"
    yield ""
    yield from fuzzed([r for r in rows if r["promise"].startswith(FUZZED)])
    yield from ("## Each of them", "")
    for key in PROMISES:
        if row := by_key.get(key):
            yield from section(key, row)


def section(key, row):
    yield from (f"### {key}", "", f"{made_by(row)}.", "")
    if row["figures"]:
        yield from ("; ".join(f"{name.replace('_', ' ')}: {text(value)}" for name, value in row["figures"].items()) + ".", "")
    if row["limits"]:
        yield from (f"Limits: {row['limits']}.", "")
    for wrong in row["shown"]:
        yield f"- wrong: {wrong.replace('|', '/')}"
    if row["shown"]:
        yield ""


def fuzzed(rows):
    if not rows:
        return
    yield from ("## Fuzzing", "",
                "libFuzzer with AddressSanitizer and UndefinedBehaviorSanitizer, seeds from random and hostile models, rules and certificates "
                "(`tests/evidence/fuzz_run.py`). "
                f"The goal is {count(WANTED_EXECUTIONS)} executions of each target, or no new coverage.", "",
                "| target | executions | edges covered | of them in the last tenth of the runs | files kept | open findings | made by |",
                "|---|---:|---:|---:|---:|---:|---|")
    for row in sorted(rows, key=lambda r: r["promise"]):
        f = row["figures"]
        figures = " | ".join(count(n) for n in (row["tried"], f["edges"], f["edges_in_last_tenth"], f["corpus"], row["wrong"]))
        yield (f"| {row['promise'].removeprefix(FUZZED)} | {figures} | build {row['by']['build']}, {row['by']['date']}, {duration(f['seconds_in_all'])} |")
    yield ""
