#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <vector>

#include "bare/bare.hpp"

namespace loom::bench {
namespace {

using Clock = std::chrono::steady_clock;

void sit_on(int processor) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    sched_setaffinity(0, sizeof set, &set);  // on one processor alone it fails, and nothing is to be done
}

struct Memory {
    explicit Memory(std::size_t length)
        : bytes(static_cast<volatile char*>(
              mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0))),
          size(length) {}
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    ~Memory() { munmap(const_cast<char*>(bytes), size); }
    [[nodiscard]] bool there() const { return bytes != MAP_FAILED; }

    volatile char* bytes;
    std::size_t size;
};

// One side: who is written to, which bytes stand for this round. Before the fork both have the same addresses.
struct Side {
    pid_t peer;
    volatile char* inbox;
    volatile char* outbox;
    std::size_t bytes;

    [[nodiscard]] bool send(std::size_t round) const {
        outbox[bytes - 1] = static_cast<char>(round);
        const iovec from{const_cast<char*>(outbox), bytes}, to{const_cast<char*>(inbox), bytes};
        return process_vm_writev(peer, &from, 1, &to, 1, 0) == static_cast<ssize_t>(bytes);
    }
    void await(std::size_t round) const {
        while (inbox[bytes - 1] != static_cast<char>(round)) {
        }
    }
};

// A child that dies with us, and is awaited or killed with this object.
class Child {
public:
    explicit Child(pid_t id) : id_(id) {}
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child() {
        kill(id_, SIGKILL);
        waitpid(id_, nullptr, 0);
    }

private:
    pid_t id_;
};

}  // namespace

double bare_write_latency(std::size_t bytes, std::size_t rounds) {
    const Memory inbox(bytes), outbox(bytes);
    if (!inbox.there() || !outbox.there()) return -1;
    int ready[2];
    if (pipe(ready) != 0) return -1;
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    const pid_t parent = getpid(), child = fork();
    if (child < 0) return -1;
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
        sit_on(0);
        inbox.bytes[bytes - 1] = 0;  // a page of its own before anybody writes to it
        [[maybe_unused]] const auto told = write(ready[1], "!", 1);
        const Side side{parent, inbox.bytes, outbox.bytes, bytes};
        for (std::size_t round = 1; round <= rounds; ++round) {
            side.await(round);
            if (!side.send(round)) _exit(1);
        }
        for (;;) pause();
    }
    const Child held(child);
    sit_on(1);
    inbox.bytes[bytes - 1] = 0;
    char byte;
    if (read(ready[0], &byte, 1) != 1) return -1;
    const Side side{child, inbox.bytes, outbox.bytes, bytes};
    std::vector<double> times(rounds);
    for (std::size_t round = 1; round <= rounds; ++round) {
        const auto begin = Clock::now();
        if (!side.send(round)) return -1;
        side.await(round);
        times[round - 1] = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
    }
    std::nth_element(times.begin(), times.begin() + static_cast<long>(rounds / 2), times.end());
    return times[rounds / 2] / 2;
}

double bare_copy_bandwidth(std::size_t bytes, std::size_t rounds, Direction direction) {
    const Memory theirs(bytes), ours(bytes);
    if (!theirs.there() || !ours.there()) return -1;
    int ready[2];
    if (pipe(ready) != 0) return -1;
    const pid_t child = fork();
    if (child < 0) return -1;
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
        sit_on(0);
        for (std::size_t at = 0; at < bytes; at += 4096) theirs.bytes[at] = 1;
        [[maybe_unused]] const auto told = write(ready[1], "!", 1);
        for (;;) pause();
    }
    const Child held(child);
    sit_on(1);
    for (std::size_t at = 0; at < bytes; at += 4096) ours.bytes[at] = 1;
    char byte;
    if (read(ready[0], &byte, 1) != 1) return -1;
    const iovec here{const_cast<char*>(ours.bytes), bytes}, there{const_cast<char*>(theirs.bytes), bytes};
    const auto copy = [&] {
        const ssize_t done = direction == Direction::write ? process_vm_writev(child, &here, 1, &there, 1, 0)
                                                           : process_vm_readv(child, &here, 1, &there, 1, 0);
        return done == static_cast<ssize_t>(bytes);
    };
    for (int warm = 0; warm < 10; ++warm)
        if (!copy()) return -1;
    const auto begin = Clock::now();
    for (std::size_t round = 0; round < rounds; ++round)
        if (!copy()) return -1;
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    return static_cast<double>(bytes) * static_cast<double>(rounds) / seconds / 1e6;
}

}  // namespace loom::bench
