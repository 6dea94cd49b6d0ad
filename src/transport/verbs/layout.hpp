// How messages lie in memory that a peer writes: frames in a ring of cache lines, and an inbox of words beside them.
#pragma once

#include <cstdint>

#include "loom/transport/message.hpp"

namespace loom::transport {

inline constexpr std::uint64_t line = 64;  // a frame begins at one
inline constexpr std::uint64_t header_bytes = 16, trailer_bytes = 8;

enum class Kind : std::uint8_t {
    eager = 1,  // a message
    ready,      // a receiver waits for a large one: Ready
    written,    // it is there, or what was not lent of it: Reference
    lent,       // the receiver may read it, or a first part of it, itself: Loan
    advance,    // the same of a whole message, without waiting for `ready`; a small one if it keeps no more: Loan
    rather,     // an advance shall be written into this instead: Ready; the frame's tag is the loan's id
    unwanted,   // an advance has another length: Reference
    taken,      // a loan has been read: Reference
    refused,    // it will not come, the lengths differ: Reference
    withdrawn,  // the receiver no longer waits: Reference
    offer,      // a sender has waited long for `ready`: Offer
    skip,       // go on at the ring's beginning
};

struct Ready {
    std::uint64_t address, bytes;
    std::uint64_t key;
    TransferId receive;      // to be named in the answer
    std::uint32_t receives;  // large ones that the receiver waits for, this one among them
    std::uint32_t shared;    // not 0: the memory is reached with plain stores
    std::uint64_t seen;      // advances of large messages that had come when it was said: it is for none of them
};

struct Loan {
    std::uint64_t address, bytes;
    std::uint32_t key;
    std::uint32_t shared;  // of an advance: not 0 when the memory is reached with plain loads
    TransferId loan;       // to be named in the answer
    TransferId receive;    // of its Ready; of an advance no_transfer
};

struct Reference {
    TransferId transfer;
};

struct Offer {
    std::uint64_t bytes;
};

// The first word of a frame is kind and length, the last one is the mark alone, both in terms of a mark that no other
// frame of the connection has. Adapters write an RDMA write in order, so a frame is complete when its last word is
// right. What lay there before cannot look right but with a probability of 2^-64: nothing needs to be cleared.
class Marks {
public:
    Marks() = default;
    explicit Marks(std::uint64_t secret) : mark_(secret) {}
    [[nodiscard]] std::uint64_t now() const { return mark_; }
    void next() { mark_ += 0x9e37'79b9'7f4a'7c15; }

private:
    std::uint64_t mark_ = 0;
};

// Immediates that are no notification's value: a bell only wakes; an escape is followed by the digits of a value that
// does not fit, the lowest first, of 30 bits each; bit 30 says that another follows.
inline constexpr std::uint32_t bell_immediate = 0xffff'ffff, escape_immediate = 0xffff'fffe;
inline constexpr unsigned digit_bits = 30;
inline constexpr std::uint32_t digit_follows = 1u << digit_bits;

[[nodiscard]] constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
    return (value + unit - 1) / unit * unit;
}
[[nodiscard]] constexpr std::uint64_t frame_bytes(std::uint64_t payload) {
    return header_bytes + round_up(payload, 8) + trailer_bytes;
}
[[nodiscard]] constexpr std::uint64_t frame_lines(std::uint64_t payload) {
    return (frame_bytes(payload) + line - 1) / line;
}
// The first word without the mark; below 2^32.
[[nodiscard]] constexpr std::uint64_t describe(Kind kind, std::uint64_t payload) {
    return static_cast<std::uint64_t>(kind) << 28 | payload;
}
inline constexpr std::uint64_t most_payload = (1u << 28) - 1;

// What a peer tells us by writing here; one for each peer, a line of its own.
struct alignas(64) Inbox {
    std::uint64_t consumed = 0;      // lines of our frames that it has taken out of its ring, in all
    std::uint64_t wants_events = 0;  // it sleeps: what we send must wake it
    std::uint64_t is_full = 0;       // it keeps as many of our early messages as it will: no more eager ones
    std::uint64_t notified = 0;      // immediates of our notifications that it has taken, in all
};

}  // namespace loom::transport
