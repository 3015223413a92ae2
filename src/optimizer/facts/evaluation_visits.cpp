#include "optimizer/facts/evaluation_visits.h"

#include <set>

#include "model/expr/look_up.h"

namespace isomer {
namespace {

class Visits {
 public:
  std::optional<double> of(const Formula& formula) {
    double out = 0;
    for (const Stage& s : formula.stages) out += times(s.axes, of(*s.value));
    return is_open_ ? std::nullopt : std::optional(out);
  }

 private:
  double times(const std::vector<Axis>& axes, double visits) {
    for (const Axis& a : axes) {
      const auto extent = a.extent.value();
      is_open_ = is_open_ || !extent;
      visits *= static_cast<double>(extent.value_or(1));
    }
    return visits;
  }

  double of(const ExprNode& e) {
    if (const auto look_up = as_look_up(e)) return of(*look_up->at) + of(*look_up->value);
    const bool is_reduction = e.kind == ExprNode::Kind::Reduce;
    if (is_reduction && !seen_.insert(&e).second) return 1;  // computed once
    double out = 1;
    for (const ExprRef& a : e.args) out += of(*a);
    for (const ExprNode::Case& c : e.cases) out += of(*c.value);
    return is_reduction ? times(e.axes, out) : out;
  }

  std::set<const ExprNode*> seen_;
  bool is_open_ = false;
};

}  // namespace

std::optional<double> evaluation_visits(const Formula& formula) { return Visits().of(formula); }

}  // namespace isomer
