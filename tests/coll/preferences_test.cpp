// Each rule by its name: what it makes the choice of a call, and that something else would be taken without it.
#include "coll/preferences.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "coll/ranking.hpp"
#include "loom/coll/explain.hpp"
#include "loom/coll/parameters.hpp"
#include "loom/coll/uniform.hpp"
#include "loom/model/assumed.hpp"

namespace loom::coll {
namespace {

struct Case {
    std::string_view rule;
    Collective what;
    std::uint64_t bytes;
    std::uint32_t ranks, cores;  // of one host
    std::string_view taken, instead_of;
};

constexpr std::uint32_t enough = 64;  // cores
constexpr Case cases[] = {
    {"whole-messages", Collective::allreduce, 262'144, 8, 2, "rabenseifner", "ring, segments of 16.0 KiB"},
    {"one-exchange", Collective::reduce, 262'144, 2, enough, "linear", "rabenseifner"},
    {"blocks-at-once", Collective::allgather, 4096, 8, 2, "linear", "recursive-doubling"},
    {"broadcast-at-once", Collective::broadcast, 262'144, 4, 2, "linear", "scatter-allgather"},
    {"least-work", Collective::exscan, 32'768, 8, 2, "chain", "recursive-doubling"},
    {"fewest-rounds", Collective::reduce, 4096, 4, 2, "binomial", "linear"},
    {"fewest-operations", Collective::allgather, 512, 4, enough, "recursive-doubling", "linear"},
};

UniformCall call_of(const Case& wanted) {
    UniformShape shape;
    shape.what = wanted.what;
    shape.bytes = wanted.bytes;
    shape.ranks = wanted.ranks;
    shape.element = 8;
    return UniformCall(shape);
}

std::string name_of(const Candidate& candidate) {
    return describe(candidate.algorithm->name, candidate.tuning);
}

// The cases are calls whose best algorithms are near each other with a core that copies 16 GB/s.
model::Charges charges_of(const UniformCall& call, std::uint32_t cores) {
    model::Charges charges = model::assumed_charges(call.group().hosts, cores);
    charges.local = {.copy = 60, .reduce = 120, .step = nanoseconds(30)};
    return charges;
}

class PreferenceRule : public testing::TestWithParam<Case> {
protected:
    PreferenceRule() : call_(call_of(GetParam())), charges_(charges_of(call_, GetParam().cores)) {}

    UniformCall call_;
    model::Charges charges_;
};

TEST_P(PreferenceRule, DecidesWhatIsTaken) {
    const Ranked ranked = rank_candidates(call_.group(), call_.calls()[0], charges_);

    ASSERT_NE(ranked.decided, nullptr);
    EXPECT_EQ(ranked.decided->name, GetParam().rule);
    EXPECT_EQ(name_of(ranked.candidates.front()), GetParam().taken);
}

TEST_P(PreferenceRule, IsMissedWithoutIt) {
    std::vector<Preference> others(preferences().begin(), preferences().end());
    std::erase_if(others, [](const Preference& rule) { return rule.name == GetParam().rule; });
    Predictor predictor(call_.group(), call_.calls()[0], charges_);
    std::vector<Candidate> all = candidates(predictor);

    (void)apply(others, predictor, all);

    EXPECT_EQ(others.size() + 1, preferences().size());
    EXPECT_EQ(name_of(all.front()), GetParam().instead_of);
}

TEST_P(PreferenceRule, IsNamedByExplain) {
    const Explanation e = explain(call_.group(), call_.calls()[0], {charges_, Parameters::Source::assumed, ""});

    EXPECT_EQ(e.rule, GetParam().rule);
    EXPECT_THAT(e.text(), testing::HasSubstr("(" + std::string(GetParam().rule) + ": " + e.why + ")"));
    EXPECT_THAT(e.json(), testing::HasSubstr("\"rule\":\"" + std::string(GetParam().rule) + "\""));
}

INSTANTIATE_TEST_SUITE_P(Rules, PreferenceRule, testing::ValuesIn(cases), [](const auto& one) {
    std::string name(one.param.rule);
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
});

TEST(Preferences, HaveANameAReasonAFigureAndACaseEach) {
    std::vector<std::string_view> names, tested;
    for (const Preference& rule : preferences()) {
        names.push_back(rule.name);
        EXPECT_FALSE(rule.reason.empty()) << rule.name;
        EXPECT_FALSE(rule.figure.empty()) << rule.name;
    }
    for (const Case& each : cases) tested.push_back(each.rule);

    EXPECT_EQ(tested, names);
}

TEST(Preferences, LeaveTheQuickestWhereNoneApplies) {
    const UniformCall call = call_of({"", Collective::broadcast, 8, 4, enough, "", ""});
    const model::Charges charges = model::assumed_charges(call.group().hosts, enough);
    Predictor predictor(call.group(), call.calls()[0], charges);
    std::vector<Candidate> all = candidates(predictor);
    const std::string quickest = name_of(all.front());

    EXPECT_EQ(apply({}, predictor, all), nullptr);
    EXPECT_EQ(name_of(all.front()), quickest);
}

}  // namespace
}  // namespace loom::coll
