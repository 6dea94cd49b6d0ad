// Multicast over an unreliable datagram queue pair.
#pragma once

#include "loom/transport/multicast.hpp"
#include "transport/verbs/device.hpp"
#include "transport/verbs/memory.hpp"

namespace loom::transport {

// Owns its queue pair, completion queues and buffers.
class Datagrams final : public Multicast {
public:
    // `job` names the group: two jobs on one network must not hear each other.
    Datagrams(const Device& device, Rank me, std::uint64_t job);
    ~Datagrams() override;
    Datagrams(const Datagrams&) = delete;
    Datagrams& operator=(const Datagrams&) = delete;

    std::size_t largest() const override;
    void send(Tag tag, std::uint32_t fragment, std::span<const std::byte> data) override;
    void listen(Heard heard, void* owner) override;

    // Takes in what has arrived; true when anything has.
    bool progress();

private:
    void post_receive(std::uint64_t slot);

    const Device& device_;
    Rank me_;
    std::uint64_t job_;
    std::size_t mtu_;
    CqPtr received_, sent_;
    QpPtr qp_;
    ibv_gid group_{};
    std::unique_ptr<SharedMemory> memory_;
    std::unique_ptr<ibv_ah, Undo<ibv_ah, &verbs::Functions::destroy_ah>> to_all_;
    std::uint64_t next_send_ = 0, sends_done_ = 0;
    Heard heard_ = nullptr;
    void* owner_ = nullptr;
};

}  // namespace loom::transport
