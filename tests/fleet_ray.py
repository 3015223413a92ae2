#!/usr/bin/env python3
"""`isomer fleet` on a real Ray cluster of separate processes on this machine: a head and four nodes of two faked kinds.

  tests/fleet_ray.py [--models N] [--kills N] [--heads N] [--shards N] [--check]
Models with `--judge cost` and fixed steps have the same bytes as one by one; nodes are killed (SIGKILL, all of their processes) while that goes on, and
the head with all of them; rules in shards are the pack of one process, byte for byte; a node of another fingerprint is left out and named.
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

import programs
import small_models

PYTHON = os.environ.get("ISOMER_FLEET_PYTHON", sys.executable)
LEASE = "4"


def has_ray():
    return subprocess.run([PYTHON, "-c", "import ray, onnx"], capture_output=True, check=False).returncode == 0


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Cluster:
    """A head and nodes, each a group of processes that can be killed as a whole."""

    def __init__(self, folder):
        self.folder, self.port, self.groups, self.count, self.kinds = folder, free_port(), {}, 0, {}
        token = folder / "token"
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
        self.groups[name] = subprocess.Popen([ray, "start", "--block", "--num-cpus=0", "--disable-usage-stats", f"--temp-dir={self.folder / 'ray'}", *arguments]
                                             if name == "head" else [ray, "start", "--block", "--num-cpus=0", "--disable-usage-stats", *arguments],
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


COST = ["--judge", "cost", "--steps", "12", "--cache", "none"]


def one_by_one(models, folder):
    for model in models:
        subprocess.run([programs.program("isomer"), "optimize", str(model), "-o", str(folder / model.name), "--budget", "5m", "--json", "--quiet", *COST],
                       check=True, capture_output=True)


def same_bytes(models, expected, found):
    return [f"{found.name} {m.name}{end}" for m in models for end in ("", ".cert")
            if (found / f"{m.name}{end}").read_bytes() != (expected / f"{m.name}{end}").read_bytes()]


def small(folder, count):
    """Models that differ."""
    out = []
    for k in range(count):
        path = folder / f"m{k:03}.onnx"
        onnx.save(small_models.branches(k + 1), path)
        out.append(path)
    return out


def zoo_models(folder, filled, count):
    """Zoo models with their weights, small ones first; the same file name for each, so links with names of their own."""
    import zoo
    out = []
    for name in zoo.names(count):
        path = zoo.fill_once(name, folder / name, filled)
        link = folder / f"{name}.onnx"
        link.symlink_to(path)
        for beside in path.parent.iterdir():
            if beside.name != path.name and not (folder / beside.name).exists():
                shutil.copy(beside, folder / beside.name)
        out.append(link)
    return out


def optimizes(cluster, models, options, faults):
    """All models on both kinds, while nodes and heads die."""
    folder = cluster.folder
    (folder / "alone").mkdir()
    one_by_one(models, folder / "alone")
    for kind in ("fast", "slow", "fast", "slow"):
        cluster.add(kind)
    process = fleet(cluster, "optimize", *map(str, models), "--on", "fast,slow", "--work", str(folder / "work"), "-o", str(folder / "out"),
                    "--budget", "5m", "--", *COST)
    draw, kills, heads = random.Random(1), 0, 0
    total = options.kills + options.heads
    while process.poll() is None and kills + heads < total:
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
    print(f"{len(models)} models on two kinds, {kills} nodes and {heads} heads killed: {answer}")
    print("\n".join(line for line in said.splitlines() if "done" in line)[-400:])
    if answer["done"] != 2 * len(models) or answer["failed"]:
        faults.append(f"not all was done: {said[-2000:]}")
        return
    if kills + heads < total:
        faults.append(f"only {kills} nodes and {heads} heads were killed before all was done")
    for kind in ("fast", "slow"):
        faults += [f"other bytes: {what}" for what in same_bytes(models, folder / "alone", folder / "out" / kind)]
    records = list((folder / "work" / "done").glob("*"))
    if len(records) != 2 * len(models):
        faults.append(f"{len(records)} results of {2 * len(models)} tasks")
    # The same command again does nothing, and says the same.
    again, answer = finished(cluster, fleet(cluster, "optimize", *map(str, models), "--on", "fast,slow", "--work", str(folder / "work"), "-o",
                                   str(folder / "again"), "--budget", "5m", "--", *COST), 300)
    if answer["done"] != 2 * len(models) or "running" in again:
        faults.append(f"what was done was done again: {again[-500:]}")


def generates(cluster, options, faults):
    """A pack in shards, and by one process."""
    folder = cluster.folder
    bounds = ["--operators", str(options.operators)]
    subprocess.run([programs.program("isomer"), "rules", "generate", *bounds, "-o", str(folder / "alone.rules")], check=True, capture_output=True)
    said, answer = finished(cluster, fleet(cluster, "generate-rules", "--shards", str(options.shards), *bounds, "--on", "fast,slow", "--work",
                                  str(folder / "work"), "-o", str(folder / "sharded.rules")), 1500)
    print(f"rules in {options.shards} shards: {answer}")
    if not (folder / "sharded.rules").exists():
        faults.append(f"no pack: {said[-1500:]}")
    elif (folder / "sharded.rules").read_bytes() != (folder / "alone.rules").read_bytes():
        faults.append("the pack of the shards is not that of one process")


def leaves_out(cluster, faults):
    """A node that is not what its kind is."""
    folder = cluster.folder
    cluster.add("fast", "another processor")
    models = small(folder / "more", 1) if (folder / "more").mkdir() is None else []
    onnx.save(small_models.branches(77), models[0])
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        process = fleet(cluster, "optimize", *map(str, models), "--on", "fast", "--work", str(folder / "work"), "-o", str(folder / "odd"), "--budget", "5m",
                        "--", *COST, "--seed", str(int(deadline - time.monotonic())))
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
    parser.add_argument("--check", action="store_true", help="the short form: 6 models, 1 node killed, 3 shards")
    options = parser.parse_args()
    if not has_ray():
        print("skipped: this Python has no Ray (pip install 'isomer-onnx[fleet]', or name one that has it: ISOMER_FLEET_PYTHON)")
        sys.exit(programs.SKIPPED)
    if options.check:
        options.models, options.kills, options.heads, options.shards, options.operators = 6, 1, 0, 3, 1
    faults = []
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # and the cluster with it
    with tempfile.TemporaryDirectory(prefix="isomer_fleet_", dir="/tmp") as place:
        folder = pathlib.Path(place)
        (folder / "models").mkdir()
        models = zoo_models(folder / "models", options.filled, options.models) if options.zoo else small(folder / "models", options.models)
        cluster = Cluster(folder)
        try:
            optimizes(cluster, models, options, faults)
            generates(cluster, options, faults)
            leaves_out(cluster, faults)
        finally:
            cluster.close()
    sys.exit("\n".join(faults) or None)


if __name__ == "__main__":
    main()
