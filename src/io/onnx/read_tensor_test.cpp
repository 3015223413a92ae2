#include "io/onnx/read_tensor.h"

#include <gmock/gmock.h>

#include "io/onnx/test_models.h"

namespace isomer::wire {
namespace {

using onnx::TensorProto;
using ::testing::HasSubstr;

TensorProto tensor_of(TensorProto::DataType type, const std::vector<std::int64_t>& dims) {
  TensorProto tensor;
  tensor.set_name("w");
  tensor.set_data_type(type);
  for (const std::int64_t dim : dims) tensor.add_dims(dim);
  return tensor;
}

std::string refusal_of(const TensorProto& tensor) {
  ExternalFiles files("/nonexistent");
  const auto result = read_tensor(tensor, {nullptr, &files});
  return result.ok() ? std::string() : result.error().message;
}

template <class T>
std::vector<T> elements_of(const TensorProto& tensor) {
  ExternalFiles files("/nonexistent");
  const auto result = read_tensor(tensor, {nullptr, &files});
  if (!result.ok()) {
    ADD_FAILURE() << result.error().message;
    return {};
  }
  return {result->as<T>().begin(), result->as<T>().end()};
}

TEST(ReadTensor, RefusesDimsThatNoMemoryHolds) {
  for (const auto& dims :
       std::vector<std::vector<std::int64_t>>{{-4},
                                              {std::int64_t{1} << 32, std::int64_t{1} << 32},
                                              {(std::int64_t{1} << 62) + 1, 4},
                                              {4, -1, 0}}) {
    TensorProto tensor = tensor_of(TensorProto::FLOAT, dims);
    tensor.set_raw_data(std::string(16, '\0'));
    EXPECT_THAT(refusal_of(tensor), HasSubstr("negative or whose product overflows"));
  }
  TensorProto tensor = tensor_of(TensorProto::FLOAT, {std::int64_t{1} << 40});
  EXPECT_THAT(refusal_of(tensor), HasSubstr("has no elements"));
  EXPECT_THAT(refusal_of(tensor_of(TensorProto::FLOAT, std::vector<std::int64_t>(65, 1))),
              HasSubstr("65 dims"));
}

TEST(ReadTensor, RefusesPayloadsOfAnotherSize) {
  for (const std::size_t size : {0u, 7u, 15u, 17u, 400u}) {
    TensorProto tensor = tensor_of(TensorProto::FLOAT, {4});
    tensor.set_raw_data(std::string(size, '\0'));
    EXPECT_THAT(refusal_of(tensor), HasSubstr("bytes where its dims need 16")) << size;
  }
  TensorProto packed = tensor_of(TensorProto::INT4, {1'000'001});
  packed.set_raw_data("\x12\x34");
  EXPECT_THAT(refusal_of(packed), HasSubstr("has 2 bytes where its dims need 500001"));
}

TEST(ReadTensor, RefusesTwoPayloads) {
  TensorProto tensor = tensor_of(TensorProto::FLOAT, {1});
  tensor.set_raw_data(std::string(4, '\0'));
  tensor.add_float_data(9);
  EXPECT_THAT(refusal_of(tensor), HasSubstr("more than one field"));
}

TEST(ReadTensor, RefusesTypesThatAreNone) {
  for (const int type : {0, -1, 29, 999}) {
    TensorProto tensor = tensor_of(TensorProto::FLOAT, {1});
    tensor.set_data_type(type);
    tensor.set_raw_data("abcd");
    EXPECT_THAT(refusal_of(tensor), HasSubstr("element type")) << type;
  }
}

TEST(ReadTensor, RefusesAFieldForOtherTypes) {
  TensorProto tensor = tensor_of(TensorProto::INT64, {1});
  tensor.add_float_data(1);
  EXPECT_THAT(refusal_of(tensor), HasSubstr("field for other types"));
  TensorProto text = tensor_of(TensorProto::STRING, {4});
  text.set_raw_data("abcd");
  EXPECT_THAT(refusal_of(text), HasSubstr("strings elsewhere"));
}

TEST(ReadTensor, NarrowsTypedFieldsAndRefusesWhatDoesNotFit) {
  const std::tuple<TensorProto::DataType, int, int> ranges[] = {
      {TensorProto::INT8, -128, 127},      {TensorProto::UINT8, 0, 255},
      {TensorProto::INT16, -32768, 32767}, {TensorProto::UINT16, 0, 65535},
      {TensorProto::BOOL, 0, 1},           {TensorProto::FLOAT16, 0, 65535},
      {TensorProto::FLOAT8E4M3FN, 0, 255}, {TensorProto::BFLOAT16, 0, 65535}};
  for (const auto& [type, low, high] : ranges) {
    for (const int value : {low, high}) {
      TensorProto tensor = tensor_of(type, {1});
      tensor.add_int32_data(value);
      EXPECT_EQ(refusal_of(tensor), "") << type << " " << value;
    }
    for (const int value : {low - 1, high + 1}) {
      TensorProto tensor = tensor_of(type, {1});
      tensor.add_int32_data(value);
      EXPECT_THAT(refusal_of(tensor), HasSubstr("out of its type's range")) << type << " " << value;
    }
  }
  TensorProto small = tensor_of(TensorProto::INT8, {2});
  small.add_int32_data(-5);
  small.add_int32_data(7);
  EXPECT_EQ(elements_of<std::int8_t>(small), (std::vector<std::int8_t>{-5, 7}));
  TensorProto wide = tensor_of(TensorProto::UINT32, {1});
  wide.add_uint64_data(std::uint64_t{1} << 32);
  EXPECT_THAT(refusal_of(wide), HasSubstr("out of its type's range"));
  wide.set_uint64_data(0, 4294967295u);
  EXPECT_EQ(elements_of<std::uint32_t>(wide), (std::vector<std::uint32_t>{4294967295u}));
}

TEST(ReadTensor, KeepsPackedTypesPacked) {
  TensorProto tensor = tensor_of(TensorProto::INT4, {3});
  tensor.add_int32_data(0x21);
  tensor.add_int32_data(0x03);
  ExternalFiles files("/nonexistent");
  const auto result = read_tensor(tensor, {nullptr, &files});
  ASSERT_TRUE(result.ok()) << result.error().message;
  ASSERT_EQ(result->bytes().size, 2u);
  EXPECT_EQ(result->bytes().data[0], std::byte{0x21});
}

TEST(ReadTensor, RefusesBoolsThatAreNeitherZeroNorOne) {
  TensorProto tensor = tensor_of(TensorProto::BOOL, {2});
  tensor.set_raw_data("\x01\x02");
  EXPECT_THAT(refusal_of(tensor), HasSubstr("neither 0 nor 1"));
}

TEST(ReadTensor, AliasesWhatHasTheRightLayout) {
  TensorProto raw = tensor_of(TensorProto::FLOAT, {4});
  raw.set_raw_data(std::string(16, '\0'));
  TensorProto typed = tensor_of(TensorProto::INT64, {2});
  typed.add_int64_data(1);
  typed.add_int64_data(2);
  ExternalFiles files("/nonexistent");
  EXPECT_EQ(read_tensor(raw, {nullptr, &files})->bytes().data,
            reinterpret_cast<const std::byte*>(raw.raw_data().data()));
  EXPECT_EQ(read_tensor(typed, {nullptr, &files})->bytes().data,
            reinterpret_cast<const std::byte*>(typed.int64_data().data()));
}

TEST(ReadTensor, TakesEmptyTensorsWithoutPayload) {
  EXPECT_EQ(refusal_of(tensor_of(TensorProto::FLOAT, {3, 0})), "");
  EXPECT_EQ(refusal_of(tensor_of(TensorProto::STRING, {0})), "");
}

TEST(ReadTensor, ReadsPairsForComplexNumbers) {
  TensorProto tensor = tensor_of(TensorProto::COMPLEX64, {2});
  for (const float part : {1.0f, 2.0f, 3.0f}) tensor.add_float_data(part);
  EXPECT_THAT(refusal_of(tensor), HasSubstr("has 12 bytes where its dims need 16"));
  tensor.add_float_data(4);
  EXPECT_EQ(refusal_of(tensor), "");
}

// ---- sparse ----

onnx::SparseTensorProto sparse(const std::vector<std::int64_t>& dims,
                               const std::vector<std::int64_t>& indices,
                               const std::vector<std::int64_t>& index_dims) {
  onnx::SparseTensorProto tensor;
  for (const std::int64_t dim : dims) tensor.add_dims(dim);
  *tensor.mutable_values() =
      float_tensor("w", std::vector<float>(static_cast<std::size_t>(index_dims[0]), 1.0f));
  *tensor.mutable_indices() = tensor_of(TensorProto::INT64, index_dims);
  for (const std::int64_t index : indices) tensor.mutable_indices()->add_int64_data(index);
  return tensor;
}

std::string refusal_of(const onnx::SparseTensorProto& tensor) {
  ExternalFiles files("/nonexistent");
  const auto result = check_sparse_tensor(tensor, {nullptr, &files});
  return result.ok() ? std::string() : result.error().message;
}

TEST(SparseTensor, HasAscendingIndicesInside) {
  EXPECT_EQ(refusal_of(sparse({2, 3}, {1, 5}, {2})), "");
  EXPECT_EQ(refusal_of(sparse({2, 3}, {0, 1, 1, 2}, {2, 2})), "");
  EXPECT_EQ(refusal_of(sparse({std::int64_t{1} << 18, std::int64_t{1} << 18}, {5}, {1})), "");
  EXPECT_THAT(refusal_of(sparse({2, 3}, {6}, {1})), HasSubstr("out of range"));
  EXPECT_THAT(refusal_of(sparse({2, 3}, {-1}, {1})), HasSubstr("out of range"));
  EXPECT_THAT(refusal_of(sparse({2, 3}, {0, 3}, {1, 2})), HasSubstr("out of range in axis 1"));
  EXPECT_THAT(refusal_of(sparse({2, 3}, {5, 1}, {2})), HasSubstr("do not ascend"));
  EXPECT_THAT(refusal_of(sparse({2, 3}, {1, 1}, {2})), HasSubstr("do not ascend"));
  EXPECT_THAT(refusal_of(sparse({2, 3}, {1, 1, 1}, {1, 3})), HasSubstr("needs int64 indices"));
  EXPECT_THAT(refusal_of(sparse({-2, 3}, {1}, {1})), HasSubstr("negative"));
  EXPECT_THAT(refusal_of(sparse({std::int64_t{1} << 40, std::int64_t{1} << 40}, {1}, {1})),
              HasSubstr("overflows"));
}

}  // namespace
}  // namespace isomer::wire
