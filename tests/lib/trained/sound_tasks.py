"""Tasks of sound: is it speech, features, wake words, opinion scores, notes, pitch."""
import numpy as np

from trained import sounds
from trained.task import Task, first, only, read_features, read_probabilities

STEPS = 20  # windows of a stream: 0.6 s


def draw_stream(model, shapes):
    """Windows one after the other, with states that begin at zero. Rows of a batch are the same speech at other times."""
    count, size = shapes["input"]
    context = model.hints.get("context", 0)
    made = sounds.windows(STEPS + 4 * count, size - context, context)
    rates = {"sr": np.array(model.values["sr"], np.int64)} if "sr" in model.values else {}
    begin = {name: np.zeros(shape, np.float32) for name, shape in shapes.items() if name != "input"}
    return [{"input": made[[step + 4 * row for row in range(count)]], **begin, **rates} for step in range(STEPS)]


def read_stream(model, outputs, feeds):
    return [("number", (np.stack([next(iter(step.values())).ravel() for step in outputs]), 0.01))]


def draw_sequence(model, shapes):
    begin = {name: np.zeros(shape, np.float32) for name, shape in shapes.items() if name != "input"}
    return [{"input": sounds.windows(shapes["input"][0]), **begin}]


def draw_waves(model, shapes):
    count, length = shapes["waveforms"]
    made = sounds.speech(length + 800 * count)
    return [{"waveforms": np.stack([made[800 * row:800 * row + length] for row in range(count)]),
             "waveforms_lens": np.array([length - 160 * row for row in range(count)], np.int64)}]


def draw_samples(scale=1, rate=sounds.RATE, make=sounds.speech):
    """Samples [n, length] or [n, length, 1]; other inputs have values."""
    def draw(model, shapes):
        name, shape = only(shapes)
        made = np.tile(make(shape[1], rate) * np.float32(scale), (shape[0], 1)).reshape(shape)
        return [{name: made, **{other: np.array(value, np.float32) for other, value in model.values.items()}}]
    return draw


def draw_spectra(make):
    """`make(frames, bins)` for the last two axes of the input with frames; states are zeros, embeddings of raters drawn."""
    def draw(model, shapes):
        feeds = {}
        for place, (name, shape) in enumerate(shapes.items()):
            if place == 0:
                feeds[name] = np.ascontiguousarray(np.broadcast_to(make(*shape[-2:]), shape), np.float32)
            else:
                drawn = np.random.default_rng(7).normal(size=shape)
                feeds[name] = (drawn if name == "rater_embed" else np.zeros(shape)).astype(np.float32)
        return [feeds]
    return draw


def log_power(frames, bins):
    size = (bins - 1) * 2
    return np.log10(np.maximum(sounds.power(sounds.speech(sounds.RATE * 10), size, size // 2, frames), 1e-12))


def decibels(frames, bands):
    return sounds.decibel_mel(sounds.speech(sounds.RATE * 10), 512 if bands == 160 else 320, 256 if bands == 160 else 160, bands, frames)


def draw_embedded_speech(model, shapes):
    """What a wake word's network sees: slowly changing vectors, as the speech embedding makes them."""
    name, shape = only(shapes)
    steps = np.random.default_rng(11).normal(0, 4, shape)
    return [{name: (np.cumsum(steps, 1) / np.sqrt(1 + np.arange(shape[1]))[:, None]).astype(np.float32)}]


def draw_mel_patches(model, shapes):
    name, (count, frames, bands, _) = only(shapes)
    made = np.log10(np.maximum(sounds.mel(sounds.speech(sounds.RATE * 10), 512, 160, bands, frames + 8 * count), 1e-10)) + 2
    return [{name: np.stack([made[8 * row:8 * row + frames] for row in range(count)])[..., None].astype(np.float32)}]


def draw_whisper(model, shapes):
    name, (count, bands, frames) = only(shapes)
    made = [sounds.whisper_mel(sounds.speech(sounds.RATE * 8 + 4000 * row)[4000 * row:], bands, frames) for row in range(count)]
    return [{name: np.stack(made)}]


def read_scores(model, outputs, feeds):
    """Opinion scores from 1 to 5: a user sees two digits."""
    return [("number", (np.atleast_1d(first(outputs)), 0.01))]


def read_pitch(model, outputs, feeds):
    sure = outputs["confidence"] > 0.5
    return [("mask", sure), ("number", (np.where(sure, outputs["pitch"], 0), 1.0))]


def read_notes(model, outputs, feeds):
    return [("mask", value > 0.5) for value in outputs.values()]


TASKS = {
    "speech": Task(draw_stream, read_stream, {"stateN": "state"}),
    "speech, two states": Task(draw_stream, read_stream, {"hn": "h", "cn": "c"}),
    "speech, v3": Task(draw_stream, read_stream, {"hn": "h0", "cn": "c0"}),
    "speech, sequence": Task(draw_sequence, read_probabilities),
    "end of turn": Task(draw_whisper, read_probabilities),
    "front end": Task(draw_waves, read_features),
    "mel": Task(draw_samples(32768), read_features),
    "embed speech": Task(draw_mel_patches, read_features),
    "wake word": Task(draw_embedded_speech, read_probabilities),
    "opinion of samples": Task(draw_samples(), read_scores),
    "opinion of spectra": Task(draw_spectra(log_power), read_scores),
    "opinion of mels": Task(draw_spectra(decibels), read_scores),
    "denoise": Task(draw_spectra(log_power), read_features),
    "notes": Task(draw_samples(rate=22050, make=sounds.melody), read_notes),
    "pitch": Task(draw_samples(make=sounds.melody), read_pitch)}
