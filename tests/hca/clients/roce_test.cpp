// Two hosts, as network namespaces, over RoCEv2: clean, and through a bad wire.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <regex>
#include <thread>

#include "hca/clients/play.hpp"
#include "support/network/capture.hpp"
#include "support/relay/relay.hpp"

namespace loom::test {
namespace {

using testing::IsEmpty;

class TwoNamespaces : public testing::Test {
protected:
    void SetUp() override {
        if (!may_make_namespaces()) GTEST_SKIP() << "network namespaces need root";
    }

    static Side side(const NetworkNamespace& network, const char* address) {
        Side result;
        result.network = &network;
        result.environment = {{"LOOM_VERBS_HCAS", std::string("roce:") + address}, {"LOOM_VERBS_GSO", "0"}};
        return result;
    }

    static Played play_between(const TwoHosts& hosts, const Words& program, std::uint16_t port) {
        return play(program, port, {TwoHosts::left_address}, side(hosts.left, TwoHosts::left_address),
                    side(hosts.right, TwoHosts::right_address));
    }

    // "rc write" and more options. A quarter of a second until a packet counts as lost, eight times: on a busy machine
    // the other process may be away for long. What is really lost is asked for much earlier.
    static Played check_between(const TwoHosts& hosts, const std::string& run, const std::string& more) {
        const Words words = split(run);
        Words options = split("--gid-index 0 --timeout 16 --patience 30 --transport " + words.at(0) + " --operation " +
                              words.at(1));
        for (const std::string& word : split(more)) options.push_back(word);
        return check(options, side(hosts.left, TwoHosts::left_address), side(hosts.right, TwoHosts::right_address),
                     TwoHosts::left_address, peer::Seconds{90});
    }

