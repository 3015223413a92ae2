#!/usr/bin/env python3
# nightly: --check | timeout=900
"""`isomer fleet` on a real Ray cluster of separate processes on this machine: a head and four nodes of two faked kinds.

  tests/evidence/fleet_ray.py [--models N] [--zoo] [--kills N] [--heads N] [--steps N] [--shards N] [--tuned NAME,...] [--tuning TIME] [--only STAGE]
                              [--folder DIR [--minutes M]] [--results FILE.jsonl] [--check]
Models with `--judge cost` and fixed steps have the same bytes as one by one; nodes are killed (SIGKILL, all of their processes) while that goes on, and
the head with all of them (--minutes: so long at a time, then the fleet is stopped as by Ctrl-C, and the same command goes on);
rules in shards are the pack of one process, byte for byte; kernels are tuned on machines of each kind, and what was measured is remembered;
a node of another fingerprint is left out and named.
Needs Ray (python/isomer/fleet's extra) in the Python of $ISOMER_FLEET_PYTHON, or in this one; without it the script skips itself.
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import onnx

import _paths  # noqa: F401
import programs
import small_models
from records import Records

PYTHON = os.environ.get("ISOMER_FLEET_PYTHON", sys.executable)
LEASE = "4"
LATEST = float("inf")


def has_ray():
    return subprocess.run([PYTHON, "-c", "import ray, onnx"], capture_output=True, check=False).returncode == 0


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Cluster:
    """A head and nodes, each a group of processes that can be killed as a whole."""

    def __init__(self, folder, temporary):
        self.temporary = temporary  # Ray's sockets: paths of these are short
        self.folder, self.port, self.groups, self.count, self.kinds = folder, free_port(), {}, 0, {}
        token = temporary / "token"
        token.write_text("0123456789abcdef" * 4)
        token.chmod(0o600)
        self.env = os.environ | {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token), "RAY_USAGE_STATS_ENABLED": "0", "PYTHONUNBUFFERED": "1",
                                 "PYTHONPATH": str(programs.ROOT / "python" / "isomer"), "RAY_DISABLE_IMPORT_WARNING": "1", "RAY_DEDUP_LOGS": "0",
                                 "RAY_health_check_period_ms": "1000", "RAY_health_check_timeout_ms": "2000", "RAY_health_check_failure_threshold": "2",
                                 "RAY_gcs_rpc_server_reconnect_timeout_s": "5"}
        self.start_head()

    def _ray(self, name, *arguments, env=None):
        ray = str(pathlib.Path(PYTHON).parent / "ray")
        log = open(self.folder / f"{name}.log", "wb")
        temporary = [f"--temp-dir={self.temporary / 'ray'}"] if name == "head" else []
        self.groups[name] = subprocess.Popen([ray, "start", "--block", "--num-cpus=0", "--disable-usage-stats", *temporary, *arguments],
                                             env=self.env | (env or {}), stdout=log, stderr=log, start_new_session=True)

    def start_head(self):
        self._ray("head", "--head", f"--port={self.port}", "--node-ip-address=127.0.0.1", "--include-dashboard=false", "--dashboard-host=127.0.0.1")
        end = time.monotonic() + 90
        while time.monotonic() < end:
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.3)
        sys.exit(f"no head: {(self.folder / 'head.log').read_text()[-1500:]}")

    def add(self, kind, fingerprint=None):
        self.count += 1
        name = f"node{self.count}"
        self.kinds[name] = (kind, fingerprint)
        resources = json.dumps({f"kind:{kind}": 1, "measuring": 1})
        self._ray(name, f"--address=127.0.0.1:{self.port}", "--node-ip-address=127.0.0.1", f"--resources={resources}",
                  env={"ISOMER_FLEET_FINGERPRINT": fingerprint} if fingerprint else {})
        return name

    def populate(self):
        """Four nodes of two kinds, if there are none."""
        if not any(n != "head" for n in self.groups):
            for kind in ("fast", "slow", "fast", "slow"):
                self.add(kind)

    def mend(self):
        """Starts nodes again that ended by themselves: on a loaded machine Ray gives up starting one."""
        for name, process in list(self.groups.items()):
            if name != "head" and process.poll() is not None:
                self.kill(name)
                self.add(*self.kinds[name])

    def kill(self, name):
        """All processes of a node at once; those that left its group are found by their session."""
        process = self.groups.pop(name)
        session = process.pid
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                if os.getsid(int(entry.name)) == session:
                    os.kill(int(entry.name), signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass
        process.wait()

    def close(self):
        for name in [n for n in self.groups if n != "head"] + ["head"]:
            if name in self.groups:
                self.kill(name)


def fleet(cluster, *arguments):
    """`isomer fleet`, as the package's entry point runs it."""
    command = [PYTHON, "-m", "fleet.command", "fleet", *arguments[:1], "--address", f"127.0.0.1:{cluster.port}", "--lease", LEASE,
               "--isomer", programs.program("isomer"), *arguments[1:]]
    cluster.said = cluster.folder / f"said.{time.monotonic_ns()}"
    with open(cluster.said, "wb") as out:
        return subprocess.Popen(command, env=cluster.env, cwd=cluster.folder, stdout=out, stderr=subprocess.STDOUT)


