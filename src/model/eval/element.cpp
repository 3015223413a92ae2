#include "model/eval/element.h"

#include <algorithm>
#include <array>
#include <map>

#include "model/eval/program.h"
#include "model/eval/scalar.h"

namespace isomer {
namespace {

// A value of any computable type, in the type that computes it.
struct Cell {
  std::array<std::byte, sizeof(FieldPair)> bytes{};  // the largest
  template <class T>
  static Cell of(T value) {
    Cell cell;
    std::memcpy(cell.bytes.data(), &value, sizeof value);
    return cell;
  }
  template <class T>
  T as() const {
    T value;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
};

class Walker {
 public:
  Walker(const Formula& formula, const std::vector<std::optional<Tensor>>& inputs, std::uint64_t key)
      : formula_(formula), inputs_(inputs) {
    scalar_.key = key;
  }

  Cell stage(int number, const Extents& position) {
    const auto key = std::make_pair(number, position);
    if (const auto at = known_.find(key); at != known_.end()) return at->second;
    const Stage& s = formula_.stages[static_cast<std::size_t>(number)];
    const auto outer = axes_;
    for (std::size_t k = 0; k < s.axes.size(); ++k) axes_[s.axes[k].id] = position[k];
    const Cell cell = evaluate(*s.value);
    axes_ = outer;
    return known_.emplace(key, cell).first->second;
  }
  bool divided_by_zero() const { return scalar_.divided_by_zero; }

 private:
  std::int64_t at(const Index& index) const {
    const Index bound = index.substitute([&](const Axis& a) { return Index(axes_.at(a.id)); });
    return bound.offset().concrete();
  }
  bool holds(const Domain& domain) const {
    return std::ranges::all_of(domain, [&](const Index& i) { return at(i) >= 0; });
  }

  Cell evaluate(const ExprNode& e) {
    switch (e.kind) {
      case ExprNode::Kind::Number:
        return with_compute_type(e.type, [&]<class T>(T) {
          if constexpr (scalar::Finite<T>) return Cell::of(T::of(e.number));
          else return Cell::of(is_float(e.type) ? static_cast<T>(e.number) : static_cast<T>(e.integer));
        });
      case ExprNode::Kind::IndexNumber:
        return with_compute_type(e.type, [&]<class T>(T) { return convert_cell<T>(at(e.index), e.type); });
      case ExprNode::Kind::Read: return evaluate_read(e);
      case ExprNode::Kind::Apply: return evaluate_apply(e);
      case ExprNode::Kind::Cases:
        for (const ExprNode::Case& c : e.cases)
          if (holds(c.when)) return evaluate(*c.value);
        return evaluate(*e.args[0]);
      case ExprNode::Kind::Reduce:
        return with_compute_type(e.type, [&]<class T>(T) { return evaluate_reduce<T>(e); });
    }
    ISOMER_UNREACHABLE("every kind of expression has a value");
  }

  template <class T, class From>
  Cell convert_cell(From value, ElementType to) {
    return Cell::of(scalar::cast<T>(value, to == ElementType::Bool, scalar_));
  }

  Cell evaluate_read(const ExprNode& e) {
    Extents position;
    for (std::size_t d = 0; d < e.at.size(); ++d) {
      position.push_back(at(e.at[d]));
      if (position.back() < 0 || position.back() >= e.extents[d].concrete())
        return with_compute_type(e.type, [](auto zero) { return Cell::of(zero); });
    }
    if (e.tensor.kind == TensorRef::Kind::Stage) return stage(e.tensor.number, position);
    const Tensor& tensor = *inputs_[static_cast<std::size_t>(e.tensor.number)];
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < position.size(); ++d) offset = offset * tensor.extents()[d] + position[d];
    const auto at = static_cast<std::size_t>(offset);
    switch (tensor.type()) {
      case ElementType::Float16: return Cell::of(float16_to_float(tensor.as<std::uint16_t>()[at]));
      case ElementType::BFloat16: return Cell::of(bfloat16_to_float(tensor.as<std::uint16_t>()[at]));
      case ElementType::Bool: return Cell::of(static_cast<std::uint8_t>(tensor.as<std::uint8_t>()[at] != 0));
      default:
        return with_compute_type(tensor.type(), [&]<class T>(T) { return Cell::of(tensor.as<T>()[at]); });
    }
  }

