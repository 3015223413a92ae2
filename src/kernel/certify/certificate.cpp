#include "kernel/certify/certificate.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "io/onnx/program.h"

namespace isomer {
namespace {

using Json = nlohmann::ordered_json;

Result<std::vector<std::string>> strings(const Json& json) {
  if (!json.is_array()) return Error{"a list of names is expected"};
  std::vector<std::string> out;
  for (const Json& j : json) {
    if (!j.is_string()) return Error{"a list of names is expected"};
    out.push_back(j.get<std::string>());
  }
  return out;
}

// A field, or "" where it is not there or no text.
std::string text_of(const Json& json, const char* field) {
  const auto at = json.find(field);
  return at != json.end() && at->is_string() ? at->get<std::string>() : "";
}

Status parse_head(const Json& json, Certificate& out) {
  out.in_digest = text_of(json, "in");
  out.out_digest = text_of(json, "out");
  const auto format = json.find("isomer_certificate");
  if (format != json.end() && format->is_number_integer() &&
      format->get<std::int64_t>() != kCertificateFormat)
    return Error{fmt::format("a certificate of format {}; only format {} is read: make it again",
                             format->get<std::int64_t>(), kCertificateFormat)};
  out.sizes_from = json.contains("sizes_from") ? 1 : 0;
  Json head{{"isomer_certificate", kCertificateFormat}, {"in", out.in_digest}, {"out", out.out_digest}};
  if (out.sizes_from == 1) head["sizes_from"] = 1;
  if (json != head) return Error{"not a certificate of this format"};
  return Done{};
}

Result<std::vector<std::int64_t>> integers(const Json& json) {
  if (!json.is_array()) return Error{"a list of integers is expected"};
  std::vector<std::int64_t> out;
  for (const Json& j : json) {
    if (!j.is_number_integer()) return Error{"a list of integers is expected"};
    out.push_back(j.get<std::int64_t>());
  }
  return out;
}

Result<std::string> string(const Json& json) {
  if (!json.is_string()) return Error{"a text is expected"};
  return json.get<std::string>();
}

Result<Graph> program(const Json& json) {
  ISOMER_TRY(const std::string text, string(json));
  const auto bytes = from_base64(text);
  if (!bytes) return Error{"a program is a model in base64"};
  return read_program(*bytes);
}

// Whether the object has these fields, maybe those, and no others.
bool has_fields(const Json& json, std::initializer_list<const char*> wanted,
                std::initializer_list<const char*> allowed = {}) {
  std::size_t known = 0;
  for (const char* field : wanted) {
    if (!json.contains(field)) return false;
    ++known;
  }
  for (const char* field : allowed)
    if (json.contains(field)) ++known;
  return known == json.size();
}

Result<std::optional<int>> attempt_of(const Json& json) {
  if (!json.contains("attempt")) return std::optional<int>();
  if (!json["attempt"].is_number_integer()) return Error{"an attempt is a number"};
  return std::optional(json["attempt"].get<int>());
}

Result<std::vector<ConstantFact>> facts_of(const Json& json) {
  std::vector<ConstantFact> out;
  if (!json.contains("facts")) return out;
  if (!json["facts"].is_array()) return Error{"a list of facts is expected"};
  for (const Json& fact : json["facts"]) {
    if (!fact.is_object() || !has_fields(fact, {"constant", "by"})) return Error{"a fact is {constant, by}"};
    ISOMER_TRY(auto constant, string(fact["constant"]));
    ISOMER_TRY(Graph by, program(fact["by"]));
    out.push_back({std::move(constant), std::move(by)});
  }
  return out;
}

Result<CertifiedStep> parse_step(const Json& json) {
  if (const bool folds = json.contains("fold"), widens = json.contains("widen");
      folds || widens || json.contains("flush")) {
    const char* kind = folds ? "fold" : widens ? "widen" : "flush";
    if (json.size() != 1) return Error{fmt::format("a step that is a {} has no other fields", kind)};
    ISOMER_TRY(auto values, strings(json[kind]));
    if (folds) return CertifiedStep(FoldStep{std::move(values)});
    if (widens) return CertifiedStep(WidenStep{std::move(values)});
    return CertifiedStep(FlushStep{std::move(values)});
  }
  if (!has_fields(json, {"replace", "from", "by"}, {"attempt", "facts"}))
    return Error{"a step is {replace, from, by}, {fold}, {widen} or {flush}"};
  ISOMER_TRY(auto outputs, strings(json["replace"]));
  ISOMER_TRY(auto inputs, strings(json["from"]));
  ISOMER_TRY(Graph after, program(json["by"]));
  ISOMER_TRY(const auto attempt, attempt_of(json));
  ISOMER_TRY(auto facts, facts_of(json));
  if (after.outputs().size() != outputs.size())
    return Error{"the program has not as many outputs as it replaces"};
  return CertifiedStep(Claim{.inputs = std::move(inputs),
                             .outputs = std::move(outputs),
                             .after = std::move(after),
                             .attempt = attempt,
                             .facts = std::move(facts)});
}

Result<MovedValue> parse_moved(const Json& json) {
  MovedValue out;
  const bool is_turned = has_fields(json, {"moved", "of", "perm"});
  if (!is_turned && !has_fields(json, {"moved", "of", "begin", "step"}))
    return Error{"a moved value is {moved, of, perm} or {moved, of, begin, step}"};
  ISOMER_TRY(out.name, string(json["moved"]));
  ISOMER_TRY(out.of, string(json["of"]));
  if (is_turned) {
    ISOMER_TRY(out.perm, integers(json["perm"]));
    if (out.perm.empty()) return Error{"an empty permutation"};
    return out;
  }
  ISOMER_TRY(out.begin, integers(json["begin"]));
  ISOMER_TRY(out.step, integers(json["step"]));
  return out;
}

Result<StatedConstant> parse_constant(const Json& json) {
  StatedConstant out;
  if (!has_fields(json, {"constant", "of", "by"})) return Error{"a constant is {constant, of, by}"};
  ISOMER_TRY(out.name, string(json["constant"]));
  ISOMER_TRY(const std::string of, string(json["of"]));
  if (of != "in" && of != "out") return Error{"a constant is of \"in\" or of \"out\""};
  out.side = of == "in" ? Side::A : Side::B;
  ISOMER_TRY(out.program, program(json["by"]));
  return out;
}

Result<Equation> parse_equation(const Json& json) {
  Equation out;
  if (!has_fields(json, {"equal", "open", "work", "at_end"}, {"attempt"}))
    return Error{"an equation is {equal, open, work, at_end}"};
  ISOMER_TRY(const auto both, strings(json["equal"]));
  if (both.size() != 2) return Error{"two values are equal"};
  out.a = both[0];
  out.b = both[1];
  ISOMER_TRY(out.open, strings(json["open"]));
  ISOMER_TRY(out.attempt, attempt_of(json));
  if (!json["work"].is_number_unsigned() || !json["at_end"].is_boolean())
    return Error{"an equation is {equal, open, work, at_end}"};
  out.work = json["work"].get<std::uint64_t>();
  out.at_end = json["at_end"].get<bool>();
  return out;
}

Status parse_pairing(const Json& json, Pairing& out) {
  if (json.contains("moved")) {
    ISOMER_TRY(auto moved, parse_moved(json));
    out.moved.push_back(std::move(moved));
  } else if (json.contains("constant")) {
    ISOMER_TRY(auto constant, parse_constant(json));
    out.constants.push_back(std::move(constant));
  } else {
    ISOMER_TRY(auto equation, parse_equation(json));
    out.equations.push_back(std::move(equation));
  }
  return Done{};
}

// A line that is neither the head nor a note.
Status parse_line(const Json& json, Certificate& out) {
  if (out.pairing) return parse_pairing(json, *out.pairing);
  if (json.contains("compare")) {
    const bool by_position = json.contains("outputs");
    if (json !=
        (by_position ? Json{{"compare", "values"}, {"outputs", "by position"}} : Json{{"compare", "values"}}))
      return Error{"only values are compared, their outputs by name or by position"};
    out.pairing.emplace();
    out.pairing->by_position = by_position;
    return Done{};
  }
  if (json.contains("assume")) {
    if (json.size() != 1 || !json["assume"].is_string()) return Error{"an assumption is an operator's text"};
    if (!out.steps.empty()) return Error{"an assumption stands before all steps"};
    out.assumed.push_back(json["assume"].get<std::string>());
    return Done{};
  }
  ISOMER_TRY(auto step, parse_step(json));
  out.steps.push_back(std::move(step));
  return Done{};
}

}  // namespace

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
                           .where = text_of(n, "where"),
                           .ratio = ratio != n.end() && ratio->is_number() ? ratio->get<double>() : 0.0});
      continue;
    }
    if (const Status read = parse_line(json, out); !read.ok()) return fail(read.error().message);
  }
  if (number == 0) return Error{"an empty file is no certificate"};
  return out;
}

}  // namespace isomer
