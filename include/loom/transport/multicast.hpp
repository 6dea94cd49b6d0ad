// Datagrams to all ranks at once, which may be lost: the first stage of a broadcast that a second one makes whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "loom/base/ids.hpp"
#include "loom/transport/message.hpp"

namespace loom::transport {

// One group for all ranks of the job; a rank hears what is sent after it asked its transport for this. Belongs to the
// transport and is used by the same thread.
class Multicast {
public:
    virtual ~Multicast() = default;

    [[nodiscard]] virtual std::size_t largest() const = 0;  // bytes of one datagram
    // On its way when it returns; `data` may change again. Nobody knows who will hear it; the sender does not.
    virtual void send(Tag tag, std::uint32_t fragment, std::span<const std::byte> data) = 0;

    // Called from the transport's progress() for each datagram that arrives; `data` is gone afterwards. Datagrams of
    // others' collectives come too: the tag tells. What comes while nobody listens is dropped.
    using Heard = void (*)(void* owner, Rank from, Tag tag, std::uint32_t fragment, std::span<const std::byte> data);
    virtual void listen(Heard heard, void* owner) = 0;
};

}  // namespace loom::transport
