#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string_view>
#include <vector>

#include "hca/roce/codec.hpp"
#include "hca/roce/icrc.hpp"
#include "loom/base/random.hpp"
#include "reference/icrc.hpp"

namespace loom::hca::roce {
namespace {

std::vector<std::byte> drawn(Random& random, std::size_t size) {
    std::vector<std::byte> bytes(size);
    for (auto& byte : bytes) byte = static_cast<std::byte>(random());
    return bytes;
}

Address ipv4(std::uint8_t last, std::uint16_t port) {
    return {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 9, 0, last}, port};
}
Address ipv6(std::uint8_t last, std::uint16_t port) {
    return {{0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last}, port};
}

// The IP and UDP headers that a host puts before a datagram, with fields that routers change.
std::vector<std::byte> on_the_wire(const std::vector<std::byte>& datagram, const Address& from, const Address& to,
                                   std::uint16_t id, Random& random) {
    std::vector<std::byte> packet;
    const auto put16 = [&](std::size_t number) {
        packet.push_back(static_cast<std::byte>(number >> 8));
        packet.push_back(static_cast<std::byte>(number));
    };
    const auto drawn8 = [&] { return static_cast<std::size_t>(random() & 0xff); };
    if (family(from.ip) == Family::ipv4) {
        put16(0x4500 | drawn8());
        put16(28 + datagram.size());
        put16(id);
        put16(0x4000);
        put16(drawn8() << 8 | 17);
        put16(random() & 0xffff);
        for (std::size_t i = 12; i < 16; i += 2) put16(std::size_t{from.ip[i]} << 8 | from.ip[i + 1]);
        for (std::size_t i = 12; i < 16; i += 2) put16(std::size_t{to.ip[i]} << 8 | to.ip[i + 1]);
    } else {
        put16(0x6000 | (random() & 0xfff));
        put16(random() & 0xffff);
        put16(8 + datagram.size());
        put16(17 << 8 | drawn8());
        for (std::size_t i = 0; i < 16; i += 2) put16(std::size_t{from.ip[i]} << 8 | from.ip[i + 1]);
        for (std::size_t i = 0; i < 16; i += 2) put16(std::size_t{to.ip[i]} << 8 | to.ip[i + 1]);
    }
    put16(from.port);
    put16(to.port);
    put16(8 + datagram.size());
    put16(random() & 0xffff);
    packet.insert(packet.end(), datagram.begin(), datagram.end());
    return packet;
}

TEST(RoceCrc, CheckValueOfTheCatalogues) {
    const std::string_view digits = "123456789";

    const CrcRegister crc = ~crc_update(~CrcRegister{0}, std::as_bytes(std::span(digits)));

    EXPECT_EQ(crc, 0xcbf43926u);
}

TEST(RoceCrc, EveryKindEqualsTheReferenceOnAllLengths) {
    Random random(1);
    const auto bytes = drawn(random, 5017);

    for (const CrcKind kind : {CrcKind::table, CrcKind::multiply128, CrcKind::multiply512}) {
        if (!has(kind)) continue;
        for (const std::size_t offset : {0u, 3u, 16u}) {
            CrcRegister expected = static_cast<CrcRegister>(random());
            const CrcRegister seed = expected;
            for (std::size_t size = 0; size <= 5000; ++size) {
                ASSERT_EQ(crc_update(kind, seed, std::span(bytes).subspan(offset, size)), expected)
                    << "kind " << int(kind) << " length " << size;
                expected = reference::crc32_update(expected, bytes[offset + size]);
            }
        }
    }
    EXPECT_TRUE(has(CrcKind::table));
}

TEST(RoceCrc, EnvelopeEqualsTheMaskedPacketOfTheAnnex) {
    Random random(2);

    for (int round = 0; round < 500; ++round) {
        const bool v6 = (round & 1) != 0;
        const auto port = static_cast<std::uint16_t>(random());
        const Address from = v6 ? ipv6(static_cast<std::uint8_t>(random()), port) : ipv4(1, port);
        const Address to = v6 ? ipv6(2, default_port) : ipv4(static_cast<std::uint8_t>(random()), default_port);
        const auto id = static_cast<std::uint16_t>(random());
        Packet packet;
        packet.op = Op::send_only;
        packet.fecn = (random() & 1) != 0;
        packet.dest_qpn = QpNumber{static_cast<std::uint32_t>(random()) & 0xffffff};
        const auto payload = drawn(random, random.below(300));

        const auto datagram = encode(packet, payload, Envelope(from, to), id);

        auto wire = on_the_wire(datagram, from, to, id, random);
        std::uint32_t carried;
        std::memcpy(&carried, wire.data() + wire.size() - 4, 4);
        wire.erase(wire.end() - 4, wire.end());
        ASSERT_EQ(carried, reference::icrc(wire));
        ASSERT_TRUE(Envelope(from, to).right(datagram));
    }
}

TEST(RoceCrc, AnyIdentificationPasses) {
    Random random(3);
    const Envelope envelope(ipv4(1, 49152), ipv4(2, default_port));
    Packet packet;
    packet.op = Op::send_only;

    for (const std::size_t size : {0u, 1u, 64u, 1024u, 4096u}) {
        const auto payload = drawn(random, size);
        for (int round = 0; round < 200; ++round) {
            const auto id = static_cast<std::uint16_t>(random());
            ASSERT_EQ(envelope.identify(encode(packet, payload, envelope, id)), id) << size;
        }
    }
}

TEST(RoceCrc, PacketsWithoutDoNotFragmentPass) {
    Random random(5);
    const Address from = ipv4(1, 49152);
    const Address to = ipv4(2, default_port);
    Packet packet;
    packet.op = Op::send_only;
    auto datagram = encode(packet, drawn(random, 100), Envelope(from, to));
    auto wire = on_the_wire(datagram, from, to, 7, random);
    wire[6] = std::byte{0};
    wire.erase(wire.end() - 4, wire.end());

    const std::uint32_t crc = reference::icrc(wire);
    std::memcpy(datagram.data() + datagram.size() - 4, &crc, 4);

    EXPECT_EQ(Envelope(from, to).identify(datagram), 0x10007u);
}

// A damaged IPv4 packet passes if and only if some identification would make it right.
TEST(RoceCrc, OneDamagedBitPassesOnlyAsAnotherIdentification) {
    Random random(6);
    const Address from = ipv4(1, 49152);
    const Address to = ipv4(2, default_port);
    const Envelope envelope(from, to);
    Packet packet;
    packet.op = Op::send_only;
    const auto datagram = encode(packet, drawn(random, 1024), envelope);
    std::size_t passed = 0;

    for (std::size_t bit = 0; bit < datagram.size() * 8; ++bit) {
        if (bit / 8 == 4) continue;  // the masked byte of the BTH
        auto damaged = datagram;
        damaged[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
        if (!envelope.right(damaged)) continue;
        ++passed;
        bool explained = false;
        auto wire = on_the_wire(damaged, from, to, 0, random);
        std::uint32_t carried;
        std::memcpy(&carried, wire.data() + wire.size() - 4, 4);
        wire.erase(wire.end() - 4, wire.end());
        for (std::uint32_t field = 0; field < 0x20000 && !explained; ++field) {
            wire[4] = static_cast<std::byte>(field >> 8);
            wire[5] = static_cast<std::byte>(field);
            wire[6] = static_cast<std::byte>((field >> 16) << 6);
            explained = reference::icrc(wire) == carried;
        }
        EXPECT_TRUE(explained) << "bit " << bit;
    }
    EXPECT_LT(passed, 5u);  // about one in 32768 of 8320
    EXPECT_FALSE(Envelope(ipv4(3, 49152), to).right(datagram));
    EXPECT_FALSE(Envelope(ipv4(1, 49153), to).right(datagram));
}

TEST(RoceCrc, EveryDamagedBitIsSeenInIpv6) {
    Random random(7);
    const Envelope envelope(ipv6(1, 4791), ipv6(2, 4791));
    Packet packet;
    packet.op = Op::send_only;

    for (const std::size_t size : {0u, 1u, 64u, 1024u, 4096u}) {
        const auto datagram = encode(packet, drawn(random, size), envelope);
        for (std::size_t bit = 0; bit < datagram.size() * 8; ++bit) {
            auto damaged = datagram;
            damaged[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
            ASSERT_EQ(envelope.right(damaged), bit / 8 == 4) << size << " bit " << bit;
        }
    }
}

TEST(RoceCrc, TwoDamagedBitsAreSeenInIpv6) {
    Random random(4);
    const Envelope envelope(ipv6(1, 4791), ipv6(2, 4791));
    Packet packet;
    packet.op = Op::send_only;
    const auto datagram = encode(packet, drawn(random, 1024), envelope, 0);

    for (int round = 0; round < 2000; ++round) {
        const std::uint32_t bits = static_cast<std::uint32_t>(datagram.size()) * 8;
        const std::uint32_t first = random.below(bits);
        const std::uint32_t second = random.below(bits);
        if (first == second || first / 8 == 4 || second / 8 == 4) continue;
        auto damaged = datagram;
        damaged[first / 8] ^= static_cast<std::byte>(1u << (first % 8));
        damaged[second / 8] ^= static_cast<std::byte>(1u << (second % 8));
        ASSERT_FALSE(envelope.right(damaged)) << first << " and " << second;
    }
    EXPECT_TRUE(envelope.right(datagram));
}

TEST(RoceIdentification, SourceThatCountsItsPacketsIsBelieved) {
    IdentificationGuard guard;
    const Address source = ipv4(1, 4791);

    for (std::uint32_t id = 65000; id < 65600; ++id) EXPECT_TRUE(guard.of(source).plausible(id & 0xffff));
}

TEST(RoceIdentification, OneStrangeNumberIsDamageASecondIsNot) {
    IdentificationGuard guard;
    const Address source = ipv4(1, 4791);
    for (std::uint32_t i = 0; i < 100; ++i) ASSERT_TRUE(guard.of(source).plausible(i % 64));

    EXPECT_FALSE(guard.of(source).plausible(4711));
    EXPECT_TRUE(guard.of(source).plausible(5));
    EXPECT_TRUE(guard.of(source).plausible(4712));
    EXPECT_TRUE(guard.of(source).plausible(4713));
}

TEST(RoceIdentification, SourcesAreToldApart) {
    IdentificationGuard guard;
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(guard.of(ipv4(1, 4791)).plausible(0));

    EXPECT_TRUE(guard.of(ipv4(2, 4791)).plausible(4711));
    EXPECT_TRUE(guard.of(ipv4(1, 4792)).plausible(4711));
}

TEST(RoceCrc, OddAndLongDatagramsAreWrong) {
    const Envelope envelope(ipv4(1, 4791), ipv4(2, 4791));
    const std::vector<std::byte> zeros(9000);

    for (const std::size_t size : {0u, 4u, 12u, 17u, 8196u, 9000u})
        EXPECT_FALSE(envelope.right(std::span(zeros).first(size))) << size;
}

}  // namespace
}  // namespace loom::hca::roce
