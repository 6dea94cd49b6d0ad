#include "loom/base/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>

namespace loom {

Table& Table::row(std::vector<Cell> cells) {
    if (cells.size() > columns_.size()) throw std::logic_error("table row has more cells than columns");
    rows_.push_back(std::move(cells));
    return *this;
}

std::string Table::text(bool colour) const {
    std::vector<std::size_t> widths;
    for (const Column& column : columns_) widths.push_back(display_width(column.title));
    for (const auto& row : rows_)
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i].text));

    std::string out;
    const auto line = [&](const std::vector<Cell>& cells) {
        std::size_t blanks = 0;  // written only once something follows them
        for (std::size_t i = 0; i < cells.size(); ++i) {
            const std::size_t padding = widths[i] - display_width(cells[i].text);
            if (columns_[i].align == Align::right) blanks += padding;
            if (!cells[i].text.empty()) {
                out.append(blanks, ' ');
                blanks = 0;
                out += paint(cells[i].text, cells[i].colour, colour);
            }
            if (columns_[i].align == Align::left) blanks += padding;
            blanks += 2;
        }
        out += '\n';
    };
    std::vector<Cell> header;
    for (const Column& column : columns_) header.emplace_back(column.title, Colour::bold);
    line(header);
    for (const auto& row : rows_) line(row);
    return out;
}

void Table::print() const {
    const std::string all = text(wants_colour(Stream::out));
    std::fwrite(all.data(), 1, all.size(), stdout);
}

std::string grouped(std::size_t number) {
    std::string digits = std::to_string(number);
    for (std::size_t at = digits.size(); at > 3;) {
        at -= 3;
        digits.insert(at, 1, ',');
    }
    return digits;
}

std::string counted(std::size_t number, std::string_view one, std::string_view many) {
    return (grouped(number) + ' ').append(number == 1 ? one : many);
}

std::string human_seconds(double seconds) {
    if (!(seconds >= 0)) return "?";
    if (seconds < 0.9995e-3) return fmt::format("{:.3g} us", seconds * 1e6);
    if (seconds < 0.9995) return fmt::format("{:.3g} ms", seconds * 1e3);
    if (seconds < 99.95) return fmt::format("{:.3g} s", seconds);
    const auto whole = static_cast<std::size_t>(std::lround(seconds));
    return fmt::format("{} min {} s", whole / 60, whole % 60);
}

std::string human_bytes(std::size_t bytes) {
    static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = static_cast<double>(bytes);
    std::size_t unit = 0;
    while (value >= 1023.5 && unit + 1 < std::size(units)) {
        value /= 1024;
        ++unit;
    }
    return unit == 0 || value >= 99.95 ? fmt::format("{:.0f} {}", value, units[unit])
                                       : fmt::format("{:.1f} {}", value, units[unit]);
}

}  // namespace loom
