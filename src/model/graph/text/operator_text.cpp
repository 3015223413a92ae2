#include "model/graph/text/operator_text.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <variant>

#include "model/graph/text/scanner.h"

namespace isomer {
namespace {

struct Parameter {
  std::string name;
  bool is_any_float = false;
  ElementType type = ElementType::Float;
  Scanner dims = Scanner("");  // before its extents, which are read when sizes are known
};

// A number without a type yet, or an element.
using Value = std::variant<double, Expr>;

constexpr std::array kFunctions{Fn::Abs,      Fn::Relu,  Fn::Sign,  Fn::Exp,   Fn::Log,  Fn::Sqrt,
                                Fn::Pow,      Fn::Max,   Fn::Min,   Fn::Floor, Fn::Ceil, Fn::Round,
                                Fn::Mod,      Fn::Erf,   Fn::Sin,   Fn::Cos,   Fn::Tan,  Fn::Sigmoid,
                                Fn::Softplus, Fn::Tanh,  Fn::Sinh,  Fn::Cosh,  Fn::Asin, Fn::Acos,
                                Fn::Atan,     Fn::Asinh, Fn::Acosh, Fn::Atanh};

std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::optional<Fn> function_named(std::string_view word) {
  for (const Fn fn : kFunctions)
    if (lowered(isomer::name(fn)) == word) return fn;
  return std::nullopt;
}

std::optional<Reduction> reduction_named(std::string_view word) {
  if (word == "sum") return Reduction::Sum;
  if (word == "product") return Reduction::Product;
  if (word == "max") return Reduction::Max;
  if (word == "min") return Reduction::Min;
  return std::nullopt;
}

// Thrown where the call is not one that the text speaks of, and caught in run().
struct Misfit {
  std::string why;
};

// One operator's text, read from its name on: for a call, or (without one) for its own symbols.
class Reading {
 public:
  Reading(Scanner scanner, const Call* call) : scanner_(scanner), call_(call) {}

  Result<Definition> run() {
    try {
      ISOMER_TRY_DO(head());
      check_attributes();
      ISOMER_TRY_DO(bind());
      return body();
    } catch (const Misfit& misfit) {
      return Definition(Opaque{misfit.why});
    }
  }
  std::string domain, name;
  int inputs() const { return static_cast<int>(inputs_.size()); }
  Scanner& scanner() { return scanner_; }

 private:
  Result<std::string> word(const char* what) {
    const std::string_view found = scanner_.identifier();
    if (found.empty()) return scanner_.error(fmt::format("expected {}", what));
    return std::string(found);
  }

  // ---- The first line

  Status head() {
    ISOMER_TRY(domain, word("a domain"));
    while (scanner_.matches('.')) {
      ISOMER_TRY(const std::string part, word("the rest of a domain"));
      domain += "." + part;
    }
    ISOMER_TRY_DO(scanner_.expect("::"));
    ISOMER_TRY(name, word("an operator's name"));
    ISOMER_TRY_DO(scanner_.expect('('));
    do {
      ISOMER_TRY(Parameter p, parameter());
      inputs_.push_back(std::move(p));
    } while (scanner_.matches(','));
    if (scanner_.matches(';')) {
      do {
        ISOMER_TRY_DO(attribute());
      } while (scanner_.matches(','));
    }
    ISOMER_TRY_DO(scanner_.expect(')'));
    ISOMER_TRY_DO(scanner_.expect("->"));
    ISOMER_TRY_DO(scanner_.expect('('));
    do {
      ISOMER_TRY(Parameter p, parameter());
      outputs_.push_back(std::move(p));
    } while (scanner_.matches(','));
    return scanner_.expect(')');
  }
  Result<Parameter> parameter() {
    Parameter out;
    ISOMER_TRY(out.name, word("a name"));
    ISOMER_TRY_DO(scanner_.expect(':'));
    ISOMER_TRY(const std::string type, word("an element type"));
    out.is_any_float = type == "T";
    if (!out.is_any_float) {
      const auto known = element_type_named(type);
      if (!known || !is_computable(*known))
        return scanner_.error(fmt::format("there is no element type {}", type));
      out.type = *known;
    }
    ISOMER_TRY_DO(scanner_.expect('['));
    out.dims = scanner_;
    while (!scanner_.matches(']')) {
      if (scanner_.at_end()) return scanner_.error("expected ']'");
      if (scanner_.identifier().empty()) (void)scanner_.matches(scanner_.peek());
    }
    return out;
  }
  Status attribute() {
    ISOMER_TRY(const std::string key, word("an attribute's name"));
    ISOMER_TRY_DO(scanner_.expect(':'));
    ISOMER_TRY(const std::string type, word("float or int"));
    if (type != "float" && type != "int") return scanner_.error("attributes are float or int");
    ISOMER_TRY_DO(scanner_.expect('='));
    ISOMER_TRY(const Scanner::Number number, scanner_.number());
    if (!stated_.emplace(key, type).second) return scanner_.error(fmt::format("{} is there twice", key));
    if (type == "int") {
      const auto usual = read_number<std::int64_t>(number.text);
      if (!usual) return scanner_.error("an int is expected");
      const auto* given = call_ ? call_->attributes.find_as<std::int64_t>(key) : nullptr;
      const std::int64_t value = given ? *given : *usual;
      sizes_[key] = Dim(value);
      numbers_[key] = static_cast<double>(value);
      return Done{};
    }
    const auto usual = read_number<float>(number.text);
    if (!usual) return scanner_.error("a float is expected");
    const auto* given = call_ ? call_->attributes.find_as<float>(key) : nullptr;
    numbers_[key] = static_cast<double>(given ? *given : *usual);
    return Done{};
  }
  // An attribute that the text does not state, or states to be of another type, may mean anything.
  void check_attributes() const {
    if (call_ == nullptr) return;
    for (const Attribute& a : call_->attributes.all()) {
      const auto stated = stated_.find(a.name);
      if (stated == stated_.end()) throw Misfit{fmt::format("attribute {} is not stated", a.name)};
      const bool fits = stated->second == "int" ? std::holds_alternative<std::int64_t>(a.value)
                                                : std::holds_alternative<float>(a.value);
      if (!fits) throw Misfit{fmt::format("attribute {} is stated to be {}", a.name, stated->second)};
    }
  }

