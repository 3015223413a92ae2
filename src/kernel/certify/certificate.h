// Certificate: the steps that change a model, so that a checker can repeat and prove them.
//
// JSON lines. The first names the format and the two models, by digests (kernel/certify/digest.h):
//   {"isomer_certificate": 4, "in": "<64 digits>", "out": "<64 digits>"}
// and, if it holds only where no open size of an input is 0: "sizes_from": 1.
// Operators of users' own domains that it takes for granted follow, as they state them
// (model/graph/text/operator_text.h); nothing else is assumed, and every answer that rests on one prints it:
//   {"assume": "operator acme::Gate(x: T[n]) -> (y: T[n]) {...}"}
// Each other line is a step:
//   {"replace": ["y"], "from": ["x"], "by": "<program>"}
//   {"fold": ["k", "b"]}
//   {"widen": ["a", "y"]}
//   {"flush": ["w"]}
// The last states that denormal numbers of constants are zero (kernel/prove/flush.h); it is the first step.
// A replacement may rest on what constants are (kernel/prove/constant_fact.h), which is checked on their
// bytes:
//   "facts": [{"constant": "w", "by": "<program over constants>"}]
// or a record, {"note": {...}}: texts and timings, which the checker skips. Replacements that follow one
// another are all about the graph before the first of them, and are applied together. Where the steps end,
// the graph is OUT, name by name; or
//   {"compare": "values"}  or  {"compare": "values", "outputs": "by position"}
// follows, and the rest says how the two are equal, value by value (kernel/certify/pairing.h):
//   {"moved": "m", "of": "t", "perm": [0, 2, 1]}  or  {"moved": "m", "of": "t", "begin": [0], "step": [2]}
//   {"constant": "w", "of": "out", "by": "<program over constants of the other model>"}
//   {"equal": ["a", "b"], "open": ["t"], "work": 1048576, "attempt": 2, "at_end": false}
// A program is an ONNX model (io/onnx/program.h) in base64.
// There is no field in a step that is not used; unknown fields are refused. "attempt", here and in a
// replacement, is the way in which the proof was found: the checker tries no other.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "kernel/certify/pairing.h"
#include "kernel/prove/step.h"

namespace isomer {

inline constexpr int kCertificateFormat = 4;

struct Note {
  std::string kind, what;
  std::string where = {};  // the first value that a replacement is about; "": it is about none
  double ratio = 0;        // 0: not measured
};

struct Certificate {
  std::string in_digest = {}, out_digest = {};  // by with_digests
  std::vector<std::string> assumed = {};        // texts of operators, by with_digests
  int sizes_from = 0;                           // Graph::sizes_from of IN, by with_digests
  std::vector<CertifiedStep> steps;
  std::optional<Pairing> pairing = {};
  std::vector<Note> notes;
};

std::string to_text(const Certificate& certificate);
Result<Certificate> parse_certificate(std::string_view text);

}  // namespace isomer
