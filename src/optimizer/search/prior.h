// Prior: which proposers are asked first, by what paid for models that look alike.
//
// A small text (rules/prior.txt, written by bench/train_prior.py from records of runs): the models of those
// runs, each with its blocks (features.h) and the proposers whose steps were taken for it; and a tree over
// features, for models that have few blocks in common with any. It says an order and nothing else: whoever is
// not asked first is asked afterwards, while there is time.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "optimizer/search/features.h"

namespace isomer {

// Whom to ask first, and why.
struct PriorOrder {
  std::vector<std::string> first;
  std::string why;  // "0.61 of its blocks are those of mobileone_s1"
};

class Prior {
 public:
  // The line that is wrong is named.
  static Result<Prior> parse(std::string_view text);
  // The one that comes with the program.
  static std::shared_ptr<const Prior> shipped();

  // nullopt: nothing is known; all are asked at once.
  std::optional<PriorOrder> order_for(const Features& features) const;

 private:
  struct Known {
    std::string name;
    std::vector<std::string> paid;
    std::set<std::string> blocks;  // hashes
  };
  // Below the bound to the left. A leaf has no feature.
  struct Branch {
    std::string feature;
    double bound = 0;
    std::size_t left = 0, right = 0;
    std::vector<std::string> paid = {};
  };
  // Of both, the share that is in both; rare blocks count more.
  double likeness(const std::set<std::string>& a, const std::set<std::string>& b) const;
  double weight(const std::string& block) const;
  std::optional<PriorOrder> by_neighbours(const std::set<std::string>& blocks) const;
  std::optional<PriorOrder> by_tree(const Features& features) const;

  std::size_t neighbours_ = 0;
  double least_ = 1;  // likeness of a neighbour
  std::vector<Known> known_;
  std::map<std::string, int> models_with_;  // by block
  std::vector<Branch> tree_;
};

}  // namespace isomer
