#include "coll/prepared.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "coll/communicator_state.hpp"
#include "coll/world_state.hpp"

namespace loom::coll {
namespace {

bool same(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

bool same(const Blocks& a, const Blocks& b) {
    return same(a.bytes, b.bytes) && same(a.at, b.at);
}

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 32);
}

std::uint64_t mix(std::uint64_t hash, const Blocks& blocks) {
    for (const std::uint64_t word : blocks.bytes) hash = mix(hash, word);
    for (const std::uint64_t word : blocks.at) hash = mix(hash, word);
    return mix(hash, blocks.bytes.size());
}

}  // namespace

Shape::Shape(const Call& given, const Choice* choice) : call(given) {
    if (choice != nullptr) {
        algorithm = choice->algorithm;
        tuning = choice->tuning;
    }
    std::span<const std::uint64_t>* const spans[] = {&call.sent.bytes, &call.sent.at, &call.received.bytes,
                                                     &call.received.at};
    for (const auto* span : spans) words.insert(words.end(), span->begin(), span->end());
    std::span<const std::uint64_t> rest = words;
    for (auto* span : spans) {
        const std::size_t length = span->size();
        *span = rest.first(length);
        rest = rest.subspan(length);
    }
}

bool Shape::is(const Call& other, const Choice* choice) const {
    if (call.what != other.what || call.bytes != other.bytes || call.root != other.root ||
        call.element != other.element || call.commutative != other.commutative || call.in_place != other.in_place)
        return false;
    if (choice == nullptr ? !algorithm.empty() : algorithm != choice->algorithm || tuning != choice->tuning)
        return false;
    return same(call.sent, other.sent) && same(call.received, other.received);
}

std::uint64_t Shape::hash(const Call& call, const Choice* choice) {
    std::uint64_t hash = mix(static_cast<std::uint64_t>(call.what) << 32 | call.root.value, call.bytes);
    hash = mix(hash,
               std::uint64_t{call.element} << 2 | std::uint64_t{call.commutative} << 1 | std::uint64_t{call.in_place});
    if (!call.sent.bytes.empty()) hash = mix(hash, call.sent);
    if (!call.received.bytes.empty()) hash = mix(hash, call.received);
    if (choice != nullptr) {
        hash = mix(hash, std::hash<std::string_view>{}(choice->algorithm));
        hash = mix(hash, choice->tuning.segment ^ std::uint64_t{choice->tuning.ways} << 48);
    }
    return hash;
}

Prepared::Prepared(Communicator::State& owner, std::shared_ptr<const Plan> written)
    : communicator(owner),
      plan(std::move(written)),
      program(compile(*plan, owner.members, owner.world.engine.local_steps())) {}

Execution* Prepared::take(Engine& engine) {
    if (idle_ == nullptr) {
        all_.push_back(std::make_unique<Execution>(engine, *this));
        idle_ = all_.back().get();
    }
    ++taken;
    return std::exchange(idle_, idle_->next_idle);
}

void Prepared::put_back(Execution* execution) {
    --taken;
    execution->reset();
    execution->next_idle = std::exchange(idle_, execution);
}

bool Prepared::has_member(Rank in_world) const {
    return std::find(communicator.members.begin(), communicator.members.end(), in_world) != communicator.members.end();
}

std::optional<Rank> Prepared::lost_member(const transport::Transport& transport) const {
    for (const Rank member : communicator.members)
        if (transport.is_lost(member)) return member;
    return {};
}

std::size_t Prepared::bytes() const {
    const std::size_t each = program.scratch + program.steps.size() * 8 + program.messages * sizeof(transport::Message);
    const std::size_t written = plan == nullptr ? 0 : plan->schedule.bytes() + plan->places.size() * sizeof(Places);
    return program.bytes() + written + std::max<std::size_t>(1, all_.size()) * each;
}

Prepared* PlanCache::find(const Call& call, const Choice* choice) {
    const std::uint64_t key = Shape::hash(call, choice);
    Prepared*& recent = recent_[key % recent_.size()];
    if (recent != nullptr && recent->shape.is(call, choice)) {
        recent->last_use = ++clock_;
        return recent;
    }
    const auto [begin, end] = all_.equal_range(key);
    for (auto entry = begin; entry != end; ++entry) {
        if (!entry->second->shape.is(call, choice)) continue;
        recent = entry->second.get();
        recent->last_use = ++clock_;
        return recent;
    }
    return nullptr;
}

Prepared* PlanCache::find(const std::shared_ptr<const Plan>& plan) {
    const auto [begin, end] = all_.equal_range(reinterpret_cast<std::uintptr_t>(plan.get()));
    for (auto entry = begin; entry != end; ++entry) {
        if (entry->second->plan != plan) continue;
        entry->second->last_use = ++clock_;
        return entry->second.get();
    }
    return nullptr;
}

Prepared& PlanCache::insert(const Call& call, const Choice* choice, std::unique_ptr<Prepared> prepared) {
    const std::uint64_t key = Shape::hash(call, choice);
    prepared->shape = Shape(call, choice);
    return keep(key, std::move(prepared));
}

Prepared& PlanCache::insert(std::unique_ptr<Prepared> prepared) {
    const auto key = reinterpret_cast<std::uintptr_t>(prepared->plan.get());
    // No call is like it: `what` is none there is.
    prepared->shape.call.what = static_cast<Collective>(0xff);
    return keep(key, std::move(prepared));
}

Prepared& PlanCache::keep(std::uint64_t key, std::unique_ptr<Prepared> prepared) {
    make_room();
    prepared->last_use = ++clock_;
    return *all_.emplace(key, std::move(prepared))->second;
}

// Drops the half that was not used for longest. Looks at everything, but only after many insertions.
void PlanCache::make_room() {
    std::size_t bytes = 0;
    for (const auto& [key, prepared] : all_) bytes += prepared->bytes();
    if (all_.size() < most && bytes < most_bytes) return;
    std::vector<std::uint64_t> uses;
    for (const auto& [key, prepared] : all_) uses.push_back(prepared->last_use);
    const auto middle = uses.begin() + static_cast<std::ptrdiff_t>(uses.size() / 2);
    std::nth_element(uses.begin(), middle, uses.end());
    const std::uint64_t limit = *middle;
    recent_.fill(nullptr);
    std::erase_if(all_, [&](const auto& entry) { return entry.second->taken == 0 && entry.second->last_use <= limit; });
}

}  // namespace loom::coll
