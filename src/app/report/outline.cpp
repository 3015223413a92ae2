#include "app/report/outline.h"

#include <ranges>
#include <set>

#include "kernel/prove/widen.h"

namespace isomer {
namespace {

template <class Move>
OutlineItem item_of(const Node& node, const Move& move) {
  OutlineItem item;
  item.is_operator = node.kind == NodeKind::Operator;
  item.outputs = node.outputs;
  for (const auto* values : {&node.inputs, &node.captures})
    for (const Value v : *values) item.inputs.push_back(v.exists() ? move(v) : v);
  item.is_kept_alive = node.kind == NodeKind::Input ||
                       std::ranges::all_of(node.outputs, [](const std::string& o) { return o.empty(); });
  return item;
}

}  // namespace

Outline::Outline(const Graph& in) {
  std::unordered_map<NodeId, NodeId> items;
  for (const NodeId id : in.order()) {
    OutlineItem item = item_of(in.node(id), [&](Value v) { return Value{items.at(v.node), v.output}; });
    item.original = id;
    items.emplace(id, add(std::move(item)));
  }
  for (const Value v : in.outputs()) outputs_.push_back({items.at(v.node), v.output});
}

void Outline::replace(const std::vector<const Claim*>& claims) {
  std::map<Value, Value> replaced;
  std::unordered_map<NodeId, std::size_t> cones;
  std::vector<std::pair<Value, std::string>> names;
  for (const Claim* claim : claims) {
    const std::size_t region = unions.add();
    claims_.push_back(region);
    mark_cone(*claim, region, cones);
    add_program(*claim, region, replaced, names);
  }
  redirect(replaced);
  bury(cones);
  std::set<Value> renamed;  // what replaces several values has the name of the first
  for (const auto& [value, name] : names)
    if (renamed.insert(value).second && items_[value.node].is_alive && !names_.contains(name))
      rename(value, name);
}

void Outline::fold(const std::vector<std::string>& values) {
  std::map<Value, Value> replaced;
  for (const std::string& name : values) {
    const auto at = names_.find(name);
    if (at == names_.end()) continue;
    OutlineItem constant;
    constant.outputs = {name + std::string(kFoldedSuffix)};
    replaced.emplace(at->second, Value{add(std::move(constant)), 0});
  }
  redirect(replaced);
  bury({});
}

void Outline::widen(const std::vector<std::string>& values) {
  for (const std::string& name : values)
    if (const auto at = names_.find(name); at != names_.end())
      rename(Value(at->second), name + std::string(kWideSuffix));
}

NodeId Outline::add(OutlineItem item) {
  const auto id = static_cast<NodeId>(items_.size());
  for (std::uint32_t k = 0; k < item.outputs.size(); ++k)
    if (!item.outputs[k].empty()) names_.insert_or_assign(item.outputs[k], Value{id, k});
  items_.push_back(std::move(item));
  return id;
}

void Outline::mark_cone(const Claim& claim, std::size_t region,
                        std::unordered_map<NodeId, std::size_t>& cones) {
  std::set<Value> ends;
  for (const std::string& name : claim.inputs)
    if (const auto at = names_.find(name); at != names_.end()) ends.insert(at->second);
  std::vector<Value> open;
  for (const std::string& name : claim.outputs)
    if (const auto at = names_.find(name); at != names_.end()) open.push_back(at->second);
  std::set<NodeId> seen;
  while (!open.empty()) {
    const Value v = open.back();
    open.pop_back();
    if (!v.exists() || ends.contains(v) || !seen.insert(v.node).second) continue;
    if (!items_[v.node].is_operator) continue;
    cones.try_emplace(v.node, region);
    open.insert(open.end(), items_[v.node].inputs.begin(), items_[v.node].inputs.end());
  }
}

void Outline::add_program(const Claim& claim, std::size_t region, std::map<Value, Value>& replaced,
                          std::vector<std::pair<Value, std::string>>& names) {
  const Graph& program = claim.after;
  std::unordered_map<NodeId, Value> firsts;  // output 0 of each node of the program
  const auto move = [&](Value v) {
    const auto at = firsts.find(v.node);
    return at == firsts.end() || !at->second.exists() ? Value::none()
                                                      : Value{at->second.node, at->second.output + v.output};
  };
  for (const NodeId id : program.order()) {
    const Node& node = program.node(id);
    if (node.kind == NodeKind::Input) {
      const auto at = names_.find(node.outputs[0]);
      firsts.emplace(id, at == names_.end() ? Value::none() : at->second);
      continue;
    }
    OutlineItem item = item_of(node, move);
    item.region = region;
    firsts.emplace(id, Value{add(std::move(item)), 0});
  }
  for (std::size_t k = 0; k < std::min(claim.outputs.size(), program.outputs().size()); ++k) {
    const auto old = names_.find(claim.outputs[k]);
    const Value made = move(program.outputs()[k]);
    if (old == names_.end() || !made.exists() || made == old->second) continue;
    replaced.emplace(old->second, made);
    if (items_[made.node].is_operator && items_[made.node].region == region)
      names.emplace_back(made, claim.outputs[k]);
  }
}

void Outline::redirect(const std::map<Value, Value>& replaced) {
  if (replaced.empty()) return;
  const auto end_of = [&](Value v) {
    for (std::size_t k = 0; k <= replaced.size(); ++k) {
      const auto at = replaced.find(v);
      if (at == replaced.end()) break;
      v = at->second;
    }
    return v;
  };
  for (OutlineItem& item : items_)
    for (Value& v : item.inputs) v = end_of(v);
  for (Value& v : outputs_) {
    const Value now = end_of(v);
    if (now == v) continue;
    kept_names_.emplace_back(now, items_[v.node].outputs[v.output]);
    v = now;
  }
}

void Outline::bury(const std::unordered_map<NodeId, std::size_t>& cones) {
  std::vector<bool> is_read(items_.size());
  std::vector<NodeId> open;
  const auto read = [&](NodeId id) {
    if (is_read[id]) return;
    is_read[id] = true;
    open.push_back(id);
  };
  for (const Value v : outputs_) read(v.node);
  for (NodeId id = 0; id < items_.size(); ++id)
    if (items_[id].is_alive && items_[id].is_kept_alive) read(id);
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    for (const Value v : items_[id].inputs)
      if (v.exists()) read(v.node);
  }
  std::vector<NodeId> dead;
  for (NodeId id = 0; id < items_.size(); ++id)
    if (items_[id].is_alive && !is_read[id]) dead.push_back(id);
  settle(dead, cones);
  for (const NodeId id : dead) forget(id);
  // The names of the model's outputs stay.
  for (const auto& [value, name] : kept_names_)
    if (!names_.contains(name) && items_[value.node].is_operator) rename(value, name);
  kept_names_.clear();
}

