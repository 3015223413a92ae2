#include "optimizer/propose/by_rule/rule_match.h"

#include <algorithm>

#include "model/graph/constant.h"
#include "rules/text/widened.h"
#include "rules/text/word_text.h"

namespace isomer {
namespace {

using rules::Pattern;
using rules::PatternInput;
using rules::PatternNode;
using rules::PatternValue;

constexpr std::size_t kMostSiblings = 16;  // that are changed together

bool is_same_value(const Site& site, Value a, Value b) {
  return a == b || (site.is_constant(a) && site.is_constant(b) && site.content(a) == site.content(b));
}

// Whether two nodes apply the same word: equal attributes, but for those that say what is so anyway.
bool is_same_word(const Site& site, NodeId x, NodeId y) {
  if (x == y) return true;
  const Node &a = site.node(x), &b = site.node(y);
  const auto spell = [](const Node& node) {
    std::vector<std::string> out;
    for (const Attribute& attribute : node.attributes.all()) {
      if (rules::is_default(attribute) || attribute.name == "kernel_shape") continue;
      const auto text = rules::spelled_attribute(attribute);
      out.push_back(text ? *text : attribute.name);
    }
    return out;
  };
  // One of two convolutions may have a bias: it goes with the weights.
  const auto inputs = [](const Node& node) {
    return node.op == "Conv" ? std::min<std::size_t>(2, node.inputs.size()) : node.inputs.size();
  };
  if (a.op != b.op || inputs(a) != inputs(b) || spell(a) != spell(b)) return false;
  for (std::size_t i = 0; i < inputs(a); ++i) {
    const Value v = a.inputs[i], w = b.inputs[i];
    if (v.exists() != w.exists()) return false;
    // Parameters; operands may be constants too, and are compared by the code that reads them.
    if (!v.exists() || is_float(site.inference.of(v).type)) continue;
    if (!is_same_value(site, v, w)) return false;
  }
  return true;
}

// A pattern, bound step by step. A copy is a place to come back to.
class Binding {
 public:
  Binding(const Site& site, std::shared_ptr<const Pattern> pattern, const std::vector<bool>& exchanged)
      : site_(&site), exchanged_(&exchanged), nodes_(pattern->from.nodes.size(), Value::none()) {
    match.pattern = std::move(pattern);
  }

  RuleMatch match;

  bool bind(PatternValue root, Value at) {
    std::vector<std::pair<PatternValue, Value>> open{{root, at}};
    while (!open.empty()) {
      const auto [p, v] = open.back();
      open.pop_back();
      if (!v.exists() || !is_float(site_->inference.of(v).type)) return false;
      const PatternNode& node = match.pattern->from.nodes[p.node];
      if (node.is_variable) {
        const auto [known, is_new] = match.variables.emplace(node.number, v);
        if (!is_new && !is_same_value(*site_, known->second, v)) return false;
        continue;
      }
      Value& bound = nodes_[p.node];
      if (v.output != p.output || (bound.exists() && bound.node != v.node)) return false;
      if (bound.exists()) continue;
      bound = v;
      if (!bind_node(node, p.node, v.node, open)) return false;
    }
    return true;
  }
  // A variable that stands for something already, among the operands of a node; nullopt: none.
  std::optional<Value> bound_operand(PatternValue v) const {
    for (const PatternValue& operand : match.pattern->from.nodes[v.node].operands()) {
      const PatternNode& node = match.pattern->from.nodes[operand.node];
      const auto at = node.is_variable ? match.variables.find(node.number) : match.variables.end();
      if (at != match.variables.end() && !site_->is_constant(at->second)) return at->second;
      if (!node.is_variable && nodes_[operand.node].exists())
        return Value{nodes_[operand.node].node, operand.output};
    }
    return std::nullopt;
  }

 private:
  bool bind_node(const PatternNode& p, std::size_t number, NodeId id,
                 std::vector<std::pair<PatternValue, Value>>& open) {
    const Node& node = site_->node(id);
    if (!site_->is(id, p.op) || node.outputs.size() != p.outputs) return false;
    const auto [word, is_new] = match.words.emplace(p.number, id);
    if (!is_new && !is_same_word(*site_, word->second, id)) return false;
    for (std::size_t i = 0; i < p.inputs.size(); ++i) {
      const std::size_t place = (*exchanged_)[number] ? 1 - i : i;
      const Value v = place < node.inputs.size() ? node.inputs[place] : Value::none();
      switch (p.inputs[i].kind) {
        case PatternInput::Kind::Absent:
          if (v.exists()) return false;
          break;
        case PatternInput::Kind::Operand:
          if (!v.exists()) return false;
          open.emplace_back(p.inputs[i].operand, v);
          break;
        case PatternInput::Kind::Constant:
          if (!is_parameter(p.inputs[i].constant, v)) return false;
          break;
      }
    }
    return takes_the_rest(p, node);
  }

