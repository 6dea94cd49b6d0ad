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

TEST(FabricNew, EveryKindWritesAFileThatShowReads) {
    const TemporaryFolder folder;
    const std::pair<const char*, std::pair<int, int>> kinds[] = {
        {"kary 4 3", {64, 48}},
        {"kary 4 2 --merge-roots 2 --radix 8", {16, 6}},
        {"pgft -m 4,2,4 -w 1,2,2 -p 1,2,2 --adjacent", {32, 20}},
        {"clos -c 8 -r 1:3 --ports 528 -d 2", {528, 330}},
        {"torus 4x3x2 --hosts 2", {48, 24}},
        {"torus 5x5 --mesh", {25, 25}},
        {"dragonfly -a 4 -p 2 -g 2", {72, 36}},
        {"rail --units 2 --servers-per-unit 4 --rails 4 --spines 2", {32, 10}},
    };

    for (const auto& [kind, counts] : kinds) {
        const Outcome made = loom_program(std::string("fabric new ") + kind + " --json -o " + folder.file("f.json"));
        const Outcome shown = loom_program("fabric show --json " + folder.file("f.json"));

        EXPECT_EQ(made.exit_code, 0) << kind << made.err;
        EXPECT_EQ(made.err, "") << kind;
        ASSERT_EQ(shown.exit_code, 0) << kind << shown.err;
        const json figures = json::parse(shown.out);
        EXPECT_EQ(figures["hosts"], counts.first) << kind;
        EXPECT_EQ(figures["switches"], counts.second) << kind;
        EXPECT_EQ(json::parse(made.out)["hosts"], counts.first) << kind;
        EXPECT_EQ(figures["lids"], counts.first + counts.second) << kind;
    }
}

TEST(FabricNew, RefusesBadArgumentsInOneLineAndWritesNothing) {
    const TemporaryFolder folder;
    const std::string file = folder.file("f.json");
    const std::pair<std::string, const char*> cases[] = {
        {"kary 4 3", "--output is required"},
        {"kary 4 -o " + file, "N is required"},
        {"kary 4 0 -o " + file, "must be from 1 to 22, got 0"},
        {"kary 4 3 --rate fast -o " + file, "such as 4xHDR, got \"fast\""},
        {"kary 4 3 --remove-links 4x -o " + file, "--remove-links expects a number or a share such as 5%"},
        {"kary 4 3 --remove-links 101% -o " + file, "--remove-links expects a number or a share"},
        {"kary 4 3 --remove-links 1000 -o " + file, "cannot take 1000 links: only 128 can go"},
        {"kary 4 3 --cut L0-00 -o " + file, "--cut expects NODE:PORT"},
        {"kary 4 3 --remove nobody -o " + file, "no node called \"nobody\""},
        {"kary 4 3 --lmc 8 -o " + file, "--lmc"},
        {"kary 4 3 --to wax -o " + file, "no such format: wax; there are json"},
        {"kary 4 3 --json -o -", "--json needs standard output for itself"},
        {"kary 3 2 --merge-roots 2 -o " + file, "cannot merge 2 roots"},
        {"pgft -m 4,x -w 1,4 -o " + file, "--children expects numbers such as 4,4,2"},
        {"pgft -m 4,4 -w 1 -o " + file, "as many parents as children"},
        {"clos -c 8 -r 1 -o " + file, "--ratio expects UP:DOWN"},
        {"torus 4by4 -o " + file, "SIZE expects numbers such as 4x4x2"},
        {"pgft -m 100,1000 -w 1,1 -o " + file, "at most 254"},
        {"torus 50x50x40 -o " + file, "more LIDs than the 49,151"},
        {"kary -4 2 -o " + file, "K: expected a whole number, got \"-4\""},
        {"kary 4 2 --hosts 0 -o " + file, "--hosts: expected a whole number of at least 1"},
        {"kary 4 2 --as full -o " + file, "--as full is a variant of ibnetdiscover's format, this file is json"},
        {"kary 4 2 -o " + folder.file("f.svg"), "the name of a picture, but this writes a fabric"},
        {"kary 4 2 -o " + folder.file("f.lft"), "the name of forwarding tables, but this writes a fabric"},
        {"kary 4 2 -o /dev/full", "/dev/full: cannot write: No space left on device"},
        {"moebius -o " + file, "no such command"},
    };

    for (const auto& [arguments, why] : cases) {
        const Outcome outcome = loom_program("fabric new " + arguments);

        EXPECT_EQ(outcome.exit_code, 2) << arguments;
        EXPECT_EQ(outcome.out, "") << arguments;
        EXPECT_THAT(outcome.err, HasSubstr(why));
        EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
        EXPECT_FALSE(std::filesystem::exists(file)) << arguments;
    }
}

