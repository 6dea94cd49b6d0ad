#include "loom/traffic/catalogue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <limits>
#include <optional>

#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/traffic/goal.hpp"
#include "loom/traffic/rounds.hpp"
#include "traffic/patterns.hpp"

namespace loom::traffic {
namespace {

constexpr std::array kinds{
    PatternKind{"shift", "[:DISTANCE]", "rank n to n+k (mod P), k = 1..P-1, a stage each; one stage when k is given"},
    PatternKind{"xor", "[:MASK]", "rank n with n xor k, k from 1 up, a stage each; one stage when k is given"},
    PatternKind{"ring", "", "rank n to n+1 (mod P), one stage"},
    PatternKind{"dissemination", "", "rank n to n+2^r (mod P) in round r (barrier)"},
    PatternKind{"recursive-doubling", "",
                "rank n with n xor 2^r in round r, extra ranks folded in and out (allreduce)"},
    PatternKind{"binomial", "[:ROOT]", "binomial tree from the root: senders double each round (broadcast)"},
    PatternKind{"bruck", "", "rank n to n+2^r (mod P) in round r (small all-to-all, allgather)"},
    PatternKind{"pairwise", "", "all-to-all by exchange with one partner a stage: xor for 2^n ranks, shift otherwise"},
    PatternKind{"gather", "[:ROOT]", "every rank to the root at once"},
    PatternKind{"scatter", "[:ROOT]", "the root to every rank at once"},
    PatternKind{"neighbor2d", "[:AxB]", "the 4 neighbours on a closed grid at once; near-square unless given"},
    PatternKind{"neighbor3d", "[:AxBxC]", "the 6 neighbours on a closed grid at once; near-cubic unless given"},
    PatternKind{"permutation", "[:SAMPLES]", "random permutations, a stage each (100)"},
    PatternKind{"bisect", "[:SAMPLES]",
                "random bisects: P/2 one-way pairs between two random halves, a stage each (100)"},
    PatternKind{"pairs", ":FILE", "pairs from a file: \"FROM TO\" a line, a blank line starts the next stage"},
    PatternKind{"goal", ":FILE", "the messages of a schedule in GOAL text, a stage for each of its rounds"},
};

constexpr std::size_t default_samples = 100;

std::optional<std::size_t> whole_number(std::string_view text) {
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

// The argument as a number in [low, high], or `otherwise` when there is none.
std::size_t number_argument(std::string_view spec, std::optional<std::string_view> argument, std::size_t low,
                            std::size_t high, std::size_t otherwise) {
    if (!argument) return otherwise;
    const auto value = whole_number(*argument);
    if (!value || *value < low || *value > high)
        throw UsageError(
            fmt::format("pattern \"{}\": expected a number from {} to {} after the colon", spec, low, high));
    return *value;
}

std::vector<std::size_t> extent_argument(std::string_view spec, std::optional<std::string_view> argument,
                                         std::size_t dimensions, std::size_t ranks) {
    if (!argument) return near_square(ranks, dimensions);
    std::vector<std::size_t> extent;
    std::size_t product = 1;
    for (std::string_view rest = *argument;;) {
        const auto cross = rest.find('x');
        const auto value = whole_number(rest.substr(0, cross));
        if (!value || *value == 0 || *value > ranks || extent.size() == dimensions)
            throw UsageError(fmt::format("pattern \"{}\": expected {} sizes like {}", spec, dimensions,
                                         dimensions == 2 ? "8x8" : "8x8x8"));
        extent.push_back(*value);
        product *= std::min(*value, ranks);
        product = std::min(product, ranks + 1);  // stays comparable, never overflows
        if (cross == std::string_view::npos) break;
        rest.remove_prefix(cross + 1);
    }
    if (extent.size() != dimensions)
        throw UsageError(fmt::format("pattern \"{}\": expected {} sizes, got {}", spec, dimensions, extent.size()));
    if (product != ranks)
        throw UsageError(fmt::format("pattern \"{}\": the grid must hold exactly the {} ranks there are", spec, ranks));
    return extent;
}

// The factors of n, chosen so that the largest is as small as can be, recursively.
void split(std::size_t n, std::size_t parts, std::vector<std::size_t>& current, std::vector<std::size_t>& best) {
    if (parts == 1) {
        if (!current.empty() && n > current.back()) return;
        current.push_back(n);
        if (best.empty() || current < best) best = current;
        current.pop_back();
        return;
    }
    for (std::size_t first = 1; first <= n; ++first) {
        if (n % first != 0 || (!current.empty() && first > current.back())) continue;
        current.push_back(first);
        split(n / first, parts - 1, current, best);
        current.pop_back();
    }
}

}  // namespace

std::span<const PatternKind> pattern_kinds() {
    return kinds;
}

std::string pattern_help() {
    std::string text;
    for (const PatternKind& kind : kinds)
        text += fmt::format("  {:<24} {}\n", fmt::format("{}{}", kind.name, kind.argument), kind.summary);
    return text;
}

std::vector<std::size_t> near_square(std::size_t ranks, std::size_t dimensions) {
    std::vector<std::size_t> current;
    std::vector<std::size_t> best;
    split(ranks, dimensions, current, best);
    return best;
}

PatternPtr make_pattern(std::string_view spec, std::size_t ranks, std::uint64_t seed) {
    const auto colon = spec.find(':');
    const std::string_view name = spec.substr(0, colon);
    const std::optional<std::string_view> argument =
        colon == std::string_view::npos ? std::nullopt : std::optional(spec.substr(colon + 1));
    const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const PatternKind& k) { return k.name == name; });
    if (kind == kinds.end()) {
        std::string names;
        for (const PatternKind& k : kinds) names += fmt::format("{}{}", names.empty() ? "" : ", ", k.name);
        throw UsageError(fmt::format("no pattern is called '{}', expected one of {}", name, names));
    }
    if (argument && kind->argument.empty())
        throw UsageError(fmt::format("pattern \"{}\" takes nothing after a colon", name));
    if (ranks == 0 || ranks > std::numeric_limits<std::uint32_t>::max() / 2)
        throw UsageError(fmt::format("pattern \"{}\": cannot be made for {} ranks", name, ranks));

