#include "transport/verbs/puts.hpp"

#include <cstring>

#include "loom/transport/access.hpp"

namespace loom::transport {

RemoteMemory Puts::expose(std::span<std::byte> memory) {
    if (memory.empty()) return {};
    Registration& registration = registrations_.acquire_exactly(memory, true);
    exposed_[registration.mr->rkey] = &registration;
    return {reinterpret_cast<std::uint64_t>(memory.data()), memory.size(), registration.mr->rkey};
}

void Puts::unexpose(const RemoteMemory& memory) {
    const auto found = exposed_.find(memory.key);
    if (found == exposed_.end()) return;
    registrations_.release(*found->second);
    exposed_.erase(found);
}

bool Puts::is_lost(const Peer* peer, Message& message) {
    if (peer == nullptr || !peer->lost) return false;
    message.outcome = Message::Outcome::lost;
    return true;
}

bool Puts::put_here(const RemoteMemory& where, std::uint64_t offset, Message& message) {
    if (message.bytes != 0) std::memmove(reinterpret_cast<void*>(where.address + offset), message.data, message.bytes);
    message.outcome = Message::Outcome::done;
    return true;
}

bool Puts::put(Peer* peer, const RemoteMemory& where, std::uint64_t offset, Message& message) {
    check_access(where, offset, message.bytes);
    if (peer == nullptr || message.bytes == 0) return put_here(where, offset, message);
    if (is_lost(peer, message)) return true;
    const Place place{where.address + offset, static_cast<std::uint32_t>(where.key), false};
    return peer->notifications.waiting != 0 ? notifications_.wait(*peer, message, place)
                                            : sender_.put(*peer, message, place);
}

bool Puts::put_notify(Peer* peer, const RemoteMemory& where, std::uint64_t offset, std::uint64_t value,
                      Message& message) {
    check_access(where, offset, message.bytes);
    if (peer == nullptr) {
        notifications_.add(message.peer, value);
        return put_here(where, offset, message);
    }
    if (is_lost(peer, message)) return true;
    return notifications_.send(*peer, message, {where.address + offset, static_cast<std::uint32_t>(where.key), false},
                               value);
}

bool Puts::get(Peer* peer, const RemoteMemory& where, std::uint64_t offset, Message& message) {
    check_access(where, offset, message.bytes);
    if (is_lost(peer, message)) return true;
    message.outcome = Message::Outcome::done;
    if (message.bytes == 0) return true;
    const std::uint64_t address = where.address + offset;
    if (peer != nullptr) return sender_.get(*peer, message, {address, static_cast<std::uint32_t>(where.key), false});
    std::memmove(message.data, reinterpret_cast<const void*>(address), message.bytes);
    return true;
}

bool Puts::atomic(Peer* peer, const RemoteMemory& where, std::uint64_t offset, const Atomic& what, Message& message) {
    check_access(where, offset, message.bytes);
    check_alignment(where, offset);
    if (is_lost(peer, message)) return true;
    const std::uint64_t address = where.address + offset;
    if (peer != nullptr)
        return sender_.atomic(*peer, message, {address, static_cast<std::uint32_t>(where.key), false}, what);
    const std::uint64_t before = carry_out(what, *reinterpret_cast<std::uint64_t*>(address));
    std::memcpy(message.data, &before, sizeof before);
    message.outcome = Message::Outcome::done;
    return true;
}

}  // namespace loom::transport
