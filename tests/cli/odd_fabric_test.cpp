// Fabrics and files that are not what a command expects: it says so, and does not answer as if they were.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/process.hpp"

namespace {

using loom::test::loom_program;
using loom::test::Outcome;
using loom::test::TemporaryFolder;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class OddFabric : public testing::Test {
protected:
    // A switch and three hosts, with the names and LIDs given.
    void star(const std::string& a, const std::string& b, const std::string& c, const std::string& lids) const {
        write(
            "star.json",
            R"({"loom":"fabric","version":1,"title":"t","nodes":[{"kind":"switch","ports":4,"name":"s","guid":"0x1"},)"
            R"({"kind":"host","ports":1,"name":")" +
                a + R"(","guid":"0x10"},{"kind":"host","ports":1,"name":")" + b +
                R"(","guid":"0x20"},{"kind":"host","ports":1,"name":")" + c + R"(","guid":"0x30"}],"lids":[)" + lids +
                R"(],"links":[[0,1,1,1,"4xQDR"],[0,2,2,1,"4xQDR"],[0,3,3,1,"4xQDR"]]})");
    }
    void write(const std::string& name, const std::string& text) const { std::ofstream(file(name)) << text; }
    [[nodiscard]] std::string file(const std::string& name) const { return folder.file(name); }

    TemporaryFolder folder;
};

TEST_F(OddFabric, LidsOfTwoPortsAreShownAndNotRouted) {
    star("a", "b", "c", "[0,0,9,0],[1,1,1,0],[2,1,1,0],[3,1,3,0]");

    const Outcome shown = loom_program("fabric show " + file("star.json"));
    const Outcome routed = loom_program("route " + file("star.json") + " --engine minhop -o " + file("t.lft"));

    EXPECT_EQ(shown.exit_code, 0);
    EXPECT_THAT(shown.out, HasSubstr("LID 1 belongs to two ports: a port 1 and b port 1"));
    EXPECT_EQ(routed.exit_code, 2);
    EXPECT_THAT(routed.err, HasSubstr("LID 1 belongs to two ports"));
    EXPECT_FALSE(std::filesystem::exists(file("t.lft")));
}

TEST_F(OddFabric, WithoutASwitchThereIsNothingToRoute) {
    write("pair.json",
          R"({"loom":"fabric","version":1,"title":"t","nodes":[{"kind":"host","ports":1,"name":"a","guid":"0x10"},)"
          R"({"kind":"host","ports":1,"name":"b","guid":"0x20"}],"lids":[],"links":[[0,1,1,1,"4xQDR"]]})");

    const Outcome shown = loom_program("fabric show " + file("pair.json"));
    const Outcome routed = loom_program("route " + file("pair.json") + " --engine minhop -q -o " + file("t.lft"));

    EXPECT_THAT(shown.out, AllOf(HasSubstr("there is no switch"), Not(HasSubstr("Nothing deviates"))));
    EXPECT_EQ(routed.exit_code, 2);
    EXPECT_THAT(routed.err, HasSubstr("there is no switch, so there is nothing to route"));
    EXPECT_FALSE(std::filesystem::exists(file("t.lft")));
}

TEST_F(OddFabric, HostsWithoutANameKeepTheirRank) {
    star("", "b", "c", "[0,0,9,0],[1,1,1,0],[2,1,2,0],[3,1,3,0]");
    EXPECT_EQ(loom_program("fabric order " + file("star.json") + " --to hosts -o " + file("hosts")).exit_code, 0);
    EXPECT_EQ(loom_program("fabric order " + file("star.json") + " -o " + file("opensm")).exit_code, 0);

    for (const std::string place : {"hosts", "opensm"}) {
        const Outcome counted =
            loom_program("congestion " + file("star.json") + " --engine minhop --pattern ring --place " + file(place));

        EXPECT_EQ(counted.exit_code, 0) << counted.err;
        EXPECT_THAT(counted.out, HasSubstr("ring over 3 ranks")) << place;
    }
}

