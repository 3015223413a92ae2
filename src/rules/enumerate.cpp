#include "rules/enumerate.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <deque>
#include <thread>

#include "eval/field.h"
#include "eval/program.h"
#include "graph/constant.h"
#include "graph/infer.h"
#include "graph/text.h"
#include "rules/rule_text.h"

namespace isomer::rules {
namespace {

constexpr std::uint64_t kKey = 20;         // of all that is drawn
constexpr std::size_t kChunk = 1u << 14u;  // terms that are computed together
constexpr std::size_t kArena = 1u << 20u;  // numbers that are allocated together
constexpr int kInstances = 2;

// Inputs in the order of their first use, six bits each, from the lowest on; number + 1, so that 0 is the
// end.
using Uses = std::uint64_t;
constexpr int kBits = 6;

Uses with(Uses uses, Uses more) {
  for (; more != 0; more >>= kBits) {
    const Uses input = more & 63u;
    int place = 0;
    while ((uses >> place & 63u) != 0 && (uses >> place & 63u) != input) place += kBits;
    uses |= input << place;
  }
  return uses;
}

// Data that nothing moves, in large pieces.
class Arena {
 public:
  const std::uint64_t* add(std::span<const std::uint64_t> data) {
    if (pieces_.empty() || used_ + data.size() > kArena) {
      pieces_.push_back(std::make_unique<std::uint64_t[]>(std::max(kArena, data.size())));
      used_ = 0;
    }
    std::uint64_t* out = pieces_.back().get() + used_;
    std::ranges::copy(data, out);
    used_ += data.size();
    return out;
  }

 private:
  std::vector<std::unique_ptr<std::uint64_t[]>> pieces_;
  std::size_t used_ = 0;
};

struct Shape {
  Role role = Role::Data;
  std::array<Extents, kInstances> extents;
  std::array<Dims, kInstances> dims;
  std::array<std::size_t, kInstances> counts{};  // of elements
};

// A word at given shapes, compiled.
struct Plan {
  std::array<Program, kInstances> programs;
  std::array<std::vector<std::optional<Tensor>>, kInstances>
      inputs;  // with constants; operands to be filled in
  std::size_t output = 0;
  std::uint32_t shape = 0;
};

// An image that is one pixel high or wide in one instance only is an accident, of which windows see too much.
bool is_accident(const Shape& s) {
  for (std::size_t axis = 2; axis < s.extents[0].size(); ++axis)
    if ((s.extents[0][axis] == 1) != (s.extents[1][axis] == 1)) return true;
  return false;
}

struct ValueEntry {
  Term term;
  std::uint32_t shape = 0;
  Uses uses = 0;
  const std::uint64_t* data = nullptr;  // both instances; nullptr: not kept
};

using Numbers = std::vector<std::uint64_t>;

}  // namespace

struct Enumeration::State {
  explicit State(Words& w) : words(w) {}

  Words& words;
  std::vector<WordId> word_ids;  // of the vocabulary
  std::vector<Shape> shapes;
  std::map<std::pair<int, std::array<Extents, kInstances>>, std::uint32_t> shape_ids;
  std::vector<ValueEntry> values;
  std::vector<TermId> inputs;                                        // values that are inputs
  std::vector<std::map<std::uint32_t, std::vector<TermId>>> levels;  // by operators, then by shape
  std::unordered_map<Term, TermId, TermHash> classes;                // of terms seen
  std::unordered_map<Digest, TermId> by_digest;
  std::unordered_map<std::uint64_t, std::unique_ptr<Plan>> plans;  // nullptr: not well formed
  std::vector<Uses> first_of_family;
  Arena arena;

