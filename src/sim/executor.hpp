// Runs the graphs of a schedule: which operations may begin, and what a completion enables. The engines say when
// things happen; this says what they lead to.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "loom/sim/options.hpp"
#include "loom/sim/simulation.hpp"
#include "loom/traffic/schedule.hpp"
#include "sim/program.hpp"

namespace loom::sim {

// All state belongs to one rank or another, and a call touches the rank it names (for a flow's delivered bytes: the
// receiver) only: calls for different ranks may come from different threads. `Engine` has to offer
//   void begin_send(Rank rank, OpIndex send, Time now);      // later: send_done, and message_arrived at the peer
//   void wake_at(Rank rank, OpIndex ticket, Time at);        // later: work_done
// and must not call back from inside these two.
class Executor {
public:
    using Op = traffic::Op;
    using OpKind = traffic::OpKind;
    using Interface = Simulation;
    using Source = traffic::Schedule;
    static constexpr bool live = false;
    template <class T>
    using PerOp = std::vector<T>;
    template <class T>
    using PerFlow = std::vector<T>;

    Executor(const traffic::Schedule& schedule, const LocalCosts& costs);

    [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(schedule_->ranks()); }
    template <class T>
    [[nodiscard]] PerOp<T> per_op(T initial) const {
        return PerOp<T>(schedule_->size(), initial);
    }
    template <class T>
    [[nodiscard]] PerFlow<T> per_flow() const {
        return PerFlow<T>(flow_count());
    }
    [[nodiscard]] std::uint64_t amount(OpIndex send) const { return schedule_->op(send).amount; }
    [[nodiscard]] Rank peer(OpIndex send) const { return schedule_->op(send).peer; }
    [[nodiscard]] std::uint8_t sl(OpIndex send) const { return schedule_->op(send).sl; }
    [[nodiscard]] OpIndex ticket(OpIndex send, Due, Time) { return new_ticket(flow_from_[detail_[send]], send); }
    [[nodiscard]] OpIndex redeem(OpIndex ticket) const { return by_ticket_[ticket]; }

    template <class Engine>
    void start(Rank rank, Time now, Engine& engine) {
        const OpIndex first = schedule_->first(rank);
        const auto count = static_cast<OpIndex>(schedule_->ops(rank).size());
        std::vector<OpIndex>& ready = worklist();
        for (OpIndex op = first; op < first + count; ++op)
            if (schedule_->waits_for(op) == 0) ready.push_back(op);
        drain(rank, now, engine, ready);
    }
    // The sender may forget the message.
    template <class Engine>
    void send_done(Rank rank, OpIndex send, Time now, Engine& engine) {
        std::vector<OpIndex>& ready = worklist();
        complete(rank, send, now, ready);
        drain(rank, now, engine, ready);
    }
    template <class Engine>
    void work_done(Rank rank, OpIndex ticket, Time now, Engine& engine) {
        send_done(rank, redeem(ticket), now, engine);
    }
    // The whole of a message is there; `rank` is the receiver.
    template <class Engine>
    void message_arrived(Rank rank, Rank from, OpIndex send, Time now, Engine& engine) {
        const OpIndex receive = match(rank, from, send);
        if (receive == no_index) return;
        std::vector<OpIndex>& ready = worklist();
        complete(rank, receive, now, ready);
        drain(rank, now, engine, ready);
    }

    // Flows, sorted by (from, to): what the sends of one rank to another have in common.
    [[nodiscard]] std::size_t flow_count() const { return flow_to_.size(); }
    [[nodiscard]] FlowIndex flow(OpIndex send) const { return detail_[send]; }
    [[nodiscard]] Rank flow_to(FlowIndex flow) const { return flow_to_[flow]; }
    [[nodiscard]] Rank flow_from(FlowIndex flow) const { return flow_from_[flow]; }
    [[nodiscard]] static bool flow_before(FlowIndex a, FlowIndex b) { return a < b; }
    void begun(FlowIndex flow, Time now) { flow_begun_[flow] = std::min(flow_begun_[flow], now); }
    void delivered(FlowIndex flow, std::uint64_t bytes, Time now) {
        flow_delivered_[flow] += bytes;
        flow_last_[flow] = now;
    }
    [[nodiscard]] std::uint64_t delivered(FlowIndex flow) const { return flow_delivered_[flow]; }
    [[nodiscard]] std::vector<Flow> flows() const;
    [[nodiscard]] static Flow& flow_in(std::vector<Flow>& flows, FlowIndex flow) { return flows[flow]; }

