#include "loom/traffic/schedules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "loom/base/error.hpp"
#include "loom/base/random.hpp"
#include "loom/base/text.hpp"
#include "loom/traffic/catalogue.hpp"
#include "traffic/patterns.hpp"

namespace loom::traffic {
namespace {

constexpr std::array kinds{
    ScheduleKind{"ring", "[:ROUNDS]", "each rank to the next, each round after the receive of the one before (1)"},
    ScheduleKind{"binomial", "[:ROOT]", "broadcast over a binomial tree from the root (0)"},
    ScheduleKind{"dissemination", "",
                 "rank n to n+2^r (mod P) in round r, after the receive of round r-1; receives at once"},
    ScheduleKind{"stencil2d", "[:ITERATIONS[:AxB]]",
                 "work, then exchange with 4 neighbours on a closed grid, again and again (10, near-square)"},
    ScheduleKind{"alltoall", "", "linear: all sends and receives at once, rank n begins with n+1"},
    ScheduleKind{"random", "[:MESSAGES]", "random messages and work that wait for random earlier ones (10 a rank)"},
};

// A rank with more operations in a stage of a pattern gets one that waits for them all, lest every operation of the
// next stage wait for each of them.
constexpr std::size_t most_edges = 8;

constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

Rank rank_of(std::size_t value) {
    return Rank{static_cast<std::uint32_t>(value)};
}

// Throws before memory is asked for. `operations` may be an estimate in floating point: far beyond is far beyond.
void check_size(std::string_view name, double operations) {
    if (operations > static_cast<double>(most_operations))
        throw UsageError(fmt::format("\"{}\": {:.3g} operations are more than the {} that a schedule may hold", name,
                                     operations, most_operations));
}

std::size_t number(std::string_view spec, std::optional<std::string_view> argument, std::size_t low, std::size_t high,
                   std::size_t otherwise) {
    if (!argument) return otherwise;
    const auto value = parse_decimal(*argument);
    if (!value || *value < low || *value > high)
        throw UsageError(
            fmt::format("schedule \"{}\": expected a number from {} to {} after the colon", spec, low, high));
    return *value;
}

Schedule ring(std::size_t ranks, std::size_t rounds, std::uint64_t bytes) {
    ScheduleBuilder builder(ranks);
    if (ranks == 1) return builder.build();
    for (std::size_t n = 0; n < ranks; ++n) {
        std::uint32_t last = none;
        for (std::size_t round = 0; round < rounds; ++round) {
            const auto send = builder.send(rank_of(n), rank_of((n + 1) % ranks), bytes);
            if (last != none) builder.require(rank_of(n), send, last);
            const auto receive = builder.receive(rank_of(n), rank_of((n + ranks - 1) % ranks), bytes);
            if (last != none) builder.require(rank_of(n), receive, last);
            last = receive;
        }
    }
    return builder.build();
}

Schedule binomial(std::size_t ranks, std::size_t root, std::uint64_t bytes) {
    ScheduleBuilder builder(ranks);
    for (std::size_t n = 0; n < ranks; ++n) {
        const Rank rank = rank_of((n + root) % ranks);
        std::uint32_t last = none;
        for (std::size_t distance = 1; distance < ranks; distance *= 2) {
            if (n >= distance && n < 2 * distance)
                last = builder.receive(rank, rank_of((n - distance + root) % ranks), bytes);
            if (n < distance && n + distance < ranks) {
                const auto send = builder.send(rank, rank_of((n + distance + root) % ranks), bytes);
                if (last != none) builder.require(rank, send, last);
                last = send;
            }
        }
    }
    return builder.build();
}

Schedule dissemination(std::size_t ranks, std::uint64_t bytes) {
    ScheduleBuilder builder(ranks);
    for (std::size_t n = 0; n < ranks; ++n) {
        std::uint32_t last = none;
        for (std::size_t distance = 1; distance < ranks; distance *= 2) {
            const auto send = builder.send(rank_of(n), rank_of((n + distance) % ranks), bytes);
            if (last != none) builder.require(rank_of(n), send, last);
            last = builder.receive(rank_of(n), rank_of((n + ranks - distance) % ranks), bytes);
        }
    }
    return builder.build();
}

Schedule alltoall(std::size_t ranks, std::uint64_t bytes) {
    ScheduleBuilder builder(ranks);
    for (std::size_t n = 0; n < ranks; ++n)
        for (std::size_t step = 1; step < ranks; ++step) {
            builder.send(rank_of(n), rank_of((n + step) % ranks), bytes);
            builder.receive(rank_of(n), rank_of((n + ranks - step) % ranks), bytes);
        }
    return builder.build();
}

// The tag is the direction, so that two messages between the same two ranks of a narrow grid stay apart.
Schedule stencil(std::size_t columns, std::size_t rows, std::size_t iterations, const ScheduleOptions& options) {
    ScheduleBuilder builder(columns * rows);
    std::vector<std::uint32_t> last;
    for (std::size_t n = 0; n < columns * rows; ++n) {
        const std::size_t x = n % columns, y = n / columns;
        const std::array<std::size_t, 4> neighbour{y * columns + (x + 1) % columns,
                                                   y * columns + (x + columns - 1) % columns,
                                                   (y + 1) % rows * columns + x, (y + rows - 1) % rows * columns + x};
        last.clear();
        for (std::size_t iteration = 0; iteration < iterations; ++iteration) {
            const auto work = builder.compute(rank_of(n), options.work);
            for (const std::uint32_t earlier : last) builder.require(rank_of(n), work, earlier);
            last.clear();
            for (std::uint32_t direction = 0; direction < 4; ++direction) {
                if (neighbour[direction] == n) continue;
                last.push_back(builder.send(rank_of(n), rank_of(neighbour[direction]), options.bytes, direction));
                builder.require(rank_of(n), last.back(), work);
            }
            for (std::uint32_t direction = 0; direction < 4; ++direction) {
                if (neighbour[direction] == n) continue;
                // What comes from there was sent in the opposite direction.
                last.push_back(
                    builder.receive(rank_of(n), rank_of(neighbour[direction]), options.bytes, direction ^ 1u));
                builder.require(rank_of(n), last.back(), work);
            }
            if (last.empty()) last.push_back(work);
        }
    }
    return builder.build();
}

// Messages are drawn one after the other; what one's ends wait for was drawn before it, so that every order of the
// drawing can be played to its end.
Schedule random_graph(std::size_t ranks, std::size_t messages, const ScheduleOptions& options) {
    ScheduleBuilder builder(ranks);
    Random random(options.seed);
    const auto amount = [&](std::uint64_t most) {
        return most == 0 ? 0 : random() % most + 1;  // the bias is below 2^-20 for what anyone sends
    };
    const auto wait_for_earlier = [&](std::size_t rank, std::uint32_t op) {
        for (unsigned tries = random.below(3); tries > 0 && op > 0; --tries)
            builder.require(rank_of(rank), op, op - 1 - random.below(std::min(op, 4u)), random.below(4) == 0);
    };
    for (std::size_t message = 0; message < messages && ranks > 1; ++message) {
        const std::size_t from = random.below(static_cast<std::uint32_t>(ranks));
        const std::size_t to = (from + 1 + random.below(static_cast<std::uint32_t>(ranks - 1))) % ranks;
        const auto tag = static_cast<std::uint32_t>(message);
        const std::uint64_t bytes = amount(options.bytes);
        if (options.work > Time{}) {  // whole nanoseconds, which GOAL can tell
            const auto work = amount(static_cast<std::uint64_t>(options.work / nanoseconds(1)));
            wait_for_earlier(from, builder.compute(rank_of(from), nanoseconds(static_cast<std::int64_t>(work))));
        }
        wait_for_earlier(from, builder.send(rank_of(from), rank_of(to), bytes, tag));
        wait_for_earlier(to, builder.receive(rank_of(to), rank_of(from), bytes, tag));
    }
    return builder.build();
}

// Parts "ITERATIONS:AxB".
Schedule stencil_by_name(std::string_view spec, std::optional<std::string_view> argument, std::size_t ranks,
                         const ScheduleOptions& options) {
    const auto colon = argument ? argument->find(':') : std::string_view::npos;
    const std::size_t iterations =
        number(spec, argument ? std::optional(argument->substr(0, colon)) : std::nullopt, 1, most_operations, 10);
    std::vector<std::size_t> extent;
    if (argument && colon != std::string_view::npos) {
        const std::string_view grid = argument->substr(colon + 1);
        const auto cross = grid.find('x');
        const auto columns = parse_decimal(grid.substr(0, cross));
        const auto rows = cross == std::string_view::npos ? std::nullopt : parse_decimal(grid.substr(cross + 1));
        if (!columns || !rows || *columns == 0 || *columns > ranks || *rows > ranks || *columns * *rows != ranks)
            throw UsageError(fmt::format("schedule \"{}\": expected a grid like 8x8 of exactly {} ranks", spec, ranks));
        extent = {*columns, *rows};
    } else {
        extent = near_square(ranks, 2);
    }
    check_size(spec, 9.0 * static_cast<double>(ranks) * static_cast<double>(iterations));
    return stencil(extent[0], extent[1], iterations, options);
}

}  // namespace

std::span<const ScheduleKind> schedule_kinds() {
    return kinds;
}

std::string schedule_help() {
    std::string text;
    for (const ScheduleKind& kind : kinds)
        text += fmt::format("  {:<30} {}\n", fmt::format("{}{}", kind.name, kind.argument), kind.summary);
    return text;
}

Schedule make_schedule(std::string_view spec, std::size_t ranks, const ScheduleOptions& options) {
    const auto colon = spec.find(':');
    const std::string_view name = spec.substr(0, colon);
    const std::optional<std::string_view> argument =
        colon == std::string_view::npos ? std::nullopt : std::optional(spec.substr(colon + 1));
    const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const ScheduleKind& k) { return k.name == name; });
    if (kind == kinds.end()) {
        std::string names;
        for (const ScheduleKind& k : kinds) names += fmt::format("{}{}", names.empty() ? "" : ", ", k.name);
        throw UsageError(fmt::format("no schedule is called '{}', expected one of {}", name, names));
    }
    if (argument && kind->argument.empty())
        throw UsageError(fmt::format("schedule \"{}\" takes nothing after a colon", name));
    if (ranks == 0 || ranks > most_operations)
        throw UsageError(fmt::format("schedule \"{}\": cannot be made for {} ranks", name, ranks));

    const auto p = static_cast<double>(ranks);
    if (name == "ring") {
        const std::size_t rounds = number(spec, argument, 1, most_operations, 1);
        check_size(spec, 2 * p * static_cast<double>(rounds));
        return ring(ranks, rounds, options.bytes);
    }
    if (name == "binomial") return binomial(ranks, number(spec, argument, 0, ranks - 1, 0), options.bytes);
    if (name == "dissemination") {
        check_size(spec, 2 * p * static_cast<double>(doubling_rounds(ranks)));
        return dissemination(ranks, options.bytes);
    }
    if (name == "stencil2d") return stencil_by_name(spec, argument, ranks, options);
    if (name == "alltoall") {
        check_size(spec, 2 * p * (p - 1));
        return alltoall(ranks, options.bytes);
    }
    const std::size_t messages = number(spec, argument, 1, most_operations, 10 * ranks);
    check_size(spec, 3 * static_cast<double>(messages));
    return random_graph(ranks, messages, options);
}

