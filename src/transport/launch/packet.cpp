#include "transport/launch/packet.hpp"

#include <cstring>

#include "loom/transport/bootstrap.hpp"

namespace loom::transport::launching {

namespace {

// Both ends are on one host: its byte order will do.
struct Header {
    std::uint32_t magic;
    std::uint32_t kind;
    std::uint32_t rank;
    std::uint32_t size;
    std::uint32_t key_bytes;
    std::uint32_t value_bytes;
};
static_assert(sizeof(Header) + most_key_bytes + most_value_bytes == most_packet_bytes);

constexpr std::uint32_t magic = 0x314d4f4c;  // "LOM1"

}  // namespace

std::string encode(const Packet& packet) {
    if (packet.key.size() > most_key_bytes)
        throw BootstrapError("a bootstrap key has " + std::to_string(packet.key.size()) + " bytes; at most " +
                             std::to_string(most_key_bytes) + " are possible");
    if (packet.value.size() > most_value_bytes)
        throw BootstrapError("the bootstrap value " + packet.key + " has " + std::to_string(packet.value.size()) +
                             " bytes; at most " + std::to_string(most_value_bytes) + " are possible");
    const Header header{
        magic,       static_cast<std::uint32_t>(packet.kind),       packet.rank.value,
        packet.size, static_cast<std::uint32_t>(packet.key.size()), static_cast<std::uint32_t>(packet.value.size())};
    std::string bytes(sizeof header, '\0');
    std::memcpy(bytes.data(), &header, sizeof header);
    return bytes + packet.key + packet.value;
}

Packet decode(std::span<const char> bytes) {
    Header header{};
    if (bytes.size() < sizeof header) throw BootstrapError("a packet of the launcher is cut short");
    std::memcpy(&header, bytes.data(), sizeof header);
    if (header.magic != magic) throw BootstrapError("a packet on the launcher's socket is none of its own");
    if (header.kind < static_cast<std::uint32_t>(Kind::hello) || header.kind > static_cast<std::uint32_t>(Kind::lost))
        throw BootstrapError("a packet of the launcher is of no known kind");
    if (header.key_bytes > most_key_bytes || header.value_bytes > most_value_bytes ||
        bytes.size() != sizeof header + header.key_bytes + header.value_bytes)
        throw BootstrapError("a packet of the launcher has a wrong length");
    const char* const text = bytes.data() + sizeof header;
    return {static_cast<Kind>(header.kind), Rank{header.rank}, header.size, std::string(text, header.key_bytes),
            std::string(text + header.key_bytes, header.value_bytes)};
}

}  // namespace loom::transport::launching