void Outline::settle(const std::vector<NodeId>& dead, const std::unordered_map<NodeId, std::size_t>& cones) {
  std::unordered_map<NodeId, std::size_t> by_reader;
  // Programs stand behind what they read, but for what they replace: readers are found first, mostly.
  for (const NodeId id : std::ranges::reverse_view(dead)) {
    OutlineItem& item = items_[id];
    if (const auto cone = cones.find(id); cone != cones.end()) {
      if (item.region) unions.join(cone->second, *item.region);
      else item.region = cone->second;
    }
    if (!item.region)
      if (const auto reader = by_reader.find(id); reader != by_reader.end()) item.region = reader->second;
    if (!item.region && item.is_operator) {
      if (!folded) folded = unions.add();
      item.region = folded;
    }
    if (!item.region) continue;
    for (const Value v : item.inputs)
      if (v.exists()) by_reader.try_emplace(v.node, *item.region);
  }
}

void Outline::forget(NodeId id) {
  items_[id].is_alive = false;
  for (std::uint32_t k = 0; k < items_[id].outputs.size(); ++k)
    if (const auto at = names_.find(items_[id].outputs[k]); at != names_.end() && at->second == Value{id, k})
      names_.erase(at);
}

void Outline::rename(Value value, const std::string& name) {
  std::string& now = items_[value.node].outputs[value.output];
  if (const auto at = names_.find(now); at != names_.end() && at->second == value) names_.erase(at);
  now = name;
  names_[name] = value;
}

}  // namespace isomer