  // ---- What the inputs are

  Status bind() {
    std::vector<std::optional<TensorType>> types;
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
      ISOMER_TRY(TensorType type, bound(inputs_[k], static_cast<int>(k)));
      types.emplace_back(std::move(type));
    }
    builder_ = std::make_unique<FormulaBuilder>(std::move(types));
    for (std::size_t k = 0; k < inputs_.size(); ++k)
      if (!tensors_.emplace(inputs_[k].name, builder_->input(static_cast<int>(k))).second)
        return scanner_.error(fmt::format("{} is there twice", inputs_[k].name));
    return Done{};
  }
  Result<TensorType> bound(const Parameter& p, int k) {
    TensorType given{.type = p.is_any_float ? any_float_.value_or(ElementType::Float) : p.type, .shape = {}};
    if (call_ != nullptr) given = call_->in(k).type;
    if (p.is_any_float) {
      if (!is_float(given.type) || (any_float_ && *any_float_ != given.type))
        throw Misfit{fmt::format("{} is of type {}", p.name, isomer::name(given.type))};
      any_float_ = given.type;
    } else if (given.type != p.type) {
      throw Misfit{fmt::format("{} is of type {}, and stated for {}", p.name, isomer::name(given.type),
                               isomer::name(p.type))};
    }
    Scanner at = p.dims;
    std::size_t axis = 0;
    for (; !at.matches(']'); ++axis) {
      if (axis > 0) {
        ISOMER_TRY_DO(at.expect(','));
      }
      if (call_ != nullptr && axis >= given.shape.size())
        throw Misfit{fmt::format("{} has {} axes", p.name, axis)};
      if (call_ == nullptr) given.shape.emplace_back();
      ISOMER_TRY_DO(bind_extent(at, given.shape[axis], fmt::format("axis {} of {}", axis, p.name)));
    }
    if (axis != given.shape.size()) throw Misfit{fmt::format("{} has {} axes", p.name, given.shape.size())};
    return given;
  }
  // A name is what it is the first time; then, as a number, what has to be there.
  Status bind_extent(Scanner& at, Dim& given, const std::string& what) {
    const std::string_view symbol = at.identifier();
    Dim stated;
    if (symbol.empty()) {
      ISOMER_TRY(const std::int64_t number, at.integer());
      stated = Dim(number);
    } else if (const auto known = sizes_.find(symbol); known != sizes_.end()) {
      stated = known->second;
    } else {
      stated = call_ != nullptr ? given : Dim::symbol(symbol);
      sizes_.emplace(symbol, stated);
    }
    if (call_ == nullptr) given = stated;
    if (given.equals(stated) == true) return Done{};
    throw Misfit{fmt::format("{} is {}, and stated to be {}", what, given.text(), stated.text())};
  }

