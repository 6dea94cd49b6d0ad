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

TEST(Demo, ShowsTheWholeAndWritesOnlyToItsFolder) {
    const TemporaryFolder folder;

    const Outcome outcome = loom_program("demo --json " + folder.file("demo"));

    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    const auto object = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(object["engines"]["ftree"]["worst"], 1);
    EXPECT_GT(object["engines"]["minhop"]["worst"], 1);
    EXPECT_EQ(object["damaged"]["old, as they were"]["valid"], false);
    EXPECT_EQ(object["damaged"]["repaired"]["valid"], true);
    EXPECT_LT(object["damaged"]["repaired"]["changed"], object["damaged"]["ftree anew"]["changed"]);
    for (const char* name : {"tree.json", "ftree.lft", "damaged.json", "repaired.lft", "mapping.txt", "report.html"})
        EXPECT_GT(std::filesystem::file_size(folder.path() / "demo" / name), 100u) << name;
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(Demo, SaysWhenItsFolderCannotBeMade) {
    const Outcome outcome = loom_program("demo /dev/null/nowhere");

    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("cannot make the folder"));
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

TEST_F(Report, NeedsAFabricFromSomewhere) {
    std::ofstream(file("a.scn")) << "level message\nranks 4\npattern ring\n";

    const Outcome none = loom_program("report -o " + file("page.html"));
    const Outcome message = loom_program("report --scenario " + file("a.scn") + " -o " + file("page.html"));

    EXPECT_EQ(none.exit_code, 2);
    EXPECT_EQ(message.exit_code, 2);
    EXPECT_THAT(message.err, HasSubstr("expected a scenario with a fabric"));
}

}  // namespace
