"""The attack's oracle: it sees what breaks the promise, and excuses what the promise leaves open."""
import math
import pathlib
import tempfile
import unittest

import numpy as np

import _paths  # noqa: F401
from attack import feeds, oracle
from attack.models import Model, f32, i64

X = "(float[n] x, float[n] z) => (float[] y) { %s }"


class Oracle(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def falsehood(self, a, b, fed=None):
        models = [m if isinstance(m, Model) else Model(m) for m in (a, b)]
        programs = [oracle.Program(m.write(pathlib.Path(self.folder.name) / f"{k}.onnx")) for k, m in enumerate(models)]
        return oracle.falsehood(*programs, fed or feeds.drawn(models[0].proto(), seed=1))

    def test_a_constant_that_is_one_percent_off_is_seen(self):
        a, b = (Model(X % "y = Mul(x,c)", {"c": f32(c)}) for c in (1, 1.01))
        self.assertIn("output 0 at 0", self.falsehood(a, b))

    def test_a_difference_at_a_tie_is_seen(self):
        self.assertIsNotNone(self.falsehood(X.replace("float[] y", "bool[] y") % "y = Less(x,z)", X.replace("float[] y", "bool[] y") % "y = LessOrEqual(x,z)"))
        self.assertIsNotNone(self.falsehood(X % "y = Round(x)", Model(X % "a = Add(x,h) y = Floor(a)", {"h": f32(0.5)}), [{"x": f32(2.5), "z": f32(0)}]))

    def test_a_failure_at_size_0_is_seen(self):
        self.assertIn("fails", self.falsehood(X % "y = Identity(x)", Model(X % "g = Gather(x,i) d = Sub(g,g) y = Add(x,d)", {"i": i64(0)})))

    def test_another_shape_is_seen(self):
        self.assertIn("[2]", self.falsehood(X % "y = Identity(x)", Model(X % "y = Unsqueeze(x,i)", {"i": i64(0)})))

    def test_integers_that_wrap_are_seen(self):
        text = "(int8[n] x) => (int8[] y) { %s }"
        self.assertIsNotNone(self.falsehood(text % "y = Identity(x)", Model(text % "a = Add(x,x) y = Div(a,t)", {"t": np.array([2], np.int8)})))

    def test_a_jump_of_constants_alone_is_not_excused_by_rounding(self):
        a = Model(X % "p = Mul(c,d) e = Ceil(p) y = Add(x,e)", {"c": f32(10), "d": f32(0.1)})
        self.assertIsNotNone(self.falsehood(a, Model(X % "y = Add(x,e)", {"e": f32(2)})))

    def test_constants_that_no_jump_reads_are_rounded_like_anything_else(self):
        text = "(double[n] x) => (double[] y) { c = Constant<value = int64[1] {1}>() d = Floor(one) %s y = Add(x,w) }"
        a = Model(text % "e = Mul(third,big) f = Sub(e,big3) w = Cast<to = 11>(f)", {"one": f32(1.5), "third": f32(1 / 3), "big": f32(3e5), "big3": f32(1e5)})
        b = Model("(double[n] x) => (double[] y) { y = Add(x,w) }", {"w": np.array([np.float64(np.float32(1 / 3)) * 3e5 - 1e5])})
        self.assertIsNone(self.falsehood(a, b, [{"x": np.zeros(3)}]))

    def test_a_wide_output_is_compared_as_one_unless_narrow_values_are_part_of_it(self):
        text = "(double[n] x, float[n] z) => (double[] y, float[] u) { y = Mul(x,c) u = Exp(z) }"
        fed = [{"x": np.ones(3), "z": np.ones(3, np.float32)}]
        self.assertIn("output 0", self.falsehood(*(Model(text, {"c": np.array([c])}) for c in (1.0, 1.000001)), fed))
        narrow = "(double[n] x, float[n] z) => (double[] y, float[] u) { w = Cast<to = 11>(z) y = Mul(x,w) u = %s }"
        self.assertIsNone(self.falsehood(narrow % "Exp(z)", narrow % "Exp(z)", fed))

    def test_what_is_told_is_what_rounding_does_not_explain(self):
        text = "(float[n] x, float[n] z) => (float[] y, float[] u) { %s u = Mul(z,c) }"
        a, b = Model(text % "a = Add(x,l) y = Sub(a,l)", {"l": f32(1e5), "c": f32(1)}), Model(text % "y = Identity(x)", {"c": f32(1.01)})
        self.assertIn("output 1 at 0", self.falsehood(a, b, [{"x": f32(0.3), "z": f32(1)}]))

    def test_operators_of_the_runtime_round_too(self):
        """A half, by a scale that an operator makes which the onnx package doesn't know."""
        model = Model("(float[n] x, float[n] z) => (int8[] y) { s = com.microsoft.Gelu(k) y = QuantizeLinear(x,s,o) }",
                      {"k": f32(0.3).reshape(()), "o": np.array(0, np.int8)})
        x = ((np.arange(40) + 0.5) * 0.15 * (1 + math.erf(0.3 / 2**0.5))).astype(np.float32)
        program = oracle.Program(model.write(pathlib.Path(self.folder.name) / "0.onnx"))
        self.assertGreater(len({tuple(y.tolist()) for (y,) in program.noisy({"x": x, "z": x})}), 1)

    def test_rounding_is_excused(self):
        for a, b in (("a = Add(x,z) y = Sub(a,z)", "y = Identity(x)"), ("a = Add(x,large) y = Sub(a,large)", "y = Identity(x)"),
                     ("y = Softmax(x)", "e = Exp(x) s = ReduceSum(e) y = Div(e,s)")):
            self.assertIsNone(self.falsehood(Model(X % a, {"large": f32(1e6)}), Model(X % b)))

    def test_a_jump_on_one_side_or_the_other_is_excused(self):
        a = Model(X % "a = Mul(x,t) b = Mul(a,s) y = Floor(b)", {"t": f32(0.1), "s": f32(10)})
        self.assertIsNone(self.falsehood(a, X % "y = Floor(x)", [{"x": np.arange(200, dtype=np.float32), "z": np.arange(200, dtype=np.float32)}]))

    def test_what_a_computes_with_a_nan_is_excused_unless_no_output_needs_it(self):
        self.assertIsNone(self.falsehood(X % "a = Mul(x,z) y = Div(a,z)", X % "y = Identity(x)"))
        self.assertIsNotNone(self.falsehood(X % "y = Identity(x)", X % "a = Mul(x,z) y = Div(a,z)"))
        self.assertIsNotNone(self.falsehood(X % "dead = Log(x) y = Identity(x)", X % "l = Log(x) d = Sub(l,l) y = Add(x,d)"))

    def test_a_node_that_no_output_needs_may_fail(self):
        """The runtime runs it. So B may not have one that fails where A runs; where A has one, B may do anything."""
        dead, alive = Model(X % "dead = Gather(x,i) y = Identity(x)", {"i": i64(2)}), Model(X % "y = Identity(x)")
        self.assertIn("the second fails", self.falsehood(alive, dead))
        self.assertIsNone(self.falsehood(dead, alive))
        self.assertIsNone(self.falsehood(dead, Model(X % "g = Gather(x,i) d = Sub(g,g) y = Add(x,d)", {"i": i64(2)})))

    def test_what_overflows_is_excused(self):
        self.assertIsNone(self.falsehood(X % "a = Exp(x) b = Exp(a) c = Exp(b) y = Tanh(c)", X % "a = Exp(x) b = Exp(a) c = Exp(b) y = Neg(c)",
                                         [{"x": f32(5), "z": f32(0)}]))

    def test_what_overflows_inside_of_an_operator_is_excused_and_what_does_not_is_not(self):
        """1 behind the tanh of a product, which is infinite or is not."""
        a, b = (f"(float[1,1,2] x) => (float[1,1,1] y) {{ all,h = RNN<hidden_size = 1>(x,w,r) y = {op}(h) }}" for op in ("Identity", "Neg"))
        weights = {"w": np.full((1, 1, 2), 1e9, np.float32), "r": np.ones((1, 1, 1), np.float32)}
        for size, is_excused in ((1e30, True), (1e9, False)):
            found = self.falsehood(Model(a, weights), Model(b, weights), [{"x": np.full((1, 1, 2), size, np.float32)}])
            self.assertEqual(found is None, is_excused)


if __name__ == "__main__":
    unittest.main()
