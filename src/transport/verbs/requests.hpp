// Requests to the adapter: how they are posted, and what has become of them.
#pragma once

#include <arpa/inet.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <unordered_map>

#include "loom/base/ids.hpp"
#include "loom/transport/waiting.hpp"
#include "transport/verbs/peer.hpp"

namespace loom::transport {

inline constexpr std::uint32_t queue_length = 256;  // requests of one queue pair
inline constexpr std::uint32_t signal_every = 64;
// What travels inside a request: frames up to this need no memory of their own. Adapters have room for so much; the
// software HCA stores it away at once, straight from where it is put together.
inline constexpr std::uint32_t inline_bytes = 256, soft_inline_bytes = 1024;

// What a request is for, in the low three bits of its id. A message's id is its address, a multiple of 8; of others the
// rest is the peer's rank or, of a read, the place in Transfers.
enum class RequestKind : std::uint64_t { message = 0, frame = 1, probe = 3, read = 5 };

[[nodiscard]] constexpr std::uint64_t request_id(Rank rank, RequestKind kind) {
    return std::uint64_t{rank.value} << 3 | static_cast<std::uint64_t>(kind);
}
// Of a read: which receive it is for.
[[nodiscard]] constexpr std::uint64_t read_id(std::uint64_t slot) {
    return slot << 3 | static_cast<std::uint64_t>(RequestKind::read);
}
[[nodiscard]] constexpr RequestKind kind_of(std::uint64_t id) {
    return static_cast<RequestKind>(id & 7);
}

[[nodiscard]] inline ibv_sge piece_of(const void* address, std::uint64_t bytes, std::uint32_t key) {
    return {reinterpret_cast<std::uint64_t>(address), static_cast<std::uint32_t>(bytes), key};
}

// The request of a write ends in an immediate.
inline void give_immediate(ibv_send_wr& write, std::uint32_t immediate) {
    write.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    write.send_flags |= IBV_SEND_SOLICITED;
    write.imm_data = htonl(immediate);
}

// Owns what is known of completions; queue pairs and their counts lie in Peer.
class Requests {
public:
    // Who takes in what has ended. May call messages back.
    class Handler {
    public:
        virtual void take(Peer& peer, const ibv_wc& completion) = 0;

    protected:
        ~Handler() = default;
    };

    Requests(const Device& device, Handler& handler) : device_(device), handler_(handler) {}

    void add(Peer& peer) { by_qp_[peer.qp->qp_num] = &peer; }
    void wait_by(Waiting waiting) { waiting_ = waiting; }
    // Called now and then while a queue stays full. May mark peers as broken; calls no message back.
    void look_while_full(std::function<void()> look) { look_ = std::move(look); }
    [[nodiscard]] std::uint32_t inline_limit() const { return inline_limit_; }

    // Waits for room in the queue. Nothing is posted to a peer that is lost or broken.
    void post(Peer& peer, ibv_send_wr& request);
    // The same of a write that is our own stores, on the software HCA and inside a host: long ones are timed now and
    // then, and go past the caches where the peer's are far.
    void post_stores(Peer& peer, ibv_send_wr& request);
    void write(Peer& peer, std::span<ibv_sge> pieces, std::uint64_t address, unsigned flags, RequestKind kind);
    // Into one of the words of our inbox in the peer's memory.
    void write_word(Peer& peer, std::size_t offset, std::uint64_t word, RequestKind kind = RequestKind::frame);

    // Zero bytes and an immediate, which wakes the peer if it sleeps.
    void write_immediate(Peer& peer, std::uint32_t immediate);
    // Whose queue pair has the number; null: nobody's.
    [[nodiscard]] Peer* peer_of(std::uint32_t qp) const {
        const auto found = by_qp_.find(qp);
        return found != by_qp_.end() ? found->second : nullptr;
    }

    // What has ended since the last look. It is only noted: whoever makes room for a request is in the midst of
    // something, and a callback would find that half done.
    bool note();
    // The same, and hands all that was noted to the handler.
    bool take();
    // The same. Whether a message that has just been started is finished, which inside a host it is: that one is not
    // called back, others may be.
    [[nodiscard]] bool finishes(Message& message);
    [[nodiscard]] bool any_open() const { return outstanding_ != 0 || !ended_.empty(); }
    [[nodiscard]] bool any_outstanding() const { return outstanding_ != 0; }
    // Nothing of the peer may reach memory that is the program's again.
    void stop(Peer& peer);

private:
    [[nodiscard]] bool wait_for_room(Peer& peer);
    void note(const ibv_wc& completion);

    const Device& device_;
    Handler& handler_;
    std::uint32_t inline_limit_ = device_.adapter.soft ? soft_inline_bytes : inline_bytes;
    Waiting waiting_ = Waiting::spin;
    std::function<void()> look_;
    std::unordered_map<std::uint32_t, Peer*> by_qp_;
    std::uint64_t outstanding_ = 0;  // completions that will come
    std::deque<ibv_wc> ended_;       // those that came and were not taken in yet
};

}  // namespace loom::transport
