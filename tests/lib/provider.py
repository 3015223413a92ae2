"""The execution provider of the build under test, in this process's ONNX Runtime, with a cache of its own and a stand-in for the program `isomer`."""
import os
import pathlib
import stat

import onnxruntime

import programs

NAME = "IsomerExecutionProvider"
LIBRARY = pathlib.Path(os.environ.get("ISOMER", programs.ROOT / "build" / "release" / "isomer")).parent / "libisomer_provider.so"
# What `isomer optimize MODEL -o OUT ...` does here: OUT is $FAKE_MODEL or MODEL itself; each start is a line of $FAKE_STARTS.
PROGRAM = """#!/bin/sh
echo "$@" >>"$FAKE_STARTS"
sleep "${FAKE_SECONDS:-0}"
if [ -n "$FAKE_SAYS" ]; then echo "$FAKE_SAYS" >&2; fi
if [ "${FAKE_CODE:-0}" = 0 ]; then cp "${FAKE_MODEL:-$2}" "$4"; fi
if [ "$FAKE_CODE" = killed ]; then head -c 20 "$2" >"$4"; kill -9 $$; fi
exit "${FAKE_CODE:-0}"
"""


def why_not():
    """Why the provider can't be tested here; "": it can."""
    if not LIBRARY.exists():
        return "the provider is not built: its header was not to be had"
    if not hasattr(onnxruntime, "register_execution_provider_library") or tuple(map(int, onnxruntime.__version__.split(".")[:2])) < (1, 24):
        return f"ONNX Runtime {onnxruntime.__version__} knows no such providers"
    return ""


def register(library=LIBRARY):
    if NAME not in onnxruntime.get_available_providers():
        onnxruntime.register_execution_provider_library(NAME, str(library))


def use_cache(folder):
    """An empty cache and the stand-in; returns where entries will be."""
    folder = pathlib.Path(folder)
    program = folder / "program"
    program.write_text(PROGRAM)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    os.environ |= {"ISOMER_CACHE": str(folder / "cache" / "timings.sqlite"), "ISOMER": str(program), "FAKE_STARTS": str(folder / "starts")}
    return folder / "cache" / "timings.sqlite.prepared"


class Loaded:
    """A session with the provider: whether all of the model is the provider's, and what it reported."""

    def __init__(self, model, folder, options=None, session_options=None, devices=False):
        report = pathlib.Path(folder) / "report"
        report.unlink(missing_ok=True)
        options = {"report": str(report), **(options or {})}
        quiet = session_options or onnxruntime.SessionOptions()
        quiet.log_severity_level = 3
        quiet.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
        model = model if isinstance(model, bytes) else str(model)
        if devices:
            quiet.add_provider_for_devices([d for d in onnxruntime.get_ep_devices() if d.ep_name == NAME], options)
            self.session = onnxruntime.InferenceSession(model, quiet)
        else:
            self.session = onnxruntime.InferenceSession(model, quiet, providers=[(NAME, options), "CPUExecutionProvider"])
        names = {part.ep_name for part in self.session.get_provider_graph_assignment_info()}
        self.is_claimed = names == {NAME}
        assert self.is_claimed or NAME not in names, names
        self.report = report

    @property
    def reason(self):
        """Why the model is left to others; "": it is not."""
        said = self.report.read_text() if self.report.exists() else ""
        return "" if said == "used" else said

    def run(self, feeds):
        return self.session.run(None, feeds)
