#include "loom/model/walk.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <memory_resource>

#include "loom/base/error.hpp"
#include "loom/traffic/playing.hpp"
#include "model/check_costs.hpp"
#include "model/event_queue.hpp"

namespace loom::model {

namespace {

using traffic::Op;
using traffic::OpIndex;
using traffic::OpKind;

// Events by time and number. Those that wait for the same core and adapter stand in one heap, and so do those that wait
// for any core of their host; of each heap only the first is among the events: all would try again at the same moment.
class Walk {
public:
    Walk(const traffic::Schedule& schedule, const Charges& charges, std::span<const std::uint32_t> hosts,
         std::span<const std::uint8_t> shared);
    Prediction run();

private:
    static constexpr OpIndex none = 0xffffffffu;
    enum class What : std::uint8_t { operation, head, take, wake, call };
    // What waits for a core alone, or for one and a side of an adapter; messages with other costs may find room in an
    // adapter at another time.
    enum class Line : std::uint8_t { local = 0, send = 1, take = 5 };
    static constexpr std::uint32_t lines = 9;

    struct Event {
        Time time;
        std::uint64_t number;
        std::uint32_t about;  // an operation; of a message its send; of a wake the queue; of a call the rank
        What what;
        bool operator>(const Event& other) const {
            return time != other.time ? time > other.time : number > other.number;
        }
    };
    struct Waiting {
        std::uint64_t number;
        OpIndex op;
        What what;
        bool operator>(const Waiting& other) const { return number > other.number; }
    };
    struct Core {
        Time free;
        Time worked;        // when the last work was over that took time
        bool sent = false;  // it was a send
    };
    // Of a host whose ranks stay on theirs.
    struct HostCore {
        Time free;
        std::uint32_t last = none;  // the rank that had it
        std::uint32_t ranks = 0;
    };
    // Those of other ranks come behind all that the one which has the core does at the same moment.
    static constexpr std::uint64_t behind = std::uint64_t{1} << 63;
    struct State {
        std::uint32_t rank = 0, waits = 0;
        Time ready, posted, sent;
        Time took = never;
        Time lent = never;  // of a message that the receiver's core moves, or a part of it: what that takes
        OpIndex partner = none;
        OpIndex next = none;  // in the one list of its receiver in which it is
        bool announced = false;
        bool arrived = false;  // lent in advance, and the receive is not posted yet
    };
    struct List {
        OpIndex first = none, last = none;
    };

    // Of a send.
    [[nodiscard]] bool is_far(OpIndex send) const {
        return c_.far && !hosts_.empty() && hosts_[ops_[send].rank] != hosts_[schedule_.op(send).peer.value];
    }
    [[nodiscard]] const WayCosts& way(OpIndex send) const { return is_far(send) ? *c_.far : c_.way; }
    [[nodiscard]] bool is_large(OpIndex send) const { return schedule_.op(send).amount > way(send).limit; }
    [[nodiscard]] const MessageCosts& costs(OpIndex send) const {
        const WayCosts& on = way(send);
        return schedule_.op(send).amount > on.limit ? on.large : on.small;
    }
    [[nodiscard]] std::uint32_t core_of(std::uint32_t rank, const Op& op) const { return rank * cpus_ + op.cpu; }
    // Of a message's sender or receiver: its own towards ranks of the host, the host's towards others.
    [[nodiscard]] std::uint32_t nic_of(std::uint32_t rank, OpIndex send) const {
        const std::uint32_t of = is_far(send) ? static_cast<std::uint32_t>(schedule_.ranks()) + hosts_[rank] : rank;
        return of * nics_ + schedule_.op(send).nic;
    }
    [[nodiscard]] Time room(Time busy_until, const MessageCosts& costs) const {
        return busy_until - costs.gap * (c_.free - 1);
    }
    [[nodiscard]] std::uint32_t host_of(std::uint32_t rank) const { return hosts_.empty() ? 0 : hosts_[rank]; }
    // The one that is free first.
    [[nodiscard]] Time* host_core(std::uint32_t host) {
        Time* const first = host_cores_.data() + std::size_t{host} * c_.host_cores;
        return std::min_element(first, first + c_.host_cores);
    }
    [[nodiscard]] Time core_free(std::uint32_t rank, const Op& op) const { return cores_[core_of(rank, op)].free; }
    // Work that takes no time does not part the sends of a burst.
    void busy(std::uint32_t rank, const Op& op, Time now, Time until, bool sent) {
        Core& core = cores_[core_of(rank, op)];
        core.free = until;
        if (stay_) {
            HostCore& own = kept_cores_[core_of_rank_[rank]];
            own.free = until;
            own.last = rank;
        } else if (c_.host_cores != 0) {
            *host_core(host_of(rank)) = until;
        }
        if (until == now && !sent) return;
        core.sent = sent;
        core.worked = until;
    }

