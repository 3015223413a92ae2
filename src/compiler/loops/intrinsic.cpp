#include "compiler/loops/intrinsic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>

#include "base/nth.h"
#include "compiler/loops/lower.h"
#include "model/expr/reads.h"
#include "model/graph/text/text.h"

namespace isomer::lower {
namespace {

constexpr char kModel[] = "<ir_version: 8, opset_import: [\"\" : 20]> g ";

std::string first_word(const std::string& line) {
  std::istringstream in(line);
  std::string word;
  in >> word;
  return word;
}

bool is_identifier(std::string_view name) {
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
         std::ranges::all_of(
             name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
}

// Lines from "intrinsic" to "end", as graph and code.
struct Block {
  std::string graph = {}, code = {};
};

Result<Intrinsic> read_block(const Block& block) {
  const std::string name = first_word(block.graph);
  const auto wrong = [&](std::string_view why) { return Error{fmt::format("intrinsic {}: {}", name, why)}; };
  if (!is_identifier(name)) return wrong("its name is none in C");
  Intrinsic out{
      .name = name, .graph = block.graph.substr(block.graph.find(name) + name.size()), .code = block.code};
  auto graph = parse_graph(kModel + out.graph);
  if (!graph) return wrong(graph.error().message);
  AxisNumbers numbers;
  auto plan = lower_graph(*graph, {}, numbers);
  if (!plan) return wrong(plan.error().message);
  compose_nests(*plan, numbers);
  if (plan->nests.size() != 1 || plan->outputs.size() != 1) return wrong("it is more than one sum");
  const Nest& nest = plan->nests[0];
  const auto port = [&](const Port& p) {
    const Storage& s = plan->buffer(p.buffer);
    return Intrinsic::Port{.name = p.name, .type = s.type, .extents = concrete(s.extents).value()};
  };
  std::map<int, int> number_of;  // of an input, by its buffer
  std::set<std::string> names;
  for (const Port& p : plan->inputs) {
    number_of.emplace(p.buffer, static_cast<int>(out.inputs.size()));
    out.inputs.push_back(port(p));
    names.insert(p.name);
  }
  out.output = port(plan->outputs[0]);
  names.insert(out.output.name);
  if (names.size() != out.inputs.size() + 1 || !std::ranges::all_of(names, is_identifier))
    return wrong("its inputs and its output need names of C, each its own");
  for (std::size_t d = 0; d < nest.at.size(); ++d)
    if (!(nest.at[d] == Index(nest.axes[d]))) return wrong("it is more than one sum");
  if (nest.value->kind != ExprNode::Kind::Reduce || nest.value->reduction != Reduction::Sum ||
      !nest.value->domain.empty())
    return wrong("it is no sum");
  bool has_others = false;
  out.axes = nest.axes;
  out.value = with_reads(nest.value, [&](const ExprNode& e) -> std::optional<Expr> {
    const auto known = number_of.find(e.tensor.number);
    has_others = has_others || known == number_of.end();
    if (has_others) return std::nullopt;
    return read({.kind = e.tensor.kind, .number = known->second}, e.type, e.extents, e.at);
  });
  if (has_others) return wrong("it has constants of its own");
  return out;
}

// Each line, and whether it belongs to an intrinsic.
template <class F>
void for_each_line(std::string_view text, F&& f) {
  std::istringstream in{std::string(text)};
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    const std::string word = first_word(line);
    if (word == "intrinsic") inside = true;
    f(line, word, inside);
    if (word == "end") inside = false;
  }
}

}  // namespace

Result<std::vector<Intrinsic>> parse_intrinsics(std::string_view schedules) {
  std::vector<Block> blocks;
  bool in_code = false, is_open = false, is_late = false;
  for_each_line(schedules, [&](const std::string& line, const std::string& word, bool inside) {
    if (!inside) return;
    if (word == "intrinsic" && !in_code) {
      is_late = is_late || is_open;
      is_open = true;
      blocks.push_back({.graph = line.substr(line.find(word) + word.size())});
    } else if (word == "code" && !in_code) {
      in_code = true;
    } else if (word == "end") {
      is_late = is_late || !in_code;
      in_code = is_open = false;
    } else {
      (in_code ? blocks.back().code : blocks.back().graph) += '\n' + line;
    }
  });
  if (is_open || is_late) return Error{"an intrinsic is: intrinsic NAME GRAPH, code, C++, end"};
  std::vector<Intrinsic> out;
  for (const Block& block : blocks) {
    ISOMER_TRY(Intrinsic read, read_block(block));
    if (std::ranges::find(out, read.name, &Intrinsic::name) != out.end())
      return Error{fmt::format("intrinsic {}: it is there twice", read.name)};
    out.push_back(std::move(read));
  }
  return out;
}

std::string without_intrinsics(std::string_view schedules) {
  std::string out;
  for_each_line(schedules, [&](const std::string& line, const std::string&, bool inside) {
    out += (inside ? "" : line) + '\n';
  });
  return out;
}

Result<std::vector<Trial>> trials(const Intrinsic& intrinsic) {
  std::string inputs, turned;
  for (const Intrinsic::Port& p : intrinsic.inputs) {
    Extents extents = p.extents;
    std::ranges::reverse(extents);
    inputs += fmt::format("{}{}[{}] {}_turned", inputs.empty() ? "" : ", ", name(p.type),
                          fmt::join(extents, ", "), p.name);
    turned += fmt::format("{0} = Transpose({0}_turned) ", p.name);
  }
  const std::string& as_it_is = intrinsic.graph;
  const std::size_t arrow = as_it_is.find("=>"), body = as_it_is.find('{', arrow) + 1;
  const std::string other = fmt::format("({}) {} {}{}", inputs, as_it_is.substr(arrow, body - arrow), turned,
                                        as_it_is.substr(body));
  std::vector<Trial> out;
  for (const std::string& text : {as_it_is, other}) {
    ISOMER_TRY(Graph graph, parse_graph(kModel + text));
    AxisNumbers numbers;
    ISOMER_TRY(Plan plan, lower_graph(graph, {}, numbers));
    compose_nests(plan, numbers);
    const std::string schedule =
        fmt::format("intrinsic {}{}\ncode{}\nend\nnest {}\ntensorize {}\n", intrinsic.name, as_it_is,
                    intrinsic.code, plan.nests.back().name, intrinsic.name);
    out.push_back({std::move(graph), schedule});
  }
  return out;
}

Status tensorize(const Plan& plan, Nest& nest, std::string_view name) {
  const auto at = std::ranges::find(plan.intrinsics, name, &Intrinsic::name);
  if (at == plan.intrinsics.end()) return Error{fmt::format("tensorize: no intrinsic is named {}", name)};
  const std::vector<Axis> axes = all_axes(*at);
  const std::size_t count = axes.size();
  if (!nest.reduction || nest.loops.size() < count)
    return Error{fmt::format("tensorize {}: it takes the {} innermost loops of a sum", name, count)};
  const AxisMap by_loops = over_loops(nest);
  std::vector<const ExprNode*> theirs, ours;
  std::vector<Axis> around;
  const auto collect = [&](std::vector<const ExprNode*>& into, const ExprNode& sum) {
    for_each_read(sum, around, [&](const ExprNode& e, const std::vector<Axis>&) { into.push_back(&e); });
  };
  collect(theirs, *at->value);
  collect(ours, *nest.reduction);
  if (theirs.size() != ours.size())
    return Error{fmt::format("tensorize {}: it sums up something else", name)};
  IntrinsicCall call{.intrinsic = static_cast<std::size_t>(at - plan.intrinsics.begin()),
                     .factors = std::vector<IntrinsicCall::Factor>(at->inputs.size())};
  for (std::size_t k = 0; k < ours.size(); ++k) {
    std::vector<Index> position;
    for (const Index& i : ours[k]->at) position.push_back(with_axes(i, by_loops));
    const Index address = address_of(plan.buffer(ours[k]->tensor.number), position);
    IntrinsicCall::Factor& factor = nth(call.factors, theirs[k]->tensor.number);
    factor = {.read = read(ours[k]->tensor, ours[k]->type, ours[k]->extents, ours[k]->at)};
    for (const Index& i : theirs[k]->at) {
      Dim step = 0;
      for (std::size_t n = 0; n < count; ++n)
        if (i.mentions(axes[n])) step = stride(address, nest.loops[nest.loops.size() - count + n].axis);
      factor.strides.push_back(step);
    }
  }
  nest.call = std::move(call);
  nest.schedule.push_back(fmt::format("tensorize {}", name));
  return Done{};
}

std::string function_name(const Intrinsic& intrinsic) { return "im_own_" + intrinsic.name; }

}  // namespace isomer::lower
