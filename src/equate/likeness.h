// Likeness: which values of two models look equal. Both run in float64 on the same generated inputs, and
// their values are compared at a few positions. A guess that must be proved; nothing here is trusted.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/graph/infer.h"
#include "model/graph/interpret.h"

namespace isomer {

class Likeness {
 public:
  struct Options {
    // Images may be smaller than the models declare, if both run on them; what is seen is no counterexample.
    bool smaller = false;
    bool zero_integers = false;  // all integers and booleans are zero: masks that let nothing through
    const std::atomic<bool>* stop = nullptr;
  };
  // nullopt: no sizes were found at which both models run, or they would cost too much.
  static std::optional<Likeness> of(const Graph& a, const Graph& b, const Options& options);

  // Values of the first model that look like this one of the second, by name, at most `most`.
  std::vector<std::string> like(const std::string& value_of_b, std::size_t most) const;

  // Whether this value of the second model was computed.
  bool has_seen(const std::string& value) const { return b_.looks.contains(value); }

  // Values of the second model that look like no value of the first, but like one of them transposed or
  // sliced (every second row, say).
  struct Moved {
    std::string of, like;            // of the first model, of the second
    std::vector<std::int64_t> perm;  // of a transposition; or, where that is empty:
    Extents begin, step;             // of a slice
    friend bool operator==(const Moved&, const Moved&) = default;
  };
  std::vector<Moved> moved(std::size_t most) const;

  // The inputs, and the outputs of both models; absent where something is not modelled.
  const NamedTensors& feeds() const { return feeds_; }
  const Tensor* output_of_a(const std::string& name) const;
  const Tensor* output_of_b(const std::string& name) const;

 private:
  struct Look {
    ElementType type = ElementType::Undefined;
    Extents extents;
    double largest = 0;
    std::vector<double> samples;
    int order = 0;  // in its model
  };
  struct Run {
    std::map<std::string, Look, std::less<>> looks;
    NamedTensors outputs;
  };
  static Look look_at(const Tensor& tensor);
  void look_for_moved(const std::string& name, const Tensor& tensor);
  bool is_moved(const Tensor& tensor, const Moved& move, const Look& look) const;
  static double distance(const Look& a, const Look& b);
  bool start(const Graph& a, const Graph& b, const Options& options);
  using Visit = std::function<void(const std::string&, const Tensor&)>;
  static bool run(const Graph& graph, const Inference& info, const NamedTensors& feeds, Run& out,
                  const std::atomic<bool>* stop, const Visit& visit = {});

  NamedTensors feeds_;
  Run a_, b_;
  std::map<Extents, std::vector<std::string>> by_extents_;    // of the first model
  std::map<Extents, std::vector<std::string>> b_by_extents_;  // of the second
  std::vector<Moved> moved_;
};

}  // namespace isomer
