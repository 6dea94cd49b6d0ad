// PGFT(h; m; w; p) straight from its definition: write down every node's digits, join two nodes when
// the digits say so. Quadratic in the nodes of a level.
#pragma once

#include <map>
#include <tuple>
#include <vector>

namespace loom::reference {

using Digits = std::vector<unsigned>;

// All tuples with digit i below base[i], in lexicographic order.
inline std::vector<Digits> all_tuples(const Digits& base) {
    std::vector<Digits> result{{}};
    for (const unsigned b : base) {
        std::vector<Digits> longer;
        for (const Digits& prefix : result)
            for (unsigned digit = 0; digit < b; ++digit) {
                longer.push_back(prefix);
                longer.back().push_back(digit);
            }
        result = longer;
    }
    return result;
}

// Nodes of a level (0: hosts) as (a_h .. a_{level+1}, b_level .. b_1).
inline std::vector<Digits> pgft_level(const Digits& m, const Digits& w, std::size_t level) {
    Digits base;
    for (std::size_t i = m.size(); i > 0; --i) base.push_back(i > level ? m[i - 1] : w[i - 1]);
    return all_tuples(base);
}

// (upper level, place in the lower level, place in the upper level) -> number of cables.
using PgftCables = std::map<std::tuple<std::size_t, std::size_t, std::size_t>, unsigned>;

inline PgftCables pgft_cables(const Digits& m, const Digits& w, const Digits& p) {
    PgftCables cables;
    for (std::size_t level = 1; level <= m.size(); ++level) {
        const auto lower = pgft_level(m, w, level - 1), upper = pgft_level(m, w, level);
        const std::size_t free_digit = m.size() - level;
        for (std::size_t low = 0; low < lower.size(); ++low)
            for (std::size_t high = 0; high < upper.size(); ++high) {
                bool agree = true;
                for (std::size_t i = 0; i < m.size(); ++i)
                    agree = agree && (i == free_digit || lower[low][i] == upper[high][i]);
                if (agree) cables[{level, low, high}] = p[level - 1];
            }
    }
    return cables;
}

}  // namespace loom::reference
