"""Certificates with assumptions in B.onnx.cert beside B: whole, damaged, of other models, of other versions, or any bytes.

`prove` answers as it does without the file; or it says proved by a certificate that the checkers accept, and prints what that assumes, in words and in JSON.
No assumption of a rejected certificate is used anywhere, and no state outlives a check: the library is called again in the same process.
"""
import dataclasses
import functools
import json
import pathlib
import random
import unicodedata
from collections.abc import Callable, Iterator

import onnx
from onnx import helper

import programs
from attack import certificates
from attack.cases import ANSWERS, ByCommand, ByLibrary, Finding, by_turns
from attack.models import Model

SIZE = 4
# Definitions of an unknown operator: the text of an assumption, and nodes that compute it of x.
BODIES = {
    "x[i] + x[i]": "{y} = Add({x},{x})", "x[i] * x[i]": "{y} = Mul({x},{x})", "-x[i]": "{y} = Neg({x})", "relu(x[i])": "{y} = Relu({x})",
    "abs(x[i])": "{y} = Abs({x})", "exp(x[i])": "{y} = Exp({x})", "x[i]": "{y} = Identity({x})", "max(x[i], -x[i])": "{y} = Abs({x})",
}
# Around the operator, in both models.
AROUND = ("{0}", "h = Relu(x) {0}", "{0} y2 = Neg(v)", "h = Exp(x) {0} y2 = Tanh(v)")
OTHERS = ("acme::Other", "acme2::Secret", "com.acme::Secret", "acme::secret")
KNOWN = ("com.microsoft::Gelu", "ai.onnx::Relu", "ai.onnx.ml::Scaler")
NONE = "0" * 64


def text_of(operator: str, body: str) -> str:
    return f"operator {operator}(x: T[n]) -> (y: T[n]) {{\n  y[i] = {body}\n}}"


@dataclasses.dataclass
class Trial:
    """A with an unknown operator, B with its definition by the assumption."""
    a: onnx.ModelProto
    b: onnx.ModelProto
    steps: list[dict]
    assumption: str


def _imports(model: onnx.ModelProto) -> onnx.ModelProto:
    model.opset_import.append(helper.make_opsetid("acme", 1))
    return model


def drawn(draw: random.Random) -> Trial:
    body = draw.choice(list(BODIES))
    around = draw.choice(AROUND)
    given, made = "h" if "h =" in around else "x", "v" if "y2" in around else "y"
    end = "y2" if "y2" in around else "y"
    models = []
    for node in (f"{made} = Abs({given})", BODIES[body].format(x=given, y=made)):
        graph = f"(float[{SIZE}] x) => (float[{SIZE}] {end}) {{ {around.format(node)} }}"
        models.append(_imports(Model(graph).proto()))
    secret = next(n for n in models[0].graph.node if made in n.output)
    secret.op_type, secret.domain = "Secret", "acme"
    models[0].graph.value_info.append(helper.make_tensor_value_info(made, onnx.TensorProto.FLOAT, [SIZE]))
    by = _imports(Model(f"(float[{SIZE}] {given}) => (q) {{ {BODIES[body].format(x=given, y='q')} }}").proto())
    assumption = text_of("acme::Secret", body)
    return Trial(*models, [{"assume": assumption}, {"replace": [made], "from": [given], "by": certificates.encoded(by)}], assumption)


def plain(draw: random.Random, is_equal: bool) -> Trial:
    """Models without such an operator; no certificate covers them."""
    trial = drawn(draw)
    bodies = "t = Neg(x) y = Neg(t)", "y = Identity(x)" if is_equal else "y = Neg(x)"
    a, b = (_imports(Model(f"(float[{SIZE}] x) => (float[{SIZE}] y) {{ {body} }}").proto()) for body in bodies)
    return Trial(a, b, trial.steps, trial.assumption)


def lines(head: dict, steps: list[dict]) -> bytes:
    return "".join(json.dumps(line) + "\n" for line in (head, *steps)).encode()


# ---- what is done to a certificate: a function of its head and steps gives the bytes of the file -----------------------

def as_it_is(head: dict, steps: list[dict], draw: random.Random) -> bytes:
    return lines(head, steps)


