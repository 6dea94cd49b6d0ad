// One rank: its transport, and the fibre that uses it.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "loom/base/clock.hpp"
#include "loom/base/fibre.hpp"
#include "loom/sim/live.hpp"
#include "loom/transport/message_list.hpp"
#include "loom/transport/transport.hpp"
#include "loom/twin/matching.hpp"
#include "loom/twin/run.hpp"
#include "twin/account.hpp"
#include "twin/computation.hpp"
#include "twin/disturbance.hpp"
#include "twin/in_order.hpp"
#include "twin/memory.hpp"
#include "twin/waiting_messages.hpp"

namespace loom::twin {

class Job;

// Why the bodies of a job that comes to no end are unwound. Not for programs to catch.
class Stopped : public Error {
public:
    using Error::Error;
};

// Something under way from one rank to another. Made by the sender, and free again once it was both sent and delivered.
// The receiver reads it in arrived() and received() alone: at the levels that have threads, before the sender hears of
// sent().
struct Outgoing {
    enum class Kind : std::uint8_t {
        message,
        put,     // into memory that the target exposed
        answer,  // what waits for one has been taken; to a fetch its bytes
        fetch,   // of no bytes: the target's adapter shall send some back, and may change them
    };
    Kind kind = Kind::message;
    bool sent = false;              // the sender's adapter has it, or has its acknowledgement
    bool arrived = false;           // all of it is at the other adapter
    bool delivered = false;         // and nobody there looks at this any more
    bool waits_for_answer = false;  // it is over for the sender when the other rank says so
    bool notifies = false;
    std::atomic<bool> dropped{false};  // its data is gone
    bool refused = false;              // of answer: the memory is gone
    std::uint64_t value = 0;           // of a notification
    Rank from, to;
    transport::Message* message = nullptr;  // the sender's; null once that was given up
    Outgoing* answered = nullptr;           // of answer: what it is for
    transport::Tag tag;
    const std::byte* data = nullptr;
    std::uint64_t bytes = 0;
    Time begun{};
    std::uint64_t number = 0;                 // of message, where they overtake each other: its turn
    std::unique_ptr<std::byte[]> kept;        // the data, when it was sent before it arrived
    std::uint64_t key = 0, offset = 0;        // of put and fetch
    std::span<std::byte> into;                // of fetch, the sender's
    std::optional<transport::Atomic> atomic;  // of fetch
    Outgoing* next = nullptr;                 // among the free
};

// Everything belongs to whoever plays the rank's host: the simulation's calls and the fibre take turns.
class Endpoint final : public transport::Transport, public Matching, public Clock {
public:
    Endpoint(Job& job, Rank me, std::function<void()> body);
    ~Endpoint() override;

    // transport::Transport
    [[nodiscard]] std::string_view name() const override { return "twin"; }
    [[nodiscard]] std::string description() const override;
    [[nodiscard]] Rank rank() const override { return me_; }
    [[nodiscard]] std::uint32_t size() const override;
    [[nodiscard]] std::span<const std::uint32_t> hosts() const override;
    [[nodiscard]] transport::Waiting waiting() const override { return transport::Waiting::block; }
    [[nodiscard]] std::uint32_t cores() const override { return 1; }
    [[nodiscard]] bool send(Rank to, transport::Tag tag, std::span<const std::byte> data,
                            transport::Message& message) override;
    [[nodiscard]] bool receive(Rank from, transport::Tag tag, std::span<std::byte> into,
                               transport::Message& message) override;
    [[nodiscard]] transport::RemoteMemory expose(std::span<std::byte> memory) override;
    void unexpose(const transport::RemoteMemory& memory) override;
    [[nodiscard]] bool put(Rank to, const transport::RemoteMemory& where, std::uint64_t offset,
                           std::span<const std::byte> data, transport::Message& message) override;
    [[nodiscard]] bool put_notify(Rank to, const transport::RemoteMemory& where, std::uint64_t offset,
                                  std::span<const std::byte> data, std::uint64_t value,
                                  transport::Message& message) override;
    [[nodiscard]] bool get(Rank from, const transport::RemoteMemory& where, std::uint64_t offset,
                           std::span<std::byte> into, transport::Message& message) override;
    [[nodiscard]] bool atomic(Rank at, const transport::RemoteMemory& where, std::uint64_t offset,
                              const transport::Atomic& what, std::uint64_t& before,
                              transport::Message& message) override;
    [[nodiscard]] std::optional<transport::Notification> next_notification() override;
    [[nodiscard]] std::span<std::byte> allocate(std::size_t bytes) override;
    void release(std::span<std::byte> memory) override;
    bool progress() override;
    void set_events(bool) override {}
    void sleep(std::chrono::microseconds most) override;
    void rest() override;
    void interrupt() override {}
    [[nodiscard]] bool charges_work() const override { return true; }
    [[nodiscard]] bool work(transport::LocalWork kind, std::uint64_t amount, transport::Message& message) override;
    [[nodiscard]] std::optional<std::string> parameters_text() const override;
    void note(std::string_view key, std::string_view text) override;
    [[nodiscard]] std::optional<std::string> recall(std::string_view key) override;
    [[nodiscard]] bool names_operations() const override { return true; }
    void operation_begins(const transport::OperationName& operation) override;
    void operation_ends(transport::Tag first) override;
    [[nodiscard]] std::optional<Rank> lost() const override;
    [[nodiscard]] bool is_lost(Rank who) const override;
    [[nodiscard]] std::string_view lost_why() const override;

