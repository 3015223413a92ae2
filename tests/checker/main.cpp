// isomer-checker-mutants [--edits N] [--seed S] [--no-runtime] [--list FIELD]: edits of certificates and of
// the models that they are about, with all digests put right afterwards. The checker may accept one only if
// the reference interpreter in float64 and ONNX Runtime agree that OUT still equals IN. Half of the edits
// change a field with a meaning.
//
// Prints accepted and rejected by field, with the most frequent reasons. Exit code 1: something wrong was
// accepted, or the checker threw. `--list FIELD` edits that field alone and prints which edits were accepted,
// for tests/evidence/checker_switches.py.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <regex>

#include "checker/edits.h"
#include "checker/forge.h"
#include "io/onnx/model.h"
#include "kernel/certify/check.h"
#include "kernel/certify/digest.h"
#include "kernel/prove/shrink.h"
#include "model/eval/program.h"
#include "model/graph/interpret.h"
#include "runtime/judge/judge.h"

namespace isomer::checker {
namespace {

constexpr double kTolerance = 1e-5;  // constants are rounded to float once
constexpr std::int64_t kBatch = 2;   // for the one symbol of the models

NamedTensors drawn_feeds(const Graph& graph, std::uint64_t seed) {
  NamedTensors out;
  Random random(seed);
  for (const Value& v : graph.inputs()) {
    const Node& node = graph.node(v.node);
    Extents extents = node.tensor.extents();  // of an initializer that the caller may replace
    if (node.kind == NodeKind::Input) {
      if (!node.declared.shape) continue;
      for (const auto& dim : *node.declared.shape)
        extents.push_back(dim ? dim->value().value_or(kBatch) : kBatch);
    }
    std::vector<double> values(static_cast<std::size_t>(element_count(extents).value_or(0)));
    for (double& x : values) x = random.between(-400, 400) / 100.0;
    out.emplace(graph.name_of(v),
                convert(Tensor::of(ElementType::Double, extents, values), node.declared.type));
  }
  return out;
}

bool is_close(const NamedTensors& a, const NamedTensors& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [name, x] : a) {
    const auto at = b.find(name);
    if (at == b.end() || at->second.extents() != x.extents()) return false;
    const auto u = x.doubles(), v = at->second.doubles();
    if (!u || !v) return false;
    double scale = 1;
    for (const double d : *u) scale = std::max(scale, std::abs(d));
    for (std::size_t i = 0; i < u->size(); ++i)
      if (!(std::abs((*u)[i] - (*v)[i]) <= kTolerance * scale)) return false;
  }
  return true;
}

std::vector<std::string> interface(const Graph& graph) {
  std::vector<std::string> out;
  for (const Value& v : graph.inputs()) out.push_back(graph.name_of(v));
  out.emplace_back("=>");
  for (const Value& v : graph.outputs()) out.push_back(graph.name_of(v));
  return out;
}

// Whether OUT computes what IN does, by every program that can decide it.
class Arbiter {
 public:
  explicit Arbiter(bool with_runtime) {
    std::string pattern = (std::filesystem::temp_directory_path() / "isomer_mutants_XXXXXX").string();
    if (::mkdtemp(pattern.data()) != nullptr) folder_ = pattern;
    if (!with_runtime) return;
    auto judge = Judge::start({});
    if (judge.ok()) judge_ = std::move(*judge);
    else fmt::print(stderr, "no runtime: {}\n", judge.error().what);
  }
  Arbiter(const Arbiter&) = delete;
  Arbiter& operator=(const Arbiter&) = delete;
  ~Arbiter() {
    std::error_code error;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, error);
  }
  bool has_runtime() const { return judge_ != nullptr; }

  // "" or what is wrong.
  std::string objection(const Mutant& m, bool runs) {
    const std::string key = model_digest(m.in) + model_digest(m.out);
    if (const auto at = known_.find(key); at != known_.end()) return at->second;
    std::string why;
    if (interface(m.in) != interface(m.out)) why = "another interface";
    for (std::uint64_t seed = 1; seed <= 5 && why.empty(); ++seed) why = by_reference(m, seed);
    if (why.empty() && judge_ && runs) why = by_runtime(m);
    known_.emplace(key, why);
    return why;
  }
  std::size_t pairs() const { return known_.size(); }
  std::size_t ran() const { return ran_; }

