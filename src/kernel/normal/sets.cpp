#include "kernel/normal/sets.h"

#include <fmt/format.h>
#include <isl/aff.h>
#include <isl/ctx.h>
#include <isl/id.h>
#include <isl/map.h>
#include <isl/options.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/val.h>

#include <algorithm>
#include <memory>

#include "base/check.h"

namespace isomer {
namespace {

[[noreturn]] void give_up() { throw Undecided("the set library's budget is spent"); }

// The one place where isl's third truth value is looked at.
bool answer(isl_bool said) {
  if (said == isl_bool_error) give_up();
  return said == isl_bool_true;
}

int count(isl_size said) {
  if (said == isl_size_error) give_up();
  return static_cast<int>(said);
}

unsigned unsigned_of(int n) { return static_cast<unsigned>(n); }

isl_space* set_space(const SetSpace& space, const std::vector<int>& parameters, int dims) {
  isl_space* made =
      isl_space_set_alloc(space.context(), static_cast<unsigned>(parameters.size()), unsigned_of(dims));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::string& name = space.parameters()[static_cast<std::size_t>(parameters[i])];
    made = isl_space_set_dim_id(made, isl_dim_param, static_cast<unsigned>(i),
                                isl_id_alloc(space.context(), name.c_str(), nullptr));
  }
  return made;
}

isl_val* value(isl_ctx* context, std::int64_t v) {
  static_assert(sizeof(long) == sizeof(std::int64_t));
  return isl_val_int_from_si(context, v);
}

bool is_affine_floor(const Dim::Summand& s) {
  return s.factors.size() == 1 && s.factors[0].kind == Dim::Factor::Kind::Floor &&
         s.factors[0].b.is_concrete() && s.factors[0].b.concrete() > 0;
}

template <class T>
std::string taken_text(T* text) {
  if (text == nullptr) give_up();
  std::string out(text);
  free(text);  // NOLINT(cppcoreguidelines-no-malloc): isl's own strings
  return out;
}

}  // namespace

// ---- the context

// isl 0.25 crashes if there is no memory for a context, so that it is looked for first.
static isl_ctx* new_context() {
  constexpr std::size_t kMore = 1 << 16;  // than isl takes for one
  (void)std::make_unique<std::byte[]>(kMore);
  return isl_ctx_alloc();
}

SetSpace::SetSpace(const std::vector<std::string>& symbols, const Dims& preconditions,
                   std::uint64_t most_operations)
    : context_(new_context()), preconditions_(preconditions) {
  ISOMER_CHECK(context_ != nullptr);
  isl_options_set_on_error(context_, ISL_ON_ERROR_CONTINUE);
  isl_ctx_set_max_operations(context_, most_operations);
  for (const std::string& s : symbols) {
    (void)symbol(s);
    preconditions_.push_back(Dim::symbol(s));
  }
}

SetSpace::~SetSpace() { isl_ctx_free(context_); }

Dims SetSpace::preconditions_of(std::vector<int> parameters) const {
  std::vector<bool> taken(preconditions_.size(), false);
  Dims out;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::string& name = parameters_[static_cast<std::size_t>(parameters[i])];
    if (!name.starts_with("$")) continue;
    for (std::size_t k = 0; k < preconditions_.size(); ++k) {
      const auto symbols = preconditions_[k].symbols();
      if (taken[k] || std::ranges::find(symbols, name.substr(1)) == symbols.end()) continue;
      taken[k] = true;
      out.push_back(preconditions_[k]);
      for (const std::string& s : symbols)
        if (const int more = symbol(s); std::ranges::find(parameters, more) == parameters.end())
          parameters.push_back(more);
    }
  }
  return out;
}

bool SetSpace::has_opaque() const {
  return std::ranges::any_of(parameters_, [](const std::string& name) { return name.starts_with("("); });
}

int SetSpace::parameter(const std::string& name) const {
  const auto at = std::ranges::find(parameters_, name);
  if (at != parameters_.end()) return static_cast<int>(at - parameters_.begin());
  parameters_.push_back(name);
  return static_cast<int>(parameters_.size()) - 1;
}