    std::string full(spec);
    const std::size_t last = ranks - 1;
    const auto root = [&] { return number_argument(spec, argument, 0, last, 0); };
    const auto samples = [&] { return number_argument(spec, argument, 1, 1'000'000'000, default_samples); };
    if (name == "shift")
        return argument ? make_single_shift(full, ranks, number_argument(spec, argument, 1, last, 1))
                        : make_shift(full, ranks);
    if (name == "xor")
        return argument ? make_single_xor(full, ranks, number_argument(spec, argument, 1, std::bit_ceil(ranks) - 1, 1))
                        : make_xor(full, ranks);
    if (name == "ring") return ranks == 1 ? make_shift(full, ranks) : make_single_shift(full, ranks, 1);
    if (name == "dissemination" || name == "bruck") return make_doubling_shift(full, ranks);
    if (name == "recursive-doubling") return make_recursive_doubling(full, ranks);
    if (name == "binomial") return make_binomial(full, ranks, root());
    if (name == "pairwise") return std::has_single_bit(ranks) ? make_xor(full, ranks) : make_shift(full, ranks);
    if (name == "gather") return make_gather(full, ranks, root());
    if (name == "scatter") return make_scatter(full, ranks, root());
    if (name == "neighbor2d") return make_neighbors(full, extent_argument(spec, argument, 2, ranks));
    if (name == "neighbor3d") return make_neighbors(full, extent_argument(spec, argument, 3, ranks));
    if (name == "permutation") return make_permutation(full, ranks, samples(), seed);
    if (name == "bisect") return make_bisect(full, ranks, samples(), seed);
    if (!argument || argument->empty())
        throw UsageError(fmt::format("pattern \"{0}\": expected a file after the colon, as in {0}:FILE", name));
    const std::string file(*argument);
    if (name == "goal") return rounds_of(read_goal(read_file(file), file), full, ranks);
    return read_pairs(read_file(file), file, ranks);
}

std::string pairs_text(const Pattern& pattern) {
    std::string text;
    std::vector<Pair> stage;
    for (std::size_t i = 0; i < pattern.stages(); ++i) {
        pattern.stage(i, stage);
        text += fmt::format("{}# round {}\n", i == 0 ? "" : "\n", i + 1);
        for (const Pair& pair : stage) text += fmt::format("{} {}\n", pair.from.value, pair.to.value);
    }
    return text;
}

PatternPtr read_pairs(std::string_view text, const std::string& file, std::size_t ranks) {
    std::vector<std::vector<Pair>> stages;
    bool fresh = true;  // the next pair opens a stage
    Lines lines(text);
    for (std::string_view line; lines.next(line);) {
        const std::string_view content = line.substr(0, line.find('#'));
        std::array<std::size_t, 2> value{};
        std::size_t words = 0;
        constexpr std::string_view space = " \t,";
        for (std::size_t at = content.find_first_not_of(space); at != std::string_view::npos;) {
            const std::size_t end = std::min(content.find_first_of(space, at), content.size());
            const std::string_view word = content.substr(at, end - at);
            const auto number = whole_number(word);
            if (!number || words == 2)
                throw ParseError(file, lines.number(),
                                 fmt::format("expected two ranks, \"FROM TO\", got \"{}\"", line));
            if (*number >= ranks)
                throw ParseError(file, lines.number(),
                                 fmt::format("expected ranks from 0 to {}, got {}", ranks - 1, *number));
            value[words++] = *number;
            at = content.find_first_not_of(space, end);
        }
        if (words == 0) {
            if (content.size() == line.size()) fresh = true;  // a comment alone does not part stages
            continue;
        }
        if (words == 1)
            throw ParseError(file, lines.number(), fmt::format("expected two ranks, \"FROM TO\", got \"{}\"", line));
        if (value[0] == value[1])
            throw ParseError(file, lines.number(),
                             fmt::format("rank {} sends to itself, expected two different ranks", value[0]));
        if (fresh) stages.emplace_back();
        fresh = false;
        stages.back().push_back(pair(value[0], value[1]));
    }
    if (stages.empty()) throw ParseError(file, lines.number(), "expected at least one pair of ranks");
    const std::size_t count = stages.size();
    return from_function("pairs:" + file, ranks, count,
                         [stages = std::move(stages)](std::size_t stage, auto& out) { out = stages[stage]; });
}

}  // namespace loom::traffic
