// A process is killed at any moment: its peer hears of it soon, loses nothing of its own and works on with others.
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "hca/hostile/traffic.hpp"

namespace loom::hostile {
namespace {

enum class Copies : std::uint8_t { allowed, denied };

std::uint64_t open_descriptors() {
    std::uint64_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
    return count;
}

// Until it is killed.
void victim(Rounds& rounds, std::uint32_t round, Copies copies) {
    if (copies == Copies::denied) deny_process_copies();
    Host host;
    const Island island(host);
    Traffic traffic(host.node(Traffic::options()), island, round);
    const Address own{traffic.node().qp->qp_num, traffic.node().psn, host.port.lid, host.gid,
                      island.address(),          island.rkey()};
    try_to_join(host, traffic.node(), rounds.survivor);
    traffic.post_receives();
    rounds.victim = own;
    rounds.victim_ready = round;
    for (;;) traffic.run_once(rounds.survivor);
}

// One round: a queue pair of its own towards a new process, used until that is dead, and then until all is settled.
void survive(Rounds& rounds, Host& host, const Island& island, std::uint32_t round) {
    Traffic traffic(host.node(Traffic::options()), island, round + 1'000'000);
    rounds.survivor = {traffic.node().qp->qp_num, traffic.node().psn, host.port.lid, host.gid,
                       island.address(),          island.rkey()};
    rounds.survivor_ready = round;
    await([&] { return rounds.victim_ready == round || rounds.killed == round; }, "the victim",
          std::chrono::seconds(30));
    if (rounds.victim_ready != round) return;
    const Address other = rounds.victim;
    try_to_join(host, traffic.node(), other);
    traffic.post_receives();
    ++rounds.connected;
    while (rounds.killed != round) traffic.run_once(other);

    const std::int64_t dead_at = now_us();
    traffic.post(other);
    await(
        [&] {
            traffic.reap();
            return traffic.outstanding() == 0;
        },
        "requests to a dead process to complete");
    EXPECT_EQ(traffic.node().state(), IBV_QPS_ERR);
    EXPECT_GT(traffic.failed(), 0u);
    rounds.longest_us = std::max(rounds.longest_us.load(), now_us() - dead_at);
    rounds.succeeded += traffic.succeeded();
    rounds.failed += traffic.failed();
    rounds.strange += traffic.strange();
    EXPECT_EQ(traffic.last_strange(), "") << "in round " << round;
}

void survivor(Rounds& rounds, std::uint32_t count, Copies copies) {
    if (copies == Copies::denied) deny_process_copies();
    Host host;
    const Island island(host);
    for (std::uint32_t round = 1; round <= count; ++round) {
        survive(rounds, host, island, round);
        if (round == 10) rounds.descriptors_at_first = open_descriptors();
        rounds.settled = round;
        if (testing::Test::HasFailure()) break;
    }
    rounds.descriptors_at_last = open_descriptors();
    EXPECT_TRUE(island.shores_are_dry());
    rounds.over = true;
}

class Killed : public testing::TestWithParam<Copies> {};

TEST_P(Killed, AtAnyMomentLeavesThePeerAtWork) {
    const char* asked = std::getenv("LOOM_KILL_ROUNDS");
    const std::uint32_t count =
        asked != nullptr ? static_cast<std::uint32_t>(std::atoi(asked)) : properties::rounds(500);
    const Shared<Rounds> rounds;
    Random random(2026);
    Company company(std::chrono::seconds(220));
    const pid_t surviving = company.start([&] { survivor(*rounds, count, GetParam()); });
    std::uint32_t died_by_themselves = 0;

    for (std::uint32_t round = 1; round <= count && !rounds->over; ++round) {
        await([&] { return rounds->survivor_ready == round || rounds->over; }, "the survivor");
        const pid_t process = company.start([&] { victim(*rounds, round, GetParam()); });
        // Half of them somewhere in their start, half in the middle of traffic.
        if (random.below(2) == 0)
            await([&] { return rounds->victim_ready == round || rounds->over; }, "the victim's first words");
        std::this_thread::sleep_for(std::chrono::microseconds(random.below(4000)));
        kill(process, SIGKILL);
        const int status = company.wait(process);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) ++died_by_themselves;
        rounds->killed = round;
        await([&] { return rounds->settled == round || rounds->over; }, "the survivor to settle");
    }
    const int ended = company.wait(surviving);

    EXPECT_EQ(ended, 0) << "the survivor";
    EXPECT_EQ(rounds->settled, count);
    EXPECT_EQ(died_by_themselves, 0u);
    EXPECT_GT(rounds->connected, count / 3);
    EXPECT_GT(rounds->succeeded, count);
    EXPECT_EQ(rounds->strange, 0u) << "statuses other than success, retries exceeded and flushed";
    EXPECT_LE(rounds->descriptors_at_last, rounds->descriptors_at_first + 5) << "what the dead left is given back";
    RecordProperty("longest_us", static_cast<int>(rounds->longest_us));
    RecordProperty("connected", static_cast<int>(rounds->connected));
    RecordProperty("succeeded", static_cast<int>(rounds->succeeded));
}

INSTANTIATE_TEST_SUITE_P(Copies, Killed, testing::Values(Copies::allowed, Copies::denied),
                         [](const auto& tested) { return tested.param == Copies::allowed ? "Allowed" : "Denied"; });

}  // namespace
}  // namespace loom::hostile
