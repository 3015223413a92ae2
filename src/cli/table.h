// Table: columns of text, aligned, for terminals and files alike.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace isomer::cli {

class Table {
 public:
  enum class Align : bool { Left, Right };
  struct Column {
    std::string title;
    Align align = Align::Left;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  static Table without_head(std::size_t columns) { return Table(std::vector<Column>(columns)); }
  // One cell per column. Cells come out as they are, so text from files goes through `printable` first.
  void add(std::vector<std::string> cells);
  // Every line ended, none with spaces at its end. In at most `columns` columns, if possible: cells of the
  // widest columns are cut, those of the last one continue on lines of their own.
  std::string text(std::size_t columns = kAnyWidth) const;
  static constexpr std::size_t kAnyWidth = static_cast<std::size_t>(-1);

 private:
  std::vector<std::size_t> widths(std::size_t columns) const;
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace isomer::cli