def finished(cluster, process, seconds):
    """What a fleet's command said, and its last line as JSON."""
    end = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < end:
        cluster.mend()
        time.sleep(0.2)
    said = cluster.said.read_text(encoding="utf-8", errors="replace")
    if process.poll() is None:
        process.terminate()
        sys.exit(f"the fleet did not end: {said[-3000:]}")
    lines = said.strip().splitlines()
    try:
        return said, json.loads(lines[-1])
    except (IndexError, json.JSONDecodeError):
        sys.exit(f"the fleet failed: {said[-3000:]}")


CONTINUED = 75  # exit: the time is over, and there is more to do
COST = ["--judge", "cost", "--cache", "none", "--steps"]


def one_by_one(models, folder, options):
    for model in models:
        if (folder / f"{model.name}.cert").exists():
            continue
        stop_if_late(options)
        part = folder / "part.onnx"
        subprocess.run([programs.program("isomer"), "optimize", str(model), "-o", str(part), "--budget", "5m", "--json", "--quiet", *options.cost],
                       check=True, capture_output=True)
        part.rename(folder / model.name)
        part.with_name("part.onnx.cert").rename(folder / f"{model.name}.cert")


def stop_if_late(options):
    if time.monotonic() > options.end:
        print("the time is over: the same command goes on")
        sys.exit(CONTINUED)


def same_bytes(models, expected, found):
    return [f"{found.name} {m.name}{end}" for m in models for end in ("", ".cert")
            if (found / f"{m.name}{end}").read_bytes() != (expected / f"{m.name}{end}").read_bytes()]


def small(folder, count):
    """Models that differ."""
    out = []
    for k in range(count):
        path = folder / f"m{k:03}.onnx"
        onnx.save(small_models.branches(max(k, 1)), path)  # the first two have the same bytes
        out.append(path)
    return out


def zoo_models(folder, filled, count):
    """Zoo models with their weights, small ones first; the same file name for each, so links with names of their own."""
    import zoo
    out = []
    for name in zoo.names(count):
        path = zoo.fill_once(name, folder / name, filled)
        link = folder / f"{name}.onnx"
        if not link.exists():
            link.symlink_to(path.absolute())
        for beside in path.parent.iterdir():
            if beside.name != path.name and not (folder / beside.name).exists():
                shutil.copy(beside, folder / beside.name)
        out.append(link)
    return out


