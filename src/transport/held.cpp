#include "loom/transport/held.hpp"

#include <algorithm>
#include <utility>

namespace loom::transport {

bool HeldTransport::send(Rank to, Tag tag, std::span<const std::byte> data, Message& message) {
    for (Held& each : held_) each.passed_on |= each.tag == tag;
    return below_.send(to, tag, data, message);
}

bool HeldTransport::receive(Rank from, Tag tag, std::span<std::byte> into, Message& message) {
    if (!holding_) return below_.receive(from, tag, into, message);
    message.outcome = Message::Outcome::pending;
    held_.push_back({from, tag, into, &message});
    return false;
}

void HeldTransport::let_go() {
    for (const Held& each : std::exchange(held_, {}))
        if (below_.receive(each.from, each.tag, each.into, *each.message)) each.message->finished(*each.message);
}

std::uint32_t HeldTransport::passed_on() const {
    return static_cast<std::uint32_t>(
        std::count_if(held_.begin(), held_.end(), [](const Held& each) { return each.passed_on; }));
}

}  // namespace loom::transport
