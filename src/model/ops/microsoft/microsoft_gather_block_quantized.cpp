// com.microsoft.GatherBlockQuantized: Gather of a tensor that is stored in 4 or 8 bits, several to a byte,
// low bits first, with a scale and a zero point for each block of its last axis. If there are no zero points
// they are the middle, 2^(bits - 1). The element at an index outside of the axis is zero.
#include "model/ops/shared/look_up.h"
#include "model/ops/shared/quantization.h"

namespace isomer::ops {
namespace {

Definition define_gather_block_quantized(const Call& call) {
  if (call.type(0) != ElementType::Uint8) return opaque("elements that are not packed into bytes");
  if (!is_index_type(call.type(1))) return invalid("indices of another type");
  const ElementType type = call.type(2);
  if (!is_float(type)) return opaque("scales that are not floats");
  const std::int64_t bits = call.integer("bits", 4), block = call.integer("block_size", 128);
  if (bits != 4 && bits != 8) return opaque("neither 4 nor 8 bits");
  if (block < 16 || (block & (block - 1)) != 0)
    return invalid("blocks must be a power of 2 and at least 16", "block_size");
  const int rank = call.rank(0);
  const auto along = normalize_axis(call.integer("gather_axis", 0), rank);
  const auto blocked = normalize_axis(call.integer("quantize_axis", 1), rank);
  if (!along || !blocked) return invalid("an axis is outside of the input's rank", "gather_axis");
  if (*blocked != rank - 1 || *along == rank - 1) return opaque("blocks along another axis than the last");
  const std::int64_t each = 8 / bits;
  Composition c(call);
  const auto x = c.f.input(0), scales = c.f.input(2);
  Dims shape = x.shape();
  shape.back() = shape.back() * Dim(each);
  const Dim blocks = Dim::ceil(shape.back(), block);
  const auto fits = [&](const Composition::Tensor& parameter, const Dim& last) {
    for (int i = 0; i < rank; ++i)
      if (parameter.rank() != rank || !call.may_equal(parameter.extent(i), i + 1 < rank ? x.extent(i) : last))
        throw OpaqueCall("a scale or zero point of another shape");
  };
  fits(scales, blocks);
  if (call.has(3)) fits(c.f.input(3), Dim::ceil(blocks, each));
  const auto p = c.f.axes(shape);
  auto at = to_indices(p);
  const auto byte_of = [&](const Composition::Tensor& from) {
    return [&](const Index& last) {
      auto place = at;
      place.back() = last;
      return from.at(place);
    };
  };
  const Index within = at.back();
  Expr zero = number(type, static_cast<double>(1 << (bits - 1)));
  if (call.has(3)) {
    const auto zeros = c.f.input(3);
    zero = cast(unpack(byte_of(zeros), Index::floor(within, block), bits), type);
  }
  const Expr value =
      (cast(unpack(byte_of(x), within, bits), type) - zero) * byte_of(scales)(Index::floor(within, block));
  const auto table = c.f.stage(p, value);

  const auto indices = c.f.input(1);
  const auto a = static_cast<std::ptrdiff_t>(*along);
  Dims out(shape.begin(), shape.begin() + a);
  out.insert(out.end(), indices.shape().begin(), indices.shape().end());
  out.insert(out.end(), shape.begin() + a + 1, shape.end());
  const auto q = c.f.axes(out);
  const auto all = to_indices(q);
  const std::vector<Index> chosen(all.begin() + a, all.begin() + a + indices.rank());
  const Expr index = wrapped_index(indices.at(chosen), shape[static_cast<std::size_t>(a)]);
  c.f.output(q, look_up_or_zero(c.f, index, shape[static_cast<std::size_t>(a)], [&](const Index& v) {
               std::vector<Index> place(all.begin(), all.begin() + a);
               place.push_back(v);
               place.insert(place.end(), all.begin() + a + indices.rank(), all.end());
               return table.at(place);
             }));
  return std::move(c.f).finish();
}

}  // namespace

extern const Operator kMicrosoftGatherBlockQuantized{
    .name = "GatherBlockQuantized",
    .doc = "y = Gather of (q - zero point) · scale, q of few bits in blocks",
    .define = define_gather_block_quantized,
    .domain = "com.microsoft",
    .least_inputs = 3,
    .most_inputs = 4,
};

}  // namespace isomer::ops
