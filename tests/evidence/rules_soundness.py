#!/usr/bin/env python3
# ci: --shapes 2 --false 30 --check | timeout=900
"""Rules against ONNX Runtime, which has no formulas.

  tests/evidence/rules_soundness.py [FILE] [--shapes 20] [--false 300] [--seed 1] [--check]
FILE is rules/generated.rules unless given. Short forms are for CI; tools/nightly has the long one.

- Each rule: both sides run at random shapes and inputs, and compared.
- Each precondition: sizes that violate it and at which the sides differ (or one of them does not run); without such sizes it is not needed.
- False rules: one number, operator or operand of a right side changed at random, so that the runtime's outputs differ. `isomer rules prove`
  must call none of them proved; where it names a precondition, the sides must agree at sizes that satisfy it.
--check: exit 1 if a rule differs, a false one is proved, or a precondition is not needed.
"""
import argparse
import collections
import itertools
import json
import pathlib
import random
import re
import sys
import tempfile

import numpy as np
import onnx.parser
import onnxruntime

import _paths  # noqa: F401
import programs

ROOT = pathlib.Path(__file__).resolve().parents[2]
NEAR, FAR = 1e-4, 1e-2  # of the largest number: rounding; a difference that is none
MOST_SIZE = 6
TRIES = 12  # draws of sizes for one that runs


class Rule:
    """A rule's text (docs/reference/rules.md), as far as packs write it."""

    def __init__(self, text):
        self.text = text
        code = re.sub(r"#.*", "", text)
        self.name = re.search(r"^rule (\w+)", code, re.M)[1]
        self.choices = [self._choices(m[1], m[2]) for m in re.finditer(r"^for ([^=\n]*)=(.*)$", code, re.M)]
        self.requires = [c.strip() for m in re.finditer(r"^require (.*)$", code, re.M) for c in m[1].split(",")]
        self.given = re.search(r"^given (.*)$", code, re.M)[1]
        self.left, self.right = (re.search(rf"^{side} +(\{{.*?\}}) *=> *(.*)$", code, re.M | re.S)[0] for side in ("left", "right"))
        self.right = self.right.split("\n\n")[0].strip()
        self.left = self.left[:self.left.index("\nright")].strip() if "\nright" in self.left else self.left.strip()

    @staticmethod
    def _choices(names, values):
        names = [n.strip() for n in names.split(",")]
        out = [[]]
        for quoted, word, comma in re.findall(r'"([^"]*)"|([^\s,"]+)|(,)', values):
            if comma:
                out.append([])
            else:
                out[-1].append(quoted or word)
        return [dict(zip(names, choice)) for choice in out]

    def instances(self):
        for combination in itertools.product(*self.choices):
            values = {k: v for choice in combination for k, v in choice.items()}
            yield Instance(self, values)


def filled(text, values):
    return re.sub(r"\$(\w+)", lambda m: values[m[1]], text)


