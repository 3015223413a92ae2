"""cmake/together.py: which sources are compiled as one, and which never are."""
import importlib.util
import pathlib
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("together", ROOT / "cmake" / "together.py")
together = importlib.util.module_from_spec(spec)
spec.loader.exec_module(together)


def source(private, rest="", includes=""):
    return f"{includes}namespace isomer {{\nnamespace {{\n\n{private}\n\n}}  // namespace\n{rest}\n}}  // namespace isomer\n"


class Together(unittest.TestCase):
    def groups(self, headers=None, **texts):
        with tempfile.TemporaryDirectory(prefix="isomer_together_") as name:
            folder = pathlib.Path(name)
            for file, text in ((headers or {}) | {f"{k}.cpp": v for k, v in texts.items()}).items():
                (folder / file).write_text(text)
            found = together.groups([together.Source(str(folder / f"{k}.cpp"), folder) for k in texts])
            return [[pathlib.Path(s.path).stem for s in group] for group in found]

    def test_files_that_share_no_name(self):
        self.assertEqual(self.groups(a=source("int one() {\n  return 1;\n}"), b=source("int two() {\n  return 2;\n}")), [["a", "b"]])

    def test_a_private_name_of_both(self):
        for private in ("int one() {\n  return 1;\n}", "struct Site {\n};", "using Site = int;", "constexpr int kMost = 1;",
                        "template <class T>\nT Site(T t) {\n  return t;\n}", "enum class Kind { A };", "enum { Site, Other };"):
            self.assertEqual(self.groups(a=source(private), b=source(private)), [["a"], ["b"]], private)

    def test_a_private_name_that_the_other_says(self):
        # It may be another function there, or a local variable that shadows.
        said = source("", "void f() {\n  int one = 1;\n}")
        for texts in ({"a": source("int one() {\n  return 1;\n}"), "b": said}, {"a": said, "b": source("int one() {\n  return 1;\n}")}):
            self.assertEqual(self.groups(**texts), [["a"], ["b"]])
        self.assertEqual(self.groups(a=source("int one() {\n  return 1;\n}"), b=source("", '// one\nconst char* text = "one";')), [["a", "b"]])

    def test_a_private_name_that_only_the_others_header_declares(self):
        headers = {"position.h": '#include "deep.h"\n', "deep.h": "namespace isomer {\nstruct Position {\n};\n}\n"}
        private = source("struct Position {\n};")
        self.assertEqual(self.groups(headers, a=private, b=source("", includes='#include "position.h"\n')), [["a"], ["b"]])
        self.assertEqual(self.groups(headers, a=source("int x;"), b=source("", includes='#include "position.h"\n')), [["a", "b"]])

    def test_macros(self):
        self.assertEqual(self.groups(a="#define ONE 1\n", b="int f() { return ONE; }\n"), [["a"], ["b"]])

    def test_every_source_is_in_one_group(self):
        for folder in ("model/ops", "optimizer/propose"):
            paths = sorted(str(p) for p in (ROOT / "src" / folder).rglob("*.cpp"))
            found = together.groups([together.Source(p, ROOT / "src") for p in paths])
            self.assertEqual(sorted(s.path for group in found for s in group), paths)
            self.assertLess(len(found), len(paths) / 2)
            self.assertLessEqual(max(map(len, found)), together.MOST)


if __name__ == "__main__":
    unittest.main()
