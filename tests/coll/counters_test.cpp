// What the adapter has counted is what the schedule says.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "loom/coll/typed.hpp"
#include "loom/transport/launch.hpp"
#include "support/process.hpp"

namespace loom::coll {
namespace {

struct Counted {
    std::uint64_t adapter = 0;   // bytes sent, by the adapter's account
    std::uint64_t schedule = 0;  // bytes that one run of the plan sends
    std::uint64_t messages = 0;  // that it sends and receives
};

// One rank: `times` runs of the call on memory of its own, so that all of it goes by the adapter.
int run_rank(const Call& call, const Choice& choice, int times, const std::string& file) {
    setenv("LOOM_VERBS_STATS", (file + ".stats").c_str(), 1);
    setenv("LOOM_HCA", "soft", 1);
    setenv("LOOM_COLL_PARAMETERS", "assumed", 1);  // measuring sends messages, too
    setenv("LOOM_PROGRESS", "manual", 1);
    const auto world = World::open();
    const Communicator comm = world->communicator();
    std::vector<std::byte> in(call.bytes * comm.size()), out(call.bytes * comm.size());
    for (int i = 0; i < times; ++i) comm.start(call, {in.data(), out.data()}, nullptr, &choice).wait();
    std::uint64_t bytes = 0, messages = 0;
    const auto plan = comm.plan(call, &choice);
    for (const traffic::Op& op : plan->schedule.ops(comm.rank())) {
        if (op.kind == traffic::OpKind::send) bytes += op.amount;
        if (op.kind == traffic::OpKind::send || op.kind == traffic::OpKind::receive) ++messages;
    }
    std::ofstream(file) << bytes << " " << messages;
    world->close();
    return 0;
}

std::vector<Counted> count(const Call& call, const Choice& choice, std::uint32_t ranks, int times) {
    const test::TemporaryFolder folder;
    const auto file = [&](std::uint32_t rank) { return (folder.path() / std::to_string(rank)).string(); };
    transport::Launch job;
    job.ranks = ranks;
    job.timeout = std::chrono::seconds(60);
    job.body = [&](Rank rank) {
        try {
            return run_rank(call, choice, times, file(rank.value));
        } catch (const Error& error) {
            std::fprintf(stderr, "rank %u: %s\n", rank.value, error.what());
            return 1;
        }
    };
    const int code = transport::launch(job).exit_code();
    EXPECT_EQ(code, 0);
    std::vector<Counted> result(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        std::ifstream(file(rank)) >> result[rank].schedule >> result[rank].messages;
        std::ifstream stats(file(rank) + ".stats");
        const auto object = nlohmann::json::parse(stats);
        for (const auto& adapter : object["hcas"])
            for (const auto& path : adapter["sent_bytes"]) result[rank].adapter += path.get<std::uint64_t>();
    }
    return result;
}

TEST(Counters, of_the_adapter_are_the_bytes_of_the_schedule) {
    struct Case {
        Collective what;
        const char* algorithm;
    };
    constexpr int times = 5;
    constexpr std::uint64_t most_around = 256;  // bytes around a message: its header, and its receiver's word
    for (const Case one : {Case{Collective::broadcast, "chain"}, Case{Collective::broadcast, "binomial"},
                           Case{Collective::allgather, "ring"}, Case{Collective::alltoall, "pairwise"}}) {
        Call call;
        call.what = one.what;
        call.bytes = 200'000;
        const Choice choice{one.algorithm, {}};

        const auto idle = count(call, choice, 4, 0);
        const auto busy = count(call, choice, 4, times);

        // Which of two ranks copies a large message is the transport's affair: only the sum is the schedule's.
        std::uint64_t counted = 0, sent = 0, messages = 0;
        for (std::uint32_t rank = 0; rank < 4; ++rank) {
            counted += busy[rank].adapter - idle[rank].adapter;
            sent += times * busy[rank].schedule;
            messages += times * busy[rank].messages;
        }
        EXPECT_GE(counted, sent) << one.algorithm;
        EXPECT_LE(counted, sent + messages * most_around) << one.algorithm;
    }
}

}  // namespace
}  // namespace loom::coll
