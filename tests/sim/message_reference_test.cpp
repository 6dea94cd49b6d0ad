// The message level equals its slow, obvious version on schedules that no one would write.
#include <gtest/gtest.h>

#include "loom/base/error.hpp"
#include "reference/loggops.hpp"
#include "reference/random_schedules.hpp"
#include "sim/engines.hpp"

namespace loom::sim {
namespace {

using reference::make_random;
using reference::RandomSchedule;

struct Case {
    const char* name;
    RandomSchedule shape;
    bool handshake = false;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
    return out << c.name;
}

// Times that often coincide, so that the order of events at one time is tried; rendezvous for half of the messages.
Options options_of(std::uint64_t seed, bool handshake) {
    Random random(seed);
    Options options;
    options.message.handshake = handshake;
    options.message.parameters = {.L = nanoseconds(random.below(6)),
                                  .o = nanoseconds(random.below(4)),
                                  .g = nanoseconds(random.below(5)),
                                  .G = 1000 * random.below(3),
                                  .O = 1000 * random.below(2),
                                  .S = 20};
    return options;
}

class MessageLevel : public testing::TestWithParam<Case> {};

TEST_P(MessageLevel, EqualsTheReference) {
    int ended = 0;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        const traffic::Schedule schedule = make_random(GetParam().shape, seed);
        const Options options = options_of(seed, GetParam().handshake);
        const reference::LogGops expected(schedule, options);
        const auto simulation = make_message_simulation(schedule, options);

        const State state = simulation->advance(never);

        ASSERT_EQ(state, expected.finished() ? State::finished : State::stuck) << seed;
        ASSERT_EQ(simulation->rank_ends(), expected.ends()) << seed;
        ASSERT_EQ(simulation->work().events, expected.events()) << seed;
        ended += expected.finished();
    }
    EXPECT_GT(ended, 50) << "too few schedules end to say much";
}

TEST_P(MessageLevel, MayBePlayedInPieces) {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        const traffic::Schedule schedule = make_random(GetParam().shape, seed);
        const Options options = options_of(seed, GetParam().handshake);
        const auto whole = make_message_simulation(schedule, options);
        whole->advance(never);

        const auto pieces = make_message_simulation(schedule, options);
        State state = State::running;
        for (Time until{}; state == State::running; until += nanoseconds(7)) {
            state = pieces->advance(until);
            if (state == State::running) {
                ASSERT_EQ(pieces->now(), until);
            }
        }

        EXPECT_EQ(pieces->rank_ends(), whole->rank_ends()) << seed;
        EXPECT_EQ(pieces->now(), whole->now()) << seed;
        EXPECT_EQ(pieces->work().events, whole->work().events) << seed;
    }
}

INSTANTIATE_TEST_SUITE_P(
    Random, MessageLevel,
    testing::Values(
        Case{"plain", {}}, Case{"two_ranks", {.ranks = 2, .messages = 12, .tags = 1}},
        Case{"no_work", {.most_work = 0}}, Case{"narrow", {.ranks = 12, .messages = 120, .tags = 2, .narrow = true}},
        Case{"many_tags", {.ranks = 3, .messages = 150, .most_bytes = 20, .tags = 100, .narrow = true}},
        Case{"wild", {.ranks = 3, .messages = 10, .most_bytes = 20, .tags = 1, .wild = true, .narrow = true}},
        Case{"wild_tags", {.ranks = 2, .messages = 12, .most_bytes = 20, .tags = 40, .wild = true}},
        Case{"cores", {.cores = 3}}, Case{"adapters", {.cores = 2, .adapters = 3}}, Case{"handshake", {}, true},
        Case{"handshake_narrow", {.ranks = 12, .messages = 120, .narrow = true}, true},
        Case{"handshake_cores", {.cores = 2, .adapters = 2}, true}),
    [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace loom::sim
