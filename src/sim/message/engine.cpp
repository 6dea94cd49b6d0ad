#include "sim/message/engine.hpp"

#include <algorithm>

#include "loom/base/error.hpp"
#include "loom/traffic/playing.hpp"
#include "sim/engines.hpp"

namespace loom::sim {

using model::per_byte;
using traffic::OpKind;

template <class Places>
MessageEngine<Places>::MessageEngine(const traffic::Schedule& schedule, const Options& options)
    : schedule_(&schedule),
      ops_(schedule.ops().data()),
      p_(options.message.parameters),
      local_(options.local),
      handshake_(options.message.handshake),
      keep_flows_(options.message.flows),
      control_(costs(1)),
      places_(schedule),
      open_(schedule.size()) {
    check_length(options);
    state_.resize(schedule.size());
    if constexpr (Places::many) {
        ready_.resize(schedule.size());
        took_.resize(schedule.size());
    }
    if (handshake_) {
        phase_.resize(schedule.size());
        partner_.resize(schedule.size());
    }
    if (keep_flows_) book_ = FlowBook(schedule);
    for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
        const OpIndex first = schedule.first(Rank{rank});
        const auto count = static_cast<OpIndex>(schedule.ops(Rank{rank}).size());
        for (OpIndex index = first; index < first + count; ++index) {
            state_[index] = {schedule.waits_for(index), OpQueue::none, 0, rank};
            if (state_[index].waits == 0) freed_.push_back(index);
            for (const traffic::Successor& next : schedule.successors(index)) has_start_edges_ |= next.on_start;
            if (!traffic::takes_anything(ops_[index])) continue;
            keeps_list_.resize(schedule.ranks());
            keeps_list_[rank] = true;
        }
        begin_freed();
    }
}

// All events and all times must fit their numbers: the sum of everything that takes time is an end that none passes.
template <class Places>
void MessageEngine<Places>::check_length(const Options& options) const {
    const auto& p = options.message.parameters;
    if (p.L.ps < 0 || p.o.ps < 0 || p.g.ps < 0 || p.G < 0 || p.O < 0 || local_.copy < 0 || local_.reduce < 0 ||
        local_.step.ps < 0)
        throw UsageError("parameters of LogGOPS and costs of local operations must not be negative");
    double length = 0;
    double events = 0;
    const double message = static_cast<double>(p.L.ps) + 2.0 * static_cast<double>(p.o.ps + p.g.ps);
    const double byte = static_cast<double>(p.G) + static_cast<double>(std::max(p.G, p.O)) + static_cast<double>(p.O);
    for (const Op& op : schedule_->ops()) {
        const auto amount = static_cast<double>(op.amount);
        switch (op.kind) {
            case OpKind::send:
                length += (handshake_ ? 3 : 1) * message + amount * byte;
                events += handshake_ ? 6 : 2;
                break;
            case OpKind::receive:
                events += 1;
                break;
            default:
                length += op.kind == OpKind::compute
                              ? amount
                              : static_cast<double>(local_.step.ps) +
                                    amount * static_cast<double>(op.kind == OpKind::copy ? local_.copy : local_.reduce);
                events += 1;
        }
    }
    if (length > 4e18) throw Error("the schedule may last longer than 46 days, which is all that can be simulated");
    if (events > 4e9 || schedule_->size() >= (std::size_t{1} << 30))
        throw Error("the schedule has more than the 1,073,741,823 operations that the message level can play");
}

template <class Places>
auto MessageEngine<Places>::costs(std::uint64_t bytes) const -> Costs {
    return {p_.o + per_byte(p_.O, bytes), p_.g + per_byte(p_.G, bytes), p_.o + per_byte(std::max(p_.O, p_.G), bytes),
            p_.g + per_byte(p_.G, bytes)};
}

template <class Places>
Time MessageEngine<Places>::local_cost(const Op& op) const {
    const auto amount = static_cast<std::int64_t>(op.amount);
    if (op.kind == OpKind::compute) return Time{amount};
    return local_.step + Time{amount * (op.kind == OpKind::copy ? local_.copy : local_.reduce)};
}

template <class Places>
State MessageEngine<Places>::advance(Time until) {
    while (!queue_.empty()) {
        const Time time{queue_.next_time()};
        if (time > until) {
            now_ = std::max(now_, until);
            return State::running;
        }
        now_ = time;
        look_ahead();
        const auto [number, what] = queue_.take();
        play(number, what);
        if (!freed_.empty()) begin_freed();
    }
    for (std::uint32_t rank = 0; rank < schedule_->ranks(); ++rank) now_ = std::max(now_, places_.busy_until(rank));
    return open_ == 0 ? State::finished : State::stuck;
}

