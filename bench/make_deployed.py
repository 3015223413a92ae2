#!/usr/bin/env python3
"""Models as people deploy them, made of the zoo's: quantised, in half precision, with weights of four bits. No network.

  bench/make_deployed.py FOLDER [NAME.KIND ...] [--kinds fp16,qdq,...] [--filled DIR]
Without names: all of DEPLOYED. Each becomes FOLDER/NAME.KIND.onnx, with inputs beside it, NAME.KIND.npz; what is there stays. Kinds:
  fp16           every float as float16, inputs and outputs too
  qdq, qdq_pc    QuantizeLinear and DequantizeLinear around everything that can be int8; per tensor, per channel
  qdq_only       the same around Conv, MatMul and Gemm
  qop            QLinearConv and its like
  dynamic        weights of int8, activations quantised while it runs
  nbits4         MatMulNBits: int4 in blocks of 32, symmetric
Calibrated on four drawn inputs. The same bytes each time, with the versions of onnx and onnxruntime that tools/requirements.txt says.
"""
import argparse
import contextlib
import logging
import pathlib
import sys
import tempfile
import warnings

import numpy as np
import onnx
import onnxruntime as ort
from onnx import numpy_helper
from onnxruntime import quantization as q

import _paths  # noqa: F401
import optimizing

CONVOLUTIONS = ("squeezenet1_1", "mobilenet_v2", "mobilenet_v3_small", "resnet18", "efficientnet_b0", "mobileone_s0", "shufflenet_v2_x1_0",
                "regnet_y_400mf")
TRANSFORMERS = ("levit_128s", "vit_small_patch16", "mobilebert_tiny", "distilbert")
HALVES = (*CONVOLUTIONS, *TRANSFORMERS, "whisper_tiny_encoder", "mobilenet_v3_large", "repvgg_a0", "segformer_b0", "mobilevit_xs", "unet_bn",
          "googlenet", "convnext_tiny")
DEPLOYED = ([f"{n}.fp16" for n in HALVES] + [f"{n}.qdq" for n in (*CONVOLUTIONS, "levit_128s", "vit_small_patch16", "distilbert")] +
            [f"{n}.qdq_pc" for n in ("mobilenet_v2", "resnet18")] + [f"{n}.qdq_only" for n in ("mobilenet_v2", "vit_small_patch16", "distilbert")] +
            [f"{n}.qop" for n in ("squeezenet1_1", "mobilenet_v2", "resnet18", "mobilenet_v3_small")] +
            [f"{n}.dynamic" for n in ("distilbert", "mobilebert_tiny", "vit_small_patch16")] +
            [f"{n}.nbits4" for n in ("distilbert", "llama_tiny", "vit_small_patch16")])
BLOCK = 32  # of int4: onnxruntime's own quantiser has this for its default


def drawn(session, seed):
    """Inputs; integers 0 or 1 (ids, masks), which are valid everywhere."""
    random = np.random.default_rng(seed)
    out = {}
    for port in session.get_inputs():
        shape = [d if isinstance(d, int) else 1 for d in port.shape]
        if "int" in port.type or "bool" in port.type:
            values = np.ones(shape) if "mask" in port.name else random.integers(0, 2, shape)
            out[port.name] = values.astype({"tensor(int32)": np.int32, "tensor(bool)": np.bool_}.get(port.type, np.int64))
        else:
            out[port.name] = random.standard_normal(shape).astype(np.float16 if "float16" in port.type else np.float32)
    return out


def session_of(path):
    settings = ort.SessionOptions()
    settings.log_severity_level = 3
    return ort.InferenceSession(path if isinstance(path, bytes) else str(path), settings, providers=["CPUExecutionProvider"])


class Reader(q.CalibrationDataReader):
    def __init__(self, path, count=4):
        session = session_of(path)
        self.left = iter([drawn(session, k) for k in range(count)])

    def get_next(self):
        return next(self.left, None)


def whole(path):
    """A model with its weights in it."""
    model = onnx.load(path)
    for tensor in model.graph.initializer:
        tensor.ClearField("data_location")
    return model


def halved(source, target):
    from onnxruntime.transformers.float16 import convert_float_to_float16
    onnx.save(convert_float_to_float16(whole(source), keep_io_types=False), target)