class Instance:
    """One choice of a rule's enumerated values: two programs that take any sizes."""

    def __init__(self, rule, values):
        self.rule = rule
        self.inputs = re.findall(r"float\[([^\]]*)\] (\w+)", filled(rule.given, values))
        self.extents = [[e.strip() for e in shape.split(",")] for shape, _ in self.inputs]
        self.names = sorted(set(re.findall(r"[A-Za-z_]\w*", " ".join(shape for shape, _ in self.inputs))))
        self.requires = [filled(c, values) for c in rule.requires]
        self.left, self.right = (self._session(filled(side, values)) for side in (rule.left, rule.right))

    def _session(self, side):
        body, outputs = re.match(r"\w+ +(\{.*\}) *=> *(.*)", side, re.S).groups()
        inputs = ", ".join(f"float[{', '.join(f'd{i}_{k}' for k in range(len(e)))}] {name}"
                           for i, (e, (_, name)) in enumerate(zip(self.extents, self.inputs)))
        outputs = ", ".join(f"float[u] {o.strip()}" for o in outputs.split(","))
        # The parser wants a node where ours allows none.
        model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> side ({inputs}) => ({outputs}) {body}')
        for output in model.graph.output:
            output.type.tensor_type.ClearField("shape")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])

    def sizes(self, chance, requires):
        """Random sizes that satisfy conditions; None: these tries found none."""
        sizes = {n: chance.randint(1, MOST_SIZE) for n in self.names}
        for condition in requires:
            if m := re.fullmatch(r"(\w+) = (\w+)", condition):
                if m[1] in sizes:
                    sizes[m[1]] = eval(m[2], {}, sizes)
                elif m[2] in sizes:
                    sizes[m[2]] = eval(m[1], {}, sizes)
        return sizes if all(satisfied(c, sizes) for c in requires) else None

    def run(self, sizes, chance):
        """How far apart the sides are, of the largest number; None: one of them does not run."""
        shapes = [[eval(e, {}, sizes) for e in extents] for extents in self.extents]
        if any(e < 1 for shape in shapes for e in shape):
            return None
        draw = np.random.default_rng(chance.getrandbits(32))
        feeds = {name: draw.uniform(-2, 2, shape).astype(np.float32) for (_, name), shape in zip(self.inputs, shapes)}
        try:
            a, b = (side.run(None, {k: feeds[k] for k in (i.name for i in side.get_inputs())}) for side in (self.left, self.right))
        except Exception:  # whatever the runtime complains of
            return None
        if [x.shape for x in a] != [x.shape for x in b]:
            return float("inf")
        return max((float(np.abs(x - y).max() / max(1, np.abs(x).max(), np.abs(y).max())) for x, y in zip(a, b) if x.size), default=0.0)


def satisfied(condition, sizes):
    if m := re.fullmatch(r"(.*) is odd", condition):
        return eval(m[1], {}, sizes) % 2 == 1
    a, comparison, b = re.fullmatch(r"(.*?) (=|>=) (.*)", condition).groups()
    a, b = eval(a, {}, sizes), eval(b, {}, sizes)
    return a == b if comparison == "=" else a >= b


def worst(rule, shapes, chance, more=()):
    """The largest difference at random shapes, and how many were run. Instances take turns."""
    instances = list(rule.instances())
    far, done = 0.0, 0
    for k in range(TRIES * shapes):
        if done == shapes:
            break
        instance = instances[k % len(instances)]
        sizes = instance.sizes(chance, [*instance.requires, *more])
        difference = None if sizes is None else instance.run(sizes, chance)
        if difference is not None:
            far, done = max(far, difference), done + 1
    return far, done


def violation(rule, condition, chance):
    """Sizes that violate one precondition, satisfy the others, and distinguish the sides; None: none were found."""
    for instance in rule.instances():
        others = [c for c in instance.requires if c != condition]
        for _ in range(40):
            sizes = instance.sizes(chance, others)
            if sizes is None or satisfied(condition, sizes):
                continue
            difference = instance.run(sizes, chance)
            if difference is None or difference > FAR:
                return f"{sizes}: " + ("one side does not run" if difference is None else f"apart by {difference:.2g}")
    return None


# ---- false rules

SWAPS = {"Relu": "Tanh", "Tanh": "Sigmoid", "Sigmoid": "Relu", "Exp": "Relu", "Neg": "Relu", "Add": "Sub", "Sub": "Add", "Mul": "Add",
         "Max": "Add", "MaxPool": "AveragePool", "ReduceSum": "ReduceMean", "ReduceMean": "ReduceMax", "ReduceMax": "ReduceSum"}


def mutations(side, inputs):
    """Every text that differs from a side by one number, operator or operand."""
    for m in re.finditer(r"(?<![\w.])-?\d+(?![\w.])", side):
        for by in ({str(int(m[0]) + 1), str(max(int(m[0]) - 1, 0))} if len(m[0]) < 4 else {"2"}):
            yield side[:m.start()] + by + side[m.end():]
    for m in re.finditer(r"= (\w+)[<(]", side):
        if m[1] in SWAPS:
            yield side[:m.start(1)] + SWAPS[m[1]] + side[m.end(1):]
    for m in re.finditer(r"\((\w+), (\w+)\)", side):
        yield side[:m.start()] + f"({m[2]}, {m[1]})" + side[m.end():]
    for m in re.finditer(r"(?<=[(, ])([a-z]\d+)(?=[,)])", side):
        for by in inputs:
            if by != m[1]:
                yield side[:m.start()] + by + side[m.end():]


