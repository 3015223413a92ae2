#include "app/inputs/find_inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "app/inputs/demanded_sizes.h"
#include "app/inputs/input_candidates.h"
#include "model/graph/constant.h"

namespace isomer {
namespace {

// Limits of one search. A model that runs at none of these inputs needs information that names do not have.
constexpr int kMostInferences = 600, kMostRuns = 64;
constexpr double kMostSeconds = 60;
constexpr std::int64_t kMostElements = std::int64_t{1} << 26;  // of an input: 256 MiB of floats
constexpr std::size_t kMostWords = 400;                        // of a runtime's refusal

// The outcome of a choice. A choice that gets further is better: `reached` is the place of the node that
// fails, after the last node if the runtime fails.
struct Verdict {
  bool runs = false, is_by_runtime = false;
  std::size_t reached = 0;
  std::string why = {};
  std::vector<std::int64_t> hints = {};
  ChosenSizes sizes = {};
  NamedTensors tensors = {};
};

class InputSearch {
 public:
  explicit InputSearch(const InputsWanted& wanted)
      : wanted_(wanted), graph_(*wanted.graphs.front()), values_(open_values(graph_, wanted.values)) {
    std::size_t place = 0;
    for (const NodeId id : graph_.order()) places_.try_emplace(label(graph_.node(id)), place++, id);
    choice_.values = first_values();
  }

  Result<FoundInputs> run() {
    ISOMER_TRY(Verdict now, judge(choice_));
    const Verdict first = now;
    while (!now.runs) {
      std::optional<Verdict> best;
      InputChoice next;
      std::vector<std::int64_t> hints = demanded_sizes(graph_, wanted_.sizes.front(), now.sizes.assumed);
      hints.insert(hints.end(), now.hints.begin(), now.hints.end());
      for (const InputChoice& change : changes_of(choice_, now.sizes.assumed, values_, hints)) {
        if (is_over()) break;
        ISOMER_TRY(Verdict verdict, judge(change));
        if (verdict.reached <= (best ? best->reached : now.reached) && !verdict.runs) continue;
        best = std::move(verdict);
        next = change;
        if (best->runs) break;
      }
      if (!best) {
        if (first.is_by_runtime) return give_up(first);
        ISOMER_TRY(now, judge({.values = first_values()}, false));  // inference may be too strict
        if (!now.runs) return give_up(first);
        choice_ = {.values = first_values()};
        found_.clear();
        break;
      }
      note_found(choice_, next, now.is_by_runtime);
      choice_ = std::move(next);
      now = std::move(*best);
    }
    return FoundInputs{.sizes = now.sizes, .tensors = std::move(now.tensors), .words = words(now)};
  }

 private:
  bool is_over() const {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start_;
    return inferences_ >= kMostInferences || runs_ >= kMostRuns || spent.count() > kMostSeconds ||
           is_unknown_;
  }

  FilledInputs first_values() const {
    FilledInputs out;
    for (const OpenValue& v : values_)
      if (v.is_chosen) out.emplace(v.input, v.numbers.front());
    return out;
  }

  Result<Verdict> judge(const InputChoice& choice, bool by_inference = true) {
    Verdict out;
    ISOMER_TRY(out.sizes, choose_sizes(graph_, wanted_.sizes.front(), choice.sizes));
    for (const auto& [name, extents] : out.sizes.options.shapes)
      if (element_count(extents).value_or(kMostElements + 1) > kMostElements && !choice.sizes.empty())
        return out;
    std::optional<Inference> inference;
    if (by_inference && !infer_all(out, inference)) return out;
    FilledInputs filled = wanted_.values;
    filled.insert(choice.values.begin(), choice.values.end());
    ISOMER_TRY(out.tensors,
               draw_feeds(graph_, out.sizes, inference ? &*inference : nullptr, filled, wanted_.seed));
    const bool is_open = !out.sizes.assumed.empty() || !values_.empty();
    if (wanted_.run && is_open && !is_unknown_) ask_runtime(out);
    else out.runs = true;
    return out;
  }

  // Whether no graph refuses the sizes; with the first one's inference.
  bool infer_all(Verdict& out, std::optional<Inference>& first) {
    ++inferences_;
    for (std::size_t k = 0; k < wanted_.graphs.size(); ++k) {
      const Graph& graph = *wanted_.graphs[k];
      InferOptions options = wanted_.sizes[k];
      for (const Value input : graph.inputs())
        if (const auto at = out.sizes.options.shapes.find(graph.name_of(input));
            at != out.sizes.options.shapes.end())
          options.shapes.insert_or_assign(at->first, at->second);
      auto inferred = infer(graph, options);
      const Status fits = check(graph, inferred);
      if (fits.ok() && k == 0) first = std::move(*inferred);
      // A failure at all sizes says nothing about these.
      if (fits.ok() || always_refuses(graph, k)) continue;
      note_refusal(out, fits.error());
      return false;
    }
    return true;
  }

  // The objection of inference to the sizes.
  static Status check(const Graph& graph, const Result<Inference>& inferred) {
    if (!inferred.ok()) return inferred.error();
    for (const auto& [id, conditions] : inferred->conditions)
      for (const SizeCondition& c : conditions)
        if (c.kind == SizeCondition::Kind::Needed && c.extent.is_concrete() && c.extent.concrete() < 0) {
          const std::string node = label(graph.node(id));
          return Error{fmt::format("{}: the extents of its inputs do not match", node), node};
        }
    return Done{};
  }

