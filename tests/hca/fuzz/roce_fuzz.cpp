#include <cstring>
#include <span>

#include "fuzz/fuzz.hpp"
#include "hca/roce/codec.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace loom::hca::roce;
    using loom::fuzz::require;
    const std::span datagram(reinterpret_cast<const std::byte*>(data), size);
    Address from{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1}};
    Address to{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 2}};
    const Envelope envelope(from, to);

    const Parsed parsed = parse(datagram);
    const bool right = envelope.right(datagram);
    require((parse(datagram, envelope).drop == Drop::none) == (parsed.drop == Drop::none && right), "the CRC decides");
    if (parsed.drop != Drop::none) return 0;

    require(parsed.payload.data() >= datagram.data(), "the payload is part of the datagram");
    require(parsed.payload.data() + parsed.payload.size() + 4 <= datagram.data() + size,
            "the payload ends before the CRC");
    require(known(parsed.packet.service, parsed.packet.op), "the operation is known");
    require(destination_qpn(datagram) == parsed.packet.dest_qpn, "the queue pair is the same at both looks");
    const auto again = encode(parsed.packet, parsed.payload, envelope);
    require(again.size() == size, "written again it is as long");
    const Parsed second = parse(again, envelope);
    require(second.drop == Drop::none, "written again it is accepted");
    require(std::memcmp(&second.packet, &parsed.packet, sizeof parsed.packet) == 0, "written again it says the same");
    return 0;
}
