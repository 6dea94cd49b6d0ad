#include "coll/preferences.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "coll/algorithms/parts.hpp"

namespace loom::coll {

namespace {

bool are_two_of_a_host(const Predictor& predictor) {
    return predictor.group().size == 2 && on_one_host(predictor.group());
}

// Ranks of a host that has fewer cores, which two ranks of it settle by a rule of their own.
bool share_cores(const Predictor& predictor) {
    return predictor.takes_turns() && !are_two_of_a_host(predictor);
}

// What a candidate's schedule tells is found out once, whichever rules ask and how often.
std::int64_t known(std::optional<std::int64_t>& known, Predictor& predictor, const Candidate& each,
                   std::int64_t (Predictor::*ask)(const Algorithm&, const Tuning&)) {
    if (!known) known = (predictor.*ask)(*each.algorithm, each.tuning);
    return *known;
}
std::int64_t rounds_of(Predictor& predictor, Candidate& each) {
    return known(each.rounds, predictor, each, &Predictor::rounds);
}
std::int64_t depth_of(Predictor& predictor, Candidate& each) {
    return known(each.depth, predictor, each, &Predictor::depth);
}
std::int64_t work_of(Predictor& predictor, Candidate& each) {
    return known(each.work, predictor, each, &Predictor::work);
}

bool is_cut(const Predictor& predictor, const Candidate& each) {
    const std::uint64_t longest = longest_message(predictor);
    const std::uint64_t usual = each.algorithm->always_cuts ? usual_segment : longest;
    return longest > (each.tuning.segment != 0 ? each.tuning.segment : usual);
}

Score by_cuts(Predictor& predictor, Candidate& each) {
    return {is_cut(predictor, each) ? 1 : 0, 0};
}
Score by_rounds_and_operations(Predictor& predictor, Candidate& each) {
    return {rounds_of(predictor, each), each.operations};
}
Score by_depth_and_operations(Predictor& predictor, Candidate& each) {
    return {depth_of(predictor, each), each.operations};
}
Score by_work(Predictor& predictor, Candidate& each) {
    return {work_of(predictor, each), 0};
}
Score by_depth(Predictor& predictor, Candidate& each) {
    return {depth_of(predictor, each), 0};
}
Score by_operations(Predictor&, Candidate& each) {
    return {0, each.operations};
}

// All measured on a virtual machine of 2 cores on 16 November 2026.
constexpr Preference rules[] = {
    {
        .name = "whole-messages",
        .reason = "ranks share cores, and a segment waits for a turn of each rank on its way",
        .figure = "none of its own is kept; a reduction to one rank, whose segments stay in caches, is left out",
        .applies = [](const Predictor& p) { return p.takes_turns() && p.call().what != Collective::reduce; },
        .score = by_cuts,
        .unless_times = 2,
    },
    {
        .name = "one-exchange",
        .reason = "neither of two ranks hands anything on: more rounds or parts only change the protocol",
        .figure =
            "2 ranks: a reduction in parts of 64 KiB takes twice as long, an allreduce of 1 MiB of which each rank "
            "combines half 1.3 times, where caches are apart 2.6 times; parameters measured while the cores moved "
            "apart made an exscan of 32 KiB take 17 us instead of 4",
        .applies = are_two_of_a_host,
        .score = by_rounds_and_operations,
        .unless_times = 4,
    },
    {
        .name = "blocks-at-once",
        .reason = "ranks share cores, and blocks that others hand on wait for a turn of theirs",
        .figure = "an allgather of 1 MiB on 8 ranks takes 3.0 ms at once, 4.2 and 6.1 in trees",
        .applies =
            [](const Predictor& p) {
                return share_cores(p) &&
                       (p.call().what == Collective::allgather || p.call().what == Collective::allgatherv);
            },
        .score = by_depth_and_operations,
        .unless_times = 2,
    },
    {
        .name = "broadcast-at-once",
        .reason = "ranks share cores, and a broadcast in parts takes turns that are not predicted",
        .figure = "scatter and allgather, predicted to take 0.8 of the linear one's time on 4 ranks, take 1.1, and 1.5 "
                  "to 2.8 times as long on 8",
        .applies = [](const Predictor& p) { return share_cores(p) && p.call().what == Collective::broadcast; },
        .score = by_operations,
        .unless_times = 2,
    },
    {
        .name = "least-work",
        .reason = "cores that share a memory get in each other's way where they move more bytes",
        .figure =
            "an exscan of 256 KiB to 1 MiB on 4 ranks took 1.4 to 1.9 of Open MPI's time by the linear algorithm, "
            "and takes 0.5 to 0.65 by the chain",
        .applies = [](const Predictor& p) { return p.takes_turns(); },
        .score = by_work,
        .tolerates_half_more = true,
    },
    {
        .name = "fewest-rounds",
        .reason = "ranks share cores, and a round more is a turn more for everybody",
        .figure = "none of its own is kept",
        .applies = [](const Predictor& p) { return p.takes_turns(); },
        .score = by_depth,
    },
    {
        .name = "fewest-operations",
        .reason = "among equally quick ones, as each operation may cost what no model knows",
        .figure = "none: it is a rule of thumb",
        .applies = [](const Predictor&) { return true; },
        .score = by_operations,
    },
};

bool is_preferred(const Preference& rule, const Score& score, const Score& least) {
    return rule.tolerates_half_more ? score.first / 3 * 2 <= least.first : score == least;
}

// The candidates that are left, and in front of them the one that would be taken.
class Field {
public:
    Field(Predictor& predictor, std::vector<Candidate>& all)
        : predictor_(predictor), all_(all), left_(all.size()), quickest_(all.front().predicted) {}

