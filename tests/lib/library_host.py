"""libisomer.so through its C interface, in a process of its own that answers one question after the other.

A question and an answer are lines of JSON. The process loads nothing but the library, so that what it holds and leaks is the library's.
"""
import ctypes
import json
import os
import pathlib
import select
import subprocess
import sys
import time

JUDGES = {"runtime": 0, "cost": 1}


class RuntimeOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("library", ctypes.c_char_p), ("worker", ctypes.c_char_p),
                ("threads", ctypes.c_int32), ("memory_gib", ctypes.c_double), ("call_seconds", ctypes.c_double)]


class OptimizeOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("seconds", ctypes.c_double), ("judge", ctypes.c_int), ("min_gain", ctypes.c_double),
                ("max_error_growth", ctypes.c_double), ("max_size_growth", ctypes.c_double), ("simplify", ctypes.c_int32), ("strategy", ctypes.c_char_p),
                ("steps", ctypes.c_int64), ("seed", ctypes.c_uint64), ("feeds", ctypes.c_void_p), ("sizes", ctypes.c_void_p), ("size_count", ctypes.c_size_t),
                ("runtime", ctypes.POINTER(RuntimeOptions)), ("cache", ctypes.c_char_p), ("scratch", ctypes.c_char_p), ("progress", ctypes.c_void_p),
                ("user", ctypes.c_void_p), ("stop", ctypes.c_void_p)]


class ProveOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("seconds", ctypes.c_double), ("certificate", ctypes.c_char_p), ("progress", ctypes.c_void_p),
                ("user", ctypes.c_void_p), ("stop", ctypes.c_void_p)]


class Failed(Exception):
    """The library says what went wrong."""


class Library:
    """The calls that tests make of it, from files."""

    def __init__(self, path, worker):
        self.call = ctypes.CDLL(str(path))
        self.call.isomer_last_error.restype = ctypes.c_char_p
        self.call.isomer_model_free.argtypes = self.call.isomer_string_free.argtypes = self.call.isomer_stop_free.argtypes = [ctypes.c_void_p]
        self.worker = str(worker).encode()

    def must(self, status):
        if status != 0:
            raise Failed(self.call.isomer_last_error().decode(errors="replace"))

    def taken(self, text):
        """A string that is ours now, freed."""
        value = ctypes.string_at(text).decode()
        self.call.isomer_string_free(text)
        return value

    def loaded(self, path):
        model = ctypes.c_void_p()
        self.must(self.call.isomer_load(str(path).encode(), None, ctypes.c_size_t(0), ctypes.byref(model)))
        return model

    def optimize(self, model, out, seconds, certificate="", judge="cost", strategy="greedy", cache=""):
        options, runtime, report = OptimizeOptions(), RuntimeOptions(), ctypes.c_void_p()
        self.call.isomer_optimize_options_init(ctypes.byref(options))
        self.call.isomer_runtime_options_init(ctypes.byref(runtime))
        runtime.worker = self.worker
        options.seconds, options.judge, options.strategy, options.cache = seconds, JUDGES[judge], strategy.encode(), cache.encode()
        options.runtime = ctypes.pointer(runtime)
        self.must(self.call.isomer_optimize_file(str(model).encode(), str(out).encode(), certificate.encode(), ctypes.byref(options), ctypes.byref(report)))
        return json.loads(self.taken(report))

    def check(self, model, out, certificate):
        models, accepted, text = [], ctypes.c_int(), ctypes.c_void_p()
        try:
            models += [self.loaded(model)]
            models += [self.loaded(out)]
            proof = pathlib.Path(certificate).read_bytes()
            self.must(self.call.isomer_check(*models, proof, ctypes.byref(accepted), ctypes.byref(text)))
        finally:
            for m in models:
                self.call.isomer_model_free(m)
        return json.loads(self.taken(text)) | {"accepted": bool(accepted.value)}

    def prove(self, a, b, seconds):
        models, options, verdict, text = [], ProveOptions(), ctypes.c_int(), ctypes.c_void_p()
        self.call.isomer_prove_options_init(ctypes.byref(options))
        options.seconds = seconds
        try:
            models += [self.loaded(a)]
            models += [self.loaded(b)]
            self.must(self.call.isomer_prove_equal(*models, ctypes.byref(options), ctypes.byref(verdict), None, None, ctypes.byref(text)))
        finally:
            for m in models:
                self.call.isomer_model_free(m)
        return json.loads(self.taken(text))


def serve(library, worker):
    the = Library(library, worker)
    for line in sys.stdin:
        question = json.loads(line)
        try:
            answer = {"answer": getattr(the, question.pop("do"))(**question)}
        except Failed as error:
            answer = {"error": str(error)}
        print(json.dumps(answer), flush=True)


class Died(Exception):
    """The process ended, or was ended because it did not answer."""


class Host:
    """The process, started at the first request and again after it died."""

    def __init__(self, isomer):
        self.command = [sys.executable, "-I", "-S", str(pathlib.Path(__file__).resolve()), *(str(pathlib.Path(isomer).parent / n) for n in
                                                                                             ("libisomer.so", "isomer-worker"))]
        self.process = None

    def ask(self, timeout, **question):
        """The answer; Failed: what the library says; Died."""
        if self.process is None:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ)
        end = time.monotonic() + timeout
        try:
            self.process.stdin.write(json.dumps(question) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Died(f"it ended with {self.end()}") from None
        if not select.select([self.process.stdout], [], [], max(0.0, end - time.monotonic()))[0]:
            self.end()
            raise Died(f"no answer within {timeout} s")
        line = self.process.stdout.readline()
        if not line:
            raise Died(f"it ended with {self.end()}")
        told = json.loads(line)
        if "error" in told:
            raise Failed(told["error"])
        return told["answer"]

    def end(self):
        """Ends it; its exit code."""
        process, self.process = self.process, None
        if process is None:
            return None
        if process.poll() is None:
            process.stdin.close()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
        process.stdout.close()
        return process.wait()


if __name__ == "__main__":
    serve(*sys.argv[1:])
