// A graph as the page of a report draws it: columns of numbers and texts, one entry for each operator.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/graph/graph.h"
#include "model/graph/infer.h"

namespace isomer {

using ReportData = nlohmann::ordered_json;

// Four digits: more are not visible, and a page has many numbers.
ReportData rounded(double value);

// SharedTexts that many nodes share, each once.
class SharedTexts {
 public:
  std::size_t number(const std::string& text) {
    const auto [at, is_new] = numbers_.emplace(text, list_.size());
    if (is_new) list_.push_back(text);
    return at->second;
  }
  ReportData json() const { return list_; }

 private:
  std::unordered_map<std::string, std::size_t> numbers_;
  std::vector<std::string> list_;
};

// The columns, and the number of each operator.
class DrawnGraph {
 public:
  DrawnGraph(const Graph& graph, const std::vector<double>& widths, SharedTexts& texts);
  std::size_t number(NodeId id) const { return numbers_.at(id); }
  ReportData numbers(const std::vector<NodeId>& ids) const;
  const ReportData& json() const { return json_; }

 private:
  void add(NodeId id, const Inference& inference, double width, SharedTexts& texts);

  const Graph& graph_;
  std::unordered_map<NodeId, std::size_t> numbers_;
  std::unordered_map<NodeId, std::uint32_t> inputs_;
  ReportData json_;
};

}  // namespace isomer
