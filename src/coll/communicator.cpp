#include "loom/coll/communicator.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "coll/call_class.hpp"
#include "coll/choice.hpp"
#include "coll/explaining.hpp"
#include "coll/world_state.hpp"
#include "loom/base/copy.hpp"
#include "loom/coll/parameters.hpp"
#include "loom/model/assumed.hpp"

namespace loom::coll {
namespace {

constexpr std::uint64_t least_past_caches = 4 << 20;  // bytes that any host's caches hold

template <class T>
std::vector<T> exchange_all(Communicator::State& state, const T& mine) {
    std::vector<T> all(state.members.size());
    state.exchange(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
    return all;
}

Communicator derive(Communicator::State& parent, Members members, std::vector<Neighbours> neighbours = {},
                    std::optional<Grid> grid = {}) {
    const std::uint32_t context = parent.agree_on_context();
    Communicator made(parent.world.add(std::make_unique<Communicator::State>(parent.world, std::move(members), context,
                                                                             std::move(neighbours), std::move(grid))));
    parent.world.give_up_context(context);
    return made;
}

}  // namespace

Communicator::State::State(World::State& owner, Members ranks, std::uint32_t number, std::vector<Neighbours> by_rank,
                           std::optional<Grid> cartesian)
    : world(owner),
      members(std::move(ranks)),
      context(number),
      neighbours(std::move(by_rank)),
      grid(std::move(cartesian)) {
    const auto me = std::find(members.begin(), members.end(), owner.transport.rank());
    if (me == members.end()) throw UsageError("a communicator must have this rank among its members");
    group.size = static_cast<std::uint32_t>(members.size());
    group.me = Rank{static_cast<std::uint32_t>(me - members.begin())};
    group.hosts = hosts_of(members, world.transport.hosts(), own_hosts);
    group.neighbours = neighbours;
    group.grid = grid ? &*grid : nullptr;
    group_signature = signature(group);
    set_reproducible(world.reproducible);
}

void Communicator::State::set_reproducible(bool on) {
    is_reproducible = on;
    if (!on || reproducible != nullptr) return;
    reproducible = std::make_unique<Reproducible>();
    reproducible->hosts.assign(members.size(), 0);
    reproducible->group = group;
    reproducible->group.hosts = reproducible->hosts;
    reproducible->group_signature = signature(reproducible->group);
    reproducible->charges = model::assumed_charges(reproducible->hosts, group.size);
}

Plan Communicator::State::make_plan_of(const Call& call, const Choice* choice) {
    Reproducible* const fixed = is_reproducible && is_reduction(call.what) ? reproducible.get() : nullptr;
    const Group& seen = fixed != nullptr ? fixed->group : group;
    const Chosen chosen = fixed != nullptr
                              ? choose(seen, fixed->group_signature, call, choice, fixed->ranking, fixed->charges)
                              : choose(seen, group_signature, call, choice, world.ranking, world.parameters.charges);
    return make_plan(*chosen.algorithm, seen, call, chosen.tuning);
}

Prepared& Communicator::State::prepare(const Call& call, const Choice* choice) {
    Reproducible* const fixed = is_reproducible && is_reduction(call.what) ? reproducible.get() : nullptr;
    PlanCache& cache = fixed != nullptr ? fixed->plans : plans;
    if (Prepared* known = cache.find(call, choice)) return *known;
    check_call(group, call);
    auto plan = std::make_shared<const Plan>(make_plan_of(call, choice));
    if (plan->multicast) world.engine.listen();
    auto prepared = std::make_unique<Prepared>(*this, std::move(plan));
    if (world.waiting == transport::Waiting::block) prepared->plan.reset();
    prepared->touched = touched_by(group, call);
    const std::uint64_t together = touched_together(group, call);
    prepared->program.past_caches =
        world.waiting != transport::Waiting::block && together > least_past_caches && together > last_caches_bytes();
    return cache.insert(call, choice, std::move(prepared));
}

Prepared& Communicator::State::prepare(std::shared_ptr<const Plan> plan) {
    if (Prepared* known = plans.find(plan)) return *known;
    return plans.insert(std::make_unique<Prepared>(*this, std::move(plan)));
}

Execution& Communicator::State::take(Prepared& prepared, Buffers buffers, const Reduction* reduction) {
    if (prepared.program.reduces && (reduction == nullptr || reduction->apply == nullptr))
        throw UsageError("a reduction needs an operation");
    if (reduction != nullptr && reduction->element == 0) throw UsageError("an element cannot have 0 bytes");
    if (prepared.touched.may_meet(buffers)) [[unlikely]]
        refuse_overlap(group, prepared.shape.call, buffers);
    refuse_after_loss(prepared);
    Execution& execution = *prepared.take(world.engine);
    execution.buffers = buffers;
    if (reduction != nullptr) execution.reduction = *reduction;
    ++taken;
    return execution;
}

// Before anything is sent: others may not know of the loss yet, and would take it for their own next operation.
void Communicator::State::refuse_after_loss(const Prepared& prepared) const {
    if (!world.transport.lost()) [[likely]]
        return;
    if (const auto who = prepared.lost_member(world.transport)) throw transport::loss_of(*who, world.transport);
}

void Communicator::State::start(Execution& execution) {
    if (!world.checks) [[likely]]
        return world.start(execution);
    const Call& call = execution.prepared().shape.call;
    const bool is_call = static_cast<std::size_t>(call.what) < collectives;  // else somebody's own plan
    start_checked(execution, is_call ? record_of(call) : CallRecord{});
}

void Communicator::State::put_back(Execution& execution) {
    execution.prepared().put_back(&execution);
    if (execution.prepared().is_message) messages.put_back(execution.prepared());
    if (--taken == 0 && unreferenced) world.remove(*this);
}

void Communicator::State::exchange(std::span<const std::byte> mine, std::span<std::byte> all) {
    const Communicator self(std::shared_ptr<State>(std::shared_ptr<State>{}, this));
    Call call;
    call.what = Collective::allgather;
    call.bytes = mine.size();
    self.start(call, {mine.data(), all.data()}).wait();
}

// Everyone proposes the lowest it has free; the highest of those is taken if it is free everywhere. It is in use from
// the moment we say that it is free: another thread may be agreeing on one for another communicator.
std::uint32_t Communicator::State::agree_on_context() {
    std::uint32_t floor = first_context;
    while (floor < contexts) {
        const auto proposals = exchange_all(*this, world.free_context(floor));
        const std::uint32_t agreed = *std::max_element(proposals.begin(), proposals.end());
        const bool is_free = world.take_context(agreed);
        const auto free_at = exchange_all(*this, static_cast<std::uint8_t>(is_free));
        if (std::all_of(free_at.begin(), free_at.end(), [](std::uint8_t at) { return at != 0; })) return agreed;
        if (is_free) world.give_up_context(agreed);
        floor = agreed + 1;
    }
    World::State::refuse_more_communicators();
}

Explanation Communicator::explain(const Call& call, const Choice* choice) const {
    const World::State::Hold hold(state_->world);
    if (state_->is_reproducible && is_reduction(call.what)) {
        State::Reproducible* const fixed = state_->reproducible.get();
        const Parameters same{fixed->charges, Parameters::Source::assumed,
                              "the same everywhere: LOOM_COLL_REPRODUCIBLE"};
        return explain_call(fixed->group, call, choice, fixed->ranking, same);
    }
    return explain_call(state_->group, call, choice, state_->world.ranking, state_->world.parameters);
}

bool Communicator::is_reproducible() const {
    const World::State::Hold hold(state_->world);
    return state_->is_reproducible;
}

void Communicator::set_reproducible(bool on) const {
    const World::State::Hold hold(state_->world);
    state_->set_reproducible(on);
}

Explanation Communicator::explain(Collective what, std::uint64_t bytes) const {
    Call call;
    call.what = what;
    call.bytes = bytes;
    return explain(call);
}

Rank Communicator::rank() const {
    return state_->group.me;
}

std::uint32_t Communicator::size() const {
    return state_->group.size;
}

const Group& Communicator::group() const {
    return state_->group;
}

Rank Communicator::world_rank(Rank member) const {
    if (member.value >= size()) throw UsageError("a communicator has no rank " + std::to_string(member.value));
    return state_->members[member.value];
}

const Neighbours& Communicator::neighbours() const {
    if (state_->neighbours.empty()) throw UsageError("the communicator has no topology");
    return state_->neighbours[state_->group.me.value];
}

namespace {

Request start_prepared(Communicator::State& state, Prepared& prepared, Buffers buffers, const Reduction* reduction,
                       Series series) {
    Execution& execution = state.take(prepared, buffers, reduction);
    execution.tag = state.next_tag(series);
    state.start(execution);
    return Request(&execution);
}

Persistent keep_prepared(Communicator::State& state, Prepared& prepared, Buffers buffers, const Reduction* reduction) {
    Execution& execution = state.take(prepared, buffers, reduction);
    execution.tag = state.next_persistent_tag();
    return Persistent(&execution);
}

}  // namespace

Request Communicator::start(const Call& call, Buffers buffers, const Reduction* reduction, const Choice* choice,
                            Series series) const {
    const World::State::Hold hold(state_->world);
    return start_prepared(*state_, state_->prepare(call, choice), buffers, reduction, series);
}

Request Communicator::start(std::shared_ptr<const Plan> plan, Buffers buffers, const Reduction* reduction,
                            Series series) const {
    const World::State::Hold hold(state_->world);
    return start_prepared(*state_, state_->prepare(std::move(plan)), buffers, reduction, series);
}

Persistent Communicator::prepare(const Call& call, Buffers buffers, const Reduction* reduction,
                                 const Choice* choice) const {
    const World::State::Hold hold(state_->world);
    return keep_prepared(*state_, state_->prepare(call, choice), buffers, reduction);
}

Persistent Communicator::prepare(std::shared_ptr<const Plan> plan, Buffers buffers, const Reduction* reduction) const {
    const World::State::Hold hold(state_->world);
    return keep_prepared(*state_, state_->prepare(std::move(plan)), buffers, reduction);
}

std::shared_ptr<const Plan> Communicator::plan(const Call& call, const Choice* choice) const {
    const World::State::Hold hold(state_->world);
    const Prepared& prepared = state_->prepare(call, choice);
    if (prepared.plan != nullptr) return prepared.plan;
    return std::make_shared<const Plan>(state_->make_plan_of(call, choice));
}

Communicator Communicator::duplicate() const {
    return derive(*state_, state_->members, state_->neighbours, state_->grid);
}

Communicator Communicator::renumbered(std::span<const std::uint32_t> order) const {
    std::vector<bool> seen(size());
    std::vector<Rank> members;
    for (const std::uint32_t rank : order) {
        if (rank >= size() || seen[rank]) throw UsageError("an order of ranks must have each of them once");
        seen[rank] = true;
        members.push_back(state_->members[rank]);
    }
    if (members.size() != size()) throw UsageError("an order of ranks must have each of them once");
    return derive(*state_, std::move(members));
}

std::optional<Communicator> Communicator::split(std::optional<std::uint32_t> colour, std::uint32_t key) const {
    struct Wish {
        std::uint32_t has_colour, colour, key, rank;
    };
    const Wish mine{colour.has_value(), colour.value_or(0), key, state_->group.me.value};
    std::vector<Wish> all = exchange_all(*state_, mine);
    std::erase_if(all, [&](const Wish& wish) { return wish.has_colour == 0 || wish.colour != mine.colour; });
    std::stable_sort(all.begin(), all.end(), [](const Wish& a, const Wish& b) { return a.key < b.key; });
    if (!colour) {
        // Its proposals and its contexts in use count all the same: the others ask it.
        state_->world.give_up_context(state_->agree_on_context());
        return {};
    }
    std::vector<Rank> members;
    for (const Wish& wish : all) members.push_back(state_->members[wish.rank]);
    return derive(*state_, std::move(members));
}

Communicator Communicator::cartesian(std::span<const std::uint32_t> dims, const std::vector<bool>& periodic) const {
    std::uint64_t places = 1;
    for (const std::uint32_t dim : dims) places = std::min<std::uint64_t>(places * dim, size() + std::uint64_t{1});
    if (places != size() || periodic.size() != dims.size())
        throw UsageError("a grid must have as many places as the communicator has ranks, here " +
                         std::to_string(size()) + ", and say for each dimension whether it is periodic");
    Grid grid{{dims.begin(), dims.end()}, periodic};
    std::vector<Neighbours> neighbours = grid_neighbours(grid);
    return derive(*state_, state_->members, std::move(neighbours), std::move(grid));
}

Communicator Communicator::graph(const Neighbours& mine) const {
    struct Degrees {
        std::uint32_t sources, destinations;
    };
    for (const auto* list : {&mine.sources, &mine.destinations})
        for (const Rank rank : *list)
            if (rank.value >= size()) throw UsageError("a neighbour must be a rank of the communicator");
    const auto degrees = exchange_all(*state_, Degrees{static_cast<std::uint32_t>(mine.sources.size()),
                                                       static_cast<std::uint32_t>(mine.destinations.size())});
    std::vector<std::uint64_t> bytes, at;
    std::uint64_t total = 0;
    for (const Degrees& degree : degrees) {
        bytes.push_back((std::uint64_t{degree.sources} + degree.destinations) * sizeof(Rank));
        at.push_back(total);
        total += bytes.back();
    }
    std::vector<Rank> own = mine.sources;
    own.insert(own.end(), mine.destinations.begin(), mine.destinations.end());
    std::vector<Rank> all(total / sizeof(Rank));
    Call call;
    call.what = Collective::allgatherv;
    call.received = {bytes, at};
    start(call, {std::as_bytes(std::span(own)).data(), std::as_writable_bytes(std::span(all)).data()}).wait();
    std::vector<Neighbours> neighbours(size());
    auto next = all.begin();
    for (std::uint32_t rank = 0; rank < size(); ++rank) {
        const auto middle = next + degrees[rank].sources;
        const auto end = middle + degrees[rank].destinations;
        neighbours[rank] = {{next, middle}, {middle, end}};
        next = end;
    }
    return derive(*state_, state_->members, std::move(neighbours));
}

MemoryBlock Communicator::allocate_bytes(std::size_t bytes) const {
    World::State& world = state_->world;
    const World::State::Hold hold(world);
    return {&world, world.transport.allocate(bytes), [](void* owner, std::span<std::byte> memory) {
                World::State& here = *static_cast<World::State*>(owner);
                const World::State::Hold alone(here);
                here.transport.release(memory);
            }};
}

Communicator Communicator::with_context(World& world, std::span<const Rank> members, std::uint32_t context,
                                        std::vector<Neighbours> neighbours, std::optional<Grid> grid) {
    if (context < first_context || context >= contexts)
        throw UsageError("a context of a communicator is one of " + std::to_string(first_context) + " to " +
                         std::to_string(contexts - 1));
    for (const Rank member : members)
        if (member.value >= world.size()) throw UsageError("a member must be a rank of the world");
    return Communicator(
        world.state().add(std::make_unique<State>(world.state(), std::vector<Rank>(members.begin(), members.end()),
                                                  context, std::move(neighbours), std::move(grid))));
}

}  // namespace loom::coll
