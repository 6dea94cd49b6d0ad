// Collectives over a transport in virtual time: they take what their schedule takes, to the picosecond.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <numeric>

#include "coll/communicator_state.hpp"
#include "coll/parameter_cache.hpp"
#include "coll/world_state.hpp"
#include "loom/coll/parameters.hpp"
#include "loom/coll/typed.hpp"
#include "loom/coll/uniform.hpp"
#include "loom/coll/world.hpp"
#include "loom/model/assumed.hpp"
#include "loom/model/parameters.hpp"
#include "loom/transport/held.hpp"
#include "support/variable.hpp"
#include "virtual_fabric.hpp"

namespace loom::coll {
namespace {

using virtual_time::Job;
using Endpoint = Job::Endpoint;

std::vector<std::uint32_t> one_host(std::uint32_t ranks) {
    return std::vector<std::uint32_t>(ranks, 0);
}

void add_bytes(const void*, const std::byte* in, std::byte* inout, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i)
        inout[i] = static_cast<std::byte>(static_cast<unsigned>(in[i]) + static_cast<unsigned>(inout[i]));
}

// When each rank's part of one call was over.
std::vector<Time> ends_of(const UniformCall& call, const Choice& choice) {
    const Group& group = call.group();
    std::vector<Time> ends(group.size);
    Job job({group.hosts.begin(), group.hosts.end()});
    job.run([&](Endpoint& endpoint) {
        World world(endpoint, nullptr);
        Call mine = call.calls()[endpoint.rank().value];
        if (mine.what == Collective::gatherv) mine.sent.bytes = mine.sent.bytes.first(1);
        if (mine.what == Collective::scatterv) mine.received.bytes = mine.received.bytes.first(1);
        std::vector<std::byte> in(2 * group.size * 4096), out(in.size());
        const Reduction sum{add_bytes, nullptr, 1, true};
        world.communicator().start(mine, {in.data(), out.data()}, &sum, &choice).wait();
        ends[endpoint.rank().value] = now();
        world.close();
    });
    return ends;
}

TEST(VirtualTime, every_algorithm_takes_what_its_schedule_takes) {
    std::size_t compared = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(Collective::neighbour_allgather); ++i) {
        for (const Algorithm& algorithm : algorithms(static_cast<Collective>(i))) {
            for (const std::uint32_t ranks : {1u, 2u, 5u, 8u}) {
                UniformShape shape;
                shape.what = algorithm.what;
                shape.ranks = ranks;
                shape.bytes = 4000;
                shape.per_host = 4;
                const UniformCall call(shape);
                const Choice choice{algorithm.name, {.segment = algorithm.segments ? 1000u : 0u, .ways = 0}};
                if (!algorithm.fits(call.group(), call.calls()[0])) continue;

                const auto schedule = whole_schedule(algorithm, call.group(), call.calls(), choice.tuning);
                const std::vector<Time> expected = virtual_time::Player(schedule, {}).ends();

                EXPECT_EQ(ends_of(call, choice), expected)
                    << to_string(algorithm.what) << ' ' << algorithm.name << " on " << ranks;
                ++compared;
            }
        }
    }
    EXPECT_GE(compared, 150u);
}

TEST(VirtualTime, what_waits_for_local_work_begins_when_that_is_over) {
    const virtual_time::Costs costs;
    const std::uint64_t bytes = 1000;
    const Time copy{costs.copied_byte * 1000}, reduce{costs.reduced_byte * 1000}, idle = nanoseconds(7);
    const Time flight = costs.latency + Time{costs.sent_byte * 1000};
    Job job(one_host(2), costs);
    job.run([&](Endpoint& endpoint) {
        World world(endpoint, nullptr);
        const Communicator comm = world.communicator();
        Writer writer(2, endpoint.rank());
        if (endpoint.rank() == Rank{0}) {
            const auto copied = writer.copy(input(), output(), bytes);
            const auto joined = writer.join(std::vector{copied});
            const auto reduced = writer.reduce(input(), output(), bytes, {joined});
            writer.send(Rank{1}, output(), bytes, {reduced});
        } else {
            writer.receive(Rank{0}, output(), bytes);
        }
        std::vector<std::uint8_t> in(bytes, 3), out(bytes);
        const Reduction sum{add_bytes, nullptr, 1, true};
        compute(idle);

        comm.start(std::make_shared<const Plan>(writer.finish()),
                   {std::as_bytes(std::span(in)).data(), std::as_writable_bytes(std::span(out)).data()}, &sum)
            .wait();

        const Time sent = idle + copy + reduce + costs.send;
        EXPECT_EQ(now(), endpoint.rank() == Rank{0} ? sent : sent + flight);
        EXPECT_EQ(out, std::vector<std::uint8_t>(bytes, 6));
        world.close();
    });
    EXPECT_GE(job.works, 3u);
}