// ---- points

Points::Points(isl_set* set) : set_(set, [](isl_set* s) { isl_set_free(s); }) {
  if (set == nullptr) give_up();
}

int Points::rank() const { return count(isl_set_dim(get(), isl_dim_set)); }
bool Points::is_empty() const { return answer(isl_set_is_empty(get())); }
bool Points::operator==(const Points& other) const { return answer(isl_set_is_equal(get(), other.get())); }
bool Points::is_subset_of(const Points& other) const { return answer(isl_set_is_subset(get(), other.get())); }
Points Points::operator&(const Points& other) const {
  return Points(isl_set_intersect(isl_set_copy(get()), isl_set_copy(other.get())));
}
Points Points::operator|(const Points& other) const {
  return Points(isl_set_union(isl_set_copy(get()), isl_set_copy(other.get())));
}
Points Points::operator-(const Points& other) const {
  return Points(isl_set_subtract(isl_set_copy(get()), isl_set_copy(other.get())));
}
Points Points::coalesce() const { return Points(isl_set_coalesce(isl_set_copy(get()))); }
Points Points::first(int n) const {
  return Points(
      isl_set_project_out(isl_set_copy(get()), isl_dim_set, unsigned_of(n), unsigned_of(rank() - n)));
}
std::string Points::text() const { return taken_text(isl_set_to_str(get())); }

// ---- relations

Relation::Relation(isl_map* map) : map_(map, [](isl_map* m) { isl_map_free(m); }) {
  if (map == nullptr) give_up();
}

int Relation::in() const { return count(isl_map_dim(get(), isl_dim_in)); }
int Relation::out() const { return count(isl_map_dim(get(), isl_dim_out)); }
bool Relation::is_empty() const { return answer(isl_map_is_empty(get())); }
bool Relation::operator==(const Relation& other) const {
  return answer(isl_map_is_equal(get(), other.get()));
}
bool Relation::same_form(const Relation& other) const {
  return answer(isl_map_plain_is_equal(get(), other.get()));
}
std::uint32_t Relation::hash() const { return isl_map_get_hash(get()); }
Points Relation::domain() const { return Points(isl_map_domain(isl_map_copy(get()))); }
Points Relation::range() const { return Points(isl_map_range(isl_map_copy(get()))); }
Relation Relation::on(const Points& domain) const {
  return Relation(isl_map_intersect_domain(isl_map_copy(get()), isl_set_copy(domain.get())));
}
Relation Relation::into(const Points& range) const {
  return Relation(isl_map_intersect_range(isl_map_copy(get()), isl_set_copy(range.get())));
}
Relation Relation::inverse() const { return Relation(isl_map_reverse(isl_map_copy(get()))); }
Relation Relation::then(const Relation& next) const {
  return Relation(isl_map_apply_range(isl_map_copy(get()), isl_map_copy(next.get())));
}
Relation Relation::beside(const Relation& next) const {
  return Relation(isl_map_flat_range_product(isl_map_copy(get()), isl_map_copy(next.get())));
}
Relation Relation::cross(const Relation& next) const {
  return Relation(isl_map_flat_product(isl_map_copy(get()), isl_map_copy(next.get())));
}
Relation Relation::smallest() const { return Relation(isl_map_lexmin(isl_map_copy(get()))); }
Relation Relation::largest() const { return Relation(isl_map_lexmax(isl_map_copy(get()))); }

Relation Relation::hull() const {
  return Relation(isl_map_from_basic_map(isl_map_affine_hull(isl_map_copy(get()))));
}

Relation Relation::permute(const std::vector<int>& order) const {
  const int n = out();
  ISOMER_CHECK(static_cast<int>(order.size()) == n);
  // Append the dimensions in the new order behind the old ones, equated, then forget the old.
  isl_map* map = isl_map_add_dims(isl_map_copy(get()), isl_dim_out, unsigned_of(n));
  for (int i = 0; i < n; ++i)
    map = isl_map_equate(map, isl_dim_out, order[static_cast<std::size_t>(i)], isl_dim_out, n + i);
  return Relation(isl_map_project_out(map, isl_dim_out, 0, unsigned_of(n)));
}

