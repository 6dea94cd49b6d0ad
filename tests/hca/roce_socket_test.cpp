#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "hca/roce/gid.hpp"
#include "hca/roce/socket.hpp"
#include "hca/roce_support.hpp"
#include "loom/base/error.hpp"
#include "loom/base/random.hpp"
#include "support/network/namespaces.hpp"

namespace loom::hca::roce {
namespace {

Address any_port(const char* ip) {
    Address address = *parse_address(ip);
    address.port = 0;
    return address;
}

struct Kept {
    Address source;
    Gid destination;
    Ecn ecn;
    std::uint8_t traffic_class;
    Packet packet;
    std::vector<std::byte> payload;
};

struct Handed {
    std::uint32_t slot;
    Datagrams datagrams;
    std::vector<std::byte> bytes;
};

class Keeper final : public Sink {
public:
    void arrived(const Arrival& a) override {
        kept.push_back(
            {a.source, a.destination, a.ecn(), a.traffic_class, a.packet, {a.payload.begin(), a.payload.end()}});
    }
    void foreign(std::uint32_t slot, const Datagrams& datagrams) override {
        handed.push_back({slot, datagrams, {datagrams.bytes.begin(), datagrams.bytes.end()}});
    }
    std::vector<Kept> kept;
    std::deque<Handed> handed;
};

// Until so many packets were taken in, or nothing came for two seconds.
void receive_all(Endpoint& endpoint, Keeper& keeper, std::size_t packets, int fd = -1) {
    for (std::size_t had = 0; had < packets;) {
        const std::size_t now = endpoint.receive(keeper, 256);
        had += now;
        pollfd waiting{fd < 0 ? endpoint.fd() : fd, POLLIN, 0};
        if (now == 0 && poll(&waiting, 1, 2000) == 0) return;
    }
}

// Packets with payloads that stay where they are.
struct Batch {
    std::deque<std::vector<std::byte>> payloads;
    std::deque<std::vector<iovec>> pieces;
    std::vector<Outgoing> packets;