 private:
  static std::string by_reference(const Mutant& m, std::uint64_t seed) {
    const NamedTensors feeds = drawn_feeds(m.in, seed);
    const auto x = interpret(m.in, feeds, Arithmetic::Double),
               y = interpret(m.out, feeds, Arithmetic::Double);
    if (!x.ok() || x->opaque) return "";  // IN is no program: OUT may be anything
    if (!y.ok()) return "the reference: " + y.error().message;
    if (y->opaque) return "the reference: " + y->opaque->reason;
    return is_close(x->outputs, y->outputs) ? "" : "the reference differs";
  }
  std::string by_runtime(const Mutant& m) {
    const NamedTensors feeds = drawn_feeds(m.in, 1);
    const auto x = run(m.in, "in.onnx", feeds), y = run(m.out, "out.onnx", feeds);
    if (!x.ok()) return "";
    ++ran_;
    if (!y.ok()) return "the runtime: " + y.error().what;
    return is_close(*x, *y) ? "" : "the runtime differs";
  }
  Outcome<NamedTensors> run(const Graph& graph, const char* name, const NamedTensors& feeds) {
    const auto path = folder_ / name;
    const Status written = write_model({.graph = graph, .ir_version = 8, .node_count = 0, .shell = {}}, path);
    if (!written.ok()) return Failure{.what = written.error().message};
    return judge_->run(ModelSource::file(path.string()), feeds);
  }

  std::filesystem::path folder_;
  std::unique_ptr<Judge> judge_;
  std::map<std::string, std::string> known_;
  std::size_t ran_ = 0;
};

struct Verdict {
  bool accepted = false;
  std::string reason;
};

Verdict check(const Mutant& m, std::uint64_t key) {
  std::string text;
  for (const std::string& line : m.lines) text += line + "\n";
  const auto certificate = parse_certificate(text);
  if (!certificate.ok()) return {false, "not read: " + certificate.error().message};
  const CheckReport report = check_certificate(m.in, m.out, *certificate, key);
  return {report.accepted, report.reason};
}

// What a forger does after the edit.
void put_right(Mutant& m) {
  std::string text;
  for (const std::string& line : m.lines) text += line + "\n";
  if (m.forge)
    if (const auto certificate = parse_certificate(text); certificate.ok())
      if (auto out = forged(m.in, certificate->steps)) m.out = std::move(*out);
  if (!m.digests || m.lines.empty()) return;
  const std::string head = to_text(with_digests({}, m.in, m.out));
  m.lines[0] = head.substr(0, head.find('\n'));
}

struct Field {
  bool semantic = false;
  int accepted = 0, rejected = 0, wrong = 0;
  std::map<std::string, int> reasons;
};

std::string generic(std::string reason) {
  reason = std::regex_replace(reason, std::regex("line [0-9]+(, column [0-9]+)?: "), "");
  reason = std::regex_replace(reason, std::regex("[0-9]+"), "#");
  return reason.substr(0, 60);
}

std::string most_frequent(const Field& field) {
  std::vector<std::pair<int, std::string>> all;
  for (const auto& [reason, count] : field.reasons) all.emplace_back(-count, reason);
  std::ranges::sort(all);
  std::string out;
  for (std::size_t k = 0; k < all.size() && k < 3; ++k)
    out += fmt::format("{}{} {}", k == 0 ? "" : "; ", -all[k].first, all[k].second);
  return out;
}

struct Options {
  int edits = 1000;
  std::uint64_t seed = 1;
  bool runtime = true;
  std::string list;  // only this field, and only the numbers
};

class Run {
 public:
  explicit Run(const Options& options) : options_(options), arbiter_(options.runtime), cases_(all_cases()) {
    for (const auto list : {edits_of_models(), edits_of_certificates()})
      for (const Edit& e : list)
        if (options.list.empty() || options.list == e.field) (e.semantic ? semantic_ : other_).push_back(&e);
    if (semantic_.empty()) semantic_ = other_;
    if (other_.empty()) other_ = semantic_;
    if (semantic_.empty()) throw std::runtime_error("no such field: " + options.list);
  }

