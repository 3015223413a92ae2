"""Tasks of photographs: classes, boxes, faces, masks, watermarks, clouds."""
import numpy as np

from trained import pictures
from trained.answers import best_boxes, corners, grid, sigmoid
from trained.task import Task, first, only, read_class, read_features, rows_of


def draw_photographs(scale):
    """Photographs, as planes or with the colours last; `scale` makes floats of them."""
    def draw(model, shapes):
        name, shape = only(shapes)
        height, width = shape[1:3] if shape[3] == 3 else shape[2:]
        made = np.stack([scale(pictures.photograph(height, width, seed).astype(np.float32)) for seed in range(shape[0])])
        return [{name: np.ascontiguousarray(made if shape[3] == 3 else made.transpose(0, 3, 1, 2), np.float32)}]
    return draw


def draw_faces(model, shapes):
    """Candidates for a face: the middles of photographs. A large picture has many small faces, which P-net looks for in windows of 12 x 12."""
    name, (count, height, width, _) = only(shapes)
    made = []
    for seed in range(count):
        side = min(height, 24)
        face = pictures.photograph(2 * side, 2 * side, seed) if height > 48 else pictures.photograph(2 * height, 2 * width, seed)
        middle = face[len(face) // 4 - len(face) // 20:, len(face) // 4:][:len(face) // 2, :len(face) // 2]
        made.append(np.tile(middle, (-(-height // len(middle)), -(-width // len(middle)), 1))[:height, :width])
    return [{name: ((np.stack(made) - 127.5) / 128).astype(np.float32)}]


def draw_bands(model, shapes):
    name, (count, channels, height, width) = only(shapes)
    return [{name: np.stack([(pictures.bands(channels, height, width, seed) - 0.28) / 0.24 for seed in range(count)]).astype(np.float32)}]


def read_segments(model, outputs, feeds):
    """A mask for each class, where it is the best one."""
    scores = first(outputs)
    return [("vector", rows_of(scores)), *(("mask", scores.argmax(1) == which) for which in range(scores.shape[1]))]


def read_mask(model, outputs, feeds):
    return [("mask", first(outputs) > 0.5)]


def read_yolo(model, outputs, feeds):
    """YOLOv8: [n, 4 + classes (+ 32 of masks), cells]; centre, size, scores."""
    columns = first(outputs)[0].T
    return [("boxes", best_boxes(corners(columns[:, :4]), columns[:, 4:4 + model.hints["classes"]].max(1)))]


def read_yolox(model, outputs, feeds):
    values = first(outputs)[0]
    side = next(iter(feeds[0].values())).shape[-1]
    cells, strides = grid([((side // s, side // s), s) for s in (8, 16, 32)])
    centres = np.concatenate([(values[:, :2] + cells) * strides, np.exp(values[:, 2:4]) * strides], 1)
    return [("boxes", best_boxes(corners(centres), values[:, 4] * values[:, 5:].max(1)))]


def read_anchors(model, outputs, feeds):
    """BlazeFace: which anchors have the best scores, and where their boxes lie relative to them."""
    boxes, scores = (next(v[0] for v in outputs.values() if v.shape[-1] == last) for last in (16, 1))
    best = np.argsort(-scores[:, 0])[:8]
    return [("class", best[:1]), ("number", (sigmoid(scores[best, 0]), 0.01)), ("number", (boxes[best[:1], :4], 0.5))]


def read_faces(model, outputs, feeds):
    """MTCNN: the probability of a face, and the shifts of boxes where it is likely."""
    faces = next(value for name, value in outputs.items() if "softmax" in name)[..., 1]
    return [("number", (faces, 0.01)), ("mask", faces > 0.6)]


def draw_watermark(model, shapes):
    feeds = {}
    for name, shape in shapes.items():
        if name == "frame":
            made = [pictures.photograph(*shape[3:], seed).transpose(2, 0, 1)[:, None] for seed in range(shape[0])]
            feeds[name] = (np.stack(made) / 127.5 - 1).astype(np.float32)
        else:
            feeds[name] = np.broadcast_to(np.arange(shape[1]) % 3 == 0, shape).astype(np.float32)
    return [feeds]


bgr_less_mean = lambda p: p[..., ::-1] - np.array([104, 117, 123], np.float32)
TASKS = {
    "yolo": Task(draw_photographs(lambda p: p / 255), read_yolo),
    "yolo, classes": Task(draw_photographs(lambda p: p / 255), read_class),
    "yolox": Task(draw_photographs(lambda p: p[..., ::-1]), read_yolox),
    "blazeface": Task(draw_photographs(lambda p: p / 127.5 - 1), read_anchors),
    "faces": Task(draw_faces, read_faces),
    "classify photographs": Task(draw_photographs(bgr_less_mean), read_class),
    "cut out": Task(draw_photographs(lambda p: (p - 128) / 256), read_mask),
    "clouds": Task(draw_bands, read_segments),
    "watermark": Task(draw_watermark, read_features)}
