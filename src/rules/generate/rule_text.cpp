#include "rules/generate/rule_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace isomer::rules {

std::string body_text(const Words& words, const std::vector<Term>& terms,
                      const std::vector<std::string>& names, std::vector<TermId> outputs) {
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
    const std::string call =
        fmt::format("{}{}({})", word.op, word.attributes.empty() ? "" : "<" + word.attributes + ">",
                    fmt::join(inputs, ", "));
    auto [at, is_new] = made.emplace(call, fmt::format("v{}", made.size()));
    std::vector<std::string> results;
    for (int k = 0; k < word.outputs; ++k)
      results.push_back(word.outputs == 1 ? at->second
                                          : fmt::format("{}{}", at->second, static_cast<char>('a' + k)));
    if (is_new) lines.push_back(fmt::format("{} = {}", fmt::join(results, ", "), call));
    of_term.push_back(results[static_cast<std::size_t>(word.output)]);
  }
  // An output that is an input needs a name of its own.
  if (outputs.empty()) outputs.push_back(static_cast<TermId>(terms.size() - 1));
  std::vector<std::string> output_names;
  for (const TermId id : outputs) {
    std::string& name = output_names.emplace_back(of_term[id]);
    if (terms[id].word != kVariable) continue;
    name = fmt::format("y{}", output_names.size() - 1);
    lines.push_back(fmt::format("{} = Identity({})", name, of_term[id]));
  }
  return fmt::format("{{ {} }} => {}", fmt::join(lines, "\n        "), fmt::join(output_names, ", "));
}

}  // namespace isomer::rules
