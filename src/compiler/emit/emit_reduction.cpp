// Loops over a reduction. Those from the first reduced one on go over a tile of sums: first all that is added
// to them, then what becomes of them. A vector loop, which is the innermost one, is an element of the tile.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/emit/emit_nest.h"
#include "compiler/emit/lane_writer.h"
#include "compiler/emit/scalar_text.h"
#include "compiler/emit/thread_parts.h"
#include "compiler/loops/compose.h"

namespace isomer::lower {
namespace {

class ReductionWriter {
 public:
  explicit ReductionWriter(NestWriter& out) : out_(out), nest_(out.nest()), reduction_(*nest_.reduction) {
    const auto first = std::ranges::find_if(nest_.loops, [&](const Loop& l) { return is_reduced(nest_, l); });
    outer_.assign(nest_.loops.begin(), first);
    inner_.assign(first, nest_.loops.end());
    if (nest_.lanes) {
      lanes_.emplace(out, inner_.back().axis);
      inner_.pop_back();
    }
  }

  void write() {
    if (!lanes_ && is_row_extremum()) return write_row_extremum();
    is_long_ = !lanes_ && is_long_sum(reduction_);
    const std::size_t around = open_loops(out_, outer_);
    const Index place = declare_sums();
    const std::string sum = add_up(place);
    finish(sum);
    out_.close_all(around);
  }

 private:
  std::string sum_type() const { return lanes_ ? "im_lanes" : is_long_ ? "double" : c_type(reduction_.type); }

  // Where the sum of a point of the inner loops is in the tile.
  Index declare_sums() {
    std::int64_t tile = 1;
    Index place;
    for (const Loop& l : inner_) {
      if (is_reduced(nest_, l)) continue;
      place = Dim(l.axis.extent.concrete()) * place + Index(l.axis);
      tile *= l.axis.extent.concrete();
    }
    const std::string start = start_text(reduction_);
    out_.say(fmt::format("{} sum[{}];", sum_type(), tile));
    if (lanes_) out_.say("IM_UNROLL");
    out_.say(fmt::format("for (int64_t n = 0; n < {}; ++n) sum[n] = {};", tile,
                         lanes_ ? fmt::format("im_all({})", start) : start));
    return place;
  }

  std::size_t open_inner(bool with_reduced) {
    std::size_t opened = 0;
    for (const Loop& l : inner_) {
      if (!with_reduced && is_reduced(nest_, l)) continue;
      out_.open_loop(l);
      ++opened;
    }
    return opened;
  }

  // The sum, as text.
  std::string add_up(const Index& place) {
    const std::size_t first_block = out_.block_count();
    const std::size_t opened = open_inner(true);
    if (opened > 0 && is_float(reduction_.type)) out_.say("IM_REORDER");
    if (lanes_) out_.define_axis(lanes_->lane(), "0");
    out_.define_axes(true);
    if (lanes_) {
      const auto reduced_loops =
          std::ranges::find_if(inner_, [&](const Loop& l) { return !is_reduced(nest_, l); }) - inner_.begin();
      lanes_->skip_outside(reduction_, first_block, first_block + static_cast<std::size_t>(reduced_loops));
    }
    std::string sum = fmt::format("sum[{}]", out_.text(place));
    const Domain domain = both(nest_.guard, reduction_.domain);
    const std::string condition = lanes_ ? lanes_->holds(domain) : out_.holds(domain);
    const std::string added = lanes_ ? lanes_->value(*reduction_.args[0])
                                     : fmt::format("({}){}", sum_type(), out_.value(reduction_.args[0]));
    const std::string combined = combine_text(reduction_.reduction, sum, added);
    out_.say(condition.empty() ? fmt::format("{} = {};", sum, combined)
                               : fmt::format("if ({}) {} = {};", condition, sum, combined));
    out_.close_all(opened);
    return sum;
  }