def of_another_result(head: dict, steps: list[dict], draw: random.Random) -> bytes:
    return lines(head | {"out": NONE}, steps)


def of_another_original(head: dict, steps: list[dict], draw: random.Random) -> bytes:
    return lines(head | {"in": NONE}, steps)


def digests_exchanged(head: dict, steps: list[dict], draw: random.Random) -> bytes:
    return lines(head | {"in": head["out"], "out": head["in"]}, steps)


def of_another_version(head: dict, steps: list[dict], draw: random.Random) -> bytes:
    return lines(head | {"isomer_certificate": draw.choice((0, 1, 3, 5, 99, -4, "4", 4.5))}, steps)


def assumption_alone(head: dict, steps: list[dict], draw: random.Random) -> bytes:
    return lines(head, steps[:1])


def step_alone(head: dict, steps: list[dict], draw: random.Random) -> bytes:
    return lines(head, steps[1:])


def step_first(head: dict, steps: list[dict], draw: random.Random) -> bytes:
    return lines(head, steps[::-1])


def false_step(head: dict, steps: list[dict], draw: random.Random) -> bytes:
    by = _imports(Model(f"(float[{SIZE}] {steps[-1]['from'][0]}) => (q) {{ q = Softmax({steps[-1]['from'][0]}) }}").proto())
    return lines(head, [*steps[:-1], steps[-1] | {"by": certificates.encoded(by)}])


def other_assumption(head: dict, steps: list[dict], draw: random.Random) -> bytes:
    return lines(head, [{"assume": text_of(draw.choice((*OTHERS, *KNOWN)), draw.choice(list(BODIES)))}, *steps[1:]])


def two_assumptions(head: dict, steps: list[dict], draw: random.Random) -> bytes:
    return lines(head, [{"assume": text_of("acme::Secret", draw.choice(list(BODIES)))}, *steps])


def broken_behind(head: dict, steps: list[dict], draw: random.Random) -> bytes:
    return lines(head, steps[:1]) + draw.choice((b'{"replace": [\n', b"}\n", b"\xff\xfe\n", b'{"unknown": 1}\n', b"null\n", b"[]\n", b'{"assume": 5}\n'))


def cut(head: dict, steps: list[dict], draw: random.Random) -> bytes:
    whole = lines(head, steps)
    return whole[:draw.randrange(len(whole))]


def one_byte(head: dict, steps: list[dict], draw: random.Random) -> bytes:
    whole = bytearray(lines(head, steps))
    whole[draw.randrange(len(whole))] = draw.randrange(256)
    return bytes(whole)


def noise(head: dict, steps: list[dict], draw: random.Random) -> bytes:
    return draw.choice((b"", b"\n", b"{}", bytes(range(256)), draw.randbytes(draw.choice((1, 100, 5000))), b"{" * 5000, b"\0" * 64))


def compared(head: dict, steps: list[dict], draw: random.Random) -> bytes:
    return lines(head, [steps[0], {"compare": "values"}])


def twice(head: dict, steps: list[dict], draw: random.Random) -> bytes:
    return lines(head, steps) * 2


def with_escapes(head: dict, steps: list[dict], draw: random.Random) -> bytes:
    end = draw.choice(("\n# \x1b[5A\x1b[0J", "\n# \r", "\n# \x9b5A\x9b0J", "\n# \x1b]0;proved\x07", "\n# \x08\x08"))
    return lines(head, [{"assume": steps[0]["assume"] + end}, *steps[1:]])


DAMAGES: tuple[Callable[[dict, list[dict], random.Random], bytes], ...] = (
    as_it_is, of_another_result, of_another_original, digests_exchanged, of_another_version, assumption_alone, step_alone, step_first, false_step,
    other_assumption, two_assumptions, broken_behind, cut, one_byte, noise, compared, twice, with_escapes)


def raw_controls(text: str) -> list[str]:
    return sorted({c for c in text if unicodedata.category(c) == "Cc" and c not in "\n\t"})


@functools.cache
def library() -> ByLibrary | None:
    """One process for each caller; None: it is not built here."""
    return ByLibrary() if pathlib.Path(programs.program("isomer")).with_name("libisomer.so").exists() else None


