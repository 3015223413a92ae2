"""Places where files are kept that many machines see: a directory, a bucket of an S3-compatible server, a web server to read from.

Each has `read`, `write`, `create`, `list`; a file is there whole or not at all. What a place can't do now is `Lost`.
"""
import os
import pathlib
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

from .protocol import Lost

MOST_BYTES = 8 << 30  # of a file that is read, if nobody says less
LISTING = "v1/list.txt"  # what a web server holds, which can't be asked for its files: written by `push`


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


class Site:
    """A web server with a store's files, to read from. What it holds is in a file of its own (LISTING)."""

    def __init__(self, address):
        self.address = address.rstrip("/")

    def __str__(self):
        return self.address

    def read(self, name, most=MOST_BYTES):
        try:
            with urllib.request.urlopen(f"{self.address}/{urllib.parse.quote(name)}", timeout=20) as answer:  # noqa: S310
                data = answer.read(most + 1)
                length = answer.headers.get("Content-Length")
        except urllib.error.HTTPError as fault:
            if fault.code in (403, 404, 410):
                return None
            raise Lost(str(fault)) from fault
        except (OSError, ValueError) as fault:
            raise Lost(str(fault)) from fault
        if len(data) > most:
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


class Clock:
    """The machine's own."""

    @staticmethod
    def now():
        return time.monotonic()

    @staticmethod
    def sleep(seconds):
        time.sleep(seconds)


def place(address):
    """The place that an address names: s3://BUCKET/PREFIX, http(s)://HOST/PATH, or a directory."""
    address = str(address)
    if address.startswith("s3://"):
        return Bucket(address)
    if address.startswith(("http://", "https://")):
        return Site(address)
    return Directory(address)
