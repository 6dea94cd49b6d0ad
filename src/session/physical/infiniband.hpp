// The physical layer over verbs: everything is created once, at the opening; a segment is copied into a block of a
// registered region, and the block is free again when its request has completed.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "loom/session/physical.hpp"
#include "loom/verbs/functions.hpp"
#include "session/control/message.hpp"
#include "session/physical/blocks.hpp"

namespace loom::session {

struct BlockPlan {
    std::uint32_t count = 1000;  // to send, and as many to receive
    std::uint32_t bytes = 8128;
};
// For messages in one request, or in few: the adapter cuts them into packets.
inline constexpr BlockPlan whole_messages{32, 256 * 1024};

// Two queue pairs on one completion queue and one shared receive queue: RC while the session is synchronous, UC while
// it is asynchronous. With RC the sender waits where no block is posted (RNR); with UC the message is lost.
class Adapter {
public:
    // The first device with an active port. Throws Error.
    explicit Adapter(const BlockPlan& plan);
    ~Adapter();
    Adapter(const Adapter&) = delete;
    Adapter& operator=(const Adapter&) = delete;

    [[nodiscard]] const QueuePairs& own() const { return own_; }
    // INIT, RTR, RTS. Throws Error.
    void connect(const QueuePairs& peer);

    [[nodiscard]] std::span<std::byte> block();
    void push(std::size_t bytes, Scheme scheme);
    [[nodiscard]] std::span<std::byte> pop();
    [[nodiscard]] const std::string& failure() const { return failure_; }

    // For poll(2): readable when something has completed since arm().
    [[nodiscard]] int number() const { return channel_->fd; }
    void arm();
    void drain_events();

private:
    void make(const BlockPlan& plan);
    void open_device();
    [[nodiscard]] ibv_qp* make_queue_pair(ibv_qp_type type);
    void connect(ibv_qp* pair, ibv_qp_type type, std::uint32_t peer, std::uint32_t own_psn, std::uint32_t peer_psn,
                 const QueuePairs& other);
    void release();
    void post_receive(std::uint32_t block);
    void take_completions();
    void fail(std::string why);
    [[nodiscard]] std::byte* memory(std::uint32_t block) { return region_.data() + std::size_t{block} * plan_.bytes; }

    const verbs::Functions& verbs_;
    BlockPlan plan_;
    QueuePairs own_;
    std::string device_;
    Bytes region_;  // the first half to send, the second to receive
    Blocks blocks_;
    ibv_context* context_ = nullptr;
    ibv_pd* domain_ = nullptr;
    ibv_mr* registration_ = nullptr;
    ibv_comp_channel* channel_ = nullptr;
    ibv_cq* queue_ = nullptr;
    ibv_srq* receives_ = nullptr;
    ibv_qp *reliable_ = nullptr, *unreliable_ = nullptr;

    struct Arrived {
        std::uint32_t block, bytes;
    };
    std::deque<Arrived> arrived_;
    std::optional<std::uint32_t> in_hand_;  // the block that pop() gave last
    std::string failure_;
};

// The adapter of a session. It can be made anew when it has failed; to the session it is the same network.
class InfiniBand final : public Physical {
public:
    explicit InfiniBand(const BlockPlan& plan) : plan_(plan) { remake(); }

    // Throws Error when there is no device that works.
    void remake();
    [[nodiscard]] const QueuePairs& own() const { return own_; }
    void connect(const QueuePairs& peer);
    [[nodiscard]] int number() const { return adapter_ ? adapter_->number() : -1; }
    void arm() {
        if (adapter_) adapter_->arm();
    }
    void drain_events() {
        if (adapter_) adapter_->drain_events();
    }
    // It is not used until it is made anew.
    void give_up(const std::string& why);

    [[nodiscard]] std::span<std::byte> block() override {
        return adapter_ ? adapter_->block() : std::span<std::byte>();
    }
    void push(std::size_t bytes) override {
        if (adapter_) adapter_->push(bytes, scheme_);
    }
    void serve(Scheme scheme) override { scheme_ = scheme; }
    [[nodiscard]] std::span<std::byte> pop() override { return adapter_ ? adapter_->pop() : std::span<std::byte>(); }
    [[nodiscard]] const std::string& failure() const override {
        return adapter_ && given_up_.empty() ? adapter_->failure() : given_up_;
    }

private:
    BlockPlan plan_;
    QueuePairs own_;
    std::unique_ptr<Adapter> adapter_;
    Scheme scheme_ = Scheme::synchronous;
    std::string given_up_;
};

}  // namespace loom::session