Schedule from_pattern(const Pattern& pattern, std::uint64_t bytes, Parting parting) {
    const std::size_t ranks = pattern.ranks();
    ScheduleBuilder builder(ranks);
    // Of each rank: its operations of the stage being made, and those it waits for.
    std::vector<std::vector<std::uint32_t>> current(ranks), last(ranks);
    std::vector<Rank> active;
    std::vector<Pair> pairs;
    std::size_t operations = 0;
    const auto put = [&](Rank rank, std::uint32_t op) {
        if (parting == Parting::none) return;
        for (const std::uint32_t earlier : last[rank.value]) builder.require(rank, op, earlier);
        if (current[rank.value].empty()) active.push_back(rank);
        current[rank.value].push_back(op);
    };
    const auto end_stage = [&] {
        for (const Rank rank : active) {
            auto& done = last[rank.value];
            done.swap(current[rank.value]);
            current[rank.value].clear();
            if (done.size() <= most_edges) continue;
            const std::uint32_t join = builder.compute(rank, Time{});
            for (const std::uint32_t earlier : done) builder.require(rank, join, earlier);
            done.assign(1, join);
        }
        active.clear();
    };
    const auto count = [&](std::size_t more) {
        operations += more;
        check_size(pattern.name(), static_cast<double>(operations));
    };
    for (std::size_t stage = 0; stage < pattern.stages(); ++stage) {
        if (stage > 0 && parting == Parting::barrier)
            for (std::size_t distance = 1; distance < ranks; distance *= 2) {
                count(2 * ranks);
                for (std::size_t n = 0; n < ranks; ++n) {
                    put(rank_of(n), builder.send(rank_of(n), rank_of((n + distance) % ranks), 1, 1));
                    put(rank_of(n), builder.receive(rank_of(n), rank_of((n + ranks - distance) % ranks), 1, 1));
                }
                end_stage();
            }
        pattern.stage(stage, pairs);
        count(2 * pairs.size());
        for (const Pair& pair : pairs) {
            put(pair.from, builder.send(pair.from, pair.to, bytes));
            put(pair.to, builder.receive(pair.to, pair.from, bytes));
        }
        end_stage();
    }
    return builder.build();
}

}  // namespace loom::traffic
