#include "loom/model/assumed.hpp"

#include <gtest/gtest.h>

#include <set>

#include "loom/base/error.hpp"

namespace loom::model {
namespace {

TEST(Assumed, HasAReasonForEveryNumber) {
    std::set<std::string_view> names;

    for (const Assumption& each : assumptions()) {
        EXPECT_TRUE(names.insert(each.name).second) << each.name;
        EXPECT_GT(each.value, 0) << each.name;
        EXPECT_FALSE(each.unit.empty()) << each.name;
        EXPECT_GT(each.reason.size(), 5u) << each.name;
    }

    EXPECT_TRUE(names.contains("copy"));
    EXPECT_TRUE(names.contains("reduce"));
}

TEST(Assumed, LocalCostsAreTheSameForAllModels) {
    const std::uint32_t hosts[] = {0, 0};

    EXPECT_EQ(assumed_charges(hosts, 2).local, assumed_local());
    EXPECT_EQ(LogGp{}.local.copy, assumed_local().copy);
    EXPECT_EQ(LogfP{}.local.reduce, assumed_local().reduce);
}

// 8 bits at 100 Gbit/s are 80 ps; two hosts, three switches of 100 ns and four cables of 50 ns between them.
TEST(Assumed, ALinkHasItsRateAndItsDelays) {
    EXPECT_EQ(Link{}.byte_ps(), 80);
    EXPECT_EQ(Link{.megabits = 8'000}.byte_ps(), 1'000);
    EXPECT_EQ(Link{.megabits = 800'000}.byte_ps(), 10);
    EXPECT_EQ(Link{}.latency(), nanoseconds(2 * 200 + 3 * 100 + 4 * 50));
    EXPECT_EQ(Link{.switches = 1}.latency(), nanoseconds(2 * 200 + 100 + 2 * 50));
    EXPECT_THROW((void)Link{.megabits = 0}.byte_ps(), UsageError);
}

TEST(Assumed, ALinkChangesWaysBetweenHostsAlone) {
    const std::uint32_t hosts[] = {0, 0, 1, 1};
    const Charges before = assumed_charges(hosts, 2);

    const Charges after = with_link(before, {.megabits = 200'000});

    EXPECT_EQ(after.way, before.way);
    EXPECT_EQ(after.local, before.local);
    ASSERT_TRUE(after.far.has_value());
    EXPECT_EQ(after.far->small.gap_byte, 40);
    EXPECT_EQ(after.far->small.latency, nanoseconds(900));
    EXPECT_EQ(after.far->small.send, before.far->small.send);
}

// o + L + o and 7 bytes after the first at 80 ps.
TEST(Assumed, AMessageOverALinkTakesWhatTheFormulaSays) {
    const std::uint32_t hosts[] = {0, 1};
    traffic::ScheduleBuilder builder(2);
    traffic::Op send;
    send.kind = traffic::OpKind::send;
    send.peer = Rank{1};
    send.amount = 8;
    builder.add(Rank{0}, send);
    builder.receive(Rank{1}, Rank{0}, 8);
    Charges charges = with_link(assumed_charges(hosts, 1), {});
    charges.far->small.send_first = Time{};
    charges.far->small.take_byte = 0;

    const Prediction prediction = walk(builder.build(), charges, hosts);

    EXPECT_EQ(prediction.finish(), nanoseconds(120 + 900 + 120) + Time{7 * 80});
}

TEST(Assumed, MoreRanksThanCoresWaitForTurns) {
    const std::uint32_t hosts[] = {0, 0, 0, 0};

    EXPECT_EQ(assumed_charges(hosts, 4).host_cores, 0u);
    EXPECT_EQ(assumed_charges(hosts, 2).host_cores, 2u);
    EXPECT_GT(assumed_charges(hosts, 2).way.small.latency, assumed_charges(hosts, 4).way.small.latency);
}

TEST(Assumed, OneLineSaysWhatWasTaken) {
    const std::uint32_t hosts[] = {0, 1};

    EXPECT_EQ(costs_line(assumed_local(), "assumed"), "costs: copy 0.1 ns/B, reduce 0.2 ns/B, step 30 ns (assumed)");
    EXPECT_EQ(costs_line(with_link(assumed_charges(hosts, 1), {}), "from costs.txt"),
              "costs: copy 0.1 ns/B, reduce 0.2 ns/B, step 30 ns, o 120 ns, L 900 ns, g 0 s, G 0.08 ns/B (from "
              "costs.txt)");
}

}  // namespace
}  // namespace loom::model
