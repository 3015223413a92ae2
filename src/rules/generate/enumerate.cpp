#include "rules/generate/enumerate.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <numeric>
#include <thread>

#include "model/eval/field.h"
#include "rules/generate/word_program.h"

namespace isomer::rules {
namespace {

constexpr std::size_t kChunk = 1u << 13u;  // terms that are computed together
constexpr std::size_t kMostTwins = 2;      // of one value; few have any
constexpr std::size_t kMostRoots = 8;      // terms that equations make of one, on the way to a known one
constexpr std::size_t kArena = 1u << 20u;  // numbers that are allocated together

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

struct ValueEntry {
  Term term;
  ShapeId shape = 0;
  Uses uses = 0;
  const std::uint64_t* data = nullptr;  // both instances
};
// The value of a term that has been seen. `settled`: known equations turn the term into the
// representative, or it is the representative. Other terms are equal where they were computed, and no more is
// known.
struct Class {
  TermId value = kNoTerm;
  bool is_settled = false;
};
using Classes = std::unordered_map<Term, Class, TermHash>;
using ByShape = std::map<ShapeId, std::vector<TermId>>;

Digest digest_of(ShapeId shape, const Numbers& data) {
  return Hasher().add(static_cast<std::uint64_t>(shape)).add_bytes(data.data(), data.size() * 8).digest();
}

bool is_uniform(const Numbers& data) {
  return std::ranges::all_of(data, [&](std::uint64_t v) { return v == data[0]; });
}

}  // namespace

struct Enumeration::State {
  explicit State(Words& w) : words(w), programs(w) { add_inputs(); }

  Words& words;
  WordPrograms programs;
  std::vector<ValueEntry> values;
  std::vector<TermId> inputs;   // values that are inputs
  std::vector<ByShape> levels;  // by operators
  Classes classes;
  std::vector<Term> unsettled;  // of the last level
  // Unsettled terms of a value: equal to the representative where they were computed, and perhaps nowhere
  // else. Equal terms are compared with these too.
  std::unordered_map<TermId, std::vector<Term>> twins;
  std::unordered_map<Digest, TermId> by_digest;
  std::vector<Uses> first_of_family;
  Arena arena;

  TermId add_value(const Term& term, ShapeId shape, Uses uses, const std::uint64_t* data) {
    const auto id = static_cast<TermId>(values.size());
    values.push_back({.term = term, .shape = shape, .uses = uses, .data = data});
    return id;
  }

