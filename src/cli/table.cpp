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

std::vector<std::size_t> Table::widths(std::size_t columns) const {
  constexpr std::size_t kNarrowest = 10;
  std::vector<std::size_t> out;
  std::size_t all = 0;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t widest = width(columns_[i].title);
    for (const auto& row : rows_) widest = std::max(widest, width(row[i]));
    out.push_back(widest);
    all += 2 + widest;
  }
  while (all > columns) {
    const auto at = std::ranges::max_element(out);
    if (at == out.end() || *at <= kNarrowest) break;
    --*at;
    --all;
  }
  return out;
}

std::string Table::text(std::size_t columns) const {
  std::vector<std::string> titles;
  titles.reserve(columns_.size());
  for (const Column& column : columns_) titles.push_back(column.title);
  const bool has_head = std::ranges::any_of(titles, [](const std::string& title) { return !title.empty(); });
  const std::vector<std::size_t> widths = this->widths(columns);

  std::string result;
  const auto write = [&](const std::vector<std::string>& cells) {
    std::string line = "  ";
    std::size_t begin = 2;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const bool is_last = i + 1 == cells.size() && columns_[i].align == Align::Left;
      const std::string cell = is_last && columns != kAnyWidth
                                   ? wrapped(cells[i], begin + widths[i], begin, begin)
                                   : shortened(cells[i], widths[i]);
      const std::string padding(is_last ? 0 : widths[i] - width(cell), ' ');
      if (i > 0) line += "  ";
      line += columns_[i].align == Align::Right ? padding + cell : cell + padding;
      begin += widths[i] + 2;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    result += line + '\n';
  };
  if (has_head) write(titles);
  for (const auto& row : rows_) write(row);
  return result;
}

}  // namespace isomer::cli
