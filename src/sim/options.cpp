#include "loom/sim/options.hpp"

#include "loom/base/error.hpp"

namespace loom::sim {

std::vector<double> halving_table(unsigned entries) {
    constexpr unsigned most = 15;  // 14 bits hold the last one
    if (entries == 0 || entries > most) throw UsageError("a halving congestion control table has 1 to 15 entries");
    std::vector<double> table(entries);
    for (unsigned i = 0; i < entries; ++i) table[i] = static_cast<double>((1u << i) - 1);
    return table;
}

}  // namespace loom::sim
