#include "loom/verbs/measure.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace loom::verbs {
namespace {

TEST(Measure, TwoSoftwareHcasAreMeasuredAndTheirPathIsNamed) {
    setenv("LOOM_VERBS_HCAS", "2", 1);
    const Functions functions(soft_library().string());
    std::uint64_t asked = 0;
    // Counters of a path that everything takes, and of one that nothing does.
    const PathCounters counters = [&](const std::string& device) {
        EXPECT_EQ(device, "loom0");
        return std::vector<SentBytes>{{"none", 5}, {"all", ++asked}};
    };

    const std::vector<Speed> speeds = measure(functions, counters);

    ASSERT_EQ(speeds.size(), 7u);
    EXPECT_EQ(speeds.front().size, 8u);
    EXPECT_EQ(speeds.back().size, 2u << 20);
    EXPECT_EQ(asked, 14u);
    for (const Speed& speed : speeds) {
        EXPECT_GT(speed.send_us, 0);
        EXPECT_GT(speed.write_gbs, 0);
        EXPECT_GT(speed.read_gbs, 0);
        EXPECT_EQ(speed.path, "all");
    }
    unsetenv("LOOM_VERBS_HCAS");
}

}  // namespace
}  // namespace loom::verbs
