#include "report/lineage.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <unordered_map>

namespace isomer {
namespace {

// Sets of regions that turned out to be one.
class Unions {
 public:
  std::size_t add() {
    parent_.push_back(parent_.size());
    return parent_.size() - 1;
  }
  std::size_t find(std::size_t x) {
    while (parent_[x] != x) x = parent_[x] = parent_[parent_[x]];
    return x;
  }
  void join(std::size_t a, std::size_t b) { parent_[find(b)] = find(a); }

 private:
  std::vector<std::size_t> parent_;
};

using Region = std::optional<std::size_t>;

// A node of the graph as it is now, or was.
struct Item {
  bool is_operator = false;
  bool is_kept_alive = false;  // it has no output that anybody could read
  std::vector<Value> inputs;   // of items; captures, too
  std::vector<std::string> outputs;
  std::optional<NodeId> original = {};  // of IN
  Region region = {};                   // that made it, or that it died in
  bool is_alive = true;
};

// The graph under the certificate's steps, as names and wiring.
class Outline {
 public:
  explicit Outline(const Graph& in) {
    std::unordered_map<NodeId, NodeId> items;
    for (const NodeId id : in.order()) {
      Item item = item_of(in.node(id), [&](Value v) { return Value{items.at(v.node), v.output}; });
      item.original = id;
      items.emplace(id, add(std::move(item)));
    }
    for (const Value v : in.outputs()) outputs_.push_back({items.at(v.node), v.output});
  }

