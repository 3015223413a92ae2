"""Tasks of texts and files: embeddings, vowel marks, types of files, secrets."""
import json
import pathlib

import numpy as np

from trained import words
from trained.task import Task, first, only


def draw_sentences(model, shapes):
    tokenizer = next(iter(model.folder.glob("*tokenizer.json")), None)
    texts = words.CHINESE if "-zh" in model.name else words.SENTENCES
    ids, mask, types = words.token_batch(*shapes["input_ids"], tokenizer, texts)
    return [{"input_ids": ids, "attention_mask": mask, "token_type_ids": types}]


def read_embeddings(model, outputs, feeds):
    """Means over the words of each text (bge: the first token)."""
    hidden, mask = first(outputs), feeds[0]["attention_mask"][..., None]
    pooled = hidden[:, 0] if "bge" in model.name else (hidden * mask).sum(1) / mask.sum(1)
    return [("vector", pooled)]


def draw_arabic(model, shapes):
    count, length = shapes["char_inputs"]
    row = words.letters(words.ARABIC, length, next(iter(model.folder.glob("*input_id_map.json")), None))
    return [{"char_inputs": np.tile(row, (count, 1)), "diac_inputs": np.ones((count, length), np.int64), "input_lengths": np.full(count, length)}]


def draw_hebrew(model, shapes):
    name, (count, length) = only(shapes)
    return [{name: np.tile(words.letters("שלום לכולם וברוכים הבאים ", length), (count, 1)).astype(np.float32)}]


def read_marks(model, outputs, feeds):
    return [("class", value.argmax(-1) if value.dtype.kind == "f" else value) for name, value in outputs.items() if name != "logits"]


def draw_files(model, shapes):
    """The first and last 1,024 bytes of texts of this repository, as magika cuts them."""
    name, (count, _) = only(shapes)
    places = sorted(pathlib.Path(__file__).resolve().parent.glob("*.py")) + sorted(pathlib.Path(__file__).resolve().parents[3].glob("*.md"))
    cut = []
    for row in range(count):
        data = places[row % len(places)].read_bytes().strip()
        cut.append(np.concatenate([np.pad(np.frombuffer(part, np.uint8).astype(np.int32), where, constant_values=256) for part, where in
                                   ((data[:1024], (0, 1024 - len(data[:1024]))), (data[-1024:], (1024 - len(data[-1024:]), 0)))]))
    return [{name: np.stack(cut)}]


def read_file_types(model, outputs, feeds):
    config = next(iter(model.folder.glob("*config.min.json")), None)
    labels = json.loads(config.read_text(encoding="utf-8"))["target_labels_space"] if config else range(1000)
    return [("text", [str(labels[i]) for i in first(outputs).argmax(-1)]), ("number", (first(outputs).max(-1), 0.01))]


def draw_secrets(model, shapes):
    config = next(iter(model.folder.glob("*ml_config.json")), None)
    feeds = {name: words.one_hot_lines(name.split("_")[0], *shape, config) for name, shape in shapes.items() if len(shape) == 3}
    feeds["feature_input"] = (np.random.default_rng(3).random(shapes["feature_input"]) < 0.1).astype(np.float32)
    return [feeds]


def read_odds(model, outputs, feeds):
    """Drawn features do not make a secret likely, so that probabilities would agree whatever the model does; their odds don't."""
    likely = np.clip(np.asarray(first(outputs), np.float64), 1e-5, 1 - 1e-5)
    return [("number", (np.log(likely / (1 - likely)), 0.1))]


TASKS = {
    "embed": Task(draw_sentences, read_embeddings),
    "arabic marks": Task(draw_arabic, read_marks),
    "hebrew marks": Task(draw_hebrew, read_marks),
    "file type": Task(draw_files, read_file_types),
    "secrets": Task(draw_secrets, read_odds)}
