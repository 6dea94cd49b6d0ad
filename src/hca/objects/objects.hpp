// The objects that programs hold: each begins with the struct of the verbs ABI, so that a pointer to one is a pointer
// to the other. Everything behind the ABI struct belongs to the engine and is guarded by its mutex (engine.hpp).
#pragma once

#include <infiniband/verbs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "hca/host/shared.hpp"
#include "hca/protocol/packet.hpp"

namespace loom::hca {

struct Engine;
struct HcaConfig;
struct Peer;
struct Qp;
struct Cq;
struct Srq;
struct Path;
struct RoceFlow;

// A queue of events behind an eventfd that counts them: pollable, one read takes one event.
template <class Event>
struct EventQueue {
    int fd = -1;
    std::deque<Event> waiting;
};

// Asynchronous events about one object: it must not go before all that the program has read are acknowledged.
struct EventCounts {
    std::uint32_t given = 0, acknowledged = 0;
    [[nodiscard]] bool settled() const { return given == acknowledged; }
};

// One open device.
struct Context {
    verbs_context verbs{};  // verbs.context is what the program holds
    const HcaConfig* hca = nullptr;
    PortCounters* counters = nullptr;  // of its port, which this process shows to others
    Engine* engine = nullptr;          // that it was opened with
    EventQueue<ibv_async_event> async;
    std::uint32_t users = 0;  // objects that stand on it

    static Context& of(ibv_context* abi) {
        return *reinterpret_cast<Context*>(reinterpret_cast<char*>(abi) - offsetof(verbs_context, context));
    }
    ibv_context* abi() { return &verbs.context; }
};

inline PortCounters& counters_of(const Context& context) {
    return *context.counters;
}

struct Channel {
    ibv_comp_channel abi{};
    EventQueue<Cq*> events;
    std::uint32_t users = 0;

    static Channel& of(ibv_comp_channel* abi) { return *reinterpret_cast<Channel*>(abi); }
};

struct Pd {
    ibv_pd abi{};
    std::uint32_t id = 0;
    std::uint32_t users = 0;

    static Pd& of(ibv_pd* abi) { return *reinterpret_cast<Pd*>(abi); }
};

constexpr std::uint32_t remote_rights = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

// Registered memory. `iova` is the address that work requests use for byte 0 of `abi.addr`.
struct Mr {
    ibv_mr abi{};
    std::uint64_t iova = 0;
    std::uint32_t access = 0;
    std::uint32_t index = 0;  // in the table of keys: lkey = rkey = index << 8 | generation
    int share_fd = -1;        // ours, when others may map the memory

    Mr() = default;
    Mr(const Mr&) = delete;
    ~Mr() { close_share(); }
    void close_share() {
        if (share_fd >= 0) ::close(share_fd);
        share_fd = -1;
    }
    static Mr& of(ibv_mr* abi) { return *reinterpret_cast<Mr*>(abi); }
};

struct Cqe {
    ibv_wc wc{};
    std::uint64_t time = 0;  // ns, only when the program asked for it
};

enum class Armed : std::uint8_t { no, solicited, any };

struct Cq {
    ibv_cq_ex abi{};  // the classic ibv_cq is its beginning
    Context* context = nullptr;
    Channel* channel = nullptr;
    std::vector<Cqe> ring;  // a power of two; abi.cqe entries of it may be used
    std::uint32_t head = 0, tail = 0;
    Armed armed = Armed::no;
    bool overrun = false;
    bool stamped = false;  // completions carry the time
    bool extended = false;
    std::uint32_t users = 0;
    std::uint32_t events = 0, acknowledged = 0;  // given to the program, and given back
    EventCounts async_events;
    // The extended interface: completions taken by start_poll, and the one that is shown.
    Cqe current{};
    bool found = false;

    static Cq& of(ibv_cq* abi) { return *reinterpret_cast<Cq*>(abi); }
    static Cq& of(ibv_cq_ex* abi) { return *reinterpret_cast<Cq*>(abi); }
    [[nodiscard]] std::uint32_t waiting() const { return tail - head; }
};

// Receive work requests in a ring: of a queue pair or shared.
struct RecvQueue {
    struct Wqe {
        std::uint64_t wr_id = 0;
        std::uint32_t sges = 0;
        std::uint32_t length = 0;
    };
    std::uint32_t capacity = 0, max_sge = 0;
    std::uint32_t head = 0, tail = 0;
    std::vector<Wqe> wqes;      // a power of two
    std::vector<ibv_sge> sges;  // max_sge for each

