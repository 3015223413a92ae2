#include "app/report/exploration_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include "app/report/page_text.h"

namespace isomer {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kWidth = 1136, kLabels = 520, kRow = 24, kAxis = 28;
constexpr std::size_t kMostLetters = 74;  // of a label; its title has all

std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string text_of(const Json& json, const char* field) { return json.at(field).get<std::string>(); }

// One trial, as it is drawn.
struct Row {
  std::string label;
  double ratio = 1, low = 1, high = 1;
  bool is_best = false, changes_values = false, is_set = false;
};

std::vector<Row> rows_of(const Json& explored) {
  std::vector<Row> out;
  for (const char* part : {"passes", "sets"})
    for (const Json& trial : explored.at(part)) {
      const Json& measured = trial.at("measured");
      if (measured.is_null()) continue;
      Row row{.label =
                  fmt::format("{}", fmt::join(trial.at("passes").get<std::vector<std::string>>(), " + "))};
      row.ratio = measured.at("ratio").get<double>();
      row.low = measured.at("low").get<double>();
      row.high = measured.at("high").is_null() ? row.ratio : measured.at("high").get<double>();
      row.is_best = trial.at("passes") == explored.at("best");
      row.changes_values = trial.at("changes_values").get<bool>();
      row.is_set = trial.at("kind") == "set";
      out.push_back(std::move(row));
    }
  std::ranges::stable_sort(out, std::greater<>{}, &Row::ratio);
  return out;
}

// The effect of each, on a logarithmic scale: right of the dashed line is better.
std::string picture(const std::vector<Row>& rows) {
  double low = 0.95, high = 1.05;
  for (const Row& r : rows) {
    if (r.low > 0) low = std::min(low, r.low);
    high = std::max(high, r.high);
  }
  const auto place = [&](double ratio) {
    const double share = (std::log(std::max(ratio, low)) - std::log(low)) / (std::log(high) - std::log(low));
    return kLabels + 10 + share * (kWidth - kLabels - 90);
  };
  const int height = static_cast<int>(rows.size()) * kRow + kAxis;
  std::string out = fmt::format(
      "<svg viewBox=\"0 0 {} {}\" width=\"100%\" role=\"img\" aria-label=\"what each pass does\">\n"
      "<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"0\" y2=\"{}\" stroke=\"var(--quiet)\" "
      "stroke-dasharray=\"3 3\"/>\n",
      kWidth, height, place(1), place(1), height - kAxis + 4);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const Row& r = rows[k];
    const int y = static_cast<int>(k) * kRow + 14;
    const char* colour = r.changes_values ? "var(--quiet)"
                         : r.low > 1      ? "var(--good)"
                         : r.high < 1     ? "var(--k5)"
                                          : "var(--same)";
    const std::string shown =
        r.label.size() > kMostLetters ? r.label.substr(0, kMostLetters - 1) + "…" : r.label;
    out += fmt::format(
        "<g class=\"trial\"><text x=\"0\" y=\"{}\" font-size=\"13\" "
        "fill=\"var(--ink)\"{}>{}<title>{}{}</title>"
        "</text><line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{}\" y2=\"{}\" stroke=\"{}\" stroke-width=\"2\"/>"
        "<circle cx=\"{:.1f}\" cy=\"{}\" r=\"4.5\" fill=\"{}\"/>"
        "<text x=\"{:.1f}\" y=\"{}\" font-size=\"12\" fill=\"var(--quiet)\">{:.3f}</text></g>\n",
        y + 4, r.is_best ? " font-weight=\"650\"" : "", escape(shown), escape(r.label),
        r.changes_values ? " (changes what is computed: never chosen)" : "", place(r.low), place(r.high), y,
        y, colour, place(r.ratio), y, colour, place(r.high) + 9, y + 4, r.ratio);
  }
  out += fmt::format(
      "<text x=\"{:.1f}\" y=\"{}\" font-size=\"12\" text-anchor=\"middle\" fill=\"var(--quiet)\">as it "
      "is</text>\n"
      "</svg>\n",
      place(1), height - 6);
  return out;
}