  std::uint32_t shape_id(Role role, std::array<Extents, kInstances> extents) {
    const auto [at, is_new] = shape_ids.emplace(std::pair(static_cast<int>(role), extents),
                                                static_cast<std::uint32_t>(shapes.size()));
    if (is_new) {
      Shape& s = shapes.emplace_back();
      s.role = role;
      s.extents = std::move(extents);
      for (int k = 0; k < kInstances; ++k) {
        s.dims[k] = to_dims(s.extents[k]);
        s.counts[k] = static_cast<std::size_t>(*element_count(s.extents[k]));
      }
    }
    return at->second;
  }

  TermId add_value(const Term& term, std::uint32_t shape, Uses uses, const Numbers* data) {
    const auto id = static_cast<TermId>(values.size());
    values.push_back({.term = term, .shape = shape, .uses = uses, .data = data ? arena.add(*data) : nullptr});
    return id;
  }

  Digest digest_of(std::uint32_t shape, const Numbers& data) const {
    return Hasher().add(static_cast<std::uint64_t>(shape)).add_bytes(data.data(), data.size() * 8).digest();
  }

  void add_inputs() {
    levels.emplace_back();
    for (const Family& family : families()) {
      const std::uint32_t shape = shape_id(family.role, family.extents);
      first_of_family.push_back(inputs.size());
      for (int i = 0; i < family.count; ++i) {
        Numbers data;
        const std::uint64_t number = inputs.size();
        for (int k = 0; k < kInstances; ++k)
          for (std::size_t e = 0; e < shapes[shape].counts[k]; ++e)
            data.push_back(mix(mix(kKey + (number << 32u) + static_cast<std::uint64_t>(k)) + e) %
                           Zp::kModulus);
        const TermId id = add_value(Term::variable(static_cast<TermId>(number)), shape, number + 1, &data);
        by_digest.emplace(digest_of(shape, data), id);
        levels[0][shape].push_back(id);
        inputs.push_back(id);
      }
    }
  }

