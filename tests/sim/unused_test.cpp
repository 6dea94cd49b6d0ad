#include "loom/sim/unused.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loom/sim/setup.hpp"

namespace {

using namespace loom::sim;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* pair_of_hosts = "switch S 4\nhost A\nhost B\nlink A S:1\nlink B S:2\n";

std::vector<std::string> unused(const std::string& lines) {
    std::vector<std::string> keywords;
    for (const UnusedLine& line : unused_lines(parse_scenario(pair_of_hosts + lines, "a.scn")))
        keywords.push_back(line.keyword);
    return keywords;
}

const std::string packets =
    "buffer 64KiB\nlanes 2\nsl-to-vl 1 1\ntable-lanes on\narbitration limit 3\nflow-control infinite\npaths adaptive\n"
    "buffer-use shared\nhost-turns message\ncongestion threshold 15\ncongestion cct 0 1\n";
const std::string fabrics =
    "mtu 4096\ncable-delay 1ns\nswitch-delay 1ns\nhost-delay 1ns\nlids spread\ncounter-tick 1ns\nengine minhop\nlmc 1\n"
    "watch S:1\npaths tables\n";
const std::string messages = "loggops G 80\nhandshake on\n";
const std::string everywhere =
    "seed 3\nthreads 2\nuntil 1ms\nsample 1us\nlocal-copy 3\nlocal-reduce 4\nmanager sweep 1us\n";

TEST(UnusedLines, OfEveryLevel) {
    const std::string flow = "flow A-B from A to B bytes 1\n";

    EXPECT_THAT(unused(flow + packets + fabrics + everywhere), IsEmpty());
    EXPECT_THAT(unused(flow + messages), ElementsAre("loggops", "handshake"));
    EXPECT_THAT(unused("level flow\n" + flow + fabrics + everywhere), IsEmpty());
    EXPECT_THAT(unused("level flow\n" + flow + packets),
                ElementsAre("buffer", "lanes", "sl-to-vl", "table-lanes", "arbitration", "flow-control",
                            "paths adaptive", "buffer-use", "host-turns", "congestion threshold", "congestion cct"));
    EXPECT_THAT(unused("level flow\n" + flow + messages), ElementsAre("loggops", "handshake"));
    EXPECT_THAT(unused("level message\n" + flow + messages + everywhere), IsEmpty());
    EXPECT_EQ(unused("level message\n" + flow + packets).size(), 11u);
    EXPECT_EQ(unused("level message\n" + flow + fabrics).size(), 10u);
}

TEST(UnusedLines, OfEveryKindOfTraffic) {
    const std::string all = "bytes 8\nwork 1us\nstages barrier\nplace order\n";

    EXPECT_THAT(unused(all + "ranks 2\nflow A-B from A to B bytes 1\n"),
                ElementsAre("bytes", "work", "stages", "place", "ranks"));
    EXPECT_THAT(unused(all + "ranks 2\npattern ring\n"), ElementsAre("work"));
    EXPECT_THAT(unused(all + "ranks 2\nschedule ring\n"), ElementsAre("stages"));
    EXPECT_THAT(unused(all + "goal a.goal\n"), ElementsAre("bytes", "work", "stages"));
}

TEST(UnusedLines, AreRemarkedOnOnceForEachReason) {
    const auto setup = set_up(parse_scenario(std::string(pair_of_hosts) +
                                                 "level flow\nflow A-B from A to B bytes 1\npaths adaptive\n"
                                                 "congestion threshold 15\ncongestion threshold 14\nbytes 3\n",
                                             "a.scn"));

    EXPECT_THAT(
        setup->remarks,
        ElementsAre("level flow has no packets, buffers, lanes or congestion control; not used: paths adaptive, "
                    "congestion threshold",
                    "flows say themselves how large they are; not used: bytes"));
}

TEST(UnusedLines, APortIsNotWatchedWhereThereAreNone) {
    const auto setup = set_up(
        parse_scenario(std::string(pair_of_hosts) + "level message\nflow A-B from A to B bytes 1\nwatch S:1\n", "a"));

    EXPECT_THAT(setup->watch, IsEmpty());
    EXPECT_THAT(setup->remarks, ElementsAre(HasSubstr("not used: watch")));
}

}  // namespace