Relation Relation::outs(int first, int n) const {
  isl_map* map = isl_map_project_out(isl_map_copy(get()), isl_dim_out, unsigned_of(first + n),
                                     unsigned_of(out() - first - n));
  return Relation(isl_map_project_out(map, isl_dim_out, 0, unsigned_of(first)));
}
Relation Relation::ins(int n) const {
  return Relation(
      isl_map_project_out(isl_map_copy(get()), isl_dim_in, unsigned_of(n), unsigned_of(in() - n)));
}
Relation Relation::moved_in(int n) const {
  return Relation(
      isl_map_move_dims(isl_map_copy(get()), isl_dim_in, unsigned_of(in()), isl_dim_out, 0, unsigned_of(n)));
}
Relation Relation::moved_out(int n) const {
  return Relation(isl_map_move_dims(isl_map_copy(get()), isl_dim_out, 0, isl_dim_in, unsigned_of(in() - n),
                                    unsigned_of(n)));
}
Relation Relation::fixed_in(int dim, std::int64_t v) const {
  return Relation(isl_map_fix_val(isl_map_copy(get()), isl_dim_in, unsigned_of(dim),
                                  value(isl_map_get_ctx(get()), v)))
      .without_in(dim);
}
Relation Relation::without_in(int dim) const {
  return Relation(isl_map_project_out(isl_map_copy(get()), isl_dim_in, unsigned_of(dim), 1));
}
Relation Relation::with_in(int dim) const {
  return Relation(isl_map_insert_dims(isl_map_copy(get()), isl_dim_in, unsigned_of(dim), 1));
}
Relation Relation::ins_from_rest(int first) const {
  const int outs = out(), moved = in() - first;
  isl_map* map = isl_map_move_dims(isl_map_copy(get()), isl_dim_out, unsigned_of(outs), isl_dim_in,
                                   unsigned_of(first), unsigned_of(moved));
  return Relation(isl_map_move_dims(map, isl_dim_in, unsigned_of(first), isl_dim_out, 0, unsigned_of(outs)));
}
Relation Relation::operator&(const Relation& other) const {
  return Relation(isl_map_intersect(isl_map_copy(get()), isl_map_copy(other.get())));
}
Relation Relation::operator|(const Relation& other) const {
  return Relation(isl_map_union(isl_map_copy(get()), isl_map_copy(other.get())));
}
Relation Relation::operator-(const Relation& other) const {
  return Relation(isl_map_subtract(isl_map_copy(get()), isl_map_copy(other.get())));
}
Relation Relation::coalesce() const { return Relation(isl_map_coalesce(isl_map_copy(get()))); }
bool Relation::is_function() const { return answer(isl_map_is_single_valued(get())); }
bool Relation::is_injective() const { return answer(isl_map_is_injective(get())); }
std::string Relation::text() const { return taken_text(isl_map_to_str(get())); }

// ---- building

struct RelationBuilder::Affine {
  explicit Affine(isl_aff* a) : aff(a, isl_aff_free) {
    if (a == nullptr) give_up();
  }
  isl_aff* take() { return aff.release(); }
  std::unique_ptr<isl_aff, isl_aff* (*)(isl_aff*)> aff;
};

RelationBuilder::RelationBuilder(const SetSpace& space, int in, int out, int hidden)
    : space_(space), in_(in), out_(out), hidden_(hidden) {
  set_ = std::shared_ptr<isl_set>(isl_set_universe(dims()), [](isl_set* s) { isl_set_free(s); });
  if (!set_) give_up();
}

RelationBuilder::~RelationBuilder() = default;

void RelationBuilder::name_axis(const Axis& axis, int dim) { dims_[axis.id] = dim; }