  // ---- Tensors

  Result<Definition> body() {
    ISOMER_TRY_DO(scanner_.expect('{'));
    std::size_t next = 0;  // output
    while (!scanner_.matches('}')) {
      ISOMER_TRY(const std::string target, word("a tensor's name, or '}'"));
      const bool is_output = next < outputs_.size() && outputs_[next].name == target;
      if (tensors_.contains(target)) return scanner_.error(fmt::format("{} has a value already", target));
      ISOMER_TRY(const auto axes, stage_axes(is_output ? &outputs_[next] : nullptr));
      ISOMER_TRY_DO(scanner_.expect('='));
      ISOMER_TRY(const Value value, sum());
      std::optional<ElementType> wanted;
      if (is_output)
        wanted = outputs_[next].is_any_float ? any_float_.value_or(ElementType::Float) : outputs_[next].type;
      ISOMER_TRY(const Expr element, typed(value, wanted));
      if (wanted && element.type() != *wanted)
        return scanner_.error(fmt::format("{} is of type {}, and {} is stated", target,
                                          isomer::name(element.type()), isomer::name(*wanted)));
      axes_.clear();
      tensors_.emplace(target, is_output ? builder_->output(axes, element) : builder_->stage(axes, element));
      if (is_output) ++next;
    }
    if (next < outputs_.size())
      return scanner_.error(
          fmt::format("{} has no value, or not in the order of the outputs", outputs_[next].name));
    return Definition(std::move(*builder_).finish());
  }
  // [i, j] of an output, whose extents are in the first line; [i < n, j < m] of others.
  Result<std::vector<Axis>> stage_axes(const Parameter* output) {
    std::vector<Dim> shape;
    if (output) {
      Scanner at = scanner_;
      scanner_ = output->dims;
      while (!scanner_.matches(']')) {
        if (!shape.empty()) {
          ISOMER_TRY_DO(scanner_.expect(','));
        }
        ISOMER_TRY(Dim extent, size());
        shape.push_back(std::move(extent));
      }
      scanner_ = at;
    }
    ISOMER_TRY_DO(scanner_.expect('['));
    std::vector<Axis> out;
    while (!scanner_.matches(']')) {
      if (!out.empty()) {
        ISOMER_TRY_DO(scanner_.expect(','));
      }
      ISOMER_TRY(const std::string axis, word("an axis"));
      Dim extent;
      if (!output) {
        ISOMER_TRY_DO(scanner_.expect('<'));
        ISOMER_TRY(extent, size());
      } else {
        if (out.size() >= shape.size())
          return scanner_.error(fmt::format("{} has {} axes", output->name, shape.size()));
        extent = shape[out.size()];
      }
      ISOMER_TRY(const Axis made, new_axis(axis, extent));
      out.push_back(made);
    }
    if (output && out.size() != shape.size())
      return scanner_.error(fmt::format("{} has {} axes", output->name, shape.size()));
    return out;
  }
  Result<Axis> new_axis(const std::string& axis, const Dim& extent) {
    if (sizes_.contains(axis) || axes_.contains(axis))
      return scanner_.error(fmt::format("{} is taken", axis));
    if (const auto value = extent.value(); value && *value < 0)
      throw Misfit{fmt::format("{} would run to {}", axis, *value)};
    if (call_) call_->need(extent);
    const Axis out = builder_->axis(extent);
    axes_.emplace(axis, out);
    return out;
  }

  // ---- Depth: reading, computing or freeing an expression recurses once for each of its levels

  class Level {
   public:
    explicit Level(Reading& reading) : reading_(reading) { ++reading.depth_, ++reading.parts_; }
    ~Level() { --reading_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    bool is_fine() const { return reading_.depth_ <= kDeepest && reading_.parts_ <= kMostParts; }

   private:
    static constexpr int kDeepest = 64;      // of parentheses, calls and signs
    static constexpr int kMostParts = 2000;  // of one operator: a + b + c is as deep as it is long
    Reading& reading_;
  };
  Error too_deep() { return scanner_.error("too long, or nested too deeply"); }

  // ---- Positions: sums of terms; a size is one without axes

