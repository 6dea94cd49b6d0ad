// Aligned text tables for people.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "loom/base/terminal.hpp"

namespace loom {

enum class Align { left, right };

struct Column {
    std::string title;
    Align align = Align::left;
};

struct Cell {
    std::string text;
    Colour colour = Colour::none;

    Cell(std::string t, Colour c = Colour::none) : text(std::move(t)), colour(c) {}
    Cell(const char* t, Colour c = Colour::none) : text(t), colour(c) {}
};

// Rows are kept as given; widths are found when the text is made. A row may be shorter than the
// header, never longer. Columns are two blanks apart; there are no frames, so that the output can be
// cut and sorted by other tools.
class Table {
public:
    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

    // Throws std::logic_error when there are more cells than columns.
    Table& row(std::vector<Cell> cells);

    [[nodiscard]] std::size_t rows() const { return rows_.size(); }

    // One line for the header and one for each row, no trailing blanks.
    [[nodiscard]] std::string text(bool colour = false) const;

    // To standard output, coloured when that is a terminal.
    void print() const;

private:
    std::vector<Column> columns_;
    std::vector<std::vector<Cell>> rows_;
};

// "1,728": digits in groups of three.
[[nodiscard]] std::string grouped(std::size_t number);

// "1 switch", "1,728 switches".
[[nodiscard]] std::string counted(std::size_t number, std::string_view one, std::string_view many);

// "12.3 ms", "1.24 s", "2 min 5 s": three digits, for people.
[[nodiscard]] std::string human_seconds(double seconds);

// "512 B", "1.5 KiB", "3.2 GiB".
[[nodiscard]] std::string human_bytes(std::size_t bytes);

}  // namespace loom
