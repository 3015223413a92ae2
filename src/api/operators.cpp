#include "api/errors.h"
#include "graph/operator_text.h"
#include "isomer/isomer.h"

namespace isomer::api {

void declare_operators(std::string_view text) {
  guarded([&] { take(isomer::declare_operators(text)); });
}

}  // namespace isomer::api
