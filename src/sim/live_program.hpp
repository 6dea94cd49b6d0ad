// Ranks that run, as the engines of the packet and the flow level see them (program.hpp): what executor.hpp is for a
// schedule.
#pragma once

#include <cstdint>
#include <vector>

#include "loom/sim/live.hpp"
#include "sim/program.hpp"
#include "sim/rank_numbers.hpp"

namespace loom::sim {

// The state of a rank belongs to whoever plays its host; a flow's delivered bytes and the messages that have arrived
// belong to the receiver's. Where both sides read a send, the sender gives its number to a later one only when the
// acknowledgement is there, and notifications of congestion come before that.
class LiveProgram {
public:
    using Interface = LiveSimulation;
    struct Source {
        std::uint32_t ranks;
        Programs* programs;
    };
    static constexpr bool live = true;
    template <class T>
    using PerOp = RankStorage<T>;
    template <class T>
    using PerFlow = RankStorage<T>;

    LiveProgram(const Source& source, const LocalCosts& costs);

    [[nodiscard]] std::uint32_t ranks() const { return numbers_.ranks(); }
    template <class T>
    [[nodiscard]] PerOp<T> per_op(T) const {
        return PerOp<T>(numbers_);
    }
    template <class T>
    [[nodiscard]] PerFlow<T> per_flow() const {
        return PerFlow<T>(numbers_);
    }
    [[nodiscard]] std::uint64_t amount(OpIndex send) const { return sends_[send].bytes; }
    [[nodiscard]] Rank peer(OpIndex send) const { return flow_to(sends_[send].flow); }
    [[nodiscard]] std::uint8_t sl(OpIndex send) const { return sends_[send].sl; }
    [[nodiscard]] FlowIndex flow(OpIndex send) const { return sends_[send].flow; }
    [[nodiscard]] Rank flow_from(FlowIndex flow) const { return numbers_.rank(flow); }
    [[nodiscard]] Rank flow_to(FlowIndex flow) const { return flows_[flow].to; }
    [[nodiscard]] bool flow_before(FlowIndex a, FlowIndex b) const {
        return flow_from(a) != flow_from(b) ? flow_from(a) < flow_from(b) : flow_to(a) < flow_to(b);
    }
    void delivered(FlowIndex flow, std::uint64_t bytes, Time now) {
        flows_[flow].delivered += bytes;
        flows_[flow].last = now;
    }
    [[nodiscard]] std::vector<Flow> flows() const;
    [[nodiscard]] Flow& flow_in(std::vector<Flow>& flows, FlowIndex flow) const;

    [[nodiscard]] OpIndex ticket(OpIndex send, Due due, Time at) { return put(numbers_.rank(send), due, at, send); }
    [[nodiscard]] OpIndex redeem(OpIndex ticket) { return static_cast<OpIndex>(take(numbers_.rank(ticket))); }

    [[nodiscard]] std::vector<Time> rank_ends() const;
    [[nodiscard]] bool finished() const;
    [[nodiscard]] std::vector<std::string> open_operations(std::size_t most) const;
    // How many sends of the rank were under way at once, at most.
    [[nodiscard]] std::uint32_t most_sends(Rank rank) const { return ranks_[rank.value].sends; }

    // `Engine` has to offer
    //   void prepare(FlowIndex flow);                            // of a pair's first send; may throw
    //   void begin_send(Rank rank, OpIndex send, Time now);
    //   void wake_at(Rank rank, OpIndex ticket, Time at);
    // and must not call back from inside these.
    template <class Engine>
    void start(Rank rank, Time now, Engine& engine) {
        BackTo<Engine> back(engine);
        const Turn turn(ranks_[rank.value], back, now);
        programs_->start(rank, now);
    }
    template <class Engine>
    void send_done(Rank rank, OpIndex send, Time now, Engine& engine) {
        const Cookie cookie = sends_[send].cookie;
        forget(rank, send);
        BackTo<Engine> back(engine);
        const Turn turn(ranks_[rank.value], back, now);
        programs_->sent(rank, cookie, now);
    }
    template <class Engine>
    void work_done(Rank rank, OpIndex, Time now, Engine& engine) {
        const Cookie cookie = take(rank);
        BackTo<Engine> back(engine);
        const Turn turn(ranks_[rank.value], back, now);
        programs_->woken(rank, cookie, now);
    }
    template <class Engine>
    void message_arrived(Rank rank, Rank from, OpIndex send, Time now, Engine& engine) {
        BackTo<Engine> back(engine);
        const Turn turn(ranks_[rank.value], back, now);
        const LiveMessage message = name_message(rank);
        const std::optional<Cookie> receive = programs_->arrived(rank, from, message, sends_[send].cookie, now);
        if (!receive) return;
        forget(rank, message);
        programs_->received(rank, *receive, now);
    }

