// Tensor: an element type, concrete extents and the bytes of the elements, row-major, little-endian.
//
// The bytes may be owned, shared or mapped from a file; a Tensor is a cheap handle and never changes after it
// is made. Strings are kept as strings. No arithmetic here: that is formulas' work.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/check.h"
#include "model/expr/dim.h"
#include "model/expr/element_type.h"

namespace isomer {

// The one function that computes how many bytes a tensor takes; nullopt if an extent is negative or the size
// overflows.
std::optional<std::size_t> byte_size(ElementType type, const Extents& extents);
std::optional<std::int64_t> element_count(const Extents& extents);

// Read-only bytes and whatever keeps them alive.
struct Bytes {
  std::shared_ptr<const void> owner;
  const std::byte* data = nullptr;
  std::size_t size = 0;
  static Bytes copy_of(const void* data, std::size_t size);
};

// Zero-filled writable storage that becomes a Tensor's bytes.
class Buffer {
 public:
  explicit Buffer(std::size_t size);
  std::byte* data() { return data_.get(); }
  std::size_t size() const { return size_; }
  Bytes freeze() &&;

 private:
  std::shared_ptr<std::byte[]> data_;
  std::size_t size_;
};

class Tensor {
 public:
  Tensor() = default;
  Tensor(ElementType type, Extents extents, Bytes bytes);  // checks that the sizes agree
  Tensor(Extents extents, std::vector<std::string> strings);
  template <class T>
  static Tensor of(ElementType type, Extents extents, const std::vector<T>& values) {
    return {type, std::move(extents), Bytes::copy_of(values.data(), values.size() * sizeof(T))};
  }

  ElementType type() const { return type_; }
  const Extents& extents() const { return extents_; }
  int rank() const { return static_cast<int>(extents_.size()); }
  std::int64_t count() const { return count_; }
  const Bytes& bytes() const { return bytes_; }
  const std::vector<std::string>& strings() const { return *strings_; }
  // The elements as T, which must have the stored size (float16 as uint16_t).
  template <class T>
  std::span<const T> as() const {
    ISOMER_CHECK(static_cast<std::size_t>(count_) * sizeof(T) == bytes_.size);
    return {reinterpret_cast<const T*>(bytes_.data), static_cast<std::size_t>(count_)};
  }
  // Elements of any integer type or Bool, widened; nullopt for other types.
  std::optional<std::vector<std::int64_t>> integers() const;
  // Elements of any computable type as doubles (64-bit integers are rounded); nullopt for other types.
  std::optional<std::vector<double>> doubles() const;
  bool same_bits(const Tensor& other) const;
  // Whether all elements are one number, bit for bit; an empty tensor has none.
  bool is_uniform() const;
  // At most `most` elements; or at most the square of that with at most `most` different numbers: the matrix
  // of a transform, not weights.
  bool has_few_numbers(std::int64_t most) const;

 private:
  ElementType type_ = ElementType::Undefined;
  Extents extents_;
  std::int64_t count_ = 0;
  Bytes bytes_;
  std::shared_ptr<const std::vector<std::string>> strings_;
};

// Numbers of 16 bits: to float exactly, from float rounded to nearest even.
float float16_to_float(std::uint16_t bits);
std::uint16_t float_to_float16(float value);
float bfloat16_to_float(std::uint16_t bits);
std::uint16_t float_to_bfloat16(float value);

}  // namespace isomer
