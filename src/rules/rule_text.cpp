#include "rules/rule_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace isomer::rules {

std::string body_text(const Words& words, const std::vector<Term>& terms,
                      const std::vector<std::string>& names) {
  std::vector<std::string> lines, of_term;
  std::map<std::string, std::string> made;  // the outputs of one node are written once
  int constants = 0;
  const auto constant = [&](const std::string& value) {
    if (value.empty()) return std::string();
    auto [at, is_new] = made.emplace(value, "");
    if (is_new) {
      at->second = fmt::format("c{}", constants++);
      lines.push_back(fmt::format("{} = Constant<{}>()", at->second, value));
    }
    return at->second;
  };
  for (const Term& t : terms) {
    if (t.word == kVariable) {
      of_term.push_back(names[t.operands[0]]);
      continue;
    }
    const Word& word = words.of(t.word);
    std::vector<std::string> inputs;
    for (std::size_t k = 0; k < t.count; ++k) inputs.push_back(of_term[t.operands[k]]);
    for (const std::string& c : word.constants) inputs.push_back(constant(c));
    const std::string call = fmt::format("{}{}({})", word.op, word.attributes.empty() ? "" : "<" + word.attributes + ">",
                                         fmt::join(inputs, ", "));
    auto [at, is_new] = made.emplace(call, fmt::format("v{}", made.size()));
    std::vector<std::string> outputs;
    for (int k = 0; k < word.outputs; ++k)
      outputs.push_back(word.outputs == 1 ? at->second : fmt::format("{}{}", at->second, static_cast<char>('a' + k)));
    if (is_new) lines.push_back(fmt::format("{} = {}", fmt::join(outputs, ", "), call));
    of_term.push_back(outputs[static_cast<std::size_t>(word.output)]);
  }
  // An output that is an input needs a name of its own.
  std::string output = of_term.back();
  if (terms.back().word == kVariable) {
    lines.push_back(fmt::format("y = Identity({})", output));
    output = "y";
  }
  return fmt::format("{{ {} }} => {}", fmt::join(lines, "\n        "), output);
}

}  // namespace isomer::rules
