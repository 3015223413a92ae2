// A model, or one that is equal to it, with our operators in place of some regions: the fastest of the
// candidates that were measured against the runtime, if it is faster than the model with 95 % confidence;
// else the original, with the reason. Internal to compile.cpp.
#pragma once

#include <nlohmann/json.hpp>

#include <deque>
#include <filesystem>
#include <set>

#include "app/api/compile/budget_stop.h"
#include "app/api/compile/compile_candidate.h"
#include "app/api/compile/compile_tuning.h"
#include "app/api/compile/output_folder.h"
#include "app/api/stoppable_limit.h"

namespace isomer::api {

// A model that is equal to the one that operators are looked for.
struct EqualModel {
  Model model;
  std::string name;
  std::string certificate;             // that it is
  std::optional<Interval> ratio = {};  // to the given one, if it was measured
};
// The result of a search for operators.
struct FoundOperators {
  std::optional<Candidate> made = {};  // nullopt: none is faster with 95 % confidence
  std::string reason = {};             // why
  // The model without its library: equal to the original by this certificate; "": it is the original.
  Model base;
  std::string certificate = {};
  Compiled told = {};
  bool is_whole = false;                           // all nodes run on kernels
  lower::Exactness sums = lower::Exactness::Fast;  // the most exact that was tried
};

// A search for kernels ends when all of a model runs on kernels and is faster by this with 95 % confidence.
inline constexpr double kEnoughGain = 1.3;

// The output must not be the input: throws ErrorKind::BadInput.
void check_not_overwritten(const Model& model, const std::filesystem::path& folder);

// The inputs of a search for operators besides the model.
struct OperatorExtras {
  std::vector<EqualModel> equal = {};
  bool wants_bodies = false;  // each operator must be a function of the model, too
  bool skips_given = false;   // there is an equal model that is better for operators in any case
  // Models as a whole alone: no region is timed, and the caller measures what is found.
  bool is_quick = false;
};

class OperatorSearch {
 public:
  OperatorSearch(const Model& model, CandidateMaker& maker, CompileTuning& tuning,
                 const CompileOptions& options, const BudgetStop& budget, const OutputFolder& folder,
                 OperatorExtras extras = {});

  // The best, in a folder for files that don't stay.
  void find();
  const Candidate& best() const { return best_; }
  // Its operators as programs, and the model at this size that they are cut from. Throws where it was not
  // cut.
  std::vector<RegionProgram> programs() const;
  const CutModel& cut() const { return graphs_[best_graph_].cover->cut(); }
  // The one of the equal models that the best is made of, and the certificate; "": the given one.
  const Model& graph() const { return graphs_[best_graph_].model; }
  const std::string& certificate() const { return graphs_[best_graph_].certificate; }
  // Whether all nodes of it run on operators.
  bool is_whole() const;
  // Something that was made of the best takes its place; or nothing does, and why.
  void take_best(Candidate made);
  void keep_given(const std::string& why);
  // nullopt: the runtime loads it, or there is none.
  std::optional<std::string> why_not_loaded(const Candidate& made) const;
  // Writes the files of the best, and model.onnx.
  const Candidate& write(const OutputFolder& folder);
  // Whether model.onnx has operators; else it is a given model.
  bool has_operators() const { return has_operators_; }
  std::string why_not_fast_enough(const Candidate& made) const;
  // Why model.onnx is the model as it was; "": it is not.
  const std::string& reason() const { return reason_; }
  void tell(ReportJson& json) const;

 private:
  // One of the equal models.
  struct Graph {
    Model model;
    std::string name;  // "": the one that was given
    std::string certificate = {};
    std::optional<Interval> ratio = {};    // as in EqualModel
    std::optional<CoverMaker> cover = {};  // nullopt: it is not cut
    bool is_open() const { return cover && cover->cut().closed > 0; }
  };
  void add_equal();
  void cut(Graph& graph, const std::vector<Border>& borders);
  void search();
  void measure_all();
  bool is_tried(std::size_t number) const {
    return number > 0 || !extras_.skips_given || graphs_.size() == 1;
  }
  void confirm_best();
  std::string why_unchanged() const;
  std::string why_inexact(const Compiled::Errors& errors) const;
  void consider_whole(std::size_t number);
  void take_quick(std::size_t number);
  void consider_covers(std::size_t number, const NamedTensors& feeds);
  void consider_mix(const NamedTensors& feeds);
  void consider_tuned();
  void take_unmeasured();
  bool consider(Candidate made, std::size_t number, double worth);
  void time(Graph& graph, const Candidate* whole, const NamedTensors& feeds);
  template <class Trial>
  void trying(const Trial& trial);
  void show(const std::string& now) const;
  std::filesystem::path next_folder() { return folder_.scratch() / std::to_string(folders_++); }

  const Model& model_;
  CandidateMaker& maker_;
  CompileTuning& tuning_;
  const CompileOptions& options_;
  const BudgetStop& budget_;
  const OutputFolder& folder_;
  OperatorExtras extras_;
  StoppableLimit limit_;
  std::size_t folders_ = 0;
  std::deque<Graph> graphs_;  // the given one first
  std::set<Digest> known_;    // of them
  std::vector<std::optional<Candidate>> wholes_;
  std::unique_ptr<isomer::Judge> judge_;
  std::optional<RegionTimer> timer_;
  Candidate best_;  // at first the given model, as it is
  std::size_t best_graph_ = 0;
  bool has_operators_ = false, has_run_out_ = false;
  std::optional<Candidate> refused_;  // the fastest of those that are not fast enough
  std::size_t refused_graph_ = 0;
  std::string reason_, objection_;  // why nothing is taken; the first thing that kept a candidate from it
  ReportJson tried_ = ReportJson::array();
};

}  // namespace isomer::api