    [[nodiscard]] std::vector<Time> rank_ends() const;
    [[nodiscard]] bool finished() const;  // cost: one pass over the ranks
    [[nodiscard]] bool finished(Rank rank) const { return open_[rank.value] == 0; }
    // The operations that wait although nothing moves: the first few of them, in words.
    [[nodiscard]] std::vector<std::string> open_operations(std::size_t most) const;

private:
    // Receives that wait for messages of one (sender, tag), and messages that wait for receives.
    struct Channel {
        OpIndex head = no_index;
        OpIndex tail = no_index;
        std::uint32_t early = 0;  // messages that came before their receive
    };
    // A rank that receives from anyone cannot sort by sender.
    struct Wild {
        struct Early {
            Rank from;
            std::uint32_t tag;
        };
        std::vector<OpIndex> posted;
        std::vector<Early> early;
    };

    static std::vector<OpIndex>& worklist() {
        static thread_local std::vector<OpIndex> list;
        list.clear();
        return list;
    }

    template <class Engine>
    void drain(Rank rank, Time now, Engine& engine, std::vector<OpIndex>& ready) {
        for (std::size_t i = 0; i < ready.size(); ++i) begin(rank, ready[i], now, engine, ready);
    }

    template <class Engine>
    void begin(Rank rank, OpIndex index, Time now, Engine& engine, std::vector<OpIndex>& ready) {
        if (now > latest_) refuse(rank);
        for (const traffic::Successor& next : schedule_->successors(index))
            if (next.on_start && --waits_[next.op] == 0) ready.push_back(next.op);
        const Op& op = schedule_->op(index);
        switch (op.kind) {
            case OpKind::send:
                begun(detail_[index], now);
                engine.begin_send(rank, index, now);
                return;
            case OpKind::receive:
                if (post(rank, index)) complete(rank, index, now, ready);
                return;
            case OpKind::compute:
            case OpKind::copy:
            case OpKind::reduce: {
                Time& free = cpu_free_[rank.value * cpus_ + op.cpu];
                free = std::max(free, now) + work(op);
                if (free == now)
                    complete(rank, index, now, ready);
                else
                    engine.wake_at(rank, new_ticket(rank, index), free);
                return;
            }
        }
    }

    void complete(Rank rank, OpIndex index, Time now, std::vector<OpIndex>& ready) {
        if (--open_[rank.value] == 0) rank_end_[rank.value] = now;
        for (const traffic::Successor& next : schedule_->successors(index))
            if (!next.on_start && --waits_[next.op] == 0) ready.push_back(next.op);
    }

    // A rank's tickets are its operations' numbers, given out in the order in which it begins what needs one.
    OpIndex new_ticket(Rank rank, OpIndex op) {
        const OpIndex ticket = next_ticket_[rank.value]++;
        by_ticket_[ticket] = op;
        return ticket;
    }

    // No rank has work for more than 46 days; one that waits for others may begin later than the clock can tell.
    static constexpr Time latest_{never.ps / 2};
    [[noreturn]] static void refuse(Rank rank);
    [[nodiscard]] Time work(const Op& op) const;
    // True when the message was already there.
    bool post(Rank rank, OpIndex receive);
    // The receive that takes the message, or no_index when it has to wait.
    OpIndex match(Rank rank, Rank from, OpIndex send);

    const traffic::Schedule* schedule_;
    LocalCosts costs_;
    std::size_t cpus_ = 1;
    std::vector<std::uint32_t> waits_;         // by operation: edges still open
    std::vector<OpIndex> by_ticket_;           // by ticket: the operation
    std::vector<OpIndex> next_ticket_;         // by rank
    std::vector<std::uint32_t> detail_;        // by operation: a send's flow, a receive's channel
    std::vector<OpIndex> next_posted_;         // by operation: the receive behind it in its channel
    std::vector<std::uint32_t> send_channel_;  // by operation: the channel at the receiver; no_index: none listens
    std::vector<Channel> channels_;
    std::vector<std::uint32_t> wild_of_;  // by rank: index into wilds_ or no_index
    std::vector<Wild> wilds_;
    std::vector<std::uint32_t> open_;  // by rank: operations not complete
    std::vector<Time> rank_end_;
    std::vector<Time> cpu_free_;
    std::vector<FlowIndex> first_flow_;  // by rank, and the end
    std::vector<Rank> flow_from_;
    std::vector<Rank> flow_to_;
    std::vector<std::uint64_t> flow_bytes_;
    std::vector<std::uint64_t> flow_delivered_;
    std::vector<Time> flow_begun_;
    std::vector<Time> flow_last_;
};

}  // namespace loom::sim
