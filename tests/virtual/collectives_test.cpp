// Collectives of ranks that run take what a simulation of their exported schedule takes, to the picosecond.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "loom/base/clock.hpp"
#include "loom/coll/algorithm.hpp"
#include "loom/coll/world.hpp"
#include "loom/twin/run.hpp"
#include "reference/collective_cases.hpp"
#include "reference/message_options.hpp"
#include "virtual/tree.hpp"

namespace loom::twin {
namespace {

using coll::Algorithm;
using coll::Collective;
using coll::Tuning;
using reference::CollectiveCase;
using reference::RankData;

constexpr std::uint32_t context = 0x80000;  // of communicators with neighbours

coll::Communicator communicator_of(coll::World& world, const CollectiveCase& one) {
    if (one.neighbours.empty()) return world.communicator();
    std::vector<Rank> members;
    for (std::uint32_t rank = 0; rank < one.group.size; ++rank) members.push_back(Rank{rank});
    return coll::Communicator::with_context(
        world, members, context, one.neighbours,
        one.group.grid != nullptr ? std::optional<coll::Grid>(one.grid) : std::nullopt);
}

// When each rank's request was complete. `data` becomes what the collective makes of it. Closing a world is a barrier,
// whose messages would be in the way of ranks that are not that far: it waits for `quiet`.
std::vector<Time> ends_of_ranks(const CollectiveCase& one, const coll::Choice& choice, const Options& options,
                                Time quiet, std::vector<RankData>& data) {
    std::vector<Time> ends(one.group.size, never);
    const Result result = run(options, [&](transport::Transport& transport) {
        const std::uint32_t me = transport.rank().value;
        coll::World world(transport, nullptr);
        {
            const coll::Communicator comm = communicator_of(world, one);
            EXPECT_EQ(now(), Time{}) << "opening a world takes no time";
            comm.start(one.calls[me], {data[me].input.data(), data[me].output.data()}, &one.op, &choice).wait();
            ends[me] = now();
        }
        sleep_until(quiet);
        world.close();
    });
    EXPECT_EQ(result.state, sim::State::finished) << testing::PrintToString(result.trouble);
    return ends;
}

void expect_right(const CollectiveCase& one, const std::vector<RankData>& data) {
    const auto expected = reference::run_collective(one.group, one.calls, one.before, &one.op);
    for (std::uint32_t rank = 0; rank < one.group.size; ++rank) {
        ASSERT_EQ(data[rank].input, one.before[rank].input) << "rank " << rank;
        ASSERT_TRUE(std::equal(expected[rank].output.begin(),
                               expected[rank].output.begin() + static_cast<std::ptrdiff_t>(expected[rank].defined),
                               data[rank].output.begin()))
            << "the output of rank " << rank << " is wrong";
    }
}

// Every other seed one in which many things happen at one moment.
Options options_of(sim::Level level, const CollectiveCase& one, const Tree& tree, std::uint64_t seed) {
    Options options;
    options.level = level;
    options.early_bytes = Options::no_bound;
    if (level == sim::Level::message) {
        options.hosts = one.hosts;
        options.simulation = seed % 2 == 0 ? sim::round_options(seed, 1000) : sim::any_options(seed);
        return options;
    }
    options.network = tree.network();
    options.network.placement.hosts.clear();
    for (const std::uint32_t host : one.hosts) options.network.placement.hosts.push_back(tree.placement.hosts[host]);
    if (seed % 2 == 0) options.simulation.local = {.copy = 0, .reduce = 100};
    return options;
}

std::unique_ptr<CollectiveCase> fitting_case(const Algorithm& algorithm, std::uint32_t ranks, std::uint64_t most,
                                             std::uint64_t seed) {
    for (std::uint64_t attempt = 0; attempt < 40; ++attempt) {
        auto one = reference::random_case(seed * 1000 + attempt, algorithm.what, ranks, {.most = most});
        if (algorithm.fits(one->group, one->calls[0])) return one;
    }
    return nullptr;
}

class EveryAlgorithm : public testing::TestWithParam<std::size_t> {};

TEST_P(EveryAlgorithm, TakesWhatItsScheduleTakes) {
    const auto what = static_cast<Collective>(GetParam());
    const Tree tree(64);
    std::set<std::string_view> compared;
    std::uint64_t seed = GetParam() * 1000;
    for (const Algorithm& algorithm : coll::algorithms(what))
        for (const std::uint32_t ranks : {2u, 3u, 5u, 8u, 16u, 33u, 64u})
            for (const std::uint64_t most : {std::uint64_t{100}, std::uint64_t{30'000} / ranks}) {
                const auto one = fitting_case(algorithm, ranks, most, ++seed);
                if (one == nullptr) continue;
                const Tuning tuning{.segment = algorithm.segments && seed % 3 != 0 ? 64 + seed % 1000 : 0,
                                    .ways = algorithm.ways ? static_cast<std::uint32_t>(seed % 6) : 0};
                const coll::Choice choice{algorithm.name, tuning};
                const traffic::Schedule schedule = coll::whole_schedule(algorithm, one->group, one->calls, tuning);
                for (const sim::Level level : {sim::Level::message, sim::Level::packet}) {
                    const Options options = options_of(level, *one, tree, seed);
                    const auto alone = sim::make_simulation(level, options.network, schedule, options.simulation);
                    ASSERT_EQ(alone->advance(never), sim::State::finished);
                    const std::vector<Time> expected = alone->rank_ends();
                    const Time quiet = *std::max_element(expected.begin(), expected.end()) + microseconds(1);
                    std::vector<RankData> data = one->before;

                    const std::vector<Time> ends = ends_of_ranks(*one, choice, options, quiet, data);

                    EXPECT_EQ(ends, expected) << algorithm.name << " on " << ranks << " ranks, seed " << seed << ", "
                                              << sim::to_string(level) << " level";
                    ASSERT_NO_FATAL_FAILURE(expect_right(*one, data)) << algorithm.name << " on " << ranks;
                }
                compared.insert(algorithm.name);
            }
    EXPECT_EQ(compared.size(), coll::algorithms(what).size());
}

INSTANTIATE_TEST_SUITE_P(, EveryAlgorithm, testing::Range(std::size_t{0}, coll::collectives), [](const auto& name) {
    return std::string(coll::to_string(static_cast<Collective>(name.param)));
});

}  // namespace
}  // namespace loom::twin