def optimizes(cluster, models, options, faults):
    """All models on both kinds, while nodes and heads die."""
    folder = cluster.folder
    (folder / "alone").mkdir(exist_ok=True)
    one_by_one(models, folder / "alone", options)
    cluster.populate()
    process = fleet(cluster, "optimize", *map(str, models), "--on", "fast,slow", "--work", str(folder / "work"), "-o", str(folder / "out"),
                    "--budget", "5m", "--", *options.cost)
    state = folder / "state.json"
    past = json.loads(state.read_text()) if state.exists() else {"kills": 0, "heads": 0, "seconds": 0, "parts": 0, "restarts": 0}
    draw, kills, heads, begun = random.Random(1 + past["parts"]), past["kills"], past["heads"], time.monotonic()
    total = options.kills + options.heads

    def so_far():
        said = cluster.said.read_text(encoding="utf-8", errors="replace")
        return {"kills": kills, "heads": heads, "seconds": past["seconds"] + time.monotonic() - begun, "parts": past["parts"] + 1,
                "restarts": past["restarts"] + said.count("the driver ended with")}

    while process.poll() is None and (kills + heads < total or options.end < LATEST):
        if time.monotonic() > options.end:
            state.write_text(json.dumps(so_far()))
            process.send_signal(signal.SIGINT)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
            print(f"{sum(1 for _ in (folder / 'work' / 'done').glob('*'))} of {2 * len(models)} done, {so_far()}")
            stop_if_late(options)
        if kills + heads >= total:
            cluster.mend()
            time.sleep(0.2)
            continue
        done = len(list((folder / "work" / "done").glob("*"))) if (folder / "work" / "done").exists() else 0
        # Spread over the run, and never before anything was done.
        if done < (kills + heads + 1) * 2 * len(models) // (total + 2):
            cluster.mend()
            time.sleep(0.1)
            continue
        cluster.mend()
        nodes = sorted(n for n in cluster.groups if n != "head")
        if heads < options.heads and draw.random() < options.heads / total:
            for name in [*nodes, "head"]:
                cluster.kill(name)
            time.sleep(1)
            cluster.start_head()
            for name in nodes:
                cluster.add(*cluster.kinds[name])
            heads += 1
        elif kills < options.kills:
            name = draw.choice(nodes)
            cluster.kill(name)
            cluster.add(*cluster.kinds[name])
            kills += 1
    said, answer = finished(cluster, process, 1500)
    summary = so_far()
    print(f"{len(models)} models on two kinds, {kills} nodes and {heads} heads killed: {answer}, {summary}")
    print("\n".join(line for line in said.splitlines() if "done" in line)[-400:])
    if answer["done"] != 2 * len(models) or answer["failed"]:
        faults.append(f"not all was done: {said[-2000:]}")
        return
    if kills + heads < total:
        faults.append(f"only {kills} nodes and {heads} heads were killed before all was done")
    for kind in ("fast", "slow"):
        faults += [f"other bytes: {what}" for what in same_bytes(models, folder / "alone", folder / "out" / kind)]
    records = list((folder / "work" / "done").glob("*"))
    different = 2 * len({m.read_bytes() for m in models})  # files of the same bytes are one task
    if len(records) != different:
        faults.append(f"{len(records)} results of {different} tasks")
    claims = [json.loads(p.read_bytes())["task"] for p in (folder / "work" / "claims").rglob("*") if p.is_file()]
    if options.results:
        Records(options.results, "what", "models").add(
            {"what": "ray", "models": len(models), "zoo": options.zoo, "steps": options.steps, "nodes": 4, "kinds": 2, "tasks": different,
             "done": answer["done"], "failed": answer["failed"], "results": len(records), "claims": len(claims), "same": not faults,
             **{k: round(v) for k, v in summary.items()}})
    # The same command again does nothing, and says the same.
    again, answer = finished(cluster, fleet(cluster, "optimize", *map(str, models), "--on", "fast,slow", "--work", str(folder / "work"), "-o",
                                   str(folder / "out"), "--budget", "5m", "--", *options.cost), 300)
    if answer["done"] != 2 * len(models) or "running" in again:
        faults.append(f"what was done was done again: {again[-500:]}")


