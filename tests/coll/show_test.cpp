#include "loom/coll/show.hpp"

#include <gtest/gtest.h>

#include <array>

#include "coll/whole.hpp"
#include "loom/base/error.hpp"
#include "loom/coll/algorithm.hpp"
#include "loom/coll/uniform.hpp"

namespace loom::coll {
namespace {

TEST(Show, tells_a_plan_line_by_line) {
    Writer writer(4, Rank{1});
    const Place room = writer.take_scratch(8);
    const auto sent = writer.send(Rank{0}, input(), 8);
    const auto here = writer.receive(Rank{0}, room, 8, {}, 7);
    writer.reduce(room, output(16), 8, {sent, here});
    writer.join(std::array{sent});

    EXPECT_EQ(to_text(writer.finish()),
              "rank 1 of 4, 64 bytes of scratch\n"
              "    0  send 8 B to 0 from input+0\n"
              "    1  receive 8 B from 0 tag 7 to scratch+0\n"
              "    2  reduce 8 B scratch+0 into output+16, after 0, 1\n"
              "    3  join, after 0\n");
}

TEST(Show, makes_copies_and_reductions_into_work) {
    Writer writer(1, Rank{0});
    const auto copied = writer.copy(input(), output(), 10);
    writer.reduce(input(), output(), 10, {copied});

    const traffic::Schedule plain =
        as_computation(writer.finish().schedule, {.copy = 310, .reduce = 740, .step = Time{}});

    EXPECT_EQ(to_text(plain),
              "rank 0 of 1\n"
              "    0  compute 3 ns\n"
              "    1  compute 7 ns, after 0\n");
}

TEST(Uniform, every_collective_has_calls_that_its_algorithms_take) {
    for (std::size_t i = 0; i < collectives; ++i) {
        UniformShape shape;
        shape.what = static_cast<Collective>(i);
        shape.ranks = 6;
        shape.per_host = 2;

        const UniformCall call(shape);

        for (const Algorithm& algorithm : algorithms(shape.what)) {
            if (!algorithm.fits(call.group(), call.calls()[0])) continue;
            EXPECT_GT(whole_schedule(algorithm, call.group(), call.calls()).size(), 0u)
                << to_string(shape.what) << ' ' << algorithm.name;
        }
    }
}

TEST(Uniform, refuses_what_cannot_be) {
    const auto with = [](auto change) {
        UniformShape shape;
        change(shape);
        return UniformCall(shape);
    };

    EXPECT_THROW(with([](UniformShape& shape) { shape.ranks = 0; }), UsageError);
    EXPECT_THROW(with([](UniformShape& shape) { shape.root = Rank{2}; }), UsageError);
    EXPECT_THROW(with([](UniformShape& shape) { shape.element = 3; }), UsageError);
    EXPECT_THROW(with([](UniformShape& shape) { shape.grid = {{3}, {true}}; }), UsageError);
}

TEST(WholeSchedule, is_the_parts_of_all_ranks) {
    UniformShape shape;
    shape.what = Collective::allreduce;
    shape.ranks = 5;
    const UniformCall call(shape);
    const Algorithm& algorithm = find_algorithm(shape.what, "binomial");

    const traffic::Schedule whole = whole_schedule(algorithm, call.group(), call.calls());

    for (std::uint32_t rank = 0; rank < 5; ++rank) {
        Group group = call.group();
        group.me = Rank{rank};
        const Plan plan = make_plan(algorithm, group, call.calls()[rank]);
        const auto part = whole.ops(Rank{rank});
        const auto own = plan.schedule.ops(Rank{rank});
        EXPECT_TRUE(std::equal(part.begin(), part.end(), own.begin(), own.end())) << rank;
    }
}

TEST(WholeSchedule, is_the_same_in_the_memory_of_others) {
    WholeBuilder builder;
    for (const std::uint32_t ranks : {5u, 8u, 3u})
        for (const std::string_view name : {"ring", "binomial", "full-exchange"}) {
            UniformShape shape;
            shape.what = Collective::allreduce;
            shape.ranks = ranks;
            shape.bytes = 64;
            shape.element = 8;
            const UniformCall call(shape);
            const Algorithm& algorithm = find_algorithm(shape.what, name);
            const Whole alone = whole(algorithm, call.group(), call.calls(), {});

            const Whole& again = builder.build(algorithm, call.group(), call.calls(), {});

            EXPECT_EQ(again.schedule, alone.schedule) << name << " on " << ranks;
            EXPECT_EQ(again.in_scratch, alone.in_scratch) << name << " on " << ranks;
        }
}

}  // namespace
}  // namespace loom::coll
