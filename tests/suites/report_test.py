"""isomer report and optimize --report: one page that fetches nothing, in which each node has its place, whatever names a model has."""
import html.parser
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
from onnx import helper

import _paths  # noqa: F401
import programs
import small_models

isomer = programs.program("isomer")
os.environ["VIRTUAL_ENV"] = sys.prefix
HOSTILE = "</script><script>alert(1)</script>\"'&<!-- \u2028"


class Page(html.parser.HTMLParser):
    """What a browser makes of a page: its elements, and the text of its data."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.data, self.styles = [], [], "", ""
        self.feed(text)
        self.close()
        self.json = json.loads(self.data)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.open.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        self.open.pop()

    def handle_data(self, text):
        tag, attributes = self.open[-1] if self.open else ("", {})
        self.data += text if attributes.get("id") == "data" else ""
        self.styles += text if tag == "style" else ""


class Report(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="isomer_report_")
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)

    def run_isomer(self, *arguments, code=0):
        ran = subprocess.run([isomer, *arguments, "--quiet"], cwd=self.path, capture_output=True, encoding="utf-8", errors="replace", check=False)
        self.assertEqual(ran.returncode, code, f"{arguments}: {ran.stdout}{ran.stderr}")
        return ran

    def optimized(self, model, *options):
        onnx.save(model, self.path / "in.onnx")
        judge = [] if "--judge" in options else ["--judge", "cost"]
        self.run_isomer("optimize", "in.onnx", "-o", "out.onnx", *judge, "--report", "r.html", *options)
        return self.page("r.html")

    def page(self, name):
        text = (self.path / name).read_text(encoding="utf-8")
        page = Page(text)
        self.assert_alone(page, text)
        self.assert_partition(page.json)
        return page.json

    def assert_alone(self, page, text):
        for tag, attributes in page.elements:
            self.assertNotIn(tag, ("link", "iframe", "img", "object", "embed", "base"))
            for name in ("src", "href", "srcset", "action", "data"):
                self.assertNotIn(name, attributes, (tag, attributes))
        self.assertEqual([tag for tag, _ in page.elements].count("script"), 2)
        self.assertNotRegex(text, r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|fetch\(|XMLHttpRequest|WebSocket")
        self.assertNotRegex(page.styles, r"url\(|@import")
        addresses = set(re.findall(r"https?://[^'\"\s<]*", text))
        self.assertLessEqual(addresses, {"http://www.w3.org/2000/svg"})  # the name of a vocabulary, not a place

    def assert_partition(self, data):
        """Each node of either model is unchanged or in one region."""
        for side, kept in (("before", data["kept"][0]), ("after", data["kept"][1])):
            nodes = kept + [n for region in data["regions"] for n in region[side]]
            self.assertEqual(sorted(nodes), list(range(len(data[side]["op"]))), side)
        self.assertEqual([data["before"]["op"][n] for n in data["kept"][0]], [data["after"]["op"][n] for n in data["kept"][1]])
        self.assertTrue(all(region["before"] or region["after"] for region in data["regions"]))

    def ops(self, data, side, region):
        return sorted(data["texts"][data[side]["op"][n]] for n in region[side])

    def test_each_block_is_one_region_that_becomes_one_convolution(self):
        data = self.optimized(small_models.branches(1, blocks=3))
        self.assertEqual(len(data["regions"]), 3)
        for region in data["regions"]:
            self.assertEqual(self.ops(data, "before", region), ["Add", "Add", "Conv", "Conv"])
            self.assertEqual(self.ops(data, "after", region), ["Conv"])
            self.assertEqual(data["groups"][region["group"]]["kind"], "collapse")
            self.assertTrue(region["steps"])
        self.assertEqual([data["texts"][data["before"]["op"][n]] for n in data["kept"][0]], ["Relu"] * 3)
        self.assertEqual(data["widths"]["unit"], "cost")
        self.assertLess(sum(data["after"]["width"]), sum(data["before"]["width"]))
        self.assertIn("collapse", {p["kind"] for p in data["run"]["search"]["proposers"]})
        self.assertIn("collapse", data["laws"])
        self.assertLess((self.path / "r.html").stat().st_size, 200_000)

    def test_what_vanishes_has_a_region_without_nodes_after(self):
        data = self.optimized(small_models.clutter(), "--judge", "any")
        self.assertTrue([r for r in data["regions"] if r["before"] and not r["after"]], data["regions"])
        self.assertLess(len(data["after"]["op"]), len(data["before"]["op"]))

    def test_nothing_to_improve_is_told(self):
        data = self.optimized(small_models.plain())
        self.assertEqual((data["regions"], data["run"]["result"]), ([], "unchanged"))
        self.assertTrue(data["run"]["reason"])

    def test_the_command_tells_the_same_regions_without_the_run(self):
        whole = self.optimized(small_models.branches(1, blocks=2))
        ran = self.run_isomer("report", "in.onnx", "out.onnx", "out.onnx.cert", "-o", "again.html", "--widths", "cost", "--json")
        answer = json.loads(ran.stdout)
        self.assertEqual((answer["widths"], answer["regions"], answer["unchanged_nodes"]), ("cost", 2, 2))
        again = self.page("again.html")
        self.assertIsNone(again["run"])
        for field in ("regions", "kept", "before", "after", "names"):
            self.assertEqual(again[field], whole[field], field)

    def test_times_are_those_of_the_runtime_and_nearly_all_have_a_node(self):
        self.optimized(small_models.branches(1, blocks=2))
        ran = self.run_isomer("report", "in.onnx", "out.onnx", "out.onnx.cert", "-o", "timed.html", "--json")
        self.assertEqual(json.loads(ran.stdout)["widths"], "time", ran.stdout)
        data = self.page("timed.html")
        for side, others in (("before", "others_before"), ("after", "others_after")):
            times = data[side]["width"]
            self.assertGreater(10 * sum(times), data["widths"][others])
            self.assertTrue(all(sum(times[n] for n in region[side]) > 0 for region in data["regions"]))

    def test_without_a_runtime_the_page_says_that_widths_are_no_times(self):
        self.optimized(small_models.branches(1))
        ran = self.run_isomer("report", "in.onnx", "out.onnx", "out.onnx.cert", "-o", "r.html", "--runtime-library", "/no/such/library.so", "--json")
        answer = json.loads(ran.stdout)
        self.assertEqual(answer["widths"], "cost")
        self.assertTrue(answer["why"])
        self.assertEqual(self.page("r.html")["widths"]["why"], answer["why"])

    def test_names_of_a_model_are_text_and_nothing_else(self):
        model = small_models.branches(1)
        for node in model.graph.node:
            node.name = HOSTILE
            node.doc_string = HOSTILE
        model.graph.input[0].name = HOSTILE
        for node in model.graph.node:
            for k, name in enumerate(node.input):
                node.input[k] = HOSTILE if name == "x" else name
        data = self.optimized(model)
        self.assertIn(HOSTILE, data["before"]["name"])
        self.assertEqual(data["before"]["inputs"][0][0], HOSTILE)
        self.assertTrue(data["regions"])

    def test_names_of_files_that_are_no_utf8_do_no_harm(self):
        folder, name = os.fsencode(self.path), b"\xff\xfe<b>\xc3(.onnx"
        onnx.save(small_models.branches(1), os.fsdecode(os.path.join(folder, name)))
        self.run_isomer("optimize", os.fsdecode(name), "-o", "out.onnx", "--judge", "cost", "--report", "r.html")
        self.assertIn("<b>", self.page("r.html")["names"]["in"])

    def test_a_certificate_of_other_models_is_refused(self):
        self.optimized(small_models.branches(1))
        other = onnx.load(self.path / "in.onnx")
        other.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(np.ones((32, 32, 3, 3), np.float32), other.graph.initializer[0].name))
        onnx.save(other, self.path / "other.onnx")
        for pair in (("other.onnx", "out.onnx"), ("in.onnx", "other.onnx")):
            ran = self.run_isomer("report", *pair, "out.onnx.cert", "-o", "no.html", "--widths", "cost", code=2)
            self.assertIn("is about another", ran.stderr)
        self.assertFalse((self.path / "no.html").exists())

    def test_no_model_and_no_certificate_is_overwritten(self):
        self.optimized(small_models.branches(1))
        for name in ("in.onnx", "out.onnx", "out.onnx.cert"):
            bytes_before = (self.path / name).read_bytes()
            self.run_isomer("report", "in.onnx", "out.onnx", "out.onnx.cert", "-o", name, "--widths", "cost", code=2)
            self.run_isomer("optimize", "in.onnx", "-o", "out.onnx", "--judge", "cost", "--report", name, code=2)
            self.assertEqual((self.path / name).read_bytes(), bytes_before, name)

    def test_a_certificate_of_prove_has_a_page_too(self):
        self.optimized(small_models.branches(1, blocks=2))
        self.run_isomer("prove", "in.onnx", "out.onnx", "--certificate", "pairs.cert")
        self.run_isomer("report", "in.onnx", "out.onnx", "pairs.cert", "-o", "pairs.html", "--widths", "cost")
        data = self.page("pairs.html")
        self.assertTrue(data["is_pairing"])
        self.assertTrue(data["regions"])

    def test_what_is_computed_in_float32_is_told(self):
        """The nodes stay what they are; the casts at their borders are one change."""
        half = onnx.TensorProto.FLOAT16
        nodes = [helper.make_node("Exp", ["x"], ["a"]), helper.make_node("Neg", ["a"], ["b"]), helper.make_node("Tanh", ["b"], ["y"])]
        onnx.save(small_models.model(nodes, [], [("x", [2, 8], half)], [("y", [2, 8], half)]), self.path / "in.onnx")
        wide = [helper.make_node("Cast", ["x"], ["x_wide"], to=1), helper.make_node("Exp", ["x_wide"], ["a_wide"]),
                helper.make_node("Neg", ["a_wide"], ["b_wide"]), helper.make_node("Tanh", ["b_wide"], ["y_wide"]),
                helper.make_node("Cast", ["y_wide"], ["y"], to=10)]
        onnx.save(small_models.model(wide, [], [("x", [2, 8], half)], [("y", [2, 8], half)]), self.path / "out.onnx")
        self.run_isomer("prove", "in.onnx", "out.onnx", "--certificate", "c.cert")
        self.run_isomer("report", "in.onnx", "out.onnx", "c.cert", "-o", "r.html", "--widths", "cost")
        page = self.page("r.html")
        self.assertEqual(page["widened"], 3)
        self.assertEqual(len(page["regions"]), 1)

    def test_ten_thousand_nodes_are_less_than_ten_megabytes(self):
        """A chain in which every tenth node changes nothing."""
        values, nodes = ["x"], []
        for k in range(10_000):
            op = "Identity" if k % 10 == 9 else ("Sin", "Cos")[k % 2]
            values.append(f"/model/layers.{k // 100}/block.{k % 100}/{op}_output_0")
            nodes.append(helper.make_node(op, values[-2:-1], values[-1:], name=values[-1].removesuffix("_output_0")))
        data = self.optimized(small_models.model(nodes, [], [("x", [4])], [(values[-1], [4])]), "--only", "simplify", "--budget", "5m")
        self.assertEqual((len(data["before"]["op"]), len(data["after"]["op"])), (10_000, 9_000 + 1))
        self.assertLess((self.path / "r.html").stat().st_size, 10_000_000)


if __name__ == "__main__":
    unittest.main()
