"""Tasks over the machines of a Ray cluster. Ray starts processes at given places; claims and results are in files (protocol.py).

A machine says its kind when it joins: ray start --address=HEAD --num-cpus=0 --resources='{"kind:fast": 1, "measuring": 1}'. Each task requires
its kind and for the one measuring slot of its machine, so nothing measures beside something else. Ray never repeats a task by itself
(max_retries=0) and keeps no result: it reports which process ended, and the files have the result.
"""
import json
import sys
import time
from collections import Counter

from . import protocol, work
from .places import Clock, place

GLANCE = 0.2  # seconds between looks at what has ended
SHARE = 0.001  # of a machine's resource "kind": it says where, not how many
WAIT_FOR_CLUSTER = 600.0  # seconds that a head may be away before the driver gives up


class Unreachable(Exception):
    """No cluster, or none that comes back."""


def kind_of(node):
    """The kind that a machine joined with; None: it is none of ours."""
    return next((name.removeprefix("kind:") for name in node.get("Resources", {}) if name.startswith("kind:")), None)


class Fleet:
    """The machines, their properties, and those that are left out."""

    def __init__(self, address, where, isomer, lease=protocol.LEASE, tell=print, get_on=lambda: None):
        self.address, self.where, self.isomer, self.lease, self.tell, self.get_on = address, str(where), isomer, lease, tell, get_on
        self.left_out, self.known, self.fingerprints = {}, {}, {}
        self.reported = ""
        self.connect()

    def connect(self):
        import ray
        self.ray = ray
        end = time.monotonic() + WAIT_FOR_CLUSTER
        while True:
            self.get_on()
            try:
                ray.shutdown()
                ray.init(address=self.address, log_to_driver=False, logging_level="ERROR", ignore_reinit_error=True, configure_logging=False)
                break
            except Exception as fault:  # whatever Ray raises while its head is away
                if time.monotonic() > end:
                    raise Unreachable(f"no cluster at {self.address}: {fault}") from fault
                time.sleep(1)
        remote = ray.remote(num_cpus=0, max_retries=0)
        self.remote_perform, self.remote_probe = remote(work.perform), remote(work.probe)

    def nodes(self):
        """Machines that are there, by their id: their kind."""
        return {n["NodeID"]: kind_of(n) for n in self.ray.nodes() if n.get("Alive") and kind_of(n) is not None}

    def _at(self, function, node, kind):
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
        return function.options(resources={f"kind:{kind}": SHARE, "measuring": 1},
                                scheduling_strategy=NodeAffinitySchedulingStrategy(node_id=node, soft=False))

    def probe(self, node, kind, model, seconds, runtime):
        return self._at(self.remote_probe, node, kind).remote(self.isomer, model, seconds, runtime)

    def admit(self, node, kind, found):
        """Whether a machine may measure: what its kind's first machines are decides what the kind is."""
        if found.get("trouble"):
            self.leave_out(node, kind, found["trouble"])
            return False
        self.known[node] = found["fingerprint"]
        if self.fingerprints.setdefault(kind, found["fingerprint"]) != found["fingerprint"]:
            self.leave_out(node, kind, f"it is {found['fingerprint']}, and its kind is {self.fingerprints[kind]}")
            return False
        return True

    def leave_out(self, node, kind, why):
        self.left_out[node] = why
        self.tell(f"left out: {kind} {node[:12]}: {why}")

    def run(self, tasks, kinds, probing=None, stop=lambda: False):
        """All tasks, each on a machine of its kind, until all are done or the run is stopped. Records by task."""
        store, clock = place(self.where), Clock()
        records, running, admitted, probes = {}, {}, set(), {}
        begun, failures = time.monotonic(), Counter()
        not_before = {}
        probing = probing or {"model": None, "seconds": 1, "runtime": ""}

        def look(task):
            record = protocol.drive(protocol.is_done(task["id"]), store, clock)
            if record is not None:
                records[task["id"]] = record
            return record is not None

        open_tasks = [t for t in tasks if not look(t)]
        while open_tasks:
            self.get_on()
            if stop():
                break
            try:
                nodes = {n: k for n, k in self.nodes().items() if k in kinds and n not in self.left_out}
                admitted &= set(nodes)
                busy = {node for _, node in running.values()} | {node for node, _ in probes.values()}
                for node, kind in nodes.items():
                    if node in busy:
                        continue
                    if node not in admitted:
                        probes[self.probe(node, kind, **probing)] = (node, kind)
                        continue
                    taken = {t["id"] for t, _ in running.values()}
                    task = next((t for t in open_tasks if t["kind"] == kind and t["id"] not in taken
                                 and time.monotonic() >= not_before.get(t["id"], 0)), None)
                    if task is not None:
                        reference = self._at(self.remote_perform, node, kind).remote(task, self.where, self.isomer, self.lease)
                        running[reference] = (task, node)
                waiting = [*running, *probes]
                ready = self.ray.wait(waiting, num_returns=len(waiting), timeout=GLANCE)[0] if waiting else []
                if not waiting:
                    time.sleep(GLANCE)
                for reference in ready:
                    if reference in probes:
                        node, kind = probes.pop(reference)
                        try:
                            if self.admit(node, kind, self.ray.get(reference)):
                                admitted.add(node)
                        except Exception as fault:
                            self._judge_fault(fault)
                            self.leave_out_if_alive(node, kind, f"its test failed: {str(fault).splitlines()[0][:200]}")
                        continue
                    task, node = running.pop(reference)
                    try:
                        self.ray.get(reference)
                    except Exception as fault:  # a machine that died, a worker that crashed
                        self._judge_fault(fault)
                        failures[task["id"]] += 1
                        not_before[task["id"]] = time.monotonic() + min(5.0, 0.2 * 2 ** failures[task["id"]])
                    look(task)
                open_tasks = [t for t in open_tasks if t["id"] not in records]
            except Unreachable:
                raise
            except Exception as fault:  # the head is away: what is done is in files
                self.tell(f"the cluster is away ({type(fault).__name__}); waiting for it")
                running, probes, admitted = {}, {}, set()
                self.connect()
                open_tasks = [t for t in open_tasks if not look(t)]
            self.report(tasks, records, running, begun)
        for reference in running:
            self.ray.cancel(reference, force=True)
        return records

    def _judge_fault(self, fault):
        """Lets through what says that Ray itself is away."""
        from ray import exceptions
        if not isinstance(fault, exceptions.RayError):
            raise fault

    def leave_out_if_alive(self, node, kind, why):
        if node in self.nodes():
            self.leave_out(node, kind, why)

    def report(self, tasks, records, running, begun):
        """The whole fleet as one line, when it has changed."""
        words = []
        for kind in sorted({t["kind"] for t in tasks}):
            mine = [t for t in tasks if t["kind"] == kind]
            now = sum(t["kind"] == kind for t, _ in running.values())
            words.append(f"{kind}: {sum(t['id'] in records for t in mine)} of {len(mine)} done, {now} running")
        line = "; ".join(words) + (f"; {len(self.left_out)} machines left out" if self.left_out else "")
        if line != self.reported:
            self.reported = line
            self.tell(f"{time.monotonic() - begun:6.0f} s  {line}")


def tell_stderr(line):
    """One line for people."""
    print(line, file=sys.stderr, flush=True)


def collect(record, store, folder, names):
    """Copies files of a result to where they belong; its exit code. `names`: of the result's files, where each goes."""
    result = work.result_of(record, store)
    for name, target in names.items():
        if name not in result["files"]:
            continue
        data = store.read(f"objects/{result['files'][name]}")
        target = folder / target
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_name(f".{target.name}.tmp")
        temporary.write_bytes(data)
        temporary.replace(target)
    return result


def task_id(*parts):
    """A name for a task: the same for the same work, so that a run that was stopped goes on."""
    return protocol.digest(json.dumps(parts).encode())[:24]