def generates(cluster, options, faults):
    """A pack in shards, and by one process."""
    folder = cluster.folder
    bounds = ["--operators", str(options.operators)]
    doubt = [] if options.most_doubtful is None else ["--most-doubtful", str(options.most_doubtful)]
    begun = time.monotonic()
    if not (folder / "alone.rules").exists():
        subprocess.run([programs.program("isomer"), "rules", "generate", *bounds, *doubt, "-o", str(folder / "part.rules")], check=True, capture_output=True)
        (folder / "part.rules").rename(folder / "alone.rules")
    alone = time.monotonic() - begun
    stop_if_late(options)
    cluster.populate()
    begun = time.monotonic()
    said, answer = finished(cluster, fleet(cluster, "generate-rules", "--shards", str(options.shards), *bounds, "--on", "fast,slow", "--work",
                                  str(folder / "work"), "-o", str(folder / "sharded.rules"), *(["--", *doubt] if doubt else [])), 3000)
    print(f"rules in {options.shards} shards: {answer}")
    if not (folder / "sharded.rules").exists():
        faults.append(f"no pack: {said[-1500:]}")
    elif (folder / "sharded.rules").read_bytes() != (folder / "alone.rules").read_bytes():
        faults.append("the pack of the shards is not that of one process")
    if options.results:
        pack = (folder / "alone.rules").read_text(encoding="utf-8")
        Records(options.results, "what", "models").add(
            {"what": "shards", "models": 0, "operators": options.operators, "most_doubtful": options.most_doubtful, "shards": options.shards,
             "rules": pack.count("\nrule ") + pack.startswith("rule "),
             "bytes": len(pack.encode()), "same": not faults, "seconds_alone": round(alone, 1), "seconds": round(time.monotonic() - begun, 1)})


def tunes(cluster, options, faults):
    """Kernels of models on both kinds, compiled and tuned by the command itself; what was measured is there for the next compilation."""
    import zoo
    folder = cluster.folder
    cluster.populate()
    (folder / "tuned").mkdir(exist_ok=True)
    models = small(folder / "tuned", 2)[1:] + [zoo.fill_once(name, folder / "tuned" / name, options.filled) for name in options.tuned]
    names = [m.parent.name if m.stem == "model" else m.stem for m in models]
    process = fleet(cluster, "tune", *map(str, models), "--on", "fast,slow", "--work", str(folder / "work"), "-o", str(folder / "kernels"),
                    "--budget", options.tuning, "--probe-seconds", "1", "--", "--seconds", "0.5")
    said, answer = finished(cluster, process, 1500)
    print(f"tuned: {answer}")
    if answer["done"] != 2 * len(models) or answer["failed"]:
        faults.append(f"not tuned: {said[-2000:]}")
        return
    figures = {"what": "tune", "models": len(models), "kinds": 2, "done": answer["done"], "failed": answer["failed"], "tried": 0, "taken": 0, "remembered": 0}
    for kind in ("fast", "slow"):
        kernels = folder / "kernels" / kind
        records = list((kernels / "tuning").glob("v2/*/*.txt"))
        for name, model in zip(names, models, strict=True):
            tuning = json.loads((kernels / f"{name}.json").read_text(encoding="utf-8"))["tuning"]
            print(f"{kind} {name}: {tuning}")
            if not list((kernels / name).glob("*.so")) or not (kernels / name / "interface.json").exists() or not tuning["tried"] or not records:
                faults.append(f"{kind} {name}: no kernels: {sorted(p.name for p in kernels.rglob('*'))}")
            again = subprocess.run([programs.program("isomer"), "compile", str(model), "-o", str(folder / "again"), "--tune", "1s", "--tuning",
                                    str(kernels / "tuning"), "--seconds", "0.3", "--json", "--quiet"], capture_output=True, text=True, check=False)
            remembered = json.loads(again.stdout)["tuning"]["remembered"] if again.returncode == 0 else 0
            figures["tried"] += tuning["tried"]
            figures["taken"] += tuning["is_taken"]
            figures["remembered"] += remembered
            if not remembered:
                faults.append(f"{kind} {name}: what was measured is not remembered: {again.stdout[-500:]}{again.stderr[-500:]}")
            if options.check:
                return
    if options.results:
        Records(options.results, "what", "models").add(figures | {"names": names, "budget": options.tuning})


