// A peer of the same user that writes nonsense over the memory it shares with us: traffic may suffer, nothing else.
#include <sys/wait.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <thread>

#include "hca/hostile/traffic.hpp"

namespace loom::hostile {
namespace {

struct Writable {
    std::uint8_t* begin;
    std::size_t size;
};

// The shared segments that this process may write to.
std::vector<Writable> own_segments() {
    std::vector<Writable> found;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        unsigned long begin = 0, end = 0;
        char rights[5] = {};
        if (std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, rights) != 3) continue;
        if (rights[1] == 'w' && rights[3] == 's' && line.find("/memfd:loom") != std::string::npos)
            found.push_back({reinterpret_cast<std::uint8_t*>(begin), end - begin});
    }
    return found;
}

void scribble(const std::vector<Writable>& segments, Random& random) {
    const Writable& segment = segments[random.below(static_cast<std::uint32_t>(segments.size()))];
    // Most of what matters is at the beginning.
    const std::size_t reach = random.below(2) == 0 ? std::min<std::size_t>(segment.size, 4096) : segment.size;
    std::uint8_t* at = segment.begin + (random.below(static_cast<std::uint32_t>(reach - 8)) & ~7u);
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    switch (random.below(4)) {
        case 0:
            word = random();
            break;
        case 1:
            word = ~std::uint64_t{0};
            break;
        case 2:
            word += 1 + random.below(64);
            break;
        default:
            word ^= std::uint64_t{1} << random.below(64);
            break;
    }
    *reinterpret_cast<volatile std::uint64_t*>(at) = word;
}

// Works honestly for a while, so that both sides are in the middle of something, then scribbles until it is killed. Its
// own library may fall over its own nonsense.
void villain(Rounds& rounds, std::uint32_t round) {
    Host host;
    const Island island(host);
    Traffic traffic(host.node(Traffic::options()), island, round);
    const Address own{traffic.node().qp->qp_num, traffic.node().psn, host.port.lid, host.gid,
                      island.address(),          island.rkey()};
    try_to_join(host, traffic.node(), rounds.survivor);
    traffic.post_receives();
    rounds.victim = own;
    rounds.victim_ready = round;
    for (int i = 0; i < 200; ++i) traffic.run_once(rounds.survivor);
    const std::vector<Writable> segments = own_segments();
    if (segments.empty()) std::_Exit(77);
    Random random(round);
    // Few and many words between two calls.
    const std::uint32_t burst = 1u << random.below(10);
    for (;;) {
        for (std::uint32_t i = 0; i < burst; ++i) scribble(segments, random);
        traffic.run_once(rounds.survivor);
    }
}

void survivor(Rounds& rounds, std::uint32_t count) {
    Host host;
    const Island island(host);
    for (std::uint32_t round = 1; round <= count; ++round) {
        Traffic traffic(host.node(Traffic::options()), island, round + 1'000'000);
        rounds.survivor = {traffic.node().qp->qp_num, traffic.node().psn, host.port.lid, host.gid,
                           island.address(),          island.rkey()};
        rounds.survivor_ready = round;
        await([&] { return rounds.victim_ready == round || rounds.killed == round; }, "the villain");
        if (rounds.victim_ready == round) {
            const Address other = rounds.victim;
            try_to_join(host, traffic.node(), other);
            traffic.post_receives();
            while (rounds.killed != round) traffic.run_once(other);
            ++rounds.connected;
            traffic.post(other);
            await(
                [&] {
                    traffic.reap();
                    return traffic.outstanding() == 0;
                },
                "requests to complete after the villain's death");
        }
        rounds.succeeded += traffic.succeeded();
        rounds.settled = round;
        ASSERT_TRUE(island.shores_are_dry()) << "memory outside what was registered was written in round " << round;
    }
    // With an honest peer, here in the same process, everything is as ever.
    const Node a = host.node(), b = host.node();
    host.join(a, host.address(b));
    host.join(b, host.address(a));
    const Buffer source = host.buffer(50'000, 1), target = host.buffer(50'000, 2);
    ASSERT_EQ(post_receive(b, 1, {target.all()}), 0);
    ASSERT_EQ(Work(IBV_WR_SEND, 2, {source.all()}).post(a), 0);
    EXPECT_STATUS(next(a.send_cq), IBV_WC_SUCCESS);
    EXPECT_STATUS(next(b.recv_cq), IBV_WC_SUCCESS);
    EXPECT_EQ(source.bytes, target.bytes);
    rounds.over = true;
}

TEST(Scribbling, OverSharedMemoryNeverCrashesHangsOrWritesBeyondRegisteredMemory) {
    const char* asked = std::getenv("LOOM_SCRIBBLE_ROUNDS");
    const std::uint32_t count =
        asked != nullptr ? static_cast<std::uint32_t>(std::atoi(asked)) : properties::rounds(150);
    const Shared<Rounds> rounds;
    Random random(7);
    Company company(std::chrono::seconds(220));
    const pid_t surviving = company.start([&] { survivor(*rounds, count); });
    std::uint32_t nothing_to_scribble_on = 0;

    for (std::uint32_t round = 1; round <= count && rounds->settled + 1 == round; ++round) {
        const auto gone = [&] {
            siginfo_t ended{};
            waitid(P_PID, static_cast<id_t>(surviving), &ended, WEXITED | WNOHANG | WNOWAIT);
            return ended.si_pid != 0;
        };
        await([&] { return rounds->survivor_ready == round || gone(); }, "the survivor");
        const pid_t process = company.start([&] {
            std::freopen("/dev/null", "w", stderr);
            villain(*rounds, round);
        });
        std::this_thread::sleep_for(std::chrono::milliseconds(10 + random.below(50)));
        kill(process, SIGKILL);
        const int status = company.wait(process);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77) ++nothing_to_scribble_on;
        rounds->killed = round;
        await([&] { return rounds->settled == round || gone(); }, "the survivor to settle", std::chrono::seconds(20));
    }
    const int status = company.wait(surviving);

    EXPECT_FALSE(WIFSIGNALED(status)) << "the survivor ended by signal " << WTERMSIG(status) << " in round "
                                      << rounds->settled + 1;
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_EQ(rounds->settled, count);
    EXPECT_EQ(nothing_to_scribble_on, 0u);
    EXPECT_GT(rounds->connected, count / 2);
    EXPECT_GT(rounds->succeeded, count);
}

}  // namespace
}  // namespace loom::hostile