// Names that change nothing here, or that could not be tried.
std::string rest_of(const Json& explored) {
  std::vector<std::string> same, failed;
  for (const Json& trial : explored.at("passes")) {
    const std::string name = trial.at("passes").at(0).get<std::string>();
    if (const std::string why = text_of(trial, "failure"); !why.empty()) failed.push_back(name + ": " + why);
    else if (trial.at("measured").is_null()) same.push_back(name);
  }
  std::string out;
  if (!same.empty())
    out += fmt::format(
        "<details><summary>{} names change nothing here</summary><p class=\"quiet\">{}</p>"
        "</details>\n",
        same.size(), escape(fmt::format("{}", fmt::join(same, ", "))));
  for (const std::string& f : failed) out += fmt::format("<p class=\"quiet\">{}</p>\n", escape(f));
  return out;
}

std::string interval_text(const Json& i) {
  return fmt::format("{:.3f} [{:.3f}, {}]", i.at("ratio").get<double>(), i.at("low").get<double>(),
                     i.at("high").is_null() ? "?" : fmt::format("{:.3f}", i.at("high").get<double>()));
}

std::string prepared_section(const Json& prepared) {
  if (prepared.is_null()) return "";
  const auto fact = [](const char* what, const std::string& value) {
    return fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", what, value);
  };
  const auto megabytes = [&](const char* field) {
    return fmt::format("{:.1f} MB", prepared.at(field).get<double>() * 1e-6);
  };
  std::string out = "<section><h2>The prepared model</h2>\n<dl class=\"facts\">\n";
  out += fact("times faster to load", interval_text(prepared.at("plain").at("load")));
  if (!prepared.at("with_options").is_null())
    out += fact("with the options below", interval_text(prepared.at("with_options").at("load")));
  out += fact("speed of a run, relative", interval_text(prepared.at("latency")));
  out += fact("peak memory of loading", megabytes("peak_bytes_before") + " <span class=\"to\">to</span> " +
                                            megabytes("peak_bytes_after"));
  out += fact("equal", escape(text_of(prepared, "equality")));
  return out + "</dl></section>\n";
}

}  // namespace

std::string exploration_page(const Json& explored, const std::string& model, std::string_view version) {
  const std::vector<Row> rows = rows_of(explored);
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"generator\" content=\"isomer "
      "explore\">\n"
      "<title>{} explored</title>\n<style>\n{}\n</style>\n</head>\n<body>\n<header>\n"
      "<p class=\"brand\">isomer explore, {}</p>\n<h1>{}</h1>\n<p>{}</p>\n"
      "<p class=\"quiet\">objective {}, mode {}; {} thread(s), {}; inputs {}</p>\n</header>\n<main>\n",
      escape(model), kPageCss, escape(version), escape(model), escape(text_of(explored, "line")),
      escape(text_of(explored, "objective")), escape(text_of(explored, "mode")),
      explored.at("threads").get<int>(), escape(text_of(explored, "machine")),
      escape(text_of(explored, "inputs")));
  if (!rows.empty())
    out += fmt::format(
        "<section><h2>What each pass does</h2>\n<p class=\"quiet\">The gain without the pass, or with the "
        "setting, over the default settings: 95 % intervals. Green is better and red is worse, with 95 % "
        "confidence.</p>\n{}{}</section>\n",
        picture(rows), rest_of(explored));
  else if (explored.at("prepared").is_null())
    out += "<section><p>No pass or setting was measured.</p>" + rest_of(explored) + "</section>\n";
  out += prepared_section(explored.at("prepared"));
  if (explored.at("verdict") == "better")
    out += fmt::format("<section><h2>What to paste</h2>\n<pre>{}</pre>\n<pre>{}</pre>\n</section>\n",
                       escape(text_of(explored, "python")), escape(text_of(explored, "cpp")));
  return out + "</main>\n</body>\n</html>\n";
}

}  // namespace isomer
