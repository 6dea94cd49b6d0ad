// loom_window_ours: notified puts between two ranks under `loom run`; rank 0 prints one number.
//   loom_window_ours latency BYTES ROUNDS [ordinary]   half a round trip in microseconds: put_notify, seen by wait,
//   read loom_window_ours rate BYTES ROUNDS [ordinary]      millions of notified puts a second from rank 0 to rank 1
// Memory is the world's, or with `ordinary` the program's own.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "loom/window/window.hpp"

namespace {

using namespace loom;
using namespace loom::window;
using Clock = std::chrono::steady_clock;

constexpr Tag tag{1};

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

void check(bool right) {
    if (!right) throw Error("a notification came before its data");
}

// A rank that waits also reads the first word of the data, as a program that polls memory would.
double latency(World& world, const Window& window, std::span<std::byte> data, std::uint64_t rounds) {
    const bool first = world.rank() == Rank{0};
    const Rank other{first ? 1u : 0u};
    const auto run = [&](std::uint64_t number) {
        for (std::uint64_t i = 1; i <= number; ++i) {
            if (!first) window.wait(tag);
            if (!first) check(static_cast<unsigned char>(*window.mine().data()) == (i & 0xff));
            data[0] = static_cast<std::byte>(i & 0xff);
            window.put_notify(other, 0, data, tag);
            if (first) window.wait(tag);
            if (first) check(static_cast<unsigned char>(*window.mine().data()) == (i & 0xff));
        }
    };
    run(rounds / 10 + 1);
    world.team().barrier();
    const auto begin = Clock::now();
    run(rounds);
    return seconds_since(begin) * 1e6 / static_cast<double>(rounds) / 2;
}

// The receiver answers once it has counted them all.
double rate(World& world, const Window& window, std::span<const std::byte> data, std::uint64_t rounds) {
    constexpr std::uint64_t at_once = 100;
    rounds = (rounds + at_once - 1) / at_once * at_once;
    const bool first = world.rank() == Rank{0};
    const std::uint64_t places = window.mine().size() / data.size();
    const auto run = [&](std::uint64_t number) {
        if (first) {
            for (std::uint64_t i = 0; i < number; ++i) window.put_notify(Rank{1}, i % places * data.size(), data, tag);
            window.wait(tag);
        } else {
            for (std::uint64_t i = 0; i < number; i += at_once) window.wait(tag, at_once);
            window.notify(Rank{0}, tag);
        }
    };
    run(at_once);
    world.team().barrier();
    const auto begin = Clock::now();
    run(rounds);
    return static_cast<double>(rounds) / seconds_since(begin) / 1e6;
}

int run(const std::string& what, std::uint64_t bytes, std::uint64_t rounds, bool ordinary) {
    const auto world = World::open();
    if (world->size() != 2) throw UsageError("two ranks are needed");
    const std::uint64_t size = std::max<std::uint64_t>(64 * 1024, bytes);
    std::vector<std::byte> own(ordinary ? size : 0), data(bytes);
    const std::span<std::byte> memory = ordinary ? std::span<std::byte>(own) : world->allocate(size);
    Window window = world->team().create(memory);
    const double result =
        what == "latency" ? latency(*world, window, data, rounds) : rate(*world, window, data, rounds);
    if (world->rank() == Rank{0}) std::printf("%.4f\n", result);
    window.free();
    world->close();
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "";
    const std::uint64_t bytes = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0,
                        rounds = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 0;
    if ((what != "latency" && what != "rate") || bytes == 0 || rounds == 0) {
        std::fputs("usage: loom_window_ours latency|rate BYTES ROUNDS [ordinary]\n", stderr);
        return 2;
    }
    try {
        return run(what, bytes, rounds, argc > 4);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "loom_window_ours: %s\n", error.what());
        return 1;
    }
}
