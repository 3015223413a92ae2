#include "rules/enumerate.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <thread>

#include "eval/field.h"
#include "rules/word_program.h"

namespace isomer::rules {
namespace {

constexpr std::size_t kChunk = 1u << 14u;  // terms that are computed together
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
  const std::uint64_t* data = nullptr;  // both instances; nullptr: not kept
};
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
  std::vector<TermId> inputs;                          // values that are inputs
  std::vector<ByShape> levels;                         // by operators
  std::unordered_map<Term, TermId, TermHash> classes;  // of terms seen
  std::unordered_map<Digest, TermId> by_digest;
  std::vector<Uses> first_of_family;
  Arena arena;

  TermId add_value(const Term& term, ShapeId shape, Uses uses, const Numbers* data) {
    const auto id = static_cast<TermId>(values.size());
    values.push_back({.term = term, .shape = shape, .uses = uses, .data = data ? arena.add(*data) : nullptr});
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

  Numbers compute(const WordProgram& program, const Term& term) const {
    std::array<WordPrograms::Operand, 2> operands;
    for (std::size_t i = 0; i < term.count; ++i) {
      const ValueEntry& v = values[term.operands[i]];
      operands[i] = {.shape = v.shape, .data = v.data};
    }
    return programs.run(program, std::span(operands).first(term.count));
  }
  // What a value is, also if that was not kept.
  Numbers numbers_of(const ValueEntry& v) {
    const Shape& shape = programs.shape(v.shape);
    if (v.data != nullptr) return {v.data, v.data + shape.counts[0] + shape.counts[1]};
    const auto second = v.term.count == 2 ? std::optional(values[v.term.operands[1]].shape) : std::nullopt;
    return compute(*programs.find(programs.choice(v.term.word), values[v.term.operands[0]].shape, second),
                   v.term);
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

// One level: terms are considered one by one, computed in chunks, and taken in in their order.
class Enumeration::Level {
 public:
  Level(Enumeration& all, const EquationIndex& known, bool is_last, const EnumerateOptions& options)
      : all_(all),
        s_(*all.state_),
        counts_(all.counts_),
        known_(known),
        is_last_(is_last),
        options_(options) {}

  // false: stopped.
  bool run() {
    for (std::size_t c = 0; c < vocabulary().size(); ++c) {
      const Choice& choice = vocabulary()[c];
      const auto& only = options_.only;
      if (!only.empty() && std::ranges::find(only, choice.word.op) == only.end()) continue;
      if (choice.of_inputs_only && s_.levels.size() > 1) continue;
      if (!(choice.word.operands == 1 ? apply_to_one(c) : apply_to_two(c))) return false;
    }
    flush();
    s_.levels.push_back(std::move(made_));
    return true;
  }
  std::vector<Candidate> candidates;

 private:
  struct Job {
    Term term;
    const WordProgram* program = nullptr;
    Uses uses = 0;
    Numbers data = {};
    Digest digest = {};
  };

  bool apply_to_one(std::size_t c) {
    for (const auto& [shape, ids] : s_.levels.back())
      if (const WordProgram* program = s_.programs.find(c, shape, std::nullopt))
        for (const TermId id : ids) {
          if (options_.stop.stop_requested()) return false;
          consider(*program, {.word = s_.programs.word(c), .count = 1, .operands = {id, kNoTerm}});
        }
    return true;
  }

  bool apply_to_two(std::size_t c) {
    const bool commutes = vocabulary()[c].word.is_commutative();
    const std::size_t size = s_.levels.size();
    for (std::size_t left = 0; left < size; ++left)
      for (const auto& [a, a_ids] : s_.levels[left])
        for (const auto& [b, b_ids] : s_.levels[size - 1 - left]) {
          const WordProgram* program = s_.programs.find(c, a, b);
          if (program == nullptr) continue;
          for (const TermId x : a_ids) {
            if (options_.stop.stop_requested()) return false;
            for (const TermId y : b_ids)
              if (!commutes || x <= y)
                consider(*program, {.word = s_.programs.word(c), .count = 2, .operands = {x, y}});
          }
        }
    return true;
  }

  void consider(const WordProgram& program, const Term& term) {
    if (counts_.terms >= options_.most_terms) {
      ++counts_.left_out;
      return;
    }
    ++counts_.terms;
    const Uses uses = s_.uses_of(term);
    if (is_last_ && !s_.are_first(uses)) {
      ++counts_.renamings;
      return;
    }
    const bool is_known = known_.find(all_, term, [&](const Equation& e, const Match& match) {
      const TermId there = s_.class_of(e.to, match);
      if (there == kNoTerm) return false;
      if (!is_last_) s_.classes.emplace(term, there);
      return true;
    });
    if (is_known) {
      ++counts_.derived;
      return;
    }
    chunk_.push_back({.term = term, .program = &program, .uses = uses});
    if (chunk_.size() == kChunk) flush();
  }

  void flush() {
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
      constexpr std::size_t kBatch = 64;
      for (std::size_t i = next.fetch_add(kBatch); i < chunk_.size(); i = next.fetch_add(kBatch))
        for (std::size_t k = i; k < std::min(i + kBatch, chunk_.size()); ++k) {
          chunk_[k].data = s_.compute(*chunk_[k].program, chunk_[k].term);
          chunk_[k].digest = digest_of(chunk_[k].program->shape, chunk_[k].data);
        }
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
    if (options_.progress) options_.progress(counts_);
  }

  void take(const Job& job) {
    const auto at = s_.by_digest.find(job.digest);
    if (at != s_.by_digest.end()) {
      const ValueEntry& v = s_.values[at->second];
      if (v.shape == job.program->shape && s_.numbers_of(v) == job.data) {
        if (!is_last_) s_.classes.emplace(job.term, at->second);
        take_candidate(job, at->second);
        return;
      }
    }
    const TermId id = s_.add_value(job.term, job.program->shape, job.uses, is_last_ ? nullptr : &job.data);
    s_.by_digest.emplace(job.digest, id);
    if (!is_last_) s_.classes.emplace(job.term, id);
    // Nothing is made of what is one number everywhere, such as x - x.
    if (!is_uniform(job.data)) made_[job.program->shape].push_back(id);
    ++counts_.values;
  }

  // Of pairs that are renamings of each other one in which either side uses inputs in order.
  void take_candidate(const Job& job, TermId representative) {
    ++counts_.candidates;
    const Uses uses = with(job.uses, s_.values[representative].uses);
    if (s_.is_in_order(uses) || s_.is_in_order(with(s_.values[representative].uses, job.uses)))
      candidates.push_back(
          {job.term, representative, (static_cast<int>(std::bit_width(uses)) + kBits - 1) / kBits});
    else ++counts_.renamings;
  }

  Enumeration& all_;
  State& s_;
  EnumerationCounts& counts_;
  const EquationIndex& known_;
  bool is_last_;
  const EnumerateOptions& options_;
  ByShape made_;
  std::vector<Job> chunk_;
};

Enumeration::Enumeration(Words& words) : state_(std::make_unique<State>(words)) {}
Enumeration::~Enumeration() = default;

const Term& Enumeration::at(TermId id) const { return state_->values[id].term; }
const Dims& Enumeration::shape(TermId id, int instance) const {
  return state_->programs.shape(state_->values[id].shape).dims[static_cast<std::size_t>(instance)];
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

std::vector<Candidate> Enumeration::next_level(const EquationIndex& known, bool is_last,
                                               const EnumerateOptions& options) {
  counts_ = {};
  Level level(*this, known, is_last, options);
  if (!level.run()) return {};
  return std::move(level.candidates);
}

}  // namespace isomer::rules
