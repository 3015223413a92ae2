"""Machines that claim tasks and write results (python/isomer/fleet/protocol.py), on a network and disks that fail, in simulated time.

Deterministic: everything that happens follows from a seed. Requests are lost before or after they were done, come late and twice; machines
are cut off, die and come back with nothing in mind, stand still, run slowly; clocks differ in rate and offset. The store is what a
directory or a bucket is: each request done at once and whole.

  tests/evidence/fleet_simulator.py --seeds 10000     all invariants, for each seed; then three faults in the protocol, each of which must be found
"""
import argparse
import heapq
import json
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python" / "isomer"))

from fleet import protocol  # noqa: E402

LEASE, BEAT, TIMEOUT, END = 30.0, 3.0, 2.0, 20000.0


class Broken(Exception):
    """An invariant does not hold."""


class Store:
    """Files, and what may never happen to them."""

    def __init__(self):
        self.files, self.firsts = {}, {}

    def do(self, request):
        match request:
            case protocol.Read(name):
                return self.files.get(name)
            case protocol.Put(name, data):
                self._write(name, data)
            case protocol.Create(name, data):
                if name in self.files:
                    return False
                self._write(name, data)
                return True
            case protocol.List(prefix):
                return sorted(n for n in self.files if n.startswith(prefix))
        return None

    def _write(self, name, data):
        self.files[name] = data
        if name.startswith(("done/", "claims/")) and self.firsts.setdefault(name, data) != data:
            raise Broken(f"{name} was changed")
        if name.startswith("done/"):
            found = self.files.get(f"objects/{json.loads(data)['object']}")
            if found is None:
                raise Broken(f"{name} names an object that is not there")
            if protocol.digest(found) != json.loads(data)["object"]:
                raise Broken(f"{name} names an object that is torn")
        if name.startswith("v1/index/"):
            object_name = json.loads(data)["object"]
            if f"v1/objects/{object_name[:2]}/{object_name}" not in self.files:
                raise Broken("an entry without its plan")


class Machine:
    """One worker: a generator of requests, a clock of its own, and what it suffers."""

    def __init__(self, world, number):
        self.world, self.number = world, number
        draw = world.random
        self.rate, self.offset = draw.uniform(0.8, 1.25), draw.uniform(-1e6, 1e6)
        self.slow = draw.choice([1, 1, 1, 5])
        self.life = 0
        self.cut_until = 0.0
        self.begun = {}
        self.start()

    def start(self):
        self.life += 1
        self.begun = {}
        self.name = f"m{self.number}.{self.life}"
        self.steps = self.world.script(self)
        self.world.after(0, self.step, self.life, None, None)

    def die(self):
        self.life += 1
        if self.world.random.random() < 0.7:
            self.world.after(self.world.random.uniform(1, 200), self.start)

    def step(self, life, answer, failure):
        if life != self.life:
            return
        world = self.world
        try:
            request = self.steps.throw(failure) if failure else self.steps.send(answer)
        except StopIteration:
            world.ended += 1
            return
        except protocol.Lost:
            world.after(5, self.start)  # its process ended with an error, and is started again
            return
        match request:
            case protocol.Now():
                world.after(0, self.step, life, world.now * self.rate + self.offset, None)
            case protocol.Sleep(seconds):
                pause = world.random.uniform(60, 200) if world.random.random() < 0.002 * world.trouble else 0
                world.after(seconds / self.rate + pause, self.step, life, None, None)
            case protocol.Work(task, epoch):
                world.after(0, self.step, life, self.work(task, epoch), None)
            case _:
                self.ask(life, request)

    def work(self, task, epoch):
        if (task, epoch) not in self.begun:
            self.begun[task, epoch] = self.world.now + self.world.random.uniform(1, 60) * self.slow
            self.world.runs[task] = self.world.runs.get(task, 0) + 1
        if self.world.now < self.begun[task, epoch]:
            return None
        return f"result of {task} by {self.name}".encode()

    def ask(self, life, request):
        world, draw = self.world, self.world.random
        cut = world.now < self.cut_until
        lost_before = cut or draw.random() < 0.02 * world.trouble
        lost_after = draw.random() < 0.02 * world.trouble
        delay = draw.uniform(0.001, 0.05) * (draw.choice([1, 1, 20]) if world.trouble else 1)
        if lost_before:
            world.after(TIMEOUT, self.step, life, None, protocol.Lost())
            return
        world.after(delay, self.arrive, life, request, lost_after)
        if draw.random() < 0.01 * world.trouble:  # and once more, much later
            world.after(delay + draw.uniform(0, 30), world.store.do, request)

    def arrive(self, life, request, lost_after):
        answer = self.world.store.do(request)
        if lost_after:
            self.world.after(TIMEOUT, self.step, life, None, protocol.Lost())
        else:
            self.world.after(0.001, self.step, life, answer, None)