def quantised(source, target, kind):
    with tempfile.TemporaryDirectory() as folder:
        prepared = pathlib.Path(folder) / "prepared.onnx"
        q.quant_pre_process(str(source), str(prepared), skip_symbolic_shape=True)  # folds, infers shapes, fuses
        if kind == "dynamic":
            q.quantize_dynamic(prepared, target, weight_type=q.QuantType.QInt8)
            return
        q.quantize_static(str(prepared), str(target), Reader(prepared),
                          quant_format=q.QuantFormat.QOperator if kind == "qop" else q.QuantFormat.QDQ,
                          activation_type=q.QuantType.QUInt8, weight_type=q.QuantType.QInt8, per_channel=kind == "qdq_pc",
                          op_types_to_quantize=["Conv", "MatMul", "Gemm"] if kind == "qdq_only" else None,
                          extra_options={"ActivationSymmetric": False, "WeightSymmetric": True})


def int4_blocks(weights):
    """A matrix [K, N] as com.microsoft.MatMulNBits stores it: two numbers a byte, the low half first, and a scale for each block."""
    rows, columns = weights.shape
    blocks = -(-rows // BLOCK)
    padded = np.zeros((columns, blocks * BLOCK), np.float32)
    padded[:, :rows] = weights.T
    padded = padded.reshape(columns, blocks, BLOCK)
    at = np.abs(padded).argmax(axis=2)[..., None]
    scales = np.take_along_axis(padded, at, axis=2)[..., 0] / -8
    steps = np.divide(padded, scales[..., None], out=np.zeros_like(padded), where=scales[..., None] != 0)
    numbers = np.clip(np.round(steps) + 8, 0, 15).astype(np.uint8)
    return numbers[..., 0::2] | (numbers[..., 1::2] << 4), scales.reshape(-1).astype(np.float32)


def four_bits(source, target):
    model = whole(source)
    weights = {t.name: t for t in model.graph.initializer}
    readers = [v for n in model.graph.node for v in n.input]
    for node in model.graph.node:
        tensor = weights.get(node.input[1]) if node.op_type == "MatMul" else None
        if tensor is None or len(tensor.dims) != 2 or tensor.data_type != onnx.TensorProto.FLOAT or readers.count(tensor.name) > 1:
            continue
        rows, columns = tensor.dims
        numbers, scales = int4_blocks(numpy_helper.to_array(tensor))
        model.graph.initializer.remove(tensor)
        model.graph.initializer.extend([numpy_helper.from_array(numbers, f"{tensor.name}_q4"), numpy_helper.from_array(scales, f"{tensor.name}_scales")])
        made = onnx.helper.make_node("MatMulNBits", [node.input[0], f"{tensor.name}_q4", f"{tensor.name}_scales"], list(node.output), name=node.name,
                                     domain="com.microsoft", K=rows, N=columns, bits=4, block_size=BLOCK)
        node.CopyFrom(made)
    if all(o.domain != "com.microsoft" for o in model.opset_import):
        model.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))
    onnx.save(model, target)


def make(source, target, kind):
    """Writes the deployed variant of a float32 model, and inputs for it."""
    {"fp16": halved, "nbits4": four_bits}.get(kind, lambda a, b: quantised(a, b, kind))(source, target)
    np.savez(target.with_suffix(".npz"), **drawn(session_of(target), 99))


@contextlib.contextmanager
def deployed_model(name, kept, filled=None):
    """The model of this name (mobilenet_v2.fp16), from the folder `kept` if it has it, and a folder to write into."""
    with tempfile.TemporaryDirectory(dir=kept) as temporary:
        folder = pathlib.Path(temporary)
        path = (kept or folder) / f"{name}.onnx"
        if not path.exists():
            zoo_name, kind = name.rsplit(".", 1)
            with optimizing.filled_model(zoo_name, filled) as (source, _):
                make(source, path, kind)
        yield path, folder


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--kinds", default="")
    parser.add_argument("--filled", type=pathlib.Path)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    for name in options.names or DEPLOYED:
        if options.kinds and name.rsplit(".", 1)[1] not in options.kinds.split(","):
            continue
        try:
            with deployed_model(name, options.folder, options.filled) as (path, _):
                print(f"{path} {path.stat().st_size / 1e6:.1f} MB", flush=True)
        except Exception as trouble:  # noqa: BLE001 what a quantiser throws is its own affair; the others are made all the same
            failed += 1
            print(f"{name}: {type(trouble).__name__}: {trouble}", file=sys.stderr, flush=True)
    sys.exit(1 if failed else 0)


warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
if __name__ == "__main__":
    main()
