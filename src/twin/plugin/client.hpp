// The program's end of what it shares with the simulation: questions and answers, and the clock.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "loom/base/ids.hpp"
#include "loom/base/time.hpp"
#include "twin/processes/slot.hpp"

namespace loom::twin {

// One for a process. Nothing of it may be called from a child that the program forks.
class Client {
public:
    // Null where `loom twin run` did not start this process.
    static Client* get();

    [[nodiscard]] Rank rank() const { return rank_; }
    [[nodiscard]] std::uint32_t ranks() const { return header_->ranks; }
    [[nodiscard]] std::span<const std::uint32_t> hosts() const;
    [[nodiscard]] const SlotsHeader& header() const { return *header_; }

    // Virtual: of the last answer, and what was computed since. A question about it takes SlotsHeader::look.
    [[nodiscard]] Time now();
    void compute(Time duration);
    void sleep_until(Time when);

    // Begins something with the next question: hundreds of ranks take turns, and a turn costs more than all else.
    void post(Ask what, std::initializer_list<std::uint64_t> arguments);
    // Asks, and sleeps until it is this process's turn again. What it returns stays until the next question. Throws
    // Error when the job has come to no end, or a thread asks beside another.
    const Slot& ask(Ask what, std::initializer_list<std::uint64_t> arguments = {});
    Slot& slot() { return *slot_; }
    // Of messages that have ended, as all answers so far said.
    [[nodiscard]] std::vector<Slot::End>& ends() { return ends_; }
    void attach();
    // Nobody is asked any more; the clock goes on alone.
    void finished();
    [[nodiscard]] bool is_over() const { return over_ || slot_->stopped.load(std::memory_order_relaxed) != 0; }

private:
    Client(void* memory, Rank rank);
    void count_processor_time();
    void put(Question& question, Ask what, std::initializer_list<std::uint64_t> arguments);

    SlotsHeader* header_;
    Slot* slot_;
    Rank rank_;
    bool attached_ = false;
    bool over_ = false;
    int process_;
    std::mutex mutex_;
    std::vector<Slot::End> ends_;
    std::int64_t ahead_ = 0;            // ps
    std::int64_t processor_since_ = 0;  // ns
};

}  // namespace loom::twin
