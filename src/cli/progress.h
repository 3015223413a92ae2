// A line on stderr that tells what is going on, if a person looks: rewritten in place on a terminal, nothing
// elsewhere.
#pragma once

#include <cstdint>
#include <string_view>

namespace isomer::cli {

class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();  // takes the line away
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void show(std::string_view text);

 private:
  bool is_terminal_;
  bool is_shown_ = false;
  std::int64_t last_ns_ = 0;
};

}  // namespace isomer::cli
