// Times of an operation on the ranks of one host, all of which begin it at one instant.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "loom/base/time.hpp"
#include "loom/coll/communicator.hpp"
#include "loom/coll/request.hpp"
#include "loom/coll/world.hpp"

namespace loom::coll {

// The times of some rounds: from the common beginning to the end of each rank.
struct RoundTimes {
    std::uint32_t ranks = 1;
    std::vector<Time> ends;  // those of round 0 by rank, then those of round 1...

    [[nodiscard]] std::size_t rounds() const { return ends.size() / ranks; }
    void add(const RoundTimes& more);
    // The last rank's end, by round; or the end of one rank.
    [[nodiscard]] std::vector<Time> last() const;
    [[nodiscard]] std::vector<Time> of(Rank rank) const;
};

// The value below which a share of them lies; of at least one.
[[nodiscard]] Time quantile(std::vector<Time> times, double share);

// Rank 0 names an instant of the host's clock, everybody waits for it and begins: nobody is late because he heard last.
// A round that a rank heard of too late does not count, unless all are so. Two small operations for each, outside the
// times.
class Rounds {
public:
    // Throws UsageError for ranks of several hosts, whose clocks differ, and in virtual time.
    explicit Rounds(World& world);

    // Collective. Runs `begin` and waits for it, `warm_up` times and then `rounds` times that count, fewer where they
    // take longer than `most` together (but three). The same on all ranks; the times are rank 0's alone.
    [[nodiscard]] RoundTimes run(const std::function<Request()>& begin, std::uint32_t warm_up, std::uint32_t rounds,
                                 Time most);

private:
    struct Word {
        std::int64_t begin = 0;  // by the host's clock, in ns
        std::int64_t goes_on = 0;
    };
    void await(std::int64_t begin) const;
    // Negative where this rank heard too late.
    [[nodiscard]] Time one(const std::function<Request()>& begin, bool goes_on, bool& last);

    World& world_;
    Communicator everyone_;
    bool crowded_;
    std::int64_t lead_;  // ns from rank 0's word to the instant
    std::vector<Time> mine_;
};

}  // namespace loom::coll
