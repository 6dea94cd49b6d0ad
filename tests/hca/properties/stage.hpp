// What the properties are shown on: processes that begin before any device is open, memory they share besides the
// adapter, and a host's view of it. Checks inside a process count for the test that started it.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <new>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "hca/conformance/bed.hpp"

namespace loom::properties {

using conformance::Ah;
using conformance::Buffer;
using conformance::Channel;
using conformance::Context;
using conformance::Cq;
using conformance::every_access;
using conformance::Mr;
using conformance::next;
using conformance::Node;
using conformance::NodeOptions;
using conformance::Pd;
using conformance::poll;
using conformance::post_receive;
using conformance::Tuning;
using conformance::Work;

#ifdef LOOM_SANITIZED
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif
// Rounds, fewer of them where every access is checked.
constexpr unsigned rounds(unsigned count) {
    return sanitized ? count / 10 + 1 : count;
}

// A value in memory that processes started later share.
template <class T>
class Shared {
public:
    Shared() {
        void* memory = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) throw std::runtime_error("mmap");
        value_ = new (memory) T();
    }
    ~Shared() { munmap(value_, sizeof(T)); }
    Shared(const Shared&) = delete;
    Shared& operator=(const Shared&) = delete;
    T* operator->() const { return value_; }
    T& operator*() const { return *value_; }

private:
    T* value_;
};

// Looks again and again, the core given away in between; throws when it takes too long.
void await(const std::function<bool()>& condition, const char* what,
           std::chrono::seconds limit = conformance::patience);

// A place where `count` processes wait for each other, again and again.
struct Meeting {
    std::atomic<std::uint32_t> arrived{0};
    void meet(std::uint32_t count = 2);
};

using Environment = std::vector<std::pair<std::string, std::string>>;

[[nodiscard]] inline Environment with(Environment base, const Environment& more) {
    base.insert(base.end(), more.begin(), more.end());
    return base;
}

// Two adapters that reach each other by packets alone, on a port of this test's own: others may run beside it.
[[nodiscard]] inline Environment over_roce() {
    return {{"LOOM_VERBS_SHARED", "0"},
            {"LOOM_VERBS_HCAS", "roce:127.0.0.1,roce:127.0.0.2"},
            {"LOOM_VERBS_ROCE_PORT", std::to_string(20000 + getpid() % 20000)}};
}

// Processes that play a test. None outlives it.
class Company {
public:
    explicit Company(std::chrono::seconds limit = std::chrono::seconds(100)) : limit_(limit) {}
    ~Company();
    Company(const Company&) = delete;
    Company& operator=(const Company&) = delete;

    // Runs in a process of its own; what it throws fails the test.
    pid_t start(const std::function<void()>& role, const Environment& environment = {});
    // How it ended, as waitpid says.
    int wait(pid_t process);
    // All that are left end well, or the test has failed.
    void finish();

private:
    std::chrono::seconds limit_;
    std::vector<pid_t> running_;
};

// What another process has to know of a queue pair and of memory.
struct Address {
    std::uint32_t qpn = 0, psn = 0;
    std::uint16_t lid = 0;
    ibv_gid gid{};
    std::uint64_t memory = 0;
    std::uint32_t rkey = 0;
};

// One open device of this process.
class Host {
public:
    explicit Host(int device = 0);

    [[nodiscard]] Node node(const NodeOptions& options = {});
    [[nodiscard]] Buffer buffer(std::size_t size, std::uint8_t value = 0, int access = every_access);
    [[nodiscard]] Address address(const Node& node) const;
    [[nodiscard]] Address address(const Node& node, const Buffer& memory) const;
    [[nodiscard]] ibv_ah_attr path(const Address& to) const;
    // RESET to RTS, towards the other.
    void join(const Node& node, const Address& other, const Tuning& tuning = {}) const;

    Context context;
    Pd pd;
    ibv_port_attr port{};
    ibv_gid gid{};

private:
    std::uint32_t next_psn_ = 0xfffff0;  // numbers wrap around early
};

// Timeouts that stand a busy machine: 67 ms, 7 times where nothing is ever lost.
inline const Tuning patient = [] {
    Tuning tuning;
    tuning.timeout = 14;
    tuning.retry = 7;
    return tuning;
}();
// Over RoCE the timeout bounds how long a process may get no core; what is lost is sent again much earlier.
inline const Tuning very_patient = [] {
    Tuning tuning = patient;
    tuning.timeout = 19;
    return tuning;
}();

// From here on the kernel refuses this process copies to and from the memory of others.
void deny_process_copies();

// A file name that is this test's own, and the counters that processes have written to it at their end.
class Counters {
public:
    Counters();
    ~Counters();
    Counters(const Counters&) = delete;
    Counters& operator=(const Counters&) = delete;
    [[nodiscard]] Environment environment() const { return {{"LOOM_VERBS_STATS", file_}}; }
    // Summed over processes and HCAs, e.g. sum("sent_bytes", "direct") or sum("dropped").
    [[nodiscard]] std::uint64_t sum(const std::string& name, const std::string& way = "") const;

private:
    std::string file_;
};

[[nodiscard]] inline std::int64_t now_us() {
    return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

}  // namespace loom::properties