    void push(const Event& event) { events_.push(event); }
    void put(Time time, What what, OpIndex op) { push({time, numbers_++, op, what}); }
    [[nodiscard]] std::uint32_t queue_of(std::uint32_t rank, const Op& op, std::uint32_t line) const {
        return (core_of(rank, op) * nics_ + op.nic) * lines + line;
    }
    [[nodiscard]] std::uint32_t line_of(Line line, OpIndex send) const {
        return static_cast<std::uint32_t>(line) + (is_far(send) ? 2u : 0u) + (is_large(send) ? 1u : 0u);
    }
    bool try_later(const Event& event, std::uint32_t rank, Time free, std::uint32_t queue);
    bool try_own_core_later(const Event& event, std::uint32_t rank, Time free);
    [[nodiscard]] std::uint64_t number_of(const Event& event, std::uint32_t rank) const;  // when it tries again
    [[nodiscard]] Time turn_of(std::uint32_t rank) const;
    [[nodiscard]] Time turn_to(std::uint32_t rank, Time when) const;
    void keep_to_cores();
    void play_call(const Event& event);
    void wake(const Event& event);
    [[nodiscard]] Time free_for(const Waiting& waiting) const;

    void count_large();
    [[nodiscard]] bool may_be_lent(OpIndex send) const;
    [[nodiscard]] bool in_advance(OpIndex send) const {
        return may_be_lent(send) && schedule_.op(send).amount <= way(send).advance;
    }
    [[nodiscard]] Time moving(OpIndex send) const;
    Time lend(OpIndex send);

    void play(const Event& event);
    void play_local(const Event& event, const Op& op);
    void play_send(const Event& event, const Op& op);
    void play_head(const Event& event, const Op& op);
    void play_take(const Event& event, const Op& op);
    void play_receive(const Event& event);
    void meet_receive(OpIndex send);
    void finish_message(OpIndex send, Time now);

    [[nodiscard]] bool fits(OpIndex send, OpIndex receive) const;
    void append(List& list, OpIndex op);
    template <class Fits>
    OpIndex take_first(List& list, Fits fits);

    void begin(OpIndex op, Time when);
    void complete(OpIndex op, Time when);
    void release(OpIndex op, bool on_start, Time when);
    void begin_freed();

