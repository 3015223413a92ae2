"""`isomer fleet ...`, `isomer plans push|pull` for places that are no directories, and `isomer plans sign|signers`."""
import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from . import plans, protocol, signatures
from .places import place

EXIT_BAD, EXIT_UNDONE = 2, 3
DRIVER = "ISOMER_FLEET_DRIVER"  # in the process that talks to Ray: a file that it touches while it gets on
MOST_RESTARTS = 50  # of that process
HANGS = 45.0  # seconds without a sign of it: a question to a head that was replaced is never answered
GRACE = 60  # seconds more than its budget that a command may take before it is ended
COMPILING = 900  # the same of a compilation, which has no budget of its own


def model_digest(path):
    """The digest of a model's file and of the files of its weights."""
    data = pathlib.Path(path).read_bytes()
    import onnx
    names = sorted({e.value for t in _external(onnx.load_from_string(data)) for e in t.external_data if e.key == "location"})
    return protocol.digest(data + b"".join((pathlib.Path(path).parent / n).read_bytes() for n in names))


def _external(model):
    import onnx
    return [t for t in model.graph.initializer if t.data_location == onnx.TensorProto.EXTERNAL]


def seconds_of(text):
    """A budget as isomer takes it: 30s, 5m, 1h."""
    return float(text[:-1]) * {"s": 1, "m": 60, "h": 3600}[text[-1]]


class Stopped:
    """Whether the user has had enough: what is done stays done."""

    def __init__(self):
        self.is_set = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._note)

    def _note(self, *_):
        if self.is_set:
            raise KeyboardInterrupt
        self.is_set = True
        print("stopping; what is done stays. Once more: at once", file=sys.stderr)

    def __call__(self):
        return self.is_set


def fleet_of(options):
    """The cluster that the options name."""
    from .cluster import Fleet, tell_stderr
    os.environ.setdefault("RAY_AUTH_MODE", "token")
    return Fleet(options.address, pathlib.Path(options.work).absolute(), program(options), options.lease, tell_stderr,
                 pathlib.Path(os.environ[DRIVER]).touch)


def program(options):
    """The isomer that every machine runs: the package's own, unless another one is named."""
    if options.isomer:
        return options.isomer
    own = pathlib.Path(__file__).parents[1] / "bin" / "isomer"
    found = str(own) if own.exists() else shutil.which("isomer")
    if found is None:
        raise SystemExit("no isomer: name it with --isomer")
    return found


def probing_of(options, measures):
    """The test of a machine before it measures; none where nothing is measured."""
    if not measures:
        return {"model": None, "seconds": 1, "runtime": ""}
    model = pathlib.Path(options.work).absolute() / "probe.onnx"
    model.parent.mkdir(parents=True, exist_ok=True)
    _write_probe(model)
    return {"model": str(model), "seconds": options.probe_seconds, "runtime": ""}


