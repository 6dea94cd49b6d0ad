#include "loom/twin/explore.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <set>
#include <utility>

#include "loom/base/error.hpp"
#include "loom/base/text.hpp"
#include "twin/job.hpp"

namespace loom::twin {

namespace {

constexpr Time shortest_delay = microseconds(10);
constexpr Time longest_delay = seconds(3600.0);

// 1, 2 or 5 and zeros, which to_string() says exactly.
Time rounded_up(Time time) {
    for (Time decade = shortest_delay;; decade = decade * 10)
        for (const int step : {1, 2, 5})
            if (decade * step >= time) return decade * step;
}

Time delay_for(Time finish) {
    return rounded_up(std::min(longest_delay, finish) * 2);
}

// Delays cannot make a run longer than their budgets, unless it counts on time. Computation is slower by four at most.
Time end_for(Time finish, const Options& options, std::size_t ranks) {
    const double most = 100 * finish.seconds() + 2.0 * static_cast<double>(ranks) *
                                                     static_cast<double>(Disturbance::budget) *
                                                     options.longest_delay.seconds();
    return seconds(std::min(most + 1e-3, 4e6));
}

Failure failure_of(const Played& played) {
    if (!played.thrown.empty()) return Failure::threw;
    if (played.result.state == sim::State::running) return Failure::endless;
    return played.result.state == sim::State::finished ? Failure::none : Failure::stuck;
}

std::string_view take_line(std::string_view& text) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return line;
}

// The first line that is another.
std::vector<std::string> difference(std::string_view expected, std::string_view found) {
    std::size_t number = 1;
    std::string_view before, after;
    do {
        before = take_line(expected);
        after = take_line(found);
    } while (before == after && !(expected.empty() && found.empty()) && ++number != 0);
    const auto cut = [](std::string_view line) {
        constexpr std::size_t most = 200;
        return line.size() <= most ? std::string(line) : std::string(line.substr(0, most)) + "...";
    };
    return {fmt::format("line {} of the answer", number), "undisturbed:  " + cut(before),
            "with the seed: " + cut(after)};
}

void blame(Exploration& exploration, Failure failure, const Played& played, const Played& undisturbed) {
    exploration.failure = failure;
    if (failure == Failure::threw)
        exploration.why = {played.thrown};
    else if (failure == Failure::differs)
        exploration.why = difference(undisturbed.answer, played.answer);
    else
        exploration.why = played.result.trouble;
}

}  // namespace

std::string_view to_string(Failure failure) {
    switch (failure) {
        case Failure::none:
            return "survives";
        case Failure::threw:
            return "ends with an exception";
        case Failure::stuck:
            return "is stuck";
        case Failure::endless:
            return "does not end";
        case Failure::differs:
            return "answers differently";
    }
    return "";
}

Exploration explore(const Options& options, std::uint64_t seeds, const std::function<Played(const Options&)>& play) {
    if (options.computing.how == Computing::How::measured)
        throw UsageError("no seed repeats a run whose computation is measured: declare it, or take none");
    Exploration exploration;
    exploration.replay = options;
    Options& now = exploration.replay;
    now.disturb = 0;
    const Played undisturbed = play(now);
    if (const Failure failure = failure_of(undisturbed); failure != Failure::none) {
        blame(exploration, failure, undisturbed, undisturbed);
        return exploration;
    }
    const Time finish = undisturbed.result.finish;
    now.longest_delay = delay_for(finish);
    if (now.give_up == never) now.give_up = end_for(finish, now, undisturbed.result.ranks.size());
    std::set<std::uint64_t> orders;
    for (now.disturb = 1; now.disturb <= seeds; ++now.disturb) {
        const Played played = play(now);
        ++exploration.seeds;
        orders.insert(played.result.order);
        exploration.orders = orders.size();
        Failure failure = failure_of(played);
        if (failure == Failure::none && played.answer != undisturbed.answer) failure = Failure::differs;
        if (failure == Failure::none) continue;
        exploration.seed = now.disturb;
        blame(exploration, failure, played, undisturbed);
        return exploration;
    }
    now.disturb = 0;
    return exploration;
}

Played play(const Options& options, const Answering& body) {
    std::vector<std::string> answers(
        std::max<std::size_t>({options.ranks, options.hosts.size(), options.network.placement.hosts.size()}));
    Job job(options, [&](Endpoint& mine) { answers[mine.rank().value] = body(mine); });
    Played played;
    try {
        played.result = job.run();
    } catch (const std::exception& error) {
        played.thrown = error.what();
        if (played.thrown.empty()) played.thrown = "an exception without a word";
        return played;
    }
    for (std::size_t rank = 0; rank < played.result.ranks.size(); ++rank)
        played.answer += fmt::format("rank {}: {}\n", rank, answers[rank]);
    return played;
}

Exploration explore(const Options& options, std::uint64_t seeds, const Answering& body) {
    return explore(options, seeds, [&](const Options& now) { return play(now, body); });
}

std::vector<std::string> to_lines(const Exploration& exploration) {
    if (exploration.failure == Failure::none)
        return {
            fmt::format("{} seeds with {} orders: all end, with one answer", exploration.seeds, exploration.orders)};
    std::vector<std::string> lines;
    if (exploration.seed == 0)
        lines.push_back(fmt::format("the undisturbed run {}", to_string(exploration.failure)));
    else
        lines.push_back(fmt::format("seed {} {}", exploration.seed, to_string(exploration.failure)));
    for (const std::string& each : exploration.why) lines.push_back("  " + each);
    if (exploration.seed != 0)
        lines.push_back(fmt::format("again with seed {}, longest delay {}", exploration.replay.disturb,
                                    to_string(exploration.replay.longest_delay)));
    return lines;
}

}  // namespace loom::twin
