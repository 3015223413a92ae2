"""What a model's user sees of its outputs: text, classes, boxes, embeddings, probabilities; and whether two models' answers agree.

An answer is a list of parts (kind, value). Kinds and when two of them agree:
  text      strings; equal
  class     numbers of classes; equal
  count     how many there are; equal
  number    an array and the largest difference that a user would not see
  vector    rows; the cosine of each pair is at least LEAST_COSINE
  mask      booleans; intersection over union is at least LEAST_OVERLAP
  boxes     (boxes, scores), best first; each box is found in the other answer with LEAST_OVERLAP_OF_BOXES and a score within 0.05
"""
import numpy as np

LEAST_COSINE, LEAST_OVERLAP, LEAST_OVERLAP_OF_BOXES, MOST_OFF_SCORE = 0.999, 0.99, 0.9, 0.05


# ---- reading outputs ------------------------------------------------------------------------------------------------

def softmax(x):
    grown = np.exp(x - x.max(-1, keepdims=True))
    return grown / grown.sum(-1, keepdims=True)


def sigmoid(x):
    return 1 / (1 + np.exp(-np.asarray(x, np.float64)))


def ctc_text(indices, characters):
    """Repeats collapse, 0 is no letter; numbers where there is no dictionary."""
    kept = [int(i) for place, i in enumerate(indices) if i and (place == 0 or i != indices[place - 1])]
    return "".join(characters[i] if i < len(characters) else "?" for i in kept) if characters else " ".join(map(str, kept))


def overlap(box, others):
    """Intersection over union of (x1, y1, x2, y2)."""
    wide = np.clip(np.minimum(box[2], others[:, 2]) - np.maximum(box[0], others[:, 0]), 0, None)
    tall = np.clip(np.minimum(box[3], others[:, 3]) - np.maximum(box[1], others[:, 1]), 0, None)
    area = (others[:, 2] - others[:, 0]) * (others[:, 3] - others[:, 1])
    return wide * tall / np.maximum((box[2] - box[0]) * (box[3] - box[1]) + area - wide * tall, 1e-9)


def best_boxes(boxes, scores, count=8, most_overlap=0.5):
    """The boxes with the highest scores that do not cover each other."""
    order, kept = list(np.argsort(-scores, kind="stable")[:400]), []
    while order and len(kept) < count:
        kept.append(order.pop(0))
        order = [i for i in order if overlap(boxes[kept[-1]], boxes[i][None])[0] < most_overlap]
    return boxes[kept], scores[kept]


def corners(centres):
    x, y, wide, tall = centres.T
    return np.stack([x - wide / 2, y - tall / 2, x + wide / 2, y + tall / 2], 1)


def grid(sizes_and_strides):
    """Centres of cells and their strides: [n, 2], [n, 1]."""
    centres, strides = [], []
    for (height, width), stride in sizes_and_strides:
        x, y = np.meshgrid(np.arange(width), np.arange(height))
        centres.append(np.stack([x, y], -1).reshape(-1, 2))
        strides.append(np.full((height * width, 1), stride))
    return np.concatenate(centres), np.concatenate(strides)


def text_rows(mask):
    """How many rows of text a mask of a page has: runs of picture rows with something in them."""
    filled = np.concatenate([[False], mask.any(1)])
    return int((filled[1:] & ~filled[:-1]).sum())


# ---- comparing answers ----------------------------------------------------------------------------------------------

def _same_values(mine, other):
    mine, other = np.asarray(mine), np.asarray(other)
    return mine.shape == other.shape and bool((mine == other).all())


def _compare_texts(mine, other):
    return list(mine) == list(other), "text equal" if list(mine) == list(other) else f"text {mine} against {other}"


def _compare_classes(mine, other):
    mine, other = np.asarray(mine).ravel(), np.asarray(other).ravel()
    same = int((mine == other).sum()) if mine.shape == other.shape else 0
    return _same_values(mine, other), f"{same} of {mine.size} equal"


def _compare_numbers(mine, other):
    (mine, most), (other, _) = mine, other
    if np.shape(mine) != np.shape(other):
        return False, f"shape {np.shape(mine)} against {np.shape(other)}"
    off = float(np.abs(np.asarray(mine, np.float64) - other).max()) if np.size(mine) else 0.0
    return off <= most, f"largest difference {off:.2g} of {most:g}"


def _compare_vectors(mine, other):
    mine, other = np.asarray(mine, np.float64), np.asarray(other, np.float64)
    if mine.shape != other.shape:
        return False, f"shape {mine.shape} against {other.shape}"
    lengths = np.linalg.norm(mine, axis=1) * np.linalg.norm(other, axis=1)
    cosines = np.where(lengths > 0, (mine * other).sum(1) / np.maximum(lengths, 1e-300), (mine == other).all(1))
    return bool(cosines.min() >= LEAST_COSINE), f"cosine {cosines.min():.6f}"


def _compare_masks(mine, other):
    if mine.shape != other.shape:
        return False, f"shape {mine.shape} against {other.shape}"
    shared = (mine & other).sum() / max(int((mine | other).sum()), 1) if (mine | other).any() else 1.0
    return bool(shared >= LEAST_OVERLAP), f"overlap of masks {shared:.4f}"


def _compare_boxes(mine, other):
    if len(mine[0]) != len(other[0]):
        return False, f"{len(mine[0])} boxes against {len(other[0])}"
    least = 1.0
    for (boxes, scores), (others, their) in ((mine, other), (other, mine)):
        for box, score in zip(boxes, scores):
            shared = np.where(np.abs(their - score) <= MOST_OFF_SCORE, overlap(box, others), 0)
            least = min(least, float(shared.max()) if len(shared) else 1.0)
    return least >= LEAST_OVERLAP_OF_BOXES, f"{len(mine[0])} boxes, least overlap {least:.3f}"


COMPARED = {"text": _compare_texts, "class": _compare_classes, "count": _compare_classes, "number": _compare_numbers, "vector": _compare_vectors,
            "mask": _compare_masks, "boxes": _compare_boxes}


def agree(mine, other):
    """Whether a user would see the same, and how near the two are."""
    compared = [COMPARED[kind](value, theirs) for (kind, value), (_, theirs) in zip(mine, other)]
    return len(mine) == len(other) and all(same for same, _ in compared), "; ".join(dict.fromkeys(words for _, words in compared))


def _few(array, digits=3):
    flat = np.asarray(array, np.float64).ravel()
    return " ".join(f"{value:.{digits}g}" for value in flat[:6]) + (f" ... {flat.size} in all" if flat.size > 6 else "")


def describe(answer):
    """The answer in words, short."""
    told = []
    for kind, value in answer:
        if kind == "text":
            told.append(" | ".join(value[:2]) + (f" | ... {len(value)} in all" if len(value) > 2 else ""))
        elif kind in ("class", "count"):
            flat = np.asarray(value).ravel()
            told.append(f"{kind} " + " ".join(map(str, flat[:8])) + (f" ... {flat.size} in all" if flat.size > 8 else ""))
        elif kind == "number":
            told.append(_few(value[0]))
        elif kind == "vector":
            told.append(f"{len(value)} rows of {value.shape[1]}, the first {_few(value[0][:3])}")
        elif kind == "mask":
            told.append(f"{value.mean():.1%} of the mask")
        else:
            told.append(f"{len(value[0])} boxes, best {_few(value[1][:1])} at {_few(value[0][0]) if len(value[0]) else '-'}")
    return "; ".join(told)