def _write_probe(path):
    """A small model whose time is easily measured."""
    import onnx
    from onnx import TensorProto, helper
    weights = [((i * 37) % 101 - 50) / 100 for i in range(32 * 32 * 9)]
    nodes = [helper.make_node("Conv", ["x", "w"], ["a"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["a"], ["y"])]
    shape = [1, 32, 32, 32]
    graph = helper.make_graph(nodes, "probe", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
                              [helper.make_tensor("w", TensorProto.FLOAT, [32, 32, 3, 3], weights)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def optimize(options):
    """Each model on a machine of each kind."""
    from .cluster import collect, task_id
    tasks, targets = [], {}
    for kind in options.on:
        names = set()
        for model in options.models:
            path = pathlib.Path(model).absolute()
            name = path.parent.name if path.stem == "model" else path.stem
            if name in names:
                raise SystemExit(f"two models are called {name}")
            names.add(name)
            arguments = ["optimize", str(path), "-o", "{out}/model.onnx", "--budget", options.budget, "--json", *options.rest]
            if options.plans:
                arguments += ["--plans", str(pathlib.Path(options.plans).absolute())]
            identity = task_id("optimize", kind, model_digest(path), options.budget, options.rest)
            if identity not in targets:  # two files of the same bytes are one task, with two results
                tasks.append({"id": identity, "kind": kind, "command": arguments, "seconds": seconds_of(options.budget) + GRACE})
            targets.setdefault(identity, []).append((kind, name))
    measures = not any(a in ("cost", "--judge=cost", "any", "--judge=any") for a in options.rest)
    fleet = fleet_of(options)
    records = fleet.run(tasks, set(options.on), probing_of(options, measures), Stopped())
    store, out = place(fleet.where), pathlib.Path(options.output)
    done = failed = 0
    for identity, kind, name in ((i, *t) for i, all_of_it in targets.items() for t in all_of_it):
        if identity not in records:
            continue
        done += 1
        result = collect(records[identity], store, out / kind,
                         {"model.onnx": f"{name}.onnx", "model.onnx.cert": f"{name}.onnx.cert", "stdout": f"{name}.json"})
        failed += result["exit"] != 0
        if result["exit"] != 0:
            last = (result["stderr"].strip().splitlines() or [""])[-1]
            print(f"{kind} {name}: exit {result['exit']}: {last}")
    return told(sum(map(len, targets.values())), done, failed, fleet)


def told(wanted, done, failed, fleet):
    """One line about all of it, and the exit code."""
    print(json.dumps({"tasks": wanted, "done": done, "failed": failed, "left_out": {node: why for node, why in fleet.left_out.items()}}))
    return 0 if done == wanted and not failed else EXIT_UNDONE


def generate_rules(options):
    """The shards of `isomer rules generate`, each on some machine; then one merges them."""
    from .cluster import collect, task_id
    kind = options.on[0]
    bounds = ["--operators", str(options.operators), *options.rest]
    tasks = []
    for shard in range(1, options.shards + 1):
        command = ["rules", "generate", *bounds, "--shard", f"{shard}/{options.shards}", "--threads", "1", "-o", "{out}/shard.rules"]
        tasks.append({"id": task_id("shard", bounds, shard, options.shards), "kind": options.on[(shard - 1) % len(options.on)],
                      "command": command, "seconds": options.seconds})
    fleet = fleet_of(options)
    stop = Stopped()
    records = fleet.run(tasks, set(options.on), None, stop)
    if len(records) < len(tasks):
        return told(len(tasks) + 1, len(records), 0, fleet)
    store, folder = place(fleet.where), pathlib.Path(fleet.where) / "shards" / task_id(bounds, options.shards)
    failed = 0
    for shard, task in enumerate(tasks, 1):
        result = collect(records[task["id"]], store, folder, {"shard.rules": f"{shard}.rules"})
        failed += result["exit"] != 0
        if result["exit"]:
            print(f"shard {shard}: exit {result['exit']}: {result['stderr'].strip()[-200:]}")
    if failed:
        return told(len(tasks) + 1, len(records), failed, fleet)
    files = [str(folder / f"{k}.rules") for k in range(1, options.shards + 1)]
    merge = {"id": task_id("merge", bounds, options.shards), "kind": kind, "seconds": options.seconds,
             "command": ["rules", "merge", *files, "--threads", "1", "-o", "{out}/merged.rules"]}
    records = fleet.run([merge], set(options.on), None, stop)
    if merge["id"] in records:
        target = pathlib.Path(options.output).absolute()
        result = collect(records[merge["id"]], store, target.parent, {"merged.rules": target.name})
        failed += result["exit"] != 0
    return told(len(tasks) + 1, len(tasks) + len(records), failed, fleet)


def bench(options):
    """How fast models are on each kind of machine; lines of JSON."""
    from .cluster import task_id
    tasks, about = [], {}
    for kind in options.on:
        for model in options.models:
            path = pathlib.Path(model).absolute()
            command = ["bench", str(path), "--seconds", str(options.seconds), "--json", *options.rest]
            identity = task_id("bench", kind, model_digest(path), options.seconds, options.rest)
            if identity not in about:
                tasks.append({"id": identity, "kind": kind, "command": command, "seconds": options.seconds * 10 + GRACE})
            about.setdefault(identity, []).append((kind, str(path)))
    fleet = fleet_of(options)
    records = fleet.run(tasks, set(options.on), probing_of(options, True), Stopped())
    store, done, failed = place(fleet.where), 0, 0
    from .work import result_of
    with open(options.output, "w", encoding="utf-8") as out:
        for identity, kind, model in ((i, *t) for i, all_of_it in about.items() for t in all_of_it):
            if identity not in records:
                continue
            done += 1
            result = result_of(records[identity], store)
            failed += result["exit"] != 0
            answer = store.read(f"objects/{result['files']['stdout']}") if "stdout" in result["files"] else b"null"
            out.write(json.dumps({"kind": kind, "model": model, "exit": result["exit"], "bench": json.loads(answer or b"null")}) + "\n")
    return told(sum(map(len, about.values())), done, failed, fleet)


def tune(options):
    """Each model compiled and tuned on a machine of each kind; all records of a kind in one folder, for compilations that come later."""
    from .cluster import collect, task_id
    from .work import result_of
    tasks, about = [], {}
    for kind in options.on:
        for model in options.models:
            path = pathlib.Path(model).absolute()
            name = path.parent.name if path.stem == "model" else path.stem
            command = ["compile", str(path), "-o", "{out}/compiled", "--tune", options.budget, "--tuning", "{out}/tuning", "--json", *options.rest]
            identity = task_id("tune", kind, model_digest(path), options.budget, options.rest)
            if identity not in about:
                tasks.append({"id": identity, "kind": kind, "command": command, "seconds": seconds_of(options.budget) + COMPILING})
            about.setdefault(identity, []).append((kind, name))
    fleet = fleet_of(options)
    records = fleet.run(tasks, set(options.on), probing_of(options, True), Stopped())
    store, out, done, failed = place(fleet.where), pathlib.Path(options.output), 0, 0
    for identity, kind, name in ((i, *t) for i, all_of_it in about.items() for t in all_of_it):
        if identity not in records:
            continue
        done += 1
        files = result_of(records[identity], store)["files"]
        # Records of one name are of one unit. The first one stays, since records are untrusted: they are measured again.
        targets = {f: f"{name}/{f.removeprefix('compiled/')}" for f in files if f.startswith("compiled/")} | {"stdout": f"{name}.json"}
        targets |= {f: f for f in files if f.startswith("tuning/") and not (out / kind / f).exists()}
        result = collect(records[identity], store, out / kind, targets)
        failed += result["exit"] != 0
        if result["exit"] != 0:
            print(f"{kind} {name}: exit {result['exit']}: {(result['stderr'].strip().splitlines() or [''])[-1]}")
    return told(sum(map(len, about.values())), done, failed, fleet)


def parser():
    """The options of `isomer fleet`."""
    out = argparse.ArgumentParser(prog="isomer fleet", description="The same work on many machines, over a Ray cluster (docs/guides/fleet.md).")
    commands = out.add_subparsers(dest="command", required=True)

    def add(name, run, text):
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument("--on", required=True, type=lambda t: t.split(","), metavar="KIND,...", help="kinds of machines")
        command.add_argument("--work", required=True, metavar="DIR", help="a directory that all machines see: claims and results")
        command.add_argument("--address", default="auto", help="of the Ray cluster")
        command.add_argument("--isomer", help="the program, as every machine finds it (default: the package's)")
        command.add_argument("--lease", type=float, default=protocol.LEASE, help="seconds after which a silent machine's task runs elsewhere")
        command.add_argument("--probe-seconds", type=float, default=5, help="of each machine's test before it measures")
        command.add_argument("-o", "--output", required=True)
        command.set_defaults(run=run, rest=[])
        return command

    found = add("optimize", optimize, "Optimize models; arguments after -- go to isomer optimize")
    found.add_argument("models", nargs="+")
    found.add_argument("--budget", default="5m")
    found.add_argument("--plans", metavar="DIR", help="a store of plans that all machines see")
    rules = add("generate-rules", generate_rules, "Generate rules in shards; arguments after -- go to isomer rules generate")
    rules.add_argument("--shards", type=int, required=True)
    rules.add_argument("--operators", type=int, default=2)
    rules.add_argument("--seconds", type=float, default=86400, help="of one shard, at most")
    measured = add("bench", bench, "Measure models; arguments after -- go to isomer bench")
    measured.add_argument("models", nargs="+")
    measured.add_argument("--seconds", type=float, default=20)
    tuned = add("tune", tune, "Compile models and tune their kernels; arguments after -- go to isomer compile")
    tuned.add_argument("models", nargs="+")
    tuned.add_argument("--budget", default="5m", help="of tuning one model")
    return out


def supervised(arguments):
    """The driver in a process of its own. Ray ends, or holds for ever, a process whose head is gone; what is done is in files, so another one is started."""
    child, restarts = None, 0
    handle, beat = tempfile.mkstemp(prefix="isomer-fleet-driver-")
    os.close(handle)
    beat = pathlib.Path(beat)
    environment = os.environ | {DRIVER: str(beat)}

    def forward(number, _):
        if child is not None:
            child.send_signal(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, forward)
    while True:
        child = subprocess.Popen([sys.executable, "-m", __spec__.name, "fleet", *arguments], env=environment, start_new_session=True)
        beat.touch()
        while child.poll() is None:
            time.sleep(0.2)
            if time.time() - beat.stat().st_mtime > HANGS:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
        code = child.returncode
        if code in (0, EXIT_BAD, EXIT_UNDONE) or restarts >= MOST_RESTARTS:
            beat.unlink()
            return code if code >= 0 else EXIT_UNDONE
        restarts += 1
        print(f"the driver ended with {code}; it goes on with what is not done", file=sys.stderr)
        time.sleep(1)


def fleet(arguments):
    """`isomer fleet ARGUMENTS`; its exit code."""
    mine, rest = (arguments[: arguments.index("--")], arguments[arguments.index("--") + 1 :]) if "--" in arguments else (arguments, [])
    options = parser().parse_args(mine)
    options.rest = rest
    try:
        import ray  # noqa: F401
    except ImportError:
        print("isomer fleet needs Ray: pip install 'isomer-onnx[fleet]'", file=sys.stderr)
        return EXIT_BAD
    return options.run(options) if os.environ.get(DRIVER) else supervised(arguments)


def copy_plans(arguments):
    """`isomer plans push|pull DIR PLACE` where PLACE is no directory; its exit code."""
    out = argparse.ArgumentParser(prog="isomer plans")
    out.add_argument("direction", choices=["push", "pull"])
    out.add_argument("store")
    out.add_argument("place")
    out.add_argument("--signed-by", metavar="FILE", help="pull: only entries that one of these keys signed (ssh-keygen's file of allowed signers)")
    out.add_argument("--json", action="store_true")
    options = out.parse_args(arguments)
    if options.signed_by and options.direction == "push":
        out.error("--signed-by is for pull")
    try:
        copied, damaged = plans.push(options.store, options.place) if options.direction == "push" else plans.pull(
            options.store, options.place, options.signed_by)
    except (protocol.Lost, ValueError, ImportError) as fault:
        print(f"isomer plans {options.direction}: {fault}", file=sys.stderr)
        return EXIT_BAD
    if options.json:
        print(json.dumps({"copied": copied, "damaged": damaged}))
    else:
        print(f"{copied} files copied" + (f", {damaged} damaged ones left" if damaged else ""))
    return 0


def sign_plans(arguments):
    """`isomer plans sign DIR --key KEY` and `isomer plans signers DIR --signed-by FILE`; its exit code."""
    out = argparse.ArgumentParser(prog="isomer plans")
    commands = out.add_subparsers(dest="command", required=True)
    signing = commands.add_parser("sign", help="Sign each entry of a store, with its measurement")
    signing.add_argument("--key", required=True, help="an SSH key; a public one if an agent has the private")
    signers = commands.add_parser("signers", help="List the signers of a store's entries")
    signers.add_argument("--signed-by", required=True, metavar="FILE", help="ssh-keygen's file of allowed signers")
    for command in (signing, signers):
        command.add_argument("store")
        command.add_argument("--json", action="store_true")
    options = out.parse_args(arguments)
    try:
        if options.command == "sign":
            answer = {"place": options.store, "signed": signatures.sign(options.store, options.key)}
            text = f"{answer['signed']} entries signed"
        else:
            source = place(options.store)
            found = signatures.signed_entries(source, options.signed_by)
            names = sorted({who for names in found.values() for who in names})
            answer = {"place": options.store, "entries": len(source.list("v1/index/")), "signed": len(found),
                      "signers": {who: sum(who in names for names in found.values()) for who in names}}
            text = "\n".join([f"{answer['signed']} of {answer['entries']} entries are signed", *(f"{n}  {who}" for who, n in answer["signers"].items())])
    except (protocol.Lost, ValueError) as fault:
        print(f"isomer plans {options.command}: {fault}", file=sys.stderr)
        return EXIT_BAD
    print(json.dumps(answer) if options.json else text)
    return 0


PLACES = ("s3://", "http://", "https://", "oci:", "oci+http:")


def is_ours(arguments):
    """Whether the Python package answers a command itself."""
    if arguments[:1] == ["fleet"]:
        return True
    if arguments[:1] != ["plans"]:
        return False
    copies = arguments[1:2] in (["push"], ["pull"]) and any(a.startswith((*PLACES, "--signed-by")) for a in arguments[2:])
    return copies or arguments[1:2] in (["sign"], ["signers"])


def main(arguments):
    """A command of ours; its exit code."""
    if arguments[0] == "fleet":
        return fleet(arguments[1:])
    return (sign_plans if arguments[1] in ("sign", "signers") else copy_plans)(arguments[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