  std::size_t family_of(Uses input) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(first_of_family, input) -
                                    first_of_family.begin() - 1);
  }
  // Whether inputs of every family are used in order, beginning with its first.
  bool is_in_order(Uses uses) const {
    std::array<Uses, 16> next{};
    for (; uses != 0; uses >>= kBits) {
      const Uses input = (uses & 63u) - 1;
      const std::size_t family = family_of(input);
      if (input != first_of_family[family] + next[family]++) return false;
    }
    return true;
  }
  // Whether the inputs are the first ones of their families, in any order: all others are renamings.
  bool are_first(Uses uses) const {
    std::array<Uses, 16> count{}, last{};
    for (; uses != 0; uses >>= kBits) {
      const Uses input = (uses & 63u) - 1;
      const std::size_t family = family_of(input);
      last[family] = std::max(last[family], input - first_of_family[family] + 1);
      ++count[family];
    }
    return count == last;
  }
  Uses uses_of(const Term& t) const {
    Uses uses = 0;
    for (std::size_t k = 0; k < t.count; ++k) uses = with(uses, values[t.operands[k]].uses);
    return uses;
  }

  const Plan* plan(std::size_t choice, std::uint32_t a, std::optional<std::uint32_t> b) {
    const std::uint64_t key = (choice << 48u) + (std::uint64_t{a} << 24u) + (b ? *b + 1 : 0);
    const auto [at, is_new] = plans.emplace(key, nullptr);
    if (is_new) {
      auto made = make_plan(choice, a, b);
      plans[key] = std::move(made);
      return plans[key].get();
    }
    return at->second.get();
  }

  std::unique_ptr<Plan> make_plan(std::size_t choice, std::uint32_t a, std::optional<std::uint32_t> b) {
    const Choice& c = vocabulary()[choice];
    const Role role = shapes[a].role;
    if (c.takes_weight) {
      if (role != Role::Data || shapes[*b].role != Role::Weight) return nullptr;
      if (c.kernel != 0 && shapes[*b].extents[0][2] != c.kernel) return nullptr;
    } else if (!c.on[static_cast<std::size_t>(role)] || (b && shapes[*b].role != role)) {
      return nullptr;
    }
    // What can be stretched over the other one is another law for every shape: operands are of one shape.
    if (b && c.word.is_elementwise() && shapes[a].extents != shapes[*b].extents) return nullptr;
    if (!c.word.is_elementwise() && is_accident(shapes[a])) return nullptr;
    auto out = std::make_unique<Plan>();
    std::array<Extents, kInstances> result;
    for (int k = 0; k < kInstances; ++k) {
      const auto type = [&](std::uint32_t shape) {
        return fmt::format("float{}", text(shapes[shape].dims[k]));
      };
      std::vector<Term> terms{Term::variable(0)};
      Term top{.word = word_ids[choice], .count = 1, .operands = {0, kNoTerm}};
      std::string given = type(a) + " x";
      if (b) {
        terms.push_back(Term::variable(1));
        top = {.word = word_ids[choice], .count = 2, .operands = {0, 1}};
        given += ", " + type(*b) + " y";
      }
      terms.push_back(top);
      const std::string body = body_text(words, terms, {"x", "y"});
      const std::size_t arrow = body.rfind(" => ");
      const auto graph =
          parse_graph(fmt::format("<ir_version: 8, opset_import: [\"\" : 18]> g ({}) => ({}) {}", given,
                                  body.substr(arrow + 4), body.substr(0, arrow)));
      ISOMER_CHECK(graph.ok());
      const auto info = infer(*graph);
      if (!info.ok()) return nullptr;
      const Value value = graph->outputs()[0];
      if (info->opaque.contains(value.node)) return nullptr;
      const Definition definition = define_node(*graph, *info, value.node);
      const auto* formula = std::get_if<Formula>(&definition);
      if (formula == nullptr) return nullptr;
      const auto shape = concrete_shape(info->of(value));
      if (!shape || element_count(*shape).value_or(0) == 0) return nullptr;
      // Halves are equal.
      for (const ValueInfo& sibling : info->values.at(value.node))
        if (sibling.shape != info->of(value).shape) return nullptr;
      result[k] = *shape;
      out->programs[k] = Program::compile(lift(*formula, ElementType::Field));
      out->output = value.output;
      for (std::size_t i = 0; i < formula->inputs.size(); ++i) {
        auto& input = out->inputs[k].emplace_back();
        const Node& node = graph->node(value.node);
        if (!formula->inputs[i] || !node.inputs[i].exists()) continue;
        if (const auto tensor = known_constant(*graph, node.inputs[i]))
          input = is_float(tensor->type()) ? convert(*tensor, ElementType::Field) : *tensor;
      }
    }
    out->shape = shape_id(role, result);
    return out;
  }

  // Both instances; empty: the program does not run.
  Numbers compute(const Plan& plan, const Term& term) const {
    Numbers out;
    for (int k = 0; k < kInstances; ++k) {
      auto inputs_here = plan.inputs[k];
      for (std::size_t i = 0; i < term.count; ++i) {
        const ValueEntry& v = values[term.operands[i]];
        const Shape& s = shapes[v.shape];
        const std::uint64_t* data = v.data + (k == 0 ? 0 : s.counts[0]);
        inputs_here[i] = Tensor(ElementType::Field, s.extents[k],
                                Bytes{.owner = nullptr,
                                      .data = reinterpret_cast<const std::byte*>(data),
                                      .size = s.counts[k] * sizeof(std::uint64_t)});
      }
      const auto results = plan.programs[k].run(inputs_here, kKey);
      if (!results.ok()) return {};
      const auto numbers = (*results)[plan.output].as<std::uint64_t>();
      out.insert(out.end(), numbers.begin(), numbers.end());
    }
    return out;
  }

  // The class of an equation's other side; kNoTerm: it has not been seen.
  TermId class_of(const Side& side, const Match& match) const {
    std::vector<TermId> to;
    for (const Term& t : side.terms) {
      if (t.word == kVariable) {
        to.push_back(match.variables[t.operands[0]]);
        continue;
      }
      Term here = t;
      for (std::size_t k = 0; k < t.count; ++k) here.operands[k] = to[t.operands[k]];
      if (here.count == 2 && here.operands[1] < here.operands[0] && words.of(t.word).is_commutative())
        std::swap(here.operands[0], here.operands[1]);
      const auto at = classes.find(here);
      if (at == classes.end()) return kNoTerm;
      to.push_back(at->second);
    }
    return to.back();
  }
};