    // Nothing wrong, nothing lost, and every byte went over the wire.
    static void expect_all_right(const Played& played, std::uint64_t messages) {
        ASSERT_TRUE(played.ok()) << played.said();
        const nlohmann::json server = played.server.answer(), client = played.client.answer();
        EXPECT_EQ(server["messages"].get<std::uint64_t>() + client["messages"].get<std::uint64_t>(), messages);
        EXPECT_EQ(server["lost"].get<std::uint64_t>() + client["lost"].get<std::uint64_t>(), 0u) << played.said();
        EXPECT_GE(played.sent().roce, server["bytes"].get<std::uint64_t>() + client["bytes"].get<std::uint64_t>());
        EXPECT_EQ(played.sent().inside(), 0u) << played.said();
        EXPECT_EQ(played.server.counter("bad_packets") + played.client.counter("bad_packets"), 0u);
    }
};

TEST_F(TwoNamespaces, EveryTransportAndOperationArrivesWhole) {
    const TwoHosts hosts;
    for (const char* run : {"rc send", "rc send_imm", "rc write", "rc write_imm", "rc read", "rc cas", "rc fadd"}) {
        SCOPED_TRACE(run);
        const Played played = check_between(hosts, run, "--sizes 0,1,1023,1024,1025,4097,65536,1M --sge 3 -n 24");
        const bool atomic = std::string(run) == "rc cas" || std::string(run) == "rc fadd";
        expect_all_right(played, atomic ? 24 : 24 * 8);
    }
    for (const char* run : {"uc send", "uc send_imm", "uc write", "uc write_imm"}) {
        SCOPED_TRACE(run);
        expect_all_right(check_between(hosts, run, "--sizes 0,1,1023,1024,1025,4097 --depth 8 -n 24"), 24 * 6);
    }
    for (const char* run : {"ud send", "ud send_imm"}) {
        SCOPED_TRACE(run);
        expect_all_right(check_between(hosts, run, "--sizes 0,1,1000,1024 --depth 8 -n 24"), 24 * 4);
    }
}

TEST_F(TwoNamespaces, EightMebibytesArriveWholeWithJumboFrames) {
    const TwoHosts hosts(TwoHosts::Join::cable, 4200);
    for (const char* run : {"rc send", "rc write", "rc read"}) {
        SCOPED_TRACE(run);
        expect_all_right(check_between(hosts, run, "--sizes 4096,8M --mtu 4096 -n 8"), 16);
    }
}

TEST_F(TwoNamespaces, BothDirectionsEventsAndSharedReceivesWork) {
    const TwoHosts hosts;
    for (const char* run : {"rc send", "rc write_imm", "rc read"}) {
        SCOPED_TRACE(run);
        expect_all_right(
            check_between(hosts, run, "--sizes 1,5000,100000 --events --srq --extended --bidirectional -n 32"),
            2 * 32 * 3);
    }
}

TEST_F(TwoNamespaces, ReceivesThatComeLateLoseNothing) {
    const TwoHosts hosts;

    expect_all_right(check_between(hosts, "rc send", "--sizes 1,5000 --late-receives -n 64"), 128);
}

// More than a socket holds, at a rate at which it fills: what finds no room waits for it, datagrams too, and nothing is
// sent twice because its acknowledgement waits behind data.
TEST_F(TwoNamespaces, WhatASlowWireHasNoRoomForWaits) {
    const TwoHosts hosts(TwoHosts::Join::cable, 4200, Offloads::on);
    hosts.left.shape(TwoHosts::interface, "200mbit");
    hosts.right.shape(TwoHosts::interface, "200mbit");
    for (const char* events : {"", " --events"}) {
        for (const char* run : {"rc send", "rc write", "rc read"}) {
            SCOPED_TRACE(run + std::string(events));
            const Played played =
                check_between(hosts, run, "--sizes 1M --mtu 4096 --bidirectional -n 3" + std::string(events));
            expect_all_right(played, 6);
            // A packet or two to ask: until the first answers have come nobody knows how slow the wire is.
            EXPECT_LE(played.server.counter("retransmitted") + played.client.counter("retransmitted"), 8u);
        }
        SCOPED_TRACE("ud send" + std::string(events));
        expect_all_right(
            check_between(hosts, "ud send", "--sizes 4096 --mtu 4096 --depth 512 -n 1024" + std::string(events)), 1024);
    }
}

TEST_F(TwoNamespaces, SegmentationOffloadChangesNothing) {
    const TwoHosts hosts(TwoHosts::Join::cable, 1500, Offloads::on);
    Side left = side(hosts.left, TwoHosts::left_address), right = side(hosts.right, TwoHosts::right_address);
    left.environment.pop_back();
    right.environment.pop_back();

    const Played played = check({"--gid-index", "0", "--timeout", "16", "--sizes", "1,5000,1M", "-n", "32"}, left,
                                right, TwoHosts::left_address);

    expect_all_right(played, 96);
}

TEST_F(TwoNamespaces, OverIpVersionSixToo) {
    const TwoHosts hosts;
    const Side left = side(hosts.left, TwoHosts::left_address6), right = side(hosts.right, TwoHosts::right_address6);

    const Played played = check({"--gid-index", "0", "--timeout", "16", "--sizes", "1,5000,1M", "-n", "32"}, left,
                                right, TwoHosts::left_address);

    expect_all_right(played, 96);
}

#ifndef LOOM_SANITIZED  // nothing sanitized can be preloaded into foreign programs
TEST_F(TwoNamespaces, DebiansProgramsRunUnchanged) {
    const TwoHosts hosts;
    for (const char* line :
         {"ibv_rc_pingpong -g 0 -n 100", "ibv_uc_pingpong -g 0 -n 100", "ibv_ud_pingpong -g 0 -n 100",
          "ibv_srq_pingpong -g 0 -n 100", "ibv_rc_pingpong -g 0 -n 100 -e", "ib_send_bw -F -x 0 -n 20 -s 65536",
          "ib_send_lat -F -x 0 -n 20 -s 8", "ib_send_bw -F -x 0 -n 20 -s 1024 -c UD",
          "ib_send_bw -F -x 0 -n 20 -s 4096 -c UC", "ib_write_bw -F -x 0 -n 20 -s 1048576",
          "ib_write_lat -F -x 0 -n 20 -s 8", "ib_read_bw -F -x 0 -n 20 -s 1048576", "ib_read_lat -F -x 0 -n 20 -s 8",
          "ib_atomic_bw -F -x 0 -n 20", "ib_atomic_lat -F -x 0 -n 20 -A CMP_AND_SWAP"}) {
        SCOPED_TRACE(line);
        const std::uint16_t port = fresh_port();
        Words program = split(line);
        program.insert(program.end(), {"-p", std::to_string(port)});

        const Played played = play_between(hosts, program, port);

        EXPECT_TRUE(played.ok()) << played.said();
        EXPECT_GT(played.sent().roce, 0u) << played.said();
        EXPECT_EQ(played.sent().inside(), 0u);
    }
}
#endif

TEST_F(TwoNamespaces, WhatATracerSeesIsWellFormed) {
    const TwoHosts hosts;
    const peer::TemporaryFolder folder;
    const std::filesystem::path file = folder.path() / "wire.pcap";
    std::unique_ptr<Capture> capture;
    hosts.right.inside([&] { capture = std::make_unique<Capture>(TwoHosts::interface, file); });
    for (const char* run : {"rc send", "rc send_imm", "rc write", "rc write_imm", "rc read", "rc cas", "rc fadd",
                            "uc send", "uc write_imm", "ud send", "ud send_imm"}) {
        const Played played = check_between(hosts, run, "--sizes 0,1,1001,5000 -n 12");
        if (std::string(run).starts_with("rc")) {
            ASSERT_TRUE(played.ok()) << run << played.said();
        } else {
            ASSERT_TRUE(check_between(hosts, run, "--sizes 0,1,1001 --depth 4 -n 12").ok()) << run;
        }
    }
    const Capture::Seen seen = capture->stop();
    const auto tshark = [&](const std::string& filter) {
        peer::Command command;
        command.arguments = {"tshark",       "-r", file.string(),           "-Y", filter,        "-T", "fields", "-e",
                             "frame.number", "-e", "infiniband.bth.opcode", "-e", "_ws.col.Info"};
        // Dissectors that guess at what a payload means find all kinds of things in random bytes.
        for (const char* guess : {"rpcrdma_infiniband", "mellanox_eoib", "eth_over_ib", "smb_direct_infiniband",
                                  "nvme_rdma", "iser_infiniband", "lnet_ib", "smcr_infiniband", "sdp_infiniband"})
            command.arguments.insert(command.arguments.end(), {"--disable-heuristic", guess});
        command.directory = folder.path();
        command.output = folder.path() / "tshark";
        const peer::Outcome outcome = peer::run(command);
        EXPECT_TRUE(outcome.ok()) << outcome.errors;
        return outcome.output;
    };

    const std::string packets = tshark("udp.port == 4791 && infiniband");
    const std::string malformed = tshark("_ws.malformed || _ws.unreassembled || _ws.expert.severity == error");
    const std::string unknown = tshark("udp.port == 4791 && !infiniband");

    EXPECT_EQ(seen.missed, 0u);
    EXPECT_THAT(malformed, IsEmpty());
    EXPECT_THAT(unknown, IsEmpty());
    // Send only, send first, write only, read request, read response, acknowledge, both atomics and their answer, UD.
    for (const char* opcode : {"4", "0", "10", "12", "16", "17", "18", "19", "20", "100", "101", "36", "43"})
        EXPECT_TRUE(std::regex_search(packets, std::regex("\\t" + std::string(opcode) + "\\t"))) << opcode;
}

// Datagrams of random bytes to a port, some of them nearly right, from the time it is made until it is destroyed.
class Noise {
public:
    Noise(const NetworkNamespace& from, const char* to, std::uint16_t port) {
        from.inside([&] { socket_ = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0); });
        sockaddr_in target{};
        target.sin_family = AF_INET;
        target.sin_port = htons(port);
        inet_pton(AF_INET, to, &target.sin_addr);
        if (socket_ < 0 || connect(socket_, reinterpret_cast<const sockaddr*>(&target), sizeof target) != 0)
            throw std::runtime_error("no socket for noise");
        thread_ = std::thread([this] { make(); });
    }
    Noise(const Noise&) = delete;
    Noise& operator=(const Noise&) = delete;
    ~Noise() {
        over_ = true;
        thread_.join();
        close(socket_);
    }
    [[nodiscard]] std::uint64_t sent() const { return sent_; }

private:
    void make() {
        Random random(99);
        std::array<std::uint8_t, 1472> bytes;
        while (!over_) {
            for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
            std::size_t length = random.below(random.below(4) == 0 ? bytes.size() : 80);
            if (random.below(2) == 0) {  // a base transport header that makes sense
                static constexpr std::uint8_t opcodes[] = {0x00, 0x04, 0x06, 0x0a, 0x0c, 0x10, 0x11, 0x12,
                                                           0x13, 0x14, 0x24, 0x2a, 0x64, 0x65, 0x81};
                bytes[0] = opcodes[random.below(sizeof opcodes)];
                bytes[1] = 0x40;
                bytes[2] = bytes[3] = 0xff;
                bytes[4] = 0;
                length = std::max<std::size_t>(length, 16) & ~std::size_t{3};
            }
            if (send(socket_, bytes.data(), length, 0) >= 0) ++sent_;
            std::this_thread::sleep_for(std::chrono::microseconds(50));
        }
    }

