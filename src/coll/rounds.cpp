#include "loom/coll/rounds.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "loom/base/error.hpp"
#include "loom/transport/waiting.hpp"

namespace loom::coll {

namespace {

// One clock for all processes of the host, which now() is not.
std::int64_t host_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

bool on_one_host(const transport::Transport& transport) {
    const auto hosts = transport.hosts();
    return std::all_of(hosts.begin(), hosts.end(), [&](std::uint32_t host) { return host == hosts[0]; });
}

// From rank 0's word until all have heard it.
constexpr std::int64_t lead_of_spinning = 4'000, lead_of_turns = 12'000;  // the latter for each rank, in ns

}  // namespace

void RoundTimes::add(const RoundTimes& more) {
    ranks = more.ranks;
    ends.insert(ends.end(), more.ends.begin(), more.ends.end());
}

std::vector<Time> RoundTimes::last() const {
    std::vector<Time> all;
    for (std::size_t at = 0; at < ends.size(); at += ranks)
        all.push_back(*std::max_element(ends.begin() + static_cast<std::ptrdiff_t>(at),
                                        ends.begin() + static_cast<std::ptrdiff_t>(at + ranks)));
    return all;
}

std::vector<Time> RoundTimes::of(Rank rank) const {
    std::vector<Time> all;
    for (std::size_t at = rank.value; at < ends.size(); at += ranks) all.push_back(ends[at]);
    return all;
}

Time quantile(std::vector<Time> times, double share) {
    const auto at = times.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(times.size() - 1) + 0.5);
    std::nth_element(times.begin(), at, times.end());
    return *at;
}

Rounds::Rounds(World& world)
    : world_(world),
      everyone_(world.communicator()),
      crowded_(world.transport().waiting() == transport::Waiting::yield),
      lead_(crowded_ ? lead_of_turns * world.size() : lead_of_spinning) {
    if (!on_one_host(world.transport()))
        throw UsageError("rounds are timed by the clock of one host, and there are more");
    if (world.transport().waiting() == transport::Waiting::block)
        throw UsageError("rounds are timed by the host's clock, and this transport has a virtual one");
}

// Whoever shares a core gives it to others meanwhile.
void Rounds::await(std::int64_t begin) const {
    while (host_ns() < begin) transport::pause(world_.transport().waiting());
}

// `last`: rank 0's word that no other follows.
Time Rounds::one(const std::function<Request()>& begin, bool goes_on, bool& last) {
    // What came before may last longer elsewhere.
    Call meeting;
    everyone_.start(meeting, {}).wait();
    Word word;
    if (everyone_.rank() == Rank{0}) word = {host_ns() + lead_, goes_on ? 1 : 0};
    Call call;
    call.what = Collective::broadcast;
    call.bytes = sizeof word;
    everyone_.start(call, {nullptr, reinterpret_cast<std::byte*>(&word)}).wait();
    const bool late = host_ns() > word.begin;
    last = word.goes_on == 0;
    await(word.begin);
    begin().wait();
    const Time took = nanoseconds(host_ns() - word.begin);
    return late ? Time{-took.ps} : took;
}

RoundTimes Rounds::run(const std::function<Request()>& begin, std::uint32_t warm_up, std::uint32_t rounds, Time most) {
    mine_.clear();
    bool last = false;
    std::int64_t since = host_ns();
    for (std::uint32_t round = 0; !last; ++round) {
        if (round == warm_up) since = host_ns();
        const bool enough =
            round + 1 >= warm_up + rounds || (round >= warm_up + 2 && nanoseconds(host_ns() - since) > most);
        const Time took = one(begin, !enough, last);
        if (round >= warm_up) mine_.push_back(took);
    }
    RoundTimes times;
    times.ranks = everyone_.size();
    std::vector<Time> all(everyone_.rank() == Rank{0} ? mine_.size() * times.ranks : 0);
    Call call;
    call.what = Collective::gather;
    call.bytes = mine_.size() * sizeof(Time);
    everyone_.start(call, {std::as_bytes(std::span(mine_)).data(), std::as_writable_bytes(std::span(all)).data()})
        .wait();
    if (all.empty()) return times;
    const auto end_of = [&](std::size_t round, std::uint32_t rank) { return all[rank * mine_.size() + round]; };
    const auto add = [&](bool late_too) {
        for (std::size_t round = 0; round < mine_.size(); ++round) {
            bool counts = true;
            for (std::uint32_t rank = 0; rank < times.ranks; ++rank)
                counts = counts && (late_too || end_of(round, rank) > Time{});
            for (std::uint32_t rank = 0; counts && rank < times.ranks; ++rank)
                times.ends.push_back(Time{std::abs(end_of(round, rank).ps)});
        }
    };
    add(false);
    if (times.ends.empty()) add(true);
    return times;
}

}  // namespace loom::coll
