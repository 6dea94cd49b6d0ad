#include "ratios.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace loom::bench {
namespace {

Line routing_line(const char* engine, std::size_t hosts, unsigned threads, double seconds, double peer_seconds) {
    Line line{"routing", std::to_string(hosts), engine, threads, {}, {}, peer_seconds, 0, "OpenSM ftree"};
    line.measured.hosts = hosts;
    line.measured.seconds = seconds;
    return line;
}

CollPromise promise(const char* operation, double mean) {
    return {Who::native, operation, 4, {mean, mean, mean}, 0.7, {}};
}

TEST(Ratios, AreOursToThePeersAndKnowWhatWasPromised) {
    const auto found = ratios({routing_line("ftree", 3456, 1, 0.02, 1.0), routing_line("ftree", 3456, 2, 0.01, 1.0),
                               routing_line("minhop", 3456, 1, 0.1, 0.0)},
                              {}, {}, {}, {}, {});

    ASSERT_EQ(found.size(), 2u) << "a line without a peer has no ratio";
    EXPECT_DOUBLE_EQ(found[0].value, 0.02);
    EXPECT_EQ(found[0].promised, 0.01);
    EXPECT_FALSE(found[0].met());
    EXPECT_FALSE(found[1].promised) << "promised for one thread";
    EXPECT_TRUE(found[1].met());
}

TEST(Ratios, OfRatesAreBetterWhenTheyAreMore) {
    const VerbsLine line{"ib_send_bw",  "8",       "M/s",     Better::more, 0.75, "UCX tag_bw",
                         "store 100 %", {3, 4, 5}, {5, 5, 5}, true,         {}};

    const auto found = ratios({}, {line}, {}, {}, {}, {});

    ASSERT_EQ(found.size(), 1u);
    EXPECT_DOUBLE_EQ(found[0].value, 0.8);
    EXPECT_TRUE(found[0].met());
}

TEST(Ratios, OfCollectivesAreTheGeometricMeanOverOperations) {
    CollResults results;
    results.promises = {promise("bcast", 0.4), promise("scan", 0.9)};

    const auto found = ratios({}, {}, results, {}, {}, {});

    ASSERT_EQ(found.size(), 1u);
    EXPECT_NEAR(found[0].value, 0.6, 1e-12);
    EXPECT_EQ(found[0].remark, "1 of 2 operations alone");
}

TEST(Ratios, OfNbcAreThoseOfEachOperationToLibNbc) {
    NbcResults results;
    results.cells = {{"bcast", 2, 8, {{Who::nbc, {1, 2, 3}}, {Who::libnbc, {2, 4, 6}}}, {}},
                     {"scan", 2, 8, {{Who::nbc, {1, 2, 3}}}, {}}};

    const auto found = ratios({}, {}, {}, results, {}, {});

    ASSERT_EQ(found.size(), 1u) << "a line without a peer has no ratio";
    EXPECT_EQ(found[0].what, "bcast");
    EXPECT_DOUBLE_EQ(found[0].value, 0.5);
    EXPECT_TRUE(found[0].met());
}

TEST(Ratios, OfEarlyMessagesAreTheRootsMemoryAndTheTimeOfAStep) {
    EarlyCell cell{10'000, 1'000, {20, 22, 21}, {10, 10, 11}, {1'000, 1'100, 1'200}, {1'000, 1'000, 1'000}, ""};
    EarlyCell failed = cell;
    failed.failure = "Open MPI: nobody came";

    const auto found = ratios({}, {}, {}, {}, std::vector{cell, failed}, {});

    ASSERT_EQ(found.size(), 2u);
    EXPECT_DOUBLE_EQ(found[0].value, 2.1);
    EXPECT_FALSE(found[0].met());
    EXPECT_DOUBLE_EQ(found[1].value, 1.1);
    EXPECT_TRUE(found[1].met());
}

TEST(Ratios, PeersAreAskedForTheirVersionOnce) {
    const auto found =
        ratios({routing_line("ftree", 64, 1, 1, 2), routing_line("dmodk", 64, 1, 1, 2)}, {}, {}, {}, {}, {});

    const auto peers = peers_of(found);
    const auto object = nlohmann::json::parse(to_json(found, peers));

    ASSERT_EQ(peers.size(), 1u);
    EXPECT_TRUE(peers[0].version.starts_with("3.")) << peers[0].version;
    EXPECT_EQ(object["peers"]["OpenSM ftree"], peers[0].version);
    EXPECT_EQ(object["table"].size(), 2u);
    EXPECT_EQ(object["table"][0]["to_peer"], 0.5);
}

}  // namespace
}  // namespace loom::bench