// Of a transport that does not charge the same plan has messages for sends and receives alone, and sends go first.
TEST(VirtualTime, steps_begin_as_they_were_written_where_work_is_charged) {
    Writer writer(2, Rank{0});
    writer.copy(input(), output(), 64);
    writer.receive(Rank{1}, scratch(), 8);
    writer.send(Rank{1}, input(), 8);
    const Plan plan = writer.finish();
    const std::vector<Rank> members{Rank{0}, Rank{1}};

    const Program charged = compile(plan, members, LocalSteps::charged), plain = compile(plan, members);

    EXPECT_EQ(charged.ready, (std::vector<std::uint32_t>{0, 1, 2}));
    EXPECT_EQ(charged.messages, 3u);
    EXPECT_EQ(plain.ready, (std::vector<std::uint32_t>{2, 1, 0}));
    EXPECT_EQ(plain.messages, 2u);
}

TEST(VirtualTime, waits_end_by_rest_and_look_no_more_often_than_something_comes) {
    Job job(one_host(2));
    job.run([&](Endpoint& endpoint) {
        World world(endpoint, nullptr);
        const Communicator comm = world.communicator();
        int value = 0;
        if (endpoint.rank() == Rank{0}) {
            compute(seconds(3600));
            comm.send(42, Rank{1});
        } else {
            comm.receive(value, Rank{0});
            EXPECT_EQ(value, 42);
            EXPECT_GE(now(), seconds(3600));
            EXPECT_EQ(endpoint.rests, 1u);
        }
        world.close();
    });
}

TEST(VirtualTime, whoever_tests_in_vain_passes_time) {
    Job job(one_host(2));
    job.run([&](Endpoint& endpoint) {
        World world(endpoint, nullptr);
        const Communicator comm = world.communicator();
        int value = 0;
        if (endpoint.rank() == Rank{0}) {
            sleep_for(microseconds(50));
            comm.send(7, Rank{1});
        } else {
            Request request = comm.ireceive(value, Rank{0});
            int looks = 0;
            while (!request.test()) ++looks;
            EXPECT_EQ(value, 7);
            EXPECT_GE(now(), microseconds(50));
            EXPECT_GE(looks, 500);
            EXPECT_LT(looks, 1000);
            const Time before = now();
            EXPECT_FALSE(world.progress());
            EXPECT_EQ(now() - before, nanoseconds(100));
        }
        world.close();
    });
}

