// The schedules of collectives, as ranks execute them, in the other wing: played, counted, written and read again.
#include <gtest/gtest.h>

#include <sstream>

#include "loom/coll/algorithm.hpp"
#include "loom/coll/show.hpp"
#include "loom/coll/uniform.hpp"
#include "loom/congestion/contention.hpp"
#include "loom/fabric/generate.hpp"
#include "loom/routing/engine.hpp"
#include "loom/sim/simulation.hpp"
#include "loom/traffic/goal.hpp"
#include "loom/traffic/rounds.hpp"

namespace loom::coll {
namespace {

// Calls visit(algorithm, its schedule) for every algorithm that fits.
template <class Visit>
void each_schedule(std::uint32_t ranks, std::uint64_t bytes, Visit visit) {
    for (std::size_t i = 0; i < collectives; ++i) {
        UniformShape shape;
        shape.what = static_cast<Collective>(i);
        shape.ranks = ranks;
        shape.bytes = bytes;
        shape.element = 8;
        shape.per_host = 4;
        const UniformCall call(shape);
        for (const Algorithm& algorithm : algorithms(shape.what))
            if (algorithm.fits(call.group(), call.calls()[0]))
                visit(algorithm, whole_schedule(algorithm, call.group(), call.calls()));
    }
}

std::uint64_t sends(const traffic::Schedule& schedule) {
    return static_cast<std::uint64_t>(std::count_if(schedule.ops().begin(), schedule.ops().end(),
                                                    [](const auto& op) { return op.kind == traffic::OpKind::send; }));
}

TEST(CollectiveSchedules, are_played_to_their_end_with_and_without_words_for_copies) {
    each_schedule(12, 4096, [](const Algorithm& algorithm, const traffic::Schedule& schedule) {
        const traffic::Schedule plain = as_computation(schedule, model::LocalCosts{});

        for (const traffic::Schedule* played : {&schedule, &plain}) {
            const auto simulation = sim::make_simulation(sim::Level::message, {}, *played, {});

            EXPECT_EQ(simulation->advance(never), sim::State::finished)
                << to_string(algorithm.what) << ' ' << algorithm.name;
        }
    });
}

TEST(CollectiveSchedules, survive_being_written_as_goal) {
    each_schedule(6, 1024, [](const Algorithm& algorithm, const traffic::Schedule& schedule) {
        const traffic::Schedule plain = as_computation(schedule, model::LocalCosts{});
        std::ostringstream text;
        traffic::write_goal(plain, text);

        EXPECT_EQ(traffic::read_goal(text.str(), "test"), plain) << to_string(algorithm.what) << ' ' << algorithm.name;
    });
}

TEST(CollectiveSchedules, are_counted_on_a_fabric_round_by_round) {
    fabric::Fabric tree = fabric::pgft(fabric::kary_tree(4, 2));
    tree.assign_lids(0);
    const routing::SwitchGraph graph(tree);
    const routing::Tables tables = routing::route_dmodk(graph, {}).tables;
    const congestion::Routes routes(graph, tables, fabric::place_in_order(tree));

    each_schedule(16, 1024, [&](const Algorithm& algorithm, const traffic::Schedule& schedule) {
        const auto rounds = traffic::rounds_of(schedule, std::string(algorithm.name), 16);
        const congestion::Contention counted = congestion::contention(routes, *rounds);

        EXPECT_EQ(counted.flows, sends(schedule)) << to_string(algorithm.what) << ' ' << algorithm.name;
        EXPECT_GE(counted.worst, 1u);
    });
}

}  // namespace
}  // namespace loom::coll