@dataclasses.dataclass(frozen=True)
class Beside:
    """One file beside B, made when it is its turn."""
    name: str
    seed: str
    damage: Callable

    def ask(self, folder: pathlib.Path, seconds: int) -> Finding:
        draw = random.Random(self.seed)
        trial = draw.choice((drawn, drawn, drawn, lambda d: plain(d, True), lambda d: plain(d, False)))(draw)
        a, b = folder / "a" / "model.onnx", folder / "b" / "model.onnx"
        for path, model in ((a, trial.a), (b, trial.b)):
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(model.SerializeToString())
        without = ByCommand().prove(a, b, seconds)
        if without.value is None:
            return Finding("failed", crash=f"prove without a certificate: {without.why}")
        head = certificates.head(a) | {"out": certificates.head(b)["in"]}
        beside = b.with_name("model.onnx.cert")
        beside.write_bytes(self.damage(head, trial.steps, draw))
        checked = {who: programs.run([*command, a, b, beside], timeout=60) for who, command in
                   (("isomer-check", [programs.program("isomer-check")]), ("isomer check", [programs.program("isomer"), "check"]))}
        if crash := next((f"{who} ends with {done.code}" for who, done in checked.items() if done.code not in (0, 1, 2, 3)), None):
            return Finding("failed", crash=crash)
        if len({done.code for done in checked.values()}) > 1:
            return Finding("failed", false=f"the checkers disagree: {[(who, done.code) for who, done in checked.items()]}")
        false = self._falsehood(a, b, trial, without.value, checked, seconds) or self._remembered(a, b, beside, without.value, seconds)
        return Finding(without.value["verdict"], false=false)

    def _falsehood(self, a, b, trial, without, checked, seconds) -> str | None:
        """What is wrong with the answers that `prove` gives with the file there."""
        accepted = all(done.code == 0 for done in checked.values())
        if odd := {who: raw_controls(done.stdout + done.stderr) for who, done in checked.items() if raw_controls(done.stdout + done.stderr)}:
            return f"raw control characters are printed: {odd}"
        if accepted and not all("acme::Secret" in done.stdout + done.stderr for done in checked.values()) and without["verdict"] != "proved":
            return "a checker accepts and does not print what is assumed"
        answer = ByCommand().prove(a, b, seconds)
        if answer.value is None:
            return f"prove with it does not answer: {answer.why}"
        words = programs.run([programs.program("isomer"), "prove", a, b, "--budget", f"{seconds}s"], timeout=seconds + 60)
        if raw_controls(words.stdout + words.stderr):
            return f"prove prints raw control characters: {raw_controls(words.stdout + words.stderr)}"
        verdict = answer.value["verdict"]
        if verdict not in ANSWERS:
            return f"prove with it: {verdict}"
        if verdict == without["verdict"] and (verdict != "proved" or not answer.value["by_certificate"]):
            return None
        if not accepted:
            return f"prove says {verdict} with a certificate that is rejected, and {without['verdict']} without"
        if verdict != "proved":
            return f"prove says {verdict} with an accepted certificate, and {without['verdict']} without"
        for said in (json.dumps(answer.value), words.stdout + words.stderr):
            if "acme::Secret" not in said or "assum" not in said.lower():
                return "proved by a certificate, and the answer does not tell the assumption"
        return None

    def _remembered(self, a, b, beside, without, seconds) -> str | None:
        """The library: a check, then a proof without the file, in one process."""
        asked = library()
        if asked is None:
            return None
        asked.check(a, b, beside, seconds)
        kept = beside.read_bytes()
        beside.unlink()
        answer = asked.prove(a, b, seconds)
        beside.write_bytes(kept)
        if answer.value is None or answer.value["verdict"] != without["verdict"]:
            return f"after a check in the same process prove says {answer.value['verdict'] if answer.value else answer.why}, before {without['verdict']}"
        return None


def cases(draw: random.Random) -> Iterator[Beside]:
    """Without an end."""
    for kind, seed in by_turns(draw, DAMAGES):
        yield Beside(f"{kind.__name__} {seed}", seed, kind)
