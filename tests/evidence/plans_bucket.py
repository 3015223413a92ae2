#!/usr/bin/env python3
"""A store of plans in a bucket of a real S3-compatible server, while the server and its writers are killed (SIGKILL).

  tests/evidence/plans_bucket.py [--rounds N]
The server is versitygw (an S3 gateway over a directory, Apache-2.0): go install github.com/versity/versitygw/cmd/versitygw@v1.8.0, named by
$ISOMER_S3_SERVER; boto3 in the Python of $ISOMER_FLEET_PYTHON, or in this one. Without them the script skips itself.
Nothing that was acknowledged is lost, nothing is torn, entries have their plans; one of several processes makes each file (If-None-Match);
push and pull go there and back.
"""
import argparse
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time

SERVER = os.environ.get("ISOMER_S3_SERVER", "")
PYTHON = os.environ.get("ISOMER_FLEET_PYTHON", sys.executable)
ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77
WRITER = """
import random, sys, time; sys.path.insert(0, sys.argv[1])
from fleet import places, protocol
place, draw = places.place(sys.argv[2]), random.Random(int(sys.argv[3]))
while True:
    data = draw.randbytes(draw.randint(1, 300000))
    name = protocol.digest(data)
    try: protocol.drive(protocol.publish(name, data, f"v1/index/{name[:16]}/{name}"), place, places.Clock())
    except protocol.Lost: continue
    print(name, flush=True)
"""
CREATOR = """
import sys; sys.path.insert(0, sys.argv[1])
from fleet import places, protocol
place = places.place(sys.argv[2])
for k in range(40): print(k if protocol.drive(protocol.create(f"claims/t/{k}", sys.argv[3].encode() * 1000), place, places.Clock()) else "", flush=True)
"""
AUDIT = """
import sys; sys.path.insert(0, sys.argv[1])
from fleet import places, plans, protocol
place = places.place(sys.argv[2])
told = set(open(sys.argv[3]).read().split())
objects = place.list("v1/objects/")
there = {n.rsplit("/", 1)[1] for n in objects}
torn = sum(protocol.digest(place.read(n)) != n.rsplit("/", 1)[1] for n in objects)
orphans = sum(n.rsplit("/", 1)[1] not in there for n in place.list("v1/index/"))
print(len(told), len(told - there), len(objects), torn, orphans)
"""
COPIER = """
import sys; sys.path.insert(0, sys.argv[1])
from fleet import places, plans, protocol
store = places.Directory(sys.argv[3] + "/store")
for k in range(50):
    data = b"plan %d" % k; name = protocol.digest(data)
    store.write(f"v1/objects/{name[:2]}/{name}", data)
    entry = b"entry " + data
    store.write(f"v1/index/{name[:16]}/{protocol.digest(entry)}", entry)
address = sys.argv[2] + "/copied"
print(*plans.push(sys.argv[3] + "/store", address), *plans.push(sys.argv[3] + "/store", address), *plans.pull(sys.argv[3] + "/back", address))
"""


class Server:
    """An S3-compatible server over a directory."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "data" / "plans").mkdir(parents=True)
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.env = os.environ | {"AWS_ACCESS_KEY_ID": "isomer", "AWS_SECRET_ACCESS_KEY": "isomer-secret", "AWS_DEFAULT_REGION": "us-east-1",
                                 "ISOMER_S3_ENDPOINT": f"http://127.0.0.1:{self.port}"}
        self.start()

    def start(self):
        log = open(self.folder / "server.log", "ab")
        self.process = subprocess.Popen([SERVER, "--access", "isomer", "--secret", "isomer-secret", "--port", f"127.0.0.1:{self.port}", "posix",
                                         str(self.folder / "data")], stdout=log, stderr=log)
        end = time.monotonic() + 30
        while time.monotonic() < end:
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.1)
        sys.exit(f"no server: {(self.folder / 'server.log').read_text()[-800:]}")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def wait_for_more(self, count):
        """Until this number of further plans are there: a loaded machine is slow to start writers."""
        def there():
            return sum(1 for _ in (self.folder / "data" / "plans" / "family").rglob("*"))
        wanted, end = there() + count, time.monotonic() + 30
        while there() < wanted and time.monotonic() < end:
            time.sleep(0.05)

    def run(self, script, *arguments):
        return subprocess.Popen([PYTHON, "-c", script, str(ROOT / "python" / "isomer"), "s3://plans/family", *map(str, arguments)], env=self.env,
                                stdout=subprocess.PIPE, text=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=12)
    options = parser.parse_args()
    if not SERVER or subprocess.run([PYTHON, "-c", "import boto3"], capture_output=True, check=False).returncode != 0:
        print("skipped: no S3-compatible server (ISOMER_S3_SERVER) or no boto3 (ISOMER_FLEET_PYTHON)")
        sys.exit(SKIPPED)
    faults = []
    with tempfile.TemporaryDirectory(prefix="isomer_bucket_") as place:
        folder = pathlib.Path(place)
        server = Server(folder)
        try:
            creators = [server.run(CREATOR, k) for k in range(4)]
            made = sorted(int(line) for p in creators for line in p.communicate(timeout=300)[0].split())
            print(f"{len(creators)} processes made {len(made)} files of 40")
            if made != list(range(40)):
                faults.append(f"a file was made twice or by nobody: {made}")
            draw, acknowledged = random.Random(1), set()
            kills = writers_killed = 0
            for number in range(options.rounds):
                writers = [server.run(WRITER, 100 * number + k) for k in range(3)]
                server.wait_for_more(6)
                for _ in range(2):
                    server.kill()
                    kills += 1
                    time.sleep(draw.uniform(0, 0.5))
                    server.start()
                    time.sleep(draw.uniform(0.3, 1))
                for writer in writers:
                    writer.send_signal(signal.SIGKILL)
                    writers_killed += 1
                for writer in writers:
                    acknowledged |= set(writer.communicate()[0].split("\n")[:-1])
            (folder / "told").write_text("\n".join(acknowledged))
            told, lost, objects, torn, orphans = map(int, server.run(AUDIT, folder / "told").communicate(timeout=600)[0].split())
            print(f"server killed {kills} times, {writers_killed} writers: {told} plans acknowledged, {lost} lost; {objects} objects, {torn} torn; "
                  f"{orphans} entries without their plan")
            if lost or torn or orphans or told < 10:
                faults.append("the store did not keep what it said")
            copied = server.run(COPIER, folder).communicate(timeout=300)[0].split()
            print(f"pushed, pushed again, pulled: {copied}")
            if copied != ["100", "0", "0", "0", "100", "0"]:
                faults.append("push and pull are not the same")
        finally:
            server.kill()
    sys.exit("\n".join(faults) or None)


if __name__ == "__main__":
    main()
