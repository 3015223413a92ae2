#include "optimizer/facts/proof_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "kernel/prove/facts.h"
#include "model/graph/constant.h"
#include "model/graph/infer.h"
#include "model/ops/own_operators.h"

namespace isomer {
namespace {

std::string hex(const void* data, std::size_t size) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  const auto* bytes = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < size; ++i) (out += kDigits[bytes[i] >> 4u]) += kDigits[bytes[i] & 15u];
  return out;
}

std::string quote(const std::string& text) { return fmt::format("{}:{}", text.size(), text); }

std::string spell(const Tensor& t) {
  std::string out = fmt::format("{}{}", name(t.type()), text(to_dims(t.extents())));
  if (t.type() == ElementType::String) {
    for (const std::string& s : t.strings()) out += quote(s);
    return out;
  }
  return out + hex(t.bytes().data, t.bytes().size);
}

std::string spell(const Attribute::Value& value) {
  struct Speak {
    std::string operator()(std::int64_t v) const { return fmt::format("i{}", v); }
    std::string operator()(float v) const { return "f" + hex(&v, sizeof v); }
    std::string operator()(const std::string& v) const { return "s" + quote(v); }
    std::string operator()(const Tensor& v) const { return "t" + spell(v); }
    std::string operator()(const std::vector<std::int64_t>& v) const {
      std::string out = "I";
      for (const auto i : v) out += fmt::format("{},", i);
      return out;
    }
    std::string operator()(const std::vector<float>& v) const {
      return "F" + hex(v.data(), v.size() * sizeof(float));
    }
    std::string operator()(const std::vector<std::string>& v) const {
      std::string out = "S";
      for (const auto& s : v) out += quote(s);
      return out;
    }
    std::string operator()(const RawAttribute& v) const {
      std::string out = "r" + quote(v.content());
      for (const Tensor& t : v.outside) out += "t" + spell(t);
      return out;
    }
  };
  return std::visit(Speak{}, value);
}

class Writer {
 public:
  std::string write(const Graph& graph) {
    const auto inferred = infer(graph);  // of one that fails no answer is a proof
    std::string out;
    std::map<NodeId, std::string> names;
    int next = 0;
    for (const NodeId id : graph.order()) {
      const Node& node = graph.node(id);
      std::string line;
      if (const auto constant = known_constant(graph, {id, 0})) {
        line = constant_text(*constant);
      } else if (node.kind != NodeKind::Operator) {
        line = fmt::format("input {} {}", input_number(node.outputs[0]), name(node.declared.type));
        if (node.declared.shape)
          for (const auto& d : *node.declared.shape) line += d ? "[" + d->text() + "]" : "[?]";
        else line += "?";
      } else {
        line = fmt::format("{} {} {} {}", quote(node.op), quote(node.domain), quote(node.overload),
                           graph.opset(node.domain));
        for (const Attribute& a : node.attributes.all())
          line += fmt::format(" {}={}", quote(a.name), spell(a.value));
        line += " (";
        for (const Value& v : node.inputs)
          line += v.exists() ? fmt::format("{}.{},", names.at(v.node), v.output) : "-,";
        line += ")";
        for (const std::string& o : node.outputs) line += o.empty() ? "-" : "o";
        for (std::uint32_t k = 0; inferred.ok() && k < node.outputs.size(); ++k)
          line += computed_text(inferred->of({id, k}));
      }
      names.emplace(id, fmt::format("v{}", next++));
      out += line + "\n";
    }
    for (const Value& v : graph.outputs()) out += fmt::format("out {}.{}\n", names.at(v.node), v.output);
    if (graph.opsets.own)
      for (const std::string& stated : graph.opsets.own->texts()) out += "stated " + quote(stated) + "\n";
    return out;
  }

  // Inputs are matched by name between the two programs: what matters is only which is which.
  int input_number(const std::string& name) {
    return inputs_.try_emplace(name, static_cast<int>(inputs_.size())).first->second;
  }