class World:
    """All machines, the store and what happens to them, from one seed."""

    def __init__(self, seed, script, trouble=None):
        self.random = random.Random(seed)
        self.trouble = trouble if trouble is not None else self.random.choice([0, 1, 1, 3])
        self.now, self.count, self.events = 0.0, 0, []
        self.store, self.runs, self.ended = Store(), {}, 0
        self.tasks = [f"t{k}" for k in range(self.random.randint(1, 6))]
        self.script_of = script
        self.machines = []
        for number in range(self.random.randint(1, 5)):
            self.machines.append(Machine(self, number))
        self.quiet_after = 2000.0  # then nothing fails any more, and all must come to an end
        if self.trouble:
            for _ in range(self.random.randint(0, 6)):
                self.after(self.random.uniform(0, 300), self.hurt)
        self.after(self.quiet_after, self.heal)

    def script(self, machine):
        return self.script_of(self, machine)

    def after(self, seconds, call, *arguments):
        self.count += 1
        heapq.heappush(self.events, (self.now + seconds, self.count, call, arguments))

    def hurt(self):
        machine = self.random.choice(self.machines)
        if self.random.random() < 0.5:
            machine.die()
        else:
            machine.cut_until = self.now + self.random.uniform(5, 120)

    def heal(self):
        self.trouble = 0
        for machine in self.machines:
            machine.cut_until = 0
        if self.ended < len(self.machines) and not self.is_done():
            self.machines[0].start()  # one machine is there in the end

    def is_done(self):
        return all(f"done/{t}" in self.store.files for t in self.tasks)

    def run(self):
        had_trouble = self.trouble
        while self.events and self.now < END:
            self.now, _, call, arguments = heapq.heappop(self.events)
            call(*arguments)
        self.check(had_trouble)

    def check(self, had_trouble):
        if not self.is_done():
            raise Broken("a task is not done, and nothing stands in its way")
        if not had_trouble and any(n != 1 for n in self.runs.values()):
            raise Broken(f"nothing went wrong, and a task ran {max(self.runs.values())} times")


def honest(world, machine):
    """A worker, which also writes one plan that others write, too."""
    text = f"plan {world.random.randint(0, 2)}".encode()
    name = protocol.digest(text)
    try:
        yield from protocol.publish(name, text, f"v1/index/{name[:16]}/{name}")
    except protocol.Lost:
        pass
    done = yield from protocol.work_through(world.tasks, machine.name, LEASE, BEAT)
    # A task that a worker saw as done is done.
    for task in world.tasks:
        if f"done/{task}" not in world.store.files:
            raise Broken("a worker was told of a result that is not there")
    return done


def overwriting(world, machine):
    """Seeded fault: a result is written, even if another one exists."""
    def commit(task, worker, epoch, data):
        name = protocol.digest(data)
        yield from protocol.ask(protocol.Put(f"objects/{name}", data))
        record = json.dumps({"task": task, "worker": worker, "epoch": epoch, "object": name}, sort_keys=True).encode()
        yield from protocol.ask(protocol.Put(f"done/{task}", record))
        return (yield from protocol.is_done(task))
    yield from with_changed(world, machine, commit=commit)


def named_first(world, machine):
    """Seeded fault: a result is named before it is there."""
    def commit(task, worker, epoch, data):
        name = protocol.digest(data)
        record = json.dumps({"task": task, "worker": worker, "epoch": epoch, "object": name}, sort_keys=True).encode()
        yield from protocol.create(f"done/{task}", record)
        yield from protocol.ask(protocol.Put(f"objects/{name}", data))
        return (yield from protocol.is_done(task))
    yield from with_changed(world, machine, commit=commit)


def compared_clocks(world, machine):
    """Seeded fault: a claim says until when it holds, by its writer's clock."""
    def claim(task, worker, watch):
        if (yield from protocol.is_done(task)) is not None:
            return None
        epoch, data = yield from protocol.newest_claim(task)
        now = yield protocol.Now()
        if epoch > 0 and now < json.loads(data)["until"]:
            return None
        mine = json.dumps({"task": task, "worker": worker, "epoch": epoch + 1, "until": now + 400}).encode()
        return epoch + 1 if (yield from protocol.create(f"claims/{task}/{epoch + 1}", mine)) else None
    yield from with_changed(world, machine, claim=claim)


def with_changed(world, machine, **changed):
    """A worker whose protocol has one function of its own. The simulator runs one step at a time, so the module may be changed for it."""
    steps = protocol.work_through(world.tasks, machine.name, LEASE, BEAT)
    good = {name: getattr(protocol, name) for name in changed}
    answer, failure = None, None
    while True:
        for name, function in changed.items():
            setattr(protocol, name, function)
        try:
            request = steps.throw(failure) if failure else steps.send(answer)
        except StopIteration:
            return
        finally:
            for name, function in good.items():
                setattr(protocol, name, function)
        answer, failure = None, None
        try:
            answer = yield request
        except protocol.Lost as lost:
            failure = lost


FAULTS = {"overwriting": overwriting, "named_first": named_first, "compared_clocks": compared_clocks}


def first_failure(script, seeds):
    """The first of these seeds at which an invariant breaks, and how; None: at none."""
    for seed in seeds:
        try:
            World(seed, script).run()
        except Broken as broken:
            return seed, str(broken)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=10000)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.seeds)
    failure = first_failure(honest, seeds)
    print(f"{options.seeds} seeds: " + ("all invariants hold" if failure is None else f"seed {failure[0]}: {failure[1]}"))
    missed = 0
    for name, script in FAULTS.items():
        found = first_failure(script, seeds)
        print(f"{name}: " + (f"found at seed {found[0]}: {found[1]}" if found else "NOT FOUND"))
        missed += found is None
    return 1 if failure or missed else 0


if __name__ == "__main__":
    sys.exit(main())
