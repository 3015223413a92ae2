"""Children that run a runtime, which may end them. Each is forked off a process that has imported the runtime once: an import costs more than the cases of most
operators do."""
import multiprocessing
import threading
import time

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["ml_dtypes", "numpy", "onnx", "onnx.checker", "onnxruntime"])
# Starting a process checks whether all others have ended, and an exit code can be read only once: two threads that wait for the same process at the same time
# get the code and 255.
_asking = threading.Lock()


def said_by(work, *arguments, seconds=None):
    """(what `work(say, *arguments)` said, how it ended): 0 is well, a negative number a signal, None out of time."""
    mine, other = _context.Pipe(duplex=False)
    process = _context.Process(target=_begin, args=(other, work, arguments), daemon=True)
    with _asking:
        process.start()
    other.close()
    said, end = [], None if seconds is None else time.monotonic() + seconds
    while True:
        if end is not None and not mine.poll(max(0.0, end - time.monotonic())):
            process.kill()
            _exit_code(process)
            return said, None
        try:
            said.append(mine.recv())
        except EOFError:
            break
    return said, _exit_code(process)


def _exit_code(process):
    with _asking:
        process.join()
        return process.exitcode


def _begin(pipe, work, arguments):
    work(pipe.send, *arguments)
