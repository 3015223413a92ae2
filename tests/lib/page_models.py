"""Small models for the blocks of documents, by the names that a page says: <!-- made: chain('N') as ocr_rec.onnx -->."""
import onnx
from onnx import numpy_helper

from kernel_models import chain, normal


def parsed(signature, body, constants=(), opsets='"" : 17'):
    model = onnx.parser.parse_model(f"<ir_version: 8, opset_import: [{opsets}]> net {signature} {{ {body} }}")
    model.graph.initializer.extend(numpy_helper.from_array(normal(*shape), name) for name, shape in constants)
    return model


def gated():
    return parsed("(float[4, 8] x) => (float[4, 6] y)", "y = acme.Gate <slope = 0.1> (x, w, b)", [("w", (8, 6)), ("b", (6,))], '"" : 17, "acme" : 1')


def gated_plainly():
    steps = "a = Gemm (x, w, b) zero = Constant <value = float {0}> () slope = Constant <value = float {0.1}> () "
    return parsed("(float[4, 8] x) => (float[4, 6] y)", steps + "c = Greater (a, zero) s = Mul (a, slope) y = Where (c, a, s)", [("w", (8, 6)), ("b", (6,))])


def transposed_twice():
    return parsed("(float[64, 32] x) => (float[64, 32] y)", "s = Transpose <perm = [1, 0]> (x) t = Transpose <perm = [1, 0]> (s) y = Erf (t)")


def doubled(rows):
    """Two products that are one."""
    return parsed(f"(float[{rows}, 64] x) => (float[{rows}, 64] y)", "a = MatMul (x, u) b = MatMul (x, v) y = Add (a, b)", [("u", (64, 64)), ("v", (64, 64))])


def small_image_net():
    return parsed("(float[batch, 3, 32, 32] image) => (float[batch, 10] scores)",
                  "c = Conv <pads = [1, 1, 1, 1]> (image, k) r = Relu (c) p = GlobalAveragePool (r) f = Flatten (p) scores = MatMul (f, w)",
                  [("k", (16, 3, 3, 3)), ("w", (16, 10))])


MODELS = {make.__name__: make for make in (chain, gated, gated_plainly, transposed_twice, doubled, small_image_net)}
