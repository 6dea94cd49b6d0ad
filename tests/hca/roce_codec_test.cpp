#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "hca/roce/codec.hpp"
#include "hca/roce/gid.hpp"
#include "hca/roce_support.hpp"
#include "loom/base/random.hpp"

namespace loom::hca::roce {
namespace {

const Envelope envelope(*parse_address("fd00::1"), *parse_address("fd00::2"));  // every bit but the masked byte counts

TEST(RoceCodec, EveryOperationRoundTripsWithDrawnFields) {
    Random random(1);
    std::size_t operations = 0;

    for (const Operation& operation : all_operations()) {
        ++operations;
        for (int round = 0; round < 50; ++round) {
            const Packet packet = drawn_packet(random, operation);
            const auto payload = drawn_payload(random, operation, 4096);

            const auto datagram = encode(packet, payload, envelope);
            const Parsed parsed = parse(datagram, envelope);

            ASSERT_EQ(parsed.drop, Drop::none) << name(parsed.drop) << " " << describe(packet);
            ASSERT_EQ(describe(parsed.packet), describe(packet));
            ASSERT_TRUE(std::equal(payload.begin(), payload.end(), parsed.payload.begin(), parsed.payload.end()));
            ASSERT_EQ(datagram.size() % 4, 0u);
            ASSERT_EQ(destination_qpn(datagram), packet.dest_qpn);
        }
    }
    EXPECT_EQ(operations, 21u + 12u + 2u + 1u);
}

TEST(RoceCodec, EveryTruncationIsRefused) {
    Random random(2);

    for (const Operation& operation : all_operations()) {
        const auto datagram = encode(drawn_packet(random, operation), drawn_payload(random, operation, 60), envelope);
        for (std::size_t size = 0; size < datagram.size(); ++size) {
            const std::vector<std::byte> part(datagram.begin(), datagram.begin() + static_cast<std::ptrdiff_t>(size));
            ASSERT_NE(parse(part, envelope).drop, Drop::none) << size << " of " << datagram.size();
            const Parsed unchecked = parse(part);
            ASSERT_LE(unchecked.payload.size(), size);
        }
    }
}

TEST(RoceCodec, EveryFlippedBitIsRefusedOrMasked) {
    Random random(3);

    for (const Operation& operation : all_operations()) {
        const auto datagram = encode(drawn_packet(random, operation), drawn_payload(random, operation, 60), envelope);
        for (std::size_t bit = 0; bit < datagram.size() * 8; ++bit) {
            auto damaged = datagram;
            damaged[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
            ASSERT_EQ(parse(damaged, envelope).drop == Drop::none, bit / 8 == 4) << "bit " << bit;
        }
    }
}

TEST(RoceCodec, ReasonsToDrop) {
    Packet packet;
    packet.op = Op::send_only;
    const std::vector<std::byte> payload(8);
    const auto good = encode(packet, payload, envelope);
    const auto with = [&](std::size_t at, unsigned value) {
        auto changed = good;
        changed[at] = static_cast<std::byte>(value);
        return parse(changed, envelope).drop;
    };
    const auto sized = [&](Op op, std::size_t size) {
        Packet other;
        other.op = op;
        return parse(encode(other, std::vector<std::byte>(size), envelope), envelope).drop;
    };

    EXPECT_EQ(parse({}, envelope).drop, Drop::too_short);
    EXPECT_EQ(parse(std::span(good).first(15), envelope).drop, Drop::too_short);
    EXPECT_EQ(with(0, 0x1e), Drop::opcode);  // inside a host only
    EXPECT_EQ(with(0, 0x15), Drop::opcode);
    EXPECT_EQ(with(0, 0x2c), Drop::opcode);  // read on UC
    EXPECT_EQ(with(0, 0x60), Drop::opcode);  // send_first on UD
    EXPECT_EQ(with(0, 0x80), Drop::opcode);
    EXPECT_EQ(with(0, 0xff), Drop::opcode);
    EXPECT_EQ(with(0, 0x0a), Drop::too_short);  // write_only has 16 bytes more of headers
    EXPECT_EQ(with(1, 0x01), Drop::version);
    EXPECT_EQ(parse(std::span(good).first(good.size() - 2), envelope).drop, Drop::padding);
    EXPECT_EQ(sized(Op::acknowledge, 4), Drop::length);
    EXPECT_EQ(sized(Op::read_request, 4), Drop::length);
    EXPECT_EQ(sized(Op::send_last, 0), Drop::length);
    EXPECT_EQ(sized(Op::send_middle, 0), Drop::length);
    EXPECT_EQ(sized(Op::send_middle, 255), Drop::length);
    EXPECT_EQ(sized(Op::send_only, 4097), Drop::length);
    EXPECT_EQ(sized(Op::send_only, 4096), Drop::none);
    EXPECT_EQ(with(20, 1), Drop::crc);
}

TEST(RoceCodec, MorePaddingThanPayloadIsRefused) {
    Packet packet;
    packet.op = Op::send_only;
    auto datagram = encode(packet, {}, envelope);

    datagram[1] |= std::byte{0x30};

    EXPECT_EQ(parse(datagram, envelope).drop, Drop::padding);
}

TEST(RoceCodec, RandomBytesAreHarmless) {
    Random random(4);
    std::size_t read = 0;

    for (int round = 0; round < 20000; ++round) {
        std::vector<std::byte> bytes(random.below(200));
        for (auto& byte : bytes) byte = static_cast<std::byte>(random());
        if (bytes.size() > 1) bytes[1] &= std::byte{0xf0};
        const Parsed parsed = parse(bytes);
        if (parsed.drop != Drop::none) continue;
        ++read;
        ASSERT_GE(parsed.payload.data(), bytes.data());
        ASSERT_LE(parsed.payload.data() + parsed.payload.size(), bytes.data() + bytes.size());
        ASSERT_NE(parse(bytes, envelope).drop, Drop::none);
    }
    EXPECT_GT(read, 0u);
}

// A congestion notification as a ConnectX-4 Lx sent it: identification 0x718c, source port 0.
TEST(RoceCodec, NotificationOfAnAdapterIsRead) {
    Address from = *parse_address("10.0.17.1");
    from.port = 0;
    const Address to = *parse_address("10.0.18.1");
    const auto datagram = from_hex("8100ffff 40000118 00000000 00000000000000000000000000000000 82fd002a");

    const Parsed parsed = parse(datagram, Envelope(from, to));

    EXPECT_EQ(parsed.drop, Drop::none) << name(parsed.drop);
    EXPECT_EQ(describe(parsed.packet), describe(notification(QpNumber{0x118})));
    const auto ours =
        encode(notification(QpNumber{0x118}), std::vector<std::byte>(notification_bytes), Envelope(from, to), 0x718c);
    EXPECT_EQ(ours.size(), datagram.size());
}

// Bytes of a send on an unreliable connection as the annex lays them out, field by field.
TEST(RoceCodec, FieldsAreAtTheirPlaces) {
    Packet packet;
    packet.op = Op::write_only_imm;
    packet.solicited = true;
    packet.ack_request = true;
    packet.becn = true;
    packet.dest_qpn = QpNumber{0x010203};
    packet.psn = Psn(0xa1a2a3);
    packet.remote_address = 0x1122334455667788;
    packet.rkey = 0x99aabbcc;
    packet.dma_length = 5;
    std::memcpy(&packet.imm, "imm!", 4);
    const auto payload = from_hex("0102030405");

    auto datagram = encode(packet, payload, envelope);

    datagram.erase(datagram.end() - 4, datagram.end());
    EXPECT_EQ(datagram, from_hex("0b f0 ffff 40 010203 80 a1a2a3"
                                 "1122334455667788 99aabbcc 00000005 696d6d21"
                                 "0102030405 000000"));
}

// Source and destination on one host, an unreliable connection, identification 1144, as other software reads and writes
// it.
TEST(RoceCodec, PacketWithAKnownCrc) {
    Address from = *parse_address("192.168.0.7");
    from.port = 49152;
    const Address to = *parse_address("192.168.0.7");
    Packet packet;
    packet.service = Service::uc;
    packet.op = Op::send_only;
    packet.dest_qpn = QpNumber{211};
    packet.psn = Psn(13571856);
    const auto payload = from_hex("4630818be28935d90e9a95505401be885e50");

    const auto datagram = encode(packet, payload, Envelope(from, to), 1144);

    EXPECT_EQ(std::vector(datagram.end() - 4, datagram.end()), from_hex("78f353f3"));
}

}  // namespace
}  // namespace loom::hca::roce