    // Small schedules are walked by the dozen when an algorithm is chosen: a quarter of the time went to the heap.
    std::array<std::byte, 16384> room_;
    std::pmr::monotonic_buffer_resource memory_{room_.data(), room_.size()};
    const traffic::Schedule& schedule_;
    const Charges& c_;
    std::span<const std::uint32_t> hosts_;
    std::span<const std::uint8_t> shared_;
    std::pmr::vector<std::uint32_t> large_sends_{&memory_}, large_receives_{&memory_};  // by rank
    std::uint32_t cpus_ = 1, nics_ = 1;
    std::pmr::vector<State> ops_{&memory_};
    std::vector<Span> spans_;
    std::pmr::vector<Core> cores_{&memory_};
    std::pmr::vector<Time> out_{&memory_}, in_{&memory_};
    std::pmr::vector<Time> host_cores_{&memory_};
    const bool stay_;  // ranks stay on their cores, which are:
    std::pmr::vector<HostCore> kept_cores_{&memory_};
    std::pmr::vector<std::uint32_t> core_of_rank_{&memory_};
    std::pmr::vector<List> posted_{&memory_}, waiting_{&memory_};   // by receiver
    std::pmr::vector<std::pmr::vector<Waiting>> queues_{&memory_};  // those of the hosts last
    std::uint32_t first_of_hosts_ = 0;
    EventQueue<Event> events_{&memory_};
    std::pmr::vector<OpIndex> freed_{&memory_};
    std::uint64_t numbers_ = 0;
    std::size_t open_;
};

Walk::Walk(const traffic::Schedule& schedule, const Charges& charges, std::span<const std::uint32_t> hosts,
           std::span<const std::uint8_t> shared)
    : schedule_(schedule),
      c_(charges),
      hosts_(hosts),
      shared_(shared),
      stay_(charges.host_cores != 0 && charges.turn != Time{}),
      open_(schedule.size()) {
    const std::size_t ranks = schedule.ranks();
    for (const Op& op : schedule.ops()) {
        cpus_ = std::max<std::uint32_t>(cpus_, op.cpu + 1u);
        nics_ = std::max<std::uint32_t>(nics_, op.nic + 1u);
    }
    ops_.resize(schedule.size());
    events_.reserve(schedule.size());
    freed_.reserve(schedule.size());
    spans_.resize(schedule.size());
    cores_.resize(ranks * cpus_);
    std::uint32_t host_count = 1;
    for (const std::uint32_t host : hosts_) host_count = std::max(host_count, host + 1);
    out_.resize((ranks + host_count) * nics_);
    in_.resize((ranks + host_count) * nics_);
    posted_.resize(ranks);
    waiting_.resize(ranks);
    first_of_hosts_ = static_cast<std::uint32_t>(ranks * cpus_ * nics_ * lines);
    queues_.resize(first_of_hosts_ + host_count);
    host_cores_.resize(std::size_t{host_count} * c_.host_cores);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        const OpIndex first = schedule.first(Rank{rank});
        const auto end = first + static_cast<OpIndex>(schedule.ops(Rank{rank}).size());
        for (OpIndex op = first; op < end; ++op) {
            ops_[op].rank = rank;
            ops_[op].waits = schedule.waits_for(op);
            if (ops_[op].waits == 0 && c_.call == Time{}) freed_.push_back(op);
        }
        if (c_.call != Time{} && first != end) put(Time{}, What::call, rank);
    }
    if (stay_) keep_to_cores();
    count_large();
}

void Walk::keep_to_cores() {
    const auto ranks = static_cast<std::uint32_t>(schedule_.ranks());
    const std::size_t hosts = host_cores_.size() / c_.host_cores;
    std::pmr::vector<std::uint64_t> all(hosts, 0, &memory_), seen(hosts, 0, &memory_);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) ++all[host_of(rank)];
    kept_cores_.resize(hosts * c_.host_cores);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        const std::uint32_t host = host_of(rank);
        const std::uint64_t core = seen[host]++ * c_.host_cores / std::max<std::uint64_t>(all[host], c_.host_cores);
        core_of_rank_.push_back(static_cast<std::uint32_t>(host * c_.host_cores + core));
        ++kept_cores_[core_of_rank_.back()].ranks;
    }
}

Time Walk::turn_of(std::uint32_t rank) const {
    const std::uint32_t ranks = kept_cores_[core_of_rank_[rank]].ranks;
    return ranks < 2 ? Time{} : Time{c_.turn.ps * ranks / 2};
}

