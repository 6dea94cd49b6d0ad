#include "coll/ranking.hpp"

#include <fmt/format.h>

#include "coll/alike.hpp"
#include "coll/call_class.hpp"

namespace loom::coll {

Ranked rank_candidates(const Group& group, const Call& call, const model::Charges& charges) {
    Predictor predictor(group, call, charges);
    Ranked ranked{candidates(predictor), nullptr};
    ranked.decided = apply(preferences(), predictor, ranked.candidates);
    return ranked;
}

Ranking::Key Ranking::key_of(const Group& group, std::uint64_t group_signature, const Call& call) {
    const std::uint64_t root = on_one_host(group) ? 0 : call.root.value;
    return {group_signature, known_bytes(call), std::uint64_t{call.element} << 32 | root,
            static_cast<std::uint64_t>(call.what) << 1 | (call.commutative ? 1 : 0)};
}

namespace {

// By what a ranking depends on; the text is a line as KeptChoices has it.
std::string note_of(const KeptChoices::Key& key) {
    return fmt::format("coll {:x} {:x} {:x} {:x}", key[0], key[1], key[2], key[3]);
}

}  // namespace

// What another rank has worked out. Kept here then, so that nobody is asked twice.
const std::vector<Kept>* Ranking::recall(const Key& key) {
    if (shared_ == nullptr) return nullptr;
    const std::optional<std::string> text = shared_->recall(note_of(key));
    if (!text) return nullptr;
    kept_.take(KeptChoices::from_text(*text));
    return kept_.find(key);
}

std::span<const Kept> Ranking::best(const Group& group, std::uint64_t group_signature, const Call& call,
                                    const model::Charges& charges) {
    const Key key = key_of(group, group_signature, call);
    if (const std::vector<Kept>* kept = kept_.find(key)) return *kept;
    if (const std::vector<Kept>* kept = fresh_.find(key)) return *kept;
    if (const std::vector<Kept>* kept = recall(key)) return *kept;
    std::vector<Kept> all;
    for (const Candidate& each : of(group, group_signature, call, charges).candidates)
        all.push_back({each.algorithm, each.tuning});
    fresh_.add(key, all);
    const std::vector<Kept>* kept = fresh_.find(key);
    if (kept == nullptr) return {};
    if (shared_ != nullptr) {
        KeptChoices one;
        one.add(key, all);
        shared_->note(note_of(key), one.to_text());
    }
    return *kept;
}

const Ranked& Ranking::of(const Group& group, std::uint64_t group_signature, const Call& call,
                          const model::Charges& charges) {
    const Key key = key_of(group, group_signature, call);
    const auto known = known_.find(key);
    if (known != known_.end()) return known->second;
    if (known_.size() >= most) known_.clear();
    return known_.emplace(key, rank_candidates(group, call, charges)).first->second;
}

}  // namespace loom::coll
