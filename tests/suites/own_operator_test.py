"""Operators that users state (`--operators`): known to inspect, prove, optimize, compile and run like any other; certificates carry them."""
import json
import pathlib
import tempfile
import unittest

import numpy as np
import onnx

import _paths  # noqa: F401
import modules
import programs

isomer, checker = programs.program("isomer"), programs.program("isomer-check")

GATE = """# a product, and what is negative is made small
operator acme::Gate(x: T[n, k], w: T[k, m], b: T[m]; slope: float = 0.25) -> (y: T[n, m]) {
  a[i < n, j < m] = sum(r < k: x[i, r] * w[r, j]) + b[j]
  y[i, j] = where(a[i, j] < 0, slope * a[i, j], a[i, j])
}
"""
HEAD = '<ir_version: 8, opset_import: ["" : 18, "acme" : 1]> g '
OWN = HEAD + "(float[N, 8] x, float[8, 6] w, float[6] b) => (float[N, 6] y) { i = Identity(x) a = acme.Gate(i, w, b) c = Neg(a) y = Neg(c) }"
PLAIN = HEAD + "(float[N, 8] x, float[8, 6] w, float[6] b) => (float[N, 6] y) { p = MatMul(x, w) a = Add(p, b) y = LeakyRelu<alpha = {alpha}>(a) }"


class OwnOperator(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="isomer_own_operator_")
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)
        self.operators = self.path / "gate.operators"
        self.operators.write_text(GATE)
        self.own = self.save("own", OWN)

    def save(self, name, text):
        onnx.save(onnx.parser.parse_model(text), self.path / f"{name}.onnx")
        return self.path / f"{name}.onnx"

    def run_isomer(self, command, *words, code=0, stated=True):
        options = ["--operators", str(self.operators)] if stated else []
        ran = programs.run([isomer, command, *map(str, words), *options, "--json"], 120)
        self.assertEqual(ran.code, code, ran.stdout + ran.stderr)
        return json.loads(ran.stdout) if ran.stdout.startswith("{") else ran.stderr

    def plain(self, alpha):
        return self.save(f"plain{alpha}", PLAIN.replace("{alpha}", str(alpha)))

    def test_it_is_known_where_it_is_stated(self):
        self.assertEqual(self.run_isomer("inspect", self.own)["opaque"], [])
        unknown = self.run_isomer("inspect", self.own, stated=False)["opaque"]
        self.assertEqual((unknown[0]["op"], unknown[0]["reason"]), ("Gate", "custom domain acme"))

    def test_it_is_proved_equal_to_what_it_says_and_to_nothing_else(self):
        self.assertEqual(self.run_isomer("prove", self.own, self.plain(0.25))["verdict"], "proved")
        self.assertEqual(self.run_isomer("prove", self.own, self.plain(0.5), code=1)["verdict"], "refuted")
        self.assertNotEqual(self.run_isomer("prove", self.own, self.plain(0.25), code=3, stated=False)["verdict"], "proved")

    def test_it_is_compiled_and_run(self):
        draw = np.random.default_rng(1)
        feeds = {"x": draw.standard_normal((5, 8)).astype(np.float32), "w": draw.standard_normal((8, 6)).astype(np.float32),
                 "b": draw.standard_normal(6).astype(np.float32)}
        a = feeds["x"] @ feeds["w"] + feeds["b"]
        expected = np.where(a > 0, a, 0.25 * a)
        np.savez(self.path / "feeds.npz", **feeds)
        self.run_isomer("run", self.own, "--feeds", self.path / "feeds.npz", "-o", self.path / "out.npz")
        np.testing.assert_allclose(np.load(self.path / "out.npz")["y"], expected, rtol=1e-5, atol=1e-5)
        if modules.has_compiler():
            self.run_isomer("compile", self.own, "-o", self.path / "compiled", "--shape", "N=5", "--seconds", "0")
            np.testing.assert_allclose(modules.load(self.path / "compiled")(**feeds)["y"], expected, rtol=1e-5, atol=1e-5)

    def test_a_certificate_carries_it(self):
        out = self.path / "out.onnx"
        self.run_isomer("optimize", self.own, "-o", out, "--judge", "cost")
        self.assertLess(len(onnx.load(out).graph.node), 4)
        certificate = self.path / "out.onnx.cert"
        self.assertIn({"assume": GATE[GATE.index("operator"):].strip()}, [json.loads(line) for line in certificate.read_text().splitlines()])
        for program in ([isomer, "check"], [checker]):
            ran = programs.run([*program, str(self.own), str(out), str(certificate)], 60)
            self.assertEqual(ran.code, 0, ran.stderr)
            self.assertIn("operator acme::Gate(", ran.stdout)
        answer = programs.run([isomer, "check", str(self.own), str(out), str(certificate), "--json"], 60)
        self.assertEqual(len(json.loads(answer.stdout)["assumed"]), 1)

    def test_a_certificate_that_states_what_is_not_its_to_state_is_rejected(self):
        out, certificate = self.path / "out.onnx", self.path / "out.onnx.cert"
        self.run_isomer("optimize", self.own, "-o", out, "--judge", "cost")
        lines = certificate.read_text().splitlines()
        for text in ("operator com.microsoft::Gelu(x: float[n]) -> (y: float[n]) { y[i] = x[i] }", "operator acme::Gate(", "Relu is zero"):
            certificate.write_text("\n".join([lines[0], json.dumps({"assume": text}), *lines[2:]]) + "\n")
            ran = programs.run([checker, str(self.own), str(out), str(certificate)], 60)
            self.assertEqual(ran.code, 1, ran.stdout)
            self.assertIn("assumption", ran.stderr)

    def test_what_is_wrong_is_told_with_its_place(self):
        self.operators.write_text(GATE.replace("x[i, r]", "x[i]"))
        self.assertIn("line 3", self.run_isomer("inspect", self.own, code=2)["error"]["message"])
        self.operators.unlink()
        self.assertIn("can't read", self.run_isomer("inspect", self.own, code=2)["error"]["message"])


if __name__ == "__main__":
    unittest.main()
