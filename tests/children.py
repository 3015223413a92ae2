"""Children that run a runtime, which may end them. Each is forked off a process that has imported the runtime once: an import costs more than the cases of most
operators do."""
import multiprocessing
import time

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["ml_dtypes", "numpy", "onnx", "onnx.checker", "onnxruntime"])


def said_by(work, *arguments, seconds=None):
    """(what `work(say, *arguments)` said, how it ended): 0 is well, a negative number a signal, None out of time."""
    mine, other = _context.Pipe(duplex=False)
    process = _context.Process(target=_begin, args=(other, work, arguments), daemon=True)
    process.start()
    other.close()
    said, end = [], None if seconds is None else time.monotonic() + seconds
    while True:
        if end is not None and not mine.poll(max(0.0, end - time.monotonic())):
            process.kill()
            process.join()
            return said, None
        try:
            said.append(mine.recv())
        except EOFError:
            break
    process.join()
    return said, process.exitcode


def _begin(pipe, work, arguments):
    work(pipe.send, *arguments)
