// Parts of the proposer `structure` in separate files: each examines one sum of products with a constant
// whose bytes have structure.
#pragma once

#include "optimizer/facts/constant_structure.h"
#include "optimizer/facts/product_sum.h"

namespace isomer {

// Larger weights are mapped, and stay so: a proof would copy them.
constexpr std::int64_t kMostWeights = std::int64_t{1} << 24;

// A claim about one sum of products: the new program, and what it takes the constant for.
class StructureClaim {
 public:
  StructureClaim(const Site& site, const ProductSum& product)
      : after(site.graph, site.name({product.id, 0})),
        fact(site.graph, site.name({product.id, 0})),
        site_(site),
        product_(product) {}

  ProgramBuilder after, fact;

  Value x() { return after.input(site_.name(product_.x)); }
  Value constant(ProgramBuilder& program) { return program.input(site_.name(product_.constant)); }
  // The call itself, of other values, without what it adds.
  Value call(Value x, Value constant, const Attributes* attributes = nullptr);
  Value with_bias(Value y);
  Value bias() { return after.input(site_.name(product_.bias)); }
  // `stated`: of the fact's program.
  std::optional<Proposal> finish(const std::string& what, Value y, Value stated);

 private:
  const Site& site_;
  const ProductSum& product_;
};

// The shape with these extents in place of one, for Reshape; nullopt: named extents leave it open.
std::optional<std::vector<std::int64_t>> shape_with(const Dims& shape, std::size_t axis,
                                                    const std::vector<std::int64_t>& parts);
// Rows of this number of columns with the axes of the rows of x, whose shape is given. With several named
// extents that takes opset 14.
Value with_rows_of(ProgramBuilder& b, Value rows, Value x, const Dims& shape, std::int64_t columns);
// The unit matrix over `classes` classes, as a mask over axes [classes, .., classes, ..] of this rank.
Value same_class(ProgramBuilder& b, std::int64_t classes, std::size_t rank);

// Slices that are zero: neither read nor multiplied. Slices that are equal: multiplied once.
void propose_fewer_slices(const Site& site, const ProductSum& product, const ConstantStructure& structure,
                          Proposals& out);
// Removes channels that are zero when they are summed, or that meet zeros there. For a whole graph.
void propose_fewer_channels(const Site& site, Proposals& out);
// Blocks along a diagonal: groups of a convolution, or a batch of matrices.
void propose_blocks(const Site& site, const ProductSum& product, const ConstantStructure& structure,
                    Proposals& out);
// One number per column: a slice, a permutation, a look-up, a factor; a triangle of ones: running sums.
// False: none of these.
bool propose_selection(const Site& site, const ProductSum& product, const ConstantStructure& structure,
                       Proposals& out);
// Kernels of one number each: parts of the activation, shifted and strided. False: they are not.
bool propose_shifts(const Site& site, const ProductSum& product, const ConstantStructure& structure,
                    Proposals& out);
// A matrix that is a band of equal diagonals, as a convolution.
void propose_band(const Site& site, const ProductSum& product, const ConstantStructure& structure,
                  Proposals& out);
// Kernels of one number as means of windows, kernels that are products as two convolutions.
void propose_kernels(const Site& site, const ProductSum& product, const ConstantStructure& structure,
                     Proposals& out);

}  // namespace isomer
