"""Sizes that inputs leave open are at least 1 unless --sizes-from 0 says otherwise: in answers, in certificates and in what is refused."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import onnx.parser

import _paths  # noqa: F401
import programs

# Equal where there is something to take the maximum of; where n is 0 the second fails.
PLAIN = "(float[n,3] x) => (float[n,3] y) { y = Neg(x) }"
WITH_MAXIMUM = "(float[n,3] x) => (float[n,3] y) { m = ReduceMax<keepdims=1>(x) d = Sub(m,m) v = Add(x,d) y = Neg(v) }"
# How many rows there are depends on data, and may be 0 in both modes.
FOUND = "(float[n,3] x, bool[n] b) => (float[k,3] y) { c = Compress<axis=0>(x,b) y = Neg(c) }"
FOUND_WITH_MAXIMUM = "(float[n,3] x, bool[n] b) => (float[k,3] y) { c = Compress<axis=0>(x,b) " \
    "m = ReduceMax<keepdims=1>(c) d = Sub(m,m) v = Add(c,d) y = Neg(v) }"
TWICE = "(float[n,3] x) => (float[n,3] y) { a = Neg(x) y = Neg(a) }"
ONCE = "(float[n,3] x) => (float[n,3] y) { y = Identity(x) }"
SAYS = "for all sizes of at least 1"


class SizesFrom(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def model(self, name, text):
        path = self.folder / name
        onnx.save(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> g {text}'), path)
        return path

    def run_program(self, *words, program="isomer"):
        command = [programs.program(program), *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "ISOMER_CACHE": "none"})

    def prove(self, a, b, *words):
        certificate = self.folder / "ab.cert"
        ran = self.run_program("prove", a, b, "--budget", "20s", "--certificate", certificate, *words)
        return ran, certificate

    def test_what_fails_at_size_0_only_is_equal_unless_asked_for(self):
        a, b = self.model("a.onnx", PLAIN), self.model("b.onnx", WITH_MAXIMUM)
        ran, certificate = self.prove(a, b)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertIn(SAYS, ran.stdout)
        self.assertEqual(json.loads(certificate.read_text().splitlines()[0])["sizes_from"], 1)
        self.assertIn(SAYS, self.run_program("explain", certificate).stdout)
        for program, words in (("isomer", ["check"]), ("isomer-check", [])):
            accepted = self.run_program(*words, a, b, certificate, program=program)
            self.assertEqual(accepted.returncode, 0)
            self.assertIn(SAYS, accepted.stdout)
            refused = self.run_program(*words, a, b, certificate, "--sizes-from", "0", program=program)
            self.assertEqual(refused.returncode, 1)
            self.assertIn("size 0 is required", refused.stderr)
        self.assertNotEqual(self.prove(a, b, "--sizes-from", "0")[0].returncode, 0)

    def test_a_certificate_without_the_field_is_about_all_sizes(self):
        a, b = self.model("a.onnx", PLAIN), self.model("b.onnx", WITH_MAXIMUM)
        ran, certificate = self.prove(a, b)
        self.assertEqual(ran.returncode, 0)
        lines = certificate.read_text().splitlines()
        head = {k: v for k, v in json.loads(lines[0]).items() if k != "sizes_from"}
        certificate.write_text("\n".join([json.dumps(head), *lines[1:]]) + "\n")
        self.assertEqual(self.run_program("check", a, b, certificate).returncode, 1)  # it is false of size 0

    def test_what_holds_at_size_0_is_accepted_in_both_modes(self):
        a, b = self.model("a.onnx", TWICE), self.model("b.onnx", ONCE)
        ran, certificate = self.prove(a, b, "--sizes-from", "0")
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertNotIn(SAYS, ran.stdout)
        self.assertNotIn("sizes_from", certificate.read_text())
        for least in (0, 1):
            self.assertEqual(self.run_program("check", a, b, certificate, "--sizes-from", least).returncode, 0)

    def test_sizes_that_depend_on_data_may_be_0(self):
        a, b = self.model("a.onnx", FOUND), self.model("b.onnx", FOUND_WITH_MAXIMUM)
        for least in (0, 1):
            self.assertNotEqual(self.prove(a, b, "--sizes-from", least)[0].returncode, 0)

    def test_of_a_model_without_open_sizes_nothing_is_assumed(self):
        a, b = (self.model(n, t.replace("[n,3]", "[2,3]")) for n, t in (("a.onnx", PLAIN), ("b.onnx", WITH_MAXIMUM)))
        ran, certificate = self.prove(a, b)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertNotIn(SAYS, ran.stdout)
        self.assertEqual(self.run_program("check", a, b, certificate, "--sizes-from", "0").returncode, 0)

    def test_an_unchanged_model_needs_no_assumption(self):
        a, out = self.model("a.onnx", PLAIN), self.folder / "out.onnx"
        self.assertEqual(self.run_program("optimize", a, "-o", out, "--judge", "cost", "--budget", "5s", "--quiet").returncode, 0)
        self.assertEqual(self.run_program("check", a, out, f"{out}.cert", "--sizes-from", "0").returncode, 0)

    def test_no_other_number_is_taken(self):
        a = self.model("a.onnx", PLAIN)
        self.assertEqual(self.run_program("prove", a, a, "--sizes-from", "2").returncode, 2)
        self.assertEqual(self.run_program(a, a, a, "--sizes-from", "2", program="isomer-check").returncode, 2)


if __name__ == "__main__":
    unittest.main()
