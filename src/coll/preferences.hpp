// Why another algorithm than the quickest by prediction is taken: named rules, each for something that walks of
// schedules do not see.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "coll/candidates.hpp"

namespace loom::coll {

// The less the better; the second decides between equals.
struct Score {
    std::int64_t first = 0;
    std::uint64_t second = 0;
    friend auto operator<=>(const Score&, const Score&) = default;
};

// Each has a case of its name in tests/coll/preferences_test.cpp: a call that gets another algorithm without the rule.
struct Preference {
    std::string_view name;
    std::string_view reason;  // one line for explain: what predictions do not see
    std::string_view figure;  // what was measured, and where
    bool (*applies)(const Predictor&);
    Score (*score)(Predictor&, Candidate&);
    // What has the least score is preferred, unless something else is predicted to be this many times as quick. 0: the
    // rule looks only at those within an eighth of the quickest.
    std::int64_t unless_times = 0;
    bool tolerates_half_more = false;  // than the least score; else only the least is preferred
};

// In the order in which they apply: each leaves to those behind it what it prefers.
[[nodiscard]] std::span<const Preference> preferences();

// Moves what is taken to the front; the others follow by time. `all` has the quickest first. Returns the last rule that
// changed what is taken; null when the quickest is.
const Preference* apply(std::span<const Preference> rules, Predictor& predictor, std::vector<Candidate>& all);

}  // namespace loom::coll
