#include "coll/engine.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "coll/checking.hpp"
#include "coll/communicator_state.hpp"
#include "coll/prepared.hpp"
#include "loom/base/copy.hpp"

namespace loom::coll {

using traffic::OpKind;
using transport::Message;

namespace {

// A look that finds messages is followed by one for lost ranks this often; one that finds nothing always is. While
// others go on sending there may be no look that finds nothing.
constexpr std::uint32_t looks_between_losses = 64;
constexpr std::uint64_t copied_past_caches = 64 << 10;  // bytes for which it is worth the while
constexpr std::uint64_t least_looked_at = 32 << 10;     // bytes of a buffer for which the kind of its pages matters

bool is_message(const ProgramStep& step) {
    return step.kind == OpKind::send || step.kind == OpKind::receive;
}

transport::LocalWork work_of(OpKind kind) {
    if (kind == OpKind::copy) return transport::LocalWork::copy;
    return kind == OpKind::reduce ? transport::LocalWork::reduce : transport::LocalWork::compute;
}

std::exception_ptr lost_error(Rank who, const transport::Transport& transport) {
    return std::make_exception_ptr(transport::loss_of(who, transport));
}

// Whoever hears of a loss soon ends, and is lost to others: the first of them is the one to name.
std::exception_ptr error_of(const Message& message, Rank peer, const Prepared& prepared,
                            const transport::Transport& transport) {
    if (message.outcome == Message::Outcome::lost) {
        const Rank first = transport.lost().value_or(peer);
        return lost_error(prepared.has_member(first) ? first : peer, transport);
    }
    return std::make_exception_ptr(Error("a message between this rank and rank " + std::to_string(peer.value) +
                                         " was not as long as expected: do all ranks call with the same sizes?"));
}

}  // namespace

Execution::Execution(Engine& engine, Prepared& prepared)
    : engine_(engine),
      prepared_(prepared),
      program_(prepared.program),
      waits_(program_.steps.size()),
      ready_(program_.steps.size()),
      messages_(program_.messages) {
    for (std::uint32_t i = 0; i < program_.steps.size(); ++i) {
        const ProgramStep& step = program_.steps[i];
        if (!is_message(step) && !engine_.charges_) continue;
        Message& message = messages_[step.message];
        message.finished = message_finished;
        message.owner = this;
        message.index = i;
        message.past_caches = program_.past_caches;
    }
    if (program_.scratch != 0) {
        scratch_ = engine_.transport_.allocate(program_.scratch);
        base_[static_cast<std::size_t>(Buffer::scratch)] = reinterpret_cast<std::uintptr_t>(scratch_.data());
    }
}

Execution::~Execution() {
    if (!scratch_.empty()) engine_.transport_.release(scratch_);
}

inline void Execution::complete(std::uint32_t number) {
    const ProgramStep& step = program_.steps[number];
    --remaining_;
    if (!fragments_.empty()) [[unlikely]]
        if (std::exchange(fragments_[number], Fragment::here) == Fragment::heard) return;
    release_successors(step);
}

inline void Execution::release_successors(const ProgramStep& step) {
    const std::uint32_t* successor = program_.successors.data() + step.first_successor;
    for (std::uint32_t i = 0; i < step.successors; ++i)
        if (--waits_[successor[i]] == 0) ready_[tail_++] = successor[i];
}

// The first stage of a multicast broadcast, at its root: all it sends, to all.
void Execution::send_to_all(transport::Multicast& multicast) {
    for (const ProgramStep& step : program_.steps) {
        if (step.kind == OpKind::receive) return;
        if (step.kind == OpKind::send && step.bytes <= multicast.largest())
            multicast.send(transport::Tag{tag}, step.tag, {at(step.from_buffer, step.from), step.bytes});
    }
}

// A fragment that came by multicast is as good as one that was received: what waits for that may begin.
void Execution::hear(std::uint32_t fragment, std::span<const std::byte> data) {
    for (std::uint32_t i = 0; i < program_.steps.size(); ++i) {
        const ProgramStep& step = program_.steps[i];
        if (step.kind != OpKind::receive || step.tag != fragment) continue;
        if (fragments_[i] != Fragment::missing || step.bytes != data.size()) return;
        fragments_[i] = Fragment::heard;
        std::memcpy(at(step.to_buffer, step.to), data.data(), data.size());
        release_successors(step);
        if (!queued_ && head_ != tail_) engine_.advance(*this);
        return;
    }
}

void Execution::copy(const ProgramStep& step) const {
    std::byte* const to = at(step.to_buffer, step.to);
    const std::byte* const from = at(step.from_buffer, step.from);
    const bool apart =
        step.from_buffer != step.to_buffer || step.from + step.bytes <= step.to || step.to + step.bytes <= step.from;
    if (program_.past_caches && apart && step.bytes >= copied_past_caches)
        copy_past_caches(to, from, step.bytes);
    else if (step.bytes != 0)
        std::memmove(to, from, step.bytes);
}

// The time of local work whose bytes are done. False: what waits for it has to wait until the transport says so.
bool Execution::charge(const ProgramStep& step) {
    ++outstanding_;
    if (!engine_.transport_.work(work_of(step.kind), step.bytes, messages_[step.message])) return false;
    --outstanding_;
    return true;
}

void Execution::run() {
    transport::Transport& transport = engine_.transport_;
    while (head_ != tail_) {
        const std::uint32_t number = ready_[head_++];
        const ProgramStep& step = program_.steps[number];
        switch (step.kind) {
            case OpKind::send:
            case OpKind::receive: {
                Message& message = messages_[step.message];
                const transport::Tag whole{tag | step.tag};
                message.huge_pages = huge_[static_cast<std::size_t>(step.from_buffer)];
                ++outstanding_;
                const bool at_once =
                    step.kind == OpKind::send
                        ? transport.send(Rank{step.peer}, whole, {at(step.from_buffer, step.from), step.bytes}, message)
                        : transport.receive(Rank{step.peer}, whole, {at(step.to_buffer, step.to), step.bytes}, message);
                if (!at_once) continue;
                --outstanding_;
                // The transport may have finished others of ours meanwhile, and not well.
                if (message.outcome != Message::Outcome::done || failed()) [[unlikely]]
                    return engine_.fail(*this, error_of(message, Rank{step.peer}, prepared_, transport));
                break;
            }
            case OpKind::copy:
                copy(step);
                if (engine_.charges_ && !charge(step)) [[unlikely]]
                    continue;
                break;
            case OpKind::reduce:
                reduction.apply(reduction.state, at(step.from_buffer, step.from), at(step.to_buffer, step.to),
                                step.bytes / reduction.element);
                if (engine_.charges_ && !charge(step)) [[unlikely]]
                    continue;
                break;
            case OpKind::compute:
                if (engine_.charges_ && !charge(step)) [[unlikely]]
                    continue;
                break;
        }
        complete(number);
    }
}

void Execution::message_finished(Message& message) {
    Execution& execution = *static_cast<Execution*>(message.owner);
    Engine& engine = execution.engine_;
    --execution.outstanding_;
    if (execution.phase_.load(std::memory_order_relaxed) != Phase::running) [[unlikely]] {
        // It had failed before. Whoever waited for it has gone without it.
        if (execution.detached && execution.outstanding_ == 0 && !execution.queued_) engine.reclaim(execution);
        return;
    }
    if (message.outcome != Message::Outcome::done) [[unlikely]] {
        engine.fail(execution, error_of(message, Rank{execution.program_.steps[message.index].peer},
                                        execution.prepared_, engine.transport_));
        return;
    }
    execution.complete(message.index);
    if (execution.queued_) return;
    if (execution.head_ == execution.tail_) {
        if (execution.remaining_ == 0) engine.finish(execution, Phase::done);
        return;
    }
    engine.advance(execution);
}

// Runs it, and then whatever the transport's answers made ready meanwhile: never one inside the other.
void Engine::advance(Execution& first) {
    first.queued_ = true;
    if (running_) {
        first.next_queued_ = std::exchange(queue_, &first);
        return;
    }
    running_ = true;
    Execution* execution = &first;
    while (true) {
        try {
            execution->run();
        } catch (...) {
            fail(*execution, std::current_exception());
        }
        execution->queued_ = false;
        if (execution->failed()) [[unlikely]] {
            if (execution->detached && execution->outstanding_ == 0) reclaim(*execution);
        } else if (execution->remaining_ == 0) {
            finish(*execution, Execution::Phase::done);
        }
        if (queue_ == nullptr) break;
        execution = std::exchange(queue_, queue_->next_queued_);
    }
    running_ = false;
}

Engine::Engine(transport::Transport& transport)
    : transport_(transport), charges_(transport.charges_work()), names_(transport.names_operations()) {
    // Moving pages takes real time, and whether it is worth that is measured: never in virtual time.
    if (transport.likes_huge_pages() && transport.waiting() != transport::Waiting::block)
        huge_pages_ = std::make_unique<HugePages>();
}

void Engine::start(Execution& execution) {
    set_up(execution);
    if (execution.program_.multicast && multicast_ != nullptr && !is_persistent(execution.tag)) [[unlikely]]
        try {
            execution.send_to_all(*multicast_);
        } catch (...) {
            return fail(execution, std::current_exception());
        }
    advance(execution);
}

void Engine::hand_over(Execution& execution) {
    handed_over_.push_back(&execution);
    set_up(execution);
}

void Engine::set_up(Execution& execution) {
    const Program& program = execution.program_;
    execution.base_[static_cast<std::size_t>(Buffer::input)] =
        reinterpret_cast<std::uintptr_t>(execution.buffers.input);
    execution.base_[static_cast<std::size_t>(Buffer::output)] =
        reinterpret_cast<std::uintptr_t>(execution.buffers.output);
    const std::size_t steps = program.steps.size();
    if (huge_pages_ != nullptr && std::max(program.input.bytes(), program.output.bytes()) >= least_looked_at)
        look_at_pages(execution);
    if (program.multicast) [[unlikely]]
        execution.fragments_.assign(steps, Execution::Fragment::missing);
    if (steps != 0) {
        std::memcpy(execution.waits_.data(), program.waits.data(), steps * sizeof(std::uint32_t));
        std::memcpy(execution.ready_.data(), program.ready.data(), program.ready.size() * sizeof(std::uint32_t));
    }
    execution.head_ = 0;
    execution.tail_ = static_cast<std::uint32_t>(program.ready.size());
    execution.remaining_ = static_cast<std::uint32_t>(steps);
    execution.phase_.store(Execution::Phase::running, std::memory_order_relaxed);
    execution.previous_ = nullptr;
    execution.next_ = first_;
    if (first_ != nullptr) first_->previous_ = &execution;
    first_ = &execution;
    ++pending_;
    if (names_) [[unlikely]]
        tell_name(execution);
}

void Engine::tell_name(const Execution& execution) {
    const Prepared& prepared = execution.prepared_;
    if (prepared.is_message) return;
    const Call& call = prepared.shape.call;
    const bool is_call = static_cast<std::size_t>(call.what) < collectives;
    const bool is_check = (execution.tag & Check::tag_bit) != 0;
    transport_.operation_begins({.what = is_check  ? "comparison of calls"
                                         : is_call ? to_string(call.what)
                                                   : "schedule",
                                 .bytes = is_call ? call.bytes : 0,
                                 .group = prepared.communicator.context,
                                 .first = transport::Tag{execution.tag},
                                 .tags = is_check ? Check::tag_bit : tags_of_operation});
}

// The kernel, which copies between ranks of a host, is slow with small pages.
void Engine::look_at_pages(Execution& execution) {
    const Program& program = execution.program_;
    if (std::max(program.input.bytes(), program.output.bytes()) >= HugePages::least) huge_pages_->next_use();
    if (program.input.bytes() >= least_looked_at)
        execution.huge_[static_cast<std::size_t>(Buffer::input)] =
            huge_pages_->used({execution.at(Buffer::input, program.input.first), program.input.bytes()});
    if (program.output.bytes() >= least_looked_at)
        execution.huge_[static_cast<std::size_t>(Buffer::output)] =
            huge_pages_->used({execution.at(Buffer::output, program.output.first), program.output.bytes()});
}

void Engine::listen() {
    if (multicast_ != nullptr) return;
    multicast_ = transport_.multicast();
    if (multicast_ != nullptr) multicast_->listen(heard, this);
}

// Comes from the transport's progress, which may be inside a start of ours: nothing is run inside another. The parts of
// a group that was split have the same tags, so the sender must be one of us.
void Engine::heard(void* engine, Rank from, transport::Tag tag, std::uint32_t fragment,
                   std::span<const std::byte> data) {
    Engine& self = *static_cast<Engine*>(engine);
    ++self.fragments_heard_;  // also those that come when their broadcast is over
    for (Execution* execution = self.first_; execution != nullptr; execution = execution->next_)
        if (execution->tag == tag.value && execution->program_.multicast && execution->prepared_.has_member(from))
            return execution->hear(fragment, data);
}

void Engine::unlink(Execution& execution) {
    (execution.previous_ != nullptr ? execution.previous_->next_ : first_) = execution.next_;
    if (execution.next_ != nullptr) execution.next_->previous_ = execution.previous_;
    --pending_;
}

// It counts as known to the transport until the check has ended, so that it stays.
void Engine::hold_behind(Execution& execution, Execution& check, std::unique_ptr<Check> what) {
    set_up(execution);
    ++execution.outstanding_;
    check.behind_ = &execution;
    check.check_ = std::move(what);
}

void Engine::begin_checked(Execution& check) {
    Execution& execution = *std::exchange(check.behind_, nullptr);
    --execution.outstanding_;
    if (execution.phase_.load(std::memory_order_relaxed) != Execution::Phase::running) {
        if (execution.detached && execution.outstanding_ == 0) reclaim(execution);
        return;
    }
    if (check.failed()) return fail(execution, check.error_);
    if (const std::string wrong = differences(check.check_->all()); !wrong.empty())
        return fail(execution, std::make_exception_ptr(UsageError("the ranks do not call the same: " + wrong)));
    advance(execution);
}

void Engine::finish(Execution& execution, Execution::Phase phase) {
    unlink(execution);
    if (names_ && !execution.prepared_.is_message) [[unlikely]]
        transport_.operation_ends(transport::Tag{execution.tag});
    const bool detached = execution.detached;
    execution.phase_.store(phase, std::memory_order_release);
    if (execution.behind_ != nullptr) [[unlikely]]
        begin_checked(execution);
    if (detached && execution.outstanding_ == 0 && !execution.queued_) reclaim(execution);
}

void Engine::fail(Execution& execution, std::exception_ptr error) {
    if (execution.phase_.load(std::memory_order_relaxed) != Execution::Phase::running) return;
    std::erase(handed_over_, &execution);
    execution.error_ = std::move(error);
    execution.head_ = execution.tail_ = 0;
    finish(execution, Execution::Phase::failed);
}

bool Engine::poll() {
    if (pending_ == 0) return false;
    if (!handed_over_.empty()) [[unlikely]] {
        Execution* const next = handed_over_.front();
        handed_over_.erase(handed_over_.begin());
        advance(*next);
        return true;
    }
    const bool any = transport_.progress();
    // Whoever waits for what has failed must not rest.
    if (!any || ++looks_ % looks_between_losses == 0) return look_for_losses() || any;
    return any;
}

bool Engine::look_for_losses() {
    const std::optional<Rank> first = transport_.lost();
    if (!first) return false;
    bool any = false;
    for (Execution* execution = first_; execution != nullptr;) {
        Execution* next = execution->next_;
        const Prepared& prepared = execution->prepared_;
        if (const auto who = prepared.has_member(*first) ? first : prepared.lost_member(transport_)) {
            fail(*execution, lost_error(*who, transport_));
            any = true;
        }
        execution = next;
    }
    return any;
}

void Engine::fail_all(const std::exception_ptr& error) {
    while (first_ != nullptr) fail(*first_, error);
}

}  // namespace loom::coll
