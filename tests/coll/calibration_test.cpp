// Costs by what probes took: probes that the model itself walked give its costs back, as far as predictions go.
#include "loom/coll/calibration.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "loom/base/error.hpp"
#include "loom/coll/forecast.hpp"
#include "loom/coll/uniform.hpp"
#include "loom/model/parameters.hpp"
#include "loom/traffic/schedule.hpp"

namespace loom::coll {
namespace {

traffic::Schedule whole_of(const Probe& probe, std::uint32_t ranks, std::uint32_t cores) {
    traffic::ScheduleBuilder builder(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        const traffic::Schedule part = plan_of(probe, ranks, cores, Rank{rank}).schedule;
        for (const traffic::Op& op : part.ops()) builder.add(Rank{rank}, op);
        for (traffic::OpIndex op = 0; op < part.size(); ++op)
            for (const traffic::Successor& next : part.successors(op)) builder.require(Rank{rank}, next.op, op);
    }
    return builder.build();
}

TEST(Probes, EndOnAnyNumberOfRanksAndCores) {
    for (const std::uint32_t ranks : {2u, 3u, 4u, 5u, 8u})
        for (const std::uint32_t cores : {1u, 2u, 4u, 8u})
            for (const Probe& probe : probes(ranks, cores)) {
                const traffic::Schedule schedule = whole_of(probe, ranks, cores);

                const model::Prediction walked = model::walk(schedule, model::charges(model::LogGp{}));

                EXPECT_TRUE(walked.finished) << to_string(probe.kind) << ' ' << ranks << ' ' << cores;
                EXPECT_EQ(walked.untaken, 0u) << to_string(probe.kind) << ' ' << ranks << ' ' << cores;
            }
}

TEST(Probes, AreNamedAndFoundByName) {
    for (const Probe& probe : probes(4, 2)) EXPECT_EQ(parse_probe(to_string(probe.kind)), probe.kind);
    EXPECT_THROW((void)parse_probe("hop"), UsageError);
}

TEST(Quantile, IsOneOfTheTimes) {
    const std::vector<Time> times{Time{50}, Time{10}, Time{30}, Time{20}, Time{40}};

    EXPECT_EQ(quantile(times, 0), Time{10});
    EXPECT_EQ(quantile(times, 0.25), Time{20});
    EXPECT_EQ(quantile(times, 0.5), Time{30});
    EXPECT_EQ(quantile(times, 1), Time{50});
    EXPECT_EQ(quantile({Time{7}}, 0.5), Time{7});
}

TEST(RoundTimes, AreKnownByRoundAndByRank) {
    RoundTimes times;
    times.add({2, {Time{1}, Time{5}}});
    times.add({2, {Time{7}, Time{2}}});

    EXPECT_EQ(times.rounds(), 2u);
    EXPECT_EQ(times.last(), (std::vector{Time{5}, Time{7}}));
    EXPECT_EQ(times.of(Rank{1}), (std::vector{Time{5}, Time{2}}));
}

TEST(Rounds, AreAllThereOfThreadsToo) {
    run_local(3, [](World& world) {
        Rounds timer(world);
        int runs = 0;
        const auto begin = [&] {
            ++runs;
            Call call;
            return world.communicator().start(call, {});
        };

        const RoundTimes times = timer.run(begin, 2, 5, seconds(60));

        EXPECT_EQ(runs, 7);
        EXPECT_LE(times.rounds(), 5u);
        EXPECT_TRUE(world.rank() == Rank{0} || times.ends.empty());
        for (const Time end : times.ends) EXPECT_GT(end, Time{});
    });
}

TEST(RunProbes, SayWhatEachTook) {
    run_local(2, [](World& world) {
        std::vector<Probe> few = probes(2, 2);
        std::erase_if(few, [](const Probe& each) { return each.bytes > 1000; });

        const std::vector<Probed> probed = run_probes(world, few, 3, milliseconds(1));

        ASSERT_EQ(probed.size(), world.rank() == Rank{0} ? few.size() : 0);
        for (std::size_t i = 0; i < probed.size(); ++i) {
            EXPECT_EQ(probed[i].probe, few[i]);
            EXPECT_LE(probed[i].low, probed[i].time);
            EXPECT_LE(probed[i].time, probed[i].high);
        }
    });
}

// Two cores for four ranks, or as many as asked for; numbers of no particular machine.
Parameters known_costs(std::uint32_t cores) {
    Parameters parameters;
    parameters.charges = model::parse_charges(
        "L=150ns,o_send=60ns,o_receive=80ns,O_send=30ps,O_receive=40ps,limit=16KiB,ready=200ns,shared=60ps,"
        "copying=fewer,f=16,large=ready,large.L=400ns,large.O_send=90ps,large.O_receive=0,call=200ns,copy=50,reduce=80,"
        "step=20ns,at.100000.copy=50,at.100000.reduce=80,at.100000.large=90,at.100000.shared=60,at.9000000.copy=90,"
        "at.9000000.reduce=120,at.9000000.large=140,at.9000000.shared=100",
        {});
    if (cores < 4) {
        parameters.charges.host_cores = cores;
        parameters.charges.turn = nanoseconds(700);
        parameters.charges.way.advance = UINT64_MAX;
    }
    return parameters;
}

// What the probes take by these costs.
std::vector<Probed> walked(std::uint32_t ranks, std::uint32_t cores, const model::Charges& charges) {
    std::vector<Probed> all;
    for (const Probe& probe : probes(ranks, cores)) {
        const traffic::Schedule schedule = whole_of(probe, ranks, cores);
        const std::vector<std::uint32_t> hosts(ranks);
        std::vector<std::uint8_t> shared(schedule.size());
        for (traffic::OpIndex op = 0; op < schedule.size(); ++op)
            shared[op] = probe.kind == Probe::Kind::combines && schedule.op(op).kind == traffic::OpKind::receive;
        const model::Prediction p =
            model::walk(schedule, model::for_working_set(charges, 2 * probe.bytes), hosts, shared);
        const bool everybody = probe.kind == Probe::Kind::exchanges || probe.kind == Probe::Kind::combines;
        const Time time = everybody ? p.finish() : p.ends[probe.from.value];
        all.push_back({probe, time, p.ends[probe.to.value], time, time});
    }
    return all;
}

Time time_of(Collective what, std::uint64_t bytes, const Algorithm& algorithm, const Parameters& parameters) {
    UniformShape shape;
    shape.what = what;
    shape.ranks = 4;
    shape.bytes = bytes;
    shape.element = is_reduction(what) ? 8 : 1;
    const UniformCall call(shape);
    if (!algorithm.fits(call.group(), call.calls()[0])) return never;
    return forecast(call, plan_named(call, algorithm.name, {}), parameters).time();
}

template <class Body>
void with_all_algorithms(Body body) {
    for (std::size_t i = 1; i < collectives; ++i)
        for (const Algorithm& algorithm : algorithms(static_cast<Collective>(i)))
            body(static_cast<Collective>(i), algorithm);
}

TEST(Forecasts, OfMoreBytesTakeNoLessUnlessTheProtocolChanges) {
    for (const std::uint32_t cores : {2u, 4u})
        with_all_algorithms([&](Collective what, const Algorithm& algorithm) {
            const Parameters parameters = known_costs(cores);
            for (const auto& sizes : {std::vector<std::uint64_t>{8, 64, 1024, 4096},
                                      std::vector<std::uint64_t>{512 << 10, 1 << 20, 4 << 20}}) {
                Time before{};
                for (const std::uint64_t bytes : sizes) {
                    const Time time = time_of(what, bytes, algorithm, parameters);
                    EXPECT_GE(time, before) << to_string(what) << ' ' << algorithm.name << ' ' << bytes << ' ' << cores;
                    before = time;
                }
            }
        });
}

TEST(Forecasts, OfRanksWithMoreCoresTakeNoLonger) {
    with_all_algorithms([&](Collective what, const Algorithm& algorithm) {
        for (const std::uint64_t bytes : {8, 4096, 1 << 20}) {
            Time fewer = never;
            for (const std::uint32_t cores : {1u, 2u, 4u}) {
                const Time time = time_of(what, bytes, algorithm, known_costs(cores));
                EXPECT_LE(time, fewer) << to_string(what) << ' ' << algorithm.name << ' ' << bytes << ' ' << cores;
                fewer = time;
            }
        }
    });
}

// The model's own machine: what calibrated() makes of it predicts as the costs themselves do.
TEST(Calibrated, ByWhatTheModelSaysPredictsWhatTheModelSays) {
    for (const std::uint32_t cores : {2u, 4u}) {
        const Parameters known = known_costs(cores);
        Parameters found;
        found.charges = calibrated(walked(4, cores, known.charges), 4, cores, 16 << 10);
        double sum = 0, cells = 0;
        with_all_algorithms([&](Collective what, const Algorithm& algorithm) {
            for (const std::uint64_t bytes : {8, 4096, 1 << 20}) {
                const Time expected = time_of(what, bytes, algorithm, known);
                if (expected == never) continue;
                sum += std::abs(std::log(time_of(what, bytes, algorithm, found).seconds() / expected.seconds()));
                ++cells;
            }
        });
        EXPECT_LT(sum / cells, 0.1) << cores << " cores: " << model::to_text(found.charges);
    }
}

TEST(Calibrated, RefusesToGuess) {
    const std::vector<Probed> all = walked(2, 2, known_costs(4).charges);
    for (const Probe::Kind kind : {Probe::Kind::empty, Probe::Kind::hops, Probe::Kind::burst, Probe::Kind::exchanges,
                                   Probe::Kind::combines, Probe::Kind::copies, Probe::Kind::reduces}) {
        std::vector<Probed> without = all;
        std::erase_if(without, [&](const Probed& each) { return each.probe.kind == kind; });

        EXPECT_THROW((void)calibrated(without, 2, 2, 16 << 10), UsageError) << to_string(kind);
    }
}

}  // namespace
}  // namespace loom::coll
