#include "loom/reproduce/result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace loom::reproduce {

bool Rule::agrees(double paper, double ours) const {
    switch (kind) {
        case Kind::shown:
            return true;
        case Kind::absolute:
            return std::abs(ours - paper) <= tolerance;
        case Kind::relative:
            return std::abs(ours - paper) <= tolerance * std::abs(paper);
        case Kind::at_most:
            return ours <= paper + tolerance;
    }
    return false;
}

std::string Rule::text() const {
    switch (kind) {
        case Kind::shown:
            return "shown, not judged";
        case Kind::absolute:
            return tolerance < 1e-6 ? "equal" : fmt::format("within {:.3g}", tolerance);
        case Kind::relative:
            return fmt::format("within {:.3g} %", tolerance * 100);
        case Kind::at_most:
            return tolerance < 1e-6 ? "at most" : fmt::format("at most {:.3g} above", tolerance);
    }
    return {};
}

Rule printed(int decimals) {
    // Just below one unit of the last place, so that the next printed value does not agree.
    return {Rule::Kind::absolute, std::pow(10.0, -decimals) * (1 - 1e-9)};
}

bool Result::holds(const Row& row) const {
    if (row.values.size() != columns.size()) return false;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        const auto expected = row.values[i].expected();
        if (std::isnan(row.values[i].ours)) return false;
        if (expected && !columns[i].rule.agrees(*expected, row.values[i].ours)) return false;
    }
    return true;
}

bool Result::holds() const {
    return !rows.empty() && std::all_of(rows.begin(), rows.end(), [&](const Row& row) { return holds(row); }) &&
           std::all_of(claims.begin(), claims.end(), [](const Claim& claim) { return claim.holds; });
}

}  // namespace loom::reproduce
