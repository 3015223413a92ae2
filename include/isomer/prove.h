// Whether two models are equal; how far apart they are.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "isomer/model.h"

namespace isomer::api {

// ---- Equality, in the sense of docs/concepts/equality.md

enum class Verdict : int { Proved = 0, Refuted = 1, Undecided = 2 };

struct ProveOptions {
  double seconds = 300;
  std::string certificate = {};  // tried first: a proof that need not be found, only checked; "": none
  bool by_position = false;  // outputs are matched by position, also where both models have the same names
  bool exact_constants = false;  // models that are equal but for rounding of constants are undecided
  Progress progress = {};
  Progress notice = {};  // what is seen at once and is worth saying now: "w differs in 1 of 9 elements, ..."
  Progress trace = {};   // every pair of values that is tried
  std::stop_token stop = {};
};

struct Proof {
  Verdict verdict = Verdict::Undecided;
  std::string why = {};  // the reason if it is not proved
  struct Output {
    std::string a, b;  // its names
    Verdict verdict = Verdict::Undecided;
    std::string why = {};  // the reason if it is not proved
  };
  std::vector<Output> outputs = {};
  std::string first_difference = {};  // the nodes where the models part, if it is not proved
  int rounded_constants = 0;          // if it is proved: constants of b that are a's but for rounding
  std::uint64_t flushed = 0;          // if it is proved: denormal numbers of a's constants that are zero in b
  bool by_position = false;           // outputs were matched by position
  int sizes_from = 0;                 // open sizes are taken to be at least this
  std::string certificate = {};       // if it is, for `check`
  Tensors counterexample = {};  // feeds on which the models differ, if it is refuted and some were found
  std::string json = {};        // what `isomer prove --json` prints
};
// Inputs are matched by name; outputs, too, if both models have the same names of them, else by position.
ISOMER_API Proof prove_equal(const Model& a, const Model& b, const ProveOptions& options = {});

struct Checked {
  bool accepted = false;    // `out` equals `in`: every step was proved again
  std::string reason = {};  // why not
  std::string text = {};    // the answer as one line, as the program isomer-check prints it
  std::string json = {};    // what `isomer check --json` prints
};
// A certificate that does not cover size 0 is rejected if `in` was loaded with `sizes_from` 0.
ISOMER_API Checked check(const Model& in, const Model& out, std::string_view certificate);
// The same of files, as the program isomer-check does it; both models at these sizes and values
// (LoadOptions), if the certificate is about them.
ISOMER_API Checked check_files(const std::filesystem::path& in, const std::filesystem::path& out,
                               const std::filesystem::path& certificate,
                               const std::vector<std::string>& sizes = {},
                               const std::vector<std::string>& values = {}, int sizes_from = 1);

// Whole or not at all; whether it is a certificate is not looked at.
ISOMER_API std::string load_certificate(const std::filesystem::path& path);
ISOMER_API void save_certificate(std::string_view certificate, const std::filesystem::path& path);

// The same of any other text.
ISOMER_API void save_text(std::string_view text, const std::filesystem::path& path);

// The steps that a certificate states. They are not proved here.
struct Explanation {
  struct Note {
    std::string kind, what;  // the proposer's name; what became what, the same at equal places
    std::string where;       // the value that was replaced; "": none
    std::string words;       // both, for people
    double ratio = 0;        // speedup, as measured; 0: not measured
  };
  std::vector<Note> notes = {};
  std::uint64_t steps = 0;
  std::optional<std::uint64_t> pairs = {};  // of two models that were proved equal: pairs of values
  int sizes_from = 0;                       // open sizes of inputs are taken to be at least this
  std::string told = {};                    // what the checker reads: each step, its program as text
  std::string json = {};                    // what `isomer explain --json` prints
};
ISOMER_API Explanation explain(std::string_view certificate);

// ---- How far apart two models are, on one input

struct CompareOptions {
  Engine engine = Engine::Runtime;
  std::optional<double> tolerance = {};  // of the largest value; nullopt: what is usual for its type
  bool outputs_only = false;             // the first value where the models part is not looked for
  Inputs inputs = {};
  Run run = {};
};

struct Comparison {
  bool differ = false;  // by more than the tolerance
  struct Output {
    std::string a, b;         // its names
    std::string misfit = {};  // not "": types or shapes differ, and no number is known
    std::uint64_t differing = 0, elements = 0;
    double largest_absolute = 0, largest_relative = 0;
    double of_scale = 0;  // the largest difference, of the largest value
  };
  std::vector<Output> outputs = {};
  std::string json = {};  // what `isomer compare --json` prints; with the first value where they part
};
// Inputs are the same by name, outputs by position.
ISOMER_API Comparison compare(const Model& a, const Model& b, const CompareOptions& options = {});

}  // namespace isomer::api
