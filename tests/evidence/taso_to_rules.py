"""TASO's shipped substitutions (taso_rules.json: graph_subst.pb, decoded) as rules for `isomer rules prove`, with symbolic sizes.

  tests/evidence/taso_to_rules.py ../shared/data/taso_rules.json > tests/evidence/rules/taso.rules

Extents are unknowns; what makes both sides well formed is a system of linear equations (a Concat adds, a Split halves, a Conv's input has
g times its weight's channels), which is solved here once for every choice of group counts: 1, 2 and 4 for convolutions of the source, and
every count that then follows for those of the target. Extents that aren't the same in all of them become columns of a `for` line.
"""
import itertools
import json
import math
import pathlib
import sys

SOURCE_GROUPS = (1, 2, 4)
MOST_TARGET_GROUPS = 8  # more than two convolutions of 4 groups can add up to
NEED_ONE_GROUP = {98, 105, *range(125, 130)}
NEED_EQUAL_CHANNELS = {99, 100, 130, 131}


# ---- linear expressions over unknowns >= 1: {unknown: coefficient}, the constant under "" ----

def plus(a, b, factor=1):
    out = dict(a)
    for key, value in b.items():
        out[key] = out.get(key, 0) + factor * value
    return {key: value for key, value in out.items() if value}


def times(a, factor):
    return {key: factor * value for key, value in a.items()}


def put(a, unknown, value):
    rest = {key: c for key, c in a.items() if key != unknown}
    return plus(rest, value, a[unknown]) if unknown in a else a


