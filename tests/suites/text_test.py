"""The golden texts are ONNX's language: onnx.parser reads each, and onnx.printer makes of it what is stored beside it.

  tests/suites/text_test.py            checks; exit 1 on a difference
  tests/suites/text_test.py --update   writes tests/suites/golden/text/*.onnx_printer anew

The C++ side (src/model/graph/text/golden_test.cpp) checks that both texts are the same graph to us.
"""
import pathlib
import sys

import onnx
import onnx.parser
import onnx.printer

GOLDEN = pathlib.Path(__file__).resolve().parent / "golden" / "text"


def main():
    update = "--update" in sys.argv[1:]
    failures = 0
    texts = sorted(GOLDEN.glob("*.txt"))
    for path in texts:
        model = onnx.parser.parse_model(path.read_text(encoding="utf-8"))
        printed = onnx.printer.to_text(model)
        beside = path.with_suffix(".onnx_printer")
        if update:
            beside.write_text(printed, encoding="utf-8")
        elif printed != beside.read_text(encoding="utf-8"):
            print(f"{path.name}: onnx {onnx.__version__} prints it differently from {beside.name}")
            failures += 1
    print(f"{len(texts)} texts, {failures} differ")
    return 1 if failures or not texts else 0


if __name__ == "__main__":
    sys.exit(main())
