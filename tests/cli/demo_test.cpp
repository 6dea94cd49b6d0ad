#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/process.hpp"

namespace {

using loom::test::loom_program;
using loom::test::Outcome;
using loom::test::slurp;
using loom::test::TemporaryFolder;
using nlohmann::json;
using testing::HasSubstr;

// Of a build without the room twin there are no ranks.
void expect_ranks_to_fare_better_with_ftree_and_the_manager(const json& object) {
    const bool has_twin = loom_program("twin --help").exit_code == 0;
    ASSERT_EQ(object.contains("ranks"), has_twin);
    if (!has_twin) return;
    const json& rows = object["ranks"];
    ASSERT_EQ(rows.size(), 6u);
    const auto finish = [&](std::size_t row) { return rows[row].at("finish_s").get<double>(); };
    for (const std::size_t minhop : {0u, 2u, 4u}) EXPECT_LT(finish(minhop + 1), finish(minhop)) << rows;
    for (const std::size_t engine : {0u, 1u}) {
        EXPECT_GT(finish(engine + 2), 5 * finish(engine)) << rows;
        EXPECT_LT(finish(engine + 4), finish(engine + 2) / 3) << rows;
        EXPECT_GT(rows[engine + 4].at("changes").size(), 0u);
    }
}

TEST(Demo, ShowsTheWholeAndWritesOnlyToItsFolder) {
    const TemporaryFolder folder;
    setenv("XDG_CACHE_HOME", folder.path().c_str(), 1);  // where measured parameters would be kept

    const Outcome outcome = loom_program("demo --json " + folder.file("demo"));

    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    const json object = json::parse(outcome.out);
    EXPECT_EQ(object["engines"]["ftree"]["worst"], 1);
    EXPECT_GT(object["engines"]["minhop"]["worst"], 1);
    EXPECT_EQ(object["damaged"]["old, as they were"]["valid"], false);
    EXPECT_EQ(object["damaged"]["repaired"]["valid"], true);
    EXPECT_LT(object["damaged"]["repaired"]["changed"], object["damaged"]["ftree anew"]["changed"]);
    for (const char* name : {"tree.json", "ftree.lft", "damaged.json", "repaired.lft", "mapping.txt", "victim.scn",
                             "allreduce.svg", "report.html"})
        EXPECT_GT(std::filesystem::file_size(folder.path() / "demo" / name), 100u) << name;
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
    const std::string page = slurp(folder.path() / "demo" / "report.html");
    EXPECT_THAT(page, HasSubstr("A victim of congestion, and the manager"));
    EXPECT_THAT(page, HasSubstr("The other six together"));
    expect_ranks_to_fare_better_with_ftree_and_the_manager(object);
    EXPECT_EQ(page.find("1,728 ranks beside an incast") != std::string::npos, object.contains("ranks"));
    EXPECT_THAT(page, HasSubstr("A verbs program on two software HCAs"));
    EXPECT_EQ(object["verbs"].size(), 7u);
    const json& collective = object["collective"];
    EXPECT_EQ(collective["right"], true);
    EXPECT_GT(collective["allreduce_us"], 0);
    EXPECT_GT(collective["predicted_us"], 0);
    EXPECT_GT(collective["simulated_us"], 0);
    EXPECT_GT(collective["explain"]["candidates"].size(), 3u);
    EXPECT_THAT(page, HasSubstr("An allreduce beside a computation"));
    for (const json& row : object["verbs"]) EXPECT_GT(row["write_gb_per_s"], 0) << row;
    EXPECT_THAT(page, HasSubstr("<tr><td>manager as in the paper</td><td class=\"n\">"));
}

TEST(Demo, FreesTheVictimAndSaysTheSameAsTheCommands) {
    const TemporaryFolder folder;
    const Outcome outcome = loom_program("demo --json " + folder.file("demo"));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const json rows = json::parse(outcome.out).at("victim");
    ASSERT_EQ(rows.size(), 5u);
    const std::string scenario = folder.file("demo") + "/victim.scn";

    const json bare = json::parse(loom_program("sim --json --threshold 0 -s " + scenario).out);
    const json policies =
        json::parse(loom_program("manage --json --compare none,paper,proportional -s " + scenario).out).at("policies");

    const auto victim = [&](std::size_t row) { return rows[row].at("victim_gbit_per_s").get<double>(); };
    const auto meanwhile = [&](std::size_t row) { return rows[row].at("victim_meanwhile_gbit_per_s").get<double>(); };
    EXPECT_LT(meanwhile(0), 8);  // of 32 Gbit/s
    EXPECT_GT(meanwhile(3), 3 * meanwhile(0));
    EXPECT_GT(meanwhile(4), 3 * meanwhile(0));
    EXPECT_LT(rows[3].at("victim_done_s"), rows[0].at("victim_done_s"));
    EXPECT_GT(rows[4].at("others_gbit_per_s"), rows[3].at("others_gbit_per_s"));
    EXPECT_EQ(victim(0), bare.at("flows")[0].at("gbit_per_s"));
    EXPECT_EQ(victim(1), policies[0].at("gbit_per_s").at("victim"));
    EXPECT_EQ(victim(3), policies[1].at("gbit_per_s").at("victim"));
    EXPECT_EQ(victim(4), policies[2].at("gbit_per_s").at("victim"));
}

// In the demo's own folder, as it says, one after the other.
TEST(Demo, PrintsCommandsThatWork) {
    const TemporaryFolder folder;
    const Outcome run = loom_program("demo -q " + folder.file("demo"));
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("manager as in the paper"));
    EXPECT_THAT(run.out, HasSubstr("behind packets for L2-000 port 1"));
    EXPECT_THAT(run.out, HasSubstr("L2-000 port 1: marking rate 128 -> 0"));
    std::istringstream lines(run.out);
    std::size_t commands = 0;

    for (std::string line; std::getline(lines, line);) {
        constexpr std::string_view prompt = "   $ loom ";
        if (!line.starts_with(prompt)) continue;
        ++commands;
        const Outcome outcome =
            loom::test::shell("cd '" + folder.file("demo") + "' && '" LOOM_PROGRAM "' " + line.substr(prompt.size()));
        EXPECT_EQ(outcome.exit_code, 0) << line << '\n' << outcome.err;
    }

    EXPECT_THAT(commands, testing::AnyOf(15u, 16u));  // one more where the room device is
}

TEST(Demo, SaysWhenItsFolderCannotBeMade) {
    const Outcome outcome = loom_program("demo /dev/null/nowhere");

    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("cannot make the folder"));
}

}  // namespace
