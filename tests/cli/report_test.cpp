#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "support/process.hpp"

namespace {

using loom::test::loom_program;
using loom::test::Outcome;
using loom::test::slurp;
using loom::test::TemporaryFolder;
using testing::HasSubstr;

class Report : public testing::Test {
protected:
    Report() { EXPECT_EQ(loom_program("fabric new kary 4 2 -o " + tree()).exit_code, 0); }
    [[nodiscard]] std::string tree() const { return folder_.file("tree.json"); }
    [[nodiscard]] std::string file(const std::string& name) const { return folder_.file(name); }

private:
    TemporaryFolder folder_;
};

TEST_F(Report, WritesAPageAndAPicture) {
    const Outcome outcome =
        loom_program("report " + tree() + " -o " + file("page.html") + " --picture " + file("a.svg"));

    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("16 hosts, 8 switches, tables valid, shift contention 1 at worst"));
    EXPECT_THAT(slurp(file("page.html")), HasSubstr("No tables were given"));
    EXPECT_THAT(slurp(file("a.svg")), HasSubstr("<svg xmlns"));
}

TEST_F(Report, PrintsOneObjectWithJson) {
    const Outcome outcome = loom_program("report " + tree() + " --json -o " + file("page.html"));

    const auto object = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(outcome.err, "");
    EXPECT_EQ(object["hosts"], 16);
    EXPECT_EQ(object["engine"], "ftree");
    EXPECT_EQ(object["valid"], true);
    EXPECT_EQ(object["shift"]["worst"], 1);
    EXPECT_EQ(object["levels"].size(), 2u);
}

TEST_F(Report, AFabricWithoutLidsTakesThoseOfTheTables) {
    ASSERT_EQ(loom_program("fabric convert " + tree() + " " + file("plain.topo")).exit_code, 0);  // a form without LIDs
    ASSERT_EQ(loom_program("route " + file("plain.topo") + " --engine minhop --lmc 2 -o " + file("t.lft")).exit_code,
              0);

    const Outcome outcome =
        loom_program("report --json " + file("plain.topo") + " " + file("t.lft") + " -o " + file("page.html"));

    ASSERT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
    EXPECT_EQ(nlohmann::json::parse(outcome.out)["valid"], true);
}

TEST_F(Report, RefusesWhatItCannotRead) {
    const Outcome missing = loom_program("report " + file("none.json") + " -o " + file("page.html"));
    const Outcome both = loom_program("report " + tree() + " --json -o -");

    EXPECT_EQ(missing.exit_code, 2);
    EXPECT_EQ(both.exit_code, 2);
    EXPECT_FALSE(std::filesystem::exists(file("page.html")));
}

TEST_F(Report, LeavesNoPageWhenThePictureCannotBeWritten) {
    const Outcome outcome =
        loom_program("report " + tree() + " -o " + file("page.html") + " --picture " + file("no/p.svg"));
    const Outcome wrong = loom_program("report " + tree() + " -o " + file("page.pdf"));

    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_FALSE(std::filesystem::exists(file("page.html")));
    EXPECT_EQ(wrong.exit_code, 2);
    EXPECT_THAT(wrong.err, HasSubstr("the name of a document, but this writes an HTML page"));
}

TEST_F(Report, TellsWhatASimulationSaw) {
    std::ofstream(file("a.scn")) << "title Two <flows>\nlevel flow\nuntil 10us\nwatch L0-1:4\n"
                                    "flow f from host00 to host07 endless\nflow g from host01 to host07 endless\n";

    const Outcome outcome =
        loom_program("report " + tree() + " --json --scenario " + file("a.scn") + " -o " + file("page.html"));

    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto object = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(object["hosts"], 16);
    EXPECT_EQ(object["simulation"]["state"], "running");
    EXPECT_EQ(object["simulation"]["flows"][1]["flow"], "g");
    const std::string page = slurp(file("page.html"));
    EXPECT_THAT(page, HasSubstr("Simulation: Two &lt;flows&gt;"));
    EXPECT_THAT(page, HasSubstr("What the watched ports sent."));
    EXPECT_THAT(page, HasSubstr("was stopped at 10 us"));
}

// Who suffered and why stands before the fabric itself, and the manager's decisions with it.
TEST_F(Report, ShowsWhoSufferedAndWhatTheManagerDid) {
    const Outcome outcome = loom_program("report --json -s " + std::string(LOOM_SOURCE_DIR) +
                                         "/examples/scenarios/managed.scn -o " + file("page.html"));

    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto simulation = nlohmann::json::parse(outcome.out).at("simulation");
    ASSERT_EQ(simulation.at("suffering").size(), 1u);
    EXPECT_EQ(simulation.at("suffering")[0].at("flow"), "X-Y");
    EXPECT_EQ(simulation.at("suffering")[0].at("cause"), "behind");
    EXPECT_EQ(simulation.at("suffering")[0].at("full_port"), "S2 port 23");
    EXPECT_EQ(simulation.at("managed").at("policy"), "proportional");
    EXPECT_GT(simulation.at("managed").at("flows")[1].at("gbit_per_s"), 6.5);
    const std::string page = slurp(file("page.html"));
    EXPECT_LT(page.find("behind packets for S2 port 23"), page.find("<h2>Picture</h2>"));
    EXPECT_THAT(page, HasSubstr("With the manager."));
    EXPECT_THAT(page, HasSubstr("S2 port 23: marking rate 128 -&gt; "));
}

TEST_F(Report, LeavesTheManagerOutWhereNothingIsMarked) {
    std::ofstream(file("flow.scn")) << "level flow\npattern ring\nmanager sweep 1ms\n";

    const Outcome flow = loom_program("report " + tree() + " -o " + file("page.html") + " -s " + file("flow.scn"));

    EXPECT_EQ(flow.exit_code, 0) << flow.err;
    EXPECT_THAT(flow.err, HasSubstr("only the packet level has congestion control"));
}

TEST_F(Report, NeedsAFabricFromSomewhere) {
    std::ofstream(file("a.scn")) << "level message\nranks 4\npattern ring\n";

    const Outcome none = loom_program("report -o " + file("page.html"));
    const Outcome message = loom_program("report --scenario " + file("a.scn") + " -o " + file("page.html"));

    EXPECT_EQ(none.exit_code, 2);
    EXPECT_EQ(message.exit_code, 2);
    EXPECT_THAT(message.err, HasSubstr("expected a scenario with a fabric"));
}

}  // namespace
