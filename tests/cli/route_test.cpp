#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/process.hpp"

namespace {

using loom::test::loom_program;
using loom::test::Outcome;
using loom::test::TemporaryFolder;
using nlohmann::json;
using testing::HasSubstr;

// A folder with tree.json (3-ary 3-tree, 27 hosts) and torus.json (6x6, 36 hosts).
class Route : public testing::Test {
protected:
    Route() {
        make("kary 3 3", "tree.json");
        make("torus 6x6", "torus.json");
    }
    void make(const std::string& kind, const std::string& name) const {
        const Outcome made = loom_program("fabric new " + kind + " -q -o " + file(name));
        EXPECT_EQ(made.exit_code, 0) << made.err;
    }
    [[nodiscard]] std::string file(const std::string& name) const { return folder.file(name); }

    TemporaryFolder folder;
};

TEST_F(Route, EveryEngineGivesTablesThatPassTheCheck) {
    for (const std::string engine : {"minhop", "updn", "ftree", "dmodk", "sssp", "dfsssp", "random"})
        for (const std::string form : {"t.lft", "t.json", "t.fdbs"}) {
            const Outcome routed =
                loom_program("route " + file("tree.json") + " --engine " + engine + " -o " + file(form));
            const Outcome checked = loom_program("check " + file("tree.json") + " " + file(form));

            EXPECT_EQ(routed.exit_code, 0) << engine << routed.err;
            EXPECT_THAT(routed.out, HasSubstr(engine + ": 27 end ports on 27 switches in "));
            EXPECT_EQ(checked.exit_code, 0) << engine << checked.out << checked.err;
            EXPECT_THAT(checked.out, HasSubstr("deadlock-free"));
        }
}

TEST_F(Route, SpeaksJson) {
    const Outcome routed = loom_program("route --json " + file("tree.json") + " --engine ftree -o " + file("t.lft"));
    const Outcome checked = loom_program("check --json " + file("tree.json") + " " + file("t.lft"));

    const json made = json::parse(routed.out), verdict = json::parse(checked.out);
    EXPECT_EQ(made["engine"], "ftree");
    EXPECT_EQ(made["end_ports"], 27);
    EXPECT_EQ(made["bytes"], 27 * 55);
    EXPECT_EQ(verdict["ok"], true);
    EXPECT_EQ(verdict["host_pairs"], 27 * 26);
    EXPECT_EQ(verdict["hops"]["4"], 27 * 18);
    EXPECT_EQ(verdict["balance"].size(), 4u);
}

TEST_F(Route, TheCheckFailsWithTheReasonForACreditLoop) {
    const Outcome routed = loom_program("route " + file("torus.json") + " --engine minhop -o " + file("t.lft"));
    const Outcome checked = loom_program("check " + file("torus.json") + " " + file("t.lft"));
    const Outcome as_json = loom_program("check --json " + file("torus.json") + " " + file("t.lft"));

    EXPECT_EQ(routed.exit_code, 0) << routed.err;
    EXPECT_EQ(checked.exit_code, 1);
    EXPECT_THAT(checked.out, HasSubstr("FAILED: credit loop of "));
    EXPECT_EQ(as_json.exit_code, 1);
    EXPECT_GE(json::parse(as_json.out)["credit_loops"][0]["channels"].size(), 3u);
}

TEST_F(Route, TablesThatNeedLanesAreOnlyWrittenWhereTheyCanBeSaid) {
    const std::string command = "route " + file("torus.json") + " --engine dfsssp -o ";

    const Outcome refused = loom_program(command + file("t.lft"));
    const Outcome forced = loom_program(command + file("forced.lft") + " --force");
    const Outcome as_json = loom_program(command + file("t.json"));
    const Outcome checked = loom_program("check " + file("torus.json") + " " + file("t.json"));

    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_FALSE(std::filesystem::exists(file("t.lft")));
    EXPECT_EQ(forced.exit_code, 0) << forced.err;
    EXPECT_EQ(as_json.exit_code, 0) << as_json.err;
    EXPECT_THAT(as_json.out, HasSubstr("virtual lanes"));
    EXPECT_EQ(checked.exit_code, 0) << checked.out;
}

TEST_F(Route, WithoutAnEngineATreeIsRoutedByFtree) {
    const Outcome routed = loom_program("route --json " + file("tree.json") + " -o " + file("t.lft"));

    ASSERT_EQ(routed.exit_code, 0) << routed.err;
    EXPECT_EQ(json::parse(routed.out)["engine"], "ftree");
}

TEST_F(Route, TablesInThePlaceOfAFabricAreRecognised) {
    loom_program("route " + file("tree.json") + " -q -o " + file("t.lft"));
    loom_program("route " + file("tree.json") + " -q -o " + file("t.fdbs"));

    const Outcome lft = loom_program("fabric show " + file("t.lft"));
    const Outcome fdbs = loom_program("check " + file("t.fdbs") + " " + file("tree.json"));

    EXPECT_EQ(lft.exit_code, 2);
    EXPECT_EQ(lft.err, "loom: " + file("t.lft") + ": these are forwarding tables (opensm); expected a fabric\n");
    EXPECT_EQ(fdbs.exit_code, 2);
    EXPECT_THAT(fdbs.err, HasSubstr("these are forwarding tables (fdbs); expected a fabric"));
}

TEST_F(Route, KeepChangesOnlyWhatAFaultBroke) {
    loom_program("route " + file("tree.json") + " --engine ftree -q -o " + file("old.lft"));
    const Outcome damaged =
        loom_program("fabric damage " + file("tree.json") + " --remove-links 2 -q -o " + file("damaged.json"));
    ASSERT_EQ(damaged.exit_code, 0) << damaged.err;

    const Outcome kept =
        loom_program("route --json " + file("damaged.json") + " --keep " + file("old.lft") + " -o " + file("new.lft"));
    const Outcome checked = loom_program("check " + file("damaged.json") + " " + file("new.lft"));

    ASSERT_EQ(kept.exit_code, 0) << kept.err;
    const json numbers = json::parse(kept.out)["kept"];
    EXPECT_GT(numbers["changed"], 0);
    EXPECT_LT(numbers["changed"], 200);
    EXPECT_GE(numbers["changed"], numbers["unavoidable"]);
    EXPECT_EQ(numbers["entries"], 27 * 54);
    EXPECT_EQ(checked.exit_code, 0) << checked.out;
}

TEST_F(Route, AFabricWithoutLidsTakesThoseOfTheTables) {
    make("kary 3 2", "plain.topo");  // a form without LIDs

    const Outcome routed = loom_program("route " + file("plain.topo") + " --engine minhop --lmc 2 -o " + file("t.lft"));
    const Outcome checked = loom_program("check --json " + file("plain.topo") + " " + file("t.lft"));

    EXPECT_EQ(routed.exit_code, 0) << routed.err;
    EXPECT_EQ(checked.exit_code, 0) << checked.out << checked.err;
    EXPECT_EQ(json::parse(checked.out)["lids"], 9 * 4 + 6);

    const Outcome counted = loom_program("congestion --json " + file("plain.topo") + " " + file("t.lft") + " --lid 3");

    ASSERT_EQ(counted.exit_code, 0) << counted.err;
    EXPECT_EQ(json::parse(counted.out)["unrouted"], 0);
}

TEST_F(Route, BadInputIsOneLineAndWritesNothing) {
    std::ofstream(file("roots")) << "0x4c6f6f6d00000001\nno guid\n";
    const std::string tree = file("tree.json"), out = " -o " + file("t.lft");
    const std::pair<std::string, const char*> cases[] = {
        {"route " + tree + " --engine fastest" + out, "no engine is called 'fastest', expected one of minhop"},
        {"route " + file("torus.json") + out, "; --engine dfsssp takes fabrics of any shape"},
        {"route " + file("torus.json") + " --engine dfsssp --lanes 1" + out,
         "needs more than 1 virtual lane on this fabric"},
        {"route " + file("torus.json") + " -q --engine dfsssp" + out,
         "--format json (or to a .json file), or anyway with --force"},
        {"route " + tree + " -o " + file("t.html"), "the name of a page, but this writes forwarding tables"},
        {"check - -", "standard input can be used once; FABRIC and TABLES are both -"},
        {"route " + tree + " --engine minhop --keep " + tree + out, "takes no --engine"},
        {"route " + tree + " --engine minhop --format wax" + out, "wax"},
        {"route " + tree + " --engine minhop --lmc 1" + out, "has LID"},
        {"route " + tree + " --engine updn --roots " + file("roots") + out, "roots:2:"},
        {"route " + tree + " --engine minhop --json -o -", "--json needs standard output"},
        {"route " + file("nothing") + " --engine minhop" + out, "nothing"},
        {"check " + tree + " " + file("nothing"), "nothing"},
        {"check " + tree + " " + tree, "tree.json"},
    };

    for (const auto& [arguments, expected] : cases) {
        const Outcome outcome = loom_program(arguments);

        EXPECT_EQ(outcome.exit_code, 2) << arguments;
        EXPECT_THAT(outcome.err, HasSubstr(expected)) << arguments;
        EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
        EXPECT_EQ(outcome.out, "") << arguments;
    }
    EXPECT_FALSE(std::filesystem::exists(file("t.lft")));
}

TEST(LidRemark, SaysThatLidsWereInvented) {
    const TemporaryFolder folder;
    const std::string bare = folder.file("bare.json"), whole = folder.file("whole.json");
    EXPECT_EQ(loom_program("fabric new kary 4 2 --no-lids -o " + bare).exit_code, 0);
    EXPECT_EQ(loom_program("fabric new kary 4 2 -o " + whole).exit_code, 0);
    const std::string tables = folder.file("t.lfts"),
                      remark = "the fabric had no LIDs; Loomband's own were used, 1 to 24";

    EXPECT_THAT(loom_program("route " + bare + " --engine minhop -o " + tables).err, HasSubstr(remark));
    EXPECT_THAT(loom_program("bisection " + bare + " --engine minhop --samples 10").err, HasSubstr(remark));
    EXPECT_THAT(loom_program("report " + bare + " -o " + folder.file("r.html")).err, HasSubstr(remark));
    EXPECT_EQ(loom_program("route " + whole + " --engine minhop -o " + tables).err, "");
}

}  // namespace