  Result<Dim> size() {
    ISOMER_TRY(const Index found, position());
    if (!found.is_constant()) return scanner_.error("an extent has no axes");
    return found.offset();
  }
  Result<Index> position() {
    Index out(0);
    bool is_minus = scanner_.matches('-');
    for (;;) {
      ISOMER_TRY(const Index next, term());
      out = is_minus ? out - next : out + next;
      if (scanner_.matches('+')) is_minus = false;
      else if (scanner_.matches('-')) is_minus = true;
      else return out;
    }
  }
  Result<Index> term() {
    ISOMER_TRY(Index out, factor());
    for (;;) {
      const bool times = scanner_.matches('*'), over = !times && scanner_.matches('/');
      if (!times && !over && !scanner_.matches('%')) return out;
      ISOMER_TRY(const Index next, factor());
      if (times && out.is_constant()) {
        out = out.offset() * next;
        continue;
      }
      if (!next.is_constant()) return scanner_.error("axes are multiplied with sizes, and divided by them");
      const Dim& by = next.offset();
      if (!times && call_ != nullptr) call_->need(by - Dim(1));
      if (times) out = by * out;
      else if (const auto value = by.value(); value && *value <= 0)
        return scanner_.error("divided by what is not positive");
      else if (out.is_constant())
        out = Index(over ? Dim::floor(out.offset(), by) : Dim::mod(out.offset(), by));
      else out = over ? Index::floor(out, by) : Index::mod(out, by);
    }
  }
  Result<Index> factor() {
    const Level level(*this);
    if (!level.is_fine()) return too_deep();
    if (scanner_.matches('(')) {
      ISOMER_TRY(const Index out, position());
      ISOMER_TRY_DO(scanner_.expect(')'));
      return out;
    }
    const std::string_view symbol = scanner_.peek_identifier();
    if (symbol.empty()) {
      ISOMER_TRY(const std::int64_t number, scanner_.integer());
      return Index(number);
    }
    if (const auto axis = axes_.find(symbol); axis != axes_.end())
      return (void)scanner_.identifier(), Index(axis->second);
    if (const auto known = sizes_.find(symbol); known != sizes_.end())
      return (void)scanner_.identifier(), Index(known->second);
    return scanner_.error(fmt::format("{} is neither an axis nor a size", symbol));
  }

  // ---- Elements

