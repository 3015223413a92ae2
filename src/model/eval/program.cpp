#include "model/eval/program.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "model/eval/contraction.h"
#include "model/eval/strip.h"

namespace isomer {
namespace {

// One loop nest: a stage of the formula, or a contraction hoisted out of one.
struct CompiledStage {
  ElementType type = ElementType::Undefined;    // of the elements
  ElementType stored = ElementType::Undefined;  // as kept in memory
  Extents extents;
  std::optional<TensorRef> copied;  // the same elements in the same order as that tensor
  std::optional<Contraction> contraction;
  std::optional<StripCompiler> compiler;  // knows the state that the nest needs
  std::unique_ptr<StripNode> nest;
  std::size_t strip_axis = 0;
};

// Takes contractions out of an expression, and reductions that stand in it several times (the index of a
// scatter), each as a stage of its own with just the axes that it sees. Under another reduction, only the
// latter are taken out, where they do not depend on its axes.
class Hoister {
 public:
  // `emit` appends a stage and returns its number, or nullopt if it is to stay where it is.
  using Emit = std::function<std::optional<int>(const Stage&, bool is_repeated)>;
  Hoister(const std::vector<Axis>& axes, Emit emit) : axes_(axes), emit_(std::move(emit)) {}

  ExprRef run(const ExprRef& expr) {
    count(*expr);
    return hoist(expr);
  }

 private:
  void count(const ExprNode& e) {
    if (e.kind == ExprNode::Kind::Reduce && ++counts_[&e] > 1) return;
    for (const ExprRef& a : e.args) count(*a);
    for (const ExprNode::Case& c : e.cases) count(*c.value);
  }

  ExprRef hoist(const ExprRef& expr) {
    const bool is_reduction = expr->kind == ExprNode::Kind::Reduce;
    if (is_reduction)
      if (ExprRef out = hoist_reduction(expr)) return out;
    if (expr->args.empty()) return expr;
    ExprNode node = *expr;
    const std::size_t outside = bound_.size();
    const bool is_partial = !node.domain.empty() || node.kind == ExprNode::Kind::Cases;
    if (is_reduction) bound_.insert(bound_.end(), node.axes.begin(), node.axes.end());
    conditions_ += is_partial ? 1 : 0;
    for (ExprRef& a : node.args) a = hoist(a);
    for (ExprNode::Case& c : node.cases) c.value = hoist(c.value);
    conditions_ -= is_partial ? 1 : 0;
    bound_.resize(outside);
    return std::make_shared<const ExprNode>(std::move(node));
  }

  ExprRef hoist_reduction(const ExprRef& expr) {
    if (const auto at = hoisted_.find(expr.get()); at != hoisted_.end()) return at->second;
    const bool is_repeated = counts_.at(expr.get()) > 1 && conditions_ == 0;
    const auto is_seen = [&](const Axis& a) { return mentions(*expr, a); };
    if ((!bound_.empty() && !is_repeated) || std::ranges::any_of(bound_, is_seen)) return nullptr;
    Stage stage{.type = expr->type, .axes = {}, .value = expr};
    std::ranges::copy_if(axes_, std::back_inserter(stage.axes), is_seen);
    const auto number = emit_(stage, is_repeated);
    if (!number) return nullptr;
    const Expr made = read({.kind = TensorRef::Kind::Stage, .number = *number}, expr->type, stage.shape(),
                           to_indices(stage.axes));
    return hoisted_.emplace(expr.get(), made.ref()).first->second;
  }

