"""Places where files are kept that many machines see: a directory, a bucket of an S3-compatible server, a web server to read from, and an OCI
artifact (a layout in a directory; to read from, in a registry).

Each has `read`, `write`, `create`, `list`; a file is there whole or not at all. What a place can't do now is `Lost`.
"""
import hashlib
import json
import os
import pathlib
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

from .protocol import Lost

MOST_BYTES = 8 << 30  # default limit of a file that is read
LISTING = "v1/list.txt"  # the list of files for a web server, which can't list them: written by `push`


class Directory:
    """A directory, maybe on a disk that several machines share."""

    def __init__(self, path):
        self.path = pathlib.Path(path)

    def __str__(self):
        return str(self.path)

    def read(self, name, most=MOST_BYTES):
        try:
            with open(self.path / name, "rb") as file:
                data = file.read(most + 1)
            return data if len(data) <= most else None
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None
        except OSError as fault:
            raise Lost(str(fault)) from fault

    def _written(self, name, data):
        """A temporary file with this content, on the disk."""
        target = self.path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.parent / f".{target.name}.{uuid.uuid4().hex}.tmp"
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        return temporary, target

    def write(self, name, data):
        try:
            temporary, target = self._written(name, data)
            os.replace(temporary, target)
            self._sync(target.parent)
        except OSError as fault:
            raise Lost(str(fault)) from fault

    def create(self, name, data):
        try:
            temporary, target = self._written(name, data)
            try:
                os.link(temporary, target)  # fails if there is one, and is whole if there was none
            except FileExistsError:
                return False
            finally:
                temporary.unlink()
            self._sync(target.parent)
            return True
        except OSError as fault:
            raise Lost(str(fault)) from fault

    @staticmethod
    def _sync(folder):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def list(self, prefix):
        folder = self.path / prefix.rsplit("/", 1)[0] if "/" in prefix else self.path
        out = []
        for parent, _, names in os.walk(folder):
            for name in names:
                if name.startswith("."):
                    continue
                path = (pathlib.Path(parent) / name).relative_to(self.path).as_posix()
                if path.startswith(prefix):
                    out.append(path)
        return sorted(out)


class Bucket:
    """A prefix of a bucket. The server needs conditional writes (If-None-Match), as S3 and MinIO have them."""

    def __init__(self, address, endpoint=None):
        import boto3  # of the extra [fleet]
        import botocore.config
        parts = urllib.parse.urlsplit(address)
        self.address, self.bucket, self.prefix = address, parts.netloc, parts.path.strip("/")
        self.client = boto3.client("s3", endpoint_url=endpoint or os.environ.get("ISOMER_S3_ENDPOINT") or None,
                                   config=botocore.config.Config(connect_timeout=5, read_timeout=20, retries={"max_attempts": 1}))

    def __str__(self):
        return self.address

    def _key(self, name):
        return f"{self.prefix}/{name}" if self.prefix else name

    def _asked(self, call, **arguments):
        import botocore.exceptions
        try:
            return call(Bucket=self.bucket, **arguments)
        except botocore.exceptions.ClientError as fault:
            code = str(fault.response.get("Error", {}).get("Code", ""))
            if code in ("NoSuchKey", "404", "NotFound"):
                return None
            if code in ("PreconditionFailed", "412", "ConditionalRequestConflict", "409"):
                return False
            raise Lost(str(fault)) from fault
        except (botocore.exceptions.BotoCoreError, OSError) as fault:
            raise Lost(str(fault)) from fault

    def read(self, name, most=MOST_BYTES):
        answer = self._asked(self.client.get_object, Key=self._key(name))
        if not answer:
            return None
        if answer["ContentLength"] > most:
            return None
        try:
            data = answer["Body"].read()
        except Exception as fault:  # whatever the connection died of
            raise Lost(str(fault)) from fault
        if len(data) != answer["ContentLength"]:
            raise Lost("the connection ended early")
        return data

    def write(self, name, data):
        if self._asked(self.client.put_object, Key=self._key(name), Body=data) is None:
            raise Lost(f"no bucket {self.bucket}")

    def create(self, name, data):
        answer = self._asked(self.client.put_object, Key=self._key(name), Body=data, IfNoneMatch="*")
        if answer is None:
            raise Lost(f"no bucket {self.bucket}")
        return answer is not False

    def list(self, prefix):
        out, token = [], {}
        while True:
            answer = self._asked(self.client.list_objects_v2, Prefix=self._key(prefix), **token)
            if not answer:
                raise Lost(f"no bucket {self.bucket}")
            skip = len(self.prefix) + 1 if self.prefix else 0
            out += [entry["Key"][skip:] for entry in answer.get("Contents", [])]
            if not answer.get("IsTruncated"):
                return sorted(out)
            token = {"ContinuationToken": answer["NextContinuationToken"]}


def fetched(request, most):
    """What is there, and the length that was promised of it; None: nothing, or more than `most`."""
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:  # noqa: S310
            data, length = answer.read(most + 1), answer.headers.get("Content-Length")
    except urllib.error.HTTPError as fault:
        if fault.code in (403, 404, 410):
            return None, None
        raise Lost(str(fault)) from fault
    except (OSError, ValueError) as fault:
        raise Lost(str(fault)) from fault
    return (data if len(data) <= most else None), length


