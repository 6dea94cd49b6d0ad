// Of Window: what reaches into the memory of others.
#include <cstring>
#include <string>
#include <utility>

#include "loom/transport/access.hpp"
#include "window/driving.hpp"

namespace loom::window {

using transport::Message;

// Those that are not finished before it are older: their numbers come first.
Operation& Window::State::begin(const Target& target) {
    Operation& operation = world.operations.begin();
    operation.owner = this;
    operation.target = target.world;
    operation.number = started++;
    operation.ended = [](Operation& over) {
        auto& window = *static_cast<Window::State*>(over.owner);
        window.ended(over);
        window.world.operations.end(over);
    };
    done.push_back(false);
    ++world.open_to[target.world.value];
    return operation;
}

void Window::State::ended(const Operation& operation) {
    --world.open_to[operation.target.value];
    done[operation.number - finished] = true;
    while (!done.empty() && done.front()) {
        done.pop_front();
        ++finished;
    }
    if (operation.message.outcome == Message::Outcome::mismatched) refused = operation.target;
}

void Window::State::follow(Operation& operation, bool finished_at_once) {
    if (!finished_at_once) return;
    const bool lost = operation.message.outcome == Message::Outcome::lost;
    const Rank target = operation.target;
    operation.ended(operation);
    if (lost) throw transport::loss_of(target, world.transport);
}

namespace {

// The caller's data, or where it is kept until it has left.
std::span<const std::byte> kept(Operation& operation, std::span<const std::byte> data, bool keep_copy) {
    if (!keep_copy) return data;
    std::memcpy(operation.value.data(), data.data(), data.size());
    return {operation.value.data(), data.size()};
}

// Scalars are what most puts are.
void copy(std::byte* to, std::span<const std::byte> data) {
    if (data.size() == 8)
        std::memcpy(to, data.data(), 8);
    else if (to != data.data())
        std::memmove(to, data.data(), data.size());
}

}  // namespace

void Window::State::count_finished() {
    if (started == finished)
        ++finished;
    else
        done.push_back(true);
    ++started;
}

void Window::State::put(const Target& target, std::uint64_t offset, std::span<const std::byte> data, bool keep_copy) {
    if (target.direct != nullptr) {
        copy(target.direct + offset, data);
        return count_finished();
    }
    if (data.empty()) return count_finished();
    Operation& operation = begin(target);
    follow(operation, world.transport.put(target.world, target.memory, offset, kept(operation, data, keep_copy),
                                          operation.message));
}

void Window::State::put_notify(const Target& target, std::uint64_t offset, std::span<const std::byte> data, Tag tag,
                               bool keep_copy) {
    const Stamp stamp{id, tag};
    const bool here = target.world == world.me && world.reaches_itself;
    if (here || world.lanes.is_open(target.world)) {
        put(target, offset, data, keep_copy);
        return world.notify(target.world, stamp);
    }
    Operation& operation = begin(target);
    follow(operation, world.transport.put_notify(target.world, target.memory, offset, kept(operation, data, keep_copy),
                                                 to_value(stamp), operation.message));
}

void Window::State::get(const Target& target, std::uint64_t offset, std::span<std::byte> into) {
    if (target.direct != nullptr) {
        std::memmove(into.data(), target.direct + offset, into.size());
        return count_finished();
    }
    if (into.empty()) return count_finished();
    Operation& operation = begin(target);
    follow(operation, world.transport.get(target.world, target.memory, offset, into, operation.message));
}

std::uint64_t Window::State::atomic(const Target& target, std::uint64_t offset, const transport::Atomic& what) {
    transport::check_alignment(target.memory, offset);
    if (target.direct != nullptr)
        return transport::carry_out(what, *reinterpret_cast<std::uint64_t*>(target.direct + offset));
    Operation& operation = world.operations.begin();
    bool over = false;
    operation.owner = &over;
    operation.target = target.world;
    operation.ended = [](Operation& ended) { *static_cast<bool*>(ended.owner) = true; };
    auto& before = *reinterpret_cast<std::uint64_t*>(operation.value.data());
    over = world.transport.atomic(target.world, target.memory, offset, what, before, operation.message);
    try {
        world.drive([&] { return over; }, [&] { return world.gone(target.world); },
                    [&] { return flush_of(target.world); }, never);
    } catch (...) {
        operation.ended = [](Operation&) {};
        throw;
    }
    const Message::Outcome outcome = operation.message.outcome;
    const std::uint64_t result = before;
    world.operations.end(operation);
    if (outcome == Message::Outcome::lost) throw transport::loss_of(target.world, world.transport);
    if (outcome != Message::Outcome::done)
        throw Error("rank " + std::to_string(target.world.value) + " refused an access to its memory");
    return result;
}

void Window::State::flush(std::optional<Rank> of_world) {
    const auto gone = [&]() -> std::optional<Rank> {
        if (of_world) return world.gone(*of_world);
        if (!world.transport.lost()) return {};
        for (const Target& target : targets)
            if (const auto who = world.gone(target.world)) return who;
        return {};
    };
    world.look();  // a loss is heard of, also by who never waits
    const auto is_done = [&] { return of_world ? world.open_to[of_world->value] == 0 : finished == started; };
    world.drive(is_done, gone, [&] { return flush_of(of_world); }, {});
    if (world.transport.lost())
        if (const auto who = gone()) throw transport::loss_of(*who, world.transport);
    if (!refused) return;
    const Rank who = *std::exchange(refused, std::nullopt);
    throw Error("rank " + std::to_string(who.value) + " refused an access to its memory");
}

void Window::put(Rank target, std::uint64_t offset, std::span<const std::byte> data) const {
    state_->put(state_->at(target, offset, data.size()), offset, data, false);
}

void Window::put_copy(Rank target, std::uint64_t offset, std::span<const std::byte> data) const {
    state_->put(state_->at(target, offset, data.size()), offset, data, true);
}

void Window::put_notify(Rank target, std::uint64_t offset, std::span<const std::byte> data, Tag tag) const {
    const State::Target& found = state_->at(target, offset, data.size());
    state_->check(tag);
    state_->put_notify(found, offset, data, tag, false);
}

void Window::put_copy_notify(Rank target, std::uint64_t offset, std::span<const std::byte> data, Tag tag) const {
    const State::Target& found = state_->at(target, offset, data.size());
    state_->check(tag);
    state_->put_notify(found, offset, data, tag, true);
}

void Window::notify(Rank target, Tag tag) const {
    const State::Target& found = state_->at(target);
    state_->check(tag);
    state_->world.notify(found.world, {state_->id, tag});
}

void Window::get(Rank target, std::uint64_t offset, std::span<std::byte> into) const {
    state_->get(state_->at(target, offset, into.size()), offset, into);
}

std::uint64_t Window::fetch_add(Rank target, std::uint64_t offset, std::uint64_t add) const {
    return state_->atomic(state_->at(target, offset, sizeof add), offset, {transport::Atomic::Kind::fetch_add, add, 0});
}

std::uint64_t Window::compare_swap(Rank target, std::uint64_t offset, std::uint64_t expected,
                                   std::uint64_t wanted) const {
    return state_->atomic(state_->at(target, offset, sizeof wanted), offset,
                          {transport::Atomic::Kind::compare_swap, wanted, expected});
}

void Window::flush(Rank target) const {
    state_->flush(state_->at(target).world);
}

void Window::flush() const {
    if (state_->freed) throw WindowFreed("window " + std::to_string(state_->id.value) + " is freed");
    state_->flush({});
}

std::uint64_t Window::started() const {
    return state_->started;
}

std::uint64_t Window::finished() const {
    if (state_->finished != state_->started) state_->world.progress();
    return state_->finished;
}

}  // namespace loom::window
