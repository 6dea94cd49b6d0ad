#include "transport/verbs/puts.hpp"

#include <cstring>
#include <string>

#include "loom/base/error.hpp"

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

bool Puts::put(Peer* peer, const RemoteMemory& where, std::uint64_t offset, Message& message) {
    if (offset > where.bytes || message.bytes > where.bytes - offset)
        throw UsageError("put: " + std::to_string(message.bytes) + " bytes at " + std::to_string(offset) +
                         " do not fit into " + std::to_string(where.bytes));
    message.outcome = Message::Outcome::done;
    if (message.bytes == 0) return true;
    if (peer == nullptr) {
        std::memmove(reinterpret_cast<void*>(where.address + offset), message.data, message.bytes);
        return true;
    }
    if (peer->lost) {
        message.outcome = Message::Outcome::lost;
        return true;
    }
    return sender_.put(*peer, message, {where.address + offset, static_cast<std::uint32_t>(where.key), false});
}

bool Puts::put_notify(Peer* peer, const RemoteMemory& where, std::uint64_t offset, std::uint32_t value,
                      Message& message) {
    const Rank me = message.peer;
    const bool done = put(peer, where, offset, message);
    if (peer == nullptr)
        take_notification(me, value);
    else if (!peer->lost)
        rings_.send(*peer, Kind::notify, Tag{value}, std::span<const std::byte>());
    return done;
}

std::optional<Notification> Puts::next_notification() {
    if (notifications_.empty()) return {};
    const Notification next = notifications_.front();
    notifications_.pop_front();
    return next;
}

}  // namespace loom::transport
