#include "rules/generate.h"

#include <gtest/gtest.h>
#include <cstdlib>
#include <iostream>

namespace isomer {
namespace {
TEST(Generate, Try) {
  const int n = std::getenv("OPS") ? std::atoi(std::getenv("OPS")) : 2;
  const GeneratedPack pack = generate_rules({.operators = n, .progress = [](const std::string& s) { std::cerr << s << '\n'; }});
  std::cout << pack.text;
  for (const auto& s : pack.stages) {
    std::cerr << s.operators << ": terms " << s.enumerated.terms << " renamings " << s.enumerated.renamings << " derived " << s.enumerated.derived
              << " computed " << s.enumerated.computed << " values " << s.enumerated.values << " candidates " << s.enumerated.candidates << " | "
              << s.after_renaming << " " << s.after_common << " " << s.after_derivability << " proved " << s.proved << " cond " << s.conditional
              << " ms " << s.enumerate_ms << " " << s.decide_ms << '\n';
    for (const auto& [why, k] : s.dropped) std::cerr << "   " << k << " " << why << '\n';
  }
}
}  // namespace
}  // namespace isomer
