// LogGOPS, message by message: what a core and an adapter are busy with, and what waits for them.
//
// An event that finds its core or adapter busy tries again when that is free, in the order in which the events were
// made (Hoefler, Schneider, Lumsdaine 2010). Here those that wait for the same core and adapter stand in one queue, and
// only its first is put among the events; that gives the same times and costs one event in place of one for each that
// waits.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "loom/sim/simulation.hpp"
#include "loom/traffic/schedule.hpp"
#include "sim/message/event_queue.hpp"
#include "sim/message/flow_book.hpp"
#include "sim/message/match_table.hpp"
#include "sim/message/places.hpp"

namespace loom::sim {

// 16 bytes an operation beside the schedule's own, 64 a rank, 16 an event. `Places`: OnePlace or ManyPlaces.
template <class Places>
class MessageEngine final : public Simulation {
public:
    MessageEngine(const traffic::Schedule& schedule, const Options& options);

    [[nodiscard]] Level level() const override { return Level::message; }
    [[nodiscard]] Time now() const override { return now_; }
    State advance(Time until) override;
    [[nodiscard]] std::vector<Flow> flows() const override { return book_.flows(); }
    [[nodiscard]] std::vector<Time> rank_ends() const override;
    [[nodiscard]] fabric::PortCounters counters(PortIndex) const override { return {}; }
    [[nodiscard]] fabric::CongestionParameters* congestion_parameters() override { return nullptr; }
    [[nodiscard]] Work work() const override { return {numbers_, 0, delivered_}; }
    [[nodiscard]] std::vector<std::string> trouble() const override;

private:
    using Op = traffic::Op;
    using OpIndex = traffic::OpIndex;
    using OpKind = traffic::OpKind;

    static constexpr std::uint32_t done = 0xffffffffu;    // as OpState::waits
    static constexpr std::uint32_t hashed = 0xfffffffeu;  // as the tail of a rank's queues: look into the table
    // Steps along a queue before a rank's queues go to the table. Receives are the rank's own and lie side by side; the
    // sends of unexpected messages lie all over memory.
    static constexpr unsigned most_receives = 16, most_messages = 3;

    // What an event is about: an operation, and two bits.
    static constexpr std::uint32_t again = 1;      // it is the first of a queue
    static constexpr std::uint32_t in_flight = 2;  // the message of the operation, not the operation

    struct OpState {
        std::uint32_t waits;   // edges that still lead here
        OpIndex next;          // in the one queue in which the operation or its message is
        std::uint32_t number;  // of its event while it waits for a core
        std::uint32_t rank;
    };
    // Where a message with a handshake is; the first is the only one of all others.
    enum class Phase : std::uint8_t { request, answer, data };

    struct Costs {
        Time send_core, send_adapter, take_core, take_adapter;
    };

    void check_length(const Options& options) const;
    [[nodiscard]] Costs costs(std::uint64_t bytes) const;
    [[nodiscard]] Time local_cost(const Op& op) const;
    [[nodiscard]] bool is_large(const Op& op) const { return op.amount > p_.S; }

    void put(Time when, std::uint32_t what) { queue_.push(when.ps, numbers_++, what); }
    void look_ahead() const;
    void prefetch_operation(std::uint32_t what) const;
    void prefetch_rank(std::uint32_t what) const;
    void prefetch_receive(std::uint32_t what) const;
    void play(std::uint32_t number, std::uint32_t what);
    void play_local(OpIndex index, std::uint32_t number, std::uint32_t what);
    void play_send(OpIndex index, std::uint32_t number, std::uint32_t what);
    void play_arrival(OpIndex index, std::uint32_t number, std::uint32_t what);
    void play_receive(OpIndex index);

    bool claim(OpQueue& queue, Time free, OpIndex index, std::uint32_t number, std::uint32_t what);
    void wait(OpQueue& queue, Time free, OpIndex index, std::uint32_t number, std::uint32_t what);
    void wake_next(const OpQueue& queue, Time free, std::uint32_t what);

    [[nodiscard]] bool fits(OpIndex send, OpIndex receive) const;
    [[nodiscard]] MatchTable::Key key_of(OpIndex index) const;
    OpIndex take_or_leave(OpIndex index, std::uint32_t rank, MatchTable::Waiting kind);
    OpIndex take_or_leave_in_table(OpIndex index, MatchTable::Waiting kind);
    void append(OpQueue& queue, OpIndex index);
    void move_to_table(std::uint32_t rank);
    void match(OpIndex send, OpIndex receive);

    void release(OpIndex index, bool on_start, Time when);
    void complete(OpIndex index, Time when);
    void begin_freed();

    const traffic::Schedule* schedule_;
    const Op* ops_;
    model::LogGops p_;
    LocalCosts local_;
    bool handshake_;
    bool keep_flows_;
    bool has_start_edges_ = false;
    Costs control_;  // of a request or an answer

    Places places_;
    std::vector<OpState> state_;
    EventQueue queue_;
    MatchTable table_;
    std::vector<bool> keeps_list_;  // by rank, with receives that take anything: those need the order of all that wait
    std::vector<OpIndex> freed_;    // may begin as soon as the event is over

    // With several cores, one does not tell when the work of another was over.
    std::vector<Time>
        ready_;  // of an operation: when all it waited for was over; of a send that began: when its core was free
    std::vector<Time> took_;  // of a message: when the receiver's core had taken it in
    // With handshakes.
    std::vector<Phase> phase_;
    std::vector<OpIndex> partner_;  // of a send: the receive

    FlowBook book_;
    Time now_{};
    std::uint32_t numbers_ = 0;  // events made so far
    std::size_t open_ = 0;       // operations
    std::size_t unexpected_ = 0;
    std::uint64_t delivered_ = 0;
};

}  // namespace loom::sim
