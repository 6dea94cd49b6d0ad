// The wires under the engine, and what it shows of memory: the ring of bytes, RoCE's window, the route header of
// datagrams, segments and registrations.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "hca/engine_bed.hpp"
#include "hca/host/segment.hpp"
#include "hca/roce/codec.hpp"
#include "hca/roce/gid.hpp"
#include "hca/wire/roce_wire.hpp"
#include "loom/base/mapping.hpp"

namespace loom::hca {
namespace {

class EngineWires : public EngineTest {
protected:
    // One that speaks RoCE, with no endpoint to send from: packets are as good as lost.
    Qp& speaks_roce() {
        Qp& qp = requester(queue_pair(IBV_QPT_RC));
        const Guard guard(*engine());
        qp.path->wire = engine()->roce.get();
        qp.path->peer = nullptr;
        qp.mtu = 1024;
        return qp;
    }
    // The same with one packet under way, to be repeated 7 times.
    Qp& waits_for_an_answer() {
        Qp& qp = speaks_roce();
        post(qp, IBV_WR_SEND, 1, piece(0, 512));
        const Guard guard(*engine());
        qp.attr.timeout = 14;
        qp.retries_left = qp.attr.retry_cnt = 7;
        return qp;
    }
    Qp& datagrams() {
        Qp& qp = queue_pair(IBV_QPT_UD);
        qp.attr.qkey = 5;
        qp.abi.qp_base.state = IBV_QPS_RTR;
        return qp;
    }
};

TEST_F(EngineWires, TheRingOfBytesHoldsWhatItHasRoomForAndSplitsNothing) {
    Qp& qp = requester(queue_pair(IBV_QPT_RC));
    Engine& a = *engine();
    const std::vector<std::uint8_t> payload(ring_mtu, 1);
    const Guard guard(a);
    const auto send = [&](std::uint32_t length) {
        return a.ring.write(a.peers.self(), Packet{}, *qp.path, {{}, 0, length, 0, payload.data()});
    };
    a.ring.drain(a.peers.self());

    for (int i = 0; i < 200; ++i) {
        ASSERT_TRUE(send(10'000));
        EXPECT_LE(last_sent().bulk + std::size_t{10'000}, bulk_bytes);
        a.ring.drain(a.peers.self());
    }
    while (send(ring_mtu)) continue;

    EXPECT_LE(a.peers.self().bulk_tail - a.peers.self().bulk_head, bulk_bytes);
}

TEST_F(EngineWires, AnEntryLongerThanAnyPayloadIsNotTaken) {
    Qp& qp = queue_pair(IBV_QPT_UC);
    to_init(qp);
    to_rtr(qp, qp.qpn, responder_psn);
    post_receive(qp, 1, piece(0, 32 * 1024));
    Packet packet;
    packet.op = Op::send_only;
    packet.service = Service::uc;
    packet.src_qpn = packet.dest_qpn = qp.qpn;
    packet.psn = responder_psn;
    const std::vector<std::uint8_t> payload(ring_mtu, 1);
    Engine& a = *engine();
    const Guard guard(a);
    ASSERT_TRUE(a.ring.write(a.peers.self(), packet, *qp.path, {{}, 0, ring_mtu, 0, payload.data()}));

    a.peers.self().out->entries[(a.peers.self().tail - 1) % ring_entries].length = ring_mtu + 64;
    a.ring.drain(a.peers.self());

    EXPECT_EQ(qp.recv_cq->waiting(), 0u);
    EXPECT_EQ(memory_[0], 0);
}

TEST_F(EngineWires, TheWindowBoundsWhatIsUnderWayAndHalvesWithALoss) {
    Qp& qp = speaks_roce();
    Engine& a = *engine();
    const Guard guard(a);
    const std::uint32_t window = a.roce->flow(qp).window.packets();

    EXPECT_EQ(a.roce->allowance(qp), window);
    qp.sent_psn = qp.unacked_psn + window - 1;
    EXPECT_EQ(a.roce->allowance(qp), 1u);
    qp.sent_psn = qp.sent_psn + 1;
    EXPECT_EQ(a.roce->allowance(qp), 0u);

    a.roce->lost(qp);
    EXPECT_EQ(a.roce->flow(qp).window.packets(), window / 2);
    a.roce->progressed(qp, window);
    EXPECT_GT(a.roce->flow(qp).window.packets(), window / 2);
}

// Otherwise a sender whose window is used up would hear nothing until its timer runs out. When no answer comes it asks
// with that packet alone, before it sends all of them again.
TEST_F(EngineWires, TheLastPacketThatTheWindowAllowsAsksForAnAcknowledgement) {
    static HcaConfig ethernet;  // the wire keeps it until the device is closed
    ethernet = *context_.hca;
    ethernet.link = LinkLayer::ethernet;
    ethernet.gids.front().gid = roce::parse_address("127.0.0.1")->ip;
    Qp& qp = speaks_roce();
    const auto pid = static_cast<unsigned>(getpid());
    roce::Address other =
        *roce::parse_address("127." + std::to_string(pid >> 8 & 0xff) + "." + std::to_string(pid & 0xff) + ".9");
    other.port = config().roce_port;
    const roce::SocketAddress name = roce::to_socket_address(other);
    const int listener = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(bind(listener, reinterpret_cast<const sockaddr*>(&name.storage), name.size), 0);
    const timeval limit{10, 0};
    setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    {
        const Guard guard(*engine());
        ASSERT_TRUE(engine()->roce->open(ethernet));
        context_.hca = &ethernet;
        qp.path->dgid = other.ip;
        engine()->roce->flow(qp).window = roce::Window(5);
        qp.attr.timeout = 14;
        qp.retries_left = qp.attr.retry_cnt = 7;
    }

    post(qp, IBV_WR_SEND, 1, piece(0, 20 * 1024));

    for (const std::uint32_t i : {0, 1, 2, 3, 4, 4, 0}) {
        std::array<std::byte, 2048> datagram;
        const ssize_t size = recv(listener, datagram.data(), datagram.size(), 0);
        ASSERT_GT(size, 0);
        const roce::Parsed parsed = roce::parse(std::span(datagram).first(static_cast<std::size_t>(size)));
        EXPECT_EQ(parsed.packet.psn, requester_psn + i);
        EXPECT_EQ(parsed.packet.ack_request, i == 4u);
    }
    close(listener);
}

// Answers that wait behind data are not lost; one that nobody hears of for long enough is.
TEST_F(EngineWires, AnAnswerIsNotMissedWhileOtherPacketsCome) {
    Qp& qp = waits_for_an_answer();
    Engine& a = *engine();
    const Guard guard(a);
    RoceFlow& flow = a.roce->flow(qp);
    flow.asked = true;
    flow.asked_end = qp.sent_psn;
    const PortCounters& counters = counters_of(context_);
    Packet packet;
    packet.op = Op::acknowledge;
    packet.dest_qpn = qp.qpn;
    packet.psn = qp.unacked_psn - 5;  // an old one
    const roce::Address other = *roce::parse_address("192.0.2.1");
    const auto hear = [&] { static_cast<roce::Sink&>(*a.roce).arrived({other, other.ip, 0, packet, {}}); };

    const std::uint32_t window = flow.window.packets();
    const auto repeated = [&] { return counters.retransmitted.load(); };
    const std::uint64_t sent_before = repeated();

    hear();
    a.requester.timed_out(qp, now_ns());
    EXPECT_EQ(repeated(), sent_before + 1) << "one packet asks";
    unsigned quiet = 0;
    for (; quiet < 100 && repeated() == sent_before + 1; ++quiet) {
        EXPECT_EQ(flow.window.packets(), window);
        EXPECT_NE(qp.retry_at, 0u);
        hear();
        a.requester.timed_out(qp, now_ns());
    }
    EXPECT_GT(quiet, 10u);
    EXPECT_LT(quiet, 100u) << "it is not put off for ever";
    EXPECT_LT(flow.window.packets(), window);
}

// The timer only asks: that is no loss.
TEST_F(EngineWires, WhatNobodyWasAskedAboutIsNotMissed) {
    Qp& qp = waits_for_an_answer();
    Engine& a = *engine();
    const Guard guard(a);
    RoceFlow& flow = a.roce->flow(qp);
    ASSERT_FALSE(flow.asked);
    const PortCounters& counters = counters_of(context_);
    const std::uint64_t timeouts = counters.timeouts.load(), repeated = counters.retransmitted.load();
    const std::uint32_t window = flow.window.packets();

    a.requester.timed_out(qp, now_ns());

    EXPECT_EQ(counters.timeouts.load(), timeouts);
    EXPECT_EQ(counters.retransmitted.load(), repeated);
    EXPECT_EQ(flow.window.packets(), window);
    EXPECT_NE(qp.retry_at, 0u);
}

TEST_F(EngineWires, AnAnswerOfAPeerThatIsSilentIsMissedSoon) {
    Qp& qp = waits_for_an_answer();
    Engine& a = *engine();
    const Guard guard(a);
    RoceFlow& flow = a.roce->flow(qp);
    flow.asked = flow.heard = true;  // what was heard before the timer was started
    flow.asked_end = qp.sent_psn;
    const std::uint32_t window = flow.window.packets();

    qp.retry_at = a.roce->retry_time(qp);
    flow.moved_at -= 100'000'000;
    flow.probed_psn = qp.sent_psn + 10;  // of long ago, when numbers have gone round
    a.requester.timed_out(qp, now_ns());

    EXPECT_LT(flow.window.packets(), window);
    a.requester.acknowledge_until(qp, qp.sent_psn - 1);
    EXPECT_EQ(flow.gap_ns, 0u) << "the answer to what was sent twice tells nothing about waits";
}

TEST_F(EngineWires, NoMoreReadsAreUnderWayThanWereAgreed) {
    Qp& qp = speaks_roce();
    qp.attr.max_rd_atomic = 2;
    std::vector<std::uint8_t> large(1024 * 1024);
    ibv_mr* mr = api::reg_mr(pd_, large.data(), large.size(), reinterpret_cast<std::uint64_t>(large.data()),
                             IBV_ACCESS_LOCAL_WRITE);

    post(qp, IBV_WR_RDMA_READ, 1,
         {reinterpret_cast<std::uint64_t>(large.data()), static_cast<std::uint32_t>(large.size()), mr->lkey});

    EXPECT_EQ(qp.reads_out, 2u);
    EXPECT_EQ(api::dereg_mr(mr), 0);
}

TEST_F(EngineWires, MarkedPacketsAreToldToTheirSenderWhichSlowsDown) {
    Qp& qp = speaks_roce();
    Engine& a = *engine();
    const Guard guard(a);
    roce::Sink& wire = *a.roce;
    const roce::Address other = *roce::parse_address("192.0.2.1");
    qp.path->dgid = other.ip;
    Packet packet;
    packet.op = Op::acknowledge;
    packet.dest_qpn = qp.qpn;
    PortCounters& counters = counters_of(context_);
    a.roce->flow(qp);

    wire.arrived({other, other.ip, static_cast<std::uint8_t>(roce::Ecn::capable0), packet, {}});
    EXPECT_EQ(counters.cnp_sent.load(), 0u);
    wire.arrived({other, other.ip, static_cast<std::uint8_t>(roce::Ecn::congested), packet, {}});
    EXPECT_EQ(counters.cnp_sent.load(), 1u);

    EXPECT_FALSE(qp.flow->rate.limited());
    wire.arrived({other, other.ip, 0, roce::notification(qp.qpn), {}});
    EXPECT_EQ(counters.cnp_received.load(), 1u);
    EXPECT_TRUE(qp.flow->rate.limited());
}

TEST_F(EngineWires, DatagramsOfAnotherProcessWaitUntilItIsConnected) {
    Engine& a = *engine();
    const Guard guard(a);
    const std::uint32_t slot = a.home.slot == 5 ? 6 : 5;
    const std::shared_ptr<Peer> before = a.peers.known(slot), peer = std::make_shared<Peer>();
    a.peers.replace(slot, peer);
    const std::array<std::byte, 20> bytes{};
    roce::Sink& wire = *a.roce;
    roce::Datagrams datagrams;
    datagrams.each = bytes.size();
    datagrams.bytes = bytes;

    wire.foreign(slot, datagrams);

    EXPECT_EQ(peer->held.size(), 1u);
    a.peers.replace(slot, before);
}

TEST_F(EngineWires, ADatagramsRouteHeaderIsThatOfItsPacket) {
    Qp& qp = datagrams();
    post_receive(qp, 1, piece(0, 64));
    post_receive(qp, 2, piece(100, 64));
    Packet packet;
    packet.op = Op::send_only;
    packet.service = Service::ud;
    packet.dest_qpn = qp.qpn;
    packet.qkey = 5;
    const Gid from4 = roce::parse_address("192.0.2.1")->ip, to4 = roce::parse_address("192.0.2.2")->ip;
    const Gid from6 = roce::parse_address("fd88::1")->ip, to6 = roce::parse_address("fd88::2")->ip;
    const std::vector<std::uint8_t> payload(8, 3);
    Engine& a = *engine();
    const Guard guard(a);

    a.responder.on_packet({packet, payload, nullptr, 0, 0, 0, &from4, &to4, 0x48});
    a.responder.on_packet({packet, payload, nullptr, 0, 0, 0, &from6, &to6, 0x48});

    const std::uint8_t ipv4[] = {0x45, 0x48, 0, 60, 0, 0, 0x40, 0, 64, 17};  // IP, UDP, BTH, DETH, 8 bytes and the CRC
    const std::uint8_t addresses[] = {192, 0, 2, 1, 192, 0, 2, 2};
    EXPECT_EQ(std::memcmp(memory_.data() + 20, ipv4, sizeof ipv4), 0);
    EXPECT_EQ(std::memcmp(memory_.data() + 32, addresses, sizeof addresses), 0);
    std::uint32_t sum = 0;
    for (std::size_t i = 20; i < 40; i += 2) sum += static_cast<std::uint32_t>(memory_[i] << 8 | memory_[i + 1]);
    EXPECT_EQ((sum & 0xffff) + (sum >> 16), 0xffffu) << "checksum";
    const std::uint8_t ipv6[] = {0x64, 0x80, 0, 0, 0, 32, 0x1b, 64};
    EXPECT_EQ(std::memcmp(memory_.data() + 100, ipv6, sizeof ipv6), 0);
    EXPECT_EQ(std::memcmp(memory_.data() + 108, from6.data(), 16), 0);
    EXPECT_EQ(std::memcmp(memory_.data() + 124, to6.data(), 16), 0);
}

TEST_F(EngineWires, AGroupThatWasLeftIsNotShownToOthers) {
    Qp& qp = datagrams();
    ibv_gid group{};
    group.raw[0] = 0xff;
    group.raw[15] = 9;
    const auto shown = [] {
        std::size_t count = 0;
        for (const GroupEntry& entry : engine()->home.directory->groups) count += entry.members.load() != 0;
        return count;
    };

    ASSERT_EQ(api::attach_mcast(&qp.abi.qp_base, &group, 0), 0);
    EXPECT_EQ(shown(), 1u);
    ASSERT_EQ(api::detach_mcast(&qp.abi.qp_base, &group, 0), 0);
    EXPECT_EQ(shown(), 0u);
}

TEST_F(EngineWires, AnIndexThatIsUsedAgainHasAnotherKey) {
    Engine& a = *engine();
    ibv_mr* first = api::reg_mr(pd_, memory_.data(), 8, 0, 0);
    const std::uint32_t key = first->lkey, index = Mr::of(first).index;
    ASSERT_EQ(api::dereg_mr(first), 0);
    a.memory.use_next(index);

    ibv_mr* second = api::reg_mr(pd_, memory_.data(), 8, 0, 0);

    EXPECT_EQ(Mr::of(second).index, index);
    EXPECT_NE(second->lkey, key);
    EXPECT_EQ(api::dereg_mr(second), 0);
}

TEST_F(EngineWires, MemoryWithAHoleIsNotRegistered) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    auto* memory =
        static_cast<std::uint8_t*>(mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(memory, MAP_FAILED);
    ASSERT_EQ(mprotect(memory + page, page, PROT_NONE), 0);

    errno = 0;
    EXPECT_EQ(api::reg_mr(pd_, memory, 3 * page, 0, IBV_ACCESS_LOCAL_WRITE), nullptr);
    EXPECT_EQ(errno, EFAULT);
    munmap(memory, 3 * page);
}

// Others write to memory that they can map by plain stores: only where those reach the program, and never fault.
TEST_F(EngineWires, MemoryIsMappedByOthersOnlyWhereItIsSharedAndSealed) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const auto shared = [&](int kind, bool sealed) {
        const int fd = memfd_create("loom-test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        EXPECT_EQ(ftruncate(fd, static_cast<off_t>(2 * page)), 0);
        if (sealed) {
            EXPECT_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
        }
        void* memory = mmap(nullptr, page, PROT_READ | PROT_WRITE, kind, fd, static_cast<off_t>(page));
        EXPECT_NE(memory, MAP_FAILED);
        ibv_mr* mr = api::reg_mr(pd_, memory, page, 0, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
        const MrEntry& entry = engine()->home.directory->mrs[Mr::of(mr).index];
        const bool shown = entry.share_inode.load() != 0;
        if (shown) {
            EXPECT_EQ(entry.share_offset.load(), page);
        }
        EXPECT_EQ(api::dereg_mr(mr), 0);
        munmap(memory, page);
        close(fd);
        return shown;
    };

    EXPECT_TRUE(shared(MAP_SHARED, true));
    EXPECT_FALSE(shared(MAP_SHARED, false));
    EXPECT_FALSE(shared(MAP_PRIVATE, true));
}

TEST(Segment, IsWrittenByItsOwnerAloneAndMappedOnlyWhole) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    int fd = -1;
    auto* own = static_cast<char*>(make_segment("loom-test", 2 * page, fd));
    ASSERT_NE(own, nullptr);
    own[0] = 7;

    EXPECT_EQ(mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
    EXPECT_NE(ftruncate(fd, static_cast<off_t>(page)), 0);
    EXPECT_EQ(map_segment(fd, page), nullptr);
    const auto* seen = static_cast<const char*>(map_segment(fd, 2 * page));
    ASSERT_NE(seen, nullptr);
    EXPECT_EQ(seen[0], 7);
    munmap(const_cast<char*>(seen), 2 * page);
    munmap(own, 2 * page);
    close(fd);
}

TEST(Segment, ThatCouldShrinkIsNotMapped) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const int fd = memfd_create("loom-test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    ASSERT_EQ(ftruncate(fd, static_cast<off_t>(page)), 0);

    EXPECT_EQ(map_segment(fd, page), nullptr);
    close(fd);
}

}  // namespace
}  // namespace loom::hca