  const std::vector<Axis>& axes_;
  Emit emit_;
  std::vector<Axis> bound_;  // by the reductions around
  int conditions_ = 0;       // around: beyond them, what stands here may read outside of a tensor
  std::unordered_map<const ExprNode*, int> counts_;
  std::unordered_map<const ExprNode*, ExprRef> hoisted_;
};

double points_of(const std::vector<Axis>& axes) {
  double out = 1;
  for (const Axis& a : axes) out *= static_cast<double>(a.extent.concrete());
  return out;
}

// Arithmetic on values that are read in place. Comparisons are left alone: a sum that one of them pins is a
// look-up.
bool is_plain_arithmetic(const ExprNode& e) {
  if (e.kind == ExprNode::Kind::Read || e.kind == ExprNode::Kind::Number) return true;
  if (e.kind != ExprNode::Kind::Apply) return false;
  if (e.fn != Fn::Cast && e.fn != Fn::Add && e.fn != Fn::Sub && e.fn != Fn::Mul && e.fn != Fn::Neg)
    return false;
  return std::ranges::all_of(e.args, [](const ExprRef& a) { return is_plain_arithmetic(*a); });
}

// Σ f · g with factors that are computed, like (a[m, k] - a0) · (b[k, n] - b0): each factor that has far
// fewer elements than the sum has terms is a stage of its own, so that the sum is a contraction of two
// tensors. `emit` appends a stage and returns its number.
Stage with_factors_apart(Stage stage, const std::function<int(const Stage&)>& emit) {
  constexpr double kLeastUses = 4, kMostElements = 1 << 26;
  const ExprNode& sum = *stage.value;
  if (sum.kind != ExprNode::Kind::Reduce || sum.reduction != Reduction::Sum || !sum.domain.empty())
    return stage;
  const ExprNode& product = *sum.args[0];
  if (product.kind != ExprNode::Kind::Apply || product.fn != Fn::Mul) return stage;
  std::vector<Axis> axes = stage.axes;
  axes.insert(axes.end(), sum.axes.begin(), sum.axes.end());
  const double terms = points_of(axes);
  std::vector<Stage> factors;
  for (const ExprRef& factor : product.args) {
    Stage& f = factors.emplace_back(Stage{.type = factor->type, .axes = {}, .value = factor});
    std::ranges::copy_if(axes, std::back_inserter(f.axes),
                         [&](const Axis& a) { return mentions(*factor, a); });
    if (factor->kind == ExprNode::Kind::Read) continue;
    const double elements = points_of(f.axes);
    if (!is_plain_arithmetic(*factor) || elements * kLeastUses > terms || elements > kMostElements)
      return stage;
  }
  std::vector<Expr> reads;
  for (const Stage& f : factors) {
    if (f.value->kind == ExprNode::Kind::Read) reads.push_back(f.value);
    else
      reads.push_back(
          read({.kind = TensorRef::Kind::Stage, .number = emit(f)}, f.type, f.shape(), to_indices(f.axes)));
  }
  stage.value = reduce(sum.reduction, sum.axes, reads[0] * reads[1]);
  return stage;
}

// The tensor that an expression copies element by element in row-major order: a Reshape, or an Identity.
std::optional<TensorRef> as_copy(const Stage& stage) {
  const ExprNode& e = *stage.value;
  if (e.kind != ExprNode::Kind::Read) return std::nullopt;
  const Dims shape = stage.shape();
  if (!(product(shape) == product(e.extents))) return std::nullopt;
  if (product(shape).is(0)) return e.tensor;
  const Index linear = linearize(to_indices(stage.axes), shape);
  if (linearize(e.at, e.extents) == linear) {
    // Equal positions, if each index stays within its own extent.
    for (std::size_t d = 0; d < e.at.size(); ++d)
      if (!e.at[d].is_inside(e.extents[d])) return std::nullopt;
    return e.tensor;
  }
  return e.at == delinearize(linear, e.extents) ? std::optional(e.tensor) : std::nullopt;
}

// The longest axis makes the longest strips; the last one makes contiguous ones.
std::size_t choose_strip_axis(const Extents& extents) {
  const std::size_t longest = static_cast<std::size_t>(std::ranges::max_element(extents) - extents.begin());
  const bool last_will_do = extents.back() >= 32 || extents.back() * 4 >= extents[longest];
  return last_will_do ? extents.size() - 1 : longest;
}

ElementType kept_as(ElementType type, bool is_output) {
  const bool is_half = type == ElementType::Float16 || type == ElementType::BFloat16;
  return is_half && !is_output ? ElementType::Float : type;
}

}  // namespace

struct Program::Compiled {
  std::vector<std::optional<TensorType>> inputs;
  std::vector<CompiledStage> stages;
  std::vector<int> outputs;

