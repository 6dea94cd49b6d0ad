#include "hca/roce/codec.hpp"

#include <array>
#include <cstring>

namespace loom::hca::roce {
namespace {

constexpr std::size_t bth_bytes = 12;
constexpr std::size_t crc_bytes = 4;

// Big-endian numbers, one after the other.
class Writer {
public:
    explicit Writer(std::byte* at) : at_(at) {}
    void put8(unsigned number) { *at_++ = static_cast<std::byte>(number); }
    void put16(std::uint16_t number) { put(__builtin_bswap16(number)); }
    void put32(std::uint32_t number) { put(__builtin_bswap32(number)); }
    void put64(std::uint64_t number) { put(__builtin_bswap64(number)); }
    void put_as_is(std::uint32_t number) { put(number); }
    [[nodiscard]] const std::byte* at() const { return at_; }

private:
    template <class Word>
    void put(Word word) {
        std::memcpy(at_, &word, sizeof word);
        at_ += sizeof word;
    }
    std::byte* at_;
};

class Reader {
public:
    explicit Reader(const std::byte* at) : at_(at) {}
    std::uint8_t take8() { return take<std::uint8_t>(); }
    std::uint16_t take16() { return __builtin_bswap16(take<std::uint16_t>()); }
    std::uint32_t take32() { return __builtin_bswap32(take<std::uint32_t>()); }
    std::uint64_t take64() { return __builtin_bswap64(take<std::uint64_t>()); }
    std::uint32_t take_as_is() { return take<std::uint32_t>(); }

private:
    template <class Word>
    Word take() {
        Word word;
        std::memcpy(&word, at_, sizeof word);
        at_ += sizeof word;
        return word;
    }
    const std::byte* at_;
};

// How much payload an operation may have.
enum class Payload : std::uint8_t { none, some, any, whole, notification };  // whole: some, and no padding

constexpr Payload payload_of(Service service, Op op) {
    if (service == Service::cnp) return Payload::notification;
    switch (op) {
        case Op::send_first:
        case Op::send_middle:
        case Op::write_first:
        case Op::write_middle:
        case Op::read_response_first:
        case Op::read_response_middle:
            return Payload::whole;
        case Op::send_last:
        case Op::send_last_imm:
        case Op::write_last:
        case Op::write_last_imm:
        case Op::read_response_last:
            return Payload::some;
        case Op::send_only:
        case Op::send_only_imm:
        case Op::write_only:
        case Op::write_only_imm:
        case Op::read_response_only:
            return Payload::any;
        default:
            return Payload::none;
    }
}

bool fits(Payload rule, std::size_t payload, std::size_t pad) {
    if (payload > max_payload_bytes) return false;
    switch (rule) {
        case Payload::none:
            return payload == 0 && pad == 0;
        case Payload::some:
            return payload > 0;
        case Payload::any:
            return true;
        case Payload::whole:
            return payload > 0 && pad == 0;
        case Payload::notification:
            return payload == notification_bytes && pad == 0;
    }
    return false;
}

Parsed dropped(Drop reason) {
    Parsed parsed;
    parsed.drop = reason;
    return parsed;
}

}  // namespace

bool known(Service service, Op op) {
    switch (service) {
        case Service::rc:
            return op <= Op::fetch_add;
        case Service::uc:
            return op <= Op::write_only_imm;
        case Service::ud:
            return op == Op::send_only || op == Op::send_only_imm;
        case Service::cnp:
            return op == Op::send_middle;
    }
    return false;
}

std::size_t header_bytes(Service service, Op op) {
    std::size_t bytes = bth_bytes;
    if (service == Service::ud) bytes += 8;
    if (has_reth(op)) bytes += 16;
    if (has_atomic(op)) bytes += 28;
    if (has_aeth(op)) bytes += 4;
    if (op == Op::atomic_acknowledge) bytes += 8;
    if (has_immediate(op)) bytes += 4;
    return bytes;
}

std::size_t write_headers(const Packet& packet, std::size_t payload, std::span<std::byte, max_header_bytes> out) {
    const Op op = packet.op;
    Writer to(out.data());
    to.put8(static_cast<unsigned>(packet.service) << 5 | static_cast<unsigned>(op));
    to.put8((packet.solicited ? 0x80u : 0u) | 0x40u | static_cast<unsigned>(padding(payload)) << 4);
    to.put16(0xffff);  // the default partition
    to.put32((packet.fecn ? 0x80000000u : 0u) | (packet.becn ? 0x40000000u : 0u) |
             (packet.dest_qpn.value & low_24_bits));
    to.put32((packet.ack_request ? 0x80000000u : 0u) | packet.psn.value());
    if (packet.service == Service::ud) {
        to.put32(packet.qkey);
        to.put32(packet.src_qpn.value & low_24_bits);
    }
    if (has_reth(op)) {
        to.put64(packet.remote_address);
        to.put32(packet.rkey);
        to.put32(packet.dma_length);
    }
    if (has_atomic(op)) {
        to.put64(packet.remote_address);
        to.put32(packet.rkey);
        to.put64(packet.swap_or_add);
        to.put64(packet.compare);
    }
    if (has_aeth(op)) to.put32(static_cast<std::uint32_t>(packet.syndrome) << 24 | (packet.msn & low_24_bits));
    if (op == Op::atomic_acknowledge) to.put64(packet.swap_or_add);
    if (has_immediate(op)) to.put_as_is(packet.imm);
    return static_cast<std::size_t>(to.at() - out.data());
}

std::vector<std::byte> encode(const Packet& packet, std::span<const std::byte> payload, const Envelope& envelope,
                              std::uint16_t id) {
    std::array<std::byte, max_header_bytes> headers;
    const std::size_t header_size = write_headers(packet, payload.size(), headers);
    std::vector<std::byte> datagram(datagram_bytes(packet, payload.size()));
    std::memcpy(datagram.data(), headers.data(), header_size);
    if (!payload.empty()) std::memcpy(datagram.data() + header_size, payload.data(), payload.size());
    const std::size_t covered = datagram.size() - crc_bytes;
    const CrcRegister crc = ~envelope.start(std::span(datagram).first(covered), datagram.size(), id);
    std::memcpy(datagram.data() + covered, &crc, crc_bytes);
    return datagram;
}

std::string_view name(Drop drop) {
    switch (drop) {
        case Drop::none:
            return "none";
        case Drop::too_short:
            return "too short";
        case Drop::version:
            return "transport version";
        case Drop::opcode:
            return "unknown operation";
        case Drop::padding:
            return "padding";
        case Drop::length:
            return "length";
        case Drop::crc:
            return "CRC";
    }
    return "?";
}

QpNumber destination_qpn(std::span<const std::byte> datagram) {
    return QpNumber{Reader(datagram.data() + 4).take32() & low_24_bits};
}

Parsed parse(std::span<const std::byte> datagram) {
    if (datagram.size() < bth_bytes + crc_bytes) return dropped(Drop::too_short);
    Reader from(datagram.data());
    const std::uint8_t opcode = from.take8();
    const std::uint8_t flags = from.take8();
    from.take16();  // every partition is ours
    if ((flags & 0x0f) != 0) return dropped(Drop::version);

    Parsed parsed;
    Packet& packet = parsed.packet;
    packet.service = static_cast<Service>(opcode >> 5);
    packet.op = static_cast<Op>(opcode & 0x1f);
    if (!known(packet.service, packet.op)) return dropped(Drop::opcode);
    const std::size_t headers = header_bytes(packet.service, packet.op);
    if (datagram.size() < headers + crc_bytes) return dropped(Drop::too_short);
    const std::size_t pad = (flags >> 4) & 3;
    const std::size_t padded = datagram.size() - headers - crc_bytes;
    if (datagram.size() % 4 != 0 || padded < pad) return dropped(Drop::padding);
    const std::size_t payload = padded - pad;
    if (!fits(payload_of(packet.service, packet.op), payload, pad)) return dropped(Drop::length);

    const std::uint32_t qpn = from.take32();
    const std::uint32_t psn = from.take32();
    packet.solicited = (flags & 0x80) != 0;
    packet.fecn = (qpn & 0x80000000) != 0;
    packet.becn = (qpn & 0x40000000) != 0;
    packet.dest_qpn = QpNumber{qpn & low_24_bits};
    packet.ack_request = (psn & 0x80000000) != 0;
    packet.psn = Psn(psn);
    if (packet.service == Service::ud) {
        packet.qkey = from.take32();
        packet.src_qpn = QpNumber{from.take32() & low_24_bits};
    }
    if (has_reth(packet.op)) {
        packet.remote_address = from.take64();
        packet.rkey = from.take32();
        packet.dma_length = from.take32();
    }
    if (has_atomic(packet.op)) {
        packet.remote_address = from.take64();
        packet.rkey = from.take32();
        packet.swap_or_add = from.take64();
        packet.compare = from.take64();
    }
    if (has_aeth(packet.op)) {
        const std::uint32_t aeth = from.take32();
        packet.syndrome = static_cast<std::uint8_t>(aeth >> 24);
        packet.msn = aeth & low_24_bits;
    }
    if (packet.op == Op::atomic_acknowledge) packet.swap_or_add = from.take64();
    if (has_immediate(packet.op)) packet.imm = from.take_as_is();
    parsed.payload = datagram.subspan(headers, payload);
    return parsed;
}

Parsed parse(std::span<const std::byte> datagram, const Envelope& arrived) {
    Parsed parsed = parse(datagram);
    if (parsed.drop == Drop::none && !arrived.right(datagram)) return dropped(Drop::crc);
    return parsed;
}

}  // namespace loom::hca::roce
