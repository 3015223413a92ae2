"""Calls of every operator that Isomer knows, as the contract suite draws them (isomer-contract-cases), each as a model of one node.

The calls of an operator are made at first use, and kept by the process.
"""
import copy
import dataclasses
import functools
import json
import os
import pathlib
import pickle
import random
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import programs
from attack.feeds import Feed
from contract_ort import build

CASES = 24  # drawn of each operator
FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE)
INTEGERS = (TensorProto.INT64, TensorProto.INT32)
NO_NUMPY = {"bfloat16", "int4", "uint4", "float8e4m3fn", "float8e5m2", "string"}  # numpy cannot feed these types to a session
os.environ["ALLOW_RELEASED_ONNX_OPSET_ONLY"] = "0"


@dataclasses.dataclass
class Call:
    """A model of one node: what it is fed, and its constants. Inputs are in0, in1, …; outputs are out0, out1, …"""
    op: str
    domain: str
    number: int
    model: onnx.ModelProto
    feed: Feed
    is_opaque: bool

    @property
    def name(self) -> str:
        return f"{self.domain or 'onnx'}.{self.op} {self.number}"

    @property
    def node(self) -> onnx.NodeProto:
        return self.model.graph.node[0]

    @property
    def constants(self) -> Feed:
        return {t.name: numpy_helper.to_array(t) for t in self.model.graph.initializer}

    @property
    def arrays(self) -> Feed:
        """All inputs of the node."""
        return self.constants | self.feed

    def rebuilt(self, feed: Feed, constants: Feed) -> onnx.ModelProto:
        """The same node with other inputs; outputs have no declared shape."""
        model = copy.deepcopy(self.model)
        model.graph.ClearField("input")
        model.graph.ClearField("initializer")
        for name, value in feed.items():
            model.graph.input.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape))
        model.graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in constants.items())
        return model


@functools.cache
def operators() -> list[tuple[str, str]]:
    """(domain, name) of all."""
    listed = json.loads(subprocess.run([programs.program("isomer-contract-cases"), "--list"], check=True, capture_output=True, text=True).stdout)
    return [(o["domain"], o["op"]) for o in listed]


@functools.cache
def calls(domain: str, op: str) -> list[Call]:
    """Those that numpy can feed."""
    with tempfile.TemporaryDirectory(prefix="isomer_calls_") as folder:
        base = pathlib.Path(folder) / "calls"
        subprocess.run([programs.program("isomer-contract-cases"), op, str(CASES), str(base), *([domain] if domain else [])], check=True,
                       stdout=subprocess.DEVNULL)
        document = json.loads(pathlib.Path(f"{base}.json").read_text())
        with np.load(f"{base}.npz") as file:
            tensors = dict(file)
    return list(_calls(document, tensors, domain, op))


def _calls(document: dict, tensors: dict, domain: str, op: str) -> Iterator[Call]:
    for case in document["cases"]:
        types = {i["type"] for i in case["inputs"] if i} | set(case["outputs"])
        if "failed" in case or types & NO_NUMPY:
            continue
        try:
            model, feed = build(case, tensors, op, domain)
        except Exception:  # noqa: BLE001, S112 - an operator or a type that the onnx package does not have
            continue
        if not model.graph.output:
            model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in model.graph.node[0].output)
        for output in model.graph.output:
            if output.HasField("type"):
                output.type.tensor_type.ClearField("shape")
        yield Call(op, domain, case["number"], model, feed, "opaque" in case)


def by_turns(draw: random.Random, first: list[tuple[str, str]] = ()) -> Iterator[tuple[int, str, str]]:
    """(number, domain, operator) without an end: all operators by turns in a drawn order, every second one out of `first`."""
    everything = draw.sample(operators(), len(operators()))
    chosen = [o for o in first if o in everything]
    chosen = draw.sample(chosen, len(chosen))
    k = 0
    while True:
        yield k, *(chosen[k // 2 % len(chosen)] if chosen and k % 2 else everything[(k // 2 if chosen else k) % len(everything)])
        k += 1


def in_a_child(work: Callable[[], Any]) -> Any:
    """What `work` returns; None if it ended the process, as a runtime may that reads beyond its inputs."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(read)
            with os.fdopen(write, "wb") as out:
                pickle.dump(work(), out)
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as answer:
        said = answer.read()
    os.waitpid(child, 0)
    return pickle.loads(said) if said else None