  // A constant in the place of another; where older operators have an attribute instead, nothing is there.
  bool is_parameter(const Tensor& pattern, Value v) const {
    if (!v.exists()) return pattern.type() == ElementType::Int64;
    const auto tensor = site_->is_constant(v) ? known_constant(site_->graph, v) : std::nullopt;
    if (!tensor || tensor->type() != pattern.type()) return false;
    return pattern.type() == ElementType::Int64 || tensor->count() == pattern.count();
  }

  // Inputs that the pattern does not speak of: a convolution's bias, and parameters that go with the word.
  bool takes_the_rest(const PatternNode& p, const Node& node) {
    for (std::size_t i = p.inputs.size(); i < node.inputs.size(); ++i) {
      const Value v = node.inputs[i];
      if (!v.exists()) continue;
      if (p.op == "Conv" && i == 2) match.biases.emplace(node.inputs[1], v);
      else if (!site_->is_constant(v) || is_float(site_->inference.of(v).type)) return false;
    }
    return true;
  }

  const Site* site_;
  const std::vector<bool>* exchanged_;
  std::vector<Value> nodes_;
};

class Finder {
 public:
  Finder(const Site& site, const rules::PatternNet::Entry& entry) : site_(site), entry_(entry) {}

  std::vector<RuleMatch> at(Value value) {
    Binding binding(site_, entry_.pattern, entry_.exchanged);
    const auto& outputs = entry_.pattern->from.outputs;
    if (is_wider_root(value)) return widened_at(value);
    if (!binding.bind(outputs[0], value)) return {};
    binding.match.outputs = {value};
    if (outputs.size() > 1) find_others(binding);
    else found_.push_back(std::move(binding.match));
    return std::move(found_);
  }

 private:
  // A concatenation of more parts than the pattern's.
  bool is_wider_root(Value value) const {
    const PatternNode& root = entry_.pattern->from.nodes[entry_.pattern->from.outputs[0].node];
    return root.op == "Concat" && site_.node(value.node).inputs.size() > root.inputs.size();
  }
  std::vector<RuleMatch> widened_at(Value value) {
    const std::vector<Value>& parts = site_.node(value.node).inputs;
    const auto wide = parts.size() <= kMostSiblings ? rules::widened(*entry_.pattern, parts.size()) : nullptr;
    if (!wide) return {};
    return bound_all(wide, {value});
  }
  std::vector<RuleMatch> bound_all(const std::shared_ptr<const Pattern>& wide,
                                   const std::vector<Value>& values) {
    const std::vector<bool> none(wide->from.nodes.size());
    Binding binding(site_, wide, none);
    for (std::size_t k = 0; k < values.size(); ++k)
      if (!binding.bind(wide->from.outputs[k], values[k])) return {};
    binding.match.outputs = values;
    return {std::move(binding.match)};
  }

  std::vector<Value> candidates(const Binding& binding, PatternValue output) const {
    std::vector<NodeId> nodes;
    if (const auto operand = binding.bound_operand(output)) nodes = site_.readers(*operand);
    else nodes = site_.graph.order();
    std::vector<Value> out;
    const PatternNode& wanted = binding.match.pattern->from.nodes[output.node];
    for (const NodeId id : nodes)
      if (site_.is(id, wanted.op) && output.output < site_.node(id).outputs.size())
        out.push_back({id, output.output});
    return out;
  }

  // The other outputs, one after the other; all that are alike at once, where the pattern can be widened.
  void find_others(const Binding& first) {
    std::vector<Binding> open{first};
    const auto& outputs = entry_.pattern->from.outputs;
    std::vector<Value> siblings = first.match.outputs;
    while (!open.empty()) {
      const Binding here = std::move(open.back());
      open.pop_back();
      if (here.match.outputs.size() == outputs.size()) {
        found_.push_back(here.match);
        continue;
      }
      const PatternValue output = outputs[here.match.outputs.size()];
      for (const Value& v : candidates(here, output)) {
        if (std::ranges::find(here.match.outputs, v) != here.match.outputs.end()) continue;
        Binding next = here;
        if (!next.bind(output, v)) continue;
        next.match.outputs.push_back(v);
        if (siblings.size() < kMostSiblings && outputs.size() == 2) siblings.push_back(v);
        open.push_back(std::move(next));
      }
    }
    if (siblings.size() < 3) return;
    if (const auto wide = rules::widened(*entry_.pattern, siblings.size()))
      if (auto all = bound_all(wide, siblings); !all.empty()) found_ = std::move(all);
  }

  const Site& site_;
  const rules::PatternNet::Entry& entry_;
  std::vector<RuleMatch> found_;
};

}  // namespace

std::vector<RuleMatch> matches_at(const Site& site, const rules::PatternNet& net, Value value) {
  std::vector<RuleMatch> out;
  for (const rules::PatternNet::Entry* entry : net.find(site.graph, value))
    for (RuleMatch& m : Finder(site, *entry).at(value)) {
      // Siblings are found from each of them; the first one speaks for all.
      const bool is_later = m.pattern->is_divided && std::ranges::any_of(m.outputs, [&](Value v) {
                              return site.position(v.node) < site.position(value.node);
                            });
      if (!is_later) out.push_back(std::move(m));
    }
  return out;
}

}  // namespace isomer
