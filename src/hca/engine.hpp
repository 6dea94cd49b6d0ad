// The engine of one process: its queue pairs, the wires to other processes, and the thread that serves them when the
// program does not. One mutex guards all of it; the copies and checks done under it are short, and programs mostly poll
// from one thread.
#pragma once

#include <array>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <unordered_map>
#include <vector>

#include "hca/device/config.hpp"
#include "hca/host/peer.hpp"
#include "hca/host/shared.hpp"
#include "hca/objects/objects.hpp"
#include "hca/service/lock.hpp"
#include "hca/service/moderation.hpp"
#include "loom/base/random.hpp"

namespace loom::hca {

class RoceWire;

// Where a queue pair or an address handle leads.
struct Path {
    enum class Kind : std::uint8_t { local, roce, nowhere } kind = Kind::nowhere;
    bool global = false;  // with a GRH
    bool multicast = false;
    std::uint16_t slid = 0, dlid = 0;
    Gid sgid{}, dgid{};
    std::uint8_t traffic_class = 0, hop_limit = 64;
    std::shared_ptr<Peer> peer;  // of connected queue pairs; datagrams find theirs by QPN
};

// What the thread waits for.
enum class Watched : std::uint8_t { listener, bell, caller, peer, process, packets };

enum class Acks : std::uint8_t { now, may_wait };

struct Engine {
    EngineLock mutex;
    std::condition_variable_any acknowledged;  // of events

    std::uint32_t contexts = 0;
    std::uint32_t slot = 0;
    std::uint64_t nonce = 0;
    int listener = -1, spare = -1, directory_fd = -1, bell = -1;
    Directory* directory = nullptr;
    Random random{0};
    bool registered = false;  // barriers of other processes reach this one
    FaultConfig faults;
    Random drops{0}, errors{0};  // one each: when packets go must not change which requests fail
    bool faulty = false;

    std::vector<Qp*> qps;  // by index
    std::uint32_t next_qp = 0;
    std::vector<Mr*> mrs;  // by index
    std::vector<std::uint8_t> mr_generation;
    std::uint32_t next_mr = 1, next_pd = 1, next_srq = 1;
    std::uint64_t registrations = 1;  // changes whenever registered memory is taken away or changed
    struct Group {
        Gid gid;
        std::vector<Qp*> members;
    };
    std::vector<Group> groups;
    bool looked_for_members = false;

    std::shared_ptr<Peer> self;                      // the ring to ourselves
    std::array<std::shared_ptr<Peer>, slots> peers;  // the present owner of each slot, once met
    std::vector<Peer*> up;                           // whose rings are polled
    std::vector<std::uint32_t> silent;               // slots of those that queue pairs wait to hear from
    std::vector<int> callers;                        // have called and not yet said who they are
    std::vector<Peer*> touched;                      // written to since the last look at their bells
    std::vector<Qp*> owing;                          // acknowledgements or answers to send
    // Packets of other hosts, for the thread to judge when it will be needed.
    std::uint64_t far_bytes_in = 0, far_bytes_acknowledged = 0;
    std::vector<std::uint32_t> far_writes;  // queue pairs in the middle of a write, or just after
    Moderation moderation;
    std::vector<Qp*> timed;  // with a timer running
    std::unique_ptr<RoceWire> roce;

    // Completions that a fault holds back (LOOM_VERBS_FAULT=delay), the next first.
    struct Late {
        std::uint64_t at;  // ns
        Cq* cq;
        ibv_wc wc;
        bool solicited;
    };
    std::deque<Late> late;
    std::uint64_t completion_delay = 0;  // ns