    // Leaves only what the rule prefers of all, unless something else is much quicker.
    void prefer(const Preference& rule) {
        Score least{INT64_MAX, UINT64_MAX};
        for (Candidate& each : all_) least = std::min(least, rule.score(predictor_, each));
        const auto preferred = [&](Candidate& each) { return is_preferred(rule, rule.score(predictor_, each), least); };
        const auto end = all_.begin() + static_cast<std::ptrdiff_t>(left_);
        const auto best = std::find_if(all_.begin(), end, preferred);
        if (best == end || best->predicted.ps / rule.unless_times > quickest_.ps) return;
        left_ = static_cast<std::size_t>(std::stable_partition(all_.begin(), end, preferred) - all_.begin());
    }

    // Leaves only those within an eighth of the quickest that is left.
    void keep_near() {
        const Time quickest = all_.front().predicted;
        const auto end = all_.begin() + static_cast<std::ptrdiff_t>(left_);
        const auto near = std::partition_point(all_.begin(), end, [&](const Candidate& each) {
            return each.predicted.ps - quickest.ps <= quickest.ps / 8;
        });
        for (auto each = all_.begin(); each != near; ++each) near_.push_back(&*each);
    }

    // Of those only what the rule prefers.
    void prefer_among_near(const Preference& rule) {
        if (near_.size() < 2) return;
        Score least{INT64_MAX, UINT64_MAX};
        for (Candidate* each : near_) least = std::min(least, rule.score(predictor_, *each));
        std::erase_if(near_,
                      [&](Candidate* each) { return !is_preferred(rule, rule.score(predictor_, *each), least); });
    }

    [[nodiscard]] const Candidate& taken() const { return near_.empty() ? all_.front() : *near_.front(); }

    void put_in_order() {
        if (!near_.empty()) {
            const auto taken = all_.begin() + (near_.front() - all_.data());
            std::rotate(all_.begin(), taken, taken + 1);
        }
        std::stable_sort(all_.begin() + 1, all_.end(),
                         [](const Candidate& a, const Candidate& b) { return a.predicted < b.predicted; });
    }

private:
    Predictor& predictor_;
    std::vector<Candidate>& all_;
    std::size_t left_;
    Time quickest_;
    std::vector<Candidate*> near_;
};

}  // namespace

std::span<const Preference> preferences() {
    return rules;
}

const Preference* apply(std::span<const Preference> rules_to_apply, Predictor& predictor, std::vector<Candidate>& all) {
    Field field(predictor, all);
    const Preference* decided = nullptr;
    const auto apply_those = [&](bool among_near, auto prefer) {
        for (const Preference& rule : rules_to_apply) {
            if ((rule.unless_times == 0) != among_near || !rule.applies(predictor)) continue;
            const auto id = [&] { return std::pair(field.taken().algorithm, field.taken().tuning); };
            const auto before = id();
            prefer(rule);
            if (id() != before) decided = &rule;
        }
    };
    apply_those(false, [&](const Preference& rule) { field.prefer(rule); });
    field.keep_near();
    apply_those(true, [&](const Preference& rule) { field.prefer_among_near(rule); });
    field.put_in_order();
    return decided;
}

}  // namespace loom::coll