  Result<Expr> typed(const Value& value, std::optional<ElementType> type) {
    if (const auto* e = std::get_if<Expr>(&value)) return *e;
    const double number = std::get<double>(value);
    const ElementType as = type.value_or(any_float_.value_or(ElementType::Float));
    constexpr double kLargest = 0x1p63;  // what is beyond has no integer to be cast to
    if (!is_float(as) && (!(std::abs(number) < kLargest) || number != std::trunc(number)))
      return scanner_.error("the number is not whole, or too large");
    return is_float(as) ? isomer::number(as, number) : integer(as, static_cast<std::int64_t>(number));
  }
  // Two operands of one type.
  Result<std::vector<Expr>> alike(const Value& a, const Value& b) {
    const auto type_of = [](const Value& v) {
      const auto* e = std::get_if<Expr>(&v);
      return e ? std::optional(e->type()) : std::nullopt;
    };
    const auto type = type_of(a) ? type_of(a) : type_of(b);
    ISOMER_TRY(const Expr x, typed(a, type));
    ISOMER_TRY(const Expr y, typed(b, type));
    if (x.type() == ElementType::Bool) return scanner_.error("booleans are cast first, as in T(b[i])");
    if (x.type() != y.type())
      return scanner_.error(
          fmt::format("{} and {} are not of one type", isomer::name(x.type()), isomer::name(y.type())));
    return std::vector<Expr>{x, y};
  }
  Result<Value> combined(Fn fn, const Value& a, const Value& b) {
    const auto *x = std::get_if<double>(&a), *y = std::get_if<double>(&b);
    if (x && y && fn != Fn::Div) return Value(fn == Fn::Add ? *x + *y : fn == Fn::Sub ? *x - *y : *x * *y);
    ISOMER_TRY(std::vector<Expr> both, alike(a, b));
    if (fn == Fn::Div && !is_float(both[0].type())) return scanner_.error("whole numbers are not divided");
    return Value(apply(fn, std::move(both)));
  }
  struct Sign {
    char character;
    Fn fn;
  };
  // Parts with one of two signs between them, from the left.
  Result<Value> chain(Result<Value> (Reading::*part)(), const Sign& one, const Sign& other) {
    ISOMER_TRY(Value out, (this->*part)());
    for (;;) {
      const bool is_one = scanner_.matches(one.character);
      if (!is_one && !scanner_.matches(other.character)) return out;
      ISOMER_TRY(const Value next, (this->*part)());
      ISOMER_TRY(out, combined(is_one ? one.fn : other.fn, out, next));
    }
  }
  Result<Value> sum() { return chain(&Reading::product, {'+', Fn::Add}, {'-', Fn::Sub}); }
  Result<Value> product() { return chain(&Reading::unary, {'*', Fn::Mul}, {'/', Fn::Div}); }
  Result<Value> unary() {
    const Level level(*this);
    if (!level.is_fine()) return too_deep();
    if (!scanner_.matches('-')) return element();
    ISOMER_TRY(const Value of, unary());
    if (const auto* number = std::get_if<double>(&of)) return Value(-*number);
    if (std::get<Expr>(of).type() == ElementType::Bool) return scanner_.error("booleans are cast first");
    return Value(apply(Fn::Neg, {std::get<Expr>(of)}));
  }
  Result<Value> element() {
    if (scanner_.matches('(')) {
      ISOMER_TRY(Value out, sum());
      ISOMER_TRY_DO(scanner_.expect(')'));
      return out;
    }
    if (scanner_.peek_identifier().empty()) {
      ISOMER_TRY(const Scanner::Number number, scanner_.number());
      const auto value = read_number<double>(number.text);
      if (!value) return scanner_.error("expected a number");
      return Value(*value);
    }
    const std::string found(scanner_.identifier());
    if (scanner_.matches('(')) return called(found);
    if (scanner_.matches('[')) return element_of(found);
    if (const auto number = numbers_.find(found); number != numbers_.end()) return Value(number->second);
    if (const auto axis = axes_.find(found); axis != axes_.end())
      return Value(index_number(Index(axis->second)));
    if (const auto known = sizes_.find(found); known != sizes_.end())
      return Value(index_number(Index(known->second)));
    return scanner_.error(fmt::format("there is no {}", found));
  }
  Result<Value> element_of(const std::string& tensor) {
    const auto known = tensors_.find(tensor);
    if (known == tensors_.end()) return scanner_.error(fmt::format("there is no tensor {} yet", tensor));
    std::vector<Index> at;
    while (!scanner_.matches(']')) {
      if (!at.empty()) {
        ISOMER_TRY_DO(scanner_.expect(','));
      }
      ISOMER_TRY(Index next, position());
      at.push_back(std::move(next));
    }
    if (static_cast<int>(at.size()) != known->second.rank())
      return scanner_.error(fmt::format("{} has {} axes", tensor, known->second.rank()));
    return Value(known->second.at(std::move(at)));
  }
  Result<Value> called(const std::string& what) {
    if (what == "where") return chosen();
    if (const auto reduction = reduction_named(what); reduction && is_over_axes()) return reduced(*reduction);
    std::vector<Value> arguments;
    do {
      ISOMER_TRY(Value next, sum());
      arguments.push_back(std::move(next));
    } while (scanner_.matches(','));
    ISOMER_TRY_DO(scanner_.expect(')'));
    const auto type = what == "T" ? any_float_ : element_type_named(what);
    if (type) {
      if (arguments.size() != 1 || !is_computable(*type)) return scanner_.error("a cast is of one number");
      ISOMER_TRY(const Expr of, typed(arguments[0], type));
      return Value(cast(of, *type));
    }
    const auto fn = function_named(what);
    if (!fn) return scanner_.error(fmt::format("there is no function {}", what));
    if (static_cast<int>(arguments.size()) != arity(*fn))
      return scanner_.error(fmt::format("{} is of {} numbers", what, arity(*fn)));
    if (arguments.size() == 2) {
      ISOMER_TRY(std::vector<Expr> both, alike(arguments[0], arguments[1]));
      if (*fn != Fn::Max && *fn != Fn::Min && !is_float(both[0].type()))
        return scanner_.error(fmt::format("{} is of floats", what));
      return Value(apply(*fn, std::move(both)));
    }
    ISOMER_TRY(const Expr of, typed(arguments[0], std::nullopt));
    if (!is_float(of.type())) return scanner_.error(fmt::format("{} is of floats", what));
    return Value(apply(*fn, {of}));
  }
  // Whether `i < n` follows, as in max(i < n: ...) and not in max(a, b).
  bool is_over_axes() {
    Scanner ahead = scanner_;
    return !ahead.identifier().empty() && ahead.matches('<');
  }
  Result<Value> reduced(Reduction reduction) {
    const auto outside = axes_;
    std::vector<Axis> over;
    do {
      ISOMER_TRY(const std::string axis, word("an axis"));
      ISOMER_TRY_DO(scanner_.expect('<'));
      ISOMER_TRY(const Dim extent, size());
      ISOMER_TRY(const Axis made, new_axis(axis, extent));
      over.push_back(made);
    } while (scanner_.matches(','));
    ISOMER_TRY_DO(scanner_.expect(':'));
    ISOMER_TRY(const Value value, sum());
    ISOMER_TRY_DO(scanner_.expect(')'));
    ISOMER_TRY(const Expr body, typed(value, std::nullopt));
    if (body.type() == ElementType::Bool) return scanner_.error("booleans are cast first");
    axes_ = outside;
    return Value(reduce(reduction, std::move(over), body));
  }
  // where(a < b, x, y)
  Result<Value> chosen() {
    ISOMER_TRY(const Value a, sum());
    const bool not_more = scanner_.matches("<="), not_less = !not_more && scanner_.matches(">=");
    const bool less = !not_more && !not_less && scanner_.matches('<'),
               more = !not_more && !not_less && !less && scanner_.matches('>');
    if (!not_more && !not_less && !less && !more) {
      ISOMER_TRY_DO(scanner_.expect("=="));
    }
    ISOMER_TRY(const Value b, sum());
    ISOMER_TRY(std::vector<Expr> both, alike(a, b));
    if (not_less || more) std::swap(both[0], both[1]);
    const Expr condition = apply(not_more || not_less ? Fn::LessOrEqual
                                 : less || more       ? Fn::Less
                                                      : Fn::Equal,
                                 std::move(both));
    ISOMER_TRY_DO(scanner_.expect(','));
    ISOMER_TRY(const Value yes, sum());
    ISOMER_TRY_DO(scanner_.expect(','));
    ISOMER_TRY(const Value no, sum());
    ISOMER_TRY_DO(scanner_.expect(')'));
    ISOMER_TRY(const std::vector<Expr> values, alike(yes, no));
    return Value(where(condition, values[0], values[1]));
  }

