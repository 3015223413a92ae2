#include "optimizer/propose/test_file.h"

#include <fmt/format.h>

#include <charconv>

#include "kernel/prove/step.h"
#include "model/graph/text/text.h"
#include "optimizer/propose/list.h"

namespace isomer {
namespace {

constexpr std::string_view kHead = "<ir_version: 8, opset_import: [\"\" : 18]>\n";
constexpr std::string_view kMadeUp = "{made-up ", kAnyPrice = " at any price";
constexpr std::int64_t kMostNumbers = 1 << 20;

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// -1: it is no number.
std::int64_t number_in(std::string_view text) {
  std::int64_t out = 0;
  const std::string_view word = trimmed(text);
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
  return error == std::errc() && end == word.data() + word.size() && out >= 0 ? out : -1;
}

// The number of elements of the last type before this place: "float[4,3] w = " has 12. -1: its sizes are not
// known.
std::int64_t elements_before(std::string_view text) {
  const auto close = text.rfind(']');
  const auto open = text.rfind('[', close);
  if (close == std::string_view::npos || open == std::string_view::npos) return -1;
  std::int64_t out = 1;
  for (std::string_view dims = text.substr(open + 1, close - open - 1); !dims.empty();) {
    const auto comma = std::min(dims.find(','), dims.size());
    const std::int64_t extent = number_in(dims.substr(0, comma));
    if (extent < 0 || extent > kMostNumbers || out * extent > kMostNumbers) return -1;
    out *= extent;
    dims.remove_prefix(std::min(comma + 1, dims.size()));
  }
  return out;
}

// Numbers that repeat with a period of five: no two neighbours are the same, and none is zero.
std::string made_up(std::int64_t count, std::int64_t seed) {
  std::string out = "{";
  for (std::int64_t k = 0; k < count; ++k)
    out += fmt::format("{}{}.5", k == 0 ? "" : ", ", (k * 7 + seed) % 5 - 2);
  return out + "}";
}

Result<std::string> with_numbers(std::string text) {
  for (std::size_t at = text.find(kMadeUp); at != std::string::npos; at = text.find(kMadeUp, at + 1)) {
    const auto end = std::min(text.find('}', at), text.size() - 1);
    const std::string_view all = text;
    const std::int64_t seed = number_in(all.substr(at + kMadeUp.size(), end - at - kMadeUp.size()));
    const std::int64_t count = elements_before(all.substr(0, at));
    if (seed < 0 || seed > kMostNumbers || count < 0)
      return Error{"{made-up N} follows a type with known sizes"};
    text.replace(at, end + 1 - at, made_up(count, seed));
  }
  return text;
}

// Reads line by line; a test ends where the next one begins.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Result<std::vector<ProposalTest>> read() {
    while (!text_.empty()) {
      ++line_;
      const auto end = std::min(text_.find('\n'), text_.size());
      const std::string_view whole = text_.substr(0, end);
      text_.remove_prefix(std::min(end + 1, text_.size()));
      if (const Status done = take(whole); !done.ok())
        return Error{fmt::format("line {}: {}", line_, done.error().message)};
    }
    if (const Status done = close(); !done.ok())
      return Error{fmt::format("line {}: {}", line_, done.error().message)};
    return std::move(tests_);
  }

 private:
  Status take(std::string_view whole) {
    const std::string_view line = trimmed(whole);
    const auto space = std::min(line.find(' '), line.size());
    const std::string_view word = line.substr(0, space), rest = trimmed(line.substr(space));
    if (word == "test") return open(rest);
    const bool is_end = word == "after" || word == "refused";
    if (is_in_program_ && !is_end) {
      tests_.back().before += std::string(whole) + "\n";
      return Done{};
    }
    if (line.empty() || line.starts_with('#')) return Done{};
    if (tests_.empty() || is_closed_) return Error{"`test NAME` begins a test"};
    ProposalTest& test = tests_.back();
    if (word == "proposer") {
      test.any_price = rest.ends_with(kAnyPrice);
      test.proposer = rest.substr(0, rest.size() - (test.any_price ? kAnyPrice.size() : 0));
    } else if (word == "before" && rest.empty()) {
      is_in_program_ = true;
    } else if (is_end) {
      is_in_program_ = false;
      is_closed_ = true;
      if (word == "after") test.after = rest;
      else test.reason = rest;
    } else {
      return Error{fmt::format("`{}` is no line of a test", line)};
    }
    return Done{};
  }

  Status open(std::string_view name) {
    ISOMER_TRY_DO(close());
    tests_.push_back({.name = std::string(name), .line = line_});
    is_closed_ = false;
    return Done{};
  }

  Status close() {
    if (tests_.empty()) return Done{};
    ProposalTest& test = tests_.back();
    if (!is_closed_) return Error{fmt::format("`{}` ends without `after` or `refused`", test.name)};
    const Proposer* proposer = proposer_named(test.proposer);
    if (proposer == nullptr || proposer->propose == nullptr)
      return Error{fmt::format("`{}` is of no proposer: '{}'", test.name, test.proposer)};
    ISOMER_TRY(test.before, with_numbers(std::move(test.before)));
    return Done{};
  }

  std::string_view text_;
  int line_ = 0;
  bool is_in_program_ = false, is_closed_ = false;
  std::vector<ProposalTest> tests_;
};

std::string operators_of(const Graph& graph) {
  std::string out;
  for (const NodeId id : graph.order())
    if (graph.node(id).kind == NodeKind::Operator) out += (out.empty() ? "" : " ") + graph.node(id).op;
  return out;
}

}  // namespace

Result<std::vector<ProposalTest>> parse_tests(std::string_view text) { return Reader(text).read(); }

Result<ProposalOutcome> run_test(const ProposalTest& test) {
  const bool has_head = trimmed(test.before).starts_with("<ir_version");
  ISOMER_TRY(const Graph graph, parse_graph(has_head ? test.before : std::string(kHead) + test.before));
  ISOMER_TRY(const Inference inference, infer(graph));
  const auto refused = [&](const std::string& why) {
    return ProposalOutcome{!test.after && why.find(test.reason) != std::string::npos, why};
  };
  const Proposals found = (*proposer_named(test.proposer))(graph, inference, {.any_price = test.any_price});
  if (found.list.empty()) return refused("no proposal");
  const Proposal& best = found.list[0];
  const auto proved = prove_claim(graph, best.claim);
  if (const auto* why = std::get_if<std::string>(&proved)) return refused(*why);
  ISOMER_TRY(const Graph after, fold_constants(std::get<Graph>(proved), best.folds));
  const std::string operators = operators_of(after);
  return ProposalOutcome{test.after == operators, operators};
}

}  // namespace isomer