namespace {

bool is_uniform(const Numbers& data) {
  return std::ranges::all_of(data, [&](std::uint64_t v) { return v == data[0]; });
}

struct Job {
  Term term;
  const Plan* plan = nullptr;
  Uses uses = 0;
  Numbers data;
  Digest digest;
};

}  // namespace

Enumeration::Enumeration(Words& words) : state_(std::make_unique<State>(words)) {
  for (const Choice& c : vocabulary()) state_->word_ids.push_back(words.add(c.word));
  state_->add_inputs();
}
Enumeration::~Enumeration() = default;

const Term& Enumeration::at(TermId id) const { return state_->values[id].term; }
const Dims& Enumeration::shape(TermId id, int instance) const {
  return state_->shapes[state_->values[id].shape].dims[static_cast<std::size_t>(instance)];
}

bool Enumeration::is_weight(TermId id) const {
  return state_->shapes[state_->values[id].shape].role == Role::Weight;
}

std::string_view Enumeration::input_letter(TermId input) const {
  return families()[state_->family_of(at(input).operands[0])].letter;
}

Side Enumeration::side_of(const Term& top, std::vector<TermId>& inputs, int instance) const {
  Side side;
  std::map<TermId, TermId> known;
  const std::function<TermId(const Term&, TermId, const Dims&)> add = [&](const Term& t, TermId id,
                                                                          const Dims& shape) {
    if (const auto at = known.find(id); at != known.end()) return at->second;
    Term here = t;
    if (t.word == kVariable) {
      const TermId input = state_->inputs[t.operands[0]];
      auto at = std::ranges::find(inputs, input);
      if (at == inputs.end()) at = inputs.insert(at, input);
      here = Term::variable(static_cast<TermId>(at - inputs.begin()));
    } else {
      for (std::size_t k = 0; k < t.count; ++k)
        here.operands[k] = add(this->at(t.operands[k]), t.operands[k], this->shape(t.operands[k], instance));
    }
    side.terms.push_back(here);
    side.shapes.push_back(shape);
    const auto out = static_cast<TermId>(side.terms.size() - 1);
    if (id != kNoTerm) known.emplace(id, out);
    return out;
  };
  add(top, kNoTerm, {});
  return side;
}