  Scanner scanner_;
  int depth_ = 0, parts_ = 0;
  const Call* call_;
  std::vector<Parameter> inputs_, outputs_;
  std::optional<ElementType> any_float_;                    // what T is
  std::map<std::string, std::string, std::less<>> stated_;  // attributes, by their types: "float" or "int"
  std::map<std::string, Dim, std::less<>> sizes_;
  std::map<std::string, double, std::less<>> numbers_;
  std::map<std::string, Axis, std::less<>> axes_;
  std::map<std::string, FormulaBuilder::Tensor, std::less<>> tensors_;
  std::unique_ptr<FormulaBuilder> builder_;
};

}  // namespace

namespace {

// An extent that doesn't fit 64 bits is a fault of the text.
Result<Definition> read(Reading& reading, std::size_t begin) {
  try {
    return reading.run();
  } catch (const DimOverflow& overflow) {
    return reading.scanner().error_at(begin, overflow.what());
  }
}

}  // namespace

Result<std::vector<OwnOperator>> parse_operators(std::string_view text) {
  std::vector<OwnOperator> out;
  Scanner scanner(text);
  while (!scanner.at_end()) {
    const std::size_t begin = scanner.position();
    if (scanner.identifier() != "operator") return scanner.error_at(begin, "expected 'operator'");
    Reading reading(scanner, nullptr);
    ISOMER_TRY(const Definition definition, read(reading, begin));
    if (const auto* opaque = std::get_if<Opaque>(&definition)) return scanner.error_at(begin, opaque->reason);
    scanner = reading.scanner();
    const std::string_view stated = text.substr(begin, scanner.position() - begin);
    OwnOperator op{.domain = reading.domain,
                   .name = reading.name,
                   .text = std::string(stated.substr(0, stated.rfind('}') + 1)),
                   .inputs = reading.inputs(),
                   .define = {}};
    op.define = [own = op.text](const Call& call) -> Definition {
      Scanner again(own);
      (void)again.identifier();
      Reading for_call(again, &call);
      auto found = read(for_call, again.position());
      return found ? std::move(*found) : Definition(Opaque{found.error().message});
    };
    out.push_back(std::move(op));
  }
  return out;
}

Status add_operators(std::string_view text, OwnOperators& own) {
  ISOMER_TRY(std::vector<OwnOperator> all, parse_operators(text));
  OwnOperators together = own;
  for (OwnOperator& op : all) ISOMER_TRY_DO(together.add(std::move(op)));
  own = std::move(together);
  return Done{};
}

}  // namespace isomer