    // Of LiveSimulation. They throw UsageError outside a call of the rank's own.
    void send(Rank from, Rank to, std::uint64_t bytes, Cookie send, std::uint8_t sl);
    [[nodiscard]] bool take(Rank rank, LiveMessage message);
    [[nodiscard]] bool work(Rank rank, Time duration, Cookie what);
    void wake(Rank rank, Time at, Cookie what);
    void end(Rank rank);
    [[nodiscard]] bool is_called(Rank rank) const {
        return rank.value < ranks_.size() && ranks_[rank.value].back != nullptr;
    }
    // Between two calls of advance(): the ticket of a wake, which the engine hands back to work_done().
    [[nodiscard]] OpIndex due(Rank rank, Time at, Cookie what);

private:
    // The engine during a call of Programs.
    struct Back {
        virtual ~Back() = default;
        virtual void prepare(FlowIndex flow) = 0;
        virtual void begin_send(Rank rank, OpIndex send, Time now) = 0;
        virtual void wake_at(Rank rank, OpIndex ticket, Time at) = 0;
    };
    template <class Engine>
    struct BackTo final : Back {
        explicit BackTo(Engine& the_engine) : engine(the_engine) {}
        void prepare(FlowIndex flow) override { engine.prepare(flow); }
        void begin_send(Rank rank, OpIndex send, Time now) override { engine.begin_send(rank, send, now); }
        void wake_at(Rank rank, OpIndex ticket, Time at) override { engine.wake_at(rank, ticket, at); }
        Engine& engine;
    };
    struct Send {
        std::uint64_t bytes = 0;
        Cookie cookie = 0;
        FlowIndex flow = no_index;
        std::uint8_t sl = 0;
    };
    struct FlowState {
        Rank to;
        std::uint64_t bytes = 0;  // in all sends so far
        Time begun = never;
        std::uint64_t delivered = 0;  // this and the next are the receiver's
        Time last = never;
    };
    struct Target {
        Rank to;
        FlowIndex flow;
    };
    // What is due on the rank; in front what was asked for first among what is due first.
    struct Waiting {
        Time at;
        std::uint64_t order;  // kind of Due, then the sequence
        Cookie what;
        friend bool operator<(const Waiting& a, const Waiting& b) {
            return a.at != b.at ? a.at > b.at : a.order > b.order;
        }
    };
    struct RankState {
        Back* back = nullptr;  // only during a call of Programs
        Time now;
        Time core_free;
        Time end = never;
        double busy = 0;          // picoseconds of work given so far
        std::uint64_t asked = 0;  // sequence of what it waits for
        std::vector<Waiting> waiting;
        std::vector<Target> targets;            // sorted
        std::vector<std::uint32_t> free_sends;  // slots
        std::uint32_t sends = 0;                // slots in use or free
        std::uint32_t free_message = no_index;
        std::vector<std::uint32_t> messages;  // by name: the next free one, or `kept`
    };
    class Turn {
    public:
        Turn(RankState& state, Back& back, Time now) : state_(state) {
            state.back = &back;
            state.now = now;
        }
        ~Turn() { state_.back = nullptr; }
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;

    private:
        RankState& state_;
    };
    static constexpr std::uint32_t kept = no_index - 1;  // of a message that was not taken

    RankState& called(Rank rank);
    RankState& beginning(Rank rank);
    void keep_busy(Rank rank, double picoseconds);
    [[nodiscard]] FlowIndex flow_to(RankState& state, Rank from, Rank to);
    [[nodiscard]] OpIndex new_send(RankState& state, Rank from);
    void forget(Rank rank, OpIndex send) { ranks_[rank.value].free_sends.push_back(numbers_.slot(send)); }
    [[nodiscard]] LiveMessage name_message(Rank rank);
    void forget(Rank rank, LiveMessage message);
    OpIndex put(Rank rank, Due due, Time at, Cookie what);
    [[nodiscard]] Cookie take(Rank rank);

    RankNumbers numbers_;
    Programs* programs_;
    LocalCosts costs_;
    std::vector<RankState> ranks_;
    RankStorage<Send> sends_;
    RankStorage<FlowState> flows_;
};

// An engine of running programs, as its caller has it.
template <class Engine>
class Live final : public Engine {
public:
    using Engine::Engine;
    using Engine::work;
    void send(Rank from, Rank to, std::uint64_t bytes, Cookie send, std::uint8_t sl = 0) override {
        this->program().send(from, to, bytes, send, sl);
    }
    [[nodiscard]] bool take(Rank rank, LiveMessage message, Cookie) override {
        return this->program().take(rank, message);
    }
    [[nodiscard]] bool work(Rank rank, Time duration, Cookie what) override {
        return this->program().work(rank, duration, what);
    }
    void wake(Rank rank, Time at, Cookie what) override {
        if (this->program().is_called(rank)) return this->program().wake(rank, at, what);
        if (at < this->now()) throw UsageError("a rank cannot be woken in the past");
        this->wake_between(rank, this->program().due(rank, at, what), at);
    }
    void end(Rank rank) override { this->program().end(rank); }
    void fail(std::span<const PortIndex> ports) override { this->fail_ports(ports); }
    void use_tables(const routing::Tables& tables) override { this->turn_to(tables); }
};

}  // namespace loom::sim
