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

void Puts::check(const RemoteMemory& where, std::uint64_t offset, std::uint64_t bytes) {
    if (offset > where.bytes || bytes > where.bytes - offset)
        throw UsageError("put: " + std::to_string(bytes) + " bytes at " + std::to_string(offset) + " do not fit into " +
                         std::to_string(where.bytes));
}

bool Puts::put_here(const RemoteMemory& where, std::uint64_t offset, Message& message) {
    if (message.bytes != 0) std::memmove(reinterpret_cast<void*>(where.address + offset), message.data, message.bytes);
    message.outcome = Message::Outcome::done;
    return true;
}

bool Puts::put(Peer* peer, const RemoteMemory& where, std::uint64_t offset, Message& message) {
    check(where, offset, message.bytes);
    if (peer == nullptr || message.bytes == 0) return put_here(where, offset, message);
    if (peer->lost) {
        message.outcome = Message::Outcome::lost;
        return true;
    }
    return sender_.put(*peer, message, {where.address + offset, static_cast<std::uint32_t>(where.key), false});
}

bool Puts::put_notify(Peer* peer, const RemoteMemory& where, std::uint64_t offset, std::uint32_t value,
                      Message& message) {
    check(where, offset, message.bytes);
    if (peer == nullptr) {
        notifications_.add(message.peer, value);
        return put_here(where, offset, message);
    }
    if (peer->lost) {
        message.outcome = Message::Outcome::lost;
        return true;
    }
    return notifications_.send(*peer, message, {where.address + offset, static_cast<std::uint32_t>(where.key), false},
                               value);
}

}  // namespace loom::transport
