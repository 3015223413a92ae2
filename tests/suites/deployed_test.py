"""What bench/make_deployed.py makes: what it says, the same bytes each time, and what the runtime reads out of it."""
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import numpy as np
import onnx

import _paths  # noqa: F401
import decoders
import make_decoder
import make_deployed
import small_models

ROOT = pathlib.Path(os.environ.get("ISOMER_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))


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


class Decoders(unittest.TestCase):
    SMALL = {"HIDDEN": 64, "LAYERS": 2, "HEADS": 4, "SHARED": 2, "SIZE": 16, "INNER": 96, "WORDS": 40, "POSITIONS": 32}

    def test_both_ways_to_write_one_compute_the_same(self):
        with mock.patch.multiple(make_decoder, **self.SMALL):
            for precision in ("fp32", "int4"):
                models = [make_decoder.make(style, precision) for style in ("spelled", "fused")]
                self.assertEqual(*(make_decoder.make("fused", precision).SerializeToString() for _ in range(2)))
                sessions = [make_deployed.session_of(m.SerializeToString()) for m in models]
                for seq, past in ((5, 0), (1, 7), (3, 4)):
                    results = [s.run(None, make_decoder.feeds_for(seq, past)) for s in sessions]
                    self.assertEqual(results[0][1].shape, (1, 2, past + seq, 16))
                    for a, b in zip(*results, strict=True):
                        self.assertLess(np.abs(a - b).max(), 1e-4 * max(1, np.abs(a).max()), (precision, seq, past))

    def test_what_must_be_read_is_all_but_the_tables(self):
        with mock.patch.multiple(make_decoder, **self.SMALL), tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "m.onnx"
            onnx.save(make_decoder.make("fused", "fp32"), path)
            matrices = 2 * (64 * (64 + 64) + 64 * 64 + 3 * 64 * 96) + 64 * 40
            least, most = 4 * matrices, 4 * matrices + 4 * 6 * 64
            for past in (0, 8):
                read = decoders.must_read(path, make_decoder.feeds_for(1, past)) - 4 * past * 2 * 2 * 2 * 16
                self.assertTrue(least <= read <= most, (past, read, least))


if __name__ == "__main__":
    unittest.main()
