#!/usr/bin/env python3
"""Edits of certificates and of OUT: `isomer check` may accept one only if ONNX Runtime agrees that OUT still equals IN.

  tests/certificate_mutants.py [--edits 300] [--seed 1]      (10000 for the long form)
A few small models are optimized without measuring. Each edit changes one of: an attribute, the wiring, a weight's element, a node or
an output of OUT; the site, the program (a number, a name, an operator, a constant of its own that is named as one of the model's),
the fold list of a step; the order or number of steps; a byte, a character or a field of the text. Edits of what is checked twice
over (a note) may pass. Prints accepted and rejected by kind, with the most frequent reasons.
"""
import argparse
import collections
import json
import pathlib
import random
import re
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import programs

TOLERANCE = 1e-4


def small_models():
    """Pairs of a name and a model whose redundancy is found."""
    draw = np.random.default_rng(7)

    def weight(name, *shape):
        return numpy_helper.from_array(draw.normal(size=shape).astype(np.float32), name)

    def model(nodes, shape, out, constants):
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, out)], constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)

    n = helper.make_node
    yield "branches", model(
        [n("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]), n("Conv", ["x", "v", "b"], ["c"]), n("Add", ["a", "c"], ["d"]),
         n("Add", ["d", "x"], ["e"]), n("Relu", ["e"], ["f"]), n("Conv", ["f", "w"], ["y"], pads=[1, 1, 1, 1])],
        ["N", 4, 6, 6], ["N", 4, 6, 6], [weight("w", 4, 4, 3, 3), weight("v", 4, 4, 1, 1), weight("b", 4)])
    yield "low rank", model(
        [n("MatMul", ["x", "w"], ["a"]), n("MatMul", ["x", "p"], ["c"]), n("MatMul", ["c", "q"], ["d"]), n("Add", ["a", "d"], ["e"]),
         n("Relu", ["e"], ["f"]), n("MatMul", ["f", "q2"], ["y"])],
        ["N", 5, 8], ["N", 5, 6], [weight("w", 8, 6), weight("p", 8, 2), weight("q", 2, 6), weight("q2", 6, 6)])
    yield "twice", model(
        [n("Conv", ["x", "w"], ["a"]), n("Conv", ["x", "v"], ["b"]), n("Add", ["a", "b"], ["c"]), n("Relu", ["c"], ["d"]),
         n("Conv", ["d", "v"], ["e"]), n("Conv", ["d", "w"], ["f"]), n("Add", ["e", "f"], ["y"])],
        [1, 3, 9], [1, 3, 9], [weight("w", 3, 3, 1), weight("v", 3, 3, 1)])


class Case:
    def __init__(self, name, model, folder):
        self.name, self.folder = name, folder
        self.source = folder / f"{name.replace(' ', '_')}.onnx"
        onnx.save(model, self.source)
        out = self.source.with_suffix(".out.onnx")
        ran = programs.run([programs.program("isomer"), "optimize", str(self.source), "-o", str(out), "--judge", "any", "--json",
                            "--quiet"])
        if ran.code != 0 or json.loads(ran.stdout)["result"] != "improved":
            sys.exit(f"{name} is not improved: {ran.stdout}{ran.stderr}")
        self.out, self.lines = onnx.load(out), pathlib.Path(str(out) + ".cert").read_text().splitlines()
        self.steps = [k for k, line in enumerate(self.lines) if '"note"' not in line and k > 0]
        self.constants = {i.name: i for i in model.graph.initializer}
        shape = [d.dim_value or 2 for d in model.graph.input[0].type.tensor_type.shape.dim]
        self.feed = np.random.default_rng(3).normal(size=shape).astype(np.float32)
        self.right = outputs_of(model, self.feed)
        self.names = [o for node in model.graph.node for o in node.output] + list(self.constants) + ["x"]


def outputs_of(model, feed):
    import onnxruntime
    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": feed})[0]


# ---- edits: each takes (draw, case, model, lines), changes the two in place, and returns whether it did anything ------------------

def attribute(draw, case, model, lines):
    nodes = [n for n in model.graph.node if n.attribute]
    if not nodes:
        return False
    chosen = draw.choice(draw.choice(nodes).attribute)
    if chosen.ints:
        chosen.ints[draw.randrange(len(chosen.ints))] += draw.choice((-1, 1, 2))
    else:
        chosen.i += draw.choice((-1, 1))
    return True


def wiring(draw, case, model, lines):
    node = draw.choice(model.graph.node)
    names = [o for n in model.graph.node for o in n.output] + [i.name for i in model.graph.initializer] + ["x", ""]
    node.input[draw.randrange(len(node.input))] = draw.choice(names)
    return True


def weight_element(draw, case, model, lines):
    tensor = draw.choice(model.graph.initializer)
    array = numpy_helper.to_array(tensor).copy()
    at = draw.randrange(array.size)
    array.flat[at] = np.nextafter(array.flat[at], 9) if draw.random() < 0.3 else array.flat[at] + draw.choice((0.5, -1, 1e-3))
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    return True


def node_of_out(draw, case, model, lines):
    nodes, k = model.graph.node, draw.randrange(len(model.graph.node))
    kind = draw.randrange(3)
    if kind == 0:
        nodes[k].op_type = draw.choice(("Relu", "Sigmoid", "Neg", "Abs", "Conv", "MatMul", "Sub"))
    elif kind == 1:
        old = nodes[k].output[0]
        nodes[k].output[0] = "hidden"
        nodes.insert(k + 1, helper.make_node(draw.choice(("Neg", "Identity", "Abs")), ["hidden"], [old]))
    else:
        nodes[k].domain = draw.choice(("com.example", "ai.onnx", "ai.onnx.ml"))
    return True


def interface(draw, case, model, lines):
    kind = draw.randrange(3)
    if kind == 0:
        model.graph.output[0].name = draw.choice([o for n in model.graph.node for o in n.output])
    elif kind == 1:
        model.opset_import[0].version = draw.choice((11, 13, 17, 19, 21))
    else:
        tensor = draw.choice(model.graph.initializer)  # an initializer that a user may override
        model.graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
    return True


def edit_step(draw, case, lines, change, which):
    numbers = [k for k in case.steps if which in json.loads(lines[k])]
    if not numbers:
        return False
    k = draw.choice(numbers)
    step = json.loads(lines[k])
    if change(step) is False:
        return False
    lines[k] = json.dumps(step)
    return True


def site(draw, case, model, lines):
    def change(step):
        names = step[draw.choice(("replace", "from"))]
        kind = draw.randrange(3)
        if kind == 0:
            names[0] = draw.choice(case.names)
        elif kind == 1:
            names.append(draw.choice(case.names))
        else:
            names.clear()
    return edit_step(draw, case, lines, change, "by")


def number_of_program(draw, case, model, lines):
    def change(step):
        found = list(re.finditer(r"(?<![\w.])-?\d+", step["by"]))
        at = draw.choice(found)
        step["by"] = step["by"][:at.start()] + str(int(at.group()) + draw.choice((-1, 1, 2))) + step["by"][at.end():]
    return edit_step(draw, case, lines, change, "by")


def word_of_program(draw, case, model, lines):
    def change(step):
        found = list(re.finditer(r"[A-Za-z_][\w.]*", step["by"]))
        at, other = draw.choice(found), draw.choice(found + [None])
        word = other.group() if other else draw.choice(case.names)
        step["by"] = step["by"][:at.start()] + word + step["by"][at.end():]
    return edit_step(draw, case, lines, change, "by")


def own_constant(draw, case, model, lines):
    """A step that is true with a constant of its own, which has the name of another one of the model."""
    pairs = [(a, b) for a in case.constants for b in case.constants if a != b and case.constants[a].dims == case.constants[b].dims]
    readers = [n for n in model.graph.node if any(a in n.input for a, _ in pairs)]
    if not readers:
        return False
    node = draw.choice(readers)
    a, b = draw.choice([p for p in pairs if p[0] in node.input])
    values = ", ".join(repr(float(v)) for v in numpy_helper.to_array(case.constants[a]).flat)
    shape = ",".join(str(d) for d in case.constants[a].dims)
    program = helper.make_node(node.op_type, [b if i == a else i for i in node.input], ["own"])
    attributes = ", ".join(f"{k.name}=[{', '.join(map(str, k.ints))}]" for k in node.attribute if k.ints)
    body = f"own = {node.op_type}{'<' + attributes + '>' if attributes else ''}({', '.join(program.input)})"
    others = [i for i in program.input if i != b]
    text = (f'<ir_version: 8, opset_import: ["" : 18]>\nagraph ({", ".join("float[] " + i for i in others)}) => (float[] own) '
            f"<float[{shape}] {b} = {{{values}}}> {{{body}}}")
    lines.append(json.dumps({"replace": [node.output[0]], "from": [i for i in others if i not in case.constants], "by": text}))
    node.input[list(node.input).index(a)] = b
    if b not in [i.name for i in model.graph.initializer]:
        model.graph.initializer.append(case.constants[b])
    return True


def fold_list(draw, case, model, lines):
    def change(step):
        kind = draw.randrange(3)
        if kind == 0 and step["fold"]:
            step["fold"].pop(draw.randrange(len(step["fold"])))
        elif kind == 1:
            step["fold"].append(draw.choice(case.names + step["fold"]))
        else:
            step["fold"].reverse()
    return edit_step(draw, case, lines, change, "fold")


def steps(draw, case, model, lines):
    kind, k = draw.randrange(4), draw.choice(case.steps)
    if kind == 0:
        lines.pop(k)
    elif kind == 1:
        lines.insert(k, lines[k])
    elif kind == 2:
        other = draw.choice(case.steps)
        lines[k], lines[other] = lines[other], lines[k]
    else:
        del lines[k:]
    return True


def garbage(draw, case, model, lines):
    k = draw.randrange(len(lines))
    kind, at = draw.randrange(4), draw.randrange(len(lines[k]))
    if kind == 0:
        lines[k] = lines[k][:at] + chr(draw.randrange(32, 127)) + lines[k][at + 1:]
    elif kind == 1:
        lines[k] = lines[k][:at]
    elif kind == 2:
        lines.insert(k, draw.choice(('{"trust": true}', "[]", "{", '{"fold": []}', '{"fold": null}', '{"note": 3}', "\x00", "")))
    else:
        lines[k] = lines[k].replace('"', "'", 1)
    return True


EDITS = (attribute, wiring, weight_element, node_of_out, interface, site, number_of_program, word_of_program, own_constant, fold_list,
         steps, garbage)


def judge(number, seed, cases):
    """(kind, verdict, reason)"""
    draw = random.Random(seed * 1000003 + number)
    while True:
        case, edit = draw.choice(cases), EDITS[number % len(EDITS)]
        model = onnx.ModelProto()
        model.CopyFrom(case.out)
        lines = list(case.lines)
        if edit(draw, case, model, lines) and (model != case.out or lines != case.lines):
            break
    out, certificate = case.folder / f"{number}.onnx", case.folder / f"{number}.cert"
    out.write_bytes(model.SerializeToString())
    certificate.write_text("\n".join(lines) + "\n")
    ran = programs.run([programs.program("isomer"), "check", str(case.source), str(out), str(certificate), "--json"], 60)
    reason = ran.stderr.strip().split(".onnx: ")[-1]
    if ran.code in (0, 1):
        reason = json.loads(ran.stdout)["reason"].split(".cert: ")[-1]
    if ran.code not in (0, 1, 2):
        return edit.__name__, "WRONG", f"{case.name}: exit {ran.code} {reason}"
    if ran.code != 0:
        out.unlink()
        return edit.__name__, "rejected", re.sub(r"\S*\d\S*", "#", reason)[:70]
    try:
        got = outputs_of(model, case.feed)
        same = got.shape == case.right.shape and np.abs(got - case.right).max() <= TOLERANCE * np.abs(case.right).max()
    except Exception as error:  # what was accepted must run
        return edit.__name__, "WRONG", f"{case.name}, edit {number}: accepted, and does not run: {error}"
    return edit.__name__, "accepted" if same else "WRONG", f"{case.name}, edit {number}: accepted"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edits", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="isomer_mutants_") as folder:
        cases = [Case(name, model, pathlib.Path(folder)) for name, model in small_models()]
        with ThreadPoolExecutor(2) as pool:
            results = list(pool.map(lambda number: judge(number, arguments.seed, cases), range(arguments.edits)))
    count = collections.Counter((kind, verdict) for kind, verdict, _ in results)
    rows = []
    for edit in EDITS:
        kind = edit.__name__
        reasons = collections.Counter(reason for k, verdict, reason in results if k == kind and verdict == "rejected")
        rows.append((kind, count[kind, "accepted"], count[kind, "rejected"], count[kind, "WRONG"],
                     "; ".join(f"{n}x {reason}" for reason, n in reasons.most_common(2))))
    programs.print_table(("edit of", "accepted", "rejected", "wrong", "mostly because"), rows)
    wrong = [reason for _, verdict, reason in results if verdict == "WRONG"]
    print("\n".join(wrong))
    accepted = sum(verdict == "accepted" for _, verdict, _ in results)
    print(f"{len(results)} edits, seed {arguments.seed}: {len(results) - accepted - len(wrong)} rejected, {accepted} accepted and "
          f"equal on ONNX Runtime, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