  std::vector<ElementType> stage_types() const {
    std::vector<ElementType> out;
    for (const CompiledStage& s : stages) out.push_back(s.stored);
    return out;
  }
  std::vector<ElementType> input_types() const {
    std::vector<ElementType> out;
    for (const auto& i : inputs) out.push_back(i ? i->type : ElementType::Undefined);
    return out;
  }
  int add(const Stage& stage, bool is_output);
};

// Compiles a stage whose reads are numbered as compiled stages are; returns its number.
int Program::Compiled::add(const Stage& stage, bool is_output) {
  CompiledStage out;
  out.type = stage.type;
  out.stored = kept_as(stage.type, is_output);
  out.extents = *concrete(stage.shape());
  if (const auto copied = as_copy(stage)) {
    const ElementType source =
        (copied->kind == TensorRef::Kind::Input ? input_types()
                                                : stage_types())[static_cast<std::size_t>(copied->number)];
    if (source == out.stored) out.copied = copied;
  }
  if (!out.copied) out.contraction = Contraction::compile(stage);
  if (!out.copied && !out.contraction) {
    out.compiler.emplace(input_types(), stage_types());
    std::vector<Axis> axes = stage.axes;
    if (axes.empty()) axes.push_back({.id = -1, .extent = 1});  // a scalar is a strip of one
    for (const Axis& a : axes) out.compiler->slot_of(a);
    out.strip_axis = stage.axes.empty() ? 0 : choose_strip_axis(out.extents);
    out.compiler->set_strip_axis(axes[out.strip_axis]);
    out.nest = out.compiler->compile(*stage.value);
  }
  stages.push_back(std::move(out));
  return static_cast<int>(stages.size()) - 1;
}

Program Program::compile(const Formula& formula) {
  auto compiled = std::make_shared<Compiled>();
  compiled->inputs = formula.inputs;
  std::vector<int> renumbered;                        // formula's stage -> compiled stage
  std::unordered_map<const ExprNode*, ExprRef> done;  // what stands in it several times stays one
  const std::function<ExprRef(const ExprRef&)> renumber = [&](const ExprRef& expr) -> ExprRef {
    if (const auto at = done.find(expr.get()); at != done.end()) return at->second;
    ExprNode node = *expr;
    if (node.kind == ExprNode::Kind::Read && node.tensor.kind == TensorRef::Kind::Stage)
      node.tensor.number = renumbered.at(static_cast<std::size_t>(node.tensor.number));
    for (ExprRef& a : node.args) a = renumber(a);
    for (ExprNode::Case& c : node.cases) c.value = renumber(c.value);
    return done.emplace(expr.get(), std::make_shared<const ExprNode>(std::move(node))).first->second;
  };
  const auto emit = [&](const Stage& part) { return compiled->add(part, false); };
  for (std::size_t k = 0; k < formula.stages.size(); ++k) {
    Stage stage = formula.stages[k];
    stage.value = renumber(stage.value.ref());
    if (stage.value->kind != ExprNode::Kind::Reduce) {
      Hoister hoister(stage.axes, [&](const Stage& part, bool is_repeated) -> std::optional<int> {
        const Stage apart = with_factors_apart(part, emit);
        if (!is_repeated && !Contraction::compile(apart)) return std::nullopt;
        return compiled->add(apart, false);
      });
      stage.value = hoister.run(stage.value.ref());
    } else {
      stage = with_factors_apart(std::move(stage), emit);
    }
    renumbered.push_back(compiled->add(
        stage, std::ranges::find(formula.outputs, static_cast<int>(k)) != formula.outputs.end()));
  }
  for (const int o : formula.outputs) compiled->outputs.push_back(renumbered[static_cast<std::size_t>(o)]);
  Program program;
  program.compiled_ = std::move(compiled);
  return program;
}

namespace {

template <class T>
void store(ElementType stored, const T* values, std::byte* data, std::int64_t base, std::int64_t step,
           int length) {
  if constexpr (std::same_as<T, float>) {
    if (stored == ElementType::Float16 || stored == ElementType::BFloat16) {
      auto* out = reinterpret_cast<std::uint16_t*>(data);
      for (int i = 0; i < length; ++i)
        out[base + step * i] =
            stored == ElementType::Float16 ? float_to_float16(values[i]) : float_to_bfloat16(values[i]);
      return;
    }
  }
  auto* out = reinterpret_cast<T*>(data);
  if (step == 1) std::copy_n(values, length, out + base);
  else
    for (int i = 0; i < length; ++i) out[base + step * i] = values[i];
}

// All strips of a stage, in row-major order of the other axes.
void run_nest(const CompiledStage& stage, StripState& state, std::byte* data) {
  const Extents extents = stage.extents.empty() ? Extents{1} : stage.extents;
  std::int64_t step = 1, total = 1;
  for (std::size_t k = stage.strip_axis + 1; k < extents.size(); ++k) step *= extents[k];
  for (const std::int64_t e : extents) total *= e;
  if (total == 0) return;
  const std::int64_t length = extents[stage.strip_axis];
  std::vector<std::int64_t> position(extents.size(), 0);  // slots 0.. are the stage's axes
  for (;;) {
    std::int64_t base = 0;
    for (std::size_t k = 0; k < extents.size(); ++k) base = base * extents[k] + position[k];
    for (std::int64_t first = 0; first < length; first += kStripLength) {
      std::ranges::copy(position, state.slots.begin());
      state.slots[stage.strip_axis] = first;
      state.length = static_cast<int>(std::min<std::int64_t>(kStripLength, length - first));
      const void* values = stage.nest->run(state);
      with_compute_type(stage.type, [&]<class T>(T) {
        store(stage.stored, static_cast<const T*>(values), data, base + first * step, step, state.length);
      });
    }
    std::size_t k = extents.size();
    while (k > 0) {
      --k;
      if (k == stage.strip_axis) continue;
      if (++position[k] < extents[k]) break;
      position[k] = 0;
    }
    if (std::ranges::all_of(position, [](std::int64_t p) { return p == 0; })) return;
  }
}

struct Running {
  std::vector<Tensor> inputs, stages;  // absent inputs are empty tensors
  const Tensor& of(TensorRef ref) const {
    return (ref.kind == TensorRef::Kind::Input ? inputs : stages)[static_cast<std::size_t>(ref.number)];
  }
};

Tensor run_contraction(const CompiledStage& stage, const Running& running) {
  const auto computed = [&](TensorRef ref) {  // 16-bit floats are widened once
    const Tensor& t = running.of(ref);
    return kept_as(t.type(), false) == t.type() ? t : convert(t, ElementType::Float);
  };
  const Tensor a = computed(stage.contraction->left()), b = computed(stage.contraction->right());
  const ElementType type = kept_as(stage.type, false);
  Buffer out(*byte_size(type, stage.extents));
  stage.contraction->run(a.bytes().data, b.bytes().data, out.data());
  return convert(Tensor(type, stage.extents, std::move(out).freeze()), stage.stored);
}

Result<Tensor> run_strips(const CompiledStage& stage, const Running& running, std::uint64_t key) {
  StripState state = stage.compiler->fresh_state();
  state.scalar.key = key;
  for (const Tensor& t : running.inputs) state.inputs.push_back({t.bytes().data, t.type()});
  for (const Tensor& t : running.stages) state.stages.push_back({t.bytes().data, t.type()});
  Buffer out(*byte_size(stage.stored, stage.extents));
  run_nest(stage, state, out.data());
  if (state.scalar.divided_by_zero) return Error{"integer division by zero"};
  if (state.looked_outside) return Error{"an index is outside of the tensor it looks up"};
  return Tensor(stage.stored, stage.extents, std::move(out).freeze());
}

}  // namespace

Result<std::vector<Tensor>> Program::run(const std::vector<std::optional<Tensor>>& inputs,
                                         std::uint64_t key) const {
  const Compiled& program = *compiled_;
  ISOMER_CHECK(inputs.size() == program.inputs.size(), "one tensor, or none, per input of the formula");
  Running running;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    ISOMER_CHECK(inputs[k].has_value() == program.inputs[k].has_value());
    if (inputs[k])
      ISOMER_CHECK(inputs[k]->type() == program.inputs[k]->type &&
                   to_dims(inputs[k]->extents()) == program.inputs[k]->shape);
    running.inputs.push_back(inputs[k].value_or(Tensor()));
  }
  for (const CompiledStage& stage : program.stages) {
    if (!byte_size(stage.stored, stage.extents)) return Error{"a result does not fit the address space"};
    if (stage.copied) {
      running.stages.emplace_back(stage.stored, stage.extents, running.of(*stage.copied).bytes());
    } else if (stage.contraction) {
      running.stages.push_back(run_contraction(stage, running));
    } else {
      ISOMER_TRY(Tensor tensor, run_strips(stage, running, key));
      running.stages.push_back(std::move(tensor));
    }
  }
  std::vector<Tensor> outputs;
  for (const int o : program.outputs) outputs.push_back(running.stages[static_cast<std::size_t>(o)]);
  return outputs;
}

}  // namespace isomer
