// LogGOPS for programs that run: the engine of live simulations at the message level.
//
// It is MessageEngine with the operations coming in one by one, and ends when that does. What makes them equal is the
// order among events of one moment:
// - There, what an event completes frees operations, each an event of its own with the next numbers, at the time at
//   which the core of their rank is free. Here, what an event completes of one rank becomes one such event, a wake: it
//   has the number that those would have.
// - When it is played, the program is called, and what it begins is played at once: sends, then takes, then work. In
//   that order they have the numbers that follow the wake's and come before all others, and with those they wait when
//   they find core or adapter busy.
// Nothing overtakes an operation of the same rank that waits at the same place. In a schedule it could not anyway;
// timers and arrived() could make it, since the events that call them are older than others that wait.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "loom/sim/live.hpp"
#include "sim/message/flow_book.hpp"
#include "sim/message/timed_queue.hpp"

namespace loom::sim {

// 72 bytes a rank; 40 for each message from its send() until it is taken, for each work() and wake() until it is over,
// and for each call that is still to be made; 24 an event.
class LiveMessageEngine final : public LiveSimulation {
public:
    LiveMessageEngine(std::uint32_t ranks, Programs& programs, const Options& options);

    [[nodiscard]] Level level() const override { return Level::message; }
    [[nodiscard]] Time now() const override { return now_; }
    State advance(Time until) override;
    [[nodiscard]] std::vector<Flow> flows() const override { return book_.flows(); }
    [[nodiscard]] std::vector<Time> rank_ends() const override { return ends_; }
    [[nodiscard]] fabric::PortCounters counters(PortIndex) const override { return {}; }
    [[nodiscard]] fabric::CongestionParameters* congestion_parameters() override { return nullptr; }
    [[nodiscard]] Work work() const override { return {numbers_, 0, delivered_}; }
    [[nodiscard]] std::vector<std::string> trouble() const override;

    void send(Rank from, Rank to, std::uint64_t bytes, Cookie send, std::uint8_t sl) override;
    [[nodiscard]] bool take(Rank rank, LiveMessage message, Cookie receive) override;
    [[nodiscard]] bool work(Rank rank, Time duration, Cookie what) override;
    void wake(Rank rank, Time at, Cookie what) override;
    void end(Rank rank) override;

    // Memory that was needed at once at any time, in records of 40 bytes.
    [[nodiscard]] std::size_t records() const { return records_.size(); }

private:
    using Index = std::uint32_t;  // of a record
    static constexpr Index none = 0xffffffffu;

    enum class Kind : std::uint8_t {
        unused,
        start,  // these four: a call to be made
        sent,
        received,
        woken,
        work,     // an operation that begins or waits for its core
        send,     // a message that waits for the sender's core and adapter
        flight,   // that is on its way, or waits for the receiver's
        untaken,  // that is there and may be taken
        taken,
    };
    struct Record {
        Cookie cookie;
        std::uint64_t amount;  // bytes, or picoseconds
        std::uint64_t number;  // of its event while it waits
        std::uint32_t rank;    // who is called; of a message: the sender
        std::uint32_t peer;    // of a message: the receiver
        Index next;            // in the one list in which it is
        Kind kind;
        bool waits;  // in a queue of a rank
    };
    struct Queue {
        Index head = none, tail = none;
        [[nodiscard]] bool empty() const { return head == none; }
    };
    // What an event waits for: a core alone, a core and an adapter to send, a core and an adapter to take a message in.
    enum Station : std::uint8_t { for_work, for_send, for_arrival };
    struct alignas(64) RankState {
        Time core, out, in;            // until when each is busy
        std::array<Queue, 3> waiting;  // by Station; only the first of a queue is among the events
        std::uint64_t last = 0;        // number of the last operation
        std::uint32_t untaken = 0;     // messages
        bool ended = false;
    };
    // Numbers of events are multiples of 2^index_bits; those between are for the operations that begin in one.
    static constexpr unsigned index_bits = 24;
    struct Event {
        std::uint64_t number;
        Index record;
        std::uint32_t rank;  // where it is played
        friend bool operator<(const Event& a, const Event& b) { return a.number < b.number; }
    };
    // While the program of a rank is called, and what it begins is played.
    class Turn {
    public:
        Turn(LiveMessageEngine& engine, std::uint32_t rank);
        ~Turn() { engine_.caller_ = none; }
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;

    private:
        LiveMessageEngine& engine_;
    };

    void check(Rank rank) const;
    [[nodiscard]] bool is_large(const Record& message) const { return message.amount > p_.S; }
    Index new_record(Kind kind, std::uint32_t rank, Cookie cookie);
    void free_record(Index index);

    void put(Time when, Index record, std::uint32_t rank);
    void look_ahead() const;
    void play(const Event& event);
    void play_calls(const Event& event);
    void play_begun(std::uint64_t number);
    void play_work(const Event& event);
    void play_send(const Event& event);
    void play_arrival(const Event& event);
    void match(Index message, Cookie receive);

    bool claim(Queue& queue, Time free, const Event& event);
    void call_next(const Queue& queue, Time free, std::uint32_t rank);
    void complete(Index call);
    void put_wakes();

    Programs* programs_;
    model::LogGops p_;
    std::uint64_t most_bytes_;  // of a message
    bool keep_flows_;

    std::vector<RankState> ranks_;
    std::vector<Time> ends_;
    std::vector<Record> records_;
    Index unused_ = none;  // the first of those records
    TimedQueue<Event> queue_;
    std::array<Index, 2> completed_{};  // calls that follow from the event that is played
    unsigned completed_count_ = 0;

    // What has begun in the calls of an event.
    std::uint32_t caller_ = none;
    std::vector<Index> sends_, works_;
    std::vector<std::pair<Index, Cookie>> takes_;

    LiveFlowBook book_;
    Time now_{};
    std::uint64_t numbers_ = 0;  // events made so far
    std::uint64_t delivered_ = 0;
    std::uint32_t ended_ = 0;  // ranks
};

}  // namespace loom::sim
