#include "loom/base/settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "loom/base/error.hpp"
#include "support/variable.hpp"

namespace loom {
namespace {

using test::Variable;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(Settings, HaveANameOfTheirOwnAndOneLineOfHelp) {
    std::set<std::string> names;
    for (const settings::Info& each : settings::all()) {
        EXPECT_TRUE(names.insert(each.name).second) << each.name;
        EXPECT_TRUE(std::string(each.name).starts_with("LOOM_"));
        EXPECT_EQ(&settings::info(each.setting), &each);
        for (const std::string text : {each.room, each.type, each.otherwise, each.help}) {
            EXPECT_NE(text, "") << each.name;
            EXPECT_EQ(text.find('\n'), std::string::npos) << each.name;
        }
    }
    EXPECT_GE(names.size(), 50u);
}

TEST(Settings, AreReadAtEachCall) {
    EXPECT_EQ(settings::read(Setting::eager), std::nullopt);
    {
        const Variable eager("LOOM_EAGER", "4096");
        EXPECT_EQ(settings::read(Setting::eager), "4096");
    }
    const Variable empty("LOOM_EAGER", "");
    EXPECT_EQ(settings::read(Setting::eager), std::nullopt) << "empty is not set";
}

TEST(Settings, RefuseAWordThatTheTableDoesNotList) {
    EXPECT_EQ(settings::read_word(Setting::hca), std::nullopt);
    {
        const Variable soft("LOOM_HCA", "soft");
        EXPECT_EQ(settings::read_word(Setting::hca), "soft");
    }
    const Variable hard("LOOM_HCA", "hard");
    try {
        (void)settings::read_word(Setting::hca);
        FAIL();
    } catch (const UsageError& error) {
        EXPECT_STREQ(error.what(), "LOOM_HCA='hard': expected auto, system or soft");
    }
}

TEST(Settings, ThatAreSwitchesHaveThreeWordsForEachSide) {
    for (const char* on : {"1", "on", "yes"}) EXPECT_TRUE(settings::as_switch(Setting::coll_check, on));
    for (const char* off : {"0", "off", "no"}) EXPECT_FALSE(settings::as_switch(Setting::coll_check, off));
    EXPECT_THROW((void)settings::as_switch(Setting::coll_check, "perhaps"), UsageError);
}

TEST(Settings, OfOthersMayBeEmpty) {
    const Variable empty("OF_OTHERS", "");

    EXPECT_EQ(settings::variable("OF_OTHERS"), "");
    EXPECT_EQ(settings::variable("OF_NOBODY_AT_ALL"), std::nullopt);
}

std::vector<std::string> remarks() {
    std::vector<std::string> all;
    for (const settings::Unknown& each : settings::unknown()) all.push_back(settings::remark(each));
    return all;
}

TEST(Settings, ThatAreMisspelledAreFound) {
    EXPECT_THAT(remarks(), IsEmpty());
    const Variable near("LOOM_WAITNG", "spin"), known("LOOM_WAITING", "spin"), others("LOOMING", "1");

    EXPECT_THAT(remarks(), ElementsAre("no such setting: LOOM_WAITNG; did you mean LOOM_WAITING?"));
    EXPECT_EQ(settings::unknown().at(0).nearest, Setting::waiting);
}

TEST(Settings, ThatResembleNoneAreFoundToo) {
    const Variable far("LOOM_FROBNICATION_OF_TEAPOTS", "1");

    EXPECT_THAT(remarks(), ElementsAre("no such setting: LOOM_FROBNICATION_OF_TEAPOTS (loom settings lists all)"));
}

TEST(Settings, OnWhichLoomHasRemarkedAreLeftOut) {
    const Variable one("LOOM_WAITNG", "1"), two("LOOM_EGER", "1"), remarked("LOOM_REMARKED", "LOOM_X,LOOM_WAITNG");

    EXPECT_THAT(remarks(), ElementsAre("no such setting: LOOM_EGER; did you mean LOOM_EAGER?"));
}

}  // namespace
}  // namespace loom