  void add_inputs() {
    levels.emplace_back();
    for (const Family& family : families()) {
      const ShapeId shape = programs.shape_id(family.role, family.extents);
      first_of_family.push_back(inputs.size());
      for (int i = 0; i < family.count; ++i) {
        Numbers data;
        const std::uint64_t number = inputs.size();
        for (std::size_t k = 0; k < kInstances; ++k)
          for (std::size_t e = 0; e < programs.shape(shape).counts[k]; ++e)
            data.push_back(mix(mix(kFieldKey + (number << 32u) + k) + e) % Zp::kModulus);
        const TermId id =
            add_value(Term::variable(static_cast<TermId>(number)), shape, number + 1, arena.add(data));
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
  // Inputs that come before one that is used, and are not used. Without any, the inputs are the first ones of
  // their families, in any order: all others are renamings. An operator can fill one gap.
  int gaps(Uses uses) const {
    std::array<Uses, 16> last{};
    int count = 0;
    for (; uses != 0; uses >>= kBits) {
      const Uses input = (uses & 63u) - 1;
      const std::size_t family = family_of(input);
      last[family] = std::max(last[family], input - first_of_family[family] + 1);
      --count;
    }
    return std::accumulate(last.begin(), last.end(), count,
                           [](int n, Uses u) { return n + static_cast<int>(u); });
  }
  Uses uses_of(const Term& t) const {
    Uses uses = 0;
    for (std::size_t k = 0; k < t.count; ++k) uses = with(uses, values[t.operands[k]].uses);
    return uses;
  }

  WordPrograms::Operands operands_of(const Term& term) const {
    WordPrograms::Operands out;
    for (std::size_t i = 0; i < term.count; ++i) {
      const ValueEntry& v = values[term.operands[i]];
      out[i] = {.shape = v.shape, .data = v.data};
    }
    return out;
  }
  bool is_value(const ValueEntry& v, ShapeId shape, const Numbers& data) const {
    return v.shape == shape && std::equal(data.begin(), data.end(), v.data);
  }

  // An equation's other side over values; nullopt: a part of it has not been seen, or is unsettled.
  std::optional<Term> term_of(const Side& side, const std::vector<TermId>& variables) const {
    std::vector<TermId> to;
    for (const Term& t : side.terms) {
      if (t.word == kVariable) {
        to.push_back(variables[t.operands[0]]);
        continue;
      }
      Term here = t;
      for (std::size_t k = 0; k < t.count; ++k) here.operands[k] = to[t.operands[k]];
      if (here.count == 2 && here.operands[1] < here.operands[0] && words.of(t.word).is_commutative())
        std::swap(here.operands[0], here.operands[1]);
      if (&t == &side.terms.back()) return here;
      const auto at = classes.find(here);
      if (at == classes.end() || !at->second.is_settled) return std::nullopt;
      to.push_back(at->second.value);
    }
    return std::nullopt;
  }

  // The first of the terms that known equations make of one, in a few steps at its root, that `is_known`
  // answers true for.
  template <class IsKnown>
  bool finds(const Enumeration& all, const EquationIndex& known, const Term& term,
             const IsKnown& is_known) const {
    std::vector<Term> roots{term};
    const auto visit = [&](const Equation& e, const std::vector<TermId>& variables) {
      const Term& top = e.to.terms.back();
      if (top.word == kVariable) return is_known(values[variables[top.operands[0]]].term);
      const auto made = term_of(e.to, variables);
      if (!made) return false;
      if (is_known(*made)) return true;
      if (roots.size() < kMostRoots && std::ranges::find(roots, *made) == roots.end()) roots.push_back(*made);
      return false;
    };
    for (std::size_t next = 0; next < roots.size();) {
      const Term root = roots[next++];  // a copy: there may be more of them afterwards
      if (known.find_general(all, root, visit)) return true;
    }
    return false;
  }
  // The value of a term that is `settled`; kNoTerm: it is not.
  TermId settled_value(const Classes& seen, const Term& term) const {
    if (term.word == kVariable) return inputs[term.operands[0]];
    const auto at = seen.find(term);
    return at == seen.end() || !at->second.is_settled ? kNoTerm : at->second.value;
  }
};

// One level: terms are considered one by one, computed in chunks, and taken in in their order.
class Enumeration::Level {
 public:
  Level(Enumeration& all, const EquationIndex& known, int levels_left, const EnumerateOptions& options)
      : all_(all),
        s_(*all.state_),
        counts_(all.counts_),
        known_(known),
        levels_left_(levels_left),
        options_(options) {}

  // false: stopped.
  bool run() {
    make_blocks();
    const std::vector<ShapeId> shapes = shapes_of_shard();
    std::uint64_t place = 0;
    s_.unsettled.clear();
    for (const auto& [group, blocks] : blocks_) {
      place_ = place;
      for (const Block& b : blocks) place += b.count;
      if (std::ranges::find(shapes, group.second) == shapes.end()) continue;
      shape_ = s_.programs.shape(group.second).dims[0];
      for (const Block& b : blocks)
        if (!apply(b)) return false;
      flush();
      if (is_last()) forget();
    }
    s_.levels.push_back(std::move(made_));
    return true;
  }
  std::vector<Candidate> candidates;

 private:
  // Terms of one word and of operands of two shapes.
  struct Block {
    WordId word = 0;
    const WordProgram* program = nullptr;
    const std::vector<TermId>*a = nullptr, *b = nullptr;
    bool is_triangle = false;  // of commuting operands, one order of each pair
    std::uint64_t count = 0;
  };
  struct Place {
    Term term;
    Uses uses = 0;
    std::uint64_t place = 0;
  };
  struct Job {
    Term term;
    const WordProgram* program = nullptr;
    Uses uses = 0;
    std::uint64_t place = 0;
    std::vector<Place> same = {};  // by known equations
    Numbers data = {};
    Digest digest = {};
  };
  bool is_last() const { return levels_left_ == 0; }

  void make_blocks() {
    for (std::size_t c = 0; c < vocabulary().size(); ++c) {
      const Choice& choice = vocabulary()[c];
      const auto& only = options_.only;
      if (!only.empty() && std::ranges::find(only, choice.word.op) == only.end()) continue;
      if (choice.of_inputs_only && s_.levels.size() > 1) continue;
      if (choice.word.operands == 1) make_blocks_of_one(c);
      else make_blocks_of_two(c);
    }
  }
  std::pair<Role, ShapeId> group_of(const WordProgram& p) const {
    return {s_.programs.shape(p.shape).role, p.shape};
  }
  void make_blocks_of_one(std::size_t c) {
    for (const auto& [shape, ids] : s_.levels.back())
      if (const WordProgram* program = s_.programs.find(c, shape, std::nullopt))
        blocks_[group_of(*program)].push_back(
            {.word = s_.programs.word(c), .program = program, .a = &ids, .count = ids.size()});
  }
  void make_blocks_of_two(std::size_t c) {
    const bool commutes = vocabulary()[c].word.is_commutative();
    const std::size_t size = s_.levels.size();
    for (std::size_t left = 0; left < size; ++left) {
      const std::size_t right = size - 1 - left;
      if (commutes && left > right) continue;  // the same pairs
      for (const auto& [a, a_ids] : s_.levels[left])
        for (const auto& [b, b_ids] : s_.levels[right]) {
          const WordProgram* program = s_.programs.find(c, a, b);
          if (program == nullptr) continue;
          const bool is_triangle = commutes && &a_ids == &b_ids;
          const std::uint64_t n = a_ids.size();
          blocks_[group_of(*program)].push_back({.word = s_.programs.word(c),
                                                 .program = program,
                                                 .a = &a_ids,
                                                 .b = &b_ids,
                                                 .is_triangle = is_triangle,
                                                 .count = is_triangle ? n * (n + 1) / 2 : n * b_ids.size()});
        }
    }
  }

  // Shapes of many terms first, each to the shard that has least so far.
  std::vector<ShapeId> shapes_of_shard() const {
    std::vector<std::pair<std::uint64_t, ShapeId>> by_size;
    for (const auto& [group, blocks] : blocks_) {
      std::uint64_t count = 0;
      for (const Block& b : blocks) count += b.count;
      by_size.emplace_back(count, group.second);
    }
    std::ranges::stable_sort(by_size, std::greater{}, &std::pair<std::uint64_t, ShapeId>::first);
    const Shard shard = is_last() ? options_.shard : Shard{};
    std::vector<std::uint64_t> load(static_cast<std::size_t>(shard.of), 0);
    std::vector<ShapeId> out;
    for (const auto& [count, shape] : by_size) {
      const auto least = std::ranges::min_element(load);
      *least += count;
      if (least - load.begin() == shard.index - 1) out.push_back(shape);
    }
    return out;
  }

  bool apply(const Block& block) {
    const std::uint64_t end =
        std::clamp(options_.most_terms, place_, place_ + block.count);  // places beyond it are left out
    counts_.left_out += place_ + block.count - end;
    counts_.terms += end - place_;
    const std::uint64_t next = place_ + block.count;
    for (std::size_t i = 0; i < block.a->size() && place_ < end; ++i) {
      if (options_.stop.stop_requested()) return false;
      const TermId x = (*block.a)[i];
      if (block.b == nullptr) {
        consider(block, {.word = block.word, .count = 1, .operands = {x, kNoTerm}});
        continue;
      }
      for (std::size_t k = block.is_triangle ? i : 0; k < block.b->size() && place_ < end; ++k)
        consider(block, {.word = block.word, .count = 2, .operands = {x, (*block.b)[k]}});
    }
    place_ = next;
    return true;
  }

  void consider(const Block& block, const Term& term) {
    const std::uint64_t place = place_++;
    const Uses uses = s_.uses_of(term);
    if (s_.gaps(uses) > levels_left_) {
      ++counts_.renamings;
      return;
    }
    if (is_derived(term, uses, place)) {
      ++counts_.derived;
      return;
    }
    pending_.emplace(term, chunk_.size());
    chunk_.push_back({.term = term, .program = block.program, .uses = uses, .place = place});
    if (chunk_.size() == kChunk) flush();
  }

  // Whether known equations turn the term into one that has been seen, or will be computed in this chunk.
  bool is_derived(const Term& term, Uses uses, std::uint64_t place) {
    return s_.finds(all_, known_, term, [&](const Term& made) {
      for (const Classes* seen : {&s_.classes, &fresh_})
        if (const TermId value = s_.settled_value(*seen, made); value != kNoTerm) {
          classes().emplace(term, Class{value, true});
          return true;
        }
      const auto at = pending_.find(made);
      if (at == pending_.end()) return false;
      chunk_[at->second].same.push_back({.term = term, .uses = uses, .place = place});
      pending_.emplace(term, at->second);
      return true;
    });
  }
  Classes& classes() { return is_last() ? fresh_ : s_.classes; }

  // Neighbours of one program, as many as there are lanes.
  std::vector<std::pair<std::size_t, std::size_t>> batches() const {
    std::vector<std::pair<std::size_t, std::size_t>> out;
    for (std::size_t i = 0; i < chunk_.size(); ++i)
      if (out.empty() || out.back().second - out.back().first == kLanes ||
          chunk_[out.back().first].program != chunk_[i].program)
        out.emplace_back(i, i + 1);
      else ++out.back().second;
    return out;
  }

  void flush() {
    const auto parts = batches();
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
      for (std::size_t i = next++; i < parts.size(); i = next++) compute(parts[i].first, parts[i].second);
    };
    {
      std::vector<std::jthread> threads;
      for (int i = 1; i < options_.threads; ++i) threads.emplace_back(work);
      work();
    }
    counts_.computed += chunk_.size();
    for (const Job& job : chunk_)
      if (!job.data.empty()) take(job);
    chunk_.clear();
    pending_.clear();
    if (options_.progress) options_.progress(counts_);
  }

  void compute(std::size_t begin, std::size_t end) {
    std::vector<WordPrograms::Operands> operands;
    for (std::size_t i = begin; i < end; ++i) operands.push_back(s_.operands_of(chunk_[i].term));
    const WordProgram& program = *chunk_[begin].program;
    std::vector<Numbers> results = s_.programs.run(program, chunk_[begin].term.count, operands);
    for (std::size_t i = 0; i < results.size(); ++i) {
      chunk_[begin + i].digest = digest_of(program.shape, results[i]);
      chunk_[begin + i].data = std::move(results[i]);
    }
  }

  // The value with these numbers, of this level or of an earlier one.
  TermId known_value(const Job& job) const {
    for (const std::unordered_map<Digest, TermId>* seen : {&std::as_const(s_.by_digest), &fresh_digests_})
      if (const auto at = seen->find(job.digest); at != seen->end())
        if (s_.is_value(s_.values[at->second], job.program->shape, job.data)) return at->second;
    return kNoTerm;
  }

  void take(const Job& job) {
    if (const TermId value = known_value(job); value != kNoTerm) {
      ask({.term = job.term, .uses = job.uses, .place = job.place}, value);
      // A term that is only equal to an equal one is a separate candidate.
      for (const Place& p : job.same) ask(p, value);
      return;
    }
    const ShapeId shape = job.program->shape;
    const TermId id =
        s_.add_value(job.term, shape, job.uses, (is_last() ? fresh_data_ : s_.arena).add(job.data));
    (is_last() ? fresh_digests_ : s_.by_digest).emplace(job.digest, id);
    classes().emplace(job.term, Class{id, true});
    for (const Place& p : job.same) classes().emplace(p.term, Class{id, true});
    // A value that is one number everywhere, such as x - x, gets no further terms.
    if (!is_last() && !is_uniform(job.data)) made_[shape].push_back(id);
    ++counts_.values;
  }

  // Keeps one of two candidates that are renamings of each other: one in which either side uses inputs in
  // order.
  void ask(const Place& p, TermId representative) {
    if (!is_last()) {
      s_.classes.emplace(p.term, Class{representative, false});
      s_.unsettled.push_back(p.term);
    }
    ask(p, s_.values[representative].term, s_.values[representative].uses);
    if (const auto at = s_.twins.find(representative); at != s_.twins.end())
      for (const Term& twin : at->second) ask(p, twin, s_.uses_of(twin));
  }
  void ask(const Place& p, const Term& equal, Uses equal_uses) {
    ++counts_.candidates;
    const Uses uses = with(p.uses, equal_uses);
    if (s_.is_in_order(uses) || s_.is_in_order(with(equal_uses, p.uses)))
      candidates.push_back({.term = p.term,
                            .representative = equal,
                            .shape = shape_,
                            .inputs = (static_cast<int>(std::bit_width(uses)) + kBits - 1) / kBits,
                            .place = p.place});
    else ++counts_.renamings;
  }

  // Facts about a shape of the last level are of no use to the next one.
  void forget() {
    fresh_.clear();
    fresh_digests_.clear();
    fresh_data_ = {};
    while (!s_.values.empty() && s_.values.size() > kept_values_) s_.values.pop_back();
  }

  Enumeration& all_;
  State& s_;
  EnumerationCounts& counts_;
  const EquationIndex& known_;
  int levels_left_;
  const EnumerateOptions& options_;
  // Data before weights, whose kernels are numbers: what is said of data is more general.
  std::map<std::pair<Role, ShapeId>, std::vector<Block>> blocks_;
  Dims shape_;  // of the terms that are enumerated now
  std::uint64_t place_ = 0;
  ByShape made_;
  std::vector<Job> chunk_;
  std::unordered_map<Term, std::size_t, TermHash>
      pending_;  // its number in the chunk, or of one that it is equal to
  // The values of one shape of the last level.
  Classes fresh_;
  std::unordered_map<Digest, TermId> fresh_digests_;
  Arena fresh_data_;
  std::size_t kept_values_ = s_.values.size();
};

Enumeration::Enumeration(Words& words) : state_(std::make_unique<State>(words)) {}
Enumeration::~Enumeration() = default;

const Term& Enumeration::at(TermId id) const { return state_->values[id].term; }
const Dims& Enumeration::shape(TermId id, int instance) const {
  return state_->programs.shape(state_->values[id].shape).dims[static_cast<std::size_t>(instance)];
}

bool Enumeration::fits(TermId id, const Needed& needed) const {
  const Shape& shape = state_->programs.shape(state_->values[id].shape);
  return shape.extents[0].size() == needed.rank && std::ranges::all_of(needed.extents, [&](const auto& e) {
           return shape.extents[0][e.first] == e.second && shape.extents[1][e.first] == e.second;
         });
}

bool Enumeration::is_weight(TermId id) const {
  return state_->programs.shape(state_->values[id].shape).role == Role::Weight;
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

void Enumeration::settle(const EquationIndex& known) {
  State& s = *state_;
  const auto is_settled = [&](const Term& term) {
    Class& here = s.classes.at(term);
    here.is_settled = s.finds(
        *this, known, term, [&](const Term& made) { return s.settled_value(s.classes, made) == here.value; });
    return here.is_settled;
  };
  // A derived term may make others derivable.
  while (std::erase_if(s.unsettled, is_settled) > 0) {
  }
  for (const Term& term : s.unsettled)
    if (auto& twins = s.twins[s.classes.at(term).value]; twins.size() < kMostTwins) twins.push_back(term);
}

std::vector<Candidate> Enumeration::next_level(const EquationIndex& known, int levels_left,
                                               const EnumerateOptions& options) {
  counts_ = {};
  Level level(*this, known, levels_left, options);
  if (!level.run()) return {};
  return std::move(level.candidates);
}

}  // namespace isomer::rules