void RelationBuilder::constrain(Affine affine, bool equality) {
  isl_aff* left = affine.take();
  isl_set* part = nullptr;
  if (equality) {
    part = isl_set_from_basic_set(isl_aff_zero_basic_set(left));
  } else {
    isl_aff* zero = isl_aff_zero_on_domain(isl_aff_get_domain_local_space(left));
    part = isl_set_from_basic_set(isl_aff_ge_basic_set(left, zero));
  }
  isl_set* all = isl_set_intersect(isl_set_copy(set_.get()), part);
  if (all == nullptr) give_up();
  set_ = std::shared_ptr<isl_set>(all, [](isl_set* s) { isl_set_free(s); });
}

RelationBuilder::Affine RelationBuilder::of_dim(int dim) const {
  return Affine(isl_aff_var_on_domain(isl_local_space_from_space(dims()), isl_dim_set, unsigned_of(dim)));
}

int RelationBuilder::parameter_of(const Dim::Summand& summand) const {
  using Kind = Dim::Factor::Kind;
  if (summand.factors.size() == 1 && summand.factors[0].kind == Kind::Symbol)
    return space_.symbol(summand.factors[0].symbol);
  Dim monomial = 1;
  for (const Dim::Factor& f : summand.factors) {
    switch (f.kind) {
      case Kind::Symbol: monomial = monomial * Dim::symbol(f.symbol); break;
      case Kind::Floor: monomial = monomial * Dim::floor(f.a, f.b); break;
      case Kind::Max: monomial = monomial * Dim::max(f.a, f.b); break;
      case Kind::Min: monomial = monomial * Dim::min(f.a, f.b); break;
    }
  }
  return space_.opaque(monomial);
}

isl_space* RelationBuilder::dims() const { return set_space(space_, parameters_, in_ + out_ + hidden_); }

int RelationBuilder::place_of(int parameter) const {
  const auto at = std::ranges::find(parameters_, parameter);
  ISOMER_CHECK(at != parameters_.end());
  return static_cast<int>(at - parameters_.begin());
}

void RelationBuilder::learn(const Dim& dim) {
  if (dim.is_concrete()) return;
  for (const Dim::Summand& s : dim.summands()) {
    if (s.factors.empty()) continue;
    if (is_affine_floor(s)) {
      learn(s.factors[0].a);
      continue;
    }
    const int parameter = parameter_of(s);
    if (std::ranges::find(parameters_, parameter) == parameters_.end()) parameters_.push_back(parameter);
  }
}

void RelationBuilder::learn(const Index& index) {
  learn(index.offset());
  for (const Index::Term& t : index.terms())
    if (t.atom.kind != Index::AtomKind::Axis) learn(*t.atom.inner);
}

RelationBuilder::Affine RelationBuilder::affine(const Dim& dim) const {
  isl_ctx* context = space_.context();
  isl_aff* sum = isl_aff_zero_on_domain(isl_local_space_from_space(dims()));
  if (dim.is_concrete()) return Affine(isl_aff_add_constant_val(sum, value(context, dim.concrete())));
  for (const Dim::Summand& s : dim.summands()) {
    if (s.factors.empty()) {
      sum = isl_aff_add_constant_val(sum, value(context, s.coefficient));
      continue;
    }
    if (!is_affine_floor(s)) {
      sum = isl_aff_add_coefficient_val(sum, isl_dim_param, place_of(parameter_of(s)),
                                        value(context, s.coefficient));
      continue;
    }
    const Dim::Factor& f = s.factors[0];
    Affine inner = affine(f.a);
    isl_aff* floor = isl_aff_floor(isl_aff_scale_down_val(inner.take(), value(context, f.b.concrete())));
    sum = isl_aff_add(sum, isl_aff_scale_val(floor, value(context, s.coefficient)));
  }
  return Affine(sum);
}

