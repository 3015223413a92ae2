#include "io/npz/npz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "base/hash.h"
#include "io/npz/npy.h"

namespace isomer {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Npz : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "isomer_npz_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  void TearDown() override { fs::remove_all(directory_); }

  fs::path file(const std::string& name) const { return directory_ / name; }
  static std::string bytes_of(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void put(const fs::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

  fs::path directory_;
};

// An npy file in memory: version, header text and data as given.
Result<Tensor> parse(const std::string& header, const std::string& data, int version = 1) {
  std::string bytes("\x93NUMPY", 6);
  bytes += {static_cast<char>(version), 0};
  for (int shift = 0; shift < (version == 1 ? 16 : 32); shift += 8)
    bytes += static_cast<char>(header.size() >> shift & 0xff);
  bytes += header + data;
  std::size_t at = 0;
  return read_npy(
      [&](void* into, std::size_t size) -> Status {
        if (size > bytes.size() - at) return Error{"past the end"};
        std::memcpy(into, bytes.data() + at, size);
        at += size;
        return Done{};
      },
      bytes.size());
}

std::string header(const std::string& dtype, const std::string& shape, const std::string& order = "False") {
  return "{'descr': '" + dtype + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

constexpr ElementType kTypes[] = {ElementType::Float,    ElementType::Double, ElementType::Float16,
                                  ElementType::BFloat16, ElementType::Int8,   ElementType::Int16,
                                  ElementType::Int32,    ElementType::Int64,  ElementType::Uint8,
                                  ElementType::Uint16,   ElementType::Uint32, ElementType::Uint64,
                                  ElementType::Bool};

NamedTensors samples() {
  NamedTensors tensors;
  for (const ElementType type : kTypes)
    for (const Extents& extents : {Extents{}, Extents{3}, Extents{2, 0, 3}, Extents{2, 3, 4}}) {
      Buffer data(*byte_size(type, extents));
      for (std::size_t i = 0; i < data.size(); ++i)
        data.data()[i] = static_cast<std::byte>(type == ElementType::Bool ? i % 2 : mix(i));
      tensors.emplace(std::string(name(type)) + "/" + std::to_string(tensors.size()),
                      Tensor(type, extents, std::move(data).freeze()));
    }
  return tensors;
}

TEST_F(Npz, ReadsBackWhatItWrote) {
  const NamedTensors tensors = samples();
  ASSERT_TRUE(write_npz(tensors, file("a.npz")).ok());
  const auto back = read_npz(file("a.npz"));
  ASSERT_TRUE(back.ok()) << back.error().message;
  ASSERT_EQ(back->size(), tensors.size());
  for (const auto& [name, tensor] : tensors) EXPECT_TRUE(back->at(name).same_bits(tensor)) << name;
}

TEST_F(Npz, WritesEqualBytesForEqualTensorsAndLeavesNothingElse) {
  ASSERT_TRUE(write_npz(samples(), file("a.npz")).ok());
  ASSERT_TRUE(write_npz(samples(), file("b.npz")).ok());
  EXPECT_EQ(bytes_of(file("a.npz")), bytes_of(file("b.npz")));
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_), {}), 2);
}

TEST_F(Npz, ReplacesAnOlderFile) {
  put(file("a.npz"), "old");
  ASSERT_TRUE(write_npz(samples(), file("a.npz")).ok());
  EXPECT_TRUE(read_npz(file("a.npz")).ok());
}

TEST_F(Npz, NamesTheFileThatCannotBeWritten) {
  const auto status = write_npz(samples(), file("missing") / "a.npz");
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("missing/a.npz: "));
}

TEST_F(Npz, RefusesWhatIsNoArchive) {
  EXPECT_THAT(read_npz(file("none.npz")).error().message, HasSubstr("no such file"));
  EXPECT_THAT(read_npz(directory_).error().message, HasSubstr("not a regular file"));
  put(file("text.npz"), "hello");
  EXPECT_THAT(read_npz(file("text.npz")).error().message, HasSubstr("text.npz: "));
  put(file("empty.npz"), "");
  EXPECT_FALSE(read_npz(file("empty.npz")).ok());
}

