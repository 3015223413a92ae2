// The weights of a form (optimizer/facts/region_form.h): a linear region's response to impulses and to zeros.
#pragma once

#include <optional>
#include <vector>

#include "model/graph/program_builder.h"
#include "optimizer/facts/impulse_response.h"
#include "optimizer/facts/region_form.h"
#include "optimizer/facts/region_runner.h"

namespace isomer {

// Whether what the region makes of zeros is the same at all places of the windows; nullopt: not known.
std::optional<bool> is_even(const RegionRunner& runner, const RegionForm& form);

// Whether floats keep the digits of the region's result, also in another order: (x + 1e8) - 1e8 and (x ·
// 1e30) · 1e-30 leave few digits, and a model may round in this way on purpose; x - 1e8 may be the second
// half of such a pair. Unknown counts as no.
bool keeps_digits(const RegionRunner& runner, const RegionForm& form);

// A shape of the input with a batch of one and windows that are just large enough to show all borders.
Extents smaller_input(const RegionRunner& runner, const RegionForm& form);

// A list of digits as a permutation.
std::vector<std::int64_t> permutation(const std::vector<std::size_t>& order);

std::int64_t product_of(const Extents& extents);

// Programs that compute weights, written by one builder. All of them may not be found: nullopt.
class RegionWeights {
 public:
  // `affine`: the region adds constants somewhere.
  RegionWeights(ProgramBuilder& b, const RegionRunner& runner, const RegionForm& form, bool affine);

  // Whether groups, channels and outputs have known extents: the other functions require it.
  bool are_possible() const { return are_possible_; }
  std::int64_t groups() const { return product_of(group_sizes_); }
  std::int64_t outputs() const { return product_of(output_sizes_); }

  std::optional<Value> kernel();     // [groups·outputs, channels, taps...]
  std::optional<Value> matrix();     // [groups, channels, outputs]; without groups [channels, outputs]
  std::optional<Value> constants();  // the answer to zeros: [1, groups·outputs, windows...]
  std::optional<Value> bias();       // the same at one place: [groups·outputs]

  // slope · x + shift, of a batch of one, in the output's own layout.
  struct Line {
    Value slope, shift = Value::none();  // none: nothing is added
  };
  std::optional<Line> line();

 private:
  struct Run;
  std::int64_t impulses() const;
  bool choose_windows(Run& run, bool small) const;
  Extents input_shape(const Run& run) const;
  Extents digits_in(const Run& run) const;
  bool prepare(Run& run) const;
  std::optional<Run> run_for(std::int64_t count) const;
  std::optional<Run> cut_run_for(std::int64_t count) const;
  Impulses impulses_in(const Run& run) const;
  Value images(const Run& run);
  Value in_place(Value images, const Run& run);
  Value canonical_answer(Value y, const Run& run);
  std::optional<Value> answer_to_zeros(const Extents& spatial, Extents& outputs);
  RegionRunner::Selected selected(const Run& run) const;
  Value answer_in_pieces(Value images, const Run& run, const RegionRunner::Shifts& zeros);
  std::optional<Value> response(Run& run);
  std::size_t other(std::size_t digit) const { return static_cast<std::size_t>(form_.input[digit].other); }
  std::int64_t natural(std::size_t digit) const { return runner_.input_sizes()[form_.input[digit].axis]; }

  ProgramBuilder& b_;
  const RegionRunner& runner_;
  const RegionForm& form_;
  bool affine_;
  std::vector<std::size_t> batch_, groups_, channels_, windows_;  // digits of the input
  Extents group_sizes_, channel_sizes_, output_sizes_;
  bool are_possible_ = true;
};

}  // namespace isomer
