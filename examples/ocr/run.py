"""OCR with the package `rapidocr`, unchanged: only its sessions are made here, with Isomer's execution provider. Ten pages, with and without it.

  python run.py [--seconds N]     for preparing each of the three models, the first time (default: 300)
"""
import argparse
import pathlib
import sys
import time

try:
    import numpy as np
    import onnxruntime
    import rapidocr
    from PIL import Image, ImageDraw, ImageFont

    import isomer

    isomer.register()
except (ImportError, RuntimeError) as error:
    print(f"skipped: {error}; needs rapidocr 3.10 and isomer-onnx with its provider")
    sys.exit(77)

MODELS = pathlib.Path(rapidocr.__file__).parent / "models"
# The models of the package, and the sizes that pages of 800 x 600 lead to.
PARTS = {"Det": ("PP-OCRv6_det_small.onnx", "x=1x3x736x992"), "Cls": ("ch_ppocr_mobile_v2.0_cls_mobile.onnx", "x=4x3x48x192"),
         "Rec": ("PP-OCRv6_rec_small.onnx", "x=4x3x48x640")}  # fmt: skip
GOODS = ("green tea", "paper", "copper wire", "oak boards", "lamp oil", "wool", "glass beads", "salt", "candles", "slate")


def page(number):
    """An invoice, as an image."""
    image = Image.new("RGB", (800, 600), "white")
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(28)
    lines = (f"Invoice {2040 + number} of {number + 1} November 2026", f"{12 + 7 * number} boxes of {GOODS[number]}, {34 + 3 * number}.50 each",
             f"To be paid within {10 + number} days", "Thank you for your order")  # fmt: skip
    for place, line in enumerate(lines):
        draw.text((40, 60 + 110 * place), line, font=font, fill="black")
    return np.array(image)


def reader(providers):
    """rapidocr with sessions on these providers."""
    ocr = rapidocr.RapidOCR(params={"Global.log_level": "error"})
    ocr.cfg._set_flag("allow_objects", True)  # its setting `session` is an object
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    for part, (file, _) in PARTS.items():
        ocr.cfg[part].session = onnxruntime.InferenceSession(str(MODELS / file), options, providers=providers)
    return ocr


def read(ocr, pages):
    """The text of the pages, and the seconds that one takes."""
    ocr(pages[0])
    begin = time.perf_counter()
    texts = [list(ocr(image).txts) for image in pages]
    return texts, (time.perf_counter() - begin) / len(pages)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=300)
    given = parser.parse_args()
    pages = [page(number) for number in range(10)]
    for file, sizes in PARTS.values():
        begin = time.perf_counter()
        prepared = isomer.prepare(MODELS / file, budget=given.seconds, arguments=f"--shape {sizes} --threads 1")
        print(f"{file}: {'prepared' if prepared else prepared.reason} ({time.perf_counter() - begin:.0f} s)", flush=True)
    expected, before = read(reader(["CPUExecutionProvider"]), pages)
    texts, after = read(reader([isomer.get_ep_name(), "CPUExecutionProvider"]), pages)
    print("\n".join(texts[0]))
    same = sum(a == b for a, b in zip(expected, texts, strict=True))
    print(f"{same} of {len(pages)} pages read the same; {1000 * before:.0f} ms a page without the provider, {1000 * after:.0f} ms with it")
    return 0 if same == len(pages) and all(len(text) == 4 for text in texts) else 1


if __name__ == "__main__":
    sys.exit(main())
