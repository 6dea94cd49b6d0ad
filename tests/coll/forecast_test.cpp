#include "loom/coll/forecast.hpp"

#include <gtest/gtest.h>

#include "loom/base/error.hpp"
#include "loom/coll/show.hpp"

namespace loom::coll {
namespace {

UniformCall allreduce(std::uint32_t ranks, std::uint64_t bytes, std::uint32_t per_host) {
    UniformShape shape;
    shape.what = Collective::allreduce;
    shape.ranks = ranks;
    shape.bytes = bytes;
    shape.per_host = per_host;
    return UniformCall(shape);
}

Parameters with_edr(const UniformCall& call) {
    return imagined_parameters({.hosts = call.group().hosts, .link = model::Link{}});
}

TEST(Forecast, takes_what_a_communicator_would) {
    for (const std::uint64_t bytes : {std::uint64_t{8}, std::uint64_t{1} << 16, std::uint64_t{1} << 22}) {
        const UniformCall call = allreduce(16, bytes, 4);
        const Parameters parameters = with_edr(call);
        const Explanation said = explain(call.group(), call.calls()[0], parameters);

        const Planned planned = plan_by(call, parameters);

        EXPECT_EQ(planned.algorithm->name, said.algorithm);
        EXPECT_EQ(planned.tuning, said.tuning);
        EXPECT_NE(planned.estimate, never);
    }
}

TEST(Forecast, is_what_explain_predicts_where_all_schedules_are_walked) {
    const UniformCall call = allreduce(8, 4096, 1);
    const Parameters parameters = with_edr(call);
    const Planned planned = plan_by(call, parameters);

    const Forecast result = forecast(call, planned, parameters);

    // Copies and reductions are whole nanoseconds here.
    EXPECT_NEAR(static_cast<double>(result.time().ps), static_cast<double>(planned.estimate.ps), 20e3);
}

TEST(Forecast, has_the_exported_schedule) {
    const UniformCall call = allreduce(5, 1000, 1);
    const Planned ring = plan_named(call, "ring", {});

    const Forecast result = forecast(call, ring, with_edr(call));

    EXPECT_EQ(result.schedule,
              as_computation(whole_schedule(*ring.algorithm, call.group(), call.calls()), model::assumed_local()));
    EXPECT_TRUE(result.prediction.finished);
}

TEST(Forecast, lists_every_algorithm_once) {
    const UniformCall call = allreduce(6, 1000, 2);
    std::size_t fits = 0;
    for (const Algorithm& each : algorithms(Collective::allreduce)) fits += each.fits(call.group(), call.calls()[0]);

    EXPECT_EQ(plan_all(call, with_edr(call)).size(), fits);
}

TEST(Forecast, counts_operations_about_right) {
    const UniformCall call = allreduce(32, 1 << 20, 1);
    for (const Planned& each : plan_all(call, with_edr(call))) {
        const auto known = static_cast<double>(forecast(call, each, with_edr(call)).schedule.size());

        EXPECT_GT(static_cast<double>(operations_of(call, each)), known / 3) << each.algorithm->name;
        EXPECT_LT(static_cast<double>(operations_of(call, each)), known * 3) << each.algorithm->name;
    }
}

TEST(Forecast, refuses_what_does_not_fit) {
    UniformShape shape;
    shape.what = Collective::barrier;
    shape.ranks = 4;

    EXPECT_THROW((void)plan_named(UniformCall(shape), "hierarchical", {}), UsageError);
    EXPECT_THROW((void)plan_named(UniformCall(shape), "nonsense", {}), UsageError);
}

TEST(Imagined, parameters_are_assumed_or_from_a_list) {
    const std::uint32_t hosts[] = {0, 1};

    const Parameters plain = imagined_parameters({.hosts = hosts, .link = model::Link{.megabits = 400'000}});
    const Parameters listed =
        imagined_parameters({.hosts = hosts, .link = model::Link{}, .parameters = "copy=40ps,far.L=3us"});

    EXPECT_EQ(origin_of(plain), "assumed");
    EXPECT_EQ(plain.charges.far->small.gap_byte, 20);
    EXPECT_EQ(origin_of(listed), "copy=40ps,far.L=3us over assumed");
    EXPECT_EQ(listed.charges.local.copy, 40);
    EXPECT_EQ(listed.charges.far->small.latency, microseconds(3));
    EXPECT_THROW((void)imagined_parameters({.hosts = hosts, .parameters = "no-such-file"}), UsageError);
}

TEST(Uniform, takes_any_hosts) {
    UniformShape shape;
    shape.what = Collective::allreduce;
    shape.ranks = 4;
    shape.hosts = {0, 1, 0, 1};

    EXPECT_EQ(UniformCall(shape).group().hosts[2], 0u);
    shape.hosts.pop_back();
    EXPECT_THROW((void)UniformCall(shape), UsageError);
}

}  // namespace
}  // namespace loom::coll