    void resize(std::uint32_t wanted, std::uint32_t sge);
    // 0 or errno.
    int post(const ibv_recv_wr& wr) {
        if (waiting() >= capacity) return ENOMEM;
        if (wr.num_sge < 0 || static_cast<std::uint32_t>(wr.num_sge) > max_sge) return EINVAL;
        Wqe& w = wqe(tail);
        w.wr_id = wr.wr_id;
        w.sges = static_cast<std::uint32_t>(wr.num_sge);
        std::copy_n(wr.sg_list, wr.num_sge, sges_of(tail));
        ++tail;
        return 0;
    }
    [[nodiscard]] std::uint32_t waiting() const { return tail - head; }
    [[nodiscard]] ibv_sge* sges_of(std::uint32_t at) { return &sges[std::size_t{at & mask()} * max_sge]; }
    [[nodiscard]] Wqe& wqe(std::uint32_t at) { return wqes[at & mask()]; }
    [[nodiscard]] std::uint32_t mask() const { return static_cast<std::uint32_t>(wqes.size()) - 1; }
};

struct Srq {
    ibv_srq abi{};
    Pd* pd = nullptr;
    RecvQueue queue;
    std::uint32_t limit = 0;  // 0: not armed
    std::uint32_t number = 0;
    std::uint32_t users = 0;
    EventCounts events;

    static Srq& of(ibv_srq* abi) { return *reinterpret_cast<Srq*>(abi); }
};

struct Ah {
    ibv_ah abi{};
    ibv_ah_attr attr{};
    std::shared_ptr<Path> path;

    static Ah& of(ibv_ah* abi) { return *reinterpret_cast<Ah*>(abi); }
};

struct SendWqe {
    std::uint64_t wr_id = 0;
    ibv_wr_opcode opcode{};
    std::uint32_t flags = 0;  // ibv_send_flags
    std::uint32_t length = 0;
    std::uint32_t imm = 0;
    std::uint32_t sges = 0;
    bool inlined = false;
    bool doomed = false;        // a fault that was asked for
    bool translated = false;    // its addresses are memory of this process
    std::uint64_t checked = 0;  // the registrations under which they were found right
    bool placed = false;        // its data is in place already, only the notice travels
    bool by_reference = false;  // the receiver pulls the data
    std::uint64_t remote_address = 0;
    std::uint32_t rkey = 0;
    std::uint64_t compare = 0, swap_or_add = 0;
    // UD
    std::shared_ptr<Path> path;
    QpNumber remote_qpn;
    std::uint32_t remote_qkey = 0;
    // How far it is.
    bool begun = false;      // packet numbers are given
    bool responded = false;  // a read or atomic has all of its answer
    Psn first_psn;
    std::uint32_t packets = 0, sent = 0;        // sent: packets of it on the wire
    std::uint32_t asked = 0;                    // requests of a read that are not answered yet
    std::uint32_t received = 0, requested = 0;  // bytes of a read's answer, and asked for
};

// What the responder still has to say to the requester, in order.
struct Answer {
    enum class Kind : std::uint8_t { read, atomic } kind{};
    Psn psn;  // of the first packet to send
    std::uint32_t msn = 0;
    std::uint64_t address = 0;  // read: next byte; atomic: the original value
    std::uint32_t left = 0;     // bytes
    std::uint32_t rkey = 0;
    bool first = true;
};

struct Qp {
    ibv_qp_ex abi{};  // the classic ibv_qp is its beginning
    Context* context = nullptr;
    Pd* pd = nullptr;
    Cq *send_cq = nullptr, *recv_cq = nullptr;
    Srq* srq = nullptr;
    ibv_qp_init_attr init{};  // as created
    ibv_qp_attr attr{};       // as modified; the state is abi.qp_base.state
    QpNumber qpn;
    bool extended = false;
    std::shared_ptr<void> extension;  // what the ibv_wr_* interface keeps
    bool drain_event = false;         // asked for when the send queue has drained
    EventCounts events;
    std::uint32_t groups = 0;  // multicast groups attached to

    std::shared_ptr<Path> path;
    std::uint32_t mtu = 4096;  // bytes in a packet on this path

    // Requester. Positions run without bounds: [head, next) sent and not completed, [next, tail) still to be sent.
    std::vector<SendWqe> sq;  // a power of two
    std::vector<ibv_sge> sq_sges;
    std::unique_ptr<std::uint8_t[]> sq_inline;  // touched where it is used
    std::uint32_t sq_head = 0, sq_next = 0, sq_tail = 0;
    std::uint32_t unpolled = 0;  // completions of sends that the program has not taken: they keep their places
    Psn next_psn;                // of the next new packet
    Psn unacked_psn;
    Psn sent_psn;                      // after the last packet that is on the wire
    std::shared_ptr<RoceFlow> flow;    // when it talks RoCE
    std::uint32_t read_bytes_out = 0;  // bytes of answers that are to come
    std::optional<Psn> asked_again;    // packet of an answer that was missing and is asked for once more
    std::uint32_t reads_out = 0;       // reads and atomics on their way
    std::uint32_t retries_left = 0, rnr_left = 0;
    std::uint64_t retry_at = 0;       // ns; 0: no timer runs
    std::uint64_t rnr_until = 0;      // ns; 0: not waiting
    std::uint64_t wire_position = 0;  // of its last packet in the ring to the peer
    bool ask_now = false;             // with the next packet, whether anybody waits for the answer or not
    std::uint64_t waits_since = 0;    // ns; UC and UD: since when there has been no room; 0: there is some
    bool listed_blocked = false, listed_timer = false, listed_ack = false;

