"""Speech and music as samples, and the spectra that models take: speech by espeak-ng where it is installed, else vowels and hisses in turn."""
import functools
import io
import shutil
import subprocess
import wave

import numpy as np

from trained import words

RATE = 16000


@functools.cache
def spoken():
    """espeak-ng's samples of the sentences at 16 kHz; None without the program."""
    if not shutil.which("espeak-ng"):
        return None
    ran = subprocess.run(["espeak-ng", "--stdout", "-s", "150", " ".join(words.SENTENCES)], capture_output=True, check=True)
    with wave.open(io.BytesIO(ran.stdout)) as file:
        rate, data = file.getframerate(), file.readframes(file.getnframes())
    samples = np.frombuffer(data, np.int16).astype(np.float32) / 32768
    return np.interp(np.arange(0, len(samples), rate / RATE), np.arange(len(samples)), samples).astype(np.float32)


def resonate(signal, frequency, width, rate):
    """A formant: y[t] = x[t] + 2 r cos(w) y[t-1] - r² y[t-2], as a product of spectra."""
    radius, angle = np.exp(-np.pi * width / rate), 2 * np.pi * frequency / rate
    z = np.exp(-2j * np.pi * np.fft.rfftfreq(len(signal)))
    return np.fft.irfft(np.fft.rfft(signal) / (1 - 2 * radius * np.cos(angle) * z + radius * radius * z * z), len(signal))


@functools.cache
def voiced(seconds, rate=RATE):
    """Syllables of a second's fifth: pulses of a gliding pitch through the formants of five vowels, a hiss before each, pauses between words."""
    random, length = np.random.default_rng(5), rate // 5
    vowels = ((730, 1090, 2440), (530, 1840, 2480), (390, 1990, 2550), (570, 840, 2410), (300, 870, 2240))
    parts = []
    for syllable in range(int(seconds * 5) + 1):
        if syllable % 7 == 6:
            parts.append(random.normal(0, 1e-3, length))
            continue
        pitch = 110 + 25 * np.sin(syllable) - np.linspace(0, 12, length)
        phase = np.cumsum(pitch) / rate
        pulses = np.diff(np.floor(phase), prepend=0) * (1 + 0.05 * random.normal(size=length))
        sound = sum(resonate(pulses, f * (1 + 0.03 * np.cos(syllable)), 60 + 30 * i, rate) / (1 + i) for i, f in enumerate(vowels[syllable % 5]))
        sound *= np.hanning(length) ** 0.5 / (np.abs(sound).max() + 1e-9)
        hiss = np.zeros(length)
        hiss[:length // 5] = random.normal(0, 0.08, length // 5) * np.hanning(length // 5)
        parts.append(0.4 * sound + hiss)
    return (np.concatenate(parts)[:int(seconds * rate)] + random.normal(0, 2e-4, int(seconds * rate))).astype(np.float32)


def speech(count, rate=RATE):
    """`count` samples at a rate."""
    made = spoken()
    if made is None:
        return voiced(-(-count // rate), rate)[:count]
    at = np.arange(count) * (RATE / rate) % len(made)
    return np.interp(at, np.arange(len(made)), made).astype(np.float32)


def melody(count, rate):
    """Notes of half a second with overtones, A3 to A4."""
    at = np.arange(count) / rate
    step = np.array([220.0, 246.94, 277.18, 293.66, 329.63, 369.99, 415.3, 440.0])[(at * 2).astype(int) % 8]
    return sum(np.sin(2 * np.pi * k * step * at) * 0.3 / k * np.exp(-2 * (at % 0.5)) for k in (1, 2, 3)).astype(np.float32)


def framed(signal, size, hop, count):
    """`count` frames, the signal repeated if it is too short."""
    need = size + hop * (count - 1)
    signal = np.tile(signal, -(-need // len(signal)))[:need]
    return np.lib.stride_tricks.sliding_window_view(signal, size)[::hop]


def power(signal, size, hop, count):
    """Power spectra, count x (size / 2 + 1)."""
    return np.abs(np.fft.rfft(framed(signal, size, hop, count) * np.hanning(size + 1)[:-1])) ** 2


def mel_filters(bins, bands, rate):
    """Slaney's triangles, bins x bands."""
    def hertz(mel):
        return np.where(mel < 15, 200 * mel / 3, 1000 * np.exp((mel - 15) * np.log(6.4) / 27))
    most = 15 + np.log(rate / 2 / 1000) * 27 / np.log(6.4)
    edges, at = hertz(np.linspace(0, most, bands + 2)), np.linspace(0, rate / 2, bins)[:, None]
    rise, fall = (at - edges[:-2]) / np.diff(edges)[:-1], (edges[2:] - at) / np.diff(edges)[1:]
    return np.maximum(0, np.minimum(rise, fall)) * 2 / (edges[2:] - edges[:-2])


def mel(signal, size, hop, bands, count, rate=RATE):
    spectra = power(signal, size, hop, count)
    return spectra @ mel_filters(spectra.shape[1], bands, rate)


def decibel_mel(signal, size, hop, bands, count, rate=RATE):
    """As librosa's power_to_db of the largest, shifted to about -1 to 1, which the MOS models take."""
    made = mel(signal, size, hop, bands, count, rate)
    decibels = 10 * np.log10(np.maximum(made, 1e-10) / made.max())
    return ((np.maximum(decibels, -80) + 40) / 40).astype(np.float32)


def whisper_mel(signal, bands, count):
    """As Whisper's feature extractor, of a normalized signal."""
    made = np.log10(np.maximum(mel((signal - signal.mean()) / (signal.std() + 1e-7), 400, 160, bands, count), 1e-10))
    return ((np.maximum(made, made.max() - 8) + 4) / 4).T.astype(np.float32)


def windows(count, size=512, context=64):
    """Speech in windows, each with the end of the one before in front, as Silero takes it: count x (context + size)."""
    signal = np.concatenate([np.zeros(context, np.float32), speech(count * size)])
    return framed(signal, size + context, size, count)[:count].astype(np.float32)
