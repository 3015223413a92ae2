#include "cli/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

namespace isomer::cli {
namespace {

constexpr std::size_t kPlainColumns = 80, kFewestColumns = 40;

bool is_colourful() {
  const char *no_colour = std::getenv("NO_COLOR"), *term = std::getenv("TERM");
  return is_terminal(STDOUT_FILENO) && (!no_colour || !*no_colour) &&
         !(term && std::string_view(term) == "dumb");
}

}  // namespace

bool is_terminal(int file) { return ::isatty(file) == 1; }

std::size_t columns_of(int file) {
  winsize size{};
  if (!is_terminal(file) || ::ioctl(file, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kPlainColumns;
  return size.ws_col < kFewestColumns ? kFewestColumns : size.ws_col;
}

std::string paint(std::string_view text, Colour colour) {
  if (!is_colourful()) return std::string(text);
  const int code = colour == Colour::Green ? 32 : colour == Colour::Yellow ? 33 : 31;
  return fmt::format("\x1b[1;{}m{}\x1b[0m", code, text);
}

}  // namespace isomer::cli