  Cell evaluate_apply(const ExprNode& e) {
    if (e.fn == Fn::Where) return evaluate(*e.args[evaluate(*e.args[0]).as<std::uint8_t>() != 0 ? 1 : 2]);
    const Cell a = evaluate(*e.args[0]), b = e.args.size() > 1 ? evaluate(*e.args[1]) : Cell{};
    return with_compute_type(e.args[0]->type, [&]<class T>(T) -> Cell {
      const T x = a.as<T>(), y = b.as<T>();
      switch (class_of(e.fn)) {
        case FnClass::Unary:
          return with_unary(e.fn, [&]<Fn f>() { return Cell::of(scalar::unary<f>(x, scalar_)); });
        case FnClass::Binary:
          return with_binary(e.fn, [&]<Fn f>() { return Cell::of(scalar::binary<f>(x, y, scalar_)); });
        case FnClass::Comparison:
          return with_comparison(
              e.fn, [&]<Fn f>() { return Cell::of(static_cast<std::uint8_t>(scalar::compare<f>(x, y))); });
        case FnClass::Test:
          return with_test(e.fn,
                           [&]<Fn f>() { return Cell::of(static_cast<std::uint8_t>(scalar::test<f>(x))); });
        case FnClass::Where:
        case FnClass::Cast: break;
      }
      if (e.type == ElementType::Float16 || e.type == ElementType::BFloat16) {
        const float wide = scalar::cast<float>(x, false, scalar_);
        return Cell::of(e.type == ElementType::Float16 ? float16_to_float(float_to_float16(wide))
                                                       : bfloat16_to_float(float_to_bfloat16(wide)));
      }
      return with_compute_type(e.type, [&]<class To>(To) { return convert_cell<To>(x, e.type); });
    });
  }

  template <class T>
  Cell evaluate_reduce(const ExprNode& e) {
    T total = reduction_start<T>(e.reduction);
    bool started = false;
    for (const Axis& a : e.axes) {
      if (a.extent.concrete() <= 0) return Cell::of(total);
      axes_[a.id] = 0;
    }
    for (;;) {
      if (holds(e.domain)) {
        const T value = evaluate(*e.args[0]).template as<T>();
        const bool first = !std::exchange(started, true) && scalar::Finite<T>;  // mod p max has no identity
        total = first ? value : with_binary(step_of(e.reduction), [&]<Fn f>() {
          return scalar::binary<f>(total, value, scalar_);
        });
      }
      std::size_t k = e.axes.size();
      while (k > 0 && ++axes_[e.axes[k - 1].id] >= e.axes[k - 1].extent.concrete()) axes_[e.axes[--k].id] = 0;
      if (k == 0) return Cell::of(total);
    }
  }

  const Formula& formula_;
  const std::vector<std::optional<Tensor>>& inputs_;
  ScalarContext scalar_;
  std::map<int, std::int64_t> axes_;
  std::map<std::pair<int, Extents>, Cell> known_;
};

}  // namespace

Result<Tensor> evaluate_element(const Formula& formula, int output, const Extents& position,
                                const std::vector<std::optional<Tensor>>& inputs, std::uint64_t key) {
  Walker walker(formula, inputs, key);
  const ElementType type = formula.output(output).type;
  const Cell cell = walker.stage(formula.outputs[static_cast<std::size_t>(output)], position);
  if (walker.divided_by_zero()) return Error{"integer division by zero"};
  const bool half = type == ElementType::Float16 || type == ElementType::BFloat16;
  return with_compute_type(type, [&]<class T>(T) {
    const Tensor wide = Tensor::of(half ? ElementType::Float : type, {}, std::vector<T>{cell.as<T>()});
    return convert(wide, type);
  });
}

}  // namespace isomer
