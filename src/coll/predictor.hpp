// How long the algorithms take for one call, by walks of their schedules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "coll/alike.hpp"
#include "coll/whole.hpp"
#include "loom/base/time.hpp"
#include "loom/coll/algorithm.hpp"
#include "loom/model/walk.hpp"

namespace loom::coll {

// Ranks of the largest groups whose schedules are all walked as they are.
inline constexpr std::uint32_t most_walked = 8;
inline constexpr std::uint64_t most_segments = 8;  // of a long message that are walked

// Bytes that a core of the first host works on: of all buffers of its ranks where costs are known by that; else what is
// written, and as much that is read for it. 0 where charges are the same for all sizes.
[[nodiscard]] std::uint64_t working_set(const Whole& all, const Group& group, const model::Charges& charges);

// What it is given must outlive it. Integers throughout, and of the call only what all ranks know: the same on every
// rank.
class Predictor {
public:
    Predictor(const Group& group, const Call& call, const model::Charges& charges);

    [[nodiscard]] const Group& group() const { return group_; }
    [[nodiscard]] const Call& call() const { return call_; }
    [[nodiscard]] const model::Charges& charges() const { return charges_; }
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }  // by which the call is judged
    // Ranks wait for a core of their host.
    [[nodiscard]] bool takes_turns() const { return charges_.host_cores != 0; }

    // The schedule as it is, but of long messages a few segments whose growth is taken to go on.
    [[nodiscard]] Time walk_whole(const Algorithm& algorithm, const Tuning& tuning);
    // From smaller groups of the same kind, the largest of which has up to `most` operations. An algorithm with n ways
    // gets a round more for every n + 1 times as many ranks: thinned so, groups differ by rounds alone. Those whose
    // ranks have a step for every rank take a time for each. All others get a time for every doubling and, where
    // messages grow with the group, one for each rank.
    [[nodiscard]] Time sketch(const Algorithm& algorithm, const Tuning& tuning, std::uint64_t most);

    // Of all ranks, about.
    [[nodiscard]] std::uint64_t operations_in_whole(const Algorithm& algorithm, const Tuning& tuning);
    [[nodiscard]] std::uint64_t operations_of_last() const { return last_; }     // of what was predicted last
    [[nodiscard]] std::size_t operations_walked() const { return operations_; }  // for all predictions so far

    // What a schedule makes ranks do, whatever that costs. Of a segment where the message is long; but for rounds(), of
    // a smaller group where this one is large. `never` in picoseconds where the algorithm does not fit that.
    //
    // Messages one after another, from the first to the last.
    [[nodiscard]] std::int64_t rounds(const Algorithm& algorithm, const Tuning& tuning);
    // The same, and local work between them.
    [[nodiscard]] std::int64_t depth(const Algorithm& algorithm, const Tuning& tuning);
    // With the bytes of large messages, on all cores together.
    [[nodiscard]] std::int64_t work(const Algorithm& algorithm, const Tuning& tuning);

private:
    struct Part {
        std::uint64_t operations = 0;  // of a rank in the middle
        std::uint64_t all = 0;         // about: of all ranks
        bool divides = false;          // no message of it is as long as it could be
    };
    struct Point {
        std::uint32_t ranks;
        std::int64_t time;
    };
    enum class Growth : std::uint8_t { rounds, ranks, both };

    [[nodiscard]] std::int64_t goes_on(std::span<const Point> points, std::size_t steps, Growth growth) const;
    [[nodiscard]] std::uint64_t known_segments(const Tuning& tuning) const;
    [[nodiscard]] std::uint32_t ranks_in(const Extent& extent) const;
    [[nodiscard]] bool fits(const Algorithm& algorithm, const Extent& extent);
    [[nodiscard]] Part typical_part(const Algorithm& algorithm, const Tuning& tuning, const Extent& extent,
                                    std::uint64_t bytes);
    [[nodiscard]] std::uint64_t operations_in(const Algorithm& algorithm, const Tuning& tuning, const Extent& extent);
    [[nodiscard]] Time for_extent(const Algorithm& algorithm, const Tuning& tuning, const Extent& extent,
                                  std::uint64_t bytes);
    [[nodiscard]] Time walk_one(const Algorithm& algorithm, const Tuning& tuning, const Extent& extent,
                                std::uint64_t bytes);

    [[nodiscard]] const Alike& alike(const Extent& extent, std::uint64_t bytes);
    [[nodiscard]] const Whole* whole_of(const Algorithm& algorithm, const Tuning& tuning, const Extent& extent,
                                        std::uint64_t bytes);
    [[nodiscard]] const Whole* whole_of_few(const Algorithm& algorithm, const Tuning& tuning);

    const Group& group_;
    const Call& call_;
    const model::Charges& charges_;
    std::uint64_t bytes_;
    Extent whole_;
    std::size_t operations_ = 0;
    std::uint64_t last_ = 0;

    // What was made last is often wanted again.
    std::optional<Alike> alike_;
    Extent alike_extent_;
    std::uint64_t alike_bytes_ = 0;
    WholeBuilder builder_;
    struct Built {
        const Algorithm* algorithm;
        Tuning tuning;
        std::uint64_t bytes;
        Whole whole;
    };
    std::vector<Built> built_;  // small schedules of the whole group
};

}  // namespace loom::coll
