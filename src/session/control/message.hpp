// What the ends of a session say to each other on the control channel.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>

#include "loom/session/context.hpp"
#include "session/seal/sealer.hpp"
#include "session/stack/mail.hpp"

namespace loom::session {

// Whom an adapter reaches: its subnet by LID, whoever IP reaches, or processes of its host alone.
enum class Link : std::uint8_t { infiniband, ethernet, host };

// What the queue pairs of an end can be reached by. RC carries synchronous messages, UC asynchronous ones.
struct QueuePairs {
    std::uint16_t lid = 0;
    std::array<std::byte, 16> gid{};
    std::uint32_t reliable = 0, unreliable = 0;          // QPN, 24 bits
    std::uint32_t reliable_psn = 0, unreliable_psn = 0;  // random, 24 bits
    std::uint8_t mtu = 0;                                // as ibv_mtu
    Link link = Link::infiniband;
    std::uint32_t block_bytes = 0;
    std::uint32_t rkey = 0;

    bool operator==(const QueuePairs&) const = default;
};

// The first message of either end.
struct Hello {
    static constexpr std::uint32_t version = 1;
    std::string cluster;        // empty: the same as the host
    std::string host;           // the same text on all processes of a host
    std::uint64_t process = 0;  // a random number of the process
    std::uint16_t port = 0;     // of this session at this end, for TransportDrive
    std::uint16_t udp_port = 0;
    std::uint32_t segment_bytes = 0;  // over Ethernet
    std::uint64_t most_message = 0;
    std::uint32_t epoch = 0;  // random: the first epoch is the sum of both
    Scheme scheme = Scheme::synchronous;
    Controller controller = Controller::new_reno;
    bool selective = false, has_key = false, has_infiniband = false;
    QueuePairs queue_pairs;
    Nonce nonce{};

    bool operator==(const Hello&) const = default;
};

// Only where both ends have a key.
struct KeyProof {
    Proof proof{};
    bool operator==(const KeyProof&) const = default;
};
// This end is ready for segments.
struct Begin {
    bool infiniband = false;  // its queue pairs are connected
    bool operator==(const Begin&) const = default;
};
// "Let us run this from `epoch` on. I have received so much."
struct Propose {
    std::uint32_t epoch = 0;
    Settings settings;
    Resume resume;
    std::string reason;
    bool operator==(const Propose&) const = default;
};
// "I run it now, and have received so much."
struct Ready {
    std::uint32_t epoch = 0;
    Settings settings;
    Resume resume;
    bool operator==(const Ready&) const = default;
};
// Queue pairs anew, after a failure; the other end answers with its own of the same generation.
struct Reconnect {
    std::uint32_t generation = 0;
    QueuePairs queue_pairs;
    bool operator==(const Reconnect&) const = default;
};
// The queue pairs of that generation can be used.
struct Connected {
    std::uint32_t generation = 0;
    bool operator==(const Connected&) const = default;
};
struct Close {
    std::string reason;
    bool operator==(const Close&) const = default;
};

using ControlMessage = std::variant<Hello, KeyProof, Begin, Propose, Ready, Reconnect, Connected, Close>;

inline constexpr std::size_t most_control_bytes = 1024;  // of a message
inline constexpr std::size_t most_words = 200;           // of a text in it; longer ones are cut

// Without its length.
[[nodiscard]] Bytes encode(const ControlMessage& message);
// Throws ParseError for anything that encode() would not have written.
[[nodiscard]] ControlMessage decode(std::span<const std::byte> bytes);

}  // namespace loom::session
