#!/usr/bin/env python3
# ci: --check
"""A way that gets worse before it gets better, found with the generated rules alone (relaxed graph substitutions, MetaFlow 2019).

  tests/evidence/relaxed_path.py [--strategy backtrack:1.5] [--check]
Two convolutions of one value side by side, of 3x3 and 1x1 as in ResNet's and SqueezeNet's blocks, then of 5x5 and 1x1 as in Inception's. The 1x1 kernel is
enlarged, which costs more; then the two are one. For 3x3 the pack has both steps in one rule: it keeps a rule that follows from others only
by a temporary loss. To 5x5 there is no rule, but a way of two. Printed: each step of the certificate, with the analytic cost of the model after it.
--check: exit 1 unless both end below their start, certificates hold, and of 5x5 greedy finds nothing and the way goes above its start in between.
"""
import argparse
import json
import pathlib
import re
import sys
import tempfile

import numpy as np
import onnx.parser
from onnx import numpy_helper

import _paths  # noqa: F401
import programs

TEXT = """<ir_version: 8, opset_import: ["" : 17]> block (float[1, {c}, 5, 5] x) => (float[1, {d}, 5, 5] y) {{
  a = Conv<kernel_shape = [{k}, {k}], pads = [{p}, {p}, {p}, {p}]>(x, w, b)
  c = Conv<kernel_shape = [1, 1]>(x, p, q)
  s = Concat<axis = 1>(a, c)
  y = Relu(s)
}}"""


def model(kernel, channels):
    made = onnx.parser.parse_model(TEXT.format(c=channels, d=2 * channels, k=kernel, p=kernel // 2))
    draw = np.random.default_rng(1)
    shapes = {"w": (channels, channels, kernel, kernel), "b": (channels,), "p": (channels, channels, 1, 1), "q": (channels,)}
    made.graph.initializer.extend(numpy_helper.from_array(draw.normal(size=s).astype(np.float32), n) for n, s in shapes.items())
    return made


def optimize(source, out, *flags):
    ran = programs.run([programs.program("isomer"), "optimize", str(source), "-o", str(out), "--json", "--quiet", *flags])
    if ran.code != 0:
        sys.exit(f"{' '.join(flags)}: exit {ran.code}: {ran.stderr}")
    return json.loads(ran.stdout)


def spelled(name):
    """A name that ONNX's parser reads. A value that the certificate folds is computed here."""
    return re.sub(r"\W", "_", name.removesuffix("_folded"))


def with_step(made, told):
    """The model after one step of a certificate, as `isomer explain --steps` prints it."""
    out = onnx.ModelProto()
    out.CopyFrom(made)
    replaced = spelled(re.match(r"replace (\S+) ", told)[1])
    plain = re.sub(r'"([^"]*)"', lambda m: spelled(m[1]), told)
    for name, numbers in re.findall(r"int64\[\d+\] (\w+) = \{([-\d, ]*)\}", plain):
        out.graph.initializer.append(numpy_helper.from_array(np.array([int(n) for n in numbers.split(",")], np.int64), name))
    result = re.search(r"=> \((\w+)\)", plain)[1]
    kept = [n for n in made.graph.node if replaced not in n.output]
    added = [onnx.parser.parse_node(re.sub(r"^ *\[\w+\] *", "", line)) for line in plain.splitlines() if re.match(r" *\[\w+\] ", line)]
    for node in added:
        for k, name in enumerate(node.output):
            node.output[k] = replaced if name == result else name
    del out.graph.node[:]
    out.graph.node.extend(sorted_nodes(kept + added, out))
    return out


def sorted_nodes(nodes, made):
    """Each after its inputs; unused ones are left out."""
    known = {v.name for v in [*made.graph.input, *made.graph.initializer]} | {""}
    ordered, rest = [], list(nodes)
    while rest:
        ready = [n for n in rest if set(n.input) <= known]
        if not ready:
            sys.exit(f"nobody computes {set(rest[0].input) - known}")
        ordered += ready
        known |= {o for n in ready for o in n.output}
        rest = [n for n in rest if n not in ready]
    wanted = {o.name for o in made.graph.output}
    for node in reversed(ordered):
        if wanted & set(node.output):
            wanted |= set(node.input)
    return [n for n in ordered if wanted & set(n.output)]


def walk(made, strategy):
    """Whether greedy finds something, and the costs of each step of the way; exits if the certificate is rejected."""
    alone = ["--judge", "cost", "--only", "generated"]
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        source, out, between = folder / "in.onnx", folder / "out.onnx", folder / "between.onnx"
        onnx.save(made, source)
        greedy = optimize(source, out, *alone)
        report = optimize(source, out, *alone, "--strategy", strategy)
        isomer = programs.program("isomer")
        if programs.run([isomer, "check", str(source), str(out), f"{out}.cert"]).code != 0:
            sys.exit("the certificate is rejected")
        told = programs.run([isomer, "explain", f"{out}.cert", "--steps"]).stdout
        costs = [report["search"]["cost_before"]]
        print(f"{costs[0]:10.0f}  the start")
        for step, words in zip(re.findall(r"^replace .*?^\}", told, re.M | re.S), report["changes"]):
            made = with_step(made, step)
            onnx.save(made, between)
            costs.append(optimize(between, out, "--judge", "cost", "--only", "user")["search"]["cost_before"])
            print(f"{costs[-1]:10.0f}  {words}")
    print(f"greedy: {greedy['result']}; {strategy}: {report['search']['cost_before']:.0f} to {report['search']['cost_after']:.0f} in "
          f"{len(report['changes'])} steps, {report['search']['states']} states; certificate accepted")
    return greedy["result"] == "improved", costs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strategy", default="backtrack:1.5")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    print("3x3 and 1x1")
    _, short = walk(model(3, 8), options.strategy)
    print("5x5 and 1x1")
    is_found_at_once, costs = walk(model(5, 4), options.strategy)
    fine = short[-1] < short[0] and not is_found_at_once and costs[-1] < costs[0] < max(costs)
    return 1 if options.check and not fine else 0


if __name__ == "__main__":
    sys.exit(main())