    // The thread.
    std::thread thread;
    bool stopping = false;
    int quiet_set = -1, whole_set = -1;  // epoll: without and with the packets that a polling program takes itself
    std::atomic<std::uint64_t> polls{0};
    std::atomic<bool> attending{false};         // the program polls; the thread only looks now and then
    std::atomic<bool> asleep{false};            // the thread sleeps, and may be woken
    std::uint64_t sleeps_until = 0;             // ns; 0: for ever
    bool talked = false;                        // with another host, since the thread last looked
    std::atomic<bool> waits_for_events{false};  // the program asked for one, and has not polled densely since
    std::uint32_t idle_polls = 0;
    std::uint64_t first_poll = 0;  // of those, ns
    std::uint32_t since_timers = 0;

    explicit Engine();
    ~Engine();
    Engine(const Engine&) = delete;

    // --- engine.cpp: life, thread, progress
    int start(const Config& config);
    void stop();
    void abandon(const Context& context);  // that is being closed
    void progress(Acks acks = Acks::now);  // takes what has arrived, sends what can be sent
    void attend();                         // the program polls
    void hand_over();                      // the program is about to sleep: the thread takes what comes from now on
    void drain_self();
    void ring_bells();               // wakes the sleepers among those written to
    void kick();                     // makes the thread look at its timers again
    void kick_by(std::uint64_t at);  // the same, unless it looks again by then anyway
    void settle(Acks acks);          // sends the answers that are owed
    void settle_up(Qp& qp);          // acknowledges what has come, asked for or not: the queue pair ends
    void run_blocked(Peer& peer);
    void run_silent();
    void linger();
    // How long packets may lie in their sockets, as long as messages that have begun are not about to end.
    std::uint64_t nap_ns(std::uint64_t now);
    void write_stats();
    void watch(int fd, Watched what, std::uint32_t which);
    void unwatch(int fd);

    // --- serving.cpp: who looks and sleeps, and for how long
    void serve();  // the thread
    struct Watch {
        bool packets = false;  // came, and woke us
        bool polled = false;
        bool reached = true;  // all who write to us have seen that we sleep
        std::uint64_t seen_polls = 0, looked_at = 0, polls_when_busy = 0;
    };
    // One look at everything, and a sleep until there is more to do, `other` can be read (true), there is an event for
    // the thread that waits, or it is `until` (ns; 0: no such end).
    bool look_and_sleep(Watch& watch, int other, std::uint64_t until);
    // A socket's packets, or not for now; and when it has room again.
    void hear_packets(int fd, std::uint32_t hca, bool on, bool room);
    Channel* waited_for = nullptr;  // a thread of the program waits for its events and serves meanwhile
    Watch waiters_watch;            // of that
    bool waiter_sleeps = false;
    std::atomic<bool> served{false};                   // by such a thread, or it is about to be again: ours stands by
    std::uint64_t served_since = 0, served_until = 0;  // ns; when such a thread came and when one was last here
    bool stands_by_for_good = false;                   // our thread, until it is told
    std::condition_variable_any stand_in;
    std::uint32_t hushed = 0;  // calls under way during which packets wake nobody

    std::uint64_t next_deadline() const;
    void run_timers(std::uint64_t now);
    void give_up(Qp& qp);  // on a peer that has left: its requests fail after as long as repeating them would take
    void start_timer(Qp& qp, std::uint64_t& field, std::uint64_t at);

    // --- peer.cpp: other processes
    std::shared_ptr<Peer> peer_at(std::uint32_t slot);  // connects when it is not known; null: nobody there
    int take_slot();
    bool make_self();
    void accept_peers();
    void hear_caller(int fd);
    void say_goodbye();
    void hear(Peer& peer);  // its socket has something to say
    void lose(Peer& peer);  // it is dead or does not behave
    void meet_everybody();
    void drain(Peer& peer);
    bool send(Peer& peer, const Packet& packet, std::span<const ibv_sge> gather, std::uint32_t offset,
              std::uint32_t length, const Path& path, std::uint8_t flags, const std::uint8_t* bytes = nullptr);

    // --- multicast.cpp
    int attach(Qp& qp, const ibv_gid& gid);
    int detach(Qp& qp, const ibv_gid& gid);

