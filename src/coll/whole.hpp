// The schedule of all ranks, with what the model has to know beside it.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "loom/coll/algorithm.hpp"
#include "loom/coll/plan.hpp"
#include "loom/traffic/schedule.hpp"

namespace loom::coll {

struct Whole {
    traffic::Schedule schedule;
    std::vector<std::uint8_t> in_scratch;  // by operation: a send from scratch memory or a receive into it
    std::vector<std::uint64_t> touched;    // by rank: bytes of its buffers, from the first to the last that is used
};
// Builds one after another in the same memory.
class WholeBuilder {
public:
    // As whole_schedule(). Stays until the next call.
    [[nodiscard]] const Whole& build(const Algorithm& algorithm, const Group& group, std::span<const Call> call_of,
                                     const Tuning& tuning);
    // What was built last.
    [[nodiscard]] Whole take() { return std::move(whole_); }

private:
    void take_part();

    traffic::ScheduleBuilder builder_{0};
    Writer writer_{0, Rank{0}};
    Whole whole_;
};

[[nodiscard]] Whole whole(const Algorithm& algorithm, const Group& group, std::span<const Call> call_of,
                          const Tuning& tuning);

}  // namespace loom::coll
