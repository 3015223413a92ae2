#include "app/report/exploration_page.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace isomer {
namespace {

using Json = nlohmann::ordered_json;

Json trial(const std::vector<std::string>& passes, const Json& measured, bool changes_values = false) {
  return {{"passes", passes},      {"kind", passes.size() == 1 ? "optimizer" : "set"},
          {"changes_graph", true}, {"changes_values", changes_values},
          {"measured", measured},  {"failure", ""}};
}
Json ratio(double estimate, double low, const Json& high) {
  return {{"ratio", estimate}, {"low", low}, {"high", high}};
}

Json explored() {
  return {{"objective", "latency"},
          {"mode", "mixed"},
          {"verdict", "better"},
          {"line", "1.100 times faster with Slow<Fusion>"},
          {"python", "options = 1 < 2"},
          {"cpp", "int x;"},
          {"best", {"Slow<Fusion>"}},
          {"passes",
           {trial({"Useful"}, ratio(0.8, 0.79, 0.81)), trial({"Slow<Fusion>"}, ratio(1.1, 1.08, 1.12)),
            trial({"Nothing"}, nullptr), trial({"Approximate"}, ratio(1.3, 1.2, nullptr), true)}},
          {"sets", {trial({"Slow<Fusion>", "Other"}, ratio(1.09, 1.05, 1.13))}},
          {"prepared", nullptr},
          {"threads", 1},
          {"machine", "a processor"},
          {"inputs", "x 1x3"}};
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t out = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++out;
  return out;
}

TEST(ExplorationPage, DrawsWhatWasMeasuredMostHelpfulFirst) {
  const std::string page = exploration_page(explored(), "model<1>.onnx", "1.0");
  EXPECT_EQ(count(page, "<svg"), 1U);
  EXPECT_EQ(count(page, "class=\"trial\""), 4U);
  EXPECT_EQ(count(page, "<circle"), 4U);
  const auto approximate = page.find(">Approximate<"), slow = page.find(">Slow&lt;Fusion&gt;<"),
             useful = page.find(">Useful<");
  EXPECT_LT(approximate, slow);
  EXPECT_LT(slow, useful);
  EXPECT_NE(page.find("1 names change nothing here"), std::string::npos);
  EXPECT_NE(page.find("never chosen"), std::string::npos);
  EXPECT_NE(page.find("font-weight=\"650\">Slow&lt;Fusion&gt;<"), std::string::npos) << "the best is marked";
}

TEST(ExplorationPage, FetchesNothingAndEscapesNames) {
  const std::string page = exploration_page(explored(), "model<1>.onnx", "1.0");
  EXPECT_EQ(page.find("model<1>"), std::string::npos);
  EXPECT_EQ(page.find("Slow<Fusion>"), std::string::npos);
  EXPECT_NE(page.find("options = 1 &lt; 2"), std::string::npos);
  for (const char* part : {"<script", "src=", "href=", "@import", "url("})
    EXPECT_EQ(page.find(part), std::string::npos) << part;
}

TEST(ExplorationPage, TellsOfAPreparedModel) {
  Json json = explored();
  json["passes"] = Json::array();
  json["sets"] = Json::array();
  json["prepared"] = {{"plain", {{"load", ratio(2.5, 2.4, 2.6)}}},
                      {"with_options", nullptr},
                      {"latency", ratio(1, 0.99, 1.01)},
                      {"peak_bytes_before", 4'000'000},
                      {"peak_bytes_after", 2'000'000},
                      {"equality", "proved"}};
  const std::string page = exploration_page(json, "m", "1.0");
  EXPECT_EQ(page.find("<svg"), std::string::npos);
  EXPECT_NE(page.find("2.500 [2.400, 2.600]"), std::string::npos);
  EXPECT_NE(page.find("4.0 MB"), std::string::npos);
}

}  // namespace
}  // namespace isomer
