#include "optimizer/search/prior.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include "optimizer/propose/list.h"
#include "optimizer/search/prior_text.h"  // made by cmake/IsomerRulePack.cmake

namespace isomer {
namespace {

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line.substr(0, line.find('#')));
  std::vector<std::string> out;
  for (std::string word; stream >> word;) out.push_back(word);
  return out;
}

template <class T>
bool is_number(const std::string& word, T& out) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
  return error == std::errc() && end == word.data() + word.size();
}

bool is_proposer(const std::string& name) {
  return std::ranges::any_of(proposers(), [&](const Proposer* p) { return p->name == name; });
}

// The words from there on, each of them a proposer's name.
bool take_proposers(const std::vector<std::string>& words, std::size_t from, std::vector<std::string>& out) {
  if (from > words.size()) return false;
  out.assign(words.begin() + static_cast<std::ptrdiff_t>(from), words.end());
  return std::ranges::all_of(out, is_proposer);
}

bool is_hash(const std::string& word) {
  return word.size() == 8 && word.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

Result<Prior> Prior::parse(std::string_view text) {
  Prior out;
  std::istringstream lines{std::string(text)};
  int number = 0;
  bool has_begun = false;
  const auto wrong = [&](const std::string& what) { return Error{fmt::format("line {}: {}", number, what)}; };
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::vector<std::string> words = words_of(line);
    if (words.empty()) continue;
    if (!has_begun) {
      if (words != std::vector<std::string>{"prior", "1"}) return wrong("not a prior: `prior 1` comes first");
      has_begun = true;
    } else if (words[0] == "nearest") {
      if (words.size() != 3 || !is_number(words[1], out.neighbours_) || !is_number(words[2], out.least_) ||
          !(out.least_ > 0))
        return wrong("`nearest COUNT LIKENESS`");
    } else if (words[0] == "model") {
      if (words.size() < 3 || words[2] != "paid") return wrong("`model NAME paid PROPOSER...`");
      out.known_.push_back({.name = words[1], .paid = {}, .blocks = {}});
      if (!take_proposers(words, 3, out.known_.back().paid)) return wrong("there is no such proposer");
    } else if (words[0] == "blocks") {
      if (out.known_.empty()) return wrong("blocks of no model");
      for (std::size_t k = 1; k < words.size(); ++k) {
        if (!is_hash(words[k])) return wrong(words[k] + " is no block");
        if (out.known_.back().blocks.insert(words[k]).second) ++out.models_with_[words[k]];
      }
    } else if (words[0] == "if") {
      Branch branch;
      if (words.size() != 8 || words[2] != "<" || words[4] != "then" || words[6] != "else" ||
          !is_number(words[3], branch.bound) || !is_number(words[5], branch.left) ||
          !is_number(words[7], branch.right))
        return wrong("`if FEATURE < NUMBER then LINE else LINE`");
      // Only ahead: every way ends.
      if (branch.left <= out.tree_.size() || branch.right <= out.tree_.size())
        return wrong("a branch leads back");
      branch.feature = words[1];
      out.tree_.push_back(std::move(branch));
    } else if (words[0] == "leaf") {
      Branch leaf;
      if (!take_proposers(words, 1, leaf.paid)) return wrong("there is no such proposer");
      out.tree_.push_back(std::move(leaf));
    } else {
      return wrong(words[0] + " means nothing here");
    }
  }
  if (!has_begun) return wrong("not a prior: `prior 1` comes first");
  for (const Branch& b : out.tree_)
    if (std::max(b.left, b.right) >= out.tree_.size() && !b.feature.empty())
      return wrong("a branch leads beyond the end of the tree");
  return out;
}

std::shared_ptr<const Prior> Prior::shipped() {
  static const std::shared_ptr<const Prior> prior = [] {
    auto parsed = parse(kPriorText);
    ISOMER_CHECK(parsed.ok());
    return std::make_shared<const Prior>(std::move(*parsed));
  }();
  return prior;
}

std::optional<PriorOrder> Prior::order_for(const Features& features) const {
  std::set<std::string> blocks;
  for (const auto& [block, count] : features.blocks) blocks.insert(block_hash(block));
  if (auto near = by_neighbours(blocks)) return near;
  return by_tree(features);
}

double Prior::weight(const std::string& block) const {
  const auto at = models_with_.find(block);
  const double models = at == models_with_.end() ? 0 : at->second;
  return std::log((1 + static_cast<double>(known_.size())) / (1 + models)) + 0.1;
}

double Prior::likeness(const std::set<std::string>& a, const std::set<std::string>& b) const {
  double common = 0, all = 0;
  for (const std::string& block : a) {
    all += weight(block);
    if (b.contains(block)) common += weight(block);
  }
  for (const std::string& block : b)
    if (!a.contains(block)) all += weight(block);
  return all > 0 ? common / all : 0;
}

std::optional<PriorOrder> Prior::by_neighbours(const std::set<std::string>& blocks) const {
  std::vector<std::pair<double, const Known*>> near;
  for (const Known& k : known_)
    if (const double like = likeness(blocks, k.blocks); like >= least_) near.emplace_back(like, &k);
  std::ranges::stable_sort(near, std::greater<>{}, [](const auto& n) { return n.first; });
  if (near.size() > neighbours_) near.resize(neighbours_);
  PriorOrder out;
  std::vector<std::string> why;
  for (const auto& [like, known] : near) {
    why.push_back(fmt::format("{} ({:.2f})", known->name, like));
    for (const std::string& p : known->paid)
      if (std::ranges::find(out.first, p) == out.first.end()) out.first.push_back(p);
  }
  if (out.first.empty()) return std::nullopt;
  out.why = fmt::format("its blocks are like those of {}", fmt::join(why, ", "));
  return out;
}

std::optional<PriorOrder> Prior::by_tree(const Features& features) const {
  if (tree_.empty()) return std::nullopt;
  std::vector<std::string> why;
  std::size_t at = 0;
  while (!tree_[at].feature.empty()) {
    const Branch& b = tree_[at];
    const auto found = features.numbers.find(b.feature);
    const bool is_below = (found == features.numbers.end() ? 0 : found->second) < b.bound;
    why.push_back(fmt::format("{} {} {}", b.feature, is_below ? "<" : ">=", b.bound));
    at = is_below ? b.left : b.right;
  }
  if (tree_[at].paid.empty()) return std::nullopt;
  return PriorOrder{
      .first = tree_[at].paid,
      .why = fmt::format("no model with blocks like its own is known; {}",
                         why.empty() ? "of all models" : fmt::format("{}", fmt::join(why, ", ")))};
}

}  // namespace isomer