class Solver:
    """Positive integer solutions of linear equations, as expressions over free unknowns."""

    def __init__(self, equations, values=None, fresh=0):
        self.equations, self.values, self.fresh = equations, values or {}, fresh

    def assign(self, unknown, value):
        equations = [put(e, unknown, value) for e in self.equations]
        values = {k: put(v, unknown, value) for k, v in self.values.items()} | {unknown: value}
        return Solver(equations, values, self.fresh + 1)

    def solutions(self):
        equations = [e for e in self.equations if e]
        if not equations:
            return [self.values]
        if any(min(e.values()) > 0 or max(e.values()) < 0 for e in equations):
            return []  # a sum of positive numbers is not 0
        divided = [{k: c // math.gcd(*e.values()) for k, c in e.items()} for e in equations]
        for e in divided:  # unknown = a sum without minus
            for unknown, c in e.items():
                rest = {k: -v // c for k, v in e.items() if k != unknown} if abs(c) == 1 else {}
                if unknown and rest and min(rest.values()) > 0:
                    return self.assign(unknown, rest).solutions()
        for e in divided:  # a x = b y
            if len(e) == 2 and "" not in e:
                (x, a), (y, b) = e.items()
                common = {f"t{self.fresh}": 1}
                return self.assign(x, times(common, abs(b))).assign(y, times(common, abs(a))).solutions()
        for e in divided:  # a x + b y = (a + b) z: x and y differ by a multiple, in one direction or the other
            if len(e) == 3 and "" not in e and sum(e.values()) == 0:
                (x, a), (y, b), (z, c) = sorted(e.items(), key=lambda item: abs(item[1]))
                return [solution for larger, smaller, factor in ((x, y, a), (y, x, b))
                        for solution in self.assign(larger, plus({smaller: 1}, {"difference": abs(c) // math.gcd(factor, c)})).solutions()]
        raise ValueError(f"not solved: {equations}")


# ---- shapes ----

def ranks_of(rule):
    rank, links = {}, []
    for side in ("source", "target"):
        name = lambda source: source[0] if source[0] < 0 else (side, source[0])
        for number, op in enumerate(rule[side]):
            tensors = [name(i) for i in op["in"]] + [(side, number)]
            fixed = {"Conv": 4, "MatMul": 2, "Concat": op.get("rank")}.get(op["op"])
            if fixed:
                rank.update({t: fixed for t in tensors})
            links.append(tensors)
    for _ in range(len(links)):
        for tensors in links:
            known = [rank[t] for t in tensors if t in rank]
            if known:
                rank.update({t: known[0] for t in tensors})
    return lambda i: rank.get(i, 4)  # elementwise only: as good as any


def shape_equations(rule, shapes, groups):
    """Equations that make both sides well formed; groups: {(side, op): count}."""
    equations, made = [], {}
    same = lambda a, b: equations.extend(plus(x, y, -1) for x, y in zip(a, b, strict=True))
    for side in ("source", "target"):
        for number, op in enumerate(rule[side]):
            ins = [shapes[i] if i < 0 else made[side, i][k] for i, k in op["in"]]
            out = ins[0]
            if op["op"] == "Conv":
                x, w = ins
                g = groups[side, number]
                assert op["stride"] == [1, 1] and op["pad"] == "same"
                equations.append(plus(x[1], w[1], -g))
                equations.append(plus(w[0], {f"per group {side} {number}": g}, -1))
                same(w[2:], [{"": k} for k in op["kernel"]])
                out = [x[0], w[0], x[2], x[3]]
            elif op["op"] == "MatMul":
                equations.append(plus(ins[0][1], ins[1][0], -1))
                out = [ins[0][0], ins[1][1]]
            elif op["op"] == "Concat":
                axis, total = op["axis"], {}
                for i in ins:
                    same([d for k, d in enumerate(i) if k != axis], [d for k, d in enumerate(ins[0]) if k != axis])
                    total = plus(total, i[axis])
                out = [total if k == axis else d for k, d in enumerate(ins[0])]
            elif op["op"] == "Split":
                half = {f"half {side} {number}": 1}
                equations.append(plus(ins[0][op["axis"]], half, -2))
                out = [half if k == op["axis"] else d for k, d in enumerate(ins[0])]
            elif op["op"] in ("Add", "Mul"):
                same(ins[0], ins[1])
            else:
                assert op["op"] == "Relu"
            made[side, number] = [out, out]
    for i, j, k, m in rule["outputs"]:
        same(made["source", i][k], made["target", j][m])
    return equations


def instances_of(rule):
    """[(groups by conv, extents by (input, axis))]"""
    rank = ranks_of(rule)
    convs = [(side, n) for side in ("source", "target") for n, op in enumerate(rule[side]) if op["op"] == "Conv"]
    inputs = sorted({i for side in ("source", "target") for op in rule[side] for i, _ in op["in"] if i < 0}, reverse=True)
    shapes = {i: [{f"{i} {axis}": 1} for axis in range(rank(i))] for i in inputs}
    found = []
    choices = [SOURCE_GROUPS if side == "source" else range(1, MOST_TARGET_GROUPS + 1) for side, _ in convs]
    for groups in itertools.product(*choices):
        for values in Solver(shape_equations(rule, shapes, dict(zip(convs, groups)))).solutions():
            extents = {}
            for i in inputs:
                for axis, extent in enumerate(shapes[i]):
                    (unknown,) = extent
                    extents[i, axis] = values.get(unknown, extent)
            found.append((dict(zip(convs, groups)), extents))
    assert found, "no shapes"
    return inputs, rank, convs, found


# ---- text ----

def letters_of(rule, inputs, rank):
    weights = {op["in"][1][0] for side in ("source", "target") for op in rule[side] if op["op"] == "Conv"}
    weights |= {i for side in ("source", "target") for op in rule[side] if op["op"] == "Conv" and op["in"][1][0] >= 0
                for i, _ in rule[side][op["in"][1][0]]["in"] if i < 0}
    return {(i, axis): ("OCHW" if i in weights else "NCHW")[axis] if rank(i) == 4 else "MK"[axis] for i in inputs for axis in range(rank(i))}


def rename(extents, letters):
    names, used = {}, {}
    for place in letters:
        for unknown in sorted(extents[place]):
            if unknown and unknown not in names:
                letter = "D" if unknown == "difference" else letters[place]
                used[letter] = used.get(letter, 0) + 1
                names[unknown] = letter + (str(used[letter]) if used[letter] > 1 else "")
    return {place: {names.get(k, k): v for k, v in e.items()} for place, e in extents.items()}


def spell(extent):
    words = [name if c == 1 else f"{c}*{name}" if name else str(c) for name, c in sorted(extent.items(), key=lambda item: (item[0] == "D", item[0]))]
    return " + ".join(words)


def columns_and_dims(rule, inputs, rank, convs, found):
    """Columns of `for` lines (name -> value in each instance) and the text of every extent."""
    letters = letters_of(rule, inputs, rank)
    renamed = [rename(extents, letters) for _, extents in found]
    columns, of_conv = {}, {}
    for conv in convs:
        counts = tuple(groups[conv] for groups, _ in found)
        for name, known in columns.items():
            if known == counts:
                of_conv[conv] = name
        if conv not in of_conv and len(set(counts)) > 1:
            name = f"g{len(columns) + 1}" if conv[0] == "source" else "g"
            of_conv[conv], columns[name] = name, counts
    if list(columns) == ["g1"]:
        columns, of_conv = {"g": columns["g1"]}, {conv: "g" for conv in of_conv}
    group_names = list(columns)
    group_text = {conv: f"${of_conv[conv]}" if conv in of_conv else str(found[0][0][conv]) for conv in convs}
    dims = {}
    for place in letters:
        values = [extents[place] for extents in renamed]
        attempts = [None, *group_names]
        for group in attempts:
            counts = columns[group] if group else (1,) * len(values)
            if all(c % g == 0 for e, g in zip(values, counts) for c in e.values()):
                quotients = [{k: c // g for k, c in e.items()} for e, g in zip(values, counts)]
                if all(q == quotients[0] for q in quotients):
                    dims[place] = (f"${group}*" if group else "") + (spell(quotients[0]) if not group or len(quotients[0]) == 1 else f"({spell(quotients[0])})")
                    break
        if place in dims:
            continue
        # Per group where these are a convolution's channels, else as it is.
        used = [of_conv[side, n] for side, n in of_conv if side == "source" and place in ((rule[side][n]["in"][0][0], 1), (rule[side][n]["in"][1][0], 0))]
        group = used[0] if used else None
        counts = columns[group] if group else (1,) * len(values)
        if not all(c % g == 0 for e, g in zip(values, counts) for c in e.values()):
            group, counts = None, (1,) * len(values)
        spelled = tuple(spell({k: c // g for k, c in e.items()}) for e, g in zip(values, counts))
        name = next((n for n, known in columns.items() if known == spelled), None)
        if name is None:
            letter = letters[place].lower()
            name = f"{letter}{1 + sum(n.startswith(letter) for n in columns)}"
            columns[name] = spelled
        dims[place] = (f"${group}*" if group else "") + f"${name}"
    return columns, dims, group_text


def for_lines(columns):
    if not columns:
        return []
    word = lambda value: f'"{value}"' if " " in str(value) else str(value)
    distinct = [list(dict.fromkeys(column)) for column in columns.values()]
    rows = list(dict.fromkeys(zip(*columns.values())))
    if len(rows) == math.prod(map(len, distinct)):
        return [f"for {name} = {', '.join(map(word, values))}" for name, values in zip(columns, distinct)]
    return [f"for {', '.join(columns)} = " + ",\n    ".join(" ".join(map(word, row)) for row in rows)]


def body(rule, side, group_text):
    lines, names = [], {}
    for number, op in enumerate(rule[side]):
        ins = ", ".join(f"x{-i}" if i < 0 else names[i, k] for i, k in op["in"])
        kind, made, relu = op["op"], f"v{number}", op.get("activation") == "relu"
        names[number, 0] = made
        if kind == "Conv":
            pads = ", ".join(str((k - 1) // 2) for k in op["kernel"] * 2)
            call = f"Conv<pads = [{pads}], group = {group_text[side, number]}>({ins})"
        elif kind == "Concat":
            call = f"Concat<axis = {op['axis']}>({ins})"
        elif kind == "Split":
            names[number, 0], names[number, 1] = made + "a", made + "b"
            made, call = f"{made}a, {made}b", f"Split<axis = {op['axis']}, num_outputs = 2>({ins})"
        else:
            call = f"{kind}({ins})"
        lines.append(f"{made}{'c' if relu else ''} = {call}")
        if relu:
            lines.append(f"{made} = Relu({made}c)")
    outputs = [names[(i, k) if side == "source" else (j, m)] for i, j, k, m in rule["outputs"]]
    word = {"source": "left ", "target": "right"}[side]
    return f"{word} {{ " + "\n        ".join(lines) + f" }} => {', '.join(outputs)}"


def text_of(number, rule):
    inputs, rank, convs, found = instances_of(rule)
    columns, dims, group_text = columns_and_dims(rule, inputs, rank, convs, found)
    given = ", ".join(f"float[{', '.join(dims[i, axis] for axis in range(rank(i)))}] x{-i}" for i in inputs)
    expected = "requires g = 1" if number in NEED_ONE_GROUP else "requires o1 = o2" if number in NEED_EQUAL_CHANNELS else "proved"
    return "\n".join([f"rule taso_{number}", *for_lines(columns), f"given {given}", body(rule, "source", group_text),
                      body(rule, "target", group_text), f"expect {expected}", ""])


def main():
    rules = json.loads(pathlib.Path(sys.argv[1]).read_text())["rules"]
    print("# TASO's shipped substitutions (graph_subst.pb of its repository, Apache-2.0), written by tests/evidence/taso_to_rules.py.\n"
          "# g, g1, g2: group counts, 1, 2 and 4 for convolutions of the left side, for those of the right side what follows from the shapes.\n"
          "# o1, o2: output channels per group; c1, c2: input channels per group. D: by how much two of them differ.\n")
    print("\n".join(text_of(number, rule) for number, rule in enumerate(rules)), end="")


if __name__ == "__main__":
    main()
