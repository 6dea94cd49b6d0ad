#include "loom/reproduce/result.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "loom/base/error.hpp"
#include "loom/reproduce/reproduction.hpp"

namespace loom::reproduce {
namespace {

Result one_row(Value value, Rule rule) {
    Result result;
    result.columns = {{"value", rule, 0}};
    result.rows = {{"row", {value}}};
    return result;
}

TEST(Rule, AbsoluteAllowsTheToleranceAndNoMore) {
    const Rule rule{Rule::Kind::absolute, 0.05};

    EXPECT_TRUE(rule.agrees(1.9, 1.94));
    EXPECT_TRUE(rule.agrees(1.9, 1.86));
    EXPECT_FALSE(rule.agrees(1.9, 1.96));
    EXPECT_FALSE(rule.agrees(1.9, 1.84));
}

TEST(Rule, RelativeScalesWithThePaper) {
    const Rule rule{Rule::Kind::relative, 0.1};

    EXPECT_TRUE(rule.agrees(1000, 1099));
    EXPECT_FALSE(rule.agrees(1000, 1101));
    EXPECT_FALSE(rule.agrees(1000, 899));
    EXPECT_TRUE(rule.agrees(-1000, -1099));
    EXPECT_FALSE(rule.agrees(-1000, -1101));
}

TEST(Rule, AtMostIsOneSided) {
    const Rule rule{Rule::Kind::at_most, 0};

    EXPECT_TRUE(rule.agrees(92, 84));
    EXPECT_TRUE(rule.agrees(92, 92));
    EXPECT_FALSE(rule.agrees(92, 93));
}

TEST(Rule, PrintedAcceptsRoundingAndCuttingOff) {
    EXPECT_TRUE(printed(3).agrees(0.562, 0.5625));
    EXPECT_TRUE(printed(3).agrees(0.063, 0.06399));
    EXPECT_FALSE(printed(3).agrees(0.375, 0.358));
    EXPECT_FALSE(printed(0).agrees(512, 513));
}

TEST(Result, DoesNotHoldWithoutRows) {
    EXPECT_FALSE(Result{}.holds());
}

TEST(Result, ANumberThatIsNoneNeverHolds) {
    EXPECT_FALSE(one_row({1.0, NAN}, equal).holds());
    EXPECT_FALSE(one_row({1.0, NAN}, shown).holds());
    EXPECT_FALSE(one_row({{}, NAN}, shown).holds());
    EXPECT_TRUE(one_row({1.0, 1.0}, equal).holds());
}

TEST(Result, ACorrectionReplacesThePrintedNumber) {
    EXPECT_FALSE(one_row({0.375, 0.358}, printed(3)).holds());
    EXPECT_TRUE(one_row({0.375, 0.358, 0.358}, printed(3)).holds());
    EXPECT_FALSE(one_row({0.375, 0.375, 0.358}, printed(3)).holds());
}

TEST(Result, AClaimThatFailsFailsTheWhole) {
    Result result = one_row({1.0, 1.0}, equal);
    result.claims = {{"water is wet", true}, {"water is dry", false}};

    EXPECT_FALSE(result.holds());
}

TEST(Result, ARowThatIsTooShortDoesNotHold) {
    Result result = one_row({1.0, 1.0}, equal);
    result.rows.push_back({"empty", {}});

    EXPECT_FALSE(result.holds());
}

TEST(Registry, FindsByNameAndNamesTheOthers) {
    EXPECT_EQ(find_reproduction("zahavi-table-1").name, "zahavi-table-1");
    try {
        (void)find_reproduction("zahavi");
        FAIL() << "an unknown name was accepted";
    } catch (const UsageError& error) {
        EXPECT_NE(std::string(error.what()).find("hoefler-remap"), std::string::npos);
    }
}

}  // namespace
}  // namespace loom::reproduce