def false_rules(rules, count, chance):
    """Mutants that the runtime distinguishes from the left side, one of each rule at most; and how many it does not."""
    out, same, broken = [], 0, 0
    for rule in chance.sample(rules, len(rules)):
        if len(out) == count:
            break
        inputs = re.findall(r"\] (\w+)", rule.given)
        choices = list(mutations(rule.right, inputs))
        chance.shuffle(choices)
        for choice in choices[:4]:
            try:
                mutant = Rule(rule.text.replace(rule.right, choice).replace(f"rule {rule.name}", f"rule false_{len(out)}"))
                far, done = worst(mutant, 4, chance)
            except Exception:  # not even well formed
                broken += 1
                continue
            if done == 0:
                broken += 1
            elif far < FAR:
                same += 1
            else:
                out.append(mutant)
                break
    return out, same, broken


def decided(rules):
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / "false.rules"
        path.write_text("\n".join(re.sub(r"^#.*\n", "", r.text, flags=re.M) for r in rules))
        ran = programs.run([programs.program("isomer"), "rules", "prove", str(path), "--json"], timeout=3000)
    return {r["name"]: r for r in json.loads(ran.stdout)["rules"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=pathlib.Path, nargs="?", default=ROOT / "rules" / "generated.rules")
    parser.add_argument("--shapes", type=int, default=20)
    parser.add_argument("--false", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    listed = json.loads(programs.run([programs.program("isomer"), "rules", "list", str(arguments.file), "--json"], timeout=600).stdout)
    rules = [Rule(r["text"]) for r in listed["rules"]]
    faults = []

    shapes = 0
    largest = 0.0
    for rule in rules:
        far, done = worst(rule, arguments.shapes, chance)
        shapes, largest = shapes + done, max(largest, far)
        if far > NEAR:
            faults.append(f"{rule.name}: the sides are apart by {far:.2g}")
        if done == 0:
            faults.append(f"{rule.name}: runs at no sizes")
    print(f"{len(rules)} rules at {shapes} random shapes: {sum('apart' in f for f in faults)} differ, "
          f"{sum('no sizes' in f for f in faults)} do not run; largest difference {largest:.1e}")

    conditions = [(rule, c) for rule in rules for c in rule.requires]
    needed = 0
    for rule, condition in conditions:
        seen = violation(rule, condition, chance)
        needed += seen is not None
        print(f"  {rule.name} requires {condition}: {seen or 'NOT NEEDED as far as was seen'}")
        if seen is None:
            faults.append(f"{rule.name}: {condition} is not needed")
    print(f"{len(conditions)} preconditions, {needed} shown to be needed")

    mutants, same, broken = false_rules(rules, arguments.false, chance)
    verdicts = decided(mutants)
    counts = collections.Counter(v["verdict"] for v in verdicts.values())
    for mutant in mutants:
        verdict = verdicts[mutant.name]
        if verdict["verdict"] == "proved":
            faults.append(f"a false rule is proved:\n{mutant.text}")
        for conditions in verdict["requires"]:
            far, _ = worst(mutant, 4, chance, conditions)
            if far > NEAR:
                faults.append(f"a false rule is proved under {conditions}, and is false there, too:\n{mutant.text}")
    print(f"{len(mutants)} false rules ({same} changes change nothing, {broken} are not well formed): {len(mutants) - counts['proved']} refused: "
          + ", ".join(f"{n} {k}" for k, n in sorted(counts.items())))
    for fault in faults:
        print(fault)
    return 1 if arguments.check and (faults or len(mutants) < arguments.false) else 0


if __name__ == "__main__":
    sys.exit(main())
