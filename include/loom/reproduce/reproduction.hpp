// The registry of reproductions: each re-runs one table or figure of a paper.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "loom/reproduce/parts.hpp"
#include "loom/reproduce/result.hpp"

namespace loom::reproduce {

enum class Scope : unsigned char {
    full,   // every row the paper has
    quick,  // the rows that take seconds; the same configuration and tolerances
};

struct RunOptions {
    Scope scope = Scope::full;
    unsigned threads = 0;                  // 0: all cores; the numbers never depend on it
    std::function<void(double)> progress;  // called with 0..1, if set
};

// Contract: all numbers come from `parts` and from one configuration in the reproduction's source file;
// equal parts give equal numbers.
struct Reproduction {
    std::string_view name;
    std::string_view paper;    // who and when
    std::string_view summary;  // one line
    Result (*run)(const Parts&, const RunOptions&);
};

[[nodiscard]] std::span<const Reproduction> reproductions();
// Throws UsageError that lists the names there are.
[[nodiscard]] const Reproduction& find_reproduction(std::string_view name);

Result zahavi_table_1(const Parts&, const RunOptions&);
Result zahavi_figure_6(const Parts&, const RunOptions&);
Result dcms_experiment_1(const Parts&, const RunOptions&);
Result dcms_experiment_2(const Parts&, const RunOptions&);
Result victim_flows(const Parts&, const RunOptions&);
Result manager_policies(const Parts&, const RunOptions&);
Result hoefler_remap(const Parts&, const RunOptions&);
Result hoefler_barrier(const Parts&, const RunOptions&);
Result hoefler_fat_trees(const Parts&, const RunOptions&);
// Where the room device was built.
Result dcuda_5_1(const Parts&, const RunOptions&);
Result dcuda_5_2(const Parts&, const RunOptions&);
Result dcuda_5_3(const Parts&, const RunOptions&);
Result dcuda_5_4(const Parts&, const RunOptions&);

}  // namespace loom::reproduce