class Site:
    """A web server with a store's files, to read from. What it holds is in a file of its own (LISTING)."""

    def __init__(self, address):
        self.address = address.rstrip("/")

    def __str__(self):
        return self.address

    def read(self, name, most=MOST_BYTES):
        data, length = fetched(f"{self.address}/{urllib.parse.quote(name)}", most)
        if data is None:
            return None
        if length is not None and len(data) != int(length):
            raise Lost("the connection ended early")
        return data

    def write(self, name, data):
        raise Lost(f"{self.address} is for reading")

    create = write

    def list(self, prefix):
        listing = (self.read(LISTING) or b"").decode("utf-8", "replace")
        return sorted(line for line in listing.split("\n") if line.startswith(prefix) and line)


ARTIFACT = "application/vnd.isomer.plans.v1"
TITLE = "org.opencontainers.image.title"  # of a layer: its file's name, as other tools that copy artifacts write and read it
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
MOST_MANIFEST_BYTES = 64 << 20


def titles(manifest):
    """The digests of a manifest's layers by their titles. Bytes that are no manifest have none."""
    try:
        layers = json.loads(manifest)["layers"]
        return {layer["annotations"][TITLE]: layer["digest"] for layer in layers if TITLE in (layer.get("annotations") or {})}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}


def is_digest(text):
    """Whether a text names a blob."""
    return isinstance(text, str) and text.startswith("sha256:") and len(text) == 71 and set(text[7:]) <= set("0123456789abcdef")


class Layout:
    """An OCI image layout in a directory: each file is a blob, and a layer of one manifest. `finish` makes what was written visible, at once."""

    def __init__(self, path):
        self.folder = Directory(path)
        index = self.folder.read("index.json", MOST_MANIFEST_BYTES)
        try:
            digest = json.loads(index)["manifests"][0]["digest"] if index else ""
        except (ValueError, KeyError, IndexError, TypeError):
            digest = ""
        manifest = self.folder.read(self._blob(digest), MOST_MANIFEST_BYTES) if is_digest(digest) else None
        self.blobs = {name: digest for name, digest in titles(manifest or b"{}").items() if is_digest(digest)}

    def __str__(self):
        return f"oci:{self.folder}"

    @staticmethod
    def _blob(digest):
        return f"blobs/sha256/{digest.removeprefix('sha256:')}"

    def _add(self, data):
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        self.folder.write(self._blob(digest), data)
        return digest

    def read(self, name, most=MOST_BYTES):
        return self.folder.read(self._blob(self.blobs[name]), most) if name in self.blobs else None

    def write(self, name, data):
        self.blobs[name] = self._add(data)

    def create(self, name, data):
        raise Lost(f"{self} is for copies")

    def list(self, prefix):
        return sorted(name for name in self.blobs if name.startswith(prefix))

    def finish(self):
        empty = b"{}"
        layers = []
        for name, digest in sorted(self.blobs.items()):
            path = self.folder.path / self._blob(digest)
            layers.append({"mediaType": "application/octet-stream", "digest": digest, "size": path.stat().st_size, "annotations": {TITLE: name}})
        manifest = json.dumps({"schemaVersion": 2, "mediaType": MANIFEST, "artifactType": ARTIFACT,
                               "config": {"mediaType": "application/vnd.oci.empty.v1+json", "digest": self._add(empty), "size": len(empty)},
                               "layers": layers}).encode()
        digest = self._add(manifest)
        self.folder.write("oci-layout", json.dumps({"imageLayoutVersion": "1.0.0"}).encode())
        # The index last: before it, nothing has changed.
        self.folder.write("index.json", json.dumps({"schemaVersion": 2, "manifests": [
            {"mediaType": MANIFEST, "artifactType": ARTIFACT, "digest": digest, "size": len(manifest),
             "annotations": {"org.opencontainers.image.ref.name": "latest"}}]}).encode())


class Registry:
    """An artifact in a registry, to read from without a login: oci://HOST/NAME:TAG, or oci+http:// without encryption."""

    def __init__(self, address):
        scheme, rest = address.split("://", 1)
        host, _, name = rest.partition("/")
        self.address = address
        name, _, tag = name.partition(":")
        self.base = f"{'http' if scheme == 'oci+http' else 'https'}://{host}/v2/{name}"
        self.blobs = titles(self._get(f"{self.base}/manifests/{tag or 'latest'}", MOST_MANIFEST_BYTES) or b"{}")

    def __str__(self):
        return self.address

    @staticmethod
    def _get(address, most):
        return fetched(urllib.request.Request(address, headers={"Accept": f"{MANIFEST}, */*"}), most)[0]  # noqa: S310

    def read(self, name, most=MOST_BYTES):
        digest = self.blobs.get(name)
        data = self._get(f"{self.base}/blobs/{digest}", most) if is_digest(digest) else None
        return data if data is not None and hashlib.sha256(data).hexdigest() == digest.removeprefix("sha256:") else None

    def write(self, name, data):
        raise Lost(f"{self.address} is for reading: push to oci:DIR, and from there with a tool for registries")

    create = write

    def list(self, prefix):
        return sorted(name for name in self.blobs if name.startswith(prefix))


class Clock:
    """The machine's own."""

    @staticmethod
    def now():
        return time.monotonic()

    @staticmethod
    def sleep(seconds):
        time.sleep(seconds)


def place(address):
    """The place that an address names: s3://BUCKET/PREFIX, http(s)://HOST/PATH, oci:DIR, oci://HOST/NAME:TAG, or a directory."""
    address = str(address)
    if address.startswith("s3://"):
        return Bucket(address)
    if address.startswith(("http://", "https://")):
        return Site(address)
    if address.startswith(("oci://", "oci+http://")):
        return Registry(address)
    if address.startswith("oci:"):
        return Layout(address.removeprefix("oci:"))
    return Directory(address)