    // Matching
    [[nodiscard]] bool receive(const Wanted& wanted, std::span<std::byte> into, transport::Message& message) override;
    [[nodiscard]] bool synchronous_send(Rank to, transport::Tag tag, std::span<const std::byte> data,
                                        transport::Message& message) override;
    [[nodiscard]] std::optional<Envelope> find(const Wanted& wanted) const override;
    void rest_until_any() override;

    // What the simulation says, passed on by the job.
    void start(Time now);
    void sent(sim::Cookie send, Time now);
    [[nodiscard]] std::optional<sim::Cookie> arrived(Rank from, sim::LiveMessage name, sim::Cookie send, Time now);
    void received(sim::Cookie receive, Time now);
    void woken(sim::Cookie what, Time now);

    // Calls `finished` of what has, without a look.
    void say_what_finished();

    // The body is unwound, inside a call of the simulation for this rank.
    void die(Time now);
    // Others were lost: operations with them end. Inside a call of the simulation for this rank.
    void hear_of_losses();
    // The job comes to no end: the body is unwound. Outside the simulation.
    void stop();

    static constexpr sim::Cookie news_of_losses = 2, death = 4, nothing = 6, held_is_due = 8, something_came = 10;
    [[nodiscard]] bool ended() const { return over_; }
    [[nodiscard]] Time time() const { return now_; }
    // Where its data lies; of a rank that is a process, before its first operation.
    [[nodiscard]] Memory& memory() { return memory_; }
    // Without an end: until `now`.
    [[nodiscard]] RankTimes times(Time now);
    [[nodiscard]] const RankTimes& counts() const { return times_; }  // messages, bytes
    [[nodiscard]] Events* events() { return events_.get(); }          // null: none are kept
    [[nodiscard]] const Disturbance* disturbance() const { return disturbance_.get(); }
    // What it waits for, in words, and of whom; nothing when it does not wait.
    struct Awaited {
        std::string text;
        std::vector<Rank> ranks;
        std::uint64_t bytes = 0;  // of the first
        transport::Tag tag;
    };
    [[nodiscard]] Awaited awaited() const;

    // Clock
    [[nodiscard]] Time now() override;
    void sleep_until(Time when) override;
    void compute(Time duration) override;

private:
    friend class Job;
    enum class State : std::uint8_t { runs, rests, sleeps };

    // While one is there the rank does not compute.
    class Inside {
    public:
        explicit Inside(Endpoint& endpoint) : endpoint_(endpoint) {
            if (endpoint_.computation_.measures()) endpoint_.enter();
        }
        ~Inside() {
            if (endpoint_.computation_.measures() && --endpoint_.inside_ == 0) endpoint_.computation_.start();
        }
        Inside(const Inside&) = delete;
        Inside& operator=(const Inside&) = delete;

    private:
        Endpoint& endpoint_;
    };