// First the operation, some events later what it names: what an event touches lies all over memory, and waiting for it
// would take most of the time.
template <class Places>
void MessageEngine<Places>::look_ahead() const {
    constexpr std::size_t far = 18, near = 12, next = 6;
    std::uint32_t what = 0;
    if (queue_.is_new()) {
        for (std::size_t i = 0; i < far && queue_.peek(i, what); ++i) prefetch_operation(what);
        for (std::size_t i = 0; i < near && queue_.peek(i, what); ++i) prefetch_rank(what);
    }
    if (queue_.peek(far, what)) prefetch_operation(what);
    if (queue_.peek(near, what)) prefetch_rank(what);
    if (queue_.peek(next, what) && what & in_flight) prefetch_receive(what);
}

template <class Places>
void MessageEngine<Places>::prefetch_operation(std::uint32_t what) const {
    schedule_->prefetch(what >> 2);
    __builtin_prefetch(&state_[what >> 2], 1);
}

template <class Places>
void MessageEngine<Places>::prefetch_rank(std::uint32_t what) const {
    const OpIndex index = what >> 2;
    places_.prefetch(what & in_flight ? ops_[index].peer.value : state_[index].rank);
    __builtin_prefetch(schedule_->successors(index).data());
}

// The receive that a message will likely find.
template <class Places>
void MessageEngine<Places>::prefetch_receive(std::uint32_t what) const {
    const OpIndex receive = places_.posted(ops_[what >> 2].peer.value).head;
    if (receive != OpQueue::none) prefetch_operation(receive << 2);
}

template <class Places>
void MessageEngine<Places>::play(std::uint32_t number, std::uint32_t what) {
    const OpIndex index = what >> 2;
    if (what & in_flight) return play_arrival(index, number, what);
    switch (ops_[index].kind) {
        case OpKind::send:
            return play_send(index, number, what);
        case OpKind::receive:
            return play_receive(index);
        default:
            return play_local(index, number, what);
    }
}

template <class Places>
void MessageEngine<Places>::play_local(OpIndex index, std::uint32_t number, std::uint32_t what) {
    const Op& op = ops_[index];
    const std::uint32_t rank = state_[index].rank;
    Time& core = places_.core(rank, op.cpu);
    OpQueue& queue = places_.waiting(Station::work, rank, op);
    if (!claim(queue, core, index, number, what)) return;
    core = now_ + local_cost(op);
    if (what & again) wake_next(queue, core, what);
    release(index, true, now_);
    complete(index, core);
}

// A send, the answer to a request (by the receiver) or, once that is there, the data.
template <class Places>
void MessageEngine<Places>::play_send(OpIndex index, std::uint32_t number, std::uint32_t what) {
    const Op& op = ops_[index];
    const bool shakes = handshake_ && is_large(op);
    const Phase phase = shakes ? phase_[index] : Phase::request;
    const std::uint32_t rank = phase == Phase::answer ? op.peer.value : state_[index].rank;
    Time& core = places_.core(rank, op.cpu);
    Time& out = places_.out(rank, op.nic);
    OpQueue& queue = places_.waiting(Station::send, rank, op);
    if (!claim(queue, std::max(core, out), index, number, what)) return;

    const Costs cost = shakes && phase != Phase::data ? control_ : costs(op.amount);
    core = now_ + cost.send_core;
    out = now_ + cost.send_adapter;
    if (what & again) wake_next(queue, std::max(core, out), what);
    if (phase == Phase::request) {
        release(index, true, now_);
        if (keep_flows_) book_.begun(Rank{rank}, op.peer, now_);
        if constexpr (Places::many) ready_[index] = core;
    }
    put(now_ + p_.o + p_.L, index << 2 | in_flight);
    if (!is_large(op) || phase == Phase::data) complete(index, core);
}

template <class Places>
void MessageEngine<Places>::play_arrival(OpIndex index, std::uint32_t number, std::uint32_t what) {
    const Op& op = ops_[index];
    const bool shakes = handshake_ && is_large(op);
    const Phase phase = shakes ? phase_[index] : Phase::request;
    const std::uint32_t rank = phase == Phase::answer ? state_[index].rank : op.peer.value;
    Time& core = places_.core(rank, op.cpu);
    Time& in = places_.in(rank, op.nic);
    OpQueue& queue = places_.waiting(Station::take, rank, op);
    if (!claim(queue, std::max(core, in), index, number, what)) return;

    const Costs cost = shakes && phase != Phase::data ? control_ : costs(op.amount);
    core = now_ + cost.take_core;
    in = now_ + cost.take_adapter;
    if (what & again) wake_next(queue, std::max(core, in), what);
    if (phase == Phase::answer) {
        phase_[index] = Phase::data;
        return put(std::max(core, places_.out(rank, op.nic)), index << 2);
    }
    if (!shakes || phase == Phase::data) {
        delivered_ += op.amount;
        if (keep_flows_) book_.arrived(Rank{state_[index].rank}, op.peer, op.amount, now_ + per_byte(p_.G, op.amount));
    }
    if (phase == Phase::data) return complete(partner_[index], core);
    if constexpr (Places::many) took_[index] = core;
    const OpIndex receive = take_or_leave(index, rank, MatchTable::Waiting::messages);
    if (receive == OpQueue::none)
        ++unexpected_;
    else
        match(index, receive);
}

