"""Tasks of documents: find and read text, turn it, tables, layouts."""
import ast
import functools
import pathlib

import numpy as np

from trained import pictures, words
from trained.answers import best_boxes, ctc_text, grid, softmax, text_rows
from trained.task import Task, first, only, read_class, read_features

HALF = np.float32(0.5)


def draw_pages(model, shapes):
    name, (count, _, height, width) = only(shapes)
    return [{name: pictures.planes([pictures.page(height, width)] * count, is_bgr=True)}]


def draw_seals(model, shapes):
    name, (count, _, height, width) = only(shapes)
    return [{name: pictures.planes([pictures.seal(height, width)] * count, is_bgr=True)}]


def read_text_map(model, outputs, feeds):
    masks = first(outputs)[:, 0] > 0.3
    return [("count", [text_rows(mask) for mask in masks]), ("mask", masks)]


def line_pictures(count, height, width):
    return [pictures.line(words.SENTENCES[row % len(words.SENTENCES)], height, width)[0] for row in range(count)]


def draw_lines(model, shapes):
    name, (count, _, height, width) = only(shapes)
    return [{name: pictures.planes(line_pictures(count, height, width), HALF, HALF, is_bgr=True)}]


def draw_turned_lines(model, shapes):
    """Every second line upside down."""
    name, (count, _, height, width) = only(shapes)
    lines = [picture[::-1, ::-1] if row % 2 else picture for row, picture in enumerate(line_pictures(count, height, width))]
    return [{name: pictures.planes(lines, HALF, HALF, is_bgr=True)}]


@functools.cache
def paddle_characters(folder, path, dictionary):
    """The letters by number: 0 is none, the last is a space. From the model's metadata, else from the package's own file."""
    import onnx
    described = {p.key: p.value for p in onnx.load(path, load_external_data=False).metadata_props}
    if "character" in described:
        text = described["character"]
    elif dictionary:
        text = next(pathlib.Path(folder).glob(f"*{dictionary}")).read_text(encoding="utf-8")
    else:
        return ()
    return ("", *text.replace("\r", "").removesuffix("\n").split("\n"), " ")


def read_lines(model, outputs, feeds):
    characters = paddle_characters(str(model.folder), str(model.path), model.hints.get("dictionary", ""))
    return [("text", [ctc_text(row.argmax(-1), characters) for row in first(outputs)])]


def draw_captcha(model, shapes):
    name, (count, _, height, width) = only(shapes)
    picture = pictures.gray(pictures.line("Kq7 mB4x tR29", height, width)[0])
    return [{name: np.broadcast_to((picture / 255 - HALF) / HALF, (count, 1, height, width)).astype(np.float32)}]


@functools.cache
def captcha_characters(folder, name):
    tree = ast.parse((pathlib.Path(folder) / "ddddocr__charsets.py").read_text(encoding="utf-8"))
    return next(ast.literal_eval(node.value) for node in tree.body if isinstance(node, ast.Assign) and node.targets[0].id == name)


def read_captcha(model, outputs, feeds):
    return [("text", [ctc_text(first(outputs)[:, 0].argmax(-1), captcha_characters(str(model.folder), model.hints["charset"]))])]


def draw_tables(model, shapes):
    name, (count, _, height, width) = only(shapes)
    return [{name: pictures.planes([pictures.table(height, width, 4 + row % 3) for row in range(count)])}]


def read_structure(model, outputs, feeds):
    """The table as HTML: the output whose rows are probabilities of tokens."""
    tokens = list(paddle_characters(str(model.folder), str(model.path), "")[1:-1])
    if "<td></td>" not in tokens:  # an empty cell is one token
        tokens = [token for token in tokens if token != "<td>"] + ["<td></td>"]
    tokens = ["", *tokens, ""]
    scores = next(value for value in outputs.values() if value.shape[-1] == len(tokens))
    texts = []
    for row in scores.argmax(-1):
        ends = np.flatnonzero(row == len(tokens) - 1)
        texts.append("".join(tokens[i] for i in row[:ends[0] if len(ends) else None]))
    return [("text", texts)]



def draw_turned_pages(model, shapes):
    name, (count, _, height, width) = only(shapes)
    return [{name: pictures.planes([np.rot90(pictures.page(height, width), row % 4) for row in range(count)])}]


def read_picodet(model, outputs, feeds):
    """Four levels of scores, then four of distances as distributions over 8 steps."""
    values = list(outputs.values())
    height, width = next(iter(feeds[0].values())).shape[2:]
    cells, strides = grid([((-(-height // s), -(-width // s)), s) for s in (8, 16, 32, 64)])
    scores = np.concatenate([v[0] for v in values[:4]])
    far = softmax(np.concatenate([v[0] for v in values[4:]]).reshape(len(scores), 4, -1)) @ np.arange(8) * strides
    centres = (cells + 0.5) * strides
    boxes = np.concatenate([centres - far[:, :2], centres + far[:, 2:]], 1)
    found, best = best_boxes(boxes, scores.max(1))
    return [("boxes", (found[best > 0.3], best[best > 0.3]))]


def draw_gray_pages(model, shapes):
    name, (count, channels, height, width) = only(shapes)
    page = pictures.gray(pictures.page(height, width)) / 255
    return [{name: np.broadcast_to(page, shapes[name]).astype(np.float32)}]


def draw_table_positions(model, shapes):
    feeds = draw_tables(model, {"image": shapes["image"]})[0]
    return [{**feeds, **{name: np.linspace(0.05, 0.95, *shape).astype(np.float32) for name, shape in shapes.items() if name != "image"}}]


TASKS = {
    "find text": Task(draw_pages, read_text_map),
    "find seals": Task(draw_seals, read_text_map),
    "read text": Task(draw_lines, read_lines),
    "turn lines": Task(draw_turned_lines, read_class),
    "read captcha": Task(draw_captcha, read_captcha),
    "turn pages": Task(draw_turned_pages, read_class),
    "page layout": Task(draw_pages, read_picodet),
    "page features": Task(draw_gray_pages, read_features),
    "table structure": Task(draw_tables, read_structure),
    "classify tables": Task(draw_tables, read_class),
    "table grid": Task(draw_tables, read_features),
    "table grid, positions": Task(draw_table_positions, read_features)}