  // The operations on the sums.
  void finish(const std::string& sum) {
    if (lanes_) lanes_->end_loops();
    std::size_t opened = open_inner(false);
    out_.bind(nest_.reduction, is_long_ ? fmt::format("(float){}", sum) : sum);
    const bool in_vectors = lanes_ && lanes_->can_finish();
    if (in_vectors) {
      out_.define_axis(lanes_->lane(), "0");
    } else if (lanes_) {
      out_.say("float lanes[16];");
      out_.say(fmt::format("*(im_lanes*)lanes = {};", sum));
      out_.open_loop(lanes_->lane(), "0", fmt::format("{}", lanes_->lane().extent.concrete()));
      ++opened;
      out_.bind(nest_.reduction, fmt::format("lanes[{}]", out_.name_of(lanes_->lane())));
    }
    out_.define_axes(false);
    if (const std::string inside = out_.holds(guard_of_sums()); !inside.empty()) {
      out_.open(fmt::format("if ({})", inside));
      ++opened;
    }
    if (in_vectors)
      out_.say(fmt::format("im_put<{}>({} + ({}), {});", lanes_->lane().extent.concrete(),
                           out_.pointer(nest_.target), out_.text(out_.address(nest_.target, nest_.at)),
                           lanes_->value(*nest_.value)));
    else out_.store_value();
    out_.close_all(opened);
  }
  // Without what is about reduced loops.
  Domain guard_of_sums() const {
    Domain kept;
    std::ranges::copy_if(nest_.guard, std::back_inserter(kept), [&](const Index& g) {
      return !std::ranges::any_of(inner_,
                                  [&](const Loop& l) { return is_reduced(nest_, l) && g.mentions(l.axis); });
    });
    return kept;
  }

  // Whether one loop is left, which takes the largest or smallest of a row of floats.
  bool is_row_extremum() const {
    if (inner_.size() != 1 || out_.plan().sizes.usual(inner_[0].axis) < 32 ||
        reduction_.type != ElementType::Float || !reduction_.domain.empty() || !nest_.guard.empty() ||
        (reduction_.reduction != Reduction::Max && reduction_.reduction != Reduction::Min))
      return false;
    const ExprNode& e = *reduction_.args[0];
    if (e.kind != ExprNode::Kind::Read) return false;
    const Storage& source = out_.plan().buffer(e.tensor.number);
    if (source.type != ElementType::Float) return false;
    for (std::size_t d = 0; d < e.at.size(); ++d)
      if (!stays_inside(source, d, e.at[d])) return false;
    const Index at = out_.address(e.tensor.number, e.at);
    const auto is_axis = [](const Index::Term& t) { return t.atom.kind == Index::AtomKind::Axis; };
    const auto is_step = [&](const Index::Term& t) {
      return is_axis(t) && t.atom.axis == inner_[0].axis && t.scale.is(1);
    };
    return std::ranges::any_of(at.terms(), is_step) && std::ranges::all_of(at.terms(), is_axis);
  }

  void write_row_extremum() {
    const ExprNode& e = *reduction_.args[0];
    const std::size_t opened = open_loops(out_, outer_);
    out_.define_axes(false);
    AxisMap first;
    for (const AxisOfLoops& a : nest_.of)
      if (a.is_reduced) first[a.axis.id] = Index(0);
    const std::string row = fmt::format("{} + ({})", out_.pointer(e.tensor.number),
                                        out_.text(with_axes(out_.address(e.tensor.number, e.at), first)));
    const bool is_max = reduction_.reduction == Reduction::Max;
    const Dim& length = inner_[0].axis.extent;
    out_.say(fmt::format("const float sum = im_{}_of_{}row({}, {});", is_max ? "max" : "min",
                         length.is_concrete() ? "" : "any_", row, out_.text(length)));
    out_.bind(nest_.reduction, "sum");
    out_.store_value();
    out_.close_all(opened);
  }

  NestWriter& out_;
  const Nest& nest_;
  const ExprNode& reduction_;
  std::vector<Loop> outer_, inner_;  // inner: from the first reduced one on, without the vector loop
  std::optional<LaneWriter> lanes_;
  bool is_long_ = false;
};

}  // namespace

void emit_reduction(NestWriter& out) { ReductionWriter(out).write(); }

}  // namespace isomer::lower