template <class Places>
void MessageEngine<Places>::play_receive(OpIndex index) {
    release(index, true, now_);
    const OpIndex send = take_or_leave(index, state_[index].rank, MatchTable::Waiting::receives);
    if (send == OpQueue::none) return;
    --unexpected_;
    match(send, index);
}

// Whether an event may go on; otherwise it waits, or it was a hint that has been overtaken.
template <class Places>
bool MessageEngine<Places>::claim(OpQueue& queue, Time free, OpIndex index, std::uint32_t number, std::uint32_t what) {
    if (what & again) {
        if (queue.head != index || state_[index].number != number) return false;
        if (free > now_) {
            queue_.push(free.ps, number, what);
            return false;
        }
        queue.head = state_[index].next;
        return true;
    }
    if (free <= now_) return true;
    wait(queue, free, index, number, what);
    return false;
}

// Nearly always at the end: numbers grow with time but where one core frees an operation of another.
template <class Places>
void MessageEngine<Places>::wait(OpQueue& queue, Time free, OpIndex index, std::uint32_t number, std::uint32_t what) {
    OpState& state = state_[index];
    state.number = number;
    state.next = OpQueue::none;
    if (queue.empty()) {
        queue = {index, index};
        queue_.push(free.ps, number, what | again);
    } else if (state_[queue.tail].number < number) {
        state_[queue.tail].next = index;
        queue.tail = index;
    } else if (number < state_[queue.head].number) {
        state.next = queue.head;
        queue.head = index;
        queue_.push(free.ps, number, what | again);
    } else {
        OpIndex before = queue.head;
        while (state_[state_[before].next].number < number) before = state_[before].next;
        state.next = state_[before].next;
        state_[before].next = index;
    }
}

template <class Places>
void MessageEngine<Places>::wake_next(const OpQueue& queue, Time free, std::uint32_t what) {
    if (queue.empty()) return;
    queue_.push(std::max(free, now_).ps, state_[queue.head].number, queue.head << 2 | (what & 3));
}

template <class Places>
bool MessageEngine<Places>::fits(OpIndex send, OpIndex receive) const {
    return traffic::takes(ops_[receive], Rank{state_[send].rank}, ops_[send].tag);
}

template <class Places>
MatchTable::Key MessageEngine<Places>::key_of(OpIndex index) const {
    const Op& op = ops_[index];
    if (op.kind == OpKind::send) return {op.peer.value, state_[index].rank, op.tag};
    return {state_[index].rank, op.peer.value, op.tag};
}

template <class Places>
void MessageEngine<Places>::append(OpQueue& queue, OpIndex index) {
    state_[index].next = OpQueue::none;
    if (queue.empty())
        queue.head = index;
    else
        state_[queue.tail].next = index;
    queue.tail = index;
}

// The receive that a message takes, or the message that a receive takes: the first that fits. Without one, it is left
// for others to find.
template <class Places>
auto MessageEngine<Places>::take_or_leave(OpIndex index, std::uint32_t rank, MatchTable::Waiting kind) -> OpIndex {
    const bool is_message = kind == MatchTable::Waiting::messages;
    OpQueue& others = is_message ? places_.posted(rank) : places_.unexpected(rank);
    if (others.tail == hashed) return take_or_leave_in_table(index, kind);
    OpIndex before = OpQueue::none;
    unsigned steps = 0;
    for (OpIndex other = others.head; other != OpQueue::none; before = other, other = state_[other].next) {
        if (is_message ? fits(index, other) : fits(other, index)) {
            const OpIndex after = state_[other].next;
            (before == OpQueue::none ? others.head : state_[before].next) = after;
            if (after == OpQueue::none) others.tail = before;
            return other;
        }
        if (++steps == (is_message ? most_receives : most_messages) && (keeps_list_.empty() || !keeps_list_[rank])) {
            move_to_table(rank);
            return take_or_leave_in_table(index, kind);
        }
    }
    append(is_message ? places_.unexpected(rank) : places_.posted(rank), index);
    return OpQueue::none;
}

