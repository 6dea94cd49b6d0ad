#include "coll/messages.hpp"

#include <string>
#include <utility>

#include "coll/world_state.hpp"

namespace loom::coll {

using traffic::OpKind;

Prepared& MessagePrograms::next(Communicator::State& communicator) {
    if (idle_.empty()) {
        Writer writer(communicator.group.size, communicator.group.me);
        writer.send(Rank{0}, input(), 0);
        if (all_.empty())
            communicator.world.transport.operation_begins({.group = communicator.context,
                                                           .first = transport::Tag{communicator.message_tag()},
                                                           .tags = tags_of_operation});
        all_.push_back(std::make_unique<Prepared>(communicator, std::make_shared<const Plan>(writer.finish())));
        all_.back()->plan.reset();
        all_.back()->is_message = true;
        idle_.reserve(all_.size());
        idle_.push_back(all_.back().get());
    }
    return *idle_.back();
}

namespace {

// The thread is never handed a message: one that is started later with the same tag would overtake it.
constexpr std::uint64_t nothing_to_hand_over = 0;

Request start_message(Communicator::State& state, OpKind kind, Rank peer, std::uint32_t tag, Buffers buffers,
                      std::uint64_t bytes) {
    if (peer.value >= state.group.size)
        throw UsageError("a message to or from rank " + std::to_string(peer.value) + " of a communicator with " +
                         std::to_string(state.group.size) + " ranks");
    if (tag >= Communicator::tags)
        throw UsageError("the tag of a message is " + std::to_string(tag) + ", but must be less than " +
                         std::to_string(Communicator::tags));
    const World::State::Hold hold(state.world);
    Prepared& prepared = state.messages.next(state);
    Program& program = prepared.program;
    ProgramStep& step = program.steps.front();
    step.kind = kind;
    step.from_buffer = kind == OpKind::send ? Buffer::input : Buffer::none;
    step.to_buffer = kind == OpKind::send ? Buffer::none : Buffer::output;
    step.peer = state.members[peer.value].value;
    step.tag = tag;
    step.bytes = bytes;
    const Program::Reach whole{0, bytes}, none;
    program.input = kind == OpKind::send ? whole : none;
    program.output = kind == OpKind::send ? none : whole;
    program.moved = nothing_to_hand_over;
    Execution& execution = state.take(prepared, buffers, nullptr);
    state.messages.take_next();
    execution.tag = state.message_tag();
    state.world.start(execution);
    return Request(&execution);
}

}  // namespace

Request Communicator::start_send(std::span<const std::byte> data, Rank to, std::uint32_t tag) const {
    return start_message(*state_, OpKind::send, to, tag, {data.data(), nullptr}, data.size());
}

Request Communicator::start_receive(std::span<std::byte> into, Rank from, std::uint32_t tag) const {
    return start_message(*state_, OpKind::receive, from, tag, {nullptr, into.data()}, into.size());
}

}  // namespace loom::coll
