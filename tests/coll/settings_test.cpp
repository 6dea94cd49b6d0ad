// Whoever reads of a mistake in a setting learns which one it was: they come from a site's profile as often as not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "coll/choice.hpp"
#include "loom/coll/world.hpp"
#include "loom/transport/open.hpp"
#include "support/variable.hpp"

namespace loom::coll {
namespace {

using loom::test::Variable;
using testing::HasSubstr;
using testing::StartsWith;
using testing::ThrowsMessage;

TEST(Settings, OfAlgorithmsAreNamedInTheirErrors) {
    for (const char* text :
         {"allreduce=zz", "allrduce=ring", "allreduce", "allreduce=ring:x", "barrier=dissemination::y"})
        EXPECT_THAT([&] { (void)parse_rules(text); },
                    ThrowsMessage<UsageError>(AllOf(StartsWith("LOOM_COLL: "), HasSubstr(text))));
}

TEST(Settings, OfAlgorithmsSayEachThingOnce) {
    EXPECT_EQ(parse_rules("allreduce=ring,barrier=dissemination::4").size(), 2u);
    EXPECT_THAT([] { (void)parse_rules("allreduce=ring,barrier=dissemination,allreduce=linear"); },
                ThrowsMessage<UsageError>("LOOM_COLL: allreduce=linear: allreduce is given twice"));
    EXPECT_THAT([] { (void)parse_rules("broadcast=linear,bcast=linear"); },
                ThrowsMessage<UsageError>("LOOM_COLL: bcast=linear: broadcast is given twice"));
}

TEST(Settings, OfTheOrderOfRanksAreNamedInTheirErrors) {
    const Variable order("LOOM_RANK_ORDER", "/nonexistent");

    EXPECT_THAT([] { run_local(1, [](World&) {}); },
                ThrowsMessage<UsageError>(AllOf(StartsWith("LOOM_RANK_ORDER: "), HasSubstr("/nonexistent"))));
}

TEST(Settings, OfTheTransportAreNamedInTheirErrors) {
    const Variable transport("LOOM_TRANSPORT", "zz");
    const Variable bootstrap("LOOM_BOOTSTRAP", "alone");
    const auto alone = transport::find_bootstrap();

    EXPECT_THAT([&] { (void)transport::open_transport(*alone); },
                ThrowsMessage<UsageError>(AllOf(StartsWith("LOOM_TRANSPORT: "), HasSubstr("zz"))));
    EXPECT_THAT([&] { (void)transport::open_transport(*alone, "yy"); },
                ThrowsMessage<UsageError>(StartsWith("no such transport: yy")));
}

}  // namespace
}  // namespace loom::coll
