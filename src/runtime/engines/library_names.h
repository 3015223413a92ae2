// The names that a runtime's library knows, read from its bytes: of settings and of optimizers, which ONNX
// Runtime ignores silently if it does not know them.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace isomer {

class LibraryNames {
 public:
  // nullopt: the file can't be read, so its names are unknown.
  static std::optional<LibraryNames> of(const std::string& library);
  ~LibraryNames();
  LibraryNames(LibraryNames&& other) noexcept;
  LibraryNames& operator=(LibraryNames&&) = delete;

  bool has(const std::string& name) const;        // as a text of its own
  bool has_class(const std::string& name) const;  // that, or a class of this name
  std::vector<std::string> settings() const;      // texts such as "session.disable_prepacking"
  std::vector<std::string> optimizers() const;    // texts and classes such as "ConvBNFusion"

 private:
  LibraryNames(const char* data, std::size_t size) : data_(data), size_(size) {}
  template <class Take>
  void each_text(const Take& take) const;
  const char* data_;
  std::size_t size_;
};

}  // namespace isomer
