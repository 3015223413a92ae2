"""Places of plans that need no server of others: directories and a web server, with writers that are killed and files that are damaged."""
import functools
import hashlib
import http.server
import json
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import _paths  # noqa: F401
import programs

sys.path.insert(0, str(programs.ROOT / "python" / "isomer"))
from fleet import places, plans, protocol, signatures  # noqa: E402

faults = []


def check(what, is_so):
    if not is_so:
        faults.append(what)
        print(f"FAILED: {what}")


def plan_files(seed, count):
    """Files of a store, by their names."""
    draw = random.Random(seed)
    out = {}
    for _ in range(count):
        data = draw.randbytes(draw.randint(10, 5000))
        name = protocol.digest(data)
        out[f"v1/objects/{name[:2]}/{name}"] = data
        entry = f"entry of {name}".encode()
        out[f"v1/index/{name[:16]}/{protocol.digest(entry)}"] = entry
    return out


# A process that creates the same names as others, and says which it made; another that writes until it is killed, and says what is written.
CREATOR = """
import sys; sys.path.insert(0, sys.argv[1])
from fleet import places
place = places.Directory(sys.argv[2])
for k in range(60): print(k if place.create(f"claims/t/{k}", sys.argv[3].encode() * 1000) else "", flush=True)
"""
WRITER = """
import random, sys; sys.path.insert(0, sys.argv[1])
from fleet import places, protocol
place, draw = places.Directory(sys.argv[2]), random.Random(int(sys.argv[3]))
while True:
    data = draw.randbytes(draw.randint(1, 200000))
    name = protocol.digest(data)
    protocol.drive(protocol.publish(name, data, f"v1/index/{name[:16]}/{name}"), place, places.Clock())
    print(name, flush=True)
"""


