#include "compiler/tune/boosted_trees.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <sstream>

namespace isomer {

// One tree for what is left over.
struct BoostedTrees::Grower {
  const std::vector<std::vector<double>>& rows;
  const std::vector<double>& left_over;
  const Options& options;
  std::vector<Node> nodes = {};

  std::size_t grow(std::vector<std::size_t> members, int depth) {
    const std::size_t number = nodes.size();
    nodes.emplace_back();
    double sum = 0;
    for (const std::size_t m : members) sum += left_over[m];
    nodes[number].value = options.rate * sum / static_cast<double>(std::max<std::size_t>(1, members.size()));
    if (depth == 0 || members.size() < 2 * options.fewest) return number;
    const double count = static_cast<double>(members.size());
    double best = sum * sum / count + 1e-9, bound = 0;
    int feature = -1;
    for (std::size_t f = 0; f < rows[members[0]].size(); ++f) {
      std::ranges::sort(members, {}, [&](std::size_t m) { return rows[m][f]; });
      double below = 0;
      for (std::size_t k = 0; k + 1 < members.size(); ++k) {
        below += left_over[members[k]];
        const double here = rows[members[k]][f], next = rows[members[k + 1]][f];
        if (here == next || k + 1 < options.fewest || members.size() - k - 1 < options.fewest) continue;
        const double n = static_cast<double>(k + 1), above = sum - below;
        const double gain = below * below / n + above * above / (count - n);
        if (gain <= best) continue;
        best = gain;
        feature = static_cast<int>(f);
        bound = (here + next) / 2;
      }
    }
    if (feature < 0) return number;
    std::vector<std::size_t> low, high;
    for (const std::size_t m : members)
      (rows[m][static_cast<std::size_t>(feature)] < bound ? low : high).push_back(m);
    if (low.empty() || high.empty()) return number;
    const std::size_t left = grow(std::move(low), depth - 1), right = grow(std::move(high), depth - 1);
    nodes[number] = {.feature = feature, .bound = bound, .left = left, .right = right};
    return number;
  }
};

BoostedTrees BoostedTrees::fitted(const std::vector<std::vector<double>>& rows,
                                  const std::vector<double>& values, const Options& options) {
  BoostedTrees out;
  if (rows.empty()) return out;
  out.base_ = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  std::vector<double> left_over = values;
  for (double& v : left_over) v -= out.base_;
  std::vector<std::size_t> all(rows.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  for (int t = 0; t < options.trees; ++t) {
    Grower grower{rows, left_over, options};
    grower.grow(all, options.depth);
    out.trees_.push_back(std::move(grower.nodes));
    for (std::size_t k = 0; k < rows.size(); ++k) {
      std::size_t at = 0;
      const std::vector<Node>& tree = out.trees_.back();
      while (tree[at].feature >= 0)
        at = rows[k][static_cast<std::size_t>(tree[at].feature)] < tree[at].bound ? tree[at].left
                                                                                  : tree[at].right;
      left_over[k] -= tree[at].value;
    }
  }
  return out;
}

double BoostedTrees::predict(const std::vector<double>& row) const {
  double out = base_;
  for (const std::vector<Node>& tree : trees_) {
    std::size_t at = 0;
    while (tree[at].feature >= 0) {
      const auto feature = static_cast<std::size_t>(tree[at].feature);
      at = (feature < row.size() ? row[feature] : 0) < tree[at].bound ? tree[at].left : tree[at].right;
    }
    out += tree[at].value;
  }
  return out;
}

// base VALUE; then for each tree "tree", and its nodes in order: "split FEATURE BOUND LEFT RIGHT" or "leaf
// VALUE".
std::string BoostedTrees::text() const {
  std::string out = fmt::format("base {}\n", base_);
  for (const std::vector<Node>& tree : trees_) {
    out += "tree\n";
    for (const Node& n : tree)
      out += n.feature < 0 ? fmt::format("leaf {}\n", n.value)
                           : fmt::format("split {} {} {} {}\n", n.feature, n.bound, n.left, n.right);
  }
  return out;
}

Result<BoostedTrees> BoostedTrees::parse(std::string_view text) {
  BoostedTrees out;
  std::istringstream in{std::string(text)};
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    std::istringstream words{line};
    std::string what;
    words >> what;
    Node node;
    const bool is_split = what == "split", is_leaf = what == "leaf";
    if (what == "base") words >> out.base_;
    else if (what == "tree") out.trees_.emplace_back();
    else if (is_split) words >> node.feature >> node.bound >> node.left >> node.right;
    else if (is_leaf) words >> node.value;
    else words.setstate(std::ios::failbit);
    // Children come behind: so no walk is endless.
    const bool is_back =
        is_split && !out.trees_.empty() && std::min(node.left, node.right) <= out.trees_.back().size();
    if (!words || is_back || (is_split && node.feature < 0) || ((is_split || is_leaf) && out.trees_.empty()))
      return Error{fmt::format("line {}: base, tree, split or leaf", number)};
    if (is_split || is_leaf) out.trees_.back().push_back(node);
  }
  for (const std::vector<Node>& tree : out.trees_)
    if (tree.empty() || std::ranges::any_of(tree, [&](const Node& n) {
          return n.feature >= 0 && std::max(n.left, n.right) >= tree.size();
        }))
      return Error{"a tree leads nowhere"};
  return out;
}

}  // namespace isomer