RelationBuilder::Affine RelationBuilder::affine(const Index& index) const {
  isl_ctx* context = space_.context();
  Affine out = affine(index.offset());
  for (const Index::Term& t : index.terms()) {
    if (!t.scale.is_concrete())
      throw Undecided(fmt::format("the index {} has a symbolic scale", index.text()));
    isl_aff* atom = nullptr;
    if (t.atom.kind == Index::AtomKind::Axis) {
      const auto at = dims_.find(t.atom.axis.id);
      ISOMER_CHECK(at != dims_.end(), "an axis that this relation does not know");
      atom = of_dim(at->second).take();
    } else {
      if (!t.atom.divisor.is_concrete())
        throw Undecided(fmt::format("the index {} divides by a symbol", index.text()));
      Affine inner = affine(*t.atom.inner);
      isl_val* divisor = value(context, t.atom.divisor.concrete());
      if (t.atom.kind == Index::AtomKind::Floor)
        atom = isl_aff_floor(isl_aff_scale_down_val(inner.take(), divisor));
      else atom = isl_aff_mod_val(inner.take(), divisor);
    }
    out = Affine(isl_aff_add(out.take(), isl_aff_scale_val(atom, value(context, t.scale.concrete()))));
  }
  return out;
}

void RelationBuilder::inside(int dim, const Dim& extent) {
  learn(extent);
  constrain(of_dim(dim), false);
  Affine last = affine(extent - Dim(1));
  constrain(Affine(isl_aff_sub(last.take(), of_dim(dim).take())), false);
}

void RelationBuilder::equal(int dim, const Index& index) {
  learn(index);
  Affine right = affine(index);
  constrain(Affine(isl_aff_sub(of_dim(dim).take(), right.take())), true);
}

void RelationBuilder::hold(const Domain& conditions) {
  std::vector<bool> done(conditions.size(), false);
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    if (done[i]) continue;
    // a >= 0 and -a >= 0 is an equality.
    const Index minus = Dim(-1) * conditions[i];
    bool equality = false;
    for (std::size_t j = i + 1; j < conditions.size() && !equality; ++j)
      if (!done[j] && conditions[j] == minus) done[j] = equality = true;
    learn(conditions[i]);
    constrain(affine(conditions[i]), equality);
  }
}

void RelationBuilder::hold_all_preconditions() {
  for (const Dim& d : space_.preconditions()) {
    learn(d);
    constrain(affine(d), false);
  }
}

void RelationBuilder::hold_preconditions() {
  for (const Dim& d : space_.preconditions_of(parameters_)) {
    learn(d);
    constrain(affine(d), false);
  }
}

Relation RelationBuilder::finish() {
  hold_preconditions();
  isl_set* set = isl_set_project_out(isl_set_copy(set_.get()), isl_dim_set, unsigned_of(in_ + out_),
                                     unsigned_of(hidden_));
  isl_map* map = isl_map_from_range(set);
  return Relation(isl_map_move_dims(map, isl_dim_in, 0, isl_dim_out, 0, unsigned_of(in_)));
}

Relation RelationBuilder::finish_with_hidden_in() {
  hold_preconditions();
  isl_map* map = isl_map_from_range(isl_set_copy(set_.get()));
  map = isl_map_move_dims(map, isl_dim_in, 0, isl_dim_out, 0, unsigned_of(in_));
  return Relation(isl_map_move_dims(map, isl_dim_in, unsigned_of(in_), isl_dim_out, unsigned_of(out_),
                                    unsigned_of(hidden_)));
}

Points box(const SetSpace& space, const Dims& extents) {
  const int rank = static_cast<int>(extents.size());
  RelationBuilder builder(space, rank, 0, 0);
  for (int i = 0; i < rank; ++i) builder.inside(i, extents[static_cast<std::size_t>(i)]);
  // Also of sizes that no extent mentions: positions at sizes that do not occur would be cases of their own.
  builder.hold_all_preconditions();
  return builder.finish().domain();
}

Relation identity_on(const Points& points) { return Relation(isl_set_identity(isl_set_copy(points.get()))); }

Relation identity(const SetSpace& space, int rank) {
  return Relation(isl_map_identity(isl_space_map_from_set(set_space(space, {}, rank))));
}

Relation to_nothing(const Points& points) {
  isl_map* map = isl_map_from_domain(isl_set_copy(points.get()));
  return Relation(map);
}

}  // namespace isomer