  bool always_refuses(const Graph& graph, std::size_t k) {
    if (k >= refuses_.size()) refuses_.resize(k + 1);
    if (!refuses_[k]) refuses_[k] = !infer(graph, wanted_.sizes[k]).ok();
    return *refuses_[k];
  }

  void ask_runtime(Verdict& out) {
    ++runs_;
    const Tried tried = wanted_.run(out.tensors);
    is_unknown_ = is_unknown_ || tried.kind == Tried::Kind::Unknown;
    out.runs = tried.kind != Tried::Kind::Refused;
    if (out.runs) return;
    const auto from = tried.why.find("Name:'");
    const auto to = from == std::string::npos ? from : tried.why.find('\'', from + 6);
    Error error{tried.why};
    if (to != std::string::npos) error.node = tried.why.substr(from + 6, to - from - 6);
    note_refusal(out, error);
    out.is_by_runtime = true;
    out.reached += places_.size();
  }

  void note_refusal(Verdict& out, const Error& error) const {
    out.why = error.message.size() > kMostWords ? error.message.substr(0, kMostWords) + "..." : error.message;
    const auto at = places_.find(error.node);
    if (at == places_.end()) return;
    out.reached = at->second.first + 1;
    for (const Value input : graph_.node(at->second.second).inputs)
      if (const auto constant = input.exists() ? known_constant(graph_, input) : std::nullopt)
        for (const std::int64_t extent : constant->extents())
          if (extent > 2 && std::ranges::find(out.hints, extent) == out.hints.end())
            out.hints.push_back(extent);
  }

  void note_found(const InputChoice& before, const InputChoice& after, bool by_runtime) {
    for (const auto& [name, size] : after.sizes)
      if (const auto at = before.sizes.find(name); at == before.sizes.end() || at->second != size)
        found_[name] = by_runtime ? "which the runtime runs" : "which the model's constants require";
    for (const auto& [name, number] : after.values)
      if (const auto at = before.values.find(name); at == before.values.end() || at->second != number)
        found_[name] = "which the runtime runs";
  }

  // "batch=1, width=128 assumed; height=48 found, which the model's constants demand".
  std::string words(const Verdict& now) const {
    std::vector<std::string> assumed, found;
    for (const AssumedSize& a : now.sizes.assumed) {
      const auto why = found_.find(a.name);
      if (why != found_.end()) found.push_back(fmt::format("{}={} found, {}", a.name, a.size, why->second));
      else if (a.is_named) found.push_back(fmt::format("{}={} by its name", a.name, a.size));
      else assumed.push_back(fmt::format("{}={}", a.name, a.size));
    }
    for (const auto& [name, number] : choice_.values) {
      const auto why = found_.find(name);
      const auto value = std::ranges::find(values_, name, &OpenValue::input);
      found.push_back(
          fmt::format("{}={:g} found, {}", name, number, why != found_.end() ? why->second : value->why));
    }
    std::string out = assumed.empty() ? "" : fmt::format("{} assumed", fmt::join(assumed, ", "));
    if (!found.empty()) out += fmt::format("{}{}", out.empty() ? "" : "; ", fmt::join(found, "; "));
    return out;
  }

  Error give_up(const Verdict& first) const {
    std::vector<std::string> sizes, numbers;
    for (const AssumedSize& a : first.sizes.assumed) {
      const std::string input = a.name.ends_with(']') ? a.name.substr(0, a.name.rfind('[')) : "";
      const std::string name = input.empty() ? a.name : input;
      std::string text = fmt::format("--shape {}={}", name, a.size);
      if (!input.empty()) {
        const auto shape = first.sizes.options.shapes.find(input);
        text = fmt::format("--shape {}={}", name, fmt::join(shape->second, "x"));
      }
      if (std::ranges::find(sizes, text) == sizes.end()) sizes.push_back(text);
    }
    for (const OpenValue& v : values_)
      numbers.push_back(fmt::format("--value {}={:g}", v.input, v.numbers[0]));
    sizes.insert(sizes.end(), numbers.begin(), numbers.end());
    return Error{fmt::format(
        "no inputs were found that the model runs on. The first choice, {}, failed: {}. {} other choices "
        "failed, too. Set sizes and numbers with these options, or give inputs with --feeds F.npz",
        fmt::join(sizes, " "), first.why, inferences_ - 1)};
  }

  const InputsWanted& wanted_;
  const Graph& graph_;
  std::vector<OpenValue> values_;
  std::map<std::string, std::pair<std::size_t, NodeId>, std::less<>> places_;  // of nodes, by label
  InputChoice choice_;
  std::map<std::string, std::string> found_;  // why, by name
  std::vector<std::optional<bool>> refuses_;  // inference refuses the graph whatever the sizes are
  int inferences_ = 0, runs_ = 0;
  bool is_unknown_ = false;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

Result<FoundInputs> find_inputs(const InputsWanted& wanted) { return InputSearch(wanted).run(); }

}  // namespace isomer
