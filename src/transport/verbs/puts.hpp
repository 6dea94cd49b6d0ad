// Memory that others may reach, and access to theirs.
#pragma once

#include <span>
#include <unordered_map>

#include "loom/transport/transport.hpp"
#include "transport/verbs/memory.hpp"
#include "transport/verbs/notifications.hpp"
#include "transport/verbs/rendezvous_sender.hpp"

namespace loom::transport {

// Holds the registrations of memory that is exposed. Puts under way are RendezvousSender's.
class Puts {
public:
    Puts(Registrations& registrations, RendezvousSender& sender, Notifications& notifications)
        : registrations_(registrations), sender_(sender), notifications_(notifications) {}

    RemoteMemory expose(std::span<std::byte> memory);
    void unexpose(const RemoteMemory& memory);
    // Of ourselves `peer` is null. `message` has its peer, data and length.
    bool put(Peer* peer, const RemoteMemory& where, std::uint64_t offset, Message& message);
    bool put_notify(Peer* peer, const RemoteMemory& where, std::uint64_t offset, std::uint64_t value, Message& message);
    bool get(Peer* peer, const RemoteMemory& where, std::uint64_t offset, Message& message);
    bool atomic(Peer* peer, const RemoteMemory& where, std::uint64_t offset, const Atomic& what, Message& message);
    [[nodiscard]] bool any_exposed() const { return !exposed_.empty(); }

private:
    [[nodiscard]] static bool put_here(const RemoteMemory& where, std::uint64_t offset, Message& message);
    [[nodiscard]] static bool is_lost(const Peer* peer, Message& message);

    Registrations& registrations_;
    RendezvousSender& sender_;
    Notifications& notifications_;
    std::unordered_map<std::uint64_t, Registration*> exposed_;  // by key
};

}  // namespace loom::transport
