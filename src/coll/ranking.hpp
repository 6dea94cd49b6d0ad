// Candidates in the order in which they are taken: predicted times first, then the rules for what these do not see.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "coll/candidates.hpp"
#include "coll/kept_choices.hpp"
#include "coll/preferences.hpp"

namespace loom::coll {

struct Ranked {
    std::vector<Candidate> candidates;    // what is taken first, then by time
    const Preference* decided = nullptr;  // null: it is predicted to be the quickest
};

// The same on every rank: integers throughout, and of the call only what all ranks know and what belongs to a Ranking's
// key, so that it does not matter which call came first.
[[nodiscard]] Ranked rank_candidates(const Group& group, const Call& call, const model::Charges& charges);

// Ranked candidates, kept by what they depend on. A hit costs some 100 ns.
class Ranking {
public:
    // What earlier jobs chose by the same parameters.
    void remember(KeptChoices kept) { kept_ = std::move(kept); }
    // In virtual time one rank ranks for all: 1,024 of them each took 50 ms for the schedule of an allreduce.
    void share(transport::Transport& transport) { shared_ = &transport; }
    // What they did not.
    [[nodiscard]] const KeptChoices& fresh() const { return fresh_; }

    // The first of the candidates, from an earlier job where one knew. None when too many calls are known: ask of().
    [[nodiscard]] std::span<const Kept> best(const Group& group, std::uint64_t group_signature, const Call& call,
                                             const model::Charges& charges);

    // Stays until the next call.
    [[nodiscard]] const Ranked& of(const Group& group, std::uint64_t group_signature, const Call& call,
                                   const model::Charges& charges);

    static constexpr std::size_t most = 4096;

private:
    using Key = KeptChoices::Key;
    [[nodiscard]] static Key key_of(const Group& group, std::uint64_t group_signature, const Call& call);

    std::map<Key, Ranked> known_;
    KeptChoices kept_, fresh_;
    [[nodiscard]] const std::vector<Kept>* recall(const Key& key);

    transport::Transport* shared_ = nullptr;
};

}  // namespace loom::coll
