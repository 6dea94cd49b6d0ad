#include "loom/base/scheduling.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace loom {

void ask_for_short_slices() {
    struct {
        std::uint32_t size, policy;
        std::uint64_t flags;
        std::int32_t nice;
        std::uint32_t priority;
        std::uint64_t runtime, deadline, period;
    } attributes{};
    static_assert(sizeof attributes == 48);
    if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0 || attributes.policy != SCHED_OTHER)
        return;
    attributes.size = sizeof attributes;
    attributes.runtime = 100'000;  // ns, the shortest that can be asked for
    syscall(SYS_sched_setattr, 0, &attributes, 0);
}

int take_real_time_priority(pthread_t thread) {
    sched_param lowest{};
    lowest.sched_priority = sched_get_priority_min(SCHED_RR);
    return pthread_setschedparam(thread, SCHED_RR, &lowest);
}

}  // namespace loom
