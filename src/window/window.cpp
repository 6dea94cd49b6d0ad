#include "loom/window/window.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "window/driving.hpp"

namespace loom::window {

Window Team::create(std::span<std::byte> mine, WindowOptions options) const {
    World::State& world = state_->world;
    world.check_open();
    struct Card {
        transport::RemoteMemory memory;
        std::uint64_t tags;
        std::uint32_t next_window;
        std::uint32_t opened;
    };
    transport::RemoteMemory exposed;
    std::string refusal;
    try {
        if (!mine.empty()) exposed = world.transport.expose(mine);
    } catch (const Error& error) {
        refusal = error.what();  // said once all have heard of it
    }
    const auto cards = state_->allgather(Card{exposed, options.tags, world.next_window, refusal.empty() ? 1u : 0u});
    std::uint32_t id = 0;
    for (const Card& card : cards) id = std::max(id, card.next_window);
    world.next_window = std::min(id, most_windows) + 1;
    for (std::uint32_t rank = 0; rank < cards.size(); ++rank) {
        const bool agreed = cards[rank].opened != 0 && cards[rank].tags == options.tags && id <= most_windows;
        if (agreed) continue;
        if (!mine.empty() && refusal.empty()) world.transport.unexpose(exposed);
        if (!refusal.empty()) throw Error(refusal);
        if (id > most_windows)
            throw Error("there have been " + std::to_string(most_windows) + " windows, which is all there can be");
        if (cards[rank].opened == 0) throw Error("rank " + std::to_string(rank) + " cannot open its memory");
        throw UsageError("rank " + std::to_string(rank) + " opens a window with another number of tags");
    }
    auto window = std::make_shared<Window::State>(state_, WindowId{id});
    window->tags = options.tags;
    window->mine = mine;
    window->exposed = exposed;
    for (std::uint32_t rank = 0; rank < cards.size(); ++rank) {
        const Rank whose = state_->members[rank];
        Window::State::Target target{nullptr, cards[rank].memory, whose};
        const bool stores = whose == world.me ? world.reaches_itself : world.lanes.is_open(whose);
        if (stores && target.memory.bytes != 0) target.direct = world.transport.map(whose, target.memory);
        window->targets.push_back(target);
    }
    if (world.windows.size() <= id) world.windows.resize(id + 1, nullptr);
    world.windows[id] = window;
    // Members notify after the barrier: what is here already was sent by somebody else, and could not be judged before.
    std::vector<Arrival> early;
    while (const auto each = world.arrivals.next({window->id, {}, {}, 0})) early.push_back(*each);
    for (const Arrival& each : early) world.take_in(each.source, each.stamp);
    state_->barrier();
    return Window(std::move(window));
}

void Window::State::let_go() {
    if (freed) return;
    freed = true;
    for (const Target& target : targets)
        if (target.direct != nullptr) world.transport.unmap(target.world, target.memory, target.direct);
    if (!mine.empty()) world.transport.unexpose(exposed);
    world.arrivals.forget(id);
    world.windows[id.value].reset();  // the caller has another reference
}

const Window::State::Target& Window::State::at(Rank target) const {
    if (freed) [[unlikely]]
        throw WindowFreed("window " + std::to_string(id.value) + " is freed");
    if (target.value >= targets.size()) [[unlikely]]
        throw NoSuchRank("window " + std::to_string(id.value) + ": rank " + std::to_string(target.value) +
                         " of a team of " + std::to_string(targets.size()));
    return targets[target.value];
}

const Window::State::Target& Window::State::at(Rank target, std::uint64_t offset, std::uint64_t bytes) const {
    const Target& found = at(target);
    if (offset > found.memory.bytes || bytes > found.memory.bytes - offset) [[unlikely]]
        throw OutOfBounds("window " + std::to_string(id.value) + ": " + std::to_string(bytes) + " bytes at " +
                          std::to_string(offset) + " of the " + std::to_string(found.memory.bytes) + " of rank " +
                          std::to_string(target.value));
    return found;
}

void Window::State::check(Tag tag) const {
    if (tag.value >= tags) [[unlikely]]
        throw NoSuchTag("window " + std::to_string(id.value) + ": tag " + std::to_string(tag.value) +
                        ", which has tags below " + std::to_string(tags));
}

Wanted Window::State::wanted(const Match& what) const {
    if (freed) [[unlikely]]
        throw WindowFreed("window " + std::to_string(id.value) + " is freed");
    if ((what.tag.value & ~what.mask) != 0 || (what.tag.value & what.mask) >= tags) [[unlikely]]
        throw NoSuchTag("window " + std::to_string(id.value) + ": no tag below " + std::to_string(tags) + " is " +
                        std::to_string(what.tag.value) + " in the bits of " + std::to_string(what.mask));
    Wanted result{id, {}, what.tag, what.mask};
    if (what.source) result.source = at(*what.source).world;
    return result;
}

Team Window::team() const {
    return Team(state_->team);
}

std::span<std::byte> Window::mine() const {
    return state_->mine;
}

std::uint64_t Window::bytes(Rank target) const {
    return state_->at(target).memory.bytes;
}

std::byte* Window::direct(Rank target) const {
    return state_->at(target).direct;
}

bool Window::is_freed() const {
    return state_->freed;
}

void Window::free() {
    (void)state_->at(Rank{0});
    state_->flush({});
    state_->team->barrier();
    state_->world.progress();
    state_->let_go();
}

bool Window::test(const Match& what, std::uint64_t count) const {
    return state_->world.test(state_->wanted(what), count);
}

void Window::wait(const Match& what, std::uint64_t count, std::optional<Time> patience) const {
    state_->world.wait(state_->wanted(what), count, patience, state_->team.get());
}

std::uint64_t Window::arrived(const Match& what) const {
    const Wanted wanted = state_->wanted(what);
    state_->world.progress();
    return state_->world.arrivals.count(wanted);
}

std::optional<Notification> Window::next(const Match& what) const {
    const Wanted wanted = state_->wanted(what);
    auto found = state_->world.arrivals.next(wanted);
    if (!found && state_->world.progress()) found = state_->world.arrivals.next(wanted);
    if (!found) return {};
    return Notification{Rank{state_->team->place_of[found->source.value]}, found->stamp.tag};
}

}  // namespace loom::window
