#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/process.hpp"

namespace {

using loom::test::loom_program;
using loom::test::Outcome;
using loom::test::TemporaryFolder;
using nlohmann::json;
using testing::HasSubstr;

TEST(Coll, ListsAlgorithmsWithWhatTheyDo) {
    const Outcome all = loom_program("coll list");
    const Outcome one = loom_program("coll list bcast --json");

    EXPECT_EQ(all.exit_code, 0) << all.err;
    EXPECT_THAT(all.out, HasSubstr("neighbour_alltoallv"));
    const json broadcast = json::parse(one.out)["collectives"];
    ASSERT_EQ(broadcast.size(), 1u);
    EXPECT_EQ(broadcast[0]["name"], "broadcast");
    EXPECT_GE(broadcast[0]["algorithms"].size(), 6u);
}

TEST(Coll, ShowsWhatAnAlgorithmSends) {
    const Outcome text = loom_program("coll show allreduce --ranks 8 --bytes 1KiB --algorithm ring");
    const Outcome object = loom_program("coll show allreduce --ranks 8 --bytes 1KiB --algorithm ring --json");

    EXPECT_EQ(text.exit_code, 0) << text.err;
    EXPECT_THAT(text.out, HasSubstr("112 messages of 14.0 KiB in 14 rounds"));
    const json ring = json::parse(object.out);
    EXPECT_EQ(ring["messages"], 2 * 8 * 7);
    EXPECT_EQ(ring["message_bytes"], 2 * 7 * 1024);
    EXPECT_EQ(ring["rounds"], 14);
    EXPECT_EQ(ring["copies"], 0);
}

TEST(Coll, ShowsARanksOperations) {
    const Outcome shown = loom_program("coll show allreduce -n 2 -a recursive-doubling --rank 1");

    EXPECT_THAT(shown.out, HasSubstr("rank 1 of 2, 0 bytes of scratch\n"
                                     "    0  send 8 B to 0 tag 2 from input+0\n"
                                     "    1  receive 8 B from 0 tag 2 to output+0\n"
                                     "    2  reduce 8 B input+0 into output+0, after 1\n"));
}

TEST(Coll, ExportsWhatSimAndCongestionRead) {
    const TemporaryFolder folder;
    const std::string goal = folder.file("c.goal"), pairs = folder.file("c.pairs");
    const std::string tree = folder.file("tree.json"), tables = folder.file("tree.lft");
    ASSERT_EQ(loom_program("fabric new kary 4 2 -q -o " + tree).exit_code, 0);
    ASSERT_EQ(loom_program("route " + tree + " --engine ftree -o " + tables).exit_code, 0);

    const Outcome written =
        loom_program("coll export alltoall -n 16 -b 4KiB -a bruck --copy 0.1 --goal " + goal + " --pairs " + pairs);
    const Outcome played = loom_program("sim --json --level message --goal " + goal);
    const Outcome routed = loom_program("sim --json --level flow " + tree + " " + tables + " --goal " + goal);
    const Outcome by_goal = loom_program("congestion --json " + tree + " " + tables + " --pattern goal:" + goal);
    const Outcome by_pairs = loom_program("congestion --json " + tree + " " + tables + " --pattern pairs:" + pairs);

    EXPECT_EQ(written.exit_code, 0) << written.err;
    EXPECT_EQ(played.exit_code, 0) << played.err;
    EXPECT_EQ(routed.exit_code, 0) << routed.err;
    const json counted = json::parse(by_goal.out);
    EXPECT_EQ(counted["stages"], 4);
    EXPECT_EQ(counted["flows"], 16 * 4);
    EXPECT_EQ(counted["per_stage"], json::parse(by_pairs.out)["per_stage"]);
}

TEST(Coll, RefusesWhatCannotBe) {
    for (const char* words :
         {"show allreduces", "show allreduce -a rings", "show allreduce -n 0", "show bcast --root 8",
          "show allreduce -b x", "show allreduce --element 3 -b 8", "show barrier --rank 8",
          "show neighbour_allgather -n 8 --grid 3x3", "show neighbour_allgather --grid 3xx",
          "show allreduce -a ring --ordered", "show allgather -n 6 -a recursive-doubling",
          "show barrier -a hierarchical", "export allreduce", "list everything"}) {
        const Outcome refused = loom_program(std::string("coll ") + words);

        EXPECT_EQ(refused.exit_code, 2) << words;
        EXPECT_THAT(refused.err, HasSubstr("loom: ")) << words;
        EXPECT_EQ(refused.out, "") << words;
    }
}

}  // namespace
