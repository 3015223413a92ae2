"""Which worker does a task, and how its result becomes the one result: claims, leases and commits as shared files.

Pure: functions here are generators that yield what they want done (`Read`, `Put`, ...) and get the answer sent back, so the same code
runs against a directory or a bucket (`drive`) and inside of a simulator (tests/evidence/fleet_simulator.py), which loses, delays and repeats
whatever it likes.

  claims/TASK/EPOCH    the worker that has it; made once (`Create`), so one worker has each epoch
  beats/TASK/EPOCH     changes while its worker lives
  objects/DIGEST       what was found, named by its digest
  done/TASK            which object is the result; made once, and never changed

What holds, whatever is lost (the simulator checks it):
- a task has one result, which is complete and never changes: objects are written before `done` names them, and `done` is made once;
- no clock is compared with another's: a worker is given up when its beat has not changed for a lease by the watcher's own clock;
- a task that a worker saw as done stays done; if the answer was lost, the worker repeats the request before any work.
"""
import hashlib
import json
from dataclasses import dataclass

LEASE = 30.0  # seconds without a beat after which a worker is given up: many times BEAT, so that a slow disk is no death
BEAT = 3.0
PATIENCE = 5  # times that a request is tried again before its worker gives up


class Lost(Exception):
    """No answer came. The request may have taken effect, or may still do so."""


@dataclass(frozen=True)
class Read:
    """The bytes of a file; None: there is none."""

    name: str


@dataclass(frozen=True)
class Put:
    """Writes a file, whatever was there."""

    name: str
    data: bytes


@dataclass(frozen=True)
class Create:
    """Writes a file that is not there; False: it is."""

    name: str
    data: bytes


@dataclass(frozen=True)
class List:
    """Names that begin with a prefix, sorted."""

    prefix: str


@dataclass(frozen=True)
class Now:
    """Seconds by the worker's own clock, which never goes back."""


@dataclass(frozen=True)
class Sleep:
    """Waits this number of seconds."""

    seconds: float


@dataclass(frozen=True)
class Work:
    """The task's own work, done beside the beats: begins it, or checks whether it has ended. None: not yet; else its result."""

    task: str
    epoch: int


def digest(data):
    """As the store of plans names its files: BLAKE2b of 256 bits."""
    return hashlib.blake2b(data, digest_size=32).hexdigest()


def ask(request):
    """A request that may be repeated, until an answer comes."""
    for attempt in range(PATIENCE):
        try:
            return (yield request)
        except Lost:
            if attempt == PATIENCE - 1:
                raise
            yield Sleep(0.1 * 2**attempt)
    raise AssertionError("unreachable")


def create(name, data):
    """Makes a file once. True: these bytes are there; they name their writer."""
    try:
        made = yield from ask(Create(name, data))
    except Lost:
        made = False
    # After a lost answer, or a request that arrived twice, the file looks like another worker's.
    return made or (yield from ask(Read(name))) == data


def is_done(task):
    """The record of a task's result, or None."""
    data = yield from ask(Read(f"done/{task}"))
    return json.loads(data) if data is not None else None


def newest_claim(task):
    """The last epoch of a task, and its claim's bytes; (0, None): it is unclaimed."""
    names = yield from ask(List(f"claims/{task}/"))
    epochs = sorted(int(n.rsplit("/", 1)[1]) for n in names)
    if not epochs:
        return 0, None
    return epochs[-1], (yield from ask(Read(f"claims/{task}/{epochs[-1]}")))


class Watch:
    """How long each claim has shown no sign of life, by the watcher's own clock."""

    def __init__(self, lease=LEASE):
        self.lease, self.seen = lease, {}

    def is_dead(self, task, epoch):
        """Whether the beat of a claim has not changed for a lease."""
        beat = yield from ask(Read(f"beats/{task}/{epoch}"))
        now = yield Now()
        known = self.seen.get(task)
        if known is None or known[:2] != (epoch, beat):
            self.seen[task] = (epoch, beat, now)
            return False
        return now - known[2] > self.lease


def claim(task, worker, watch):
    """Takes a task that is free, or whose worker has died: its epoch; None: another worker has it, or it is done."""
    if (yield from is_done(task)) is not None:
        return None
    epoch, _ = yield from newest_claim(task)
    if epoch > 0 and not (yield from watch.is_dead(task, epoch)):
        return None
    mine = json.dumps({"task": task, "worker": worker, "epoch": epoch + 1}).encode()
    return epoch + 1 if (yield from create(f"claims/{task}/{epoch + 1}", mine)) else None


def commit(task, worker, epoch, data):
    """Makes a result the task's result, if it has none. Returns the record of the current result, from any worker."""
    name = digest(data)
    # The object first: a reader that sees `done` must find it.
    yield from ask(Put(f"objects/{name}", data))
    record = json.dumps({"task": task, "worker": worker, "epoch": epoch, "object": name}, sort_keys=True).encode()
    yield from create(f"done/{task}", record)
    return (yield from is_done(task))


def perform(task, worker, epoch, beat=BEAT):
    """The work of a claimed task, with beats beside it; the record of its result. None: another worker has it now."""
    count = 0
    while True:
        count += 1
        try:
            yield from ask(Put(f"beats/{task}/{epoch}", f"{worker} {count}".encode()))
        except Lost:
            pass  # cut off: others may take it, and the commit decides
        result = yield Work(task, epoch)
        if result is not None:
            break
        yield Sleep(beat)
    # Fenced: a worker that was given up leaves the task to the current one.
    newest, _ = yield from newest_claim(task)
    if newest != epoch:
        return None
    return (yield from commit(task, worker, epoch, result))


def work_through(tasks, worker, lease=LEASE, beat=BEAT, idle=1.0):
    """A worker's life: takes free tasks until all are done. Returns the number that it has done."""
    watch, count = Watch(lease), 0
    while True:
        left = 0
        for task in tasks:
            try:
                if (yield from is_done(task)) is not None:
                    continue
                left += 1
                epoch = yield from claim(task, worker, watch)
                if epoch is None:
                    continue
                record = yield from perform(task, worker, epoch, beat)
                count += record is not None and record["worker"] == worker
            except Lost:
                left += 1  # unknown
                yield Sleep(idle)
        if left == 0:
            return count
        yield Sleep(idle)


def publish(name, text, entry):
    """A plan and then the entry that names it: an entry whose plan is missing was never written whole."""
    yield from ask(Put(f"v1/objects/{name[:2]}/{name}", text))
    yield from ask(Put(entry, json.dumps({"object": name}).encode()))


def drive(steps, place, clock, work=None):
    """Runs a generator of requests against a place (places.py) and a clock; what it returns."""
    answer, failure = None, None
    while True:
        try:
            request = steps.throw(failure) if failure else steps.send(answer)
        except StopIteration as end:
            return end.value
        answer, failure = None, None
        try:
            match request:
                case Read(name):
                    answer = place.read(name)
                case Put(name, data):
                    place.write(name, data)
                case Create(name, data):
                    answer = place.create(name, data)
                case List(prefix):
                    answer = place.list(prefix)
                case Now():
                    answer = clock.now()
                case Sleep(seconds):
                    clock.sleep(seconds)
                case Work(task, epoch):
                    answer = work(task, epoch)
        except Lost as lost:
            failure = lost
