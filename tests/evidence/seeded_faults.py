#!/usr/bin/env python3
"""Faults seeded in the set algebra: how many make it prove a falsehood, and how many of these the field catches.

  seeded_faults.py [--pairs N] [--only K] [--keep DIR]

All faults go into one scratch copy of the sources, each behind a switch that the environment variable
ISOMER_FAULT throws, so that one build is enough: an expression E with the fault F is written
(fault == k ? (F) : (E)), a statement that is skipped `if (fault != k) S`. Every fault is then judged on
the same pairs of programs (isomer-prover-fuzz, seed 1): the sets alone against the oracle, and what the sets
prove falsely against the field. A fault is caught if the field contradicts every falsehood.

Prints one line per fault and a summary; exit code 1: less than 95 % caught, or fewer than 100 faults.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from kernel_mutants import COPIED

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIP = object()

# (file, text around, the part of it that changes, what it becomes). SKIP: the statement is not executed.
FAULTS = [
    # polynomial.cpp
    ("polynomial", "out[i->second].weight += w.weight;", None, SKIP),
    ("polynomial", "out[i->second].weight += w.weight;", "w.weight", "-w.weight"),
    ("polynomial", "if (!out[i->second].at.same_form(w.at)) continue;", "!out[i->second].at.same_form(w.at)", "false"),
    ("polynomial", "std::erase_if(out, [](const Weighted& w) { return w.weight == 0; });", "w.weight == 0", "w.weight <= 0"),
    ("polynomial", "std::erase_if(out, [](const Weighted& w) { return w.weight == 0; });", "w.weight == 0", "abs(w.weight) == 1"),
    ("polynomial", "l.weight == w.weight && l.at.same_form(w.at)", "l.weight == w.weight && l.at.same_form(w.at)", "l.at.same_form(w.at)"),
    ("polynomial", "l.weight == w.weight && l.at.same_form(w.at)", "l.weight == w.weight && l.at.same_form(w.at)", "l.weight == w.weight"),
    ("polynomial", "l.weight == -w.weight && l.at == w.at", "l.weight == -w.weight && l.at == w.at", "l.at == w.at"),
    ("polynomial", "l.weight == -w.weight && l.at == w.at", "l.weight == -w.weight && l.at == w.at", "l.weight == -w.weight"),
    ("polynomial", "l.weight == -w.weight && l.at == w.at", "l.at == w.at", "(l.at - w.at).is_empty()"),
    ("polynomial", "rest.push_back({-w.weight, w.at});", "-w.weight", "w.weight"),
    ("polynomial", "left.insert(left.end(), rest.begin(), rest.end());", None, SKIP),
    ("polynomial", "const Relation both = old.at & rest;", "old.at & rest", "old.at | rest"),
    ("polynomial", "const Relation both = old.at & rest;", "old.at & rest", "old.at"),
    ("polynomial", "Relation only = old.at - rest; !only.is_empty()", "!only.is_empty()", "false"),
    ("polynomial", "if (old.weight + w.weight != 0) next", "old.weight + w.weight != 0", "old.weight != w.weight"),
    ("polynomial", "if (old.weight + w.weight != 0) next", "old.weight + w.weight != 0", "false"),
    ("polynomial", "next.push_back({old.weight + w.weight, both});", "old.weight + w.weight", "old.weight"),
    ("polynomial", "next.push_back({old.weight + w.weight, both});", "old.weight + w.weight", "w.weight"),
    ("polynomial", "rest = (rest - both).coalesced();", "(rest - both).coalesced()", "(rest & both).coalesced()"),
    ("polynomial", "if (!rest_is_empty) next.push_back({w.weight, rest});", "!rest_is_empty", "rest_is_empty"),
    ("polynomial", "if (!rest_is_empty) next.push_back({w.weight, rest});", "!rest_is_empty", "false"),
    ("polynomial", "if (other.weight != w.weight) continue;", "other.weight != w.weight", "abs(other.weight) != abs(w.weight)"),
    ("polynomial", "if (other.weight != w.weight) continue;", "other.weight != w.weight", "false"),
    ("polynomial", "other.at = other.at | w.at;", "other.at | w.at", "other.at & w.at"),
    ("polynomial", "other.at = other.at | w.at;", None, SKIP),
    ("polynomial", "if (Relation part = w.at.on(positions); !part.is_empty())", "w.at.on(positions)", "w.at"),
    ("polynomial", "out.groups[group].push_back({w.weight, part.coalesced()});", "w.weight", "-w.weight"),
    ("polynomial", "if (Relation part = m.then(w.at); !part.is_empty())", "!part.is_empty()", "part.is_function()"),
    ("polynomial", "for (const Weighted& w : weighted) out = out | w.at.domain();\n  return", "out | w.at.domain()", "out & w.at.domain()"),
    ("polynomial", "for (const Weighted& w : overlaid(difference(left, right))) out = out | w.at.domain();", "out | w.at.domain()", "out & w.at.domain()"),
    ("polynomial", "for (const Weighted& w : overlaid(difference(left, right))) out = out | w.at.domain();", "out | w.at.domain()", "out - w.at.domain()"),
    ("polynomial", "for (const Weighted& w : overlaid(difference(left, right))) out = out | w.at.domain();", "out | w.at.domain()", "w.at.domain()"),
    ("polynomial", "differ(weighted, other == b.groups.end() ? std::vector<Weighted>{} : other->second);", None, SKIP),
    ("polynomial", "if (!a.groups.contains(group)) differ({}, weighted);", "!a.groups.contains(group)", "false"),
    # elements.cpp
    ("elements", "more = more | (once & here);", None, SKIP),
    ("elements", "more = more | (once & here);", "once & here", "once - here"),
    ("elements", "once = once | here;", None, SKIP),
    ("elements", "applications_.try_emplace({fn, type, of, args}", "fn", "Fn::Relu"),
    ("elements", "const auto [at, is_new] = numbers_.try_emplace(value,", "value", "Rational(abs(value))"),
    ("elements", "if (const Points zero = positions - there; !zero.is_empty())", "!zero.is_empty()", "false"),
    ("elements", "rest = positions & there;", "positions & there", "positions"),
    ("elements", "g.elements.size() <= 1 && g.symbols.empty()", "g.elements.size() <= 1", "g.elements.size() <= 2"),
    ("elements", "if (!is_number && (w.weight != 1 || !w.at.is_function())) continue;", "w.weight != 1", "w.weight == 0"),
    ("elements", "if (!is_number && (w.weight != 1 || !w.at.is_function())) continue;", "!w.at.is_function()", "false"),
    ("elements", "const Points alone = (w.at.domain() & rest) - shared;", "(w.at.domain() & rest) - shared", "w.at.domain() & rest"),
    ("elements", "const Points alone = (w.at.domain() & rest) - shared;", "(w.at.domain() & rest) - shared", "w.at.domain() - shared"),
    ("elements", "is_number ? number(w.weight) : group.elements[0]", "number(w.weight)", "number(1)"),
    ("elements", "rest = rest - alone;\n      }", "rest - alone", "rest"),
    ("elements", "const Relation here = b.to.ins(positions.rank()).on(positions);", "b.to.ins(positions.rank()).on(positions)", "b.to.ins(positions.rank())"),
    ("elements", "else weighted[0].at = (weighted[0].at | here).coalesced();", "(weighted[0].at | here).coalesced()", "here"),
    ("elements", "else weighted[0].at = (weighted[0].at | here).coalesced();", "(weighted[0].at | here).coalesced()", "(weighted[0].at & here).coalesced()"),
    ("elements", "if (!weighted[0].at.is_function()) continue;", "!weighted[0].at.is_function()", "false"),
    ("elements", "const Points alone = weighted[0].at.domain() - shared;", "weighted[0].at.domain() - shared", "weighted[0].at.domain()"),
    ("elements", "if (straight.is_function()) return {straight.on(rest).into(*known.domain)};", "straight.on(rest).into(*known.domain)", "straight.on(rest)"),
    ("elements", "const Relation m = possible.is_function ? possible.at : possible.at.smallest();", "possible.is_function ? possible.at : possible.at.smallest()", "possible.at"),
    ("elements", "alone = alone && (domain & *shared).is_empty();", "alone && (domain & *shared).is_empty()", "alone"),
    ("elements", "bool alone = weighted.size() == 1;", "weighted.size() == 1", "!weighted.empty()"),
    ("elements", "const Points good = domain - differing(mine, at(m, (*this)[element].body), nothing);", "domain - differing(mine, at(m, (*this)[element].body), nothing)", "domain"),
    ("elements", "const Points good = domain - differing(mine, at(m, (*this)[element].body), nothing);", "at(m, (*this)[element].body)", "mine"),
    ("elements", "rest = (rest - good).coalesced();", "(rest - good).coalesced()", "(rest & good).coalesced()"),
    ("elements", "if (anchor.smallest->is_injective()) continue;", "anchor.smallest->is_injective()", "false"),
    ("elements", "const Points good = domain - differing(on(body, domain), at(first, body), none(rest));", "domain - differing(on(body, domain), at(first, body), none(rest))", "domain"),
    ("elements", "const auto known = by_group_.find({kind, reduction, group});", "reduction", "Reduction::Max"),
    ("elements", "by_group_[{kind, reduction, group}].push_back(id);", "reduction", "Reduction::Max"),
    # term.cpp
    ("term", "Coefficient out{.number = a.number * b.number, .symbols = a.symbols};", "a.number * b.number", "Rational(a.number + b.number)"),
    ("term", "Coefficient out{.number = a.number * b.number, .symbols = a.symbols};", "a.number * b.number", "Rational(a.number)"),
    ("term", "Coefficient out{.number = 1 / number};", "1 / number", "number"),
    ("term", "if (range->low.at_least(0) == true) return true;", "range->low.at_least(0) == true", "range->high.at_least(0) == true"),
    ("term", "if (range->low.at_least(0) == true) return true;", "range->low.at_least(0) == true", "range->low.at_least(-1) == true"),
    ("term", "if (range->high.at_least(0) == false && range->high.is_concrete()) return false;", "range->high.at_least(0) == false", "range->high.at_least(1) == false"),
    ("term", "if (range->high.at_least(0) == false && range->high.is_concrete()) return false;", "range->high.at_least(0) == false", "range->low.at_least(0) == false"),
    ("term", "room.offset().concrete() < 0) return false;", "room.offset().concrete() < 0", "room.offset().concrete() <= 0"),
    ("term", "if (gap.offset().concrete() < 0) known = at_least_zero;", "gap.offset().concrete() < 0", "gap.offset().concrete() > 0"),
    ("term", "term.where.push_back(at_least_zero);\n", None, SKIP),
    ("term", "if (!require(out, c.substitute(by))) return std::nullopt;", "c.substitute(by)", "c"),
    ("term", "out->coefficient = a.coefficient * b.coefficient;", None, SKIP),
    ("term", "if (!require(*out, other->where)) return std::nullopt;", "!require(*out, other->where)", "false"),
    ("term", "out->bound.insert(out->bound.end(), other->bound.begin(), other->bound.end());", None, SKIP),
    ("term", "out->factors.insert(out->factors.end(), other->factors.begin(), other->factors.end());", None, SKIP),
    ("term", "else out[at->second].coefficient.number += t.coefficient.number;", "t.coefficient.number", "Rational(-t.coefficient.number)"),
    ("term", "else out[at->second].coefficient.number += t.coefficient.number;", "t.coefficient.number", "Rational(0)"),
    ("term", "std::erase_if(out, [](const Term& t) { return t.coefficient.number == 0; });", "t.coefficient.number == 0", "t.coefficient.number < 0"),
    ("term", 'for (const std::string& c : conditions) out += "|" + c;', None, SKIP),
    ("term", 'for (const Axis& a : seen) out += ";" + a.extent.text();', None, SKIP),
    ("term", 'for (const std::string& u : unseen) out += "#" + u;', None, SKIP),
    ("term", 'out += fmt::format("s{}[", f.source);', "f.source", "0"),
    ("term", "part.push_back(Index(-1) - c);", "Index(-1) - c", "Index(0) - c"),
    ("term", "part.push_back(Index(-1) - c);", "Index(-1) - c", "Index(-2) - c"),
    ("term", "held.push_back(c);", None, SKIP),
    # normal_form.cpp
    ("normal_form", "alive = require(*term, between(0, at[i], form.axes[i].extent));", "between(0, at[i], form.axes[i].extent)", "between(0, at[i], form.axes[i].extent + Dim(1))"),
    ("normal_form", "alive = require(*term, between(0, at[i], form.axes[i].extent));", "between(0, at[i], form.axes[i].extent)", "between(1, at[i], form.axes[i].extent)"),
    ("normal_form", "if (!at[i].is_inside(form.axes[i].extent))", "!at[i].is_inside(form.axes[i].extent)", "false"),
    ("normal_form", "if (a.empty()) return b;", "b", "scaled(b, Coefficient{.number = -1})"),
    ("normal_form", "if (!t.where.empty() && !vanishes_at_zero(fn)) return std::nullopt;", "!t.where.empty() && !vanishes_at_zero(fn)", "false"),
    ("normal_form", "if (!t.bound.empty() || t.factors.size() != 1 || t.coefficient.number != 1 ||", "!t.bound.empty()", "false"),
    ("normal_form", "if (!t.bound.empty() || t.factors.size() != 1 || t.coefficient.number != 1 ||", "t.coefficient.number != 1", "false"),
    ("normal_form", "if (is_commutative(fn) && args[1] < args[0]) std::swap(order[0], order[1]);", "is_commutative(fn) && args[1] < args[0]", "args.size() == 2 && args[1] < args[0]"),
    ("normal_form", "const std::size_t taken = elements_[args[0]].number != 0 ? 1 : 2;", "elements_[args[0]].number != 0", "elements_[args[0]].number == 0"),
    ("normal_form", "const Points both = c.domain & p.to.domain();", "c.domain & p.to.domain()", "c.domain"),
    ("normal_form", "for (Relation& r : c.at) r = r.on(c.domain);", None, SKIP),
    ("normal_form", "all = all.beside(at[order[i]]);", "at[order[i]]", "at[i]"),
    ("normal_form", "if (require(both, sum[i].where)) return false;", "require(both, sum[i].where)", "false"),
    ("normal_form", "if (vanishes_at_zero(fn) && are_apart(args[0])) {", "vanishes_at_zero(fn) && are_apart(args[0])", "vanishes_at_zero(fn)"),
    ("normal_form", "if (vanishes_at_zero(fn) && are_apart(args[0])) {", "vanishes_at_zero(fn) && are_apart(args[0])", "are_apart(args[0])"),
    ("normal_form", "return call(Fn::Relu, type, {args[0].empty() ? args[1] : args[0]});", "Fn::Relu", "Fn::Abs"),
    ("normal_form", "out.positions = differing(left, right, positions - positions) & sizes.finish().domain();", "differing(left, right, positions - positions)", "positions - positions"),
    ("normal_form", "if (args[0].empty() && vanishes_at_zero(fn)) return {};", "args[0].empty() && vanishes_at_zero(fn)", "args[0].empty()"),
    ("normal_form", "inside.hold(domain);\n  const Points points", None, SKIP),
    ("normal_form", "const auto partner = std::ranges::find(factors, SourceFactor{*other, factors[i].at});", "factors[i].at", "factors[0].at"),
    # normal_form_sets.cpp
    ("normal_form_sets", "if (only || t.atom.kind != Index::AtomKind::Axis || !t.scale.is_concrete()) clear = false;", "only || t.atom.kind != Index::AtomKind::Axis", "bool(only)"),
    ("normal_form_sets", "if (only || t.atom.kind != Index::AtomKind::Axis || !t.scale.is_concrete()) clear = false;", "only || t.atom.kind != Index::AtomKind::Axis", "t.atom.kind != Index::AtomKind::Axis"),
    ("normal_form_sets", "return open.empty();", "open.empty()", "true"),
    ("normal_form_sets", "builder.inside(i, position[static_cast<std::size_t>(i)].extent);", None, SKIP),
    ("normal_form_sets", "builder.inside(in + coordinates + i, a.extent);", "a.extent", "a.extent + Dim(1)"),
    ("normal_form_sets", "builder.inside(in + coordinates + i, a.extent);", None, SKIP),
    ("normal_form_sets", "builder.hold(term.where);", None, SKIP),
    ("normal_form_sets", "for (const Index& i : f.at) builder.equal(dim++, i);", "builder.equal(dim++, i)", "builder.equal(dim++, i + Index(1))"),
    ("normal_form_sets", "const bool settled = term.bound.empty() || (whole && is_determined(term));", "whole && is_determined(term)", "is_determined(term)"),
    ("normal_form_sets", "const bool settled = term.bound.empty() || (whole && is_determined(term));", "whole && is_determined(term)", "whole"),
    ("normal_form_sets", "part.weight *= elements_[p.element].number;", "elements_[p.element].number", "Rational(1)"),
    ("normal_form_sets", "const int before = s.at.out() - rank - rest;", "s.at.out() - rank - rest", "std::max(0, s.at.out() - rank - rest - 1)"),
    ("normal_form_sets", "if (bound.empty() || s.at.ins_from_rest(position).is_function()) {", "bound.empty() || s.at.ins_from_rest(position).is_function()", "true"),
    ("normal_form_sets", "if (!(widened == s.at)) continue;", "!(widened == s.at)", "false"),
    ("normal_form_sets", "s.weight *= extent->number;", None, SKIP),
    ("normal_form_sets", "for (std::int64_t v = 0; v < extent; ++v) {", "v < extent", "v + 1 < extent"),
    ("normal_form_sets", "part.at = s.at.fixed_in(position + static_cast<int>(*smallest), v);", "s.at.fixed_in(position + static_cast<int>(*smallest), v)", "s.at.fixed_in(position + static_cast<int>(*smallest), 0)"),
    ("normal_form_sets", "s.weight / Rational(static_cast<long>(orders.size()))", "s.weight / Rational(static_cast<long>(orders.size()))", "s.weight"),
    ("normal_form_sets", "is_same ? s.at : s.at.permuted(dims)", "is_same ? s.at : s.at.permuted(dims)", "s.at"),
    ("normal_form_sets", "if (end - begin > 1 && elements_[group.elements[begin]].rank > 0) {", "end - begin > 1", "end - begin > 2"),
    ("normal_form_sets", "while (end < n && group.elements[end] == group.elements[begin]) ++end;", "group.elements[end] == group.elements[begin]", "true"),
    # formula_reader.cpp
    ("formula_reader", "case Fn::Sub: return forms_.add(arg(0), scaled(arg(1), Coefficient{.number = -1}));", "-1", "1"),
    ("formula_reader", "if (is_float(e.type)) return forms_.multiply(arg(0), forms_.reciprocal(arg(1)));", "forms_.reciprocal(arg(1))", "arg(1)"),
    ("formula_reader", "if (require(t, d)) out.push_back(std::move(t));", "require(t, d)", "true"),
    ("formula_reader", "narrow(d, when, here);", "when", "Domain{}"),
    ("formula_reader", "for (const Domain& other : complement(when)) narrow(d, other, rest);", "complement(when)", "std::vector<Domain>{Domain{}}"),
    ("formula_reader", "if (!open.empty()) give(value(*e.args[0]), open);", "!open.empty()", "false"),
    ("normal_form", "if (!require(t, conditions)) continue;", "!require(t, conditions)", "false"),
    ("normal_form", "t.bound.insert(t.bound.end(), axes.begin(), axes.end());", None, SKIP),
    ("term", "if (rest.mentions(a)) continue;", "rest.mentions(a)", "false"),
    ("term", "fixed(std::move(less), a, Dim(-1) * rest);", "Dim(-1) * rest", "rest"),
    ("term", "if (!value.is_inside(bound.extent) && !require(term, between(0, value, bound.extent))) return std::nullopt;", "!value.is_inside(bound.extent) && !require(term, between(0, value, bound.extent))", "false"),
    ("formula_reader", "case Reduction::Min: return forms_.fold(e.reduction, e.type, axes, conditions, body);", "e.reduction", "Reduction::Max"),
    ("formula_reader", "case Reduction::Min: return forms_.fold(e.reduction, e.type, axes, conditions, body);", "conditions", "Domain{}"),
    # laws.cpp
    ("scalar_laws", "bool is_positively_homogeneous(Fn fn) { return fn == Fn::Relu || fn == Fn::Abs; }", "fn == Fn::Relu || fn == Fn::Abs", "fn == Fn::Relu || fn == Fn::Abs || fn == Fn::Tanh"),
    ("scalar_laws", "case Fn::Relu: return a > 0 ? a : Rational(0);", "a > 0 ? a : Rational(0)", "a"),
    ("scalar_laws", "case Fn::Max: return a > b ? a : b;", "a > b ? a : b", "a"),
    ("scalar_laws", "if (a == 0) return Rational(1);", "Rational(1)", "Rational(0)"),
    ("scalar_laws", "if (args.size() == 1 && a == 0 && vanishes_at_zero(fn)) return Rational(0);", "a == 0 && vanishes_at_zero(fn)", "a == 0"),
    ("scalar_laws", "case Fn::Abs: return abs(a);", "abs(a)", "a"),
    # sets.cpp
    ("sets", "if (said == isl_bool_error) give_up();", None, SKIP),
    ("sets", "return said == isl_bool_true;", "said == isl_bool_true", "said != isl_bool_false"),
    ("sets", "bool Points::is_empty() const { return answer(isl_set_is_empty(get())); }", "answer(isl_set_is_empty(get()))", "answer(isl_set_plain_is_empty(get()))"),
    ("sets", "bool Relation::is_function() const { return answer(isl_map_is_single_valued(get())); }", "answer(isl_map_is_single_valued(get()))", "true"),
    ("sets", "bool Relation::is_injective() const { return answer(isl_map_is_injective(get())); }", "answer(isl_map_is_injective(get()))", "false"),
    ("sets", "return Relation(isl_map_from_basic_map(isl_map_affine_hull(isl_map_copy(get()))));", "isl_map_affine_hull(isl_map_copy(get()))", "isl_map_simple_hull(isl_map_copy(get()))"),
    ("sets", "Affine last = affine(extent - Dim(1));", "extent - Dim(1)", "extent"),
    ("sets", "Affine last = affine(extent - Dim(1));", "extent - Dim(1)", "extent - Dim(2)"),
    ("sets", "constrain(of_dim(dim), false);\n", None, SKIP),
    ("sets", "if (!done[j] && conditions[j] == minus) done[j] = equality = true;", "conditions[j] == minus", "true"),
    ("sets", "constrain(affine(conditions[i]), equality);", "equality", "true"),
    ("sets", "constrain(affine(conditions[i]), equality);", "equality", "false"),
    ("sets", "if (t.atom.kind == Index::AtomKind::Floor)\n", "t.atom.kind == Index::AtomKind::Floor", "t.atom.kind == Index::AtomKind::Mod"),
    ("sets", "isl_aff_scale_val(atom, value(context, t.scale.concrete()))", "t.scale.concrete()", "std::abs(t.scale.concrete())"),
    ("sets", "return Relation(isl_map_lexmin(isl_map_copy(get())));", "isl_map_lexmin(isl_map_copy(get()))", "isl_map_lexmax(isl_map_copy(get()))"),
    ("sets", "return Relation(isl_map_union(isl_map_copy(get()), isl_map_copy(other.get())));", "isl_map_union(isl_map_copy(get()), isl_map_copy(other.get()))", "isl_map_copy(get())"),
    ("sets", "return Points(isl_set_subtract(isl_set_copy(get()), isl_set_copy(other.get())));", "isl_set_subtract(isl_set_copy(get()), isl_set_copy(other.get()))", "isl_set_intersect(isl_set_copy(get()), isl_set_copy(other.get()))"),
    ("sets", "return Relation(isl_map_intersect_domain(isl_map_copy(get()), isl_set_copy(domain.get())));", "isl_map_intersect_domain(isl_map_copy(get()), isl_set_copy(domain.get()))", "isl_map_copy(get())"),
]

SWITCH = """#include <cstdlib>
namespace isomer { namespace { const int fault = std::getenv("ISOMER_FAULT") ? std::atoi(std::getenv("ISOMER_FAULT")) : 0; } }
"""


def normal(text):
    """Runs of blanks match any run, so that formatting does not matter."""
    return r"\s+".join(re.escape(part) for part in text.split())


def source_of(root, file):
    folder = "src/model/expr" if file == "scalar_laws" else "src/kernel/normal"
    return root / folder / f"{file}.cpp"


def seed(sources):
    """All faults into the sources; returns what each is, and those whose place is gone."""
    gone, seeded = [], []
    for number, (file, around, part, becomes) in enumerate(FAULTS, 1):
        if part == becomes:
            continue
        path = source_of(sources, file)
        text = path.read_text()
        # A place may carry several faults: earlier ones have wrapped it already, so look in the original.
        original = source_of(ROOT, file).read_text()
        places = list(re.finditer(normal(around), original))
        if not places:
            gone.append((number, file, around))
            continue
        seeded.append((number, file, around.strip(), part, becomes, places[0].span()))
    by_file = {}
    for fault in seeded:
        by_file.setdefault(fault[1], []).append(fault)
    for file, faults in by_file.items():
        path = source_of(sources, file)
        text = path.read_text()
        edits = {}  # span of the original -> list of (number, replacement)
        for number, _, _, part, becomes, (first, last) in faults:
            if becomes is SKIP:
                edits.setdefault((first, first), []).append((number, None))
                continue
            inner = re.search(normal(part), text[first:last])
            span = (first + inner.start(), first + inner.end())
            edits.setdefault(span, []).append((number, becomes))
        # Innermost last would overlap: spans that contain another are put one at a time, from the end.
        for span in sorted(edits, key=lambda s: (-s[0], s[1])):
            first, last = span
            shift = grown(edits, span)
            original = text[first : last + shift]
            for number, becomes in edits[span]:
                if becomes is None:
                    original = f"if (fault != {number}) " + original
                else:
                    original = f"(fault == {number} ? ({becomes}) : ({original}))"
            text = text[:first] + original + text[last + shift :]
            edits[span] = (edits[span], len(original) - (last - first))
        at = text.index("\n", text.index('#include "')) + 1
        path.write_text(text[:at] + SWITCH + text[at:])
    return seeded, gone


def grown(edits, span):
    """How much longer the text inside of a span has become by edits done before."""
    return sum(done[1] for other, done in edits.items()
               if other != span and isinstance(done, tuple) and span[0] <= other[0] and other[1] <= span[1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=300)
    parser.add_argument("--only", type=int)
    parser.add_argument("--keep")
    arguments = parser.parse_args()
    scratch = pathlib.Path(arguments.keep or tempfile.mkdtemp(prefix="isomer-faults-"))
    for part in COPIED:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, scratch / part, dirs_exist_ok=True)
        else:
            shutil.copy(ROOT / part, scratch / part)
    if not (scratch / ".deps").exists():
        (scratch / ".deps").symlink_to((ROOT / ".deps").resolve())
    seeded, gone = seed(scratch)
    for number, file, around in gone:
        print(f"fault {number}: {file}.cpp no longer has: {around}", flush=True)
    build = scratch / "build" / "release"
    for command in (["cmake", "--preset", "release"],
                    ["cmake", "--build", "--preset", "release", "-j2", "--target", "isomer-prover-fuzz", "--", "-k", "0"]):
        done = subprocess.run(command, cwd=scratch, capture_output=True, text=True)
        if done.returncode != 0:
            print(done.stdout[-4000:], done.stderr[-2000:])
            return 2
    fuzz = build / "tests" / "isomer-prover-fuzz"
    counts = {"harmless": 0, "incomplete": 0, "broken": 0, "false": 0, "caught": 0}

    def run(number):
        environment = dict(os.environ, ISOMER_FAULT=str(number))
        try:
            done = subprocess.run([str(fuzz), "--pairs", str(arguments.pairs), "--show", "0", "--laws-every", "3", "--brief", "1"],
                                  env=environment, capture_output=True, text=True, timeout=300)
        except subprocess.TimeoutExpired:
            return None
        found = re.search(r"brief: sets_false=(\d+) accepted=(\d+) missed=(\d+)", done.stdout)
        return tuple(int(x) for x in found.groups()) if found else None

    healthy = run(0)
    print(f"without a fault: {healthy}", flush=True)
    for number, file, around, part, becomes, _ in seeded:
        if arguments.only and number != arguments.only:
            continue
        result = run(number)
        what = f"{file}.cpp: {around.splitlines()[0]}: " + ("skipped" if becomes is SKIP else f"{part} -> {becomes}".replace("\n", " "))
        if result is None:
            kind = "broken"
        elif result[0] > healthy[0]:
            kind = "caught" if result[1] == 0 else "ACCEPTED"
            counts["false"] += 1
        elif result[2] > healthy[2]:
            kind = "incomplete"
        else:
            kind = "harmless"
        if kind in counts:
            counts[kind] += 1
        print(f"fault {number}: {kind} {result} {what}", flush=True)
    share = 100 * counts["caught"] / max(counts["false"], 1)
    print(f"{len(seeded)} faults: {counts['false']} prove something false, {counts['caught']} of them caught by the field "
          f"({share:.1f} %); {counts['incomplete']} only prove less, {counts['broken']} stop or do not end, "
          f"{counts['harmless']} change nothing on {arguments.pairs} pairs")
    if arguments.keep is None:
        shutil.rmtree(scratch)
    return 0 if share >= 95 and len(seeded) >= 100 else 1


if __name__ == "__main__":
    sys.exit(main())
