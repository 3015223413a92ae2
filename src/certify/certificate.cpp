#include "certify/certificate.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "graph/text.h"

namespace isomer {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 2;

Result<std::vector<std::string>> strings(const Json& json) {
  if (!json.is_array()) return Error{"a list of names is expected"};
  std::vector<std::string> out;
  for (const Json& j : json) {
    if (!j.is_string()) return Error{"a list of names is expected"};
    out.push_back(j.get<std::string>());
  }
  return out;
}

Json head(const Certificate& certificate) {
  return {{"isomer_certificate", kFormat}, {"in", certificate.in_digest}, {"out", certificate.out_digest}};
}

// A field, or "" where it is not there or no text.
std::string text_of(const Json& json, const char* field) {
  const auto at = json.find(field);
  return at != json.end() && at->is_string() ? at->get<std::string>() : "";
}

Status parse_head(const Json& json, Certificate& out) {
  out.in_digest = text_of(json, "in");
  out.out_digest = text_of(json, "out");
  if (json != head(out)) return Error{"not a certificate of this format"};
  return Done{};
}

Result<CertifiedStep> parse_step(const Json& json) {
  if (json.contains("fold")) {
    if (json.size() != 1) return Error{"a fold has no other fields"};
    ISOMER_TRY(auto values, strings(json["fold"]));
    return CertifiedStep(FoldStep{std::move(values)});
  }
  if (!json.contains("replace") || !json.contains("from") || !json.contains("by") || json.size() != 3)
    return Error{"a step is {replace, from, by} or {fold}"};
  if (!json["by"].is_string()) return Error{"a program is a text"};
  ISOMER_TRY(auto outputs, strings(json["replace"]));
  ISOMER_TRY(auto inputs, strings(json["from"]));
  ISOMER_TRY(Graph after, parse_graph(json["by"].get<std::string>()));
  if (after.outputs().size() != outputs.size())
    return Error{"the program has not as many outputs as it replaces"};
  return CertifiedStep(
      Claim{.inputs = std::move(inputs), .outputs = std::move(outputs), .after = std::move(after)});
}

}  // namespace

std::string to_text(const Certificate& certificate) {
  std::string out = head(certificate).dump() + "\n";
  for (const CertifiedStep& step : certificate.steps) {
    if (const auto* claim = std::get_if<Claim>(&step))
      out += Json{{"replace", claim->outputs}, {"from", claim->inputs}, {"by", text(claim->after)}}.dump() +
             "\n";
    else out += Json{{"fold", std::get<FoldStep>(step).values}}.dump() + "\n";
  }
  for (const Note& note : certificate.notes)
    out += Json{{"note", {{"kind", note.kind}, {"what", note.what}, {"ratio", note.ratio}}}}.dump() + "\n";
  return out;
}

Result<Certificate> parse_certificate(std::string_view text) {
  Certificate out;
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    ++number;
    const Json json = Json::parse(line, nullptr, false);
    const auto fail = [&](const std::string& why) { return Error{fmt::format("line {}: {}", number, why)}; };
    if (!json.is_object()) return fail("not a JSON object");
    if (number == 1) {
      if (const Status read = parse_head(json, out); !read.ok()) return fail(read.error().message);
      continue;
    }
    if (json.contains("note")) {
      const Json& n = json["note"];
      if (!n.is_object()) continue;
      const auto ratio = n.find("ratio");
      out.notes.push_back({.kind = text_of(n, "kind"),
                           .what = text_of(n, "what"),
                           .ratio = ratio != n.end() && ratio->is_number() ? ratio->get<double>() : 0.0});
      continue;
    }
    auto step = parse_step(json);
    if (!step.ok()) return fail(step.error().message);
    out.steps.push_back(std::move(*step));
  }
  if (number == 0) return Error{"an empty file is no certificate"};
  return out;
}

}  // namespace isomer