// What passes until the rank has its core, which is free. One that has nothing to do gives it to the next, and those go
// round: it comes back after half of them. Nobody waits for a core that nobody had.
Time Walk::turn_to(std::uint32_t rank, Time when) const {
    if (!stay_) return {};
    const HostCore& core = kept_cores_[core_of_rank_[rank]];
    return core.last == none || (core.last == rank && core.free == when) ? Time{} : turn_of(rank);
}

bool Walk::may_be_lent(OpIndex send) const {
    return c_.waits_for == Large::ready && way(send).copying == Copying::by_fewer && is_large(send);
}

void Walk::count_large() {
    large_sends_.resize(schedule_.ranks());
    large_receives_.resize(schedule_.ranks());
    for (OpIndex op = 0; op < schedule_.size(); ++op) {
        if (schedule_.op(op).kind != OpKind::send || !may_be_lent(op)) continue;
        ++large_sends_[ops_[op].rank];
        ++large_receives_[schedule_.op(op).peer.value];
    }
}

// All bytes of a message that is lent, whose partner is known.
Time Walk::moving(OpIndex send) const {
    const bool shared = !shared_.empty() && (shared_[send] != 0 || shared_[ops_[send].partner] != 0);
    return per_byte(shared ? way(send).shared_byte : costs(send).send_byte, schedule_.op(send).amount);
}

// What the sender's core has to do for the bytes; the rest is the receiver's.
Time Walk::lend(OpIndex send) {
    const Op& op = schedule_.op(send);
    State& state = ops_[send];
    const bool from = !shared_.empty() && shared_[send] != 0;
    const bool to = !shared_.empty() && shared_[state.partner] != 0;
    const std::uint32_t sends = large_sends_[state.rank], receives = large_receives_[op.peer.value];
    const Time all = moving(send);
    Time own = all;
    if (from != to)
        own = from ? Time{} : all;
    else if (sends != receives)
        own = sends > receives ? Time{} : all;
    else if (c_.host_cores != 0)
        own = Time{};
    else if (large_receives_[state.rank] == 0 && way(send).alone_byte != 0)
        return state.lent = per_byte(way(send).alone_byte, op.amount);
    else if (large_receives_[state.rank] == 0)
        own = Time{all.ps / 2};
    if (own != all) state.lent = all - own;
    return own;
}

Prediction Walk::run() {
    begin_freed();
    while (!events_.empty()) {
        const Event event = events_.take();
        if (event.what == What::wake)
            wake(event);
        else
            play(event);
        begin_freed();
    }

    Prediction prediction;
    prediction.finished = open_ == 0;
    prediction.ends.resize(schedule_.ranks());
    for (std::size_t core = 0; core < cores_.size(); ++core)
        prediction.ends[core / cpus_] = std::max(prediction.ends[core / cpus_], cores_[core].free);
    for (std::size_t op = 0; op < spans_.size(); ++op) {
        Time& end = prediction.ends[ops_[op].rank];
        end = std::max(end, spans_[op].end);
    }
    for (const State& state : ops_)
        if (state.took != never && state.partner == none) ++prediction.untaken;
    prediction.ops = std::move(spans_);
    return prediction;
}

// True, and the event kept, while what it needs is busy: its rank's core and adapter, which are free at `free` and for
// which others wait in `queue`, or all cores of the host.
bool Walk::try_later(const Event& event, std::uint32_t rank, Time free, std::uint32_t queue) {
    if (stay_) return try_own_core_later(event, rank, free);
    if (c_.host_cores != 0) {
        const Time host = *host_core(host_of(rank));
        if (host > free) {
            free = host;
            queue = first_of_hosts_ + host_of(rank);
        }
    }
    if (free <= event.time) return false;
    std::pmr::vector<Waiting>& waiting = queues_[queue];
    waiting.push_back({event.number, event.about, event.what});
    std::push_heap(waiting.begin(), waiting.end(), std::greater<>{});
    if (waiting.front().number == event.number) push({free, event.number, queue, What::wake});
    return true;
}