    // Responder.
    RecvQueue rq;
    Psn expected_psn;
    std::uint32_t msn = 0;  // of 24 bits
    bool ack_due = false, nak_sent = false;
    std::uint32_t owed = 0;    // packets since the last acknowledgement
    std::uint8_t nak_due = 0;  // syndrome of a refusal that is still to be sent; 0: none
    Psn nak_psn;
    bool in_message = false;  // between first and last
    bool message_is_write = false;
    bool receiving = false;            // a receive was taken for the message in progress
    bool established = false;          // the first message has arrived (communication established)
    bool kept = false;                 // a receive whose message was lost half way: the next message has it
    RecvQueue::Wqe recv{};             // that receive
    std::vector<ibv_sge> recv_sges;    // of it, as memory of this process
    std::uint64_t recv_checked = 0;    // as SendWqe::checked
    std::vector<ibv_sge> recv_posted;  // of it, as the program gave them; only when it may be kept
    std::uint64_t write_address = 0;
    std::uint32_t write_left = 0, write_rkey = 0;
    std::uint32_t received = 0;  // bytes of the message so far
    std::deque<Answer> answers;
    struct AtomicResult {
        std::optional<Psn> psn;
        std::uint64_t original = 0;
    };
    std::array<AtomicResult, 32> atomics{};  // answers to repeat when a request comes again
    std::uint32_t atomics_at = 0;

    static Qp& of(ibv_qp* abi) { return *reinterpret_cast<Qp*>(abi); }
    static Qp& of(ibv_qp_ex* abi) { return *reinterpret_cast<Qp*>(abi); }
    [[nodiscard]] ibv_qp_state state() const { return abi.qp_base.state; }
    [[nodiscard]] ibv_qp_type type() const { return abi.qp_base.qp_type; }
    [[nodiscard]] QpNumber partner() const { return QpNumber{attr.dest_qp_num}; }
    // What the peer may do. Who serves no reads at a time serves none at all.
    [[nodiscard]] std::uint32_t rights() const {
        constexpr std::uint32_t answered = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
        return attr.qp_access_flags & ~(attr.max_dest_rd_atomic == 0 ? answered : 0u);
    }
    [[nodiscard]] bool owes() const { return ack_due || nak_due != 0 || !answers.empty(); }
    // Everything that was begun is completed.
    [[nodiscard]] bool drained() const {
        return sq_head == sq_next && (sq_next == sq_tail || !sq[sq_next & sq_mask()].begun);
    }
    [[nodiscard]] RecvQueue& receives() { return srq != nullptr ? srq->queue : rq; }
    [[nodiscard]] bool has_receive() { return kept || receives().waiting() != 0; }
    // A read or an atomic is under way: it is answered by what it asked for.
    [[nodiscard]] bool awaits_data() {
        for (std::uint32_t at = sq_head; at != begun_end(); ++at)
            if (const ibv_wr_opcode op = wqe(at).opcode;
                op == IBV_WR_RDMA_READ || op == IBV_WR_ATOMIC_CMP_AND_SWP || op == IBV_WR_ATOMIC_FETCH_AND_ADD)
                return true;
        return false;
    }
    // After the last request that has begun.
    [[nodiscard]] std::uint32_t begun_end() { return sq_next != sq_tail && wqe(sq_next).begun ? sq_next + 1 : sq_next; }
    // A completion queue as long as its send queues never overflows, as with adapters.
    [[nodiscard]] std::uint32_t sq_used() const { return sq_tail - sq_head + unpolled; }
    [[nodiscard]] std::uint32_t sq_mask() const { return static_cast<std::uint32_t>(sq.size()) - 1; }
    [[nodiscard]] SendWqe& wqe(std::uint32_t at) { return sq[at & sq_mask()]; }
    [[nodiscard]] ibv_sge* sges_of(std::uint32_t at) {
        return &sq_sges[std::size_t{at & sq_mask()} * init.cap.max_send_sge];
    }
    [[nodiscard]] std::uint8_t* inline_of(std::uint32_t at) {
        return &sq_inline[std::size_t{at & sq_mask()} * init.cap.max_inline_data];
    }
};

}  // namespace loom::hca