  // Replacements that follow one another are all about the graph before the first of them.
  void replace(const std::vector<const Claim*>& claims) {
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

  void fold(const std::vector<std::string>& values) {
    std::map<Value, Value> replaced;
    for (const std::string& name : values) {
      const auto at = names_.find(name);
      if (at == names_.end()) continue;
      Item constant;
      constant.outputs = {name + std::string(kFoldedSuffix)};
      replaced.emplace(at->second, Value{add(std::move(constant)), 0});
    }
    redirect(replaced);
    bury({});
  }

  const std::vector<Item>& items() const { return items_; }
  const std::vector<std::size_t>& claims() const { return claims_; }  // the region that each one made
  Unions unions;
  Region folded;  // region of what was computed beforehand and belongs to no replacement

 private:
  template <class Move>
  static Item item_of(const Node& node, const Move& move) {
    Item item;
    item.is_operator = node.kind == NodeKind::Operator;
    item.outputs = node.outputs;
    for (const auto* values : {&node.inputs, &node.captures})
      for (const Value v : *values) item.inputs.push_back(v.exists() ? move(v) : v);
    item.is_kept_alive = node.kind == NodeKind::Input ||
                         std::ranges::all_of(node.outputs, [](const std::string& o) { return o.empty(); });
    return item;
  }

  NodeId add(Item item) {
    const auto id = static_cast<NodeId>(items_.size());
    for (std::uint32_t k = 0; k < item.outputs.size(); ++k)
      if (!item.outputs[k].empty()) names_.insert_or_assign(item.outputs[k], Value{id, k});
    items_.push_back(std::move(item));
    return id;
  }

  // What computes the claim's outputs from its inputs.
  void mark_cone(const Claim& claim, std::size_t region, std::unordered_map<NodeId, std::size_t>& cones) {
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

  void add_program(const Claim& claim, std::size_t region, std::map<Value, Value>& replaced,
                   std::vector<std::pair<Value, std::string>>& names) {
    const Graph& program = claim.after;
    std::unordered_map<NodeId, Value> firsts;  // output 0 of each node of the program
    const auto move = [&](Value v) {
      const auto at = firsts.find(v.node);
      return at == firsts.end() || !at->second.exists()
                 ? Value::none()
                 : Value{at->second.node, at->second.output + v.output};
    };
    for (const NodeId id : program.order()) {
      const Node& node = program.node(id);
      if (node.kind == NodeKind::Input) {
        const auto at = names_.find(node.outputs[0]);
        firsts.emplace(id, at == names_.end() ? Value::none() : at->second);
        continue;
      }
      Item item = item_of(node, move);
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

  void redirect(const std::map<Value, Value>& replaced) {
    if (replaced.empty()) return;
    const auto end_of = [&](Value v) {
      for (std::size_t k = 0; k <= replaced.size(); ++k) {
        const auto at = replaced.find(v);
        if (at == replaced.end()) break;
        v = at->second;
      }
      return v;
    };
    for (Item& item : items_)
      for (Value& v : item.inputs) v = end_of(v);
    for (Value& v : outputs_) {
      const Value now = end_of(v);
      if (now == v) continue;
      kept_names_.emplace_back(now, items_[v.node].outputs[v.output]);
      v = now;
    }
  }

  // What nothing reads any more is gone: with the replacement that it was computed for, or with its readers.
  void bury(const std::unordered_map<NodeId, std::size_t>& cones) {
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

  void settle(const std::vector<NodeId>& dead, const std::unordered_map<NodeId, std::size_t>& cones) {
    std::unordered_map<NodeId, std::size_t> by_reader;
    // Programs stand behind what they read, but for what they replace: readers are found first, mostly.
    for (const NodeId id : std::ranges::reverse_view(dead)) {
      Item& item = items_[id];
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

  void forget(NodeId id) {
    items_[id].is_alive = false;
    for (std::uint32_t k = 0; k < items_[id].outputs.size(); ++k)
      if (const auto at = names_.find(items_[id].outputs[k]);
          at != names_.end() && at->second == Value{id, k})
        names_.erase(at);
  }

  void rename(Value value, const std::string& name) {
    std::string& now = items_[value.node].outputs[value.output];
    if (const auto at = names_.find(now); at != names_.end() && at->second == value) names_.erase(at);
    now = name;
    names_[name] = value;
  }

  std::vector<Item> items_;
  std::vector<Value> outputs_;
  std::unordered_map<std::string, Value> names_;
  std::vector<std::pair<Value, std::string>> kept_names_;
  std::vector<std::size_t> claims_;
};

bool is_operator(const Graph& graph, NodeId id) { return graph.node(id).kind == NodeKind::Operator; }

std::unordered_map<std::string, NodeId> makers_of(const Graph& graph) {
  std::unordered_map<std::string, NodeId> out;
  for (const NodeId id : graph.order())
    if (is_operator(graph, id))
      for (const std::string& name : graph.node(id).outputs)
        if (!name.empty()) out.emplace(name, id);
  return out;
}

// Which region each operator of both graphs is in; those that are in none are kept.
struct Placed {
  std::unordered_map<NodeId, std::size_t> before, after;
  std::vector<std::pair<NodeId, NodeId>> kept;
};

const std::string* first_name(const std::vector<std::string>& names) {
  const auto at = std::ranges::find_if(names, [](const std::string& n) { return !n.empty(); });
  return at == names.end() ? nullptr : &*at;
}

Placed placed_by_steps(const Graph& in, const Graph& out, Outline& outline) {
  Placed placed;
  const auto makers = makers_of(out);
  for (const Item& item : outline.items()) {
    if (!item.is_operator) continue;
    if (!item.is_alive) {
      if (item.original && item.region)
        placed.before.emplace(*item.original, outline.unions.find(*item.region));
      continue;
    }
    const std::string* name = first_name(item.outputs);
    const auto at = name ? makers.find(*name) : makers.end();
    if (at == makers.end()) continue;
    if (item.region) placed.after.emplace(at->second, outline.unions.find(*item.region));
    else if (item.original && in.node(*item.original).op == out.node(at->second).op)
      placed.kept.emplace_back(*item.original, at->second);
  }
  return placed;
}

// Nodes that the steps don't explain (all that changed, in a certificate of `isomer prove`): those with an
// output of the same name are the same, others go with what they read or are read by.
void place_rest(const Graph& in, const Graph& out, Unions& unions, Placed& placed) {
  std::set<NodeId> kept_in, kept_out;
  for (const auto& [a, b] : placed.kept) {
    kept_in.insert(a);
    kept_out.insert(b);
  }
  const auto makers = makers_of(out);
  for (const NodeId id : in.order()) {
    if (!is_operator(in, id) || placed.before.contains(id) || kept_in.contains(id)) continue;
    const std::string* name = first_name(in.node(id).outputs);
    const auto at = name ? makers.find(*name) : makers.end();
    if (at == makers.end() || placed.after.contains(at->second) || kept_out.contains(at->second) ||
        out.node(at->second).op != in.node(id).op)
      continue;
    placed.kept.emplace_back(id, at->second);
    kept_in.insert(id);
    kept_out.insert(at->second);
  }
  std::map<std::string, std::size_t> by_name;  // of what a region without steps makes
  const auto place = [&](const Graph& graph, const std::set<NodeId>& kept,
                         std::unordered_map<NodeId, std::size_t>& regions) {
    for (const NodeId id : graph.order()) {
      if (!is_operator(graph, id) || kept.contains(id)) continue;
      auto at = regions.find(id);
      const bool is_explained = at != regions.end();
      for (const Value v : graph.node(id).inputs) {
        const auto source = v.exists() ? regions.find(v.node) : regions.end();
        if (is_explained || source == regions.end()) continue;
        if (at == regions.end()) at = regions.emplace(id, source->second).first;
        else unions.join(at->second, source->second);
      }
      if (at == regions.end()) at = regions.emplace(id, unions.add()).first;
      if (is_explained) continue;
      for (const std::string& name : graph.node(id).outputs)
        if (!name.empty())
          if (const auto [same, is_new] = by_name.emplace(name, at->second); !is_new)
            unions.join(same->second, at->second);
    }
  };
  place(in, kept_in, placed.before);
  place(out, kept_out, placed.after);
}

Lineage gathered(const Graph& in, const Graph& out, Outline& outline, const Placed& placed) {
  Unions& unions = outline.unions;
  Lineage lineage;
  std::map<std::size_t, std::size_t> numbers;
  const auto region = [&](std::size_t r) -> ChangedRegion& {
    const auto [at, is_new] = numbers.emplace(unions.find(r), lineage.changed.size());
    if (is_new) lineage.changed.emplace_back();
    return lineage.changed[at->second];
  };
  for (const NodeId id : in.order())
    if (const auto at = placed.before.find(id); at != placed.before.end())
      region(at->second).before.push_back(id);
  for (const NodeId id : out.order())
    if (const auto at = placed.after.find(id); at != placed.after.end())
      region(at->second).after.push_back(id);
  for (std::size_t k = 0; k < outline.claims().size(); ++k)
    if (const auto at = numbers.find(unions.find(outline.claims()[k])); at != numbers.end())
      lineage.changed[at->second].claims.push_back(k);
  std::map<NodeId, NodeId> kept(placed.kept.begin(), placed.kept.end());
  for (const NodeId id : in.order())
    if (const auto at = kept.find(id); at != kept.end()) lineage.kept.emplace_back(*at);
  return lineage;
}

}  // namespace

Lineage lineage_of(const Graph& in, const Graph& out, const Certificate& certificate) {
  Outline outline(in);
  for (std::size_t at = 0; at < certificate.steps.size();) {
    std::vector<const Claim*> claims;
    for (; at < certificate.steps.size(); ++at) {
      const auto* claim = std::get_if<Claim>(&certificate.steps[at]);
      if (claim == nullptr) break;
      claims.push_back(claim);
    }
    if (!claims.empty()) outline.replace(claims);
    if (at < certificate.steps.size()) outline.fold(std::get<FoldStep>(certificate.steps[at++]).values);
  }
  Placed placed = placed_by_steps(in, out, outline);
  place_rest(in, out, outline.unions, placed);
  return gathered(in, out, outline, placed);
}

std::vector<Note> notes_of_claims(const Certificate& certificate) {
  const auto only_folds = [](const Note& note) {
    return note.kind == "simplify" &&
           (note.what == "constants" || note.what.ends_with(" values are known before anything runs"));
  };
  std::vector<Note> out;
  for (const Note& note : certificate.notes)
    if (note.kind != "measured" && !only_folds(note)) out.push_back(note);
  const auto claims = std::ranges::count_if(
      certificate.steps, [](const CertifiedStep& s) { return std::holds_alternative<Claim>(s); });
  if (out.size() != static_cast<std::size_t>(claims)) out.clear();
  return out;
}

}  // namespace isomer
