// Receives that leave open who sends, with which tag and how much: what MPI programs need beyond transport::Transport.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "loom/base/ids.hpp"
#include "loom/transport/message.hpp"
#include "loom/transport/transport.hpp"

namespace loom::twin {

// Messages from one rank or from any, whose tag equals `tag` in the bits of `mask`.
struct Wanted {
    std::optional<Rank> from;
    transport::Tag tag;
    std::uint64_t mask = ~std::uint64_t{0};

    [[nodiscard]] bool fits(Rank sender, transport::Tag its) const {
        return ((its.value ^ tag.value) & mask) == 0 && (!from || *from == sender);
    }
    [[nodiscard]] bool is_exact() const { return from && mask == ~std::uint64_t{0}; }
};

struct Envelope {
    Rank from;
    transport::Tag tag;
    std::uint64_t bytes = 0;
};

// What a transport of twin::run can do besides. Which of several messages such a receive gets is decided by the order
// in which they arrived in virtual time, that of one rank's by the order of its sends. Tags of these receives and those
// of Transport::receive must be different ones.
class Matching {
public:
    // As Transport::receive, but of the first message that fits and that no earlier receive takes; it may be shorter
    // than `into`. Once finished, message.peer, message.tag and message.bytes are those of what came, also when it was
    // too long (Outcome::mismatched). A receive from any rank is lost with the first rank that is lost.
    [[nodiscard]] virtual bool receive(const Wanted& wanted, std::span<std::byte> into,
                                       transport::Message& message) = 0;
    // As Transport::send, but not finished before a receive has taken it. Where messages overtake each other (packet
    // level with adaptive paths): not before it is there.
    [[nodiscard]] virtual bool synchronous_send(Rank to, transport::Tag tag, std::span<const std::byte> data,
                                                transport::Message& message) = 0;
    // The oldest message that is here, fits and was not received. Cost: a look at all that are here.
    [[nodiscard]] virtual std::optional<Envelope> find(const Wanted& wanted) const = 0;
    // As Transport::rest; a message that no receive takes ends it too.
    virtual void rest_until_any() = 0;

protected:
    ~Matching() = default;
};

// Null for a transport that is not of twin::run.
[[nodiscard]] Matching* matching_of(transport::Transport& transport);

}  // namespace loom::twin
