#include "optimizer/propose/change.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "model/graph/node_attributes.h"
#include "optimizer/propose/list.h"

namespace isomer {
namespace {

constexpr std::size_t kMostOperators = 5;  // in one list; the rest is counted
constexpr std::size_t kLongestName = 48;   // letters of a place

struct Noun {
  std::string_view op, one, many;
};
// Operators as people call them. All others have the name that ONNX gives them.
constexpr std::array kNouns{
    Noun{"Add", "an addition", "additions"},
    Noun{"AveragePool", "an average pooling", "average poolings"},
    Noun{"BatchNormalization", "a batch normalization", "batch normalizations"},
    Noun{"Cast", "a cast", "casts"},
    Noun{"Concat", "a concatenation", "concatenations"},
    Noun{"Conv", "a convolution", "convolutions"},
    Noun{"ConvTranspose", "a transposed convolution", "transposed convolutions"},
    Noun{"Div", "a division", "divisions"},
    Noun{"Expand", "a broadcast", "broadcasts"},
    Noun{"Gemm", "a matrix product", "matrix products"},
    Noun{"GlobalAveragePool", "a global average pooling", "global average poolings"},
    Noun{"GroupNormalization", "a group normalization", "group normalizations"},
    Noun{"InstanceNormalization", "an instance normalization", "instance normalizations"},
    Noun{"LayerNormalization", "a layer normalization", "layer normalizations"},
    Noun{"MatMul", "a matrix product", "matrix products"},
    Noun{"MaxPool", "a max pooling", "max poolings"},
    Noun{"Mul", "a multiplication", "multiplications"},
    Noun{"Pad", "a padding", "paddings"},
    Noun{"ReduceMean", "a mean", "means"},
    Noun{"ReduceSum", "a sum", "sums"},
    Noun{"Reshape", "a reshape", "reshapes"},
    Noun{"Resize", "a resize", "resizes"},
    Noun{"Slice", "a slice", "slices"},
    Noun{"Split", "a split", "splits"},
    Noun{"Sub", "a subtraction", "subtractions"},
    Noun{"Transpose", "a transpose", "transposes"},
};

Noun noun_of(const std::string& op) {
  const auto at = std::ranges::find(kNouns, op, &Noun::op);
  return at == kNouns.end() ? Noun{op, op, op} : *at;
}

// "3×3", of a node that says so.
std::string kernel_of(const Node& node) {
  if (node.op != "Conv" && node.op != "ConvTranspose") return "";
  const auto* kernel = node.attributes.find_as<Extents>("kernel_shape");
  return kernel ? fmt::format("{}", fmt::join(*kernel, "×")) : "";
}

// Operators that have one name for people are one: MatMul and Gemm.
std::vector<CountedOperator> by_noun(const std::vector<CountedOperator>& list) {
  std::vector<CountedOperator> out;
  for (const CountedOperator& o : list) {
    const auto at = std::ranges::find_if(
        out, [&](const CountedOperator& p) { return noun_of(p.op).one == noun_of(o.op).one; });
    if (at == out.end()) out.push_back(o);
    else at->count += o.count;
  }
  return out;
}

bool has(const std::vector<CountedOperator>& list, const CountedOperator& o) {
  return std::ranges::any_of(list,
                             [&](const CountedOperator& p) { return p.op == o.op && p.count == o.count; });
}

// Removes from a long list the operators that are on both sides, with their counts, unless one side would
// become empty.
void drop_common(std::vector<CountedOperator>& before, std::vector<CountedOperator>& after) {
  if (std::max(before.size(), after.size()) <= kMostOperators) return;
  std::vector<CountedOperator> less, fewer;
  std::ranges::copy_if(before, std::back_inserter(less), [&](const auto& o) { return !has(after, o); });
  std::ranges::copy_if(after, std::back_inserter(fewer), [&](const auto& o) { return !has(before, o); });
  if (less.empty() || fewer.empty()) return;
  before = std::move(less);
  after = std::move(fewer);
}

std::string counted(const CountedOperator& o) {
  const Noun noun = noun_of(o.op);
  const std::string size = o.size.empty() ? "" : " of " + o.size;
  if (o.count > 1) return fmt::format("{} {}{}", o.count, noun.many, size);
  return std::string(noun.one) + size;
}

// "3 convolutions and an addition"
std::string listed(const std::vector<CountedOperator>& list) {
  std::vector<std::string> words;
  int others = 0;
  for (const CountedOperator& o : list)
    if (words.size() < kMostOperators || list.size() == kMostOperators + 1) words.push_back(counted(o));
    else others += o.count;
  if (others > 0) words.push_back(fmt::format("{} other nodes", others));
  if (words.size() == 1) return words[0];
  return fmt::format("{} and {}", fmt::join(words.begin(), words.end() - 1, ", "), words.back());
}

// The same for the new nodes: "one 3×3 convolution".
std::string made(const std::vector<CountedOperator>& list) {
  if (list.empty()) return "nothing";
  if (list.size() > 1 || list[0].count > 1) return listed(list);
  const std::string_view one = noun_of(list[0].op).one;
  const std::string_view bare = one == list[0].op ? one : one.substr(one.find(' ') + 1);
  return fmt::format("one {}{}{}", list[0].size, list[0].size.empty() ? "" : " ", bare);
}

}  // namespace

std::vector<CountedOperator> count_operators(const Graph& graph, const std::vector<NodeId>& nodes) {
  std::vector<CountedOperator> out;
  for (const NodeId id : nodes) {
    const Node& node = graph.node(id);
    const std::string size = kernel_of(node);
    const auto at = std::ranges::find(out, node.op, &CountedOperator::op);
    if (at == out.end()) {
      out.push_back({.op = node.op, .count = 1, .size = size});
      continue;
    }
    ++at->count;
    if (at->size != size) at->size.clear();
  }
  return out;
}

std::string label_of(const Change& change) {
  if (change.before.empty() && change.after.empty()) return change.kind;
  const auto names = [](const std::vector<CountedOperator>& list) {
    std::string out;
    for (const CountedOperator& o : list) out += (out.empty() ? "" : "+") + o.op;
    return out;
  };
  return fmt::format("{}: {} -> {}", change.kind, names(change.before), names(change.after));
}

std::string describe(const Change& change) {
  const Proposer* proposer = proposer_named(change.kind);
  if (proposer && !proposer->summary.empty()) return std::string(proposer->summary);
  if (change.before.empty()) return "constants computed in advance";
  std::vector<CountedOperator> before = by_noun(change.before), after = by_noun(change.after);
  drop_common(before, after);
  for (CountedOperator& o : before) o.size.clear();
  const std::string words = fmt::format("{} → {}", listed(before), made(after));
  return proposer && !proposer->remark.empty() ? fmt::format("{} ({})", words, proposer->remark) : words;
}

std::string describe_at(const std::string& words, std::string_view where) {
  return where.empty() ? words : fmt::format("{}, at {}", words, short_name(where));
}

std::string short_name(std::string_view name) {
  constexpr std::string_view kOutput = "_output_";
  if (name.starts_with('/')) name.remove_prefix(1);
  const auto at = name.rfind(kOutput);
  const auto digits = at == std::string_view::npos ? name.size() : at + kOutput.size();
  if (digits < name.size() && name.find_first_not_of("0123456789", digits) == std::string_view::npos)
    name = name.substr(0, at);
  if (name.size() <= kLongestName) return std::string(name);
  // The last parts say most: "…/layers.3/attention/MatMul".
  std::string_view end = name.substr(name.size() - kLongestName);
  if (const auto slash = end.find('/'); slash != std::string_view::npos) end.remove_prefix(slash);
  return "…" + std::string(end);
}

}  // namespace isomer
