// Operators for the sizes that a user names, in a model that runs at every size: a call at one of them takes
// the operators made for it, any other call the model's own nodes. Internal to compile.cpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/api/compile/compile_operators.h"
#include "app/api/compile/output_folder.h"
#include "isomer/isomer.h"

namespace isomer::api {

// Whether the model leaves sizes open that the options give. Throws ErrorKind::BadInput: several sizes of
// something else than operators.
bool decides_by_size(const Model& model, const CompileOptions& options);

// `is_size_guessed`: see SizedExtras.
Compiled compile_for_sizes(const Model& model, const CompileOptions& options, const OutputFolder& folder,
                           bool is_size_guessed);

struct SizedExtras {
  std::vector<EqualModel> equal = {};  // whose regions are offered, too
  // The model for sizes without a case, and the certificate that it is equal; nullopt: the model itself.
  std::optional<Model> otherwise = {};
  std::string certificate = {};
  bool skips_given = false;   // one of these is better for operators than the model in any case
  bool wants_bodies = false;  // operators are functions of the model, too; a user's stop keeps the best
  lower::Exactness sums = lower::Exactness::Fast;  // none that are less exact are tried
  std::shared_ptr<KnownOutputs> known = std::make_shared<KnownOutputs>();
  // No user gave the size at which the model is measured: only operators for every size are taken.
  bool is_size_guessed = false;

  // The model that kernels are made of.
  const Model& graph_for_kernels(const Model& model) const {
    return skips_given && !equal.empty() ? equal.front().model : model;
  }
};
// The same without writing anything.
FoundOperators find_for_sizes(const Model& model, const CompileOptions& options, const OutputFolder& folder,
                              SizedExtras extras);
// Operators for every size and for the given ones, of all that can be compiled: one compilation, no search.
FoundOperators find_whole_for_sizes(const Model& model, const CompileOptions& options,
                                    const OutputFolder& folder, SizedExtras extras);

}  // namespace isomer::api
