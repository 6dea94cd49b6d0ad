#include "coll/program.hpp"

#include <algorithm>

#include "loom/base/error.hpp"

namespace loom::coll {

using traffic::OpKind;

namespace {

// Longer messages may go by rendezvous, which begins at the receiver: from here on over MPI and between threads, later
// over verbs (16 KiB inside a host, 64 KiB to others, LOOM_EAGER), where receives first cost nothing much in between.
constexpr std::uint64_t short_message = 8192;

// A short message sent first is on its way while we look for others'; a long one waits for the receiver to be ready, so
// that everybody had better say that first. Local work comes last. Order inside a kind is kept: messages match by it.
void sort_by_urgency(const std::vector<ProgramStep>& steps, std::vector<std::uint32_t>& ready) {
    const bool all_short = std::all_of(ready.begin(), ready.end(), [&](std::uint32_t i) {
        return steps[i].kind != OpKind::send || steps[i].bytes <= short_message;
    });
    const auto urgency = [&](std::uint32_t i) {
        switch (steps[i].kind) {
            case OpKind::send:
                return all_short ? 0 : 1;
            case OpKind::receive:
                return all_short ? 1 : 0;
            default:
                return 2;
        }
    };
    std::stable_sort(ready.begin(), ready.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return urgency(a) < urgency(b); });
}

}  // namespace

std::size_t Program::bytes() const {
    return steps.size() * sizeof(ProgramStep) +
           (successors.size() + waits.size() + ready.size()) * sizeof(std::uint32_t);
}

Program compile(const Plan& plan, std::span<const Rank> members, LocalSteps local) {
    const traffic::Schedule& schedule = plan.schedule;
    const std::span<const traffic::Op> ops = schedule.ops(plan.me);
    const traffic::OpIndex first = schedule.first(plan.me);
    if (ops.size() != schedule.size() || plan.places.size() != ops.size())
        throw UsageError("a plan must hold the operations of one rank and a place for each");
    Program program;
    program.scratch = plan.scratch;
    program.multicast = plan.multicast;
    program.steps.reserve(ops.size());
    for (std::uint32_t i = 0; i < ops.size(); ++i) {
        const traffic::Op& op = ops[i];
        const Places& places = plan.places[i];
        ProgramStep step{};
        step.kind = op.kind;
        step.from_buffer = places.from.buffer;
        step.to_buffer = places.to.buffer;
        step.from = places.from.at;
        step.to = places.to.at;
        step.bytes = op.amount;
        const auto reaches = [&](const Place& place) {
            if ((place.buffer != Buffer::input && place.buffer != Buffer::output) || step.bytes == 0) return;
            Program::Reach& reach = place.buffer == Buffer::input ? program.input : program.output;
            reach.first = std::min(reach.first, place.at);
            reach.end = std::max(reach.end, place.at + step.bytes);
        };
        reaches(places.from);
        reaches(places.to);
        if (op.kind == OpKind::send || op.kind == OpKind::receive) {
            if (op.peer.value >= members.size() || op.tag >> 24 != 0)
                throw UsageError("a plan's messages need a rank of the group and a tag of 24 bits");
            step.peer = members[op.peer.value].value;
            step.tag = op.tag;
            step.message = program.messages++;
        } else if (local == LocalSteps::charged) {
            step.message = program.messages++;
        }
        if (op.kind != OpKind::receive) program.moved += step.bytes;
        program.reduces = program.reduces || op.kind == OpKind::reduce;
        step.first_successor = static_cast<std::uint32_t>(program.successors.size());
        for (const traffic::Successor& successor : schedule.successors(first + i)) {
            if (successor.on_start) throw UsageError("a plan's operations can wait for the end of others alone");
            program.successors.push_back(successor.op - first);
        }
        step.successors = static_cast<std::uint32_t>(program.successors.size()) - step.first_successor;
        program.steps.push_back(step);
        program.waits.push_back(schedule.waits_for(first + i));
        if (program.waits.back() == 0) program.ready.push_back(i);
    }
    if (local == LocalSteps::at_once) sort_by_urgency(program.steps, program.ready);
    return program;
}

}  // namespace loom::coll
