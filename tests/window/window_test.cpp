// Windows over the transports that need nothing but this program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>

#include "conformance/window/cases.hpp"
#include "loom/base/clock.hpp"
#include "loom/transport/launch.hpp"
#include "loom/transport/open.hpp"
#include "support/network/namespaces.hpp"
#include "window/world_state.hpp"

namespace loom::window {
namespace {

using testing::HasSubstr;
using transport::Launch;
using transport::LaunchOutcome;
using transport::RankLost;
using transport::run_local;
using transport::Transport;
using Settings = std::vector<std::pair<const char*, const char*>>;

Launch over_verbs(std::uint32_t ranks, std::function<int(World&)> act, const Settings& settings = {},
                  WorldOptions options = {}) {
    Launch job;
    job.ranks = ranks;
    job.grace = std::chrono::seconds(20);
    job.timeout = std::chrono::seconds(200);
    job.body = [act = std::move(act), settings, options](Rank) {
        for (const auto& [name, value] : settings) setenv(name, value, 1);
        const auto world = World::open(options);
        const int code = act(*world);
        if (code == 0) world->close();
        return code;
    };
    return job;
}

int all_cases(World& world) {
    conformance::run_window_cases(world);
    return 0;
}

class Windows : public testing::TestWithParam<std::uint32_t> {};

TEST_P(Windows, PassTheCasesOverLocal) {
    EXPECT_NO_THROW(run_local(GetParam(), [](Transport& transport) {
        World world(transport, nullptr);
        conformance::run_window_cases(world);
        world.close();
    }));
}

TEST_P(Windows, PassTheCasesOverLocalWithoutStores) {
    EXPECT_NO_THROW(run_local(GetParam(), [](Transport& transport) {
        World world(transport, nullptr, {.stores = false});
        conformance::run_window_cases(world);
        world.close();
    }));
}

TEST_P(Windows, PassTheCasesOverVerbs) {
    EXPECT_EQ(launch(over_verbs(GetParam(), all_cases)).exit_code(), 0);
}

TEST_P(Windows, PassTheCasesOverVerbsWithoutStores) {
    EXPECT_EQ(launch(over_verbs(GetParam(), all_cases, {}, {.stores = false})).exit_code(), 0);
}

INSTANTIATE_TEST_SUITE_P(Ranks, Windows, testing::Values(1, 2, 3, 5, 8));

// Every rank as if on another host; some so; completions that come late; next to no room.
TEST(WindowsOfSettings, PassTheCasesOverVerbs) {
    for (const Settings& settings :
         {Settings{{"LOOM_HOSTS", "each"}}, Settings{{"LOOM_VERBS_FAULT", "delay=1ms"}},
          Settings{{"LOOM_RING", "4096"}, {"LOOM_EAGER", "1024"}}, Settings{{"LOOM_REGISTRATION_CACHE", "off"}}})
        EXPECT_EQ(launch(over_verbs(3, all_cases, settings)).exit_code(), 0) << settings.front().first;
}

TEST(WindowsBetweenHosts, PassTheCasesOverVerbs) {
    if (!test::may_make_namespaces()) GTEST_SKIP() << "network namespaces need root";
    const test::TwoHosts hosts;
    Launch job = over_verbs(4, all_cases);
    job.body = [body = job.body, &hosts](Rank me) {
        const bool left = me.value % 2 == 0;
        if (setns((left ? hosts.left : hosts.right).descriptor(), CLONE_NEWNET) != 0) return 5;
        const std::string address = left ? test::TwoHosts::left_address : test::TwoHosts::right_address;
        setenv("LOOM_VERBS_HCAS", ("roce:" + address).c_str(), 1);
        return body(me);
    };

    EXPECT_EQ(launch(job).exit_code(), 0);
}

TEST(RandomPrograms, DoWhatASequentialWalkSays) {
    EXPECT_NO_THROW(run_local(3, [](Transport& transport) {
        World world(transport, nullptr);
        for (std::uint64_t seed = 1000; seed < 3000; ++seed) conformance::random_program(world, seed, 3);
        world.close();
    }));
    const auto programs = [](World& world) {
        for (std::uint64_t seed = 3000; seed < 3500; ++seed) conformance::random_program(world, seed, 3);
        return 0;
    };
    EXPECT_EQ(launch(over_verbs(3, programs)).exit_code(), 0);
    EXPECT_EQ(launch(over_verbs(2, programs, {}, {.stores = false})).exit_code(), 0);
}

// Several worlds one after another on a transport leave nothing to each other.
TEST(World, ComesAfterAnother) {
    EXPECT_NO_THROW(run_local(3, [](Transport& transport) {
        for (int i = 0; i < 20; ++i) {
            World world(transport, nullptr);
            Window window = world.team().create({});
            window.notify(Rank{(world.rank().value + 1) % 3}, Tag{1});
            if (i % 2 == 0) window.wait(Tag{1});
            world.close();
        }
    }));
}

TEST(World, FreesItsWindowsWhenItIsClosed) {
    run_local(2, [](Transport& transport) {
        World world(transport, nullptr);
        Window window = world.team().create({});
        world.close();
        EXPECT_TRUE(window.is_freed());
        EXPECT_THROW(window.notify(Rank{0}, Tag{0}), WindowFreed);
        EXPECT_THROW((void)test(world, Tag{0}), WindowFreed);
        EXPECT_THROW(world.team().barrier(), WindowFreed);
        EXPECT_THROW((void)world.team().create({}), WindowFreed);
    });
}

TEST(World, RefusesWindowsThatRanksDoNotAgreeAbout) {
    run_local(3, [](Transport& transport) {
        World world(transport, nullptr);
        EXPECT_THROW((void)world.team().create({}, {.tags = world.rank().value == 1 ? 5u : 6u}), UsageError);
        Window window = world.team().create({});
        window.notify(world.rank(), Tag{3});
        window.wait(Tag{3});
        world.close();
    });
}

TEST(Stalls, NameACircle) {
    std::string text;
    run_local(3, [&](Transport& transport) {
        World world(transport, nullptr);
        Window window = world.team().create({});
        const std::uint32_t me = world.rank().value;
        const Rank left{(me + 2) % 3};
        // The first gives up; it lets the others go on.
        try {
            window.wait({Tag{5 + me}, left}, 2, me == 0 ? seconds(1) : never);
        } catch (const Stalled& stalled) {
            text = stalled.what();
            for (const std::uint32_t other : {1u, 2u})
                for (int i = 0; i < 2; ++i) window.notify(Rank{other}, Tag{90});
        }
        if (me == 0) world.progress();
        if (me == 0) window.put_notify(Rank{1}, 0, {}, Tag{6}), window.put_notify(Rank{1}, 0, {}, Tag{6});
        if (me == 1) window.notify(Rank{2}, Tag{7}), window.notify(Rank{2}, Tag{7});
        world.close();
    });

    EXPECT_THAT(text,
                HasSubstr("after 1 s rank 0 waits for tag 5 of window 1 from rank 2, has 0 of 2; a circle: rank "
                          "0 waits for rank 2, which waits for rank 1, which waits for rank 0; it could come from "
                          "rank 2; rank 2 waits for tag 7 of window 1 from rank 1"));
}

TEST(Stalls, NameWhoCouldSendAndWhatIsThereInstead) {
    std::string text, report;
    run_local(2, [&](Transport& transport) {
        World world(transport, nullptr, {.patience = milliseconds(300)});
        Window window = world.team().create({});
        if (world.rank() == Rank{1}) window.notify(Rank{0}, Tag{8});
        world.team().barrier();
        if (world.rank() == Rank{0}) {
            try {
                window.wait({Tag{16}, 0xf0});
            } catch (const Stalled& stalled) {
                text = stalled.what();
            }
            report = world.who_waits_for_whom();
            window.notify(Rank{1}, Tag{1});
        } else {
            window.wait(Tag{1}, 1, never);
        }
        world.close();
    });

    EXPECT_THAT(text,
                HasSubstr("rank 0 waits for tags that are 16 in the bits 240 of window 1 from anybody (but 1 other "
                          "is there, the oldest of tag 8 of window 1 from rank 1); all ranks wait, none is left "
                          "that could send it; rank 1 waits for tag 1 of window 1 from anybody"));
    EXPECT_THAT(report, HasSubstr("rank 1 waits for tag 1 of window 1 from anybody\n"));
}

// What stands in memory that another process writes.
TEST(HostileRank, IsNamedWhenItNotifiesATagThatTheWindowHasNot) {
    std::string text;
    run_local(2, [&](Transport& transport) {
        World world(transport, nullptr);
        Window window = world.team().create({}, {.tags = 16});
        if (world.rank() == Rank{1}) {
            window.wait(Tag{2});
            world.state().lanes.send(Rank{0}, to_word({WindowId{1}, Tag{16}}));
            window.notify(Rank{0}, Tag{1});
        } else {
            window.notify(Rank{1}, Tag{2});
            try {
                window.wait(Tag{1});
            } catch (const Error& error) {
                text = error.what();
            }
            window.wait(Tag{1});
        }
        world.close();
    });

    EXPECT_EQ(text, "rank 1 notified tag 16 of window 1, which it cannot");
}

TEST(HostileRank, IsNamedWhenItSendsNoStamp) {
    std::string text;
    run_local(2, [&](Transport& transport) {
        World world(transport, nullptr, {.stores = false});
        Window window = world.team().create({});
        if (world.rank() == Rank{1}) {
            window.wait(Tag{2});
            transport::Message message;
            (void)transport.put_notify(Rank{0}, world.state().areas[0], 0, {}, ~std::uint64_t{0}, message);
            window.notify(Rank{0}, Tag{1});
        } else {
            window.notify(Rank{1}, Tag{2});
            try {
                window.wait(Tag{1});
            } catch (const Error& error) {
                text = error.what();
            }
            window.wait(Tag{1});
        }
        world.close();
    });

    EXPECT_EQ(text, "rank 1 sent a notification of no window");
}

TEST(HostileRank, OfNoTeamOfAWindowCannotNotifyThere) {
    const auto job = [](Transport& transport) {
        World world(transport, nullptr);
        const auto team = world.team().split(world.rank().value < 2 ? 0u : 1u, 0);
        const Window window = team->create({});
        if (world.rank() == Rank{2}) world.state().lanes.send(Rank{0}, to_word({window.state().id, Tag{1}}));
        world.team().barrier();
        world.progress();
        world.close();
    };
    std::string text;
    try {
        run_local(3, job);
    } catch (const RankLost&) {
        text = "only a loss";
    } catch (const Error& error) {
        text = error.what();
    }

    EXPECT_EQ(text, "rank 2 notified tag 1 of window 1, which it cannot");
}

// With stores and without.
class LostRanks : public testing::TestWithParam<bool> {
protected:
    static WorldOptions options() { return {.stores = GetParam(), .patience = seconds(100)}; }
};
INSTANTIATE_TEST_SUITE_P(Ways, LostRanks, testing::Bool());

#define CHECK_RANK(condition) \
    if (!(condition)) return __LINE__

template <class Act>
bool loses(Rank who, const Act& act) {
    try {
        act();
    } catch (const RankLost& lost) {
        return lost.rank == who;
    }
    return false;
}

TEST_P(LostRanks, EndEveryWait) {
    const auto act = [](World& world) {
        Window window = world.team().create(world.allocate(4096));
        if (world.rank() == Rank{2}) raise(SIGKILL);
        CHECK_RANK(loses(Rank{2}, [&] { window.wait({Tag{1}, Rank{2}}); }));
        CHECK_RANK(loses(Rank{2}, [&] { window.wait(Tag{1}); }));
        CHECK_RANK(loses(Rank{2}, [&] { wait(world, Tag{2}); }));
        CHECK_RANK(loses(Rank{2}, [&] {
            window.put_value(Rank{2}, 0, 1);
            window.flush(Rank{2});
        }));
        CHECK_RANK(loses(Rank{2}, [&] { window.flush(); }));
        CHECK_RANK(loses(Rank{2}, [&] { world.team().barrier(); }));
        // The others go on.
        const Rank other{1 - world.rank().value};
        window.put_value_notify(other, 8, 5, Tag{3});
        window.wait({Tag{3}, other});
        return 99;
    };
    const LaunchOutcome outcome = launch(over_verbs(3, act, {}, options()));

    EXPECT_FALSE(outcome.timed_out);
    EXPECT_EQ(outcome.ranks[0].exit_code, 99);
    EXPECT_EQ(outcome.ranks[1].exit_code, 99);
}

// What a rank told before it died is not lost with it.
TEST_P(LostRanks, LeaveWhatTheyToldBefore) {
    const auto act = [](World& world) {
        const std::span<std::byte> memory = world.allocate(4096);
        Window window = world.team().create(memory);
        if (world.rank() == Rank{1}) {
            for (std::uint64_t i = 0; i < 100; ++i) window.put_value_notify(Rank{0}, 8 * i, i, Tag{4});
            window.flush();
            world.team().barrier();
            raise(SIGKILL);
        }
        world.team().barrier();
        CHECK_RANK(loses(Rank{1}, [&] { window.wait({Tag{5}, Rank{1}}); }));
        window.wait({Tag{4}, Rank{1}}, 100);
        for (std::uint64_t i = 0; i < 100; ++i) CHECK_RANK(std::memcmp(memory.data() + 8 * i, &i, 8) == 0);
        CHECK_RANK(loses(Rank{1}, [&] { window.wait({Tag{4}, Rank{1}}); }));
        return 99;
    };
    const LaunchOutcome outcome = launch(over_verbs(2, act, {}, options()));

    EXPECT_FALSE(outcome.timed_out);
    EXPECT_EQ(outcome.ranks[0].exit_code, 99);
}

TEST_P(LostRanks, AreFoundWhileTheyAreSentTo) {
    const auto act = [](World& world) {
        Window window = world.team().create(world.allocate(4096));
        if (world.rank() == Rank{1}) raise(SIGKILL);
        CHECK_RANK(loses(Rank{1}, [&] {
            for (std::uint64_t i = 0;; ++i) {
                window.put_value_notify(Rank{1}, 0, i, Tag{4});
                if (i % 100 == 0) window.flush(Rank{1});
            }
        }));
        return 99;
    };
    const LaunchOutcome outcome = launch(over_verbs(2, act, {}, options()));

    EXPECT_FALSE(outcome.timed_out);
    EXPECT_EQ(outcome.ranks[0].exit_code, 99);
}

}  // namespace
}  // namespace loom::window
