// Every algorithm against the meaning of its collective, on random calls.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "loom/coll/algorithm.hpp"
#include "reference/collective_cases.hpp"
#include "reference/plan_interpreter.hpp"

namespace loom::coll {
namespace {

using reference::CollectiveCase;
using reference::RankData;

std::vector<Plan> plans_of(const Algorithm& algorithm, const CollectiveCase& one, const Tuning& tuning) {
    std::vector<Plan> plans;
    for (std::uint32_t r = 0; r < one.group.size; ++r) {
        Group group = one.group;
        group.me = Rank{r};
        plans.push_back(make_plan(algorithm, group, one.calls[r], tuning));
    }
    return plans;
}

// Empty when all is well.
std::string trouble(const Algorithm& algorithm, const CollectiveCase& one, const Tuning& tuning, std::uint64_t seed) {
    const auto plans = plans_of(algorithm, one, tuning);
    for (const Plan& plan : plans)
        if (std::string race = reference::find_race(plan); !race.empty()) return race;
    std::vector<RankData> data = one.before;
    try {
        reference::run_plans(plans, data, &one.op, seed);
    } catch (const std::runtime_error& error) {
        return error.what();
    }
    const auto expected = reference::run_collective(one.group, one.calls, one.before, &one.op);
    for (std::uint32_t r = 0; r < one.group.size; ++r) {
        if (data[r].input != one.before[r].input) return "the input of rank " + std::to_string(r) + " has changed";
        const auto end = static_cast<std::ptrdiff_t>(expected[r].defined);
        if (!std::equal(data[r].output.begin(), data[r].output.begin() + end, expected[r].output.begin()))
            return "the output of rank " + std::to_string(r) + " is wrong";
    }
    return {};
}

Tuning random_tuning(Random& random, const Algorithm& algorithm) {
    Tuning tuning;
    if (algorithm.segments) tuning.segment = random.below(3) == 0 ? 0 : 20 + random.below(100);
    if (algorithm.ways) tuning.ways = random.below(6);
    return tuning;
}

// LOOM_TEST_CASES multiplies the number of random cases.
std::uint64_t effort() {
    const char* text = std::getenv("LOOM_TEST_CASES");
    return text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
}

class EveryAlgorithm : public testing::TestWithParam<std::size_t> {};

TEST_P(EveryAlgorithm, does_what_its_collective_means) {
    const auto what = static_cast<Collective>(GetParam());
    constexpr std::uint32_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 16, 17};
    std::size_t tried = 0;

    for (const std::uint32_t size : sizes)
        for (std::uint64_t seed = 1; seed <= (size > 9 ? 6 : 20) * effort(); ++seed) {
            const auto one = reference::random_case(seed * 1000 + GetParam(), what, size);
            for (const Algorithm& algorithm : algorithms(what)) {
                if (!algorithm.fits(one->group, one->calls[0])) continue;
                Random random(seed);
                const Tuning tuning = random_tuning(random, algorithm);
                const std::string wrong = trouble(algorithm, *one, tuning, seed);
                ASSERT_EQ(wrong, "") << algorithm.name << " on " << size << " ranks, seed " << seed << ", "
                                     << one->calls[0].bytes << " bytes, segment " << tuning.segment << ", ways "
                                     << tuning.ways
                                     << (one->calls[one->calls[0].root.value].in_place ? ", in place" : "")
                                     << (one->calls[0].commutative ? "" : ", ordered") << ", root "
                                     << one->calls[0].root.value;
                ++tried;
            }
        }

    EXPECT_GT(tried, 100u);
}

INSTANTIATE_TEST_SUITE_P(, EveryAlgorithm, testing::Range(std::size_t{0}, collectives),
                         [](const auto& name) { return std::string(to_string(static_cast<Collective>(name.param))); });

TEST(Algorithms, the_first_fits_always) {
    for (std::size_t i = 0; i < collectives; ++i)
        for (const std::uint32_t size : {1u, 2u, 6u}) {
            const auto one = reference::random_case(size, static_cast<Collective>(i), size);

            const auto list = algorithms(static_cast<Collective>(i));

            ASSERT_FALSE(list.empty());
            EXPECT_TRUE(list[0].fits(one->group, one->calls[0])) << to_string(static_cast<Collective>(i));
            for (const Algorithm& algorithm : list) EXPECT_EQ(algorithm.what, static_cast<Collective>(i));
        }
}

// Fragments are of a datagram's size: thousands of them would take longer than anything else.
TEST(Algorithms, multicast_is_for_messages_of_few_datagrams) {
    const Algorithm& multicast = find_algorithm(Collective::broadcast, "multicast");
    Group group;
    group.size = 8;
    Call call;
    call.what = Collective::broadcast;

    for (const std::uint64_t bytes : {0u, 1000u, 64'000u}) {
        call.bytes = bytes;
        EXPECT_TRUE(multicast.fits(group, call)) << bytes;
    }
    for (const std::uint64_t bytes : {65'536u, 1u << 20}) {
        call.bytes = bytes;
        EXPECT_FALSE(multicast.fits(group, call)) << bytes;
    }
}

TEST(Algorithms, are_found_by_name) {
    EXPECT_EQ(find_algorithm(Collective::allreduce, "ring").name, "ring");
    EXPECT_EQ(parse_collective("bcast"), Collective::broadcast);
    EXPECT_EQ(parse_collective("reduce_scatter"), Collective::reduce_scatter);
    EXPECT_THROW((void)find_algorithm(Collective::allreduce, "rings"), UsageError);
    EXPECT_THROW((void)parse_collective("allreduces"), UsageError);
}

}  // namespace
}  // namespace loom::coll
