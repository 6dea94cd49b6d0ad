#include "loom/coll/plan.hpp"

#include <utility>

namespace loom::coll {

using traffic::OpKind;

Writer::Writer(std::uint32_t ranks, Rank me) : ranks_(ranks), me_(me) {}

Place Writer::take_scratch(std::uint64_t bytes) {
    const Place place = scratch(scratch_);
    scratch_ += (bytes + 63) / 64 * 64;
    return place;
}

Writer::Step Writer::add(OpKind kind, Rank peer, std::uint64_t bytes, std::uint32_t tag, Places places, After after) {
    const auto number = static_cast<std::uint32_t>(ops_.size());
    traffic::Op op;
    op.amount = bytes;
    op.peer = peer;
    op.tag = tag;
    op.kind = kind;
    ops_.push_back(op);
    places_.push_back(places);
    for (const Step step : after) edges_.push_back({step.number, number});
    return {number};
}

Writer::Step Writer::send(Rank to, Place from, std::uint64_t bytes, After after, std::uint32_t tag) {
    return add(OpKind::send, to, bytes, tag, {from, {}}, after);
}

Writer::Step Writer::receive(Rank from, Place to, std::uint64_t bytes, After after, std::uint32_t tag) {
    return add(OpKind::receive, from, bytes, tag, {{}, to}, after);
}

Writer::Step Writer::copy(Place from, Place to, std::uint64_t bytes, After after) {
    return add(OpKind::copy, {}, bytes, 0, {from, to}, after);
}

Writer::Step Writer::reduce(Place from, Place to, std::uint64_t bytes, After after) {
    return add(OpKind::reduce, {}, bytes, 0, {from, to}, after);
}

Writer::Step Writer::join(After after) {
    return add(OpKind::compute, {}, 0, 0, {}, after);
}

Plan Writer::finish() {
    traffic::ScheduleBuilder builder(ranks_);
    for (const traffic::Op& op : ops_) builder.add(me_, op);
    for (const Edge& edge : edges_) builder.require(me_, edge.later, edge.earlier);
    Plan plan{builder.build(), std::move(places_), scratch_, me_, multicast_};
    clear();
    return plan;
}

void Writer::clear() {
    ops_.clear();
    places_.clear();
    edges_.clear();
    scratch_ = 0;
    multicast_ = false;
}

}  // namespace loom::coll
