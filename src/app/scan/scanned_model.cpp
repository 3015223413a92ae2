#include "app/scan/scanned_model.h"

#include <algorithm>
#include <string_view>

namespace isomer {
namespace {

// As a shell takes it for one word.
std::string quote(const std::string& text) {
  constexpr std::string_view kPlain = "/._-+@%:,=";
  const auto is_plain = [&](unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           kPlain.find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!text.empty() && std::ranges::all_of(text, is_plain)) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

}  // namespace

std::string optimize_command(const std::filesystem::path& model) {
  return "isomer optimize " + quote(model.string()) + " -o " + quote(model.stem().string() + ".fast.onnx");
}

}  // namespace isomer
