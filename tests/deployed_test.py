"""What bench/make_deployed.py makes: what it says, the same bytes each time, and what the runtime reads out of it."""
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx

import small_models

ROOT = pathlib.Path(os.environ.get("ISOMER_SOURCE_DIR", pathlib.Path(__file__).resolve().parent.parent))
sys.path.append(str(ROOT / "bench"))
import make_deployed  # noqa: E402 it is in another folder


class Deployed(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="isomer_deployed_")
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)

    def made(self, model, kind, name="m"):
        source, target = self.path / "source.onnx", self.path / f"{name}.{kind}.onnx"
        onnx.save(model, source)
        make_deployed.make(source, target, kind)
        return target

    def test_there_are_forty_each_once(self):
        self.assertGreaterEqual(len(make_deployed.DEPLOYED), 40)
        self.assertEqual(len(set(make_deployed.DEPLOYED)), len(make_deployed.DEPLOYED))
        kinds = {name.rsplit(".", 1)[1] for name in make_deployed.DEPLOYED}
        self.assertEqual(kinds, {"fp16", "qdq", "qdq_pc", "qdq_only", "qop", "dynamic", "nbits4"})

    def test_each_kind_is_what_it_says_and_the_same_again(self):
        convolutions, product = small_models.branches(1, blocks=2), small_models.plain(4)
        wanted = {"fp16": "Conv", "qdq": "QuantizeLinear", "qdq_only": "QuantizeLinear", "qop": "QLinearConv", "dynamic": "MatMulInteger",
                  "nbits4": "MatMulNBits"}
        for kind, operator in wanted.items():
            source = product if kind in ("dynamic", "nbits4") else convolutions
            paths = [self.made(source, kind, name) for name in ("first", "second")]
            self.assertIn(operator, {n.op_type for n in onnx.load(paths[0]).graph.node}, kind)
            self.assertEqual(*(hashlib.sha256(p.read_bytes()).hexdigest() for p in paths), kind)
            feeds = dict(np.load(paths[0].with_suffix(".npz")))
            self.assertTrue(np.isfinite(make_deployed.session_of(paths[0]).run(None, feeds)[0]).all(), kind)

    def test_every_node_of_each_kind_has_a_formula(self):
        for kind in ("fp16", "qdq", "qop"):
            self.made(small_models.branches(1, blocks=2), kind)
        (self.path / "source.onnx").unlink()
        told = subprocess.run([sys.executable, ROOT / "bench" / "coverage.py", "--folder", self.path, "--least", "100"], text=True,
                              capture_output=True, check=False)
        self.assertEqual(told.returncode, 0, told.stdout + told.stderr)
        self.assertIn("3 models", told.stdout)

    def test_the_runtime_reads_four_bits_as_they_were_written(self):
        for rows in (64, 100):  # the second fills no block
            model = small_models.model([onnx.helper.make_node("MatMul", ["x", "w"], ["y"])], [small_models.weights("w", rows, 24)],
                                       [("x", [3, rows])], [("y", [3, 24])])
            numbers, scales = make_deployed.int4_blocks(onnx.numpy_helper.to_array(model.graph.initializer[0]))
            steps = np.stack([numbers & 15, numbers >> 4], axis=-1).reshape(*numbers.shape[:2], -1).astype(np.float32) - 8
            weights = (steps * scales.reshape(24, -1, 1)).reshape(24, -1)[:, :rows].T
            x = np.random.default_rng(1).standard_normal((3, rows)).astype(np.float32)
            y = make_deployed.session_of(self.made(model, "nbits4")).run(None, {"x": x})[0]
            self.assertLess(np.abs(y - x @ weights).max(), 1e-5 * np.abs(y).max())


if __name__ == "__main__":
    unittest.main()