 private:
  // The result of inference for a value, maybe from the numbers of large constants: it decides indices and
  // shapes. Symbolic results follow from the rest of the text.
  std::string computed_text(const ValueInfo& info) {
    if (info.constant) return " is " + constant_text(*info.constant);
    if (!info.integers) return "";
    std::string out = " is ";
    for (const Dim& d : *info.integers) out += d.is_concrete() ? d.text() + "," : "?,";
    return out;
  }
  std::string constant_text(const Tensor& t) {
    if (is_float(t.type()) && t.is_uniform())
      return fmt::format("constant {}{} of {:a}", name(t.type()), text(to_dims(t.extents())),
                         (*t.doubles())[0]);
    if (!is_float(t.type()) || kByValue.takes(t)) return "constant " + spell(t);
    const Tensor plain = without_unit_axes(t);
    const auto at = std::ranges::find_if(symbols_, [&](const Tensor& s) { return s.same_bits(plain); });
    const auto number = at - symbols_.begin();
    if (at == symbols_.end()) symbols_.push_back(plain);
    const bool positive = all_positive(t);
    return fmt::format("symbol {} {}{} {}", number, name(t.type()), text(to_dims(t.extents())),
                       positive ? "positive" : "any");
  }
  std::map<std::string, int> inputs_;
  std::vector<Tensor> symbols_;
};

}  // namespace

std::string question(const Graph& a, const Graph& b, const ProveOptions& options) {
  Writer writer;
  std::string out = writer.write(a) + "=\n" + writer.write(b);
  for (const Dim& d : options.preconditions) out += "require " + d.text() + "\n";
  for (const Dim& d : options.sizes) out += "size " + d.text() + "\n";
  for (const std::string& name : options.partial_inputs)
    out += fmt::format("partial {}\n", writer.input_number(name));
  return out + fmt::format("{} {}", options.sets, options.field);
}

struct ProofCache::Question {
  Question(const Graph& a, const Graph& b, const ProveOptions& options)
      : text(question(a, b, options)),
        effort(text + fmt::format(" {} {} {} {}", options.key, options.refute != nullptr,
                                  options.budget.set_operations, options.attempt.value_or(-1))) {}
  std::string text, effort;
};

ProofCache::Known* ProofCache::find(const Question& question) {
  for (const std::string* key : {&question.text, &question.effort})
    if (const auto known = known_.find(*key); known != known_.end()) return &known->second;
  return nullptr;
}

// Under the lock, but for the proof itself.
Verdict ProofCache::answer(std::unique_lock<std::mutex>& lock, const Question& question, const Graph& a,
                           const Graph& b, const ProveOptions& options, bool is_counted) {
  const auto close = [&] {
    lock.lock();
    open_.erase(question.text);
    answered_.notify_all();
  };
  open_.insert(question.text);
  lock.unlock();
  Verdict verdict = NotDecided{};
  try {
    verdict = prove_equal(a, b, options);
  } catch (...) {
    close();
    throw;
  }
  close();
  const bool is_whole = options.stop == nullptr || !*options.stop;
  if (std::holds_alternative<Proved>(verdict)) known_.emplace(question.text, Known{verdict, is_counted});
  else if (std::holds_alternative<NotDecided>(verdict) && is_whole)
    known_.emplace(question.effort, Known{verdict, is_counted});
  return verdict;
}

Verdict ProofCache::prove(const Graph& a, const Graph& b, const ProveOptions& options) {
  constexpr std::chrono::milliseconds kGlance(10);
  const Question question(a, b, options);
  std::unique_lock lock(mutex_);
  while (open_.contains(question.text)) {
    if (options.stop != nullptr && *options.stop) return NotDecided{"the time is up"};
    answered_.wait_for(lock, kGlance);
  }
  if (Known* known = find(question)) {
    ++(known->is_counted ? hits_ : attempts_);
    known->is_counted = true;
    return known->verdict;
  }
  ++attempts_;
  return answer(lock, question, a, b, options, true);
}

std::optional<Verdict> ProofCache::prove_ahead(const Graph& a, const Graph& b, const ProveOptions& options) {
  const Question question(a, b, options);
  std::unique_lock lock(mutex_);
  if (open_.contains(question.text) || find(question) != nullptr) return std::nullopt;
  return answer(lock, question, a, b, options, false);
}

}  // namespace isomer