    int socket_ = -1;
    std::atomic<bool> over_{false};
    std::atomic<std::uint64_t> sent_{0};
    std::thread thread_;
};

TEST_F(TwoNamespaces, RandomPacketsToThePortDisturbNobody) {
    const TwoHosts hosts;
    Noise to_left(hosts.right, TwoHosts::left_address, 4791);
    Noise to_right(hosts.left, TwoHosts::right_address, 4791);
    std::uint64_t thrown_away = 0;
    for (const char* run : {"rc send", "rc write", "rc read", "rc fadd", "uc send", "ud send"}) {
        SCOPED_TRACE(run);

        const Played played = check_between(hosts, run, "--sizes 1,1000,1024 --depth 4 -n 100");

        ASSERT_TRUE(played.ok()) << played.said();
        const nlohmann::json server = played.server.answer(), client = played.client.answer();
        EXPECT_EQ(server["lost"].get<std::uint64_t>() + client["lost"].get<std::uint64_t>(), 0u);
        thrown_away += played.server.counter("bad_packets") + played.client.counter("bad_packets");
    }

    EXPECT_GT(to_left.sent() + to_right.sent(), 100u);
    EXPECT_GT(thrown_away, 0u);
}

struct Wire {
    const char* name;
    const char* faults;
};

void PrintTo(const Wire& wire, std::ostream* out) {
    *out << wire.faults;
}

class BadWire : public TwoNamespaces, public testing::WithParamInterface<Wire> {
protected:
    void SetUp() override {
        TwoNamespaces::SetUp();
        if (IsSkipped()) return;
        hosts = std::make_unique<TwoHosts>(TwoHosts::Join::through_relay);
        Faults faults = parse_faults(GetParam().faults);
        faults.only_udp_port = 4791;
        hosts->middle.inside(
            [&] { relay = std::make_unique<Relay>(TwoHosts::relay_left, TwoHosts::relay_right, faults); });
    }

