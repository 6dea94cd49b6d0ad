// Memory that others may write, and what they write into it.
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <unordered_map>

#include "loom/transport/transport.hpp"
#include "transport/verbs/frame_rings.hpp"
#include "transport/verbs/memory.hpp"
#include "transport/verbs/rendezvous_sender.hpp"

namespace loom::transport {

class Puts {
public:
    Puts(Registrations& registrations, FrameRings& rings, RendezvousSender& sender)
        : registrations_(registrations), rings_(rings), sender_(sender) {}

    RemoteMemory expose(std::span<std::byte> memory);
    void unexpose(const RemoteMemory& memory);
    // Of ourselves `peer` is null. `message` has its peer, data and length.
    bool put(Peer* peer, const RemoteMemory& where, std::uint64_t offset, Message& message);
    bool put_notify(Peer* peer, const RemoteMemory& where, std::uint64_t offset, std::uint32_t value, Message& message);
    void take_notification(Rank from, std::uint32_t value) { notifications_.push_back({from, value}); }
    std::optional<Notification> next_notification();

private:
    Registrations& registrations_;
    FrameRings& rings_;
    RendezvousSender& sender_;
    std::unordered_map<std::uint64_t, Registration*> exposed_;  // by key
    std::deque<Notification> notifications_;
};

}  // namespace loom::transport
