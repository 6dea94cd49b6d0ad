#include "coll/ranking.hpp"

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

std::shared_ptr<SharedChoices> shared_choices(const std::string& parameters) {
    static std::mutex mutex;
    static std::map<std::string, std::weak_ptr<SharedChoices>> all;
    const std::lock_guard lock(mutex);
    std::weak_ptr<SharedChoices>& kept = all[parameters];
    std::shared_ptr<SharedChoices> found = kept.lock();
    if (found == nullptr) kept = found = std::make_shared<SharedChoices>();
    return found;
}

std::span<const Kept> Ranking::best(const Group& group, std::uint64_t group_signature, const Call& call,
                                    const model::Charges& charges) {
    const Key key = key_of(group, group_signature, call);
    if (const std::vector<Kept>* kept = kept_.find(key)) return *kept;
    if (shared_ != nullptr) {
        const std::lock_guard lock(shared_->mutex);
        if (const std::vector<Kept>* kept = shared_->known.find(key)) return *kept;
    }
    const std::vector<Kept>* kept = fresh_.find(key);
    if (kept == nullptr) {
        std::vector<Kept> all;
        for (const Candidate& each : of(group, group_signature, call, charges).candidates)
            all.push_back({each.algorithm, each.tuning});
        fresh_.add(key, all);
        kept = fresh_.find(key);
        if (shared_ != nullptr) {
            const std::lock_guard lock(shared_->mutex);
            shared_->known.add(key, all);
        }
    }
    return kept == nullptr ? std::span<const Kept>{} : *kept;
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
