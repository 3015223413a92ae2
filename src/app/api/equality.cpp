#include "app/equality/equality.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <fstream>

#include "app/api/errors.h"
#include "app/api/model_state.h"
#include "app/api/report_json.h"
#include "app/api/stopwatch.h"
#include "io/onnx/write_file.h"
#include "kernel/certify/check_files.h"
#include "kernel/certify/model_interface.h"
#include "model/graph/text/text.h"

namespace isomer::api {
namespace {

Verdict verdict_of(Answer answer) {
  return answer == Answer::Proved    ? Verdict::Proved
         : answer == Answer::Refuted ? Verdict::Refuted
                                     : Verdict::Undecided;
}

// Adapts a public Progress callback to the internal functions.
std::function<void(const std::string&)> teller(const Progress& progress) {
  return [&progress](const std::string& now) {
    if (progress) progress(now);
  };
}

ProveAnswer answer_of(const Model::State& a, const Model::State& b, const Deadline& deadline,
                      const ProveOptions& options) {
  if (!options.certificate.empty()) {
    const CheckedFiles checked = check_models(a.model.graph, b.model.graph, options.certificate);
    // It may match outputs in another way than requested.
    const bool is_by_position = checked.report.paired && !checked.report.paired->renamed.empty();
    const bool is_otherwise =
        options.by_position || (is_by_position && same_output_names(a.model.graph, b.model.graph));
    if (checked.report.accepted && !is_otherwise) return proved_by(checked.report, a.model, b.model);
  }
  EqualityRequest request{
      .a = a.model, .b = b.model, .deadline = deadline, .by_position = options.by_position};
  request.progress = teller(options.progress);
  if (options.trace) request.trace = teller(options.trace);
  request.on_constants = [&](const std::vector<ConstantDifference>& constants) {
    for (const ConstantDifference& d : constants) teller(options.notice)(text(d));
  };
  return isomer::prove_equal(request);
}

Checked to_public(const CheckedFiles& checked, const Stopwatch& watch) {
  return {.accepted = checked.report.accepted,
          .reason = checked.report.reason,
          .text = checked.text(),
          .json = checked.json(watch.ms())};
}

}  // namespace

Proof prove_equal(const Model& a, const Model& b, const ProveOptions& options) {
  return guarded([&] {
    const Stopwatch watch;
    const Model::State &first = a.state(), &second = b.state();
    Deadline deadline(checked_seconds(options.seconds));
    const std::stop_callback on_stop(options.stop, [&] { deadline.end(); });
    ProveAnswer answer = answer_of(first, second, deadline, options);
    answer.sizes = fmt::format("{}", fmt::join(first.fixed, ", "));
    if (!answer.is_by_certificate) answer.sizes_from = first.model.graph.sizes_from;
    ModelsVerdict& verdict = answer.verdict;
    const int rounded = verdict.constants_rounded + verdict.constants_restated;
    if (options.exact_constants && verdict.answer == Answer::Proved && (rounded > 0 || answer.flushed > 0)) {
      verdict.answer = Answer::Undecided;
      verdict.why =
          answer.flushed > 0
              ? fmt::format("equal but for {} denormal numbers of constants, which are zero", answer.flushed)
              : fmt::format("equal but for rounding of {} constant{}", rounded, rounded == 1 ? "" : "s");
      for (auto& output : verdict.outputs) output.answer = Answer::Undecided;
    }
    Proof out{.verdict = verdict_of(answer.verdict.answer),
              .why = answer.verdict.why,
              .first_difference = answer.verdict.first_difference,
              .rounded_constants = answer.verdict.answer == Answer::Proved ? rounded : 0,
              .flushed = answer.verdict.answer == Answer::Proved ? answer.flushed : 0,
              .by_position = answer.verdict.by_position,
              .sizes_from = answer.sizes_from,
              .json = json_text(to_json(answer, watch.ms()))};
    if (out.verdict == Verdict::Proved)
      out.certificate =
          answer.is_by_certificate ? options.certificate : certificate_of(answer, first.model, second.model);
    for (const ModelsVerdict::Output& o : verdict.outputs)
      out.outputs.push_back({o.a, o.b, verdict_of(o.answer), o.why});
    if (answer.verdict.example) out.counterexample = to_public(answer.verdict.example->feeds);
    return out;
  });
}

Checked check(const Model& in, const Model& out, std::string_view certificate) {
  return guarded([&] {
    const Stopwatch watch;
    return to_public(check_models(in.state().model.graph, out.state().model.graph, certificate), watch);
  });
}

Checked check_files(const std::filesystem::path& in, const std::filesystem::path& out,
                    const std::filesystem::path& certificate, const std::vector<std::string>& sizes,
                    const std::vector<std::string>& values, int sizes_from) {
  return guarded([&] {
    const Stopwatch watch;
    return to_public(take(isomer::check_files(in, out, certificate, sizes, values, sizes_from)), watch);
  });
}

std::string load_certificate(const std::filesystem::path& path) {
  return guarded([&] {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw Error(ErrorKind::BadInput, fmt::format("can't read {}", path.string()));
    return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  });
}

void save_text(std::string_view text, const std::filesystem::path& path) {
  guarded([&] { take(wire::write_text(path, text)); });
}

void save_certificate(std::string_view certificate, const std::filesystem::path& path) {
  save_text(certificate, path);
}

namespace {

// A program of a certificate in ONNX's text syntax.
std::string program_text(const Graph& program) {
  constexpr std::int64_t kMostElements = 16;
  return text(program, {.most_elements = kMostElements}) + '\n';
}

std::string told_by(const Certificate& certificate) {
  std::string out;
  for (const CertifiedStep& step : certificate.steps) {
    if (const auto* claim = std::get_if<Claim>(&step))
      out += fmt::format("\nreplace {} from {} by\n{}", fmt::join(claim->outputs, ", "),
                         fmt::join(claim->inputs, ", "), program_text(claim->after));
    else if (const auto* fold = std::get_if<FoldStep>(&step))
      out += fmt::format("\nfold {}\n", fmt::join(fold->values, ", "));
    else if (const auto* wide = std::get_if<WidenStep>(&step))
      out += fmt::format("\nwiden {}\n", fmt::join(wide->values, ", "));
    else
      out += fmt::format("\nwrite denormal numbers as zero in {}\n",
                         fmt::join(std::get<FlushStep>(step).constants, ", "));
  }
  if (certificate.pairing)
    for (const StatedConstant& c : certificate.pairing->constants)
      out += fmt::format("\nconstant {} of {} by\n{}", c.name, c.side == Side::A ? "IN" : "OUT",
                         program_text(c.program));
  return out;
}

}  // namespace

Explanation explain(std::string_view certificate) {
  return guarded([&] {
    const Certificate parsed = take(parse_certificate(certificate));
    Explanation out{
        .steps = parsed.steps.size(), .told = told_by(parsed), .json = json_text(to_json(parsed))};
    if (parsed.pairing) out.pairs = parsed.pairing->equations.size();
    out.sizes_from = parsed.sizes_from;
    for (const Note& n : parsed.notes)
      out.notes.push_back({n.kind, n.what, n.where, describe_at(n.what, n.where), n.ratio});
    return out;
  });
}

}  // namespace isomer::api
