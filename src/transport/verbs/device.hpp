// One adapter, opened: what the verbs transport makes its queue pairs from.
#pragma once

#include <infiniband/verbs.h>

#include <memory>
#include <string>

#include "loom/verbs/functions.hpp"

namespace loom::transport {

inline constexpr std::uint32_t receive_requests = 2048;  // empty ones, that all peers share

// Calls the function that undoes a creation.
template <class Object, auto Member>
struct Undo {
    void operator()(Object* object) const {
        if (object != nullptr) (verbs::adapter().functions.*Member)(object);
    }
};
using ContextPtr = std::unique_ptr<ibv_context, Undo<ibv_context, &verbs::Functions::close_device>>;
using PdPtr = std::unique_ptr<ibv_pd, Undo<ibv_pd, &verbs::Functions::dealloc_pd>>;
using ChannelPtr = std::unique_ptr<ibv_comp_channel, Undo<ibv_comp_channel, &verbs::Functions::destroy_comp_channel>>;
using CqPtr = std::unique_ptr<ibv_cq, Undo<ibv_cq, &verbs::Functions::destroy_cq>>;
using SrqPtr = std::unique_ptr<ibv_srq, Undo<ibv_srq, &verbs::Functions::destroy_srq>>;
using QpPtr = std::unique_ptr<ibv_qp, Undo<ibv_qp, &verbs::Functions::destroy_qp>>;
using MrPtr = std::unique_ptr<ibv_mr, Undo<ibv_mr, &verbs::Functions::dereg_mr>>;

// Where a peer's adapter is, as it tells us.
struct Address {
    std::uint16_t lid = 0;
    std::uint8_t mtu = 0;  // ibv_mtu
    std::uint8_t ethernet = 0;
    std::uint8_t gid[16] = {};
};

// Owns the objects that all peers share; whatever is made from them must go first.
class Device {
public:
    // The first device whose port 1 is active, or the one LOOM_DEVICE names. Throws Error when there is none.
    Device();

    const verbs::Adapter& adapter;
    ContextPtr context;
    PdPtr pd;
    ChannelPtr channel;
    CqPtr sent;      // completions of what we write
    CqPtr received;  // of what wakes us
    SrqPtr srq;
    std::string name;
    Address address;
    std::uint8_t gid_index = 0;
    bool atomics = false;  // on memory of peers

    // A reliable queue pair on these queues that takes up to `inline_bytes` along with a request.
    [[nodiscard]] QpPtr create_qp(std::uint32_t requests, std::uint32_t inline_bytes) const;
    void connect(ibv_qp& qp, const Address& peer, std::uint32_t peer_number) const;
    // Posts empty receive requests to the shared queue.
    void post_receives(std::uint32_t count) const;
};

}  // namespace loom::transport