    void enter();
    void keep_busy(Time duration);
    void resume(Time now);
    void wait(State how);
    void wake_if_resting(Time now);
    void ended_by(Rank peer, std::uint64_t bytes, transport::Tag tag);
    [[nodiscard]] Account::Reason reason_to_rest() const;
    void name_reason(Account::Reason& reason) const;
    void finish(transport::Message& message, transport::Message::Outcome outcome);
    [[nodiscard]] bool start_send(Rank to, transport::Tag tag, std::span<const std::byte> data,
                                  transport::Message& message, bool waits_for_answer);
    [[nodiscard]] bool post(Rank to, Outgoing& outgoing, std::span<const std::byte> data, transport::Message& message);
    [[nodiscard]] Outgoing& new_outgoing(Outgoing::Kind kind);
    void let_go(Outgoing& outgoing);
    void was_delivered(Outgoing& outgoing);
    void hand_over(Outgoing& outgoing);
    void hand_over_held(Time due);
    [[nodiscard]] bool messages_overtake() const;
    [[nodiscard]] std::optional<sim::Cookie> take_in_turn(Outgoing& outgoing, sim::LiveMessage name);
    void hold_back(Outgoing& outgoing, sim::LiveMessage name);
    [[nodiscard]] bool deliver_late(Rank from);
    [[nodiscard]] bool keep_early(Outgoing& outgoing, sim::LiveMessage name);
    // The receive that gets what arrives now, with its outcome; null when there is none.
    [[nodiscard]] transport::Message* take_receive(Rank from, transport::Tag tag, std::uint64_t bytes);
    void lose_open_receives();
    void take_early(Early& early, transport::Message& receive, transport::Message::Outcome outcome);
    void keep(Outgoing& outgoing);
    [[nodiscard]] std::uint64_t& kept_for(Rank sender);
    void answer(Outgoing& outgoing);
    // The data, to this rank's program or to memory of our own.
    void bring_here(const Outgoing& outgoing, std::byte* to);
    void bring(const Outgoing& outgoing, std::byte* to);
    void finish_send(transport::Message& message, transport::Message::Outcome outcome);
    static void give_up(Outgoing& outgoing);
    void leave();
    [[nodiscard]] bool puts_are_answered() const;
    [[nodiscard]] bool start_put(Rank to, const transport::RemoteMemory& where, std::uint64_t offset,
                                 std::span<const std::byte> data, std::optional<std::uint64_t> value,
                                 transport::Message& message);
    [[nodiscard]] bool start_fetch(Rank from, const transport::RemoteMemory& where, std::uint64_t offset,
                                   std::span<std::byte> into, std::optional<transport::Atomic> atomic,
                                   transport::Message& message);
    void write(const Outgoing& put);
    // What a fetch asks for, into its answer.
    void read(const Outgoing& fetch, Outgoing& back);
    void change(std::byte* at, const transport::Atomic& what, std::span<std::byte> before);

    struct Free {
        void operator()(std::byte* memory) const;
    };
    // A receive that Matching leaves open, and the mark of all that may be longer than their messages.
    struct Open {
        Wanted wanted;
        transport::Message* message;
    };
    static constexpr std::uint32_t any_length = 1;
    // What a received() is about beside the receive of a program: a put, or nothing that anybody wants.
    static constexpr sim::Cookie is_put = 1, nobody = 2;
    // Of a woken(): odd, so that it is no address.
    static constexpr sim::Cookie timer(std::uint64_t number) { return number << 1 | 1; }

    Job& job_;
    Rank me_;
    Memory memory_;
    State state_ = State::runs;
    bool computes_ = false;    // it sleeps, and its core is busy
    bool news_ = false;        // something has come since the last rest
    bool looked_ = false;      // in vain, at this moment
    std::uint32_t reads_ = 0;  // of the clock, at this moment
    bool stopping_ = false;
    bool over_ = false;  // the body has returned
    Time now_{};
    std::uint64_t timers_ = 0;      // so far; the last one is waited for
    transport::MessageList sends_;  // under way
    WaitingMessages<transport::Message> receives_;
    std::vector<Open> open_;  // in the order of their starts
    WaitingMessages<Early> early_;
    std::uint64_t earlies_ = 0;                                     // so far
    bool ends_with_any_ = false;                                    // the rest, with a message that no receive takes
    InOrder order_;                                                 // where messages overtake each other
    std::unordered_map<std::uint32_t, std::uint64_t> early_bytes_;  // that are kept here, by sender
    std::unordered_map<std::uint32_t, std::uint64_t> kept_bytes_;   // sent, not taken yet, by receiver
    std::vector<transport::Message*> finished_;                     // to be said in progress()
    std::deque<transport::Notification> notifications_;
    std::map<std::uint64_t, std::span<std::byte>> exposed_;  // by key
    std::uint64_t next_key_ = 1;
    std::map<const std::byte*, std::unique_ptr<std::byte[], Free>> allocated_;
    Outgoing* free_ = nullptr;
    std::vector<std::unique_ptr<Outgoing>> all_outgoing_;
    RankTimes times_;
    Computation computation_;
    std::uint32_t inside_ = 0;                  // of measured computation: calls, one in the other
    std::unique_ptr<Disturbance> disturbance_;  // of a disturbed run
    std::unique_ptr<Events> events_;
    Account account_;
    OpenOperations operations_;
    std::uint32_t open_receives_ = 0;
    Time rests_since_{};
    Account::Reason reason_;  // of the rest
    Fibre fibre_;
};

}  // namespace loom::twin
