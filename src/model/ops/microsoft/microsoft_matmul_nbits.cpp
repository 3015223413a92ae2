// com.microsoft.MatMulNBits: y[..., n] = bias[n] + Σ_k a[..., k] · (q[n, k] - z[n, k / B]) · s[n, k / B]. The
// weight q has 2, 4 or 8 bits an element, several to a byte, low bits first, in blocks of B along k; so have
// its zero points, row by row, unless they are floats; if absent they are the middle, 2^(bits - 1). The
// accuracy level allows a runtime to round a: what is rounded is not said here, as everywhere.
#include "model/ops/shared/quantization.h"

namespace isomer::ops {
namespace {

struct Packing {
  std::int64_t rows = 0, inner = 0, block = 0, bits = 0;
  std::int64_t blocks() const { return (inner + block - 1) / block; }
  std::int64_t per_byte() const { return 8 / bits; }
};

Packing read_packing(const Call& call) {
  const Packing out{.rows = call.integer("N", 0),
                    .inner = call.integer("K", 0),
                    .block = call.integer("block_size", 0),
                    .bits = call.integer("bits", 4)};
  if (out.rows < 1 || out.inner < 1) throw IllegalCall("the weight has no elements", "N");
  if (out.bits != 2 && out.bits != 4 && out.bits != 8) throw IllegalCall("2, 4 or 8 bits", "bits");
  if (out.block < 16 || (out.block & (out.block - 1)) != 0)
    throw IllegalCall("blocks must be a power of 2 and at least 16", "block_size");
  return out;
}

// Reads a tensor with the same number of elements as if it had these extents.
Expr flat_at(const Call& call, const Composition::Tensor& x, const std::vector<Index>& at,
             const Dims& shape) {
  if (!call.may_equal(product(x.shape()), product(shape)))
    throw IllegalCall("a scale or zero point of another size");
  return x.at(x.shape() == shape ? at : delinearize(linearize(at, shape), x.shape()));
}

Definition define_matmul_nbits(const Call& call) {
  const Packing packing = read_packing(call);
  const ElementType type = call.type(0);
  if (!is_float(type) || call.type(2) != type || (call.has(5) && call.type(5) != type))
    return opaque("an input and scales of different types");
  if (call.type(1) != ElementType::Uint8) return opaque("weights that are not bytes");
  if (call.has(4)) return opaque("an order of the groups");
  if (call.integer("weight_prepacked", 0) != 0) return opaque("a weight in a layout of its own");
  Composition c(call);
  const auto w = c.f.input(1);
  const Dims bytes{packing.rows, packing.blocks(), packing.block / packing.per_byte()};
  if (w.rank() != 3) return invalid("the weight is of another rank");
  for (int i = 0; i < 3; ++i)
    if (!call.may_equal(w.extent(i), bytes[static_cast<std::size_t>(i)]))
      return invalid("the weight is of another shape");

  const auto p = c.f.axes({packing.inner, packing.rows});
  const Index k(p[0]), n(p[1]), block = Index::floor(k, packing.block);
  const Expr whole =
      unpack([&](const Index& at) { return w(n, block, at); }, Index::mod(k, packing.block), packing.bits);
  const Expr scale = flat_at(call, c.f.input(2), {n, block}, {packing.rows, packing.blocks()});
  Expr zero = number(type, static_cast<double>(1 << (packing.bits - 1)));
  if (call.has(3)) {
    const auto z = c.f.input(3);
    const Dim row = (packing.blocks() + packing.per_byte() - 1) / packing.per_byte();
    if (z.type() == ElementType::Uint8) {
      const auto byte = [&](const Index& at) { return flat_at(call, z, {n, at}, {packing.rows, row}); };
      zero = cast(unpack(byte, block, packing.bits), type);
    } else if (z.type() == type) {
      zero = flat_at(call, z, {n, block}, {packing.rows, packing.blocks()});
    } else {
      return opaque("zero points of another type");
    }
  }
  const auto weight = c.f.stage(p, (cast(whole, type) - zero) * scale);
  const auto product = c.of("MatMul", {c.input(0), weight});
  if (!call.has(5)) {
    c.output(product);
    return std::move(c.f).finish();
  }
  if (call.rank(5) != 1 || !call.may_equal(call.shape(5)[0], packing.rows))
    return invalid("the bias has not one value per column");
  const auto y = c.f.axes(product.shape());
  c.f.output(y, product.at(to_indices(y)) + c.f.input(5)(y.back()));
  return std::move(c.f).finish();
}

}  // namespace

extern const Operator kMicrosoftMatMulNBits{
    .name = "MatMulNBits",
    .doc = "y[..., n] = bias[n] + Σ a[..., k] · (q[n, k] - zero point) · scale, q of few bits in blocks",
    .define = define_matmul_nbits,
    .domain = "com.microsoft",
    .least_inputs = 3,
    .most_inputs = 6,
};

}  // namespace isomer::ops