template <class Places>
auto MessageEngine<Places>::take_or_leave_in_table(OpIndex index, MatchTable::Waiting kind) -> OpIndex {
    const MatchTable::Key key = key_of(index);
    MatchTable::Slot& slot = table_.find(key);
    if (slot.waiting == MatchTable::Waiting::nothing || slot.waiting == kind) {
        if (slot.waiting == MatchTable::Waiting::nothing) table_.add(slot, key, kind);
        append(slot.queue, index);
        return OpQueue::none;
    }
    const OpIndex other = slot.queue.head;
    slot.queue.head = state_[other].next;
    if (slot.queue.empty()) table_.remove(slot);
    return other;
}

template <class Places>
void MessageEngine<Places>::move_to_table(std::uint32_t rank) {
    const auto move = [&](OpQueue& queue, MatchTable::Waiting kind) {
        for (OpIndex index = queue.head; index != OpQueue::none;) {
            const OpIndex next = state_[index].next;
            take_or_leave_in_table(index, kind);
            index = next;
        }
        queue = {OpQueue::none, hashed};
    };
    move(places_.posted(rank), MatchTable::Waiting::receives);
    move(places_.unexpected(rank), MatchTable::Waiting::messages);
}

template <class Places>
void MessageEngine<Places>::match(OpIndex send, OpIndex receive) {
    const Op& op = ops_[send];
    Time taken = now_;
    if constexpr (Places::many) taken = std::max(taken, took_[send]);
    if (is_large(op)) {
        if (handshake_) {
            partner_[send] = receive;
            phase_[send] = Phase::answer;
            const std::uint32_t rank = op.peer.value;
            const Time free = std::max(places_.core(rank, op.cpu), places_.out(rank, op.nic));
            return put(std::max(taken, free), send << 2);
        }
        Time& core = places_.core(state_[send].rank, op.cpu);
        Time& out = places_.out(state_[send].rank, op.nic);
        core = std::max(core, now_);
        out = std::max(out, now_);
        Time sent = now_;
        if constexpr (Places::many) sent = std::max(sent, ready_[send]);
        complete(send, sent);
    }
    complete(receive, taken);
}

template <class Places>
void MessageEngine<Places>::release(OpIndex index, bool on_start, Time when) {
    if (on_start && !has_start_edges_) return;
    for (const traffic::Successor& next : schedule_->successors(index)) {
        if (next.on_start != on_start) continue;
        if constexpr (Places::many) ready_[next.op] = std::max(ready_[next.op], when);
        if (--state_[next.op].waits == 0) freed_.push_back(next.op);
    }
}

template <class Places>
void MessageEngine<Places>::complete(OpIndex index, Time when) {
    state_[index].waits = done;
    --open_;
    release(index, false, when);
}

template <class Places>
void MessageEngine<Places>::begin_freed() {
    traffic::order_freed(freed_, *schedule_, [&](OpIndex index) { return state_[index].rank; });
    for (const OpIndex index : freed_) {
        const Op& op = ops_[index];
        const std::uint32_t rank = state_[index].rank;
        Time time = places_.core(rank, op.cpu);
        if (op.kind == OpKind::send) time = std::max(time, places_.out(rank, op.nic));
        if constexpr (Places::many) time = std::max({time, ready_[index], now_});
        put(time, index << 2);
    }
    freed_.clear();
}

template <class Places>
std::vector<Time> MessageEngine<Places>::rank_ends() const {
    std::vector<Time> ends(schedule_->ranks());
    for (std::uint32_t rank = 0; rank < ends.size(); ++rank) ends[rank] = places_.busy_until(rank);
    if (open_ > 0)
        for (const OpState& state : state_)
            if (state.waits != done) ends[state.rank] = never;
    return ends;
}

template <class Places>
std::vector<std::string> MessageEngine<Places>::trouble() const {
    if (!queue_.empty()) return {};
    std::vector<OpIndex> waiting;
    for (OpIndex index = 0; index < state_.size() && open_ > 0; ++index)
        if (state_[index].waits == 0) waiting.push_back(index);  // others are complete, or wait for one of these
    return traffic::trouble_text(*schedule_, waiting, unexpected_);
}

template class MessageEngine<OnePlace>;
template class MessageEngine<ManyPlaces>;

std::unique_ptr<Simulation> make_message_simulation(const traffic::Schedule& schedule, const Options& options) {
    const auto ops = schedule.ops();
    const bool many =
        std::any_of(ops.begin(), ops.end(), [](const traffic::Op& op) { return op.cpu != 0 || op.nic != 0; });
    if (many) return std::make_unique<MessageEngine<ManyPlaces>>(schedule, options);
    return std::make_unique<MessageEngine<OnePlace>>(schedule, options);
}

}  // namespace loom::sim
