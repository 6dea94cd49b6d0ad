#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include "loom/base/error.hpp"
#include "support/network/namespaces.hpp"
#include "support/relay/relay.hpp"

namespace loom::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using testing::ElementsAreArray;
using testing::HasSubstr;

constexpr std::uint16_t port = 9000;

sockaddr_in address_of(const char* text) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    inet_pton(AF_INET, text, &address.sin_addr);
    return address;
}

// A socket inside a namespace, bound to its address of the pair.
class Socket {
public:
    Socket(const NetworkNamespace& network, const char* address, int type) {
        network.inside([&] { descriptor_ = socket(AF_INET, type | SOCK_CLOEXEC, 0); });
        const int buffer = 16 << 20;
        const int one = 1;
        const timeval patience{0, 200'000};
        const sockaddr_in own = address_of(address);
        setsockopt(descriptor_, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof buffer);
        setsockopt(descriptor_, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        if (bind(descriptor_, reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0)
            throw Error(std::string("cannot bind: ") + std::strerror(errno));
    }
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;
    ~Socket() { close(descriptor_); }
    [[nodiscard]] int get() const { return descriptor_; }

private:
    int descriptor_ = -1;
};

struct Arrival {
    std::uint32_t number;
    std::chrono::nanoseconds latency;
};

struct Stream {
    std::vector<Arrival> arrivals;
    RelayReport report;
    Clock::duration whole{};

    [[nodiscard]] std::vector<std::uint32_t> numbers() const {
        std::vector<std::uint32_t> result;
        for (const Arrival& arrival : arrivals) result.push_back(arrival.number);
        return result;
    }
    [[nodiscard]] std::chrono::nanoseconds quickest() const {
        return std::min_element(arrivals.begin(), arrivals.end(),
                                [](const Arrival& a, const Arrival& b) { return a.latency < b.latency; })
            ->latency;
    }
};

struct Content {
    std::uint32_t number;
    Clock::rep sent;
};

// Until as many have come as `target` says, once it is known.
void listen_to(int socket, const std::atomic<std::uint64_t>& target, Stream& stream) {
    std::vector<std::uint8_t> buffer(65536);
    const auto begin = Clock::now();
    while (stream.arrivals.size() < target && Clock::now() < begin + 20s) {
        const ssize_t length = recv(socket, buffer.data(), buffer.size(), 0);
        Content content{};
        if (length < static_cast<ssize_t>(sizeof content)) continue;
        std::memcpy(&content, buffer.data(), sizeof content);
        const auto now = Clock::now();
        stream.whole = now - begin;
        stream.arrivals.push_back(
            {content.number, std::chrono::nanoseconds(now.time_since_epoch().count() - content.sent)});
    }
}

// Numbered datagrams from left to right through a relay.
Stream play(const Faults& faults, std::uint32_t datagrams, std::size_t bytes = 100) {
    const TwoHosts hosts(TwoHosts::Join::through_relay);
    const Socket sender(hosts.left, TwoHosts::left_address, SOCK_DGRAM);
    const Socket receiver(hosts.right, TwoHosts::right_address, SOCK_DGRAM);
    const sockaddr_in right = address_of(TwoHosts::right_address);
    std::unique_ptr<Relay> relay;
    hosts.middle.inside([&] { relay = std::make_unique<Relay>(TwoHosts::relay_left, TwoHosts::relay_right, faults); });
    Stream stream;
    std::atomic<std::uint64_t> target{~std::uint64_t{0}};
    std::thread listener([&] { listen_to(receiver.get(), target, stream); });
    std::vector<std::uint8_t> message(std::max(bytes, sizeof(Content)));
    for (std::uint32_t number = 0; number < datagrams; ++number) {
        const Content content{number, Clock::now().time_since_epoch().count()};
        std::memcpy(message.data(), &content, sizeof content);
        EXPECT_EQ(sendto(sender.get(), message.data(), message.size(), 0, reinterpret_cast<const sockaddr*>(&right),
                         sizeof right),
                  static_cast<ssize_t>(message.size()));
        const auto deadline = Clock::now() + 10s;
        while (relay->arrived() + 100 < number && Clock::now() < deadline) std::this_thread::sleep_for(20us);
    }
    const auto deadline = Clock::now() + 10s;
    while (relay->arrived() < datagrams && Clock::now() < deadline) std::this_thread::sleep_for(20us);
    stream.report = relay->stop();
    const RelayCounters& counters = stream.report.left_to_right;
    target = datagrams - counters.lost - counters.overflowed + counters.duplicated;
    listener.join();
    return stream;
}

class RelayTest : public testing::Test {
protected:
    void SetUp() override {
        if (!may_make_namespaces()) GTEST_SKIP() << "network namespaces need root";
    }
};

std::vector<std::uint32_t> all(std::uint32_t count) {
    std::vector<std::uint32_t> numbers(count);
    std::iota(numbers.begin(), numbers.end(), 0u);
    return numbers;
}

TEST_F(RelayTest, ACleanWirePassesEverythingInOrder) {
    const Stream stream = play({}, 3000);

    EXPECT_THAT(stream.numbers(), ElementsAreArray(all(3000)));
    EXPECT_GE(stream.report.left_to_right.arrived, 3000u);
    EXPECT_EQ(stream.report.left_to_right.arrived, stream.report.left_to_right.sent);
    EXPECT_EQ(stream.report.left_to_right.missed, 0u);
}

TEST_F(RelayTest, LosesWhatTheDiceSayAndNothingElse) {
    Faults faults;
    faults.seed = 11;
    faults.loss = 0.05;
    faults.only_udp_port = port;
    constexpr std::uint32_t count = 4000;
    std::vector<std::uint32_t> expected;
    Dice dice(faults, 0);
    for (std::uint32_t number = 0; number < count; ++number)
        if (!dice.next().lost) expected.push_back(number);

    const Stream stream = play(faults, count);

    EXPECT_THAT(stream.numbers(), ElementsAreArray(expected));
    EXPECT_EQ(stream.report.left_to_right.lost, count - expected.size());
    const double deviation = std::sqrt(count * faults.loss * (1 - faults.loss));
    EXPECT_NEAR(static_cast<double>(stream.report.left_to_right.lost), count * faults.loss, 5 * deviation);
}

TEST_F(RelayTest, DelayIsAtLeastWhatWasAskedAndJitterKeepsTheOrder) {
    Faults faults;
    faults.delay = 3ms;
    faults.jitter = 2ms;

    const Stream stream = play(faults, 1000);

    EXPECT_THAT(stream.numbers(), ElementsAreArray(all(1000)));
    EXPECT_GE(stream.quickest(), 3ms);
}

TEST_F(RelayTest, ReorderedFramesAreOvertakenAndStillArrive) {
    Faults faults;
    faults.reorder = 0.1;
    faults.reorder_delay = 2ms;
    faults.only_udp_port = port;

    const Stream stream = play(faults, 2000);

    std::vector<std::uint32_t> numbers = stream.numbers();
    EXPECT_FALSE(std::is_sorted(numbers.begin(), numbers.end()));
    std::sort(numbers.begin(), numbers.end());
    EXPECT_THAT(numbers, ElementsAreArray(all(2000)));
    EXPECT_NEAR(static_cast<double>(stream.report.left_to_right.reordered), 200, 5 * std::sqrt(2000 * 0.1 * 0.9));
}

TEST_F(RelayTest, DuplicatesAreCounted) {
    Faults faults;
    faults.duplicate = 0.1;
    faults.only_udp_port = port;

    const Stream stream = play(faults, 2000);

    const std::vector<std::uint32_t> numbers = stream.numbers();
    EXPECT_EQ(std::set<std::uint32_t>(numbers.begin(), numbers.end()).size(), 2000u);
    EXPECT_EQ(numbers.size(), 2000 + stream.report.left_to_right.duplicated);
    EXPECT_NEAR(static_cast<double>(stream.report.left_to_right.duplicated), 200, 5 * std::sqrt(2000 * 0.1 * 0.9));
}

TEST_F(RelayTest, TheSameSeedMeansTheSameLosses) {
    Faults faults;
    faults.loss = 0.1;
    faults.seed = 5;
    faults.only_udp_port = port;

    const std::vector<std::uint32_t> first = play(faults, 1000).numbers();
    const std::vector<std::uint32_t> second = play(faults, 1000).numbers();
    faults.seed = 6;
    const std::vector<std::uint32_t> other = play(faults, 1000).numbers();

    EXPECT_EQ(first, second);
    EXPECT_NE(first, other);
}

TEST_F(RelayTest, ARateIsNotExceeded) {
    Faults faults;
    faults.bits_per_second = 20e6;

    const Stream stream = play(faults, 500, 1000);

    EXPECT_EQ(stream.arrivals.size(), 500u);
    EXPECT_GE(std::chrono::duration<double>(stream.whole).count(), 500 * 1000 * 8 / 20e6);
}

TEST_F(RelayTest, AFullQueueDropsAndCounts) {
    Faults faults;
    faults.bits_per_second = 10e6;
    faults.queue_bytes = 20000;

    const Stream stream = play(faults, 200, 1000);

    EXPECT_GT(stream.report.left_to_right.overflowed, 0u);
    EXPECT_EQ(stream.report.left_to_right.overflowed + stream.report.left_to_right.sent,
              stream.report.left_to_right.arrived);
    EXPECT_LT(stream.arrivals.size(), 200u);
}

// Segmentation and checksums of the kernel's own stack survive the packet sockets.
TEST_F(RelayTest, TcpPassesThroughUnaltered) {
    const TwoHosts hosts(TwoHosts::Join::through_relay);
    std::unique_ptr<Relay> relay;
    hosts.middle.inside(
        [&] { relay = std::make_unique<Relay>(TwoHosts::relay_left, TwoHosts::relay_right, Faults{}); });
    const Socket listening(hosts.right, TwoHosts::right_address, SOCK_STREAM);
    ASSERT_EQ(listen(listening.get(), 1), 0);
    std::vector<std::uint8_t> sent(1 << 20);
    Random random(3);
    for (std::uint8_t& byte : sent) byte = static_cast<std::uint8_t>(random());
    std::thread sender([&] {
        const Socket client(hosts.left, TwoHosts::left_address, SOCK_STREAM);
        const sockaddr_in target = address_of(TwoHosts::right_address);
        ASSERT_EQ(connect(client.get(), reinterpret_cast<const sockaddr*>(&target), sizeof target), 0);
        std::size_t done = 0;
        while (done < sent.size()) {
            const ssize_t part = send(client.get(), sent.data() + done, sent.size() - done, 0);
            ASSERT_GT(part, 0);
            done += static_cast<std::size_t>(part);
        }
    });

    const int accepted = accept(listening.get(), nullptr, nullptr);
    std::vector<std::uint8_t> received;
    std::vector<std::uint8_t> buffer(65536);
    for (ssize_t part = 0; (part = recv(accepted, buffer.data(), buffer.size(), 0)) > 0;)
        received.insert(received.end(), buffer.begin(), buffer.begin() + part);
    close(accepted);
    sender.join();

    EXPECT_EQ(received, sent);
}

TEST(RelayFaults, AreReadFromText) {
    const Faults faults = parse_faults("seed=7,loss=0.25,delay=50us,jitter=2ms,rate=1e9,queue=500,port=4791");

    EXPECT_EQ(faults.seed, 7u);
    EXPECT_EQ(faults.loss, 0.25);
    EXPECT_EQ(faults.delay, 50us);
    EXPECT_EQ(faults.jitter, 2ms);
    EXPECT_EQ(faults.bits_per_second, 1e9);
    EXPECT_EQ(faults.queue_bytes, 500u);
    EXPECT_EQ(faults.only_udp_port, 4791);
}

TEST(RelayFaults, AreRefusedWhenTheyMakeNoSense) {
    for (const char* text : {"los=1", "loss=2", "loss=x", "loss=-1", "delay=5", "delay=5 parsecs", "seed", "loss=0.1x"})
        EXPECT_THROW((void)parse_faults(text), Error) << text;
}

TEST(RelayFaults, DiceOfOneKindDoNotShiftTheOthers) {
    Faults faults;
    faults.loss = 0.3;
    Faults more = faults;
    more.duplicate = 0.5;
    Dice dice(faults, 1);
    Dice with_more(more, 1);

    for (int i = 0; i < 1000; ++i) EXPECT_EQ(dice.next().lost, with_more.next().lost);
}

TEST(RelayFaults, PortsAreFoundInBothIpVersionsAndNotInFragments) {
    std::vector<std::uint8_t> four(14 + 20 + 8);
    four[12] = 0x08;
    four[14] = 0x45;
    four[14 + 9] = 17;
    four[14 + 20 + 2] = 0x12;
    four[14 + 20 + 3] = 0xb7;
    std::vector<std::uint8_t> fragment = four;
    fragment[14 + 6] = 0x20;
    std::vector<std::uint8_t> six(14 + 40 + 8);
    six[12] = 0x86;
    six[13] = 0xdd;
    six[14 + 6] = 17;
    six[14 + 40 + 2] = 0x12;
    six[14 + 40 + 3] = 0xb7;

    EXPECT_EQ(udp_port(four), 4791);
    EXPECT_EQ(udp_port(six), 4791);
    EXPECT_EQ(udp_port(fragment), std::nullopt);
    for (std::size_t length = 0; length < four.size(); ++length)
        EXPECT_EQ(udp_port(std::span(four).first(length)), std::nullopt) << length;
}

TEST_F(RelayTest, AnInterfaceThatIsNotThereIsRefusedByName) {
    try {
        const Relay relay("no-such-if", "lo", {});
        FAIL() << "no error";
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("no-such-if"));
    }
}

}  // namespace
}  // namespace loom::test