    void add(const Packet& packet, std::vector<std::byte> payload, std::size_t parts = 1) {
        payloads.push_back(std::move(payload));
        auto& bytes = payloads.back();
        auto& list = pieces.emplace_back();
        for (std::size_t i = 0; i < parts; ++i) {
            const std::size_t from = bytes.size() * i / parts;
            list.push_back({bytes.data() + from, bytes.size() * (i + 1) / parts - from});
        }
        packets.push_back(
            {packet, list.data(), static_cast<std::uint32_t>(list.size()), static_cast<std::uint32_t>(bytes.size())});
    }
};

struct Setting {
    const char* ip;
    Offload offload;
};

class RoceSocket : public testing::TestWithParam<Setting> {
protected:
    EndpointOptions options() const { return {.offload = GetParam().offload}; }
    Endpoint sender{any_port(GetParam().ip), options()};
    Endpoint receiver{any_port(GetParam().ip), options()};
    Keeper keeper;
};

TEST_P(RoceSocket, DrawnPacketsArriveUnchangedAndInOrder) {
    Random random(1);
    Batch batch;
    for (int round = 0; round < 8; ++round)
        for (const Operation& operation : all_operations())
            batch.add(drawn_packet(random, operation), drawn_payload(random, operation, 4096), 1 + random.below(5));

    const std::size_t taken = sender.send({receiver.local()}, batch.packets);
    receive_all(receiver, keeper, taken);

    ASSERT_EQ(taken, batch.packets.size());
    ASSERT_EQ(keeper.kept.size(), taken);
    for (std::size_t i = 0; i < taken; ++i) {
        ASSERT_EQ(describe(keeper.kept[i].packet), describe(batch.packets[i].packet)) << i;
        ASSERT_EQ(keeper.kept[i].payload, batch.payloads[i]) << i;
        ASSERT_EQ(keeper.kept[i].source, sender.local());
        ASSERT_EQ(keeper.kept[i].destination, receiver.local().ip);
        ASSERT_EQ(keeper.kept[i].ecn, Ecn::capable0);
    }
    EXPECT_EQ(sender.counters().sent_packets, taken);
    EXPECT_EQ(receiver.counters().received_packets, taken);
    EXPECT_EQ(receiver.counters().received_bytes, sender.counters().sent_bytes);
}

TEST_P(RoceSocket, LongMessageTakesFewDatagramsWithOffload) {
    Random random(2);
    Batch batch;
    for (std::uint32_t i = 0; i < 256; ++i) {
        Packet packet;
        packet.op = i == 0 ? Op::write_first : i == 255 ? Op::write_last_imm : Op::write_middle;
        packet.psn = Psn(i);
        batch.add(packet, drawn_payload(random, {Service::rc, Op::send_middle}, 4));
        batch.payloads.back().resize(1024);
        batch.pieces.back()[0] = {batch.payloads.back().data(), 1024};
        batch.packets.back().payload_bytes = 1024;
    }

    const std::size_t taken = sender.send({receiver.local()}, batch.packets);
    receive_all(receiver, keeper, taken);

    ASSERT_EQ(keeper.kept.size(), 256u);
    for (std::uint32_t i = 0; i < 256; ++i) ASSERT_EQ(keeper.kept[i].packet.psn.value(), i);
    if (GetParam().offload == Offload::on)
        EXPECT_GE(sender.counters().offload_batches, 4u);
    else
        EXPECT_EQ(sender.counters().offload_batches, 0u);
    EXPECT_LE(sender.counters().send_calls, 5u);
}

TEST_P(RoceSocket, TrafficClassAndHopLimitArePassedOn) {
    Batch batch;
    Packet packet;
    packet.op = Op::send_only;
    batch.add(packet, {});

    sender.send({receiver.local(), 0xb9, 3}, batch.packets);
    receive_all(receiver, keeper, 1);

    ASSERT_EQ(keeper.kept.size(), 1u);
    EXPECT_EQ(keeper.kept[0].traffic_class, 0xba);
}

TEST_P(RoceSocket, DamagedDatagramsAreCountedByReason) {
    Batch batch;
    Packet packet;
    packet.op = Op::send_only;
    batch.add(packet, {});
    const Envelope way(sender.local(), receiver.local());
    auto datagram = encode(packet, std::vector<std::byte>(16), way);
    datagram[20] ^= std::byte{1};
    const SocketAddress name = to_socket_address(receiver.local());
    const auto* to = reinterpret_cast<const sockaddr*>(&name.storage);

    ASSERT_EQ(sendto(sender.fd(), datagram.data(), datagram.size(), 0, to, name.size), ssize_t(datagram.size()));
    ASSERT_EQ(sendto(sender.fd(), datagram.data(), 3, 0, to, name.size), 3);
    ASSERT_EQ(sendto(sender.fd(), datagram.data(), 0, 0, to, name.size), 0);
    sender.send({receiver.local()}, batch.packets);
    receive_all(receiver, keeper, 4);

    EXPECT_EQ(keeper.kept.size(), 1u);
    EXPECT_EQ(receiver.counters().received_packets, 4u);
    EXPECT_EQ(receiver.counters().dropped[std::size_t(Drop::crc)], 1u);
    EXPECT_EQ(receiver.counters().dropped[std::size_t(Drop::too_short)], 2u);
}

TEST_P(RoceSocket, OtherSlotsAreHandedOverInRunsAndAcceptedThere) {
    std::vector<Endpoint> processes;  // both at one port, as two processes would
    processes.emplace_back(any_port(GetParam().ip), EndpointOptions{.offload = GetParam().offload, .slot = 1});
    processes.emplace_back(processes[0].local(), EndpointOptions{.offload = GetParam().offload, .slot = 2});
    Batch batch;
    for (const QpNumber qpn :
         {qp_number(1, 0), qp_number(2, 0), qp_number(2, 5), qp_number(1, 0), QpNumber{1}, multicast_qpn}) {
        Packet packet;
        packet.op = Op::send_only;
        packet.dest_qpn = qpn;
        batch.add(packet, std::vector<std::byte>(32));
    }
    std::array<Keeper, 2> keepers;

    sender.send({processes[0].local()}, batch.packets);
    std::array<pollfd, 2> waiting{pollfd{processes[0].fd(), POLLIN, 0}, pollfd{processes[1].fd(), POLLIN, 0}};
    ASSERT_GT(poll(waiting.data(), 2, 2000), 0);
    const std::size_t chosen = waiting[0].revents != 0 ? 0 : 1;  // by the kernel
    const std::size_t other = 1 - chosen;
    receive_all(processes[chosen], keepers[chosen], 6);
    for (const Handed& handed : keepers[chosen].handed) {
        Datagrams datagrams = handed.datagrams;
        datagrams.bytes = handed.bytes;
        EXPECT_EQ(handed.slot, other + 1);
        processes[other].accept(datagrams, keepers[other]);
    }

    EXPECT_EQ(keepers[chosen].kept.size(), 4u);  // its own, the management queue pair's and the multicast one
    ASSERT_EQ(keepers[other].kept.size(), 2u);
    for (const Kept& kept : keepers[other].kept) EXPECT_EQ(slot_of(kept.packet.dest_qpn), other + 1);
    EXPECT_EQ(processes[chosen].counters().foreign_packets, 2u);
}

TEST_P(RoceSocket, NotificationArrives) {
    sender.notify({receiver.local()}, QpNumber{0x4005});
    receive_all(receiver, keeper, 1);

    ASSERT_EQ(keeper.kept.size(), 1u);
    EXPECT_EQ(describe(keeper.kept[0].packet), describe(notification(QpNumber{0x4005})));
}

TEST_P(RoceSocket, NobodyListeningIsNoError) {
    Address nobody = receiver.local();
    { receiver = Endpoint(any_port(GetParam().ip), options()); }
    Batch batch;
    Packet packet;
    packet.op = Op::send_only;
    for (int i = 0; i < 3; ++i) batch.add(packet, std::vector<std::byte>(8));

    for (int round = 0; round < 3; ++round) EXPECT_EQ(sender.send({nobody}, batch.packets), 3u);

    EXPECT_EQ(sender.receive(keeper, 10), 0u);
}

INSTANTIATE_TEST_SUITE_P(Loopback, RoceSocket,
                         testing::Values(Setting{"127.0.0.1", Offload::on}, Setting{"127.0.0.1", Offload::off},
                                         Setting{"::1", Offload::on}, Setting{"::1", Offload::off}),
                         [](const auto& setting) {
                             return std::string(setting.param.ip[0] == ':' ? "ipv6" : "ipv4") +
                                    (setting.param.offload == Offload::on ? "_offload" : "_plain");
                         });

TEST(RoceSocketBinding, AddressOfNobodyIsRefused) {
    EXPECT_THROW(Endpoint(any_port("203.0.113.7")), IoError);
}

TEST(RoceSocketBinding, OffloadEndsTalkToPlainOnes) {
    Endpoint plain(any_port("127.0.0.1"), {.offload = Offload::off});
    Endpoint offload(any_port("127.0.0.1"));
    Batch batch;
    Packet packet;
    packet.op = Op::send_only;
    for (std::uint32_t i = 0; i < 100; ++i) {
        packet.psn = Psn(i);
        batch.add(packet, std::vector<std::byte>(100));
    }
    Keeper at_plain;
    Keeper at_offload;

    offload.send({plain.local()}, batch.packets);
    plain.send({offload.local()}, batch.packets);
    receive_all(plain, at_plain, 100);
    receive_all(offload, at_offload, 100);

    ASSERT_EQ(at_plain.kept.size(), 100u);
    ASSERT_EQ(at_offload.kept.size(), 100u);
    EXPECT_EQ(at_plain.kept[99].packet.psn.value(), 99u);
}

// IPv6 has no multicast on the loopback interface.
TEST(RoceSocketBinding, GroupMembersReceiveMulticast) {
    Endpoint sender(any_port("127.0.0.1"));
    Endpoint receiver(any_port("127.0.0.1"));
    const Gid group = parse_address("239.1.2.3")->ip;
    Batch batch;
    Packet packet;
    packet.service = Service::ud;
    packet.op = Op::send_only;
    packet.dest_qpn = multicast_qpn;
    batch.add(packet, std::vector<std::byte>(40));
    Keeper keeper;

    const int fd = receiver.join(group);
    EXPECT_EQ(receiver.join(group), fd);
    sender.send({{group, receiver.local().port, 0}}, batch.packets);
    receive_all(receiver, keeper, 1, fd);
    receiver.leave(group);
    sender.send({{group, receiver.local().port, 0}}, batch.packets);
    receive_all(receiver, keeper, 1, fd);
    receiver.leave(group);
    sender.send({{group, receiver.local().port, 0}}, batch.packets);

    ASSERT_EQ(keeper.kept.size(), 2u);
    EXPECT_EQ(keeper.kept[0].destination, group);
    EXPECT_EQ(keeper.kept[0].packet.dest_qpn, multicast_qpn);
    EXPECT_EQ(receiver.receive(keeper, 1), 0u);
}

// What a slow wire has not carried yet fills the socket: no more than some milliseconds of a fast one, because
// everything that is sent later waits behind it.
TEST(RoceSocketFull, SaysSoAndAgainWhenThereIsRoom) {
    if (!test::may_make_namespaces()) GTEST_SKIP() << "network namespaces need root";
    const test::TwoHosts hosts(test::TwoHosts::Join::cable, 9000, test::Offloads::on);
    hosts.left.shape(test::TwoHosts::interface, "100mbit");
    std::size_t taken = 0, most = 0;
    bool refused = false, came = false, again = false;

    hosts.left.inside([&] {
        Endpoint sender(any_port(test::TwoHosts::left_address));
        Batch batch;
        Packet packet;
        packet.op = Op::send_only;
        for (int i = 0; i < 1024; ++i) batch.add(packet, std::vector<std::byte>(4096));
        Address far = *parse_address(test::TwoHosts::right_address);
        far.port = 4791;
        most = batch.packets.size();
        taken = sender.send({far}, batch.packets);
        refused = !sender.await_room(0);
        came = sender.await_room(10'000);
        again = sender.send({far}, {batch.packets.data(), 1}) == 1;
    });

    EXPECT_GE(taken, 32u);
    EXPECT_LE(taken, most / 4);
    EXPECT_TRUE(refused);
    EXPECT_TRUE(came);
    EXPECT_TRUE(again);
}

TEST(RoceGid, AddressesAndText) {
    const Gid ipv4 = parse_address("10.9.0.1")->ip;
    const Gid ipv6 = parse_address("fd00::9")->ip;

    EXPECT_EQ(family(ipv4), Family::ipv4);
    EXPECT_EQ(family(ipv6), Family::ipv6);
    EXPECT_EQ(to_string(ipv4), "10.9.0.1");
    EXPECT_EQ(to_string(ipv6), "fd00::9");
    EXPECT_EQ(parse_address("::ffff:10.9.0.1")->ip, ipv4);
    for (const char* wrong : {"", "10.9.0", "10.9.0.256", "host", "fe80::1%nothing0", "10.9.0.1%lo", "10.9.0.1 "})
        EXPECT_FALSE(parse_address(wrong).has_value()) << wrong;
    const Address address{ipv6, 77};
    EXPECT_EQ(from_socket_address(to_socket_address(address).storage), address);
    EXPECT_EQ(from_socket_address(to_socket_address({ipv4, 4791}).storage), (Address{ipv4, 4791}));
}

TEST(RoceGid, GroupsOfTheOtherFamilyHaveAnAddressToo) {
    const Gid ipv4 = parse_address("239.1.2.3")->ip;
    const Gid ipv6 = parse_address("ff12:401b:ffff::1:2:3")->ip;

    EXPECT_TRUE(is_multicast(ipv4));
    EXPECT_TRUE(is_multicast(ipv6));
    EXPECT_FALSE(is_multicast(parse_address("10.9.0.1")->ip));
    EXPECT_FALSE(is_multicast(parse_address("fd00::1")->ip));
    EXPECT_EQ(multicast_ip(ipv4, Family::ipv4), ipv4);
    EXPECT_EQ(multicast_ip(ipv6, Family::ipv6), ipv6);
    EXPECT_EQ(to_string(multicast_ip(ipv6, Family::ipv4)), "239.2.0.3");
    EXPECT_TRUE(is_multicast(multicast_ip(ipv4, Family::ipv6)));
}

TEST(RoceGid, MtuThatFits) {
    EXPECT_EQ(infiniband_mtu(1500, Family::ipv4), 1024u);
    EXPECT_EQ(infiniband_mtu(9000, Family::ipv4), 4096u);
    EXPECT_EQ(infiniband_mtu(4160, Family::ipv4), 4096u);
    EXPECT_EQ(infiniband_mtu(4160, Family::ipv6), 2048u);
    EXPECT_EQ(infiniband_mtu(65536, Family::ipv6), 4096u);
    EXPECT_EQ(infiniband_mtu(300, Family::ipv4), 0u);
}

TEST(RoceGid, LocalAddressesAreThoseOfInterfaces) {
    LocalAddresses addresses;

    EXPECT_TRUE(addresses.contains(parse_address("127.0.0.1")->ip));
    EXPECT_TRUE(addresses.contains(parse_address("127.5.5.5")->ip));
    EXPECT_FALSE(addresses.contains(parse_address("203.0.113.7")->ip));
    const auto loopback = addresses.find(parse_address("127.0.0.1")->ip);
    ASSERT_TRUE(loopback.has_value());
    EXPECT_TRUE(loopback->loopback);
    EXPECT_GT(loopback->mtu, 0u);
    EXPECT_GT(loopback->index, 0u);
}

}  // namespace
}  // namespace loom::hca::roce
