#include "loom/verbs/measure.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <span>

#include "loom/base/error.hpp"
#include "loom/base/random.hpp"
#include "verbs/side.hpp"

namespace loom::verbs {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::array<std::size_t, 7> sizes{8, 64, 512, 4096, 32768, 262144, 2097152};
constexpr auto budget = std::chrono::milliseconds(30);  // for each measurement
constexpr std::uint32_t go_on = 0, last_one = 1;
constexpr std::uint64_t right = 1, wrong = 0;

void fill(std::span<std::uint8_t> bytes, std::uint64_t seed) {
    Random random(seed);
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
}

bool matches(std::span<const std::uint8_t> bytes, std::uint64_t seed) {
    Random random(seed);
    return std::all_of(bytes.begin(), bytes.end(),
                       [&](std::uint8_t byte) { return byte == static_cast<std::uint8_t>(random()); });
}

// --- the far side: answers sends, else sleeps while the near side writes into its memory and reads from it

void echo(Side& side, std::size_t size) {
    side.post_receive(size);
    side.meet();
    for (bool more = true; more;) {
        ibv_wc wc = side.wait();
        while ((wc.opcode & IBV_WC_RECV) == 0) wc = side.wait();
        more = wc.imm_data == 0;
        if (more) side.post_receive(size);
        side.post_send(size, go_on);
    }
    (void)side.wait();  // the last answer
    side.meet();
}

void far_side(Side& side) {
    side.connect();
    for (const std::size_t size : sizes) {
        echo(side, size);
        (void)side.hear();  // written
        side.tell(matches(side.memory().first(size), size) ? right : wrong);
        fill(side.memory().first(size), size + 1);
        side.tell(0);  // to be read
        (void)side.hear();
    }
}

// --- the near side

double send_latency(Side& side, std::size_t size) {
    side.meet();
    std::vector<double> halves;
    const auto end = Clock::now() + budget;
    for (bool more = true; more;) {
        const auto begin = Clock::now();
        more = begin < end || halves.size() < 10;
        side.post_receive(size);
        side.post_send(size, more ? go_on : last_one);
        for (int completions = 0; completions < 2; ++completions) (void)side.wait();
        halves.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count() / 2);
    }
    side.meet();
    std::nth_element(halves.begin(), halves.begin() + static_cast<std::ptrdiff_t>(halves.size() / 2), halves.end());
    return halves[halves.size() / 2];
}

double bandwidth(Side& side, ibv_wr_opcode opcode, std::size_t size) {
    constexpr std::size_t window = 32;
    std::size_t posted = 0, done = 0;
    const auto begin = Clock::now();
    const auto end = begin + budget;
    while (true) {
        const bool more = Clock::now() < end || done == 0;
        while (more && posted - done < window) {
            side.post_rdma(opcode, size);
            ++posted;
        }
        if (posted == done) break;
        (void)side.wait();
        ++done;
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    return static_cast<double>(done * size) / seconds / 1e9;
}

// The path that took most of what was sent between two looks.
std::string busiest_path(const std::vector<SentBytes>& before, const std::vector<SentBytes>& after) {
    std::string path;
    std::uint64_t most = 0;
    for (std::size_t i = 0; i < after.size() && i < before.size(); ++i)
        if (const std::uint64_t bytes = after[i].bytes - before[i].bytes; bytes > most) {
            most = bytes;
            path = after[i].path;
        }
    return path;
}

std::vector<SentBytes> count(const PathCounters& sent, const Side& side) {
    return sent ? sent(side.device()) : std::vector<SentBytes>();
}

std::vector<Speed> near_side(Side& side, const PathCounters& sent) {
    side.connect();
    std::vector<Speed> results;
    for (const std::size_t size : sizes) {
        Speed result;
        result.size = size;
        result.send_us = send_latency(side, size);
        fill(side.memory().first(size), size);
        const auto before = count(sent, side);
        result.write_gbs = bandwidth(side, IBV_WR_RDMA_WRITE, size);
        result.path = busiest_path(before, count(sent, side));
        side.tell(0);
        if (side.hear() != right) throw Error(fmt::format("{} bytes were written wrong", size));
        (void)side.hear();
        result.read_gbs = bandwidth(side, IBV_WR_RDMA_READ, size);
        if (!matches(side.memory().first(size), size + 1)) throw Error(fmt::format("{} bytes were read wrong", size));
        side.tell(0);
        results.push_back(result);
    }
    return results;
}

// The other process: ends with this one, and says nothing but what went wrong.
[[noreturn]] void run_far_side(const Functions& verbs, int socket) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int code = 0;
    try {
        Side side(verbs, 1, sizes.back(), socket);
        far_side(side);
    } catch (const std::exception& error) {
        fmt::print(stderr, "loom: {}\n", error.what());
        code = 2;
    }
    _exit(code);
}

}  // namespace

std::vector<Speed> measure(const Functions& verbs, const PathCounters& sent) {
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) throw IoError("cannot make a socket pair");
    signal(SIGPIPE, SIG_IGN);
    const pid_t child = fork();
    if (child < 0) throw IoError("cannot start a process");
    close(sockets[child == 0 ? 0 : 1]);
    if (child == 0) run_far_side(verbs, sockets[1]);
    const auto reap = [&](int signal) {
        if (signal != 0) kill(child, signal);
        waitpid(child, nullptr, 0);
        close(sockets[0]);
    };
    try {
        std::vector<Speed> results;
        {
            Side side(verbs, 0, sizes.back(), sockets[0]);
            results = near_side(side, sent);
        }
        reap(0);
        return results;
    } catch (...) {
        reap(SIGKILL);
        throw;
    }
}

}  // namespace loom::verbs
