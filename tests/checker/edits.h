// Edits of a checker's inputs: the original, the result, the certificate. Each knows which field it
// touches, and whether that field means something.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attack/random_program.h"
#include "checker/cases.h"

namespace isomer::checker {

using attack::Random;

struct Mutant {
  Graph in, out;
  std::vector<std::string> lines;  // of the certificate
  bool forge = false;              // OUT becomes what the steps say, whether true or not
  bool digests = true;             // are put right after the edit
};

struct Edit {
  std::string_view field;
  bool semantic;
  bool (*apply)(Random& random, const Case& original, Mutant& mutant);  // false: nothing to edit there
};

std::span<const Edit> edits_of_models();        // edits_models.cpp
std::span<const Edit> edits_of_certificates();  // edits_certificates.cpp

Mutant honest(const Case& original);
std::vector<std::string> names_in(const Graph& graph);

}  // namespace isomer::checker