// There are few: each tries again by itself.
bool Walk::try_own_core_later(const Event& event, std::uint32_t rank, Time free) {
    const HostCore& core = kept_cores_[core_of_rank_[rank]];
    free = std::max(free, core.free);
    if (free <= event.time) return false;
    push({free, number_of(event, rank), event.about, event.what});
    return true;
}

std::uint64_t Walk::number_of(const Event& event, std::uint32_t rank) const {
    if (!stay_) return event.number;
    const std::uint64_t number = event.number & ~behind;
    return kept_cores_[core_of_rank_[rank]].last == rank ? number : number | behind;
}

// One that is no longer the first was overtaken, or has had its turn.
void Walk::wake(const Event& event) {
    std::pmr::vector<Waiting>& waiting = queues_[event.about];
    if (waiting.empty() || waiting.front().number != event.number) return;
    const Waiting first = waiting.front();
    std::pop_heap(waiting.begin(), waiting.end(), std::greater<>{});
    waiting.pop_back();
    play({event.time, first.number, first.op, first.what});
    if (waiting.empty() || waiting.front().number == first.number) return;
    const Time free =
        event.about < first_of_hosts_ ? free_for(waiting.front()) : *host_core(event.about - first_of_hosts_);
    push({std::max(event.time, free), waiting.front().number, event.about, What::wake});
}

Time Walk::free_for(const Waiting& waiting) const {
    if (waiting.what == What::call) return core_free(waiting.op, schedule_.op(schedule_.first(Rank{waiting.op})));
    const Op& op = schedule_.op(waiting.op);
    if (waiting.what == What::operation) {
        const std::uint32_t rank = ops_[waiting.op].rank;
        const Time core = core_free(rank, op);
        return op.kind == OpKind::send ? std::max(core, room(out_[nic_of(rank, waiting.op)], costs(waiting.op))) : core;
    }
    const std::uint32_t rank = op.peer.value;
    const Time core = core_free(rank, op);
    return c_.taking == Taking::during_arrival ? std::max(core, room(in_[nic_of(rank, waiting.op)], costs(waiting.op)))
                                               : core;
}

// A rank begins with what waits for nothing once its core has gone through the call.
void Walk::play_call(const Event& event) {
    const std::uint32_t rank = event.about;
    const OpIndex first = schedule_.first(Rank{rank});
    const Op& op = schedule_.op(first);
    if (try_later(event, rank, core_free(rank, op), queue_of(rank, op, static_cast<std::uint32_t>(Line::local))))
        return;
    const Time over = event.time + turn_to(rank, event.time) + c_.call;
    for (std::uint32_t cpu = 0; cpu < cpus_; ++cpu) cores_[rank * cpus_ + cpu].free = over;
    busy(rank, op, event.time, over, false);
    for (OpIndex i = first; i < first + schedule_.ops(Rank{rank}).size(); ++i)
        if (ops_[i].waits == 0) freed_.push_back(i);
}

void Walk::play(const Event& event) {
    if (event.what == What::call) return play_call(event);
    const Op& op = schedule_.op(event.about);
    if (event.what == What::head) return play_head(event, op);
    if (event.what == What::take) return play_take(event, op);
    if (op.kind == OpKind::send) return play_send(event, op);
    if (op.kind == OpKind::receive) return play_receive(event);
    play_local(event, op);
}

void Walk::play_local(const Event& event, const Op& op) {
    const std::uint32_t rank = ops_[event.about].rank;
    if (try_later(event, rank, core_free(rank, op), queue_of(rank, op, static_cast<std::uint32_t>(Line::local))))
        return;
    const auto amount = static_cast<std::int64_t>(op.amount);
    const Time work = op.kind == OpKind::compute
                          ? Time{amount}
                          : c_.local.step + Time{amount * (op.kind == OpKind::copy ? c_.local.copy : c_.local.reduce)};
    const Time from = event.time + turn_to(rank, event.time);
    busy(rank, op, event.time, from + work, false);
    begin(event.about, from);
    complete(event.about, from + work);
}