    std::unique_ptr<TwoHosts> hosts;
    std::unique_ptr<Relay> relay;
};

TEST_P(BadWire, LosesAndAltersNothingOnReliableConnections) {
    for (const char* run : {"rc send_imm", "rc write", "rc write_imm", "rc read", "rc cas", "rc fadd"}) {
        SCOPED_TRACE(run);
        const Played played = check_between(*hosts, run, "--sizes 0,1,1000,20000,300000 -n 24");
        const bool atomic = std::string(run) == "rc cas" || std::string(run) == "rc fadd";
        expect_all_right(played, atomic ? 24 : 24 * 5);
    }
    const RelayReport report = relay->stop();
    EXPECT_EQ(report.left_to_right.missed + report.right_to_left.missed, 0u);
    EXPECT_EQ(report.left_to_right.refused + report.right_to_left.refused, 0u);
    const Faults faults = parse_faults(GetParam().faults);
    if (faults.loss > 0) {
        EXPECT_GT(report.left_to_right.lost + report.right_to_left.lost, 0u);
    }
    if (faults.reorder > 0) {
        EXPECT_GT(report.left_to_right.reordered + report.right_to_left.reordered, 0u);
    }
    if (faults.duplicate > 0) {
        EXPECT_GT(report.left_to_right.duplicated + report.right_to_left.duplicated, 0u);
    }
}

// Messages of one packet may come twice and in any order on a wire that does so, which the checker does not allow for.
class LosingWire : public BadWire {};

TEST_P(LosingWire, DeliversWhatComesThroughWholeAndInOrderOnTheOthers) {
    for (const char* run : {"uc send_imm", "ud send_imm"}) {
        SCOPED_TRACE(run);
        const Played played = check_between(*hosts, run, "--sizes 1,1000,1024 --depth 8 --may-lose -n 64");
        ASSERT_TRUE(played.ok()) << played.said();
        const nlohmann::json server = played.server.answer();
        EXPECT_EQ(server["messages"].get<std::uint64_t>() + server["lost"].get<std::uint64_t>(), 64u * 3);
        EXPECT_GT(server["messages"].get<std::uint64_t>(), 64u);
    }
}

constexpr Wire wires[] = {
    {"Loss1", "seed=1,loss=0.01"},
    {"Loss5", "seed=2,loss=0.05"},
    {"DelayAndJitter", "seed=5,delay=300us,jitter=300us"},
    {"SlowLink", "seed=6,rate=200e6,queue=200000"},
    {"Reordering", "seed=3,reorder=0.05,reorder-delay=300us"},
    {"Duplication", "seed=4,duplicate=0.05"},
    {"Everything", "seed=7,loss=0.02,reorder=0.02,duplicate=0.02,delay=100us,jitter=100us"},
};
constexpr auto wire_name = [](const auto& tested) { return tested.param.name; };

INSTANTIATE_TEST_SUITE_P(Each, BadWire, testing::ValuesIn(wires), wire_name);
INSTANTIATE_TEST_SUITE_P(Each, LosingWire, testing::ValuesIn(std::begin(wires), std::begin(wires) + 4), wire_name);

}  // namespace
}  // namespace loom::test