    // --- memory.cpp
    // The memory of [address, address + length) under a key, or null. remote: also 0 when rights are missing.
    std::uint8_t* local_memory(std::uint32_t key, std::uint64_t address, std::uint64_t length, const Pd* pd,
                               std::uint32_t access);
    // Whether pieces whose addresses are memory of this process by now may still be used: the program may have taken
    // their registration away since. `checked` is when that was last seen.
    bool still_registered(std::span<const ibv_sge> pieces, const Pd* pd, std::uint32_t access,
                          std::uint64_t& checked) const;
    void publish(const Mr& mr);
    void withdraw(const Mr& mr);  // waits until no copy uses it any more
    void publish(const Qp& qp);

    // --- copy.cpp: straight between two processes' memory
    enum class Copied : std::uint8_t { done, ask_responder, refused, gone, faulted };
    struct Remote {
        bool read;  // or else written
        std::uint64_t address;
        std::uint32_t rkey, length;
        bool past_caches;
    };
    Copied copy_direct(Qp& qp, const Remote& remote, std::span<const ibv_sge> sges);
    enum class Pulled : std::uint8_t { done, refused, gone };
    Pulled pull(Peer& peer, std::span<const std::uint8_t> references, std::uint32_t total,
                std::span<const ibv_sge> into);

    // --- lending.cpp: memory that a peer will read soon
    std::uint32_t pipe_pages = 0;  // that the pipes of this process have room for, all together
    bool pipes_are_short = false;  // there was no room for all that was to be lent
    int pit = -1;                  // where pages go that nobody has read
    std::uint32_t lend(Qp& qp, std::span<const std::uint8_t> memory);  // 0, or what to call it
    void take_back(Qp& qp, std::uint32_t loan);
    void end_loans(Qp& qp);
    Peer::Pipe* free_pipe(Peer& peer, std::uint32_t needed);
    void close_pipe(Peer::Pipe& pipe);

    // --- completion.cpp
    // Descriptors of events to be written when the mutex is free again: whoever waits for them needs it at once.
    std::array<int, 16> signals{};
    std::uint32_t signals_due = 0;
    std::atomic<std::uint32_t> signalling{0};  // threads that write some, outside of the mutex
    void signal(int fd);
    void settle_signals();  // all are written when it returns: a descriptor is about to be closed or read
    void complete(Cq& cq, const ibv_wc& wc, bool solicited);
    void deliver(Cq& cq, const ibv_wc& wc, bool solicited);
    void deliver_late();
    void complete_send(Qp& qp, SendWqe& wqe, ibv_wc_status status);
    // The program has taken it: the request's place in the send queue is free.
    void taken(const ibv_wc& wc) {
        if ((wc.opcode & IBV_WC_RECV) != 0) return;
        Qp* qp = qps[wc.qp_num & (qps_per_process - 1)];
        if (qp != nullptr && qp->qpn == wc.qp_num && qp->unpolled != 0) --qp->unpolled;
    }
    void async_event(Context& context, ibv_event_type type, void* element);

