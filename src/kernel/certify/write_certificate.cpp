#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "io/onnx/program.h"
#include "kernel/certify/certificate.h"

namespace isomer {
namespace {

using Json = nlohmann::ordered_json;

Json head(const Certificate& certificate) {
  Json out{{"isomer_certificate", kCertificateFormat},
           {"in", certificate.in_digest},
           {"out", certificate.out_digest}};
  if (certificate.sizes_from > 0) out["sizes_from"] = certificate.sizes_from;
  return out;
}

// For a program that can't be written, a text that no reader accepts: the certificate is then rejected.
std::string text_of(const Graph& program) {
  const auto bytes = write_program(program);
  return bytes.ok() ? to_base64(*bytes) : bytes.error().message;
}

Json to_json(const MovedValue& m) {
  if (!m.perm.empty()) return {{"moved", m.name}, {"of", m.of}, {"perm", m.perm}};
  return {{"moved", m.name}, {"of", m.of}, {"begin", m.begin}, {"step", m.step}};
}

Json to_json(const StatedConstant& c) {
  return {{"constant", c.name}, {"of", c.side == Side::A ? "in" : "out"}, {"by", text_of(c.program)}};
}

Json to_json(const Equation& e) {
  Json out{{"equal", {e.a, e.b}}, {"open", e.open}, {"work", e.work}};
  if (e.attempt) out["attempt"] = *e.attempt;
  out["at_end"] = e.at_end;
  return out;
}

}  // namespace

std::string to_text(const Certificate& certificate) {
  std::string out = head(certificate).dump() + "\n";
  for (const std::string& text : certificate.assumed) out += Json{{"assume", text}}.dump() + "\n";
  for (const CertifiedStep& step : certificate.steps) {
    if (const auto* claim = std::get_if<Claim>(&step)) {
      Json line{{"replace", claim->outputs}, {"from", claim->inputs}, {"by", text_of(claim->after)}};
      for (const ConstantFact& fact : claim->facts)
        line["facts"].push_back({{"constant", fact.constant}, {"by", text_of(fact.program)}});
      if (claim->attempt) line["attempt"] = *claim->attempt;
      out += line.dump() + "\n";
    } else if (const auto* fold = std::get_if<FoldStep>(&step)) {
      out += Json{{"fold", fold->values}}.dump() + "\n";
    } else if (const auto* wide = std::get_if<WidenStep>(&step)) {
      out += Json{{"widen", wide->values}}.dump() + "\n";
    } else {
      out += Json{{"flush", std::get<FlushStep>(step).constants}}.dump() + "\n";
    }
  }
  if (certificate.pairing) {
    Json line{{"compare", "values"}};
    if (certificate.pairing->by_position) line["outputs"] = "by position";
    out += line.dump() + "\n";
    for (const MovedValue& m : certificate.pairing->moved) out += to_json(m).dump() + "\n";
    for (const StatedConstant& c : certificate.pairing->constants) out += to_json(c).dump() + "\n";
    for (const Equation& e : certificate.pairing->equations) out += to_json(e).dump() + "\n";
  }
  for (const Note& note : certificate.notes)
    out += Json{{"note",
                 {{"kind", note.kind}, {"what", note.what}, {"where", note.where}, {"ratio", note.ratio}}}}
               .dump() +
           "\n";
  return out;
}

}  // namespace isomer
