"""Tasks of measurements: components of a brain's signals, joints of a robot, boxes of a page as a graph."""
import numpy as np

from trained import pictures
from trained.task import Task, first, only, read_class, read_features


def smooth(shape, seed=13, scale=1.0):
    """Values that change slowly along the last axis, as measurements do."""
    steps = np.random.default_rng(seed).normal(0, 1, shape)
    made = np.cumsum(steps, -1) / np.sqrt(1 + np.arange(shape[-1]))
    return (scale * made).astype(np.float32)


def draw_measurements(model, shapes):
    return [{name: smooth(shape, seed) for seed, (name, shape) in enumerate(shapes.items())}]


def draw_components(model, shapes):
    """A brain's component: a map of the head, and its course over time."""
    photos = [pictures.photograph(120, 120, seed) for seed in range(shapes["spatial_input"][0])]
    return [{"spatial_input": (np.stack(photos) / 255).astype(np.float32), "temporal_input": smooth(shapes["temporal_input"][:2])[..., None]}]


def draw_joints(model, shapes):
    """Angles of joints within their limits."""
    name, shape = only(shapes)
    return [{name: np.random.default_rng(17).uniform(-0.3, 0.3, shape).astype(np.float32)}]


def read_positions(model, outputs, feeds):
    return [("number", (first(outputs), 1e-3))]


def draw_boxes_of_a_page(model, shapes):
    """A graph of boxes: each is joined with the next ones down the page."""
    nodes, edges = shapes["x"][0], shapes["edge_index"][1]
    random = np.random.default_rng(19)
    starts = np.arange(edges) % nodes
    feeds = {name: random.random(shape).astype(np.float32) for name, shape in shapes.items() if name not in ("edge_index", "batch")}
    return [{**feeds, "edge_index": np.stack([starts, (starts + 1 + np.arange(edges) // nodes) % nodes]), "batch": np.zeros(nodes, np.int64),
             "k": np.array(min(nodes, 20), np.int64)}]


def read_nodes(model, outputs, feeds):
    return [("class", outputs["node_logits"].argmax(-1)), ("class", outputs["edge_logits"].argmax(-1))]


TASKS = {
    "components": Task(draw_components, read_class),
    "components, three": Task(draw_measurements, read_class),
    "kinematics": Task(draw_joints, read_positions),
    "boxes": Task(draw_boxes_of_a_page, read_nodes),
    "cells": Task(draw_measurements, read_features)}
