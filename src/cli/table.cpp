#include "cli/table.h"

#include <algorithm>
#include <cstddef>

#include "base/check.h"
#include "cli/wording.h"

namespace isomer::cli {

void Table::add(std::vector<std::string> cells) {
  ISOMER_CHECK(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  const bool has_head = std::ranges::any_of(titles, [](const std::string& title) { return !title.empty(); });

  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t widest = width(titles[i]);
    for (const auto& row : rows_) widest = std::max(widest, width(row[i]));
    widths.push_back(widest);
  }

  std::string result;
  const auto write = [&](const std::vector<std::string>& cells) {
    std::string line = "  ";
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string padding(widths[i] - width(cells[i]), ' ');
      if (i > 0) line += "  ";
      line += columns_[i].align == Align::Right ? padding + cells[i] : cells[i] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    result += line + '\n';
  };
  if (has_head) write(titles);
  for (const auto& row : rows_) write(row);
  return result;
}

}  // namespace isomer::cli
