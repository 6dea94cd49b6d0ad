#include "hca/device/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <thread>

#include "loom/base/error.hpp"
#include "support/network/namespaces.hpp"

namespace {

using namespace loom::hca;
using loom::UsageError;
using std::chrono::nanoseconds;
using testing::HasSubstr;
using testing::SizeIs;

Config with(const std::map<std::string, std::string>& variables) {
    return read_config([&](loom::Setting setting) -> std::optional<std::string> {
        const auto found = variables.find(loom::settings::name(setting));
        if (found == variables.end()) return std::nullopt;
        return found->second;
    });
}

TEST(Config, IsOneInfinibandHcaWhenNothingIsSaid) {
    const Config config = with({});

    ASSERT_THAT(config.hcas, SizeIs(1));
    EXPECT_EQ(config.hcas[0].name, "loom0");
    EXPECT_EQ(config.hcas[0].lid, 1);
    EXPECT_EQ(config.hcas[0].link, LinkLayer::infiniband);
    EXPECT_EQ(config.hcas[0].mtu, 4096u);
    EXPECT_FALSE(config.trace);
    EXPECT_FALSE(config.faults.any());
    EXPECT_EQ(config.roce_port, 4791);
    EXPECT_TRUE(config.gso);
    EXPECT_TRUE(config.ptracer);
    EXPECT_FALSE(config.realtime);
    EXPECT_EQ(config.stats_file, "");
}

TEST(Config, NumbersTheHcas) {
    const Config config = with({{"LOOM_VERBS_HCAS", "3"}});

    ASSERT_THAT(config.hcas, SizeIs(3));
    for (std::uint32_t i = 0; i < 3; ++i) {
        EXPECT_EQ(config.hcas[i].name, "loom" + std::to_string(i));
        EXPECT_EQ(config.hcas[i].index, i);
        EXPECT_EQ(config.hcas[i].lid, i + 1);
    }
}

TEST(Config, MixesLinkLayers) {
    const Config config = with({{"LOOM_VERBS_HCAS", "ib,roce:127.0.0.1,ib"}});

    ASSERT_THAT(config.hcas, SizeIs(3));
    EXPECT_EQ(config.hcas[1].link, LinkLayer::ethernet);
    EXPECT_EQ(config.hcas[1].lid, 0);
    EXPECT_EQ(config.hcas[1].interface_name, "lo");
    EXPECT_NE(config.hcas[1].interface, 0u);
    EXPECT_EQ(config.hcas[2].lid, 3);
}

TEST(Config, MapsAnIpv4AddressIntoTheGidTable) {
    const Config config = with({{"LOOM_VERBS_HCAS", "roce:127.0.0.9"}});

    ASSERT_THAT(config.hcas[0].gids, SizeIs(1));
    const GidEntry& entry = config.hcas[0].gids[0];
    EXPECT_EQ(entry.type, GidType::roce_v2);
    EXPECT_EQ(entry.gid, (Gid{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 9}));
}

TEST(Config, ABareRoceHasAnAddressOfThisHost) {
    const Config config = with({{"LOOM_VERBS_HCAS", "roce"}});

    ASSERT_THAT(config.hcas, SizeIs(1));
    EXPECT_EQ(config.hcas[0].link, LinkLayer::ethernet);
    EXPECT_NE(config.hcas[0].gids.at(0).gid, Gid{});
}

TEST(Config, GuidsAreStableLocalAndDistinct) {
    const Config first = with({{"LOOM_VERBS_HCAS", "2"}});
    const Config again = with({{"LOOM_VERBS_HCAS", "2"}});

    EXPECT_EQ(first.hcas[0].guid, again.hcas[0].guid);
    EXPECT_NE(first.hcas[0].guid, first.hcas[1].guid);
    EXPECT_EQ(first.hcas[0].guid >> 56 & 3, 2u);  // locally administered, of one
    EXPECT_EQ(first.hcas[0].gids.at(0).gid, link_local_gid(first.hcas[0].guid));
    EXPECT_EQ(link_local_gid(0x0102030405060708), (Gid{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(Config, ReadsTheOtherSettings) {
    const Config config = with({{"LOOM_VERBS_TRACE", "calls.txt"},
                                {"LOOM_VERBS_FAULT", "seed=7,drop=0.01,delay=50us,error=0.001"},
                                {"LOOM_VERBS_ROCE_PORT", "5000"},
                                {"LOOM_VERBS_GSO", "0"},
                                {"LOOM_VERBS_PTRACER", "0"},
                                {"LOOM_VERBS_REALTIME", "1"},
                                {"LOOM_VERBS_STATS", "stats.json"}});

    EXPECT_TRUE(config.trace);
    EXPECT_EQ(config.trace_file, "calls.txt");
    EXPECT_EQ(config.faults.seed, 7u);
    EXPECT_EQ(config.faults.drop, 0.01);
    EXPECT_EQ(config.faults.delay, std::chrono::microseconds(50));
    EXPECT_EQ(config.faults.error, 0.001);
    EXPECT_EQ(config.roce_port, 5000);
    EXPECT_FALSE(config.gso);
    EXPECT_FALSE(config.ptracer);
    EXPECT_TRUE(config.realtime);
    EXPECT_EQ(config.stats_file, "stats.json");
}

TEST(Config, TraceGoesToStandardErrorUnlessItNamesAFile) {
    EXPECT_EQ(with({{"LOOM_VERBS_TRACE", "1"}}).trace_file, "");
    EXPECT_TRUE(with({{"LOOM_VERBS_TRACE", "1"}}).trace);
    EXPECT_FALSE(with({{"LOOM_VERBS_TRACE", "0"}}).trace);
}

struct Bad {
    const char* variable;
    const char* value;
    const char* expected;
};

class BadConfig : public testing::TestWithParam<Bad> {};

TEST_P(BadConfig, IsRefusedWithVariableValueAndWhatWasExpected) {
    try {
        (void)with({{GetParam().variable, GetParam().value}});
        FAIL() << "was taken";
    } catch (const loom::UsageError& error) {
        EXPECT_THAT(error.what(), HasSubstr(GetParam().variable));
        EXPECT_THAT(error.what(), HasSubstr(GetParam().value));
        EXPECT_THAT(error.what(), HasSubstr(GetParam().expected));
    }
}

INSTANTIATE_TEST_SUITE_P(
    Each, BadConfig,
    testing::Values(Bad{"LOOM_VERBS_HCAS", "two", "a number of HCAs"}, Bad{"LOOM_VERBS_HCAS", "ib,", "a list"},
                    Bad{"LOOM_VERBS_HCAS", "-1", "a number of HCAs"}, Bad{"LOOM_VERBS_HCAS", "99999", "at most"},
                    Bad{"LOOM_VERBS_HCAS", "roce:", "an IPv4 or IPv6 address"},
                    Bad{"LOOM_VERBS_HCAS", "roce:10.9.0.256", "an IPv4 or IPv6 address"},
                    Bad{"LOOM_VERBS_HCAS", "roce:203.0.113.9", "203.0.113.9 is none"},
                    Bad{"LOOM_VERBS_FAULT", "drop=2", "drop from 0 to 1"},
                    Bad{"LOOM_VERBS_FAULT", "error=nan", "error from 0 to 1"},
                    Bad{"LOOM_VERBS_FAULT", "drop", "drop from 0 to 1"},
                    Bad{"LOOM_VERBS_FAULT", "delay=5", "delay like"},
                    Bad{"LOOM_VERBS_FAULT", "delay=-1us", "delay like"},
                    Bad{"LOOM_VERBS_FAULT", "seed=x", "whole number"}, Bad{"LOOM_VERBS_FAULT", "loss=1", "a list like"},
                    Bad{"LOOM_VERBS_ROCE_PORT", "0", "UDP port"}, Bad{"LOOM_VERBS_ROCE_PORT", "70000", "UDP port"},
                    Bad{"LOOM_VERBS_GSO", "maybe", "0 or 1"}, Bad{"LOOM_VERBS_PTRACER", "2", "0 or 1"},
                    Bad{"LOOM_VERBS_REALTIME", "fast", "0 or 1"}));

TEST(Duration, HasAUnit) {
    nanoseconds duration{};

    EXPECT_TRUE(parse_duration("1.5us", duration));
    EXPECT_EQ(duration, nanoseconds(1500));
    EXPECT_TRUE(parse_duration("2ms", duration));
    EXPECT_EQ(duration, std::chrono::milliseconds(2));
    EXPECT_FALSE(parse_duration("us", duration));
    EXPECT_FALSE(parse_duration("2h", duration));
    EXPECT_FALSE(parse_duration("3601s", duration));
}

TEST(Config, AnIpv6AddressWithAnInterfaceIsRefused) {
    EXPECT_THROW((void)with({{"LOOM_VERBS_HCAS", "roce:fe80::1%lo"}}), UsageError);
}

// In a network namespace of its own, whose loopback gets that MTU: the answer of read_config there.
std::uint32_t mtu_on(int interface_mtu, const char* hcas) {
    std::uint32_t answer = 0;
    std::thread([&] {
        if (unshare(CLONE_NEWNET) != 0) return;
        ifreq request{};
        std::strcpy(request.ifr_name, "lo");
        request.ifr_mtu = interface_mtu;
        const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        bool done = ioctl(fd, SIOCSIFMTU, &request) == 0;
        request.ifr_flags = IFF_UP;
        done = ioctl(fd, SIOCSIFFLAGS, &request) == 0 && done;
        close(fd);
        if (done) answer = with({{"LOOM_VERBS_HCAS", hcas}}).hcas.at(0).mtu;
    }).join();
    return answer;
}

TEST(Config, PacketsAreAsLargeAsTheInterfaceAllows) {
    if (!loom::test::may_make_namespaces()) GTEST_SKIP() << "network namespaces need root";

    EXPECT_EQ(mtu_on(65536, "roce:127.0.0.1"), 4096u);
    EXPECT_EQ(mtu_on(4160, "roce:127.0.0.1"), 4096u);
    EXPECT_EQ(mtu_on(4159, "roce:127.0.0.1"), 2048u);
    EXPECT_EQ(mtu_on(1500, "roce:127.0.0.1"), 1024u);
    EXPECT_EQ(mtu_on(576, "roce:127.0.0.1"), 512u);
    EXPECT_EQ(mtu_on(300, "roce:127.0.0.1"), 256u);  // the smallest: the kernel will cut such packets
}

}  // namespace
