#include "base/blake2b.h"

#include <gtest/gtest.h>

namespace isomer {
namespace {

std::string digest(const std::string& text) { return Blake2b().add(text.data(), text.size()).hex(); }

// As Python's hashlib.blake2b(text, digest_size=32) has them; the second is RFC 7693's text.
TEST(Blake2b, AgreesWithTheReference) {
  EXPECT_EQ(digest(""), "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
  EXPECT_EQ(digest("abc"), "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
  EXPECT_EQ(digest(std::string(128, 'a')),
            "ae2aa48507885c4c950fb809b2076f959cde9f8ea6da260d9a3587df33dac450");
  EXPECT_EQ(digest(std::string(129, 'a')),
            "2f64744a6de0d2c0b56e64cf6e29a5aaa255010d415d51c75ccc82f73dccd865");
}

TEST(Blake2b, DoesNotDependOnHowTheBytesCome) {
  std::string text;
  for (int i = 0; i < 2560; ++i) text.push_back(static_cast<char>(i % 256));
  EXPECT_EQ(digest(text), "cccd725d76965d874205c3b78297bda31912d5ac676b1bf124e4fc391e89f75b");
  for (const std::size_t part : {1u, 7u, 127u, 128u, 129u, 1000u}) {
    Blake2b hash;
    for (std::size_t at = 0; at < text.size(); at += part) {
      const std::string piece = text.substr(at, part);
      hash.add(piece.data(), piece.size());
    }
    EXPECT_EQ(hash.hex(), digest(text)) << part;
  }
}

}  // namespace
}  // namespace isomer