std::vector<Candidate> Enumeration::next_level(const EquationIndex& known, bool is_last,
                                               const EnumerateOptions& options) {
  State& s = *state_;
  const std::size_t size = s.levels.size();
  counts_ = {};
  std::vector<Candidate> candidates;
  std::map<std::uint32_t, std::vector<TermId>> made;
  std::vector<Job> chunk;

  const auto insert = [&](Job& job) {
    if (job.data.empty()) return;
    const std::uint32_t shape = job.plan->shape;
    const auto at = s.by_digest.find(job.digest);
    if (at != s.by_digest.end()) {
      const ValueEntry& v = s.values[at->second];
      Numbers other;
      if (v.data != nullptr) {
        other.assign(v.data, v.data + s.shapes[v.shape].counts[0] + s.shapes[v.shape].counts[1]);
      } else {
        const auto choice =
            static_cast<std::size_t>(std::ranges::find(s.word_ids, v.term.word) - s.word_ids.begin());
        const auto second =
            v.term.count == 2 ? std::optional(s.values[v.term.operands[1]].shape) : std::nullopt;
        other = s.compute(*s.plan(choice, s.values[v.term.operands[0]].shape, second), v.term);
      }
      if (v.shape == shape && other == job.data) {
        if (!is_last) s.classes.emplace(job.term, at->second);
        ++counts_.candidates;
        // One of the pairs that are renamings of each other: one in which either side uses inputs in order.
        const Uses uses = with(job.uses, v.uses);
        if (s.is_in_order(uses) || s.is_in_order(with(v.uses, job.uses)))
          candidates.push_back(
              {job.term, at->second, (static_cast<int>(std::bit_width(uses)) + kBits - 1) / kBits});
        else ++counts_.renamings;
        return;
      }
    }
    const TermId id = s.add_value(job.term, shape, job.uses, is_last ? nullptr : &job.data);
    s.by_digest.emplace(job.digest, id);
    if (!is_last) s.classes.emplace(job.term, id);
    // Nothing is made of what is one number everywhere, such as x - x.
    if (!is_uniform(job.data)) made[shape].push_back(id);
    ++counts_.values;
  };

  const auto flush = [&] {
    if (chunk.empty()) return;
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
      constexpr std::size_t kBatch = 64;
      for (std::size_t i = next.fetch_add(kBatch); i < chunk.size(); i = next.fetch_add(kBatch))
        for (std::size_t k = i; k < std::min(i + kBatch, chunk.size()); ++k) {
          chunk[k].data = s.compute(*chunk[k].plan, chunk[k].term);
          chunk[k].digest = s.digest_of(chunk[k].plan->shape, chunk[k].data);
        }
    };
    {
      std::vector<std::jthread> threads;
      for (int i = 1; i < options.threads; ++i) threads.emplace_back(work);
      work();
    }
    counts_.computed += chunk.size();
    for (Job& job : chunk) insert(job);
    chunk.clear();
    if (options.progress) options.progress(counts_);
  };

  const auto consider = [&](const Plan& plan, const Term& term) {
    if (counts_.terms >= options.most_terms) {
      ++counts_.left_out;
      return;
    }
    ++counts_.terms;
    const Uses uses = s.uses_of(term);
    if (is_last && !s.are_first(uses)) {
      ++counts_.renamings;
      return;
    }
    const bool is_known = known.find(*this, term, [&](const Equation& e, const Match& match) {
      const TermId there = s.class_of(e.to, match);
      if (there == kNoTerm) return false;
      if (!is_last) s.classes.emplace(term, there);
      return true;
    });
    if (is_known) {
      ++counts_.derived;
      return;
    }
    chunk.push_back({.term = term, .plan = &plan, .uses = uses, .data = {}, .digest = {}});
    if (chunk.size() == kChunk) flush();
  };

  for (std::size_t c = 0; c < vocabulary().size(); ++c) {
    const Word& word = vocabulary()[c].word;
    if (!options.only.empty() && std::ranges::find(options.only, word.op) == options.only.end()) continue;
    if (word.operands == 1) {
      if (vocabulary()[c].of_inputs_only && size > 1) continue;
      for (const auto& [shape, ids] : s.levels[size - 1])
        if (const Plan* plan = s.plan(c, shape, std::nullopt))
          for (const TermId id : ids) {
            if (options.stop.stop_requested()) return {};
            consider(*plan, {.word = s.word_ids[c], .count = 1, .operands = {id, kNoTerm}});
          }
      continue;
    }
    for (std::size_t left = 0; left < size; ++left)
      for (const auto& [a, a_ids] : s.levels[left])
        for (const auto& [b, b_ids] : s.levels[size - 1 - left]) {
          const Plan* plan = s.plan(c, a, b);
          if (plan == nullptr) continue;
          for (const TermId x : a_ids) {
            if (options.stop.stop_requested()) return {};
            for (const TermId y : b_ids)
              if (!word.is_commutative() || x <= y)
                consider(*plan, {.word = s.word_ids[c], .count = 2, .operands = {x, y}});
          }
        }
  }
  flush();
  s.levels.push_back(std::move(made));
  return candidates;
}

}  // namespace isomer::rules
