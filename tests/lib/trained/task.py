"""What a task of a trained model is: real inputs for given shapes, and the answer in the outputs.

`draw(model, shapes)` makes a list of feeds, one for each step; most tasks have one step. `read(model, outputs, feeds)` takes the outputs of the last
step, or of all steps where `carry` says which output becomes which input of the next one. `model.folder` has the package's dictionaries, if it was
fetched.
"""
import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class Task:
    draw: object
    read: object
    carry: dict = dataclasses.field(default_factory=dict)  # output -> input


def only(shapes):
    """The name and shape of the one input that has open sizes."""
    [(name, shape)] = shapes.items()
    return name, shape


def first(outputs):
    return next(iter(outputs.values()))


def rows_of(array):
    return np.asarray(array, np.float32).reshape(len(array) if np.ndim(array) else 1, -1)


def read_class(model, outputs, feeds):
    scores = first(outputs).reshape(-1, first(outputs).shape[-1])
    return [("class", scores.argmax(-1)), ("number", (scores.max(-1), 0.01))]


def read_probabilities(model, outputs, feeds):
    return [("number", (first(outputs), 0.01))]


def read_features(model, outputs, feeds):
    """Tensors that another model takes: by direction; lengths must be equal."""
    return [("class", value) if value.dtype.kind in "iub" else ("vector", rows_of(value)) for value in outputs.values()]
