// What leaves a host, as the kernel puts it on the wire: datagrams of an endpoint read from a TUN interface.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/if_tun.h>
#include <linux/ipv6.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "hca/roce/gid.hpp"
#include "hca/roce/socket.hpp"
#include "hca/roce_support.hpp"
#include "loom/base/random.hpp"
#include "reference/icrc.hpp"
#include "support/network/namespaces.hpp"
#include "support/process.hpp"

namespace loom::hca::roce {
namespace {

constexpr const char* here4 = "10.88.0.1";
constexpr const char* there4 = "10.88.0.2";
constexpr const char* here6 = "fd88::1";
constexpr const char* there6 = "fd88::2";

void require(bool fine, const char* what) {
    if (fine) return;
    std::perror(what);
    _exit(3);
}

// A network namespace of its own with one interface, of which this process is the other end. For a child process: ends
// it on failure. An ordinary user gets one inside a user namespace.
int make_wire(int mtu = 4500) {
    require(unshare(geteuid() == 0 ? CLONE_NEWNET : CLONE_NEWUSER | CLONE_NEWNET) == 0, "unshare");
    const int wire = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
    require(wire >= 0, "/dev/net/tun");
    ifreq request{};
    std::strncpy(request.ifr_name, "wire", IFNAMSIZ - 1);
    request.ifr_flags = IFF_TUN | IFF_NO_PI;
    require(ioctl(wire, TUNSETIFF, &request) == 0, "TUNSETIFF");
    const int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const int control6 = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    require(control >= 0 && control6 >= 0, "socket");
    request.ifr_mtu = mtu;
    require(ioctl(control, SIOCSIFMTU, &request) == 0, "MTU");
    const SocketAddress name = to_socket_address(*parse_address(here4));
    std::memcpy(&request.ifr_addr, &name.storage, sizeof request.ifr_addr);
    require(ioctl(control, SIOCSIFADDR, &request) == 0, "address");
    const SocketAddress mask = to_socket_address(*parse_address("255.255.255.0"));
    std::memcpy(&request.ifr_netmask, &mask.storage, sizeof request.ifr_netmask);
    require(ioctl(control, SIOCSIFNETMASK, &request) == 0, "netmask");
    require(ioctl(control, SIOCGIFFLAGS, &request) == 0, "flags");
    request.ifr_flags |= IFF_UP;
    require(ioctl(control, SIOCSIFFLAGS, &request) == 0, "up");
    in6_ifreq request6{};
    request6.ifr6_prefixlen = 64;
    request6.ifr6_ifindex = static_cast<int>(if_nametoindex("wire"));
    std::memcpy(&request6.ifr6_addr, parse_address(here6)->ip.data(), 16);
    require(ioctl(control6, SIOCSIFADDR, &request6) == 0, "IPv6 address");
    // The kernel looks for duplicates before the address can be used.
    const SocketAddress name6 = to_socket_address(*parse_address(here6));
    for (int tries = 0; bind(control6, reinterpret_cast<const sockaddr*>(&name6.storage), name6.size) != 0; ++tries) {
        require(errno == EADDRNOTAVAIL && tries < 60'000, "IPv6 address in use");
        poll(nullptr, 0, 1);
    }
    close(control);
    close(control6);
    return wire;
}

// Runs in a child process, so that namespaces end with it; 0 is success.
int in_child(const std::function<void()>& work) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        work();
        _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

// The UDP packets that come out, as a capture of IP packets.
void capture(int wire, std::size_t packets, const std::string& file) {
    std::ofstream out(file, std::ios::binary);
    const auto put = [&](std::uint32_t number) { out.write(reinterpret_cast<const char*>(&number), 4); };
    for (const std::uint32_t number : {0xa1b2c3d4u, 0x00040002u, 0u, 0u, 65535u, 101u}) put(number);
    std::vector<char> bytes(65536);
    for (std::size_t had = 0; had < packets;) {
        pollfd waiting{wire, POLLIN, 0};
        require(poll(&waiting, 1, 5000) > 0, "packets on the wire");
        const ssize_t size = read(wire, bytes.data(), bytes.size());
        if (size < 48 || bytes[(bytes[0] & 0xf0) == 0x40 ? 9 : 6] != 17) continue;  // neighbour discovery and the like
        ++had;
        for (const std::size_t number : {std::size_t{0}, had, std::size_t(size), std::size_t(size)})
            put(static_cast<std::uint32_t>(number));
        out.write(bytes.data(), size);
    }
    require(out.flush().good(), "capture");
}

std::vector<std::vector<std::byte>> packets_in(const std::string& file) {
    const std::string text = test::slurp(file);
    std::vector<std::vector<std::byte>> packets;
    for (std::size_t at = 24; at + 16 <= text.size();) {
        std::uint32_t size;
        std::memcpy(&size, text.data() + at + 8, 4);
        const auto* from = reinterpret_cast<const std::byte*>(text.data() + at + 16);
        packets.emplace_back(from, from + size);
        at += 16 + size;
    }
    return packets;
}

// All operations, then a message of many packets of one length.
struct Traffic {
    Traffic() {
        Random random(1);
        for (const Operation& operation : all_operations())
            add(drawn_packet(random, operation), drawn_payload(random, operation, 1024));
        for (std::uint32_t i = 0; i < 150; ++i) {
            Packet packet;
            packet.op = i == 0 ? Op::write_first : i == 149 ? Op::write_last : Op::write_middle;
            packet.psn = Psn(i);
            add(packet, std::vector<std::byte>(1024, static_cast<std::byte>(i)));
        }
        for (std::size_t i = 0; i < packets.size(); ++i) packets[i].payload = &pieces[i];
    }
    void add(const Packet& packet, std::vector<std::byte> payload) {
        payloads.push_back(std::move(payload));
        pieces.push_back({payloads.back().data(), payloads.back().size()});
        packets.push_back({packet, nullptr, 1, static_cast<std::uint32_t>(payloads.back().size())});
    }
    std::deque<std::vector<std::byte>> payloads;
    std::vector<iovec> pieces;
    std::vector<Outgoing> packets;
};

struct Setting {
    Family family;
    Offload offload;
};

class RoceWire : public testing::TestWithParam<Setting> {
protected:
    void SetUp() override {
        if (!test::may_make_namespaces()) GTEST_SKIP() << "network namespaces need root";
        const bool ipv4 = GetParam().family == Family::ipv4;
        const int status = in_child([&] {
            const int wire = make_wire();
            Endpoint endpoint(*parse_address(ipv4 ? here4 : here6), {.offload = GetParam().offload});
            const std::size_t taken = endpoint.send({*parse_address(ipv4 ? there4 : there6)}, traffic.packets);
            require(taken == traffic.packets.size() && endpoint.counters().send_errors == 0, "send");
            capture(wire, taken, file);
        });
        ASSERT_EQ(status, 0);
    }
    test::TemporaryFolder folder;
    std::string file = folder.file("wire.pcap");
    Traffic traffic;
};

TEST_P(RoceWire, EveryPacketHasTheCrcOfWhatTheKernelSent) {
    const auto packets = packets_in(file);

    ASSERT_EQ(packets.size(), traffic.packets.size());
    std::set<std::uint16_t> identifications;
    for (std::size_t i = 0; i < packets.size(); ++i) {
        auto packet = packets[i];
        const bool ipv4 = GetParam().family == Family::ipv4;
        const std::size_t headers = ipv4 ? 28 : 48;
        const auto datagram = std::span(packet).subspan(headers);
        std::uint32_t carried;
        std::memcpy(&carried, packet.data() + packet.size() - 4, 4);
        const Parsed parsed = parse(datagram);
        ASSERT_EQ(parsed.drop, Drop::none) << i;
        EXPECT_EQ(describe(parsed.packet), describe(traffic.packets[i].packet)) << i;
        if (ipv4) {
            identifications.insert(static_cast<std::uint16_t>(std::to_integer<unsigned>(packet[4]) << 8 |
                                                              std::to_integer<unsigned>(packet[5])));
            EXPECT_EQ(packet[1], std::byte{2});  // ECN-capable
        }
        packet.erase(packet.end() - 4, packet.end());
        EXPECT_EQ(carried, reference::icrc(packet)) << i;
    }
    if (GetParam().family == Family::ipv4 && GetParam().offload == Offload::on) {
        EXPECT_GT(identifications.size(), 50u);  // the kernel numbers the packets of a run
    } else {
        EXPECT_LE(identifications.size(), 1u);
    }
}

TEST_P(RoceWire, TsharkFindsNothingMalformed) {
    const auto shark = [&](const std::string& rest) { return test::shell("tshark -r '" + file + "' " + rest); };

    const auto all = shark("-T fields -e infiniband.bth.opcode");
    const auto malformed = shark("-Y '_ws.malformed || _ws.short || ip.checksum.status==Bad'");

    ASSERT_EQ(all.exit_code, 0) << all.err;
    std::string opcodes;
    for (const Outgoing& outgoing : traffic.packets)
        opcodes += std::to_string(unsigned(outgoing.packet.service) << 5 | unsigned(outgoing.packet.op)) + "\n";
    EXPECT_EQ(all.out, opcodes);
    EXPECT_EQ(malformed.exit_code, 0) << malformed.err;
    EXPECT_EQ(malformed.out, "");
}

INSTANTIATE_TEST_SUITE_P(Tun, RoceWire,
                         testing::Values(Setting{Family::ipv4, Offload::on}, Setting{Family::ipv4, Offload::off},
                                         Setting{Family::ipv6, Offload::on}, Setting{Family::ipv6, Offload::off}),
                         [](const auto& setting) {
                             return std::string(setting.param.family == Family::ipv6 ? "ipv6" : "ipv4") +
                                    (setting.param.offload == Offload::on ? "_offload" : "_plain");
                         });

// A run that the kernel will not cut falls apart into packets, and those that are too long are lost as on a wire.
TEST(RoceWireLimits, PacketsBeyondTheMtuAreLostAlone) {
    if (!test::may_make_namespaces()) GTEST_SKIP() << "network namespaces need root";
    const test::TemporaryFolder folder;
    const std::string file = folder.file("wire.pcap");
    std::vector<std::byte> memory(4096);
    const iovec piece_of_1024{memory.data(), 1024};
    const iovec piece_of_4096{memory.data(), 4096};
    std::vector<Outgoing> packets;
    for (std::uint32_t i = 0; i < 9; ++i) {
        Outgoing& outgoing = packets.emplace_back();
        outgoing.packet.op = Op::send_only;
        outgoing.packet.psn = Psn(i);
        outgoing.pieces = 1;
        outgoing.payload = i / 3 == 1 ? &piece_of_4096 : &piece_of_1024;
        outgoing.payload_bytes = static_cast<std::uint32_t>(outgoing.payload->iov_len);
    }

    const int status = in_child([&] {
        const int wire = make_wire(1500);
        Endpoint endpoint(*parse_address(here4));
        require(endpoint.send({*parse_address(there4)}, packets) == packets.size(), "all packets are taken");
        require(endpoint.counters().sent_packets == 6 && endpoint.counters().send_errors == 3, "three are lost");
        require(endpoint.offload() == Offload::on, "the next run is tried again");
        capture(wire, 6, file);
    });

    ASSERT_EQ(status, 0);
    std::vector<std::uint32_t> numbers;
    for (const auto& packet : packets_in(file))
        numbers.push_back(parse(std::span(packet).subspan(28)).packet.psn.value());
    EXPECT_EQ(numbers, (std::vector<std::uint32_t>{0, 1, 2, 6, 7, 8}));
}

TEST(RoceWireGroup, MembersOnOneInterfaceReceiveIpv6Multicast) {
    if (!test::may_make_namespaces()) GTEST_SKIP() << "network namespaces need root";
    class Keeper final : public Sink {
    public:
        void arrived(const Arrival& arrival) override { group = arrival.destination; }
        void foreign(std::uint32_t /*slot*/, const Datagrams& /*datagrams*/) override {}
        Gid group{};
    };
    const Gid group = parse_address("ff15::1:2:3")->ip;

    const int status = in_child([&] {
        make_wire();
        Endpoint sender(*parse_address(here6));
        Endpoint receiver(sender.local());
        const int fd = receiver.join(group);
        Outgoing outgoing;
        outgoing.packet.service = Service::ud;
        outgoing.packet.op = Op::send_only;
        outgoing.packet.dest_qpn = multicast_qpn;
        sender.send({{group}}, {&outgoing, 1});
        pollfd waiting{fd, POLLIN, 0};
        require(poll(&waiting, 1, 5000) == 1, "multicast packet");
        Keeper keeper;
        require(receiver.receive(keeper, 1) == 1 && keeper.group == group, "group of the packet");
    });

    EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace loom::hca::roce