// Any byte may be wrong: the answer is tensors or a message, never a crash, and memory stays in proportion.
TEST_F(Npz, SurvivesDamagedBytes) {
  ASSERT_TRUE(write_npz({{"x", Tensor::of<float>(ElementType::Float, {2, 3}, {1, 2, 3, 4, 5, 6})},
                         {"y", Tensor::of<std::int64_t>(ElementType::Int64, {2}, {7, 8})}},
                        file("a.npz"))
                  .ok());
  const std::string good = bytes_of(file("a.npz"));
  int refused = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    std::string bad = good;
    for (std::uint64_t change = 0; change <= seed % 4; ++change)
      bad[mix(seed * 8 + change) % bad.size()] = static_cast<char>(mix(seed * 8 + change + 4));
    if (seed % 5 == 0) bad.resize(mix(seed) % bad.size());
    put(file("bad.npz"), bad);
    const auto result = read_npz(file("bad.npz"));
    if (!result.ok()) {
      ++refused;
      EXPECT_THAT(result.error().message, HasSubstr("bad.npz: "));
    }
  }
  EXPECT_GT(refused,
            1000);  // checksums and sizes catch most; the rest changed what nothing depends on, dates for one
}

TEST(Npy, ReadsEveryVersionOfTheFormat) {
  const std::string data("\1\0\0\0\2\0\0\0", 8);
  for (const int version : {1, 2, 3}) {
    const auto tensor = parse(header("<i4", "(2,)"), data, version);
    ASSERT_TRUE(tensor.ok()) << tensor.error().message;
    EXPECT_THAT(tensor->as<std::int32_t>(), ::testing::ElementsAre(1, 2));
  }
  EXPECT_FALSE(parse(header("<i4", "(2,)"), data, 4).ok());
}

TEST(Npy, ReadsFortranOrder) {
  const auto tensor = parse(header("|u1", "(2, 3)", "True"), "\1\2\3\4\5\6");
  ASSERT_TRUE(tensor.ok());
  EXPECT_THAT(tensor->as<std::uint8_t>(), ::testing::ElementsAre(1, 3, 5, 2, 4, 6));
}

TEST(Npy, ReadsKeysInAnyOrderAndPythonTwosLongs) {
  const auto tensor = parse("{\"shape\": (1L, 2L), 'fortran_order': False, 'descr': '|i1'}", "\1\2");
  ASSERT_TRUE(tensor.ok()) << tensor.error().message;
  EXPECT_EQ(tensor->extents(), (Extents{1, 2}));
}

TEST(Npy, TakesTwoBytesWithoutMeaningForBFloat16) {
  for (const char* dtype : {"<V2", "|V2"})
    EXPECT_EQ(parse(header(dtype, "()"), "ab")->type(), ElementType::BFloat16);
}

TEST(Npy, StoresAnyNonzeroByteAsTrue) {
  const auto tensor = parse(header("|b1", "(3,)"), std::string("\0\1\xff", 3));
  ASSERT_TRUE(tensor.ok());
  EXPECT_THAT(tensor->as<std::uint8_t>(), ::testing::ElementsAre(0, 1, 1));
}

TEST(Npy, RefusesDtypesByName) {
  for (const char* dtype : {">f4", "|O", "<U3", "<f16", "<V1", "<m8", "", "<", "f4"}) {
    const auto tensor = parse(header(dtype, "(1,)"), "abcd");
    ASSERT_FALSE(tensor.ok()) << dtype;
    EXPECT_THAT(tensor.error().message, HasSubstr("'" + std::string(dtype) + "'"));
  }
  EXPECT_THAT(
      parse("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "abcd").error().message,
      HasSubstr("structured"));
}

TEST(Npy, RefusesShapesThatDoNotFitTheData) {
  for (const char* shape :
       {"(2,)", "(0,)", "(-1,)", "(4611686018427387904, 4)", "(9223372036854775807, 9223372036854775807)",
        "(99999999999999999999,)", "(1.5,)", "(1", "1", "(,)", "(1 1)"})
    EXPECT_FALSE(parse(header("<f4", shape), "abcd").ok()) << shape;
}

TEST(Npy, RefusesMalformedHeaders) {
  for (const char* text : {"", "{", "{}", "{'descr': '<f4'}", "{'descr': '<f4", "[]",
                           "{'shape': (), 'fortran_order': 1, 'descr': '<f4'}",
                           "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), } x",
                           "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}"})
    EXPECT_FALSE(parse(text, "abcd").ok()) << text;
}

}  // namespace
}  // namespace isomer
