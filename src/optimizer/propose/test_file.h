// Tests of proposers as text, which `isomer propose FILE` runs:
//
//   # Max pooling commutes with functions that rise.
//   test a pool comes before an activation
//   proposer order
//   before
//   agraph (float[b,8,16,16] x) => (float[b,8,8,8] y) {
//     e = Elu(x)
//     y = MaxPool<kernel_shape=[2,2], strides=[2,2]>(e)
//   }
//   after MaxPool Elu
//
// The best proposal is proved, taken and folded; `after` has the operators of the result, in order.
// `refused`, instead: nothing is proposed, or it is not proved, with this in the reason. `proposer NAME at
// any price`: also what the analytic cost says no to. `before` is ONNX text, of opset 18; the numbers of an
// initializer may be `{made-up 1}`: as many as its shape needs, other ones for another number.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace isomer {

struct ProposalTest {
  std::string name;
  int line = 0;  // where it begins
  std::string proposer = {};
  bool any_price = false;
  std::string before = {};                // a program, all numbers written out
  std::optional<std::string> after = {};  // nullopt: it is refused
  std::string reason = {};                // part of why
};

// Error: names the line that is wrong.
Result<std::vector<ProposalTest>> parse_tests(std::string_view text);

struct ProposalOutcome {
  bool is_as_expected = false;
  std::string found;  // the operators after, or why it was refused
};
// Error: the program is none.
Result<ProposalOutcome> run_test(const ProposalTest& test);

}  // namespace isomer
