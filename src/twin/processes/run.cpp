#include "loom/twin/processes.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <new>
#include <thread>

#include "loom/base/descriptor.hpp"
#include "loom/base/error.hpp"
#include "loom/base/program.hpp"
#include "loom/verbs/functions.hpp"
#include "twin/job.hpp"
#include "twin/processes/serve.hpp"
#include "twin/processes/slot.hpp"

namespace loom::twin {

namespace {

std::filesystem::path library() {
    const std::filesystem::path file = verbs::soft_library().parent_path() / "libloom-twin.so";
    if (!std::filesystem::exists(file))
        throw Error("there is no " + file.string() + ", which programs need to run in virtual time");
    return file;
}

// The memory that programs map, by the name under which they find it.
class Slots {
public:
    Slots(const Options& options, std::uint32_t ranks, double processor, std::span<const std::uint32_t> hosts,
          const std::string& parameters)
        : file_(memfd_create("loom-twin", MFD_CLOEXEC)) {
        const auto aligned = [](std::uint64_t at) { return (at + 63) / 64 * 64; };
        const std::uint64_t hosts_at = aligned(sizeof(SlotsHeader));
        const std::uint64_t slots_at = aligned(hosts_at + ranks * sizeof(std::uint32_t));
        bytes_ = slots_at + ranks * sizeof(Slot);
        if (!file_.open() || ftruncate(file_.number(), static_cast<off_t>(bytes_)) != 0) fail();
        memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file_.number(), 0);
        if (memory_ == MAP_FAILED) fail();
        auto& header = *new (memory_) SlotsHeader;
        header.ranks = ranks;
        header.look = options.look.ps;
        header.processor = processor;
        header.hosts_at = hosts_at;
        header.slots_at = slots_at;
        header.bytes = bytes_;
        header.level = static_cast<std::uint32_t>(options.level);
        if (parameters.size() >= sizeof header.parameters) throw Error("parameters too long to hand on");
        std::memcpy(header.parameters, parameters.data(), parameters.size());
        std::memcpy(static_cast<std::byte*>(memory_) + hosts_at, hosts.data(), hosts.size_bytes());
        for (std::uint32_t rank = 0; rank < ranks; ++rank) new (&slot(rank)) Slot;
    }
    Slots(const Slots&) = delete;
    Slots& operator=(const Slots&) = delete;
    ~Slots() { munmap(memory_, bytes_); }

    [[nodiscard]] Slot& slot(std::uint32_t rank) {
        const auto& header = *static_cast<SlotsHeader*>(memory_);
        return reinterpret_cast<Slot*>(static_cast<std::byte*>(memory_) + header.slots_at)[rank];
    }
    [[nodiscard]] std::string name() const { return fmt::format("/proc/{}/fd/{}", getpid(), file_.number()); }

private:
    [[noreturn]] static void fail() {
        throw Error(std::string("no shared memory for the ranks: ") + std::strerror(errno));
    }
    Descriptor file_;
    std::uint64_t bytes_ = 0;
    void* memory_ = nullptr;
};

// Plays while the processes are looked after elsewhere.
class Player {
public:
    Player(const Options& options, const Processes& processes) : processes_(processes) {
        Job::Body body = [this](Endpoint& endpoint) {
            Server(endpoint, slots_->slot(endpoint.rank().value), values_, [this](Rank rank) {
                return has_gone(rank);
            }).run();
        };
        job_ = std::make_unique<Job>(options, std::move(body));
        values_.of.resize(job_->ranks());
        slots_ =
            std::make_unique<Slots>(options, job_->ranks(), processes.processor, job_->hosts(), job_->parameters());
    }

    [[nodiscard]] Job& job() { return *job_; }
    [[nodiscard]] std::string slots_name() const { return slots_->name(); }

    void play() {
        try {
            result_ = job_->play();
            job_->throw_first_loss();
        } catch (...) {
            failure_ = std::current_exception();
        }
        // Whoever still waits for an answer gets one.
        for (std::uint32_t rank = 0; rank < job_->ranks(); ++rank) {
            std::uint32_t none = 0;
            slots_->slot(rank).stopped.compare_exchange_strong(none, Slot::no_end);
            give_turn(slots_->slot(rank), Turn::program);
        }
    }
    void nobody_is_left() { none_left_ = true; }
    [[nodiscard]] const std::exception_ptr& failure() const { return failure_; }
    [[nodiscard]] Result& result() { return result_; }

private:
    // A process that nobody has reaped yet is still there, for some milliseconds.
    [[nodiscard]] bool has_gone(Rank rank) const {
        if (none_left_) return true;
        const pid_t process = job_->endpoint(rank).memory().process();
        return process != 0 && kill(process, 0) != 0 && errno == ESRCH;
    }

    const Processes& processes_;
    std::unique_ptr<Job> job_;
    std::unique_ptr<Slots> slots_;
    AllValues values_;
    std::atomic<bool> none_left_{false};
    std::exception_ptr failure_;
    Result result_;
};

// While it lives this thread, and those and the processes that it starts, have one core. A turn goes from process to
// process: with two cores each that gets it has to be woken on an idle one (16 ranks: 0.32 s in all, not 0.14).
class OneCore {
public:
    OneCore() {
        const int here = sched_getcpu();
        if (here < 0 || sched_getaffinity(0, sizeof before_, &before_) != 0) return;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(static_cast<unsigned>(here), &one);
        bound_ = sched_setaffinity(0, sizeof one, &one) == 0;
    }
    OneCore(const OneCore&) = delete;
    OneCore& operator=(const OneCore&) = delete;
    ~OneCore() {
        if (bound_) sched_setaffinity(0, sizeof before_, &before_);
    }

private:
    cpu_set_t before_{};
    bool bound_ = false;
};

}  // namespace

ProcessResult run(const Options& options, const Processes& processes,
                  const std::function<void(sim::Simulation&)>& look_at) {
    if (options.simulation.threads > 1) throw UsageError("one process runs at a time: one thread plays the fabric");
    if (processes.processor < 0) throw UsageError("a factor of processor time below 0");
    const std::filesystem::path preloaded = library();
    const OneCore one_core;
    Player player(options, processes);
    transport::Launch launch = processes.launch;
    launch.ranks = player.job().ranks();
    launch.environment.emplace_back("LOOM_TWIN", player.slots_name());
    launch.environment.emplace_back("LD_PRELOAD", preload_list(preloaded));
    std::thread playing([&] { player.play(); });
    ProcessResult result;
    std::exception_ptr failure;
    try {
        result.outcome = transport::launch(launch);
    } catch (...) {
        failure = std::current_exception();
    }
    player.nobody_is_left();
    playing.join();
    if (failure) std::rethrow_exception(failure);
    result.result = std::move(player.result());
    // A rank that went is told by the outcome of the launch.
    try {
        if (player.failure()) std::rethrow_exception(player.failure());
    } catch (const transport::RankLost&) {
    }
    if (look_at) look_at(player.job().simulation());
    return result;
}

}  // namespace loom::twin