TEST(FabricNew, SameSeedSameFile) {
    const Outcome first =
        loom_program("fabric new kary 4 3 -q --remove-links 10% --remove-switches 2 --seed 5 --shuffle ports -o -");
    const Outcome second =
        loom_program("fabric new kary 4 3 -q --remove-links 10% --remove-switches 2 --seed 5 --shuffle ports -o -");
    const Outcome other =
        loom_program("fabric new kary 4 3 -q --remove-links 10% --remove-switches 2 --seed 6 --shuffle ports -o -");

    EXPECT_EQ(first.exit_code, 0) << first.err;
    EXPECT_EQ(first.err, "");
    EXPECT_GT(first.out.size(), 1000);
    EXPECT_EQ(first.out, second.out);
    EXPECT_NE(first.out, other.out);
}

TEST(FabricDamage, KeepsLidsAndNamesWhatIsGone) {
    const TemporaryFolder folder;
    (void)loom_program("fabric new kary 4 2 -o " + folder.file("whole.json"));

    const Outcome outcome = loom_program("fabric damage " + folder.file("whole.json") + " --json -o " +
                                         folder.file("less.json") + " --remove L1-2 --cut L0-0:5 --aggregation-nodes");

    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const json said = json::parse(outcome.out);
    EXPECT_EQ(said["removed"]["switches"], json({"L1-2"}));
    EXPECT_EQ(said["removed"]["links"], json({"L0-0 port 5 - L1-0 port 1"}));
    const json figures = json::parse(loom_program("fabric show --json " + folder.file("less.json")).out);
    EXPECT_EQ(figures["lids"], 16 + 7 + 7);
    EXPECT_EQ(figures["aggregation_nodes"], 7);
    EXPECT_EQ(figures["levels"][0]["up_each"], json({2, 3}));
}

TEST(FabricShow, TellsPeopleTheSame) {
    const TemporaryFolder folder;
    (void)loom_program("fabric new kary 4 2 -o " + folder.file("tree.json") + " --remove host05");

    const Outcome outcome = loom_program("fabric show " + folder.file("tree.json"));

    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.out, HasSubstr("15 hosts, 8 switches; 16 links between switches, 15 to hosts"));
    EXPECT_THAT(outcome.out, HasSubstr("- leaves carry from 3 to 4 hosts"));
}

TEST(FabricConvert, GoesThereAndBackAndRefusesNonsense) {
    const TemporaryFolder folder;
    (void)loom_program("fabric new kary 3 2 -o " + folder.file("tree.json"));

    const Outcome there = loom_program("fabric convert " + folder.file("tree.json") + " " + folder.file("tree.net"));
    const Outcome back =
        loom_program("fabric convert --json " + folder.file("tree.net") + " " + folder.file("again.json"));
    const Outcome missing = loom_program("fabric convert " + folder.file("none.json") + " " + folder.file("x.json"));
    const Outcome nonsense =
        loom_program("fabric convert " + std::string(LOOM_SOURCE_DIR) + "/LICENSE " + folder.file("x.json"));

    EXPECT_EQ(there.exit_code, 0) << there.err;
    EXPECT_THAT(there.out, HasSubstr("(ibsim)"));
    ASSERT_EQ(back.exit_code, 0) << back.err;
    EXPECT_EQ(json::parse(back.out)["links"], 18);
    EXPECT_EQ(missing.exit_code, 2);
    EXPECT_EQ(nonsense.exit_code, 2);
    EXPECT_FALSE(std::filesystem::exists(folder.file("x.json")));
}

TEST(FabricDamage, TakesNamesWithColons) {
    const TemporaryFolder folder;
    const std::string whole = folder.file("whole.json");
    (void)loom_program("fabric new kary 4 2 -q -o " + whole);
    std::string text = loom::test::slurp(whole);
    text.replace(text.find("\"L0-0\""), 6, "\"rack:7\"");
    std::ofstream(whole) << text;

    const Outcome outcome =
        loom_program("fabric damage " + whole + " --json -o " + folder.file("less.json") + " --cut rack:7:5");

    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(json::parse(outcome.out)["removed"]["links"], json({"rack:7 port 5 - L1-0 port 1"}));
}

TEST(FabricDamage, WantsSomethingToDamage) {
    const TemporaryFolder folder;
    (void)loom_program("fabric new kary 3 2 -o " + folder.file("tree.json"));

    const Outcome nothing = loom_program("fabric damage " + folder.file("tree.json") + " -o " + folder.file("x.json"));

    EXPECT_EQ(nothing.exit_code, 2);
    EXPECT_THAT(nothing.err, HasSubstr("expected something to damage"));
    EXPECT_FALSE(std::filesystem::exists(folder.file("x.json")));
}