def leaves_out(cluster, options, faults):
    """A node that is not what its kind is."""
    folder = cluster.folder
    cluster.populate()
    cluster.add("fast", "another processor")
    models = small(folder / "more", 1) if (folder / "more").mkdir() is None else []
    onnx.save(small_models.branches(77), models[0])
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        process = fleet(cluster, "optimize", *map(str, models), "--on", "fast", "--work", str(folder / "work"), "-o", str(folder / "odd"), "--budget", "5m",
                        "--", *options.cost, "--seed", str(int(deadline - time.monotonic())))
        said, answer = finished(cluster, process, 300)
        if answer["left_out"]:
            break
    print(f"left out: {answer['left_out']}")
    if len(answer["left_out"]) != 1 or "another processor" not in said or answer["done"] != 1:
        faults.append(f"the odd node is not left out: {said[-800:]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=77)
    parser.add_argument("--zoo", action="store_true", help="zoo models instead of small ones")
    parser.add_argument("--filled", type=pathlib.Path)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--heads", type=int, default=3)
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--operators", type=int, default=2, help="of the rules")
    parser.add_argument("--most-doubtful", type=int, help="as `isomer rules generate` takes it; 0: as the shipped pack is made")
    parser.add_argument("--steps", type=int, default=12, help="of each model's search")
    parser.add_argument("--only", choices=["optimize", "generate-rules", "tune", "leave-out"], help="one stage")
    parser.add_argument("--tuned", type=lambda t: t.split(","), default=[], metavar="NAME,...", help="zoo models to tune, beside a small one")
    parser.add_argument("--tuning", default="3s", metavar="TIME", help="budget of tuning each model")
    parser.add_argument("--folder", type=pathlib.Path, help="what is done stays there")
    parser.add_argument("--minutes", type=float, help="so long at a time, with --folder; exit 75: there is more to do")
    parser.add_argument("--results", type=pathlib.Path, help="figures")
    parser.add_argument("--check", action="store_true", help="the short form: 6 models, 1 node killed, 3 shards")
    options = parser.parse_args()
    if not has_ray():
        print("skipped: this Python has no Ray (pip install 'isomer-onnx[fleet]', or name one that has it: ISOMER_FLEET_PYTHON)")
        sys.exit(programs.SKIPPED)
    if options.check:
        options.models, options.kills, options.heads, options.shards, options.operators = 6, 1, 0, 3, 1
    options.end = time.monotonic() + options.minutes * 60 if options.minutes else LATEST
    options.cost = [*COST, str(options.steps)]
    faults = []
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # and the cluster with it
    with tempfile.TemporaryDirectory(prefix="isomer_fleet_", dir="/tmp") as place:
        folder = options.folder.absolute() if options.folder else pathlib.Path(place)
        (folder / "models").mkdir(parents=True, exist_ok=True)
        models = [] if options.only == "generate-rules" else (
            zoo_models(folder / "models", options.filled, options.models) if options.zoo else small(folder / "models", options.models))
        cluster = Cluster(folder, pathlib.Path(place))
        try:
            if options.only in (None, "optimize"):
                optimizes(cluster, models, options, faults)
            if options.only in (None, "generate-rules"):
                generates(cluster, options, faults)
            if options.only in (None, "tune"):
                tunes(cluster, options, faults)
            if options.only in (None, "leave-out"):
                leaves_out(cluster, options, faults)
        finally:
            cluster.close()
    sys.exit("\n".join(faults) or None)


if __name__ == "__main__":
    main()
