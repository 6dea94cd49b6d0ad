#include <gtest/gtest.h>
#include <sys/resource.h>

#include "loom/transport/waiting.hpp"

namespace loom::transport {
namespace {

// How often this thread has given its core away of its own accord.
long naps() {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
}

TEST(Pauses, ALongWaitLeavesTheCoreToOthersNowAndThen) {
    const long before = naps();
    Pauses pauses(Waiting::spin);
    for (std::uint32_t i = 0; i < 4 * Pauses::looks_between_naps; ++i) pauses.next();

    EXPECT_GE(naps() - before, 1);
}

TEST(Pauses, ShortOnesOnlySpin) {
    const long before = naps();
    for (int wait = 0; wait < 4; ++wait) {
        Pauses pauses(Waiting::spin);
        for (std::uint32_t i = 1; i < Pauses::looks_between_naps; ++i) pauses.next();
    }

    EXPECT_LT(naps() - before, 4);
}

}  // namespace
}  // namespace loom::transport
