#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/process.hpp"

namespace {

using loom::test::Outcome;
using loom::test::shell;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

TEST(Settings, AreListedWithTheirValues) {
    const Outcome outcome = shell("LOOM_WAITING=yield '" LOOM_PROGRAM "' settings");
    const Outcome all = shell("'" LOOM_PROGRAM "' settings --all");

    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.err, "");
    EXPECT_THAT(outcome.out, ContainsRegex("LOOM_WAITING +yield +yield where ranks share cores +what a rank does"));
    EXPECT_THAT(outcome.out, ContainsRegex("LOOM_VERBS_HCAS +- +ib"));
    EXPECT_THAT(outcome.out, Not(HasSubstr("LOOM_RANK ")));
    EXPECT_THAT(all.out, HasSubstr("LOOM_RANK "));
}

TEST(Settings, AreOneJsonObjectWithWhatIsUnknown) {
    const Outcome outcome = shell("LOOM_WAITNG=yield LOOM_EAGER=1 '" LOOM_PROGRAM "' settings -q --json");

    const auto object = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(outcome.err, "");
    EXPECT_EQ(object["unknown"], nlohmann::json::parse(R"([{"name": "LOOM_WAITNG", "nearest": "LOOM_WAITING"}])"));
    for (const auto& each : object["settings"]) {
        if (each["name"] == "LOOM_EAGER") {
            EXPECT_EQ(each["value"], "1");
            EXPECT_EQ(each["room"], "transport");
            EXPECT_EQ(each["use"], "user");
        }
        if (each["name"] == "LOOM_RING") {
            EXPECT_TRUE(each["value"].is_null());
        }
    }
}

TEST(Settings, ThatAreMisspelledAreRemarkedOnOnceByEveryCommand) {
    const Outcome listed = shell("LOOM_VERBS_HCA=2 LOOM_WAITNG=spin '" LOOM_PROGRAM "' verbs devices");
    const Outcome quiet = shell("LOOM_WAITNG=spin '" LOOM_PROGRAM "' verbs devices -q");

    EXPECT_EQ(listed.exit_code, 0);
    EXPECT_THAT(listed.err, HasSubstr("loom: no such setting: LOOM_VERBS_HCA; did you mean LOOM_VERBS_HCAS?\n"));
    EXPECT_THAT(listed.err, HasSubstr("loom: no such setting: LOOM_WAITNG; did you mean LOOM_WAITING?\n"));
    EXPECT_EQ(std::count(listed.err.begin(), listed.err.end(), '\n'), 2) << listed.err;
    EXPECT_EQ(quiet.err, "");
}

}  // namespace
