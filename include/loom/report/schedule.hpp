// A schedule over time: ranks as lines, messages as arrows between them, work as bars.
#pragma once

#include <cstddef>
#include <string>

#include "loom/base/svg.hpp"
#include "loom/model/walk.hpp"
#include "loom/traffic/schedule.hpp"

namespace loom::report {

struct ScheduleFrame {
    std::string title;
    double width = 760;
    double lane = 44;                   // height of a rank
    std::size_t most_messages = 4'000;  // the first ones to begin are drawn, and how many are left out is said
};

// An arrow goes from the beginning of a send to the end of the receive that took it; what a pointer rests on tells its
// bytes and times. Operations that never ended are left out. Throws UsageError when the times are of another schedule.
[[nodiscard]] Svg draw_schedule(const traffic::Schedule& schedule, const model::Prediction& times,
                                const ScheduleFrame& frame);

}  // namespace loom::report