void Walk::play_send(const Event& event, const Op& op) {
    State& state = ops_[event.about];
    Time& out = out_[nic_of(state.rank, event.about)];
    const bool large = is_large(event.about);
    const MessageCosts& m = costs(event.about);
    const Time free = std::max(core_free(state.rank, op), room(out, m));
    if (try_later(event, state.rank, free, queue_of(state.rank, op, line_of(Line::send, event.about)))) return;
    if (!state.announced) {
        state.announced = true;
        begin(event.about, event.time);
        if (c_.waits_for == Large::ready) meet_receive(event.about);
    }
    const bool advance = in_advance(event.about);
    if (large && c_.waits_for == Large::ready && !advance) {
        if (state.partner == none) return;  // the receive will call again
        const Time word = ops_[state.partner].posted + way(event.about).ready;
        if (word > event.time) return push({word, number_of(event, state.rank), event.about, What::operation});
    }
    const Core& core = cores_[core_of(state.rank, op)];
    const bool warm = core.sent && state.ready <= core.worked;
    const Time posted = event.time + turn_to(state.rank, event.time) + m.send + (warm ? Time{} : m.send_first);
    if (advance)
        state.sent = posted, state.lent = Time{};
    else
        state.sent = posted + (may_be_lent(event.about) ? lend(event.about) : per_byte(m.send_byte, op.amount));
    busy(state.rank, op, event.time, state.sent, true);
    out = std::max(out, event.time) + m.gap + per_byte(m.gap_byte, op.amount);
    put(posted + m.latency, What::head, event.about);
    const bool later = large && (c_.waits_for == Large::match || state.lent != never);
    if (!later) complete(event.about, state.sent);
}

// The first byte of a message is at the receiver's adapter.
void Walk::play_head(const Event& event, const Op& op) {
    if (c_.taking == Taking::during_arrival) return play_take({event.time, event.number, event.about, What::take}, op);
    Time& in = in_[nic_of(op.peer.value, event.about)];
    const MessageCosts& m = costs(event.about);
    const Time bytes = per_byte(m.gap_byte, op.amount);
    const Time begins = std::max(event.time, room(in, m));
    in = std::max(in, begins) + m.gap + bytes;
    put(begins + bytes, What::take, event.about);
}

void Walk::play_take(const Event& event, const Op& op) {
    const std::uint32_t rank = op.peer.value;
    const MessageCosts& m = costs(event.about);
    Time& in = in_[nic_of(rank, event.about)];
    State& state = ops_[event.about];
    const bool advance = in_advance(event.about);
    if (advance && state.partner == none) {
        state.arrived = true;  // the receive will call again
        return;
    }
    const bool with_adapter = c_.taking == Taking::during_arrival;
    Time free = core_free(rank, op);
    if (with_adapter) free = std::max(free, room(in, m));
    if (try_later(event, rank, free, queue_of(rank, op, line_of(Line::take, event.about)))) return;
    if (with_adapter) in = std::max(in, event.time) + m.gap + per_byte(m.gap_byte, op.amount);
    if (advance) state.lent = moving(event.about);
    const Time bytes = state.lent != never ? state.lent : per_byte(m.take_byte, op.amount);
    state.took = event.time + turn_to(rank, event.time) + m.take + bytes;
    busy(rank, op, event.time, state.took, false);
    if (c_.waits_for != Large::ready) meet_receive(event.about);
    if (state.partner != none) finish_message(event.about, event.time);
}

