// Operators that a user defines, beside those of the list: model/graph/text/operator_text.h reads them.
//
// They are a value that goes with a graph (Opsets::own): a definition for one model does not apply to
// another. Nothing here checks that a runtime's kernel computes the definition; the user asserts it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/ops/operator.h"

namespace isomer {

struct OwnOperator {
  std::string domain, name;
  std::string text;  // as it was stated
  int inputs = 0;
  std::function<Definition(const Call&)> define;
};

class OwnOperators {
 public:
  // Error: a domain that is ONNX's or that the list has operators of; a name that another text states
  // already. The same text again is no error.
  Status add(OwnOperator op);
  // nullptr: there is none. It lives as long as any copy of this set.
  const Operator* find(std::string_view domain, std::string_view name) const;
  std::vector<std::string> texts() const;  // in the order in which they were added

 private:
  struct Entry {
    OwnOperator stated;
    Operator op;  // refers to `stated`
  };
  std::vector<std::shared_ptr<const Entry>> entries_;
};

}  // namespace isomer