// A tree that lacks one host, so that a place keeper stands for it.
TEST(FabricOrder, IsReadBackAsAPlacement) {
    const TemporaryFolder folder;
    const std::string tree = folder.file("tree.json"), order = folder.file("opensm-ftree-ca-order.dump");
    (void)loom_program("fabric new kary 3 2 --remove host4 -q -o " + tree);
    const std::string run = "congestion " + tree + " --engine ftree --json --place ";

    const Outcome written = loom_program("fabric order --json " + tree + " -o " + order);
    const Outcome names = loom_program("fabric order " + tree + " --to hosts --no-keepers -o " + folder.file("names"));

    ASSERT_EQ(written.exit_code, 0) << written.err;
    EXPECT_EQ(json::parse(written.out)["hosts"], 8);
    EXPECT_EQ(json::parse(written.out)["place_keepers"], 1);
    EXPECT_THAT(loom::test::slurp(order), AllOf(HasSubstr("\thost0\n"), HasSubstr("0xFFFF\tDUMMY\n")));
    ASSERT_EQ(names.exit_code, 0) << names.err;
    EXPECT_EQ(loom::test::slurp(folder.file("names")), "host0\nhost1\nhost2\nhost3\nhost5\nhost6\nhost7\nhost8\n");
    const Outcome with_keepers = loom_program("fabric order " + tree + " --to hosts -o -");
    EXPECT_EQ(with_keepers.out, "host0\nhost1\nhost2\nhost3\n-\nhost5\nhost6\nhost7\nhost8\n");
    const Outcome kept = loom_program(run + order), plain = loom_program(run + "order"),
                  listed = loom_program(run + folder.file("names"));
    ASSERT_EQ(kept.exit_code, 0) << kept.err;
    EXPECT_EQ(json::parse(kept.out)["ranks"], 9);
    EXPECT_EQ(listed.out, plain.out);
}

TEST(FabricOrder, NeedsLidsForOpensmsForm) {
    const TemporaryFolder folder;
    (void)loom_program("fabric new kary 3 2 --no-lids -q -o " + folder.file("tree.json"));

    const Outcome refused = loom_program("fabric order " + folder.file("tree.json") + " -o " + folder.file("order"));
    const Outcome names = loom_program("fabric order " + folder.file("tree.json") + " --to hosts -o -");

    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_THAT(refused.err, HasSubstr("host0 has no LID, which OpenSM's order names hosts by; --to hosts"));
    EXPECT_FALSE(std::filesystem::exists(folder.file("order")));
    EXPECT_EQ(std::count(names.out.begin(), names.out.end(), '\n'), 9);
}

TEST(FabricDraw, MakesAPictureOrAGraphvizFile) {
    const TemporaryFolder folder;
    (void)loom_program("fabric new kary 3 2 -o " + folder.file("tree.json"));

    const Outcome svg = loom_program("fabric draw " + folder.file("tree.json") + " -o " + folder.file("tree.svg"));
    const Outcome dot =
        loom_program("fabric draw --json " + folder.file("tree.json") + " -o " + folder.file("tree.dot"));
    const Outcome other = loom_program("fabric draw " + folder.file("tree.json") + " -o " + folder.file("tree.png"));

    EXPECT_EQ(svg.exit_code, 0) << svg.err;
    EXPECT_THAT(loom::test::slurp(folder.file("tree.svg")), AllOf(HasSubstr("<svg"), HasSubstr("L1-2")));
    ASSERT_EQ(dot.exit_code, 0) << dot.err;
    EXPECT_EQ(json::parse(dot.out)["format"], "dot");
    EXPECT_THAT(loom::test::slurp(folder.file("tree.dot")), HasSubstr("graph"));
    EXPECT_EQ(other.exit_code, 2);
    EXPECT_THAT(other.err, HasSubstr("a name that ends in .svg, .dot or .gv"));
}

TEST(FabricConvert, SaysWhatTheTargetCannotCarry) {
    const TemporaryFolder folder;
    EXPECT_EQ(loom_program("fabric new kary 4 2 --lmc 1 -o " + folder.file("f.json")).exit_code, 0);

    const Outcome lossy = loom_program("fabric convert " + folder.file("f.json") + " " + folder.file("f.lst"));
    const Outcome whole = loom_program("fabric convert " + folder.file("f.json") + " " + folder.file("g.json"));
    const Outcome object = loom_program("fabric convert --json " + folder.file("f.json") + " " + folder.file("f.dot"));

    EXPECT_THAT(lossy.err, HasSubstr("loom: subnet_lst: LMCs are not kept\n"));
    EXPECT_EQ(whole.err, "");
    EXPECT_THAT(json::parse(object.out)["losses"].dump(), HasSubstr("dot: LIDs are not kept"));
    EXPECT_EQ(object.err, "");
}

TEST(FabricNew, CountsAggregationNodesApartAndSaysThatSwitchesGrow) {
    const TemporaryFolder folder;

    const Outcome made = loom_program("fabric new kary 4 2 --radix 8 --aggregation-nodes -o " + folder.file("f.json"));
    const Outcome plain = loom_program("fabric new kary 4 2 --radix 8 -o " + folder.file("g.json"));

    EXPECT_THAT(made.out, HasSubstr("16 hosts and 8 aggregation nodes, 8 switches"));
    EXPECT_THAT(made.err, HasSubstr("switches have 9 ports instead of 8: one more each for its aggregation node"));
    EXPECT_EQ(plain.err, "");
}

}  // namespace