    // --- requester.cpp
    void run(Qp& qp);  // sends what the send queue holds, as far as it goes
    // A write on a queue with nothing before it, of which nobody wants to hear: done without a place in it, whose
    // memory would be another that is in no cache. False: nothing was done, it needs one.
    bool write_at_once(Qp& qp, const ibv_send_wr& request);
    void on_answer(Qp& qp, const Packet& packet, std::span<const std::uint8_t> payload);
    void acknowledge_until(Qp& qp, std::uint32_t psn);
    enum class Lost : std::uint8_t { perhaps, no };
    void resend(Qp& qp, std::uint32_t psn, Lost lost = Lost::perhaps);
    void fail(Qp& qp, ibv_wc_status status);  // the oldest request failed: error state and flush
    std::uint64_t retry_time(Qp& qp);
    void timed_out(Qp& qp, std::uint64_t now);
    bool probe(Qp& qp, bool heard);
    bool ask_if_nobody_did(Qp& qp);
    bool send_packets(Qp& qp, SendWqe& wqe, std::uint32_t at);
    bool begin(Qp& qp, SendWqe& wqe, std::uint32_t at);
    bool send_short(Qp& qp, SendWqe& wqe, std::uint32_t at);  // the common case, done at once
    void block_on(Peer& peer, Qp& qp);
    static bool waited_enough(Qp& qp);
    void make_packet(Qp& qp, const SendWqe& wqe, std::uint32_t index, Packet& packet) const;
    bool send_to_group(Qp& qp, const SendWqe& wqe, const Packet& packet, std::span<const ibv_sge> sges);
    bool wire_send(Qp& qp, const Path& path, Packet& packet, std::span<const ibv_sge> gather, std::uint32_t offset,
                   std::uint32_t length, std::uint8_t flags, const std::uint8_t* bytes = nullptr);

    // --- responder.cpp
    // from: the process, or null when it came by RoCE.
    struct Arrival {
        const Packet& packet;
        std::span<const std::uint8_t> payload;
        Peer* from = nullptr;
        std::uint16_t slid = 0, dlid = 0;
        std::uint8_t flags = 0;     // Entry's
        const Gid* sgid = nullptr;  // with a GRH
        const Gid* dgid = nullptr;
        std::uint8_t traffic_class = 0;
    };
    void on_packet(const Arrival& arrival);
    void on_request(Qp& qp, const Arrival& arrival);
    void on_datagram(Qp& qp, const Arrival& arrival);
    void on_multicast(const Arrival& arrival);
    [[nodiscard]] bool met(std::uint32_t slot) const;
    void serve_read_or_atomic(Qp& qp, const Packet& packet);
    void repeat(Qp& qp, const Packet& packet);
    static void store_in_order(std::uint8_t* to, std::span<const std::uint8_t> bytes);
    void make_acknowledgement(const Qp& qp, Packet& packet) const;
    void answer(Qp& qp);  // sends acknowledgements and answers that are due
    void owe(Qp& qp);

    // --- qp.cpp
    void to_error(Qp& qp);  // flushes both queues
    void look_if_drained(Qp& qp);
    void to_send_error(Qp& qp);  // UC and UD: only the send queue stops
    void flush_sends(Qp& qp);
    void flush_receives(Qp& qp);
    void forget(Qp& qp);  // takes it off every list
    std::shared_ptr<Path> resolve(Context& context, const ibv_ah_attr& attr, std::uint32_t dest_qpn, bool connected);
};

// The engine of this process, or null while no device is open. After a fork the child has none.
Engine* engine();
// The same, when it is the one that the device was opened with. In the child of a fork the objects it has inherited
// have none, also after it has opened a device of its own.
inline Engine* engine_of(ibv_context* context) {
    Engine* a = engine();
    return a != nullptr && Context::of(context).engine == a ? a : nullptr;
}

// Holds the mutex; on the way out rings the bells of those written to, and tells of events.
class Guard {
public:
    explicit Guard(Engine& engine) : engine_(engine), lock_(engine.mutex) {}
    ~Guard() {
        if (!engine_.touched.empty()) engine_.ring_bells();
        if (engine_.signals_due != 0) write_signals();
    }
    std::unique_lock<EngineLock>& lock() { return lock_; }

private:
    void write_signals();

    Engine& engine_;
    std::unique_lock<EngineLock> lock_;
};

std::uint64_t now_ns();         // monotonic
std::uint64_t coarse_now_ns();  // the same clock, some milliseconds behind, a few ns to read

inline PortCounters& counters_of(const Context& context) {
    return *context.counters;
}
// Counters have one writer: no locked instruction is needed.
inline void add(std::atomic<std::uint64_t>& counter, std::uint64_t amount = 1) {
    counter.store(counter.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
}

}  // namespace loom::hca
