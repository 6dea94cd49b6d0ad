// losses: how long it takes until every rank knows that another was killed in the midst of collectives.
//   losses [--rounds N] [--ranks N] [--compute MICROSECONDS] [--only TEXT]
// For each way of making progress, operation, and rank that is killed, N jobs, each a few processes on the software
// HCA. The first two times are from the kill to the error of the last rank that is left, the third from the moment when
// the kernel was done with the killed process: where memory is being moved, that alone takes up to seconds, and nobody
// can know before. Between two operations ranks may compute; with `compute` the operations before the loss are few, so
// that no rank is far ahead of the others.
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "loom/base/error.hpp"
#include "loom/coll/world.hpp"
#include "loom/transport/launch.hpp"

namespace {

using namespace loom;
using Clock = std::chrono::steady_clock;

struct Shared {
    std::atomic<pid_t> victim{0};
    std::atomic<std::int64_t> killed_at{0};
    std::atomic<std::int64_t> ended_at{0};
    std::atomic<std::int64_t> heard_at[transport::Launch::most_ranks];
};

std::int64_t now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

struct Operation {
    const char* name;
    coll::Collective what;
    std::size_t bytes;
};

constexpr Operation operations[] = {
    {"reduce 8 B", coll::Collective::reduce, 8},
    {"scan 256 KiB", coll::Collective::scan, 256 << 10},
    {"allreduce 8 B", coll::Collective::allreduce, 8},
    {"broadcast 64 KiB", coll::Collective::broadcast, 64 << 10},
    {"alltoall 1 MiB", coll::Collective::alltoall, 1 << 20},
    {"gather 4 KiB", coll::Collective::gather, 4 << 10},
};

void add_doubles(const void*, const std::byte* in, std::byte* inout, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i)
        reinterpret_cast<double*>(inout)[i] += reinterpret_cast<const double*>(in)[i];
}

// Goes on until it hears of the loss. (Where another rank heard of it first and is on its way out, that one may be
// named.) The buffers must stay until the world is closed.
void collect_until_lost(coll::World& world, const Operation& operation, Rank victim, Shared& shared,
                        std::vector<double>& in, std::vector<double>& out, std::chrono::microseconds compute) {
    const coll::Reduction sum{add_doubles, nullptr, sizeof(double), true};
    coll::Call call;
    call.what = operation.what;
    call.bytes = operation.bytes;
    const coll::Communicator everyone = world.communicator();
    try {
        for (int i = 0;; ++i) {
            const auto until = Clock::now() + compute;
            while (Clock::now() < until) {
            }
            if (world.rank() == victim && i == (compute.count() == 0 ? 200 : 20)) {
                shared.killed_at = now_ns();
                raise(SIGKILL);
            }
            everyone
                .start(call, {reinterpret_cast<const std::byte*>(in.data()), reinterpret_cast<std::byte*>(out.data())},
                       &sum)
                .wait();
        }
    } catch (const transport::RankLost&) {
        shared.heard_at[world.rank().value] = now_ns();
    }
}

// Notes when the kernel has ended the victim. By a process of its own, so that the launcher forks from one thread.
class Watch {
public:
    explicit Watch(Shared& shared) : watcher_(fork()) {
        if (watcher_ != 0) return;
        while (shared.victim == 0) usleep(500);
        pollfd ended{static_cast<int>(syscall(SYS_pidfd_open, shared.victim.load(), 0)), POLLIN, 0};
        if (ended.fd >= 0) (void)poll(&ended, 1, -1);
        shared.ended_at = now_ns();
        _exit(0);
    }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    ~Watch() {
        kill(watcher_, SIGKILL);
        waitpid(watcher_, nullptr, 0);
    }

private:
    pid_t watcher_;
};

// Milliseconds.
struct Heard {
    double after_kill = -1;  // below zero when somebody heard something else
    double after_end = 0;
};

Heard one_round(std::uint32_t ranks, coll::Progress progress, const Operation& operation, Rank victim, Shared& shared,
                std::chrono::microseconds compute) {
    new (&shared) Shared;
    const Watch watch(shared);
    transport::Launch job;
    job.ranks = ranks;
    job.timeout = std::chrono::seconds(60);
    job.body = [&](Rank me) {
        if (me == victim) shared.victim = getpid();
        const auto world = coll::World::open();
        world->set_progress(progress);
        std::vector<double> in(operation.bytes * ranks / sizeof(double) + 1, 1.0), out(in.size());
        collect_until_lost(*world, operation, victim, shared, in, out, compute);
        world->close();
        return 0;
    };
    const transport::LaunchOutcome outcome = transport::launch(job);
    if (outcome.exit_code() != 128 + SIGKILL) return {};
    std::int64_t last = 0;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        if (Rank{rank} == victim) continue;
        if (outcome.ranks[rank].exit_code != 0) return {};
        last = std::max(last, shared.heard_at[rank].load());
    }
    // Ranks may hear before our watch does.
    const std::int64_t ended = shared.ended_at == 0 ? last : std::min(last, shared.ended_at.load());
    return {static_cast<double>(last - shared.killed_at) * 1e-6, static_cast<double>(last - ended) * 1e-6};
}

int measure(std::uint32_t ranks, std::uint32_t rounds, std::chrono::microseconds compute, std::string_view only) {
    void* const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw Error("no shared memory");
    Shared& shared = *new (memory) Shared;
    bool all_heard = true;
    fmt::print("{:<18} {:<8} {:<6} {:>10} {:>10} {:>18}   of {} rounds on {} ranks, to the last error\n", "operation",
               "progress", "killed", "median ms", "worst ms", "worst from its end", rounds, ranks);
    for (const Operation& operation : operations) {
        if (std::string_view(operation.name).find(only) == std::string_view::npos) continue;
        for (const auto progress : {coll::Progress::manual, coll::Progress::thread})
            for (const Rank victim : {Rank{0}, Rank{ranks - 1}}) {
                std::vector<double> times;
                double after_end = 0;
                for (std::uint32_t i = 0; i < rounds; ++i) {
                    const Heard heard = one_round(ranks, progress, operation, victim, shared, compute);
                    times.push_back(heard.after_kill);
                    after_end = std::max(after_end, heard.after_end);
                }
                std::sort(times.begin(), times.end());
                all_heard &= times.front() >= 0;
                fmt::print("{:<18} {:<8} {:<6} {:>10.1f} {:>10.1f} {:>18.1f}{}\n", operation.name,
                           progress == coll::Progress::manual ? "manual" : "thread",
                           victim.value == 0 ? "root" : "leaf", times[times.size() / 2], times.back(), after_end,
                           times.front() < 0 ? "   not all heard of it" : "");
                std::fflush(stdout);
            }
    }
    munmap(memory, sizeof(Shared));
    return all_heard ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("how long it takes until every rank knows of a loss");
    std::uint32_t rounds = 200, ranks = 4, compute = 0;
    app.add_option("--rounds", rounds, "jobs for each row")->check(CLI::Range(1, 100000));
    app.add_option("--ranks", ranks, "processes")->check(CLI::Range(2, 64));
    app.add_option("--compute", compute, "microseconds between two operations")->check(CLI::Range(0, 100000));
    std::string only;
    app.add_option("--only", only, "operations with this in their name");
    CLI11_PARSE(app, argc, argv);
    try {
        return measure(ranks, rounds, std::chrono::microseconds(compute), only);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "losses: %s\n", error.what());
        return 2;
    }
}
