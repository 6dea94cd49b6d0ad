// Hoefler 2008, II.3.1 and II.3.2: the n-way dissemination barrier by the LogfP model, and the law of the penalty
// rounds of the two-stage multicast broadcast.
//
// The barriers are the schedules that ranks would run, walked. Of LogfP's parameters the text prints o_min = 0.18 us
// and o_max = 1.6 us (II.2.3.1), that up to 10 messages are sent in parallel at best (II.1.3.2, II.2.2), which is f,
// and that L is 10 to 100 times o (II.2.3.1); the figures that had L and g are lost. L is taken from Table II.2 (Open
// MPI/openib), which is inside that span, and g is the least that puts the minimum of RTT(P)/P where the text has it.
// The sizes are those of the cluster in II.1.3, up to 64 nodes. The text says "up to 40 %", of the time of the fastest
// other barrier measured, a 1-way dissemination; the model lacks the receiver's memory congestion that II.3.1.4 names.
//
// A rank that missed the multicast waits for as many hops of the chain as ranks before it missed it, too: with a share
// e lost, e / (1 - e) in the mean far from the root, "just 1.0" for 50 % (II.3.2.2.2). Here real ranks broadcast over
// the software HCA, which loses datagrams.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "loom/coll/algorithm.hpp"
#include "loom/model/walk.hpp"
#include "loom/reproduce/reproduction.hpp"

namespace loom::reproduce {

namespace {

constexpr model::LogfP paper{.L = nanoseconds(5960),
                             .o_min = nanoseconds(180),
                             .o_max = nanoseconds(1600),
                             .o_receive = {},
                             .g = nanoseconds(1710),
                             .f = 10,
                             .G = 0};
constexpr std::uint32_t most_nodes = 64;
constexpr Rule bound{Rule::Kind::at_most, 1e-9};

Time barrier_time(const Parts& parts, const model::LogfP& parameters, std::uint32_t nodes, std::uint32_t ways) {
    return parts.walk(parts.barrier(nodes, ways), model::charges(parameters)).finish();
}

struct Best {
    Time one, many;
    std::uint32_t ways = 1;
    [[nodiscard]] double left() const { return 100.0 * many.microseconds() / one.microseconds(); }
};

// Among two ways and as many as messages are free; two nodes have one way alone.
Best best(const Parts& parts, const model::LogfP& parameters, std::uint32_t nodes) {
    Best found;
    found.one = found.many = barrier_time(parts, parameters, nodes, 1);
    for (std::uint32_t ways = 2; ways <= paper.f && ways < nodes; ++ways) {
        const Time time = barrier_time(parts, parameters, nodes, ways);
        if (found.ways != 1 && time >= found.many) continue;
        found.many = time;
        found.ways = ways;
    }
    return found;
}

// The mean over the last half of the chain.
Claim law(const Parts& parts, double lost, std::uint32_t ranks, std::uint32_t broadcasts) {
    const std::vector<double> mean = parts.penalty_rounds(lost, ranks, broadcasts);
    const std::size_t from = ranks / 2;
    double ours = 0, expected = 0;
    for (std::size_t place = from; place < ranks; ++place) {
        ours += mean[place] / static_cast<double>(ranks - from);
        // The root is not far: rows of misses end there.
        expected += lost * (1 - std::pow(lost, place)) / (1 - lost) / static_cast<double>(ranks - from);
    }
    const double law = lost / (1 - lost);
    // Four standard errors, as if every second place of a chain were independent of the others.
    const double spread = std::sqrt(lost) / (1 - lost);
    const double room = 4 * spread / std::sqrt(static_cast<double>(broadcasts) * static_cast<double>(ranks - from) / 2);
    return {fmt::format("{:.0f} % of the datagrams lost: {:.2f} penalty rounds in the mean, {:.2f} by the law ({:.2f} "
                        "in a chain of {}), within {:.2f}",
                        100 * lost, ours, law, expected, ranks, room),
            std::abs(ours - expected) <= room};
}

}  // namespace

Result hoefler_barrier(const Parts& parts, const RunOptions& options) {
    Result result;
    result.name = "hoefler-barrier";
    result.title = "n-way dissemination barrier against 1-way by LogfP; penalty rounds of the multicast broadcast";
    result.columns = {{"1-way us", shown, 2}, {"n", shown, 0}, {"n-way us", shown, 2}, {"time left %", bound, 1}};

    Time before{};
    bool grows = true, never_worse = true;
    for (std::uint32_t nodes = 2; nodes <= most_nodes; ++nodes) {
        const Best found = best(parts, paper, nodes);
        never_worse &= found.many <= found.one;
        if ((nodes & (nodes - 1)) != 0) continue;
        grows &= found.one - found.many >= before;
        before = found.one - found.many;
        const std::optional<double> none;
        result.rows.push_back({fmt::format("{} nodes", nodes),
                               {{none, found.one.microseconds()},
                                {none, static_cast<double>(found.ways)},
                                {none, found.many.microseconds()},
                                {nodes == most_nodes ? std::optional<double>(60) : none, found.left()}}});
    }
    if (options.progress) options.progress(0.3);
    result.claims.push_back({"the time gained grows with the node count", grows});
    result.claims.push_back({"with n of at most f, n-way is at no size from 2 to 64 slower than 1-way", never_worse});
    for (const std::int64_t times : {10, 100}) {
        model::LogfP other = paper;
        other.L = other.o_min * times;
        result.claims.push_back({fmt::format("also with an L of {} o_min: 64 nodes in at most 60 % of the time", times),
                                 best(parts, other, most_nodes).left() <= 60});
    }
    if (options.scope == Scope::full) {
        result.claims.push_back(law(parts, 0.1, 12, 300));
        result.claims.push_back(law(parts, 0.25, 12, 300));
    }
    result.claims.push_back(law(parts, 0.5, options.scope == Scope::full ? 12 : 8, 300));
    if (options.progress) options.progress(1.0);
    result.remarks = {
        "the paper's figures with L and g are lost: L is Table II.2's, g the least that f = 10 allows; the claims try "
        "L "
        "at both ends of the span that the text gives",
        "the model gains more than the measured 40 %: it has no memory congestion at the receiver"};
    return result;
}

}  // namespace loom::reproduce
