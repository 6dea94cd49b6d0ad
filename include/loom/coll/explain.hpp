// Why a call gets the algorithm that it gets.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "loom/base/time.hpp"
#include "loom/coll/algorithm.hpp"
#include "loom/coll/call.hpp"
#include "loom/coll/parameters.hpp"

namespace loom::coll {

struct Alternative {
    std::string_view algorithm;
    std::string_view summary;
    Tuning tuning;
    Time predicted;
};

struct Explanation {
    Collective what = Collective::barrier;
    std::uint64_t bytes = 0;   // asked for
    std::uint64_t judged = 0;  // predicted for: sizes that begin with the same bits share an answer
    std::uint32_t ranks = 1;
    std::uint32_t hosts = 1;
    std::string_view algorithm;
    Tuning tuning;
    std::string why;                        // "predicted to be the quickest", "LOOM_COLL", "asked for"
    std::string_view rule;                  // "fewest-rounds": what decided against the quickest, if anything did
    std::vector<Alternative> alternatives;  // the model's choice first, then by time
    Parameters parameters;

    // Some lines for people, with the best few tunings of each algorithm; and one JSON object.
    [[nodiscard]] std::string text() const;
    [[nodiscard]] std::string json() const;
};

// What a group that need not exist would do: the same, with given parameters.
[[nodiscard]] Explanation explain(const Group& group, const Call& call, const Parameters& parameters);

// "ring, segments of 64 KiB", "dissemination, 3 ways".
[[nodiscard]] std::string describe(std::string_view algorithm, const Tuning& tuning);

}  // namespace loom::coll
