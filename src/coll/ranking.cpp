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

const Ranked& Ranking::of(const Group& group, std::uint64_t group_signature, const Call& call,
                          const model::Charges& charges) {
    const std::uint64_t root = on_one_host(group) ? 0 : call.root.value;
    const Key key{group_signature, known_bytes(call), std::uint64_t{call.element} << 32 | root,
                  static_cast<std::uint64_t>(call.what) << 1 | (call.commutative ? 1 : 0)};
    const auto known = known_.find(key);
    if (known != known_.end()) return known->second;
    if (known_.size() >= most) known_.clear();
    return known_.emplace(key, rank_candidates(group, call, charges)).first->second;
}

}  // namespace loom::coll