def started(script, folder, argument):
    return subprocess.Popen([sys.executable, "-c", script, str(programs.ROOT / "python" / "isomer"), str(folder), str(argument)],
                            stdout=subprocess.PIPE, text=True)


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)

    # One of several processes makes each file.
    creators = [started(CREATOR, folder / "claims", k) for k in range(6)]
    made = [line for p in creators for line in p.communicate(timeout=120)[0].split()]
    check("each file is made by one process", sorted(map(int, made)) == list(range(60)))
    place = places.Directory(folder / "claims")
    check("what is made is whole", all(len(set(place.read(n))) == 1 and len(place.read(n)) == 1000 for n in place.list("claims/")))

    # Writers that are killed: what they said is there is there, and nothing is torn.
    acknowledged, draw = set(), random.Random(1)
    for round_number in range(40):  # six of them on a machine that has nothing else to do
        if round_number >= 6 and len(acknowledged) > 20:
            break
        writers = [started(WRITER, folder / "killed", 100 * round_number + k) for k in range(3)]
        time.sleep(draw.uniform(0.3, 0.8))
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
        for writer in writers:
            acknowledged |= {line for line in writer.communicate()[0].split("\n")[:-1]}
    place = places.Directory(folder / "killed")
    check("writers had time to write", len(acknowledged) > 20)
    check("nothing that was acknowledged is lost", all(place.read(f"v1/objects/{n[:2]}/{n}") is not None for n in acknowledged))
    check("nothing is torn", all(protocol.digest(place.read(n)) == n.rsplit("/", 1)[1] for n in place.list("v1/objects/")))
    check("entries have their plans", all(place.read(f"v1/objects/{n[:2]}/{n}") for n in (e.rsplit("/", 1)[1] for e in place.list("v1/index/"))))

    # Copies, and what is damaged on the way.
    store = places.Directory(folder / "store")
    files = plan_files(3, 40)
    for file, data in files.items():
        store.write(file, data)
    check("all is copied", plans.push(folder / "store", folder / "copy") == (80, 0))
    check("nothing is copied twice", plans.push(folder / "store", folder / "copy") == (0, 0))
    victim = sorted(files)[0]
    (folder / "store" / victim).write_bytes(b"torn")
    check("what is damaged stays behind", plans.push(folder / "store", folder / "third") == (79, 1))
    check("strange names stay behind", not plans.is_file_of_store("v1/objects/../../x") and not plans.is_file_of_store("v1/objects/ab/../" + "a" * 64))

    # A web server with a copy's files.
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder / "copy"))
    handler.func.log_message = lambda *_: None
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        check("a site is pulled from", plans.pull(folder / "pulled", address) == (80, 0))
        check("what is pulled is what was pushed", all(places.Directory(folder / "pulled").read(n) == data for n, data in files.items()))
        (folder / "copy" / victim).write_bytes(b"x" * 100)
        check("a site that lies is not believed", plans.pull(folder / "wary", address) == (79, 1))
        check("what is missing is None", places.Site(address).read("v1/nothing") is None)
        server.shutdown()
    # An OCI layout, and a registry that shows it.
    for file, data in files.items():
        store.write(file, data)
    layout = f"oci:{folder / 'layout'}"
    check("a layout is pushed to", plans.push(folder / "store", layout) == (80, 0))
    check("nothing is pushed twice", plans.push(folder / "store", layout) == (0, 0))
    check("a layout is pulled from", plans.pull(folder / "unpacked", layout) == (80, 0))
    check("what is unpacked is what was packed", all(places.Directory(folder / "unpacked").read(n) == data for n, data in files.items()))
    blobs = folder / "layout" / "blobs" / "sha256"
    check("blobs are what their names say", all(hashlib.sha256(b.read_bytes()).hexdigest() == b.name for b in blobs.iterdir()))
    manifest = json.loads((folder / "layout" / "index.json").read_text())["manifests"][0]
    size = (blobs / manifest["digest"][7:]).stat().st_size
    check("the index names an artifact", manifest["artifactType"] == places.ARTIFACT and size == manifest["size"])

    class Registry(http.server.BaseHTTPRequestHandler):
        """As much of the distribution protocol as reading needs."""

        def do_GET(self):
            parts = self.path.split("/")
            name = manifest["digest"] if parts[-2] == "manifests" else parts[-1]
            path = blobs / name.removeprefix("sha256:")
            found = self.path.startswith("/v2/plans/family/") and path.is_file() and (parts[-2] == "blobs" or parts[-1] == "latest")
            self.send_response(200 if found else 404)
            self.end_headers()
            if found:
                self.wfile.write(path.read_bytes())

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"oci+http://127.0.0.1:{server.server_port}/plans/family"
        check("a registry is pulled from", plans.pull(folder / "fetched", f"{address}:latest") == (80, 0))
        check("another tag is empty", plans.pull(folder / "other", f"{address}:none") == (0, 0))
        sick = blobs / json.loads((blobs / manifest["digest"][7:]).read_text())["layers"][0]["digest"][7:]
        sick.write_bytes(b"x")
        check("a registry that lies is not believed", plans.pull(folder / "wary2", f"{address}:latest") == (79, 1))
        server.shutdown()

    # Signers of measurements.
    if shutil.which("ssh-keygen"):
        for who in ("alice", "mallory"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / who)], check=True, capture_output=True)
        allowed = folder / "allowed"
        allowed.write_text(f"alice {(folder / 'alice.pub').read_text()}")
        mine = places.Directory(folder / "mine")
        told = {}
        for number in range(3):
            data = f"plan {number}".encode()
            plan = protocol.digest(data)
            entry = json.dumps({"object": plan, "ratio": number}).encode()
            told[number] = protocol.digest(entry)
            mine.write(f"v1/objects/{plan[:2]}/{plan}", data)
            mine.write(f"v1/index/{'a' * 16}/{told[number]}", entry)
            if number < 2:
                check("an entry is signed", signatures.sign(folder / "mine", folder / ("alice" if number == 0 else "mallory")) == number + 1)
        # Alice signed the first; Mallory, an unknown signer, the first two; and a signature of one entry is not valid for another.
        stolen = next(n for n in mine.list(f"v1/signatures/{told[0]}/") if signatures.signer_of(
            mine.read(f"v1/index/{'a' * 16}/{told[0]}"), mine.read(n), allowed) == "alice")
        mine.write(f"v1/signatures/{told[2]}/{stolen.rsplit('/', 1)[1]}", mine.read(stolen))
        check("who signed is told", signatures.signed_entries(mine, allowed) == {told[0]: {"alice"}})
        plans.pull(folder / "trusted", folder / "mine", allowed)
        check("only what is signed is pulled", [n.rsplit("/", 1)[1] for n in places.Directory(folder / "trusted").list("v1/index/")] == [told[0]])
        check("with its plan", len(places.Directory(folder / "trusted").list("v1/objects/")) == 1)
        check("signing again adds nothing", signatures.sign(folder / "mine", folder / "alice") == 2)
        check("and then it is signed", signatures.sign(folder / "mine", folder / "alice") == 0)

    try:
        plans.pull(folder / "nowhere", "http://127.0.0.1:9")
        check("a place that is away is said to be", False)
    except protocol.Lost:
        pass
sys.exit(1 if faults else 0)
