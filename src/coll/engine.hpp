// Runs programs over a transport: what is ready begins, what is finished lets others begin.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "coll/program.hpp"
#include "loom/base/huge_pages.hpp"
#include "loom/coll/communicator.hpp"
#include "loom/coll/reduction.hpp"
#include "loom/transport/transport.hpp"

namespace loom::coll {

class Check;
class Engine;
struct Prepared;

// One run of a program: owns counters, messages and scratch memory, made once and used again and again. Everything but
// finished() belongs to whoever holds the world's lock.
class Execution {
public:
    Execution(Engine& engine, Prepared& prepared);
    ~Execution();
    Execution(const Execution&) = delete;
    Execution& operator=(const Execution&) = delete;

    [[nodiscard]] bool finished() const { return phase_.load(std::memory_order_acquire) >= Phase::done; }
    [[nodiscard]] bool failed() const { return phase_.load(std::memory_order_relaxed) == Phase::failed; }
    [[nodiscard]] bool started() const { return phase_.load(std::memory_order_relaxed) != Phase::idle; }
    // Messages that the transport still knows: the memory must stay.
    [[nodiscard]] bool in_use_by_transport() const { return outstanding_ != 0; }
    [[nodiscard]] const std::exception_ptr& error() const { return error_; }  // what it failed with
    // Back to what it was when new.
    void reset() {
        phase_.store(Phase::idle, std::memory_order_relaxed);
        detached = false;
        if (error_) error_ = nullptr;
    }

    // For persistent operations: the arguments of every start.
    Buffers buffers;
    Reduction reduction;
    std::uint64_t tag = 0;  // context and sequence, in their places

    Prepared& prepared() const { return prepared_; }
    Engine& engine() const { return engine_; }
    bool detached = false;
    Execution* next_idle = nullptr;  // in the pool of its plan

private:
    friend class Engine;
    enum class Phase : std::uint8_t { idle, running, done, failed };

    [[nodiscard]] std::byte* at(Buffer buffer, std::uint64_t offset) const {
        return reinterpret_cast<std::byte*>(base_[static_cast<std::size_t>(buffer)] + offset);
    }
    void complete(std::uint32_t step);
    void release_successors(const ProgramStep& step);
    void send_to_all(transport::Multicast& multicast);
    void hear(std::uint32_t fragment, std::span<const std::byte> data);
    void copy(const ProgramStep& step) const;
    [[nodiscard]] bool charge(const ProgramStep& step);
    void run();
    static void message_finished(transport::Message& message);

    Engine& engine_;
    Prepared& prepared_;
    const Program& program_;
    std::atomic<Phase> phase_{Phase::idle};
    bool queued_ = false;  // runs now or will: whoever finishes a step need not see to it
    std::uint32_t head_ = 0, tail_ = 0;
    std::uint32_t remaining_ = 0;
    std::uint32_t outstanding_ = 0;
    std::uintptr_t base_[4] = {};  // by Buffer
    bool huge_[4] = {};            // by Buffer: it lies in huge pages
    std::vector<std::uint32_t> waits_;
    std::vector<std::uint32_t> ready_;  // each step enters it once: head and tail only grow
    std::vector<transport::Message> messages_;
    // Of programs with multicast, by step.
    enum class Fragment : std::uint8_t { missing, heard, here };
    std::vector<Fragment> fragments_;
    // Of a check (checking.hpp): what begins when it has ended well.
    Execution* behind_ = nullptr;
    std::unique_ptr<Check> check_;
    std::span<std::byte> scratch_;  // the transport's own memory: what arrives there is copied faster
    Execution* next_queued_ = nullptr;
    Execution* previous_ = nullptr;  // among the pending
    Execution* next_ = nullptr;
    std::exception_ptr error_;
};

// The executions of a world that are under way; Prepared owns them. Not thread-safe; the world has a lock where there
// is more than one thread.
class Engine {
public:
    explicit Engine(transport::Transport& transport);
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    // Begins with what is ready. The execution may be finished when it returns.
    void start(Execution& execution);
    // Sets it up; it is pending, and poll() begins it.
    void hand_over(Execution& execution);
    // It is pending, and begins when `check` has ended and says that all ranks call the same; else it fails.
    void hold_behind(Execution& execution, Execution& check, std::unique_ptr<Check> what);
    [[nodiscard]] bool has_handed_over() const { return !handed_over_.empty(); }
    // Begins what was handed over, else looks for messages, if anything is pending. True when something happened.
    bool poll();
    [[nodiscard]] std::size_t pending() const { return pending_; }
    [[nodiscard]] transport::Transport& transport() const { return transport_; }
    [[nodiscard]] LocalSteps local_steps() const { return charges_ ? LocalSteps::charged : LocalSteps::at_once; }
    // Datagrams of multicast broadcasts that arrived, in time or not.
    [[nodiscard]] std::uint64_t fragments_heard() const { return fragments_heard_; }
    // To be called before the first execution of a program with multicast.
    void listen();

    // Fails what cannot come to an end: all of the communicators with a rank that is gone. True when there was any.
    bool look_for_losses();
    void fail_all(const std::exception_ptr& error);
    // Called with each detached execution that has ended.
    void (*reclaim)(Execution&) = nullptr;

private:
    friend class Execution;
    void set_up(Execution& execution);
    void look_at_pages(Execution& execution);  // notes which buffers lie in huge pages; may move them there
    void advance(Execution& execution);
    void finish(Execution& execution, Execution::Phase phase);
    void fail(Execution& execution, std::exception_ptr error);
    void unlink(Execution& execution);
    void tell_name(const Execution& execution);
    void begin_checked(Execution& check);
    static void heard(void* engine, Rank from, transport::Tag tag, std::uint32_t fragment,
                      std::span<const std::byte> data);

    transport::Transport& transport_;
    transport::Multicast* multicast_ = nullptr;
    std::uint64_t fragments_heard_ = 0;
    bool running_ = false;
    std::uint32_t looks_ = 0;
    std::size_t pending_ = 0;
    // Last in, first out: any order will do, also for transports that charge, whose answers never come while we start
    // something, so that there is at most one here.
    Execution* queue_ = nullptr;
    Execution* first_ = nullptr;
    std::vector<Execution*> handed_over_;
    const bool charges_;                     // Transport::charges_work()
    const bool names_;                       // Transport::names_operations()
    std::unique_ptr<HugePages> huge_pages_;  // null: the transport does not care
};

}  // namespace loom::coll
