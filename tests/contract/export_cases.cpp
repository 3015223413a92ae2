// isomer-contract-cases: the drawn cases of operators with our results, for tests/evidence/contract_ort.py to
// compare with a runtime.
//
//   isomer-contract-cases --list                     the operators, as JSON
//   isomer-contract-cases OP CASES BASE [DOMAIN]     writes BASE.json (calls) and BASE.npz (tensors)
//   isomer-contract-cases --empty OP CASES BASE [DOMAIN]   the same with an extent of each made 0, and what
//   the
//                                                    formula promises there
//
// Tensors are named by case: 17.in0, 17.attribute.value, 17.native0 and 17.double0 (the same output computed
// in double).
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>

#include "contract/drawn_case.h"
#include "contract/emptied_case.h"
#include "contract/samples/samples.h"
#include "contract/tensors.h"
#include "io/npz/npz.h"
#include "model/eval/program.h"
#include "model/ops/shared/empty.h"

namespace isomer::contract {
namespace {

using Json = nlohmann::ordered_json;

Json number(float value) { return std::isfinite(value) ? Json(value) : Json(fmt::format("{}", value)); }

// {"kind": "ints", "value": [1, 2]}: what onnx.helper.make_attribute needs. A tensor's value is its name in
// the npz.
Json to_json(const Attribute::Value& value, const std::string& key, NamedTensors& tensors) {
  struct Visitor {
    const std::string& key;
    NamedTensors& tensors;
    Json operator()(std::int64_t v) const { return {{"kind", "int"}, {"value", v}}; }
    Json operator()(float v) const { return {{"kind", "float"}, {"value", number(v)}}; }
    Json operator()(const std::string& v) const { return {{"kind", "string"}, {"value", v}}; }
    Json operator()(const Tensor& v) const {
      tensors.emplace(key, v);
      return {{"kind", "tensor"}, {"value", key}, {"type", name(v.type())}};
    }
    Json operator()(const std::vector<std::int64_t>& v) const { return {{"kind", "ints"}, {"value", v}}; }
    Json operator()(const std::vector<float>& v) const {
      Json list = Json::array();
      for (const float x : v) list.push_back(number(x));
      return {{"kind", "floats"}, {"value", list}};
    }
    Json operator()(const std::vector<std::string>& v) const { return {{"kind", "strings"}, {"value", v}}; }
    Json operator()(const RawAttribute&) const { return {{"kind", "raw"}}; }
  };
  return std::visit(Visitor{key, tensors}, value);
}

// What became of the case: its outputs, or why there are none.
void add_results(const DrawnCase& drawn, const std::string& key, Json& json, NamedTensors& tensors) {
  const Definition definition = define(*drawn.op, drawn.call);
  if (const auto* opaque = std::get_if<Opaque>(&definition)) json["opaque"] = opaque->reason;
  if (const auto* invalid = std::get_if<Invalid>(&definition)) json["failed"] = invalid->message;
  const auto* formula = std::get_if<Formula>(&definition);
  if (!formula) return;
  const auto native = Program::compile(*formula).run(drawn.inputs);
  const auto lifted =
      Program::compile(lift(*formula, ElementType::Double)).run(lifted_to_double(drawn.inputs));
  if (!native || !lifted) {
    json["failed"] = (native ? lifted : native).error().message;
    return;
  }
  for (std::size_t k = 0; k < native->size(); ++k) {
    json["outputs"].push_back(name((*native)[k].type()));
    tensors.emplace(fmt::format("{}native{}", key, k), (*native)[k]);
    tensors.emplace(fmt::format("{}double{}", key, k), (*lifted)[k]);
  }
}

Json export_case(const DrawnCase& drawn, NamedTensors& tensors) {
  const std::string key = fmt::format("{}.", drawn.number);
  Json json{{"number", drawn.number},    {"text", drawn.text()},
            {"opset", drawn.call.opset}, {"output_count", drawn.call.output_count},
            {"inputs", Json::array()},   {"attributes", Json::object()},
            {"outputs", Json::array()}};
  for (std::size_t i = 0; i < drawn.inputs.size(); ++i) {
    if (!drawn.inputs[i]) {
      json["inputs"].push_back(nullptr);
      continue;
    }
    json["inputs"].push_back(
        {{"type", name(drawn.inputs[i]->type())}, {"constant", bool{drawn.is_constant[i]}}});
    tensors.emplace(fmt::format("{}in{}", key, i), *drawn.inputs[i]);
  }
  for (const Attribute& attribute : drawn.call.attributes.all())
    json["attributes"][attribute.name] =
        to_json(attribute.value, key + "attribute." + attribute.name, tensors);
  add_results(drawn, key, json, tensors);
  return json;
}

constexpr int kWaysToEmpty = 16;  // of one case

void export_emptied(const Operator& op, int number, Json& cases, NamedTensors& tensors) {
  auto made = emptied_case(draw_case(op, number / kWaysToEmpty), static_cast<std::uint64_t>(number));
  if (!made) return;
  using enum EmptiedCase::Promise;
  made->drawn.number = number;
  Json json = export_case(made->drawn, tensors);
  json["promise"] = made->promise == Runs ? "runs" : made->promise == Fails ? "fails" : "none";
  json["shapes"] = made->shapes;
  cases.push_back(std::move(json));
}

int list_operators() {
  Json list = Json::array();
  for (const Operator* op : all_operators())
    list.push_back({{"op", op->name},
                    {"domain", op->domain},
                    {"since", op->since},
                    {"doc", op->doc},
                    {"runtime_note", samples::runtime_note(*op)},
                    {"runs_on_nothing", runs_on_nothing(*op)}});
  std::cout << list.dump(1) << '\n';
  return 0;
}

int export_operator(std::span<char*> arguments, bool empty) {
  const Operator* op = find_operator(arguments.size() > 4 ? arguments[4] : "", arguments[1]);
  if (!op) {
    std::cerr << "no operator " << arguments[1] << '\n';
    return 2;
  }
  Json cases = Json::array();
  NamedTensors tensors;
  for (int number = 0; number < std::atoi(arguments[2]); ++number) {
    if (empty) export_emptied(*op, number, cases, tensors);
    else cases.push_back(export_case(draw_case(*op, number), tensors));
  }
  if (tensors.empty()) tensors.emplace("none", Tensor::of<float>(ElementType::Float, {}, {0}));
  const std::string base = arguments[3];
  const auto written = write_npz(tensors, base + ".npz");
  if (!written) std::cerr << written.error().message << '\n';
  std::ofstream out(base + ".json");
  out << Json{{"op", op->name}, {"domain", op->domain}, {"cases", cases}}.dump(1);
  return written.ok() && out.flush() ? 0 : 1;
}

}  // namespace
}  // namespace isomer::contract

int main(int argc, char** argv) {
  std::span arguments(argv, static_cast<std::size_t>(argc));
  if (argc == 2 && std::string_view(arguments[1]) == "--list") return isomer::contract::list_operators();
  const bool empty = argc > 1 && std::string_view(arguments[1]) == "--empty";
  if (empty) arguments = arguments.subspan(1);
  if (arguments.size() == 4 || arguments.size() == 5)
    return isomer::contract::export_operator(arguments, empty);
  std::cerr << "usage: isomer-contract-cases --list | [--empty] OP CASES BASE [DOMAIN]\n";
  return 2;
}
