// What tests start under `loom twin run`: its first word says what it does.
#include <poll.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "loom/base/clock.hpp"
#include "loom/coll/typed.hpp"

namespace {

using namespace loom;
using Machine = std::chrono::steady_clock;

long long microseconds_since(Machine::time_point begin) {
    return std::chrono::duration_cast<std::chrono::microseconds>(Machine::now() - begin).count();
}

// Everything that sleeps or tells the time agrees.
void clocks(coll::World& world) {
    const auto begin = Machine::now();
    std::this_thread::sleep_for(std::chrono::hours(1));
    usleep(1000);
    poll(nullptr, 0, 10);
    compute(milliseconds(5));
    timeval date{};
    gettimeofday(&date, nullptr);
    if (world.rank() == Rank{0})
        std::printf("%lld s, %lld s after 2000\n", microseconds_since(begin) / 1'000'000,
                    static_cast<long long>(date.tv_sec) - 946'684'800);
}

// The last one alone decides when the barrier is over.
void straggler(coll::World& world) {
    if (world.rank().value + 1 == world.size()) compute(seconds(2));
    world.communicator().barrier();
    const long long now = time(nullptr) - 946'684'800;
    if (world.rank() == Rank{0}) std::printf("%lld\n", now);
}

void polls_the_clock(coll::World&) {
    const auto begin = Machine::now();
    while (microseconds_since(begin) < 1000) {
    }
}

void circle(coll::World& world) {
    const coll::Communicator comm = world.communicator();
    int value = 0;
    comm.receive(std::span(&value, 1), Rank{(comm.rank().value + 1) % comm.size()});
}

void dies(coll::World& world) {
    if (world.rank() == Rank{1}) raise(SIGKILL);
    try {
        world.communicator().barrier();
    } catch (const transport::RankLost& lost) {
        std::fprintf(stderr, "rank %u heard: %s\n", world.rank().value, lost.what());
        throw;
    }
}

// From the first half of the ranks to the second, for a while.
void stream(coll::World& world) {
    const coll::Communicator comm = world.communicator();
    const std::uint32_t half = comm.size() / 2, me = comm.rank().value;
    std::vector<double> data(std::size_t{1} << 17);
    for (int i = 0; i < 16; ++i) {
        if (me < half) comm.send(std::span<const double>(data), Rank{me + half});
        if (me >= half) comm.receive(std::span(data), Rank{me - half});
    }
    comm.barrier();
    if (me == 0) std::printf("done\n");
}

// What it prints depends on which of two messages comes first, which no standard says.
void first(coll::World& world) {
    const coll::Communicator comm = world.communicator();
    int value = 0, other = 0;
    if (comm.rank() != Rank{2}) return comm.send(std::span<const int>(&value, 1), Rank{2});
    auto from_0 = comm.ireceive(std::span(&value, 1), Rank{0});
    auto from_1 = comm.ireceive(std::span(&other, 1), Rank{1});
    int winner = -1;
    while (winner < 0) winner = from_0.test() ? 0 : from_1.test() ? 1 : -1;
    from_0.wait();
    from_1.wait();
    std::printf("rank %d was first\n", winner);
}

}  // namespace

int main(int argc, char** argv) try {
    const std::string what = argc > 1 ? argv[1] : "";
    const auto world = coll::World::open();
    if (what == "clocks") clocks(*world);
    if (what == "straggler") straggler(*world);
    if (what == "polls") polls_the_clock(*world);
    if (what == "circle") circle(*world);
    if (what == "dies") dies(*world);
    if (what == "stream") stream(*world);
    if (what == "first") first(*world);
    world->close();
    return 0;
} catch (const loom::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