void Walk::play_receive(const Event& event) {
    const OpIndex receive = event.about;
    begin(receive, event.time);
    ops_[receive].posted = event.time;
    const OpIndex send =
        take_first(waiting_[ops_[receive].rank], [&](OpIndex waiting) { return fits(waiting, receive); });
    if (send == none) return append(posted_[ops_[receive].rank], receive);
    ops_[send].partner = receive;
    if (in_advance(send)) {
        if (ops_[send].arrived) put(event.time, What::take, send);
        return;
    }
    if (c_.waits_for == Large::ready && is_large(send))
        put(event.time + way(send).ready, What::operation, send);
    else if (ops_[send].took != never)
        finish_message(send, event.time);
}

void Walk::meet_receive(OpIndex send) {
    const std::uint32_t to = schedule_.op(send).peer.value;
    ops_[send].partner = take_first(posted_[to], [&](OpIndex receive) { return fits(send, receive); });
    if (ops_[send].partner == none) append(waiting_[to], send);
}

// The message is there and its receive is posted.
void Walk::finish_message(OpIndex send, Time now) {
    const Op& op = schedule_.op(send);
    State& state = ops_[send];
    if (is_large(send) && c_.waits_for == Large::match) {
        Time& free = cores_[core_of(state.rank, op)].free;
        Time& out = out_[nic_of(state.rank, send)];
        free = std::max(free, now);
        out = std::max(out, now);
        complete(send, std::max(now, state.sent));
    }
    if (state.lent != never) {
        const Time heard = stay_ ? turn_of(state.rank) : Time{};
        complete(send, std::max(state.took + costs(send).latency + heard, state.sent));
    }
    complete(state.partner, std::max(now, state.took));
}

bool Walk::fits(OpIndex send, OpIndex receive) const {
    return traffic::takes(schedule_.op(receive), Rank{ops_[send].rank}, schedule_.op(send).tag);
}

void Walk::append(List& list, OpIndex op) {
    ops_[op].next = none;
    (list.last == none ? list.first : ops_[list.last].next) = op;
    list.last = op;
}

template <class Fits>
OpIndex Walk::take_first(List& list, Fits fits) {
    OpIndex before = none;
    for (OpIndex op = list.first; op != none; before = op, op = ops_[op].next) {
        if (!fits(op)) continue;
        (before == none ? list.first : ops_[before].next) = ops_[op].next;
        if (list.last == op) list.last = before;
        return op;
    }
    return none;
}

void Walk::begin(OpIndex op, Time when) {
    spans_[op].begin = when;
    release(op, true, when);
}

void Walk::complete(OpIndex op, Time when) {
    spans_[op].end = when;
    --open_;
    release(op, false, when);
}

void Walk::release(OpIndex op, bool on_start, Time when) {
    for (const traffic::Successor& next : schedule_.successors(op)) {
        if (next.on_start != on_start) continue;
        State& state = ops_[next.op];
        state.ready = std::max(state.ready, when);
        if (--state.waits == 0) freed_.push_back(next.op);
    }
}

void Walk::begin_freed() {
    traffic::order_freed(freed_, schedule_, [&](OpIndex op) { return ops_[op].rank; });
    for (const OpIndex index : freed_) {
        const Op& op = schedule_.op(index);
        const std::uint32_t rank = ops_[index].rank;
        Time time = std::max(ops_[index].ready, cores_[core_of(rank, op)].free);
        if (op.kind == OpKind::send) time = std::max(time, room(out_[nic_of(rank, index)], costs(index)));
        put(time, What::operation, index);
    }
    freed_.clear();
}

}  // namespace

Prediction walk(const traffic::Schedule& schedule, const Charges& charges, std::span<const std::uint32_t> hosts,
                std::span<const std::uint8_t> shared) {
    check_length(schedule, charges);
    if (!hosts.empty() && hosts.size() != schedule.ranks())
        throw UsageError("there must be a host for each rank of the schedule");
    if (!shared.empty() && shared.size() != schedule.size())
        throw UsageError("there must be a word about the memory of each operation of the schedule");
    return Walk(schedule, charges, hosts, shared).run();
}

}  // namespace loom::model
