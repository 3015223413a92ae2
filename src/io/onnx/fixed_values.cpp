#include "io/onnx/fixed_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "io/onnx/fixed_sizes.h"
#include "io/onnx/read_text.h"

namespace isomer {

Result<FixedValues> parse_values(const std::vector<std::string>& arguments,
                                 const std::vector<const Graph*>& graphs) {
  FixedValues out;
  for (const std::string& argument : arguments) {
    const auto equals = argument.rfind('=');  // names of inputs may hold one too
    const std::string text = equals == std::string::npos ? "" : argument.substr(equals + 1);
    double number = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || failure != std::errc{} || end != text.data() + text.size())
      return Error{fmt::format("--value {}: expected NAME=NUMBER", argument)};
    const std::string name = argument.substr(0, equals);
    std::vector<std::string> names;
    for (const Graph* graph : graphs)
      for (const Value value : graph->inputs()) names.push_back(graph->name_of(value));
    if (std::ranges::find(names, name) == names.end())
      return Error{fmt::format("--value {}: the model has no input '{}'; its inputs are {}", argument, name,
                               fmt::join(std::set(names.begin(), names.end()), ", "))};
    if (!out.emplace(name, number).second)
      return Error{fmt::format("--value {}: '{}' has a value already", argument, name)};
  }
  return out;
}

namespace wire {
namespace {

constexpr std::int64_t kMostElements = 1 << 20;

// The tensor of an input, all of whose elements are one number.
Result<onnx::TensorProto> constant_of(const onnx::ValueInfoProto& input, double number) {
  const auto refuse = [&](std::string_view why) {
    return Error{fmt::format("input '{}' can't be {}: {}", printable(input.name()), number, why)};
  };
  const auto& type = input.type().tensor_type();
  if (!input.type().has_tensor_type() || !type.has_shape()) return refuse("its size is not known");
  onnx::TensorProto out;
  out.set_name(input.name());
  out.set_data_type(type.elem_type());
  std::int64_t count = 1;
  for (const auto& dim : type.shape().dim()) {
    if (!dim.has_dim_value() || dim.dim_value() < 0 || dim.dim_value() > kMostElements)
      return refuse("a size of it is open; --shape gives it one");
    out.add_dims(dim.dim_value());
    if ((count *= dim.dim_value()) > kMostElements) return refuse("it has too many elements");
  }
  const bool is_whole = std::trunc(number) == number && std::abs(number) < 0x1p31;
  for (std::int64_t k = 0; k < count; ++k) switch (type.elem_type()) {
      case onnx::TensorProto::FLOAT: out.add_float_data(static_cast<float>(number)); break;
      case onnx::TensorProto::DOUBLE: out.add_double_data(number); break;
      case onnx::TensorProto::INT64:
        if (!is_whole) return refuse("it has integers");
        out.add_int64_data(static_cast<std::int64_t>(number));
        break;
      case onnx::TensorProto::INT32:
        if (!is_whole) return refuse("it has integers");
        out.add_int32_data(static_cast<std::int32_t>(number));
        break;
      case onnx::TensorProto::BOOL:
        if (number != 0 && number != 1) return refuse("it has truth values, 0 or 1");
        out.add_int32_data(number == 0 ? 0 : 1);
        break;
      default: return refuse("its type is none of float, double, int32, int64 and bool");
    }
  return out;
}

}  // namespace

Status fix_values(onnx::GraphProto& graph, const FixedValues& values) {
  auto& inputs = *graph.mutable_input();
  auto& constants = *graph.mutable_initializer();
  for (const auto& [name, number] : values) {
    const auto has_name = [&name = name](const auto& each) { return each.name() == name; };
    const auto at = std::ranges::find_if(inputs, has_name);
    if (at == inputs.end()) continue;
    ISOMER_TRY(onnx::TensorProto constant, constant_of(*at, number));
    inputs.erase(at);
    // A default, where there is one, was never more than that.
    if (const auto given = std::ranges::find_if(constants, has_name); given != constants.end())
      constants.erase(given);
    *constants.Add() = std::move(constant);
  }
  return Done{};
}

}  // namespace wire
}  // namespace isomer