TEST(VirtualTime, nothing_is_measured_read_or_kept) {
    const auto folder = std::filesystem::temp_directory_path() / "loom-virtual-time-test";
    std::filesystem::remove_all(folder);
    const test::Variable cache("LOOM_CACHE", folder.c_str());
    model::Charges charges = model::assumed_charges(one_host(3), 3);
    charges.way.small.latency = nanoseconds(2345);
    Job job(one_host(3), {}, model::to_text(charges));
    job.run([&](Endpoint& endpoint) {
        World world(endpoint, nullptr);
        EXPECT_EQ(now(), Time{}) << "opening a world takes no time";
        EXPECT_EQ(job.sends, 0u);
        EXPECT_EQ(world.state().parameters.source, Parameters::Source::given);
        EXPECT_EQ(world.state().parameters.charges, charges);
        EXPECT_EQ(measure_parameters(endpoint), agree_parameters(endpoint));
        sleep_for(nanoseconds(1));  // all have opened theirs
        std::vector<int> in(1000, 1), out(1000);
        world.communicator().allreduce(in, out, std::plus<>{});
        EXPECT_EQ(out, std::vector<int>(1000, 3));
        world.close();
    });
    EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(VirtualTime, without_parameters_of_the_transport_they_are_assumed) {
    const test::Variable text("LOOM_COLL_PARAMETERS", "near.small.L=9us");
    Job job(one_host(2));
    job.run([&](Endpoint& endpoint) {
        const Parameters parameters = agree_parameters(endpoint);
        EXPECT_EQ(parameters.source, Parameters::Source::given);
        EXPECT_EQ(parameters.charges.way.small.latency, microseconds(9));
        EXPECT_EQ(parameters.charges.local, model::assumed_charges(one_host(2), 2).local);
    });
    EXPECT_EQ(job.sends, 0u);
}

TEST(VirtualTime, to_measure_is_refused) {
    const test::Variable text("LOOM_COLL_PARAMETERS", "measure");
    Job job(one_host(2));
    job.run([&](Endpoint& endpoint) { EXPECT_THROW((void)agree_parameters(endpoint), UsageError); });
}

TEST(VirtualTime, progress_is_manual_and_a_thread_is_refused) {
    Job job(one_host(2));
    job.run([&](Endpoint& endpoint) {
        World world(endpoint, nullptr);
        EXPECT_EQ(world.progress_state().how, Progress::manual);
        EXPECT_NE(world.progress_state().why.find("virtual time"), std::string::npos);
        world.set_progress(Progress::thread);
        EXPECT_EQ(world.progress_state().how, Progress::manual);
        EXPECT_EQ(world.progress_state().how, Progress::manual);
        world.set_progress(Progress::manual);
        world.close();
    });
    const test::Variable asked("LOOM_PROGRESS", "thread");
    Job again(one_host(2));
    again.run([&](Endpoint& endpoint) {
        World world(endpoint, nullptr);
        EXPECT_EQ(world.progress_state().how, Progress::manual);
    });
}

TEST(VirtualTime, a_lost_rank_ends_waits_and_the_others_go_on) {
    Job job(one_host(3));
    const auto body = [&](Endpoint& endpoint) {
        World world(endpoint, nullptr);
        const Communicator comm = world.communicator();
        if (endpoint.rank() == Rank{2}) {
            compute(microseconds(10));
            throw Error("enough");
        }
        int one = 1, sum = 0;
        EXPECT_THROW(comm.allreduce(one, sum, std::plus<>{}), transport::RankLost);
        EXPECT_EQ(now(), microseconds(10));
        const Communicator left = comm.shrink();
        left.allreduce(one, sum, std::plus<>{});
        EXPECT_EQ(sum, 2);
        world.close();
    };
    EXPECT_THROW(job.run(body), Error);
}

// Through a transport that holds receives back, all of it passes.
TEST(VirtualTime, a_held_transport_passes_everything_on) {
    Job job(one_host(2), {}, "L=1us");
    job.run([&](Endpoint& endpoint) {
        transport::HeldTransport held(endpoint);
        EXPECT_EQ(held.waiting(), transport::Waiting::block);
        EXPECT_TRUE(held.charges_work());
        EXPECT_EQ(held.parameters_text(), "L=1us");
        World world(held, nullptr);
        std::vector<int> in(100, 1), out(100);
        world.communicator().allreduce(in, out, std::plus<>{});
        EXPECT_EQ(out, std::vector<int>(100, 2));
        world.close();
    });
    EXPECT_GE(job.works, 2u);
}

TEST(Computing, takes_no_time_over_a_transport_of_the_machine) {
    run_local(2, [](World& world) {
        const Communicator comm = world.communicator();
        compute(seconds(3600.0 * 24 * 100));
        comm.barrier();
        EXPECT_LT(now(), seconds(3600.0 * 24));
    });
}

TEST(MembersTest, those_in_order_are_shared_by_all_worlds_and_communicators) {
    run_local(3, [](World& world) {
        const Communicator comm = world.communicator(), same = comm.duplicate();
        const std::vector<std::uint32_t> backwards{2, 1, 0};
        const Communicator other = comm.renumbered(backwards);
        EXPECT_EQ(comm.group().hosts.data(), world.transport().hosts().data());
        EXPECT_EQ(same.group().hosts.data(), comm.group().hosts.data());
        EXPECT_NE(other.group().hosts.data(), comm.group().hosts.data());
        EXPECT_EQ(other.world_rank(Rank{0}), Rank{2});
        const auto& members = world.state().everyone->members;
        EXPECT_TRUE(members.are_first());
        const Members more({Rank{0}, Rank{1}, Rank{2}});
        EXPECT_EQ(&*more.begin(), &*members.begin());
        const Members fewer({Rank{0}, Rank{1}}), moved({Rank{1}, Rank{0}, Rank{2}});
        EXPECT_NE(&*fewer.begin(), &*members.begin());
        EXPECT_FALSE(moved.are_first());
        EXPECT_EQ(moved[0], Rank{1});
    });
}

TEST(MembersTest, hosts_are_numbered_in_the_order_of_first_appearance) {
    const std::vector<std::uint32_t> hosts{0, 0, 1, 2};
    std::vector<std::uint32_t> own;
    const Members first({Rank{0}, Rank{1}, Rank{2}}), back({Rank{3}, Rank{0}, Rank{3}});

    EXPECT_EQ(hosts_of(first, hosts, own).data(), hosts.data());
    EXPECT_TRUE(own.empty());
    const auto numbered = hosts_of(back, hosts, own);
    EXPECT_EQ(std::vector(numbered.begin(), numbered.end()), (std::vector<std::uint32_t>{0, 1, 0}));
    const std::vector<std::uint32_t> other{5, 5, 3, 5};
    const auto again = hosts_of(first, other, own);
    EXPECT_EQ(std::vector(again.begin(), again.end()), (std::vector<std::uint32_t>{0, 0, 1}));
}

}  // namespace
}  // namespace loom::coll
