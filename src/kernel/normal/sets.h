// Sets of integer points and relations between them, with symbols as parameters: the interface to isl.
//
// No other file includes isl. A call that isl cannot answer (a quota, an overflow, a NULL, its third truth
// value "error") throws Undecided, so that no error of isl is ever taken for an answer. The budget counts
// isl's operations, not seconds, so that decisions are reproducible.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "model/expr/expr.h"
#include "model/expr/index.h"

struct isl_ctx;
struct isl_map;
struct isl_set;
struct isl_space;

namespace isomer {

// A question left open, and why. Thrown inside of the algebra; provers turn it into an answer.
class Undecided : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The isl context of one proof and the symbols that its sets may speak of.
class SetSpace {
 public:
  // Symbols are integers >= 0; `preconditions` says what else holds of them (each >= 0).
  SetSpace(const std::vector<std::string>& symbols, const Dims& preconditions, std::uint64_t most_operations);
  ~SetSpace();
  SetSpace(const SetSpace&) = delete;
  SetSpace& operator=(const SetSpace&) = delete;

  isl_ctx* context() const { return context_; }
  const std::vector<std::string>& parameters() const { return parameters_; }
  // The parameter of a symbol, and of a product, maximum or quotient of symbols that isn't affine: that is a
  // parameter of its own, of any value; what holds for every value of it holds for the one that it has.
  int symbol(const std::string& name) const { return parameter("$" + name); }
  int opaque(const Dim& dim) const { return parameter("(" + dim.text()); }
  // The constraints on these parameters and on all that are tied to them.
  Dims preconditions_of(std::vector<int> parameters) const;
  // Whether sets have opaque parameters: such a set may have more points than the real one.
  bool has_opaque() const;
  const Dims& preconditions() const { return preconditions_; }

 private:
  int parameter(const std::string& name) const;
  isl_ctx* context_;
  mutable std::vector<std::string> parameters_;
  Dims preconditions_;
};

// A set of points of one dimension count. A value: copies share.
class Points {
 public:
  explicit Points(isl_set* set);  // takes it; throws on NULL
  isl_set* get() const { return set_.get(); }

  int rank() const;
  bool is_empty() const;
  bool operator==(const Points& other) const;
  bool is_subset_of(const Points& other) const;
  Points operator&(const Points& other) const;
  Points operator|(const Points& other) const;
  Points operator-(const Points& other) const;
  Points coalesce() const;
  // The a of pairs (a, b): the last dimensions are projected out.
  Points first(int count) const;
  std::string text() const;

 private:
  std::shared_ptr<isl_set> set_;
};

// A set of pairs (a, b), a of in() and b of out() dimensions.
class Relation {
 public:
  explicit Relation(isl_map* map);  // takes it; throws on NULL
  isl_map* get() const { return map_.get(); }

  int in() const;
  int out() const;
  bool is_empty() const;
  bool operator==(const Relation& other) const;
  bool same_form(const Relation& other) const;  // equal as written: cheap, may miss
  std::uint32_t hash() const;                   // of the form
  Points domain() const;
  Points range() const;
  Relation on(const Points& domain) const;
  Relation into(const Points& range) const;
  Relation inverse() const;
  Relation then(const Relation& next) const;    // (a, c) with some b: (a, b) here and (b, c) in next
  Relation beside(const Relation& next) const;  // (a, (b, c)): (a, b) here and (a, c) in next
  Relation cross(const Relation& next) const;   // ((a, c), (b, d)): (a, b) here and (c, d) in next
  Relation smallest() const;                    // of each a, the lexicographically smallest b
  Relation largest() const;                     // and the largest
  Relation hull() const;                        // all that satisfies the same equalities
  Relation permute(const std::vector<int>& order) const;  // new out dimension i is the old order[i]
  Relation outs(int first, int count) const;              // only these out dimensions
  Relation ins(int count) const;                          // only the first in dimensions
  Relation moved_in(int count) const;   // the first out dimensions become the last in dimensions
  Relation moved_out(int count) const;  // the last in dimensions become the first out dimensions
  Relation fixed_in(int dim, std::int64_t value) const;  // and the dimension gone
  Relation without_in(int dim) const;
  Relation with_in(int dim) const;  // one more, of any value
  // ((a, b), c): the in dimensions from `first` on given by the others and the out dimensions.
  Relation ins_from_rest(int first) const;
  Relation operator&(const Relation& other) const;
  Relation operator|(const Relation& other) const;
  Relation operator-(const Relation& other) const;
  Relation coalesce() const;
  bool is_function() const;   // one b for each a
  bool is_injective() const;  // one a for each b
  std::string text() const;

 private:
  std::shared_ptr<isl_map> map_;
};

// Builds a relation out of quasi-affine conditions. Dimensions are numbered: in, then out, then hidden ones,
// which `finish` forgets.
class RelationBuilder {
 public:
  RelationBuilder(const SetSpace& space, int in, int out, int hidden);
  ~RelationBuilder();
  RelationBuilder(const RelationBuilder&) = delete;
  RelationBuilder& operator=(const RelationBuilder&) = delete;

  void name_axis(const Axis& axis, int dim);  // what an index calls this dimension
  void inside(int dim, const Dim& extent);    // 0 <= dim < extent
  void equal(int dim, const Index& index);
  void hold(const Domain& conditions);
  void hold_all_preconditions();
  Relation finish();
  Relation finish_with_hidden_in();  // (in, hidden) -> out

 private:
  struct Affine;
  int parameter_of(const Dim::Summand& summand) const;
  // Makes parameters of all that is named, so that the space stays the same while an expression is built.
  void learn(const Dim& dim);
  void learn(const Index& index);
  // A set has only the parameters that it depends on: superfluous ones make isl slow.
  int place_of(int parameter) const;
  isl_space* dims() const;
  void hold_preconditions();
  void constrain(Affine affine, bool equality);
  Affine affine(const Dim& dim) const;
  Affine affine(const Index& index) const;
  Affine of_dim(int dim) const;

  const SetSpace& space_;
  int in_, out_, hidden_;
  std::map<int, int> dims_;
  std::vector<int> parameters_;
  std::shared_ptr<isl_set> set_;
};

Points box(const SetSpace& space, const Dims& extents);
Relation identity_on(const Points& points);
Relation identity(const SetSpace& space, int rank);
Relation to_nothing(const Points& points);  // each point with the empty tuple

}  // namespace isomer