TEST_F(OddFabric, ANameOfTwoHostsIsSaid) {
    star("a", "a", "c", "[0,0,9,0],[1,1,1,0],[2,1,2,0],[3,1,3,0]");

    write("places", "a\nc\n");
    const std::string traffic = file("star.json") + " --engine minhop --pattern ring";

    const Outcome counted = loom_program("congestion " + traffic + " --hosts a,c");
    const Outcome listed = loom_program("sim " + traffic + " --hosts a,c");
    const Outcome placed = loom_program("sim " + traffic + " --place " + file("places"));
    const Outcome flowed = loom_program("sim " + file("star.json") + " --flow a:c --flow c:a");
    const Outcome exact = loom_program("sim " + file("star.json") + " --flow 0x10:c --flow c:0x20");

    for (const Outcome& outcome : {counted, listed, placed, flowed}) {
        EXPECT_EQ(outcome.exit_code, 0);
        EXPECT_THAT(outcome.err,
                    HasSubstr("a name fits several hosts (the first is \"a\": a (0x0000000000000010) and a "
                              "(0x0000000000000020)); they are taken in turn"));
    }
    EXPECT_EQ(exact.exit_code, 0);
    EXPECT_THAT(exact.err, Not(HasSubstr("several hosts")));
}

TEST_F(OddFabric, WhatIsNoFabricIsCalledByItsName) {
    write("job.scn", "switch S 8\nhost A\nhost B\nlink A S:1\nlink B S:2\nflow A-B from A to B bytes 1MB\n");
    write("empty", " \n");

    const Outcome scenario = loom_program("fabric show " + file("job.scn"));
    const Outcome empty = loom_program("fabric show " + file("empty"));

    EXPECT_EQ(scenario.exit_code, 2);
    EXPECT_THAT(scenario.err, HasSubstr("this is a scenario"));
    EXPECT_EQ(empty.exit_code, 2);
    EXPECT_THAT(empty.err, HasSubstr("the file is empty"));
}

TEST_F(OddFabric, WhatIsNoFabricIsCalledByItsNameBeforeTrafficIsAskedFor) {
    star("a", "b", "c", "");
    write("job.scn", "switch S 8\nhost A\nhost B\nlink A S:1\nlink B S:2\nflow A-B from A to B bytes 1MB\n");
    write("words", "what is this\n");

    const Outcome alone = loom_program("sim " + file("job.scn"));
    const Outcome played = loom_program("sim " + file("job.scn") + " --pattern ring");
    const Outcome words = loom_program("sim " + file("words"));
    const Outcome fabric = loom_program("sim " + file("star.json"));

    EXPECT_EQ(alone.exit_code, 2);
    EXPECT_THAT(alone.err, AllOf(HasSubstr("this is a scenario"), HasSubstr("--scenario")));
    EXPECT_EQ(played.exit_code, 2);
    EXPECT_THAT(played.err, HasSubstr("this is a scenario"));
    EXPECT_EQ(words.exit_code, 2);
    EXPECT_THAT(words.err, AllOf(HasSubstr("words"), HasSubstr("expected a fabric"), Not(HasSubstr("traffic"))));
    EXPECT_EQ(fabric.exit_code, 2);
    EXPECT_THAT(fabric.err, HasSubstr("expected traffic"));
}

TEST_F(OddFabric, AnEndingThatNamesNoFormatIsSaid) {
    star("a", "b", "c", "");

    const Outcome mistyped = loom_program("fabric convert " + file("star.json") + " " + file("star.nte"));
    const Outcome meant =
        loom_program("fabric convert " + file("star.json") + " " + file("star.txt") + " --format ibsim");
    const Outcome tables = loom_program("route " + file("star.json") + " -o " + file("t") + " --to fdbs -j 1");

    EXPECT_EQ(mistyped.exit_code, 0);
    EXPECT_THAT(mistyped.err, HasSubstr("has no ending that names a format; json was written"));
    EXPECT_EQ(meant.exit_code, 0) << meant.err;
    EXPECT_THAT(meant.err, Not(HasSubstr("no ending")));
    EXPECT_EQ(tables.exit_code, 0) << tables.err;
}

TEST_F(OddFabric, ADeviceWithoutEndIsRefused) {
    star("a", "b", "c", "");

    const Outcome outcome =
        loom_program("congestion " + file("star.json") + " --engine minhop --pattern ring --place /dev/zero");

    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("/dev/zero: is too long"));
}

}  // namespace
