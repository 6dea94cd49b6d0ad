// Which algorithm every kind of call gets, on a grid of machines, groups, operations, sizes and variants.
// golden/choices.txt has the table: a change that means to alter no choice alters no line of it.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "coll/ranking.hpp"
#include "loom/base/file.hpp"
#include "loom/coll/explain.hpp"
#include "loom/coll/uniform.hpp"
#include "loom/model/assumed.hpp"

namespace loom::coll {
namespace {

struct Placed {
    std::uint32_t ranks, per_host;  // 0: all on one
};

struct Machine {
    std::string_view name;
    model::Charges (*charges)(std::span<const std::uint32_t> hosts);
};

// A core that copies 16 GB/s.
model::Charges with_cores(std::span<const std::uint32_t> hosts, std::uint32_t cores) {
    model::Charges charges = model::assumed_charges(hosts, cores);
    charges.local = {.copy = 60, .reduce = 120, .step = nanoseconds(30)};
    return charges;
}

// Costs of the magnitude that 4 ranks measure on two cores, where a core's cache ends at 2 MiB.
model::Charges measured_on_two_cores(std::span<const std::uint32_t> hosts) {
    model::Charges charges = with_cores(hosts, 2);
    charges.way.limit = 16'384;
    charges.way.small.latency = charges.way.large.latency = Time{1'400'000};
    charges.way.small.send_byte = charges.way.small.take_byte = 145;
    charges.way.large.send_byte = 87;
    charges.way.shared_byte = 40;
    charges.local.copy = charges.local.reduce = 31;
    charges.cold = model::ColdCosts{2 << 20, 32 << 20, 100, 100, 90, 90};
    return charges;
}

constexpr Machine machines[] = {
    {"a core each", [](std::span<const std::uint32_t> hosts) { return with_cores(hosts, 1024); }},
    {"two cores", [](std::span<const std::uint32_t> hosts) { return with_cores(hosts, 2); }},
    {"two cores with small caches", measured_on_two_cores},
};
constexpr Placed groups[] = {{2, 0}, {2, 1}, {3, 0}, {4, 0}, {4, 2}, {8, 0}, {8, 2}, {16, 4}, {48, 4}};
constexpr std::uint64_t sizes[] = {8, 512, 4096, 32'768, 262'144, 2'097'152};

struct Variant {
    std::string_view name;
    bool commutative, in_place;
    std::uint32_t element;
    bool last_is_root;
};
constexpr Variant variants[] = {
    {"", true, false, 8, false},
    {", order kept", false, false, 8, false},
    {", in place", true, true, 8, false},
    {", elements of up to 64", true, false, 64, false},
    {", last rank is root", true, false, 8, true},
};

std::string chosen(const Machine& machine, const Placed& placed, Collective what, std::uint64_t bytes,
                   const Variant& variant) {
    UniformShape shape;
    shape.what = what;
    shape.ranks = placed.ranks;
    shape.per_host = placed.per_host;
    shape.bytes = what == Collective::barrier ? 0 : bytes;
    shape.element = static_cast<std::uint32_t>(std::min<std::uint64_t>(variant.element, bytes));
    shape.commutative = variant.commutative;
    shape.in_place = variant.in_place;
    if (variant.last_is_root) shape.root = Rank{placed.ranks - 1};
    const UniformCall call(shape);
    const model::Charges charges = machine.charges(call.group().hosts);
    for (const Candidate& each : rank_candidates(call.group(), call.calls()[0], charges).candidates)
        if (each.algorithm->fits(call.group(), call.calls()[0])) return describe(each.algorithm->name, each.tuning);
    return "none";
}

// "8 linear; 4096 ring": from which size on.
std::string by_size(const Machine& machine, const Placed& placed, Collective what, const Variant& variant) {
    std::string text, before;
    for (const std::uint64_t bytes : sizes) {
        const std::string now = chosen(machine, placed, what, bytes, variant);
        if (now == before) continue;
        text += fmt::format("{}{} {}", text.empty() ? "" : "; ", bytes, now);
        before = now;
    }
    return text;
}

bool matters(const Variant& variant, Collective what, const Placed& placed) {
    if (variant.name.empty()) return true;
    if (placed.ranks > 16 || what == Collective::barrier) return false;
    const bool rooted = what == Collective::reduce || (what >= Collective::broadcast && what <= Collective::scatterv);
    if (variant.last_is_root) return rooted && placed.per_host != 0;
    if (variant.in_place) return what != Collective::broadcast && what < Collective::neighbour_allgather;
    return is_reduction(what);
}

// Operations that choose alike share a line; a variant that changes nothing has none.
std::string all_choices() {
    std::string text;
    for (const Machine& machine : machines)
        for (const Placed& placed : groups) {
            text += fmt::format("{}, {} ranks{}\n", machine.name, placed.ranks,
                                placed.per_host == 0 ? "" : fmt::format(", {} on each host", placed.per_host));
            std::vector<std::pair<std::string, std::string>> lines;  // what is chosen, by which operations
            const auto add = [&](const std::string& name, const std::string& choice) {
                for (auto& [known, names] : lines)
                    if (known == choice) {
                        names += " | " + name;
                        return;
                    }
                lines.emplace_back(choice, name);
            };
            for (std::size_t i = 0; i < collectives; ++i) {
                const auto what = static_cast<Collective>(i);
                std::string plain;
                for (const Variant& variant : variants) {
                    if (!matters(variant, what, placed)) continue;
                    const std::string choice = by_size(machine, placed, what, variant);
                    if (variant.name.empty()) plain = choice;
                    if (variant.name.empty() || choice != plain)
                        add(fmt::format("{}{}", to_string(what), variant.name), choice);
                }
            }
            for (const auto& [choice, names] : lines) text += fmt::format("  {}: {}\n", names, choice);
        }
    return text;
}

TEST(Choices, AreThoseOfTheGoldenTable) {
    const std::filesystem::path golden = std::string(LOOM_SOURCE_DIR) + "/tests/coll/golden/choices.txt";
    const std::filesystem::path now = testing::TempDir() + "choices.txt";

    const std::string text = all_choices();

    write_file(now, text);
    std::istringstream expected(read_file(golden)), got(text);
    std::string want, line, group;
    int different = 0;
    while (std::getline(got, line) && different < 10) {
        if (!line.starts_with(" ")) group = line;
        if (!std::getline(expected, want)) want = "(nothing)";
        EXPECT_EQ(line, want) << group << "; the whole table is in " << now;
        different += line != want;
    }
    EXPECT_FALSE(std::getline(expected, want)) << "lines are missing; the whole table is in " << now;
}

}  // namespace
}  // namespace loom::coll
