// A paper's table beside ours: rows of numbers, one rule a column, one verdict.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "loom/base/svg.hpp"

namespace loom::reproduce {

// When a number of ours agrees with the paper's. One rule holds for all rows of a column.
struct Rule {
    enum class Kind : unsigned char {
        shown,     // not judged: depends on what the paper does not say
        absolute,  // |ours - paper| <= tolerance
        relative,  // |ours - paper| <= tolerance * paper
        at_most,   // ours <= paper + tolerance
    };
    Kind kind = Kind::shown;
    double tolerance = 0;

    [[nodiscard]] bool agrees(double paper, double ours) const;
    // "equal", "within 0.05", "within 10 %", "at most", "shown".
    [[nodiscard]] std::string text() const;
};

inline constexpr Rule shown{Rule::Kind::shown, 0};
// Integers that must be the same, with room for the last bits of a sum.
inline constexpr Rule equal{Rule::Kind::absolute, 1e-9};
// A value printed with so many decimals, rounded or cut off.
[[nodiscard]] Rule printed(int decimals);

struct Column {
    std::string name;
    Rule rule;
    int decimals = 0;  // to print
};

struct Value {
    std::optional<double> paper;  // none: the paper has no number here
    double ours = 0;
    // What is expected instead of a number the paper contradicts itself with or misprints; the
    // result says why in `corrections`.
    std::optional<double> corrected = {};

    [[nodiscard]] std::optional<double> expected() const { return corrected ? corrected : paper; }
};

struct Row {
    std::string name;
    std::vector<Value> values;  // in column order
};

// A condition over several numbers, judged like a cell.
struct Claim {
    std::string text;
    bool holds = false;
};

struct Result {
    std::string name;
    std::string title;
    std::vector<Column> columns;
    std::vector<Row> rows;
    std::vector<Claim> claims;
    std::vector<std::string> corrections;  // every number of the paper that was not taken as printed, and why
    std::vector<std::string> remarks;
    std::optional<Svg> picture = {};

    [[nodiscard]] bool holds(const Row& row) const;
    // All rows, all claims, and at least one row.
    [[nodiscard]] bool holds() const;
};

}  // namespace loom::reproduce