  int go() {
    for (const Case& c : cases_) {
      const Verdict verdict = check(honest(c), 7);
      if (!verdict.accepted) throw std::runtime_error(c.name + " is rejected: " + verdict.reason);
    }
    for (int number = 0; number < options_.edits; ++number) edit(number);
    return options_.list.empty() ? tell() : 0;
  }

 private:
  void edit(int number) {
    Random random(options_.seed * 1000003 + static_cast<std::uint64_t>(number));
    for (int tries = 0; tries < 100; ++tries) {
      const Case& c = random.one_of(cases_);
      const Edit& e = *random.one_of(number % 2 == 0 ? semantic_ : other_);
      Mutant m = honest(c);
      const std::vector<std::string> lines = m.lines;
      if (!e.apply(random, c, m)) continue;
      put_right(m);
      if (m.lines == lines && model_digest(m.out) == c.certificate.out_digest &&
          model_digest(m.in) == c.certificate.in_digest && e.semantic)
        continue;  // the same as before
      judge(c, e, m, number);
      return;
    }
  }

  void judge(const Case& c, const Edit& e, const Mutant& m, int number) {
    Field& field = fields_[std::string(e.field)];
    field.semantic = e.semantic;
    Verdict verdict;
    std::string wrong;
    try {
      verdict = check(m, mix_key(number));
      if (verdict.accepted) wrong = arbiter_.objection(m, c.runs);
    } catch (const std::exception& error) {
      wrong = fmt::format("threw: {}", error.what());
    }
    if (!options_.list.empty() && (verdict.accepted || !wrong.empty()))
      fmt::print("{} {}\n", number, wrong.empty() ? "equal" : wrong);
    if (!wrong.empty()) {
      ++field.wrong;
      if (options_.list.empty()) fmt::print("WRONG: edit {}, {} of {}: {}\n", number, e.field, c.name, wrong);
    } else if (verdict.accepted) {
      ++field.accepted;
    } else {
      ++field.rejected;
      ++field.reasons[generic(verdict.reason)];
    }
  }
  std::uint64_t mix_key(int number) const { return options_.seed + 77 * static_cast<std::uint64_t>(number); }

  int tell() const {
    int accepted = 0, rejected = 0, wrong = 0, semantic = 0;
    fmt::print("| edit of | means something | accepted | rejected | wrong | mostly because |\n");
    fmt::print("|---|---|---:|---:|---:|---|\n");
    for (const auto& [name, field] : fields_) {
      fmt::print("| {} | {} | {} | {} | {} | {} |\n", name, field.semantic ? "yes" : "no", field.accepted,
                 field.rejected, field.wrong, most_frequent(field));
      accepted += field.accepted;
      rejected += field.rejected;
      wrong += field.wrong;
      if (field.semantic) semantic += field.accepted + field.rejected + field.wrong;
    }
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start_;
    fmt::print(
        "\n{} edits of {} certificates, {} of what means something, seed {}: {} rejected, {} accepted and "
        "equal, "
        "{} wrong; {} pairs of models compared in float64, {} of them on the runtime; {:.0f} s\n",
        accepted + rejected + wrong, cases_.size(), semantic, options_.seed, rejected, accepted, wrong,
        arbiter_.pairs(), arbiter_.ran(), spent.count());
    return wrong == 0 ? 0 : 1;
  }

  Options options_;
  Arbiter arbiter_;
  std::vector<Case> cases_;
  std::vector<const Edit*> semantic_, other_;
  std::map<std::string, Field> fields_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace
}  // namespace isomer::checker

int main(int argc, char** argv) {
  isomer::checker::Options options;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--no-runtime") options.runtime = false;
    else if (arguments[i] == "--list" && i + 1 < arguments.size()) options.list = arguments[++i];
    else if (arguments[i] == "--edits" && i + 1 < arguments.size())
      options.edits = std::atoi(arguments[++i].c_str());
    else if (arguments[i] == "--seed" && i + 1 < arguments.size())
      options.seed = static_cast<std::uint64_t>(std::atoll(arguments[++i].c_str()));
    else {
      std::fprintf(stderr,
                   "usage: isomer-checker-mutants [--edits N] [--seed S] [--no-runtime] [--list FIELD]\n");
      return 2;
    }
  }
  try {
    return isomer::checker::Run(options).go();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "isomer-checker-mutants: %s\n", error.what());
    return 2;
  }
}
