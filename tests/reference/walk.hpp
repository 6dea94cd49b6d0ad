// The walk of a schedule as it is told: every event in turn, one that finds its core, adapter or host busy tries again
// when those are free, and matching goes through lists. Where ranks stay on their cores, one that has its core goes on
// before others try. Slow and obvious.
#pragma once

#include <algorithm>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "loom/model/walk.hpp"

namespace loom::reference {

class Walk {
public:
    Walk(const traffic::Schedule& schedule, const model::Charges& charges, std::vector<std::uint32_t> hosts = {},
         std::vector<std::uint8_t> shared = {})
        : schedule_(schedule),
          c_(charges),
          hosts_(std::move(hosts)),
          shared_(std::move(shared)),
          ops_(schedule.size()),
          ranks_(schedule.ranks()) {
        shared_.resize(schedule.size());
        if (hosts_.empty()) hosts_.resize(schedule.ranks(), 0);
        for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
            if (c_.host_cores > 0) host_core_[hosts_[rank]].resize(c_.host_cores);
            const auto& ops = schedule.ops(Rank{rank});
            if (c_.call > Time{} && !ops.empty()) put(Time{}, What::call, schedule.first(Rank{rank}));
            for (std::size_t i = 0; i < schedule.ops(Rank{rank}).size(); ++i) {
                State& op = ops_[schedule.first(Rank{rank}) + i];
                op.rank = rank;
                op.waits = schedule.waits_for(static_cast<traffic::OpIndex>(schedule.first(Rank{rank}) + i));
                if (op.waits == 0 && c_.call == Time{})
                    freed_.push_back(static_cast<traffic::OpIndex>(schedule.first(Rank{rank}) + i));
            }
        }
        begin_freed();
        while (!queue_.empty()) {
            const Event event = *queue_.begin();
            queue_.erase(queue_.begin());
            play(event);
            begin_freed();
        }
    }

    [[nodiscard]] model::Prediction prediction() const {
        model::Prediction p;
        p.finished = true;
        p.ends.resize(ranks_.size());
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
            for (const auto& [cpu, core] : ranks_[rank].core) p.ends[rank] = std::max(p.ends[rank], core.free);
        for (const State& op : ops_) {
            p.ops.push_back(op.span);
            p.ends[op.rank] = std::max(p.ends[op.rank], op.span.end);
            if (op.span.end == never) p.finished = false;
        }
        return p;
    }

private:
    enum class What { operation, head, take, call };
    struct Event {
        Time time;
        bool behind;           // of a rank that waits for the one that has its core
        std::uint64_t number;  // order of creation; an event that tries again keeps it
        What what;
        traffic::OpIndex op;  // of a message: its send; of a call: the rank's first
        bool operator<(const Event& other) const {
            return std::tie(time, behind, number) < std::tie(other.time, other.behind, other.number);
        }
    };
    // Of a rank that stays on one of its host's.
    struct Kept {
        Time free;
        std::optional<std::uint32_t> last;
    };
    struct Core {
        Time free;
        Time worked;        // when the last work was over that took time
        bool sent = false;  // it was a send
    };
    struct RankState {
        std::map<unsigned, Core> core;
        std::list<traffic::OpIndex> posted, waiting;
    };
    struct State {
        std::uint32_t rank = 0, waits = 0;
        Time ready{};
        model::Span span;
        Time posted{};  // of a receive
        bool announced = false;
        bool arrived = false;  // lent in advance, before its receive was posted
        std::optional<traffic::OpIndex> partner;
        std::optional<Time> lent;  // of a send: what the receiver's core does of the copying
        std::optional<Time> took;  // of a send: when its message was in the receiver's hands
    };

    static Time per_byte(std::int64_t ps, std::uint64_t bytes) {
        return Time{bytes == 0 ? 0 : ps * static_cast<std::int64_t>(bytes - 1)};
    }
    [[nodiscard]] const model::WayCosts& way(traffic::OpIndex send) const {
        const bool far = hosts_[ops_[send].rank] != hosts_[schedule_.op(send).peer.value];
        return far && c_.far ? *c_.far : c_.way;
    }
    [[nodiscard]] bool large(traffic::OpIndex send) const { return schedule_.op(send).amount > way(send).limit; }
    [[nodiscard]] const model::MessageCosts& costs(traffic::OpIndex send) const {
        return large(send) ? way(send).large : way(send).small;
    }
    // A message between hosts goes through the adapters of the hosts, another through those of the ranks.
    using Adapter = std::tuple<bool, std::uint32_t, unsigned>;
    [[nodiscard]] Adapter adapter(std::uint32_t rank, traffic::OpIndex send) const {
        const bool far = &way(send) != &c_.way;
        return {far, far ? hosts_[rank] : rank, schedule_.op(send).nic};
    }
    Core& core(std::uint32_t rank, const traffic::Op& op) { return ranks_[rank].core[op.cpu]; }
    void put(Time time, What what, traffic::OpIndex op) { queue_.insert({time, false, numbers_++, what, op}); }
    [[nodiscard]] bool stays() const { return c_.host_cores != 0 && c_.turn > Time{}; }
    // Which of its host's cores a rank stays on, and how many do.
    [[nodiscard]] std::uint32_t kept_core(std::uint32_t rank) const {
        std::uint32_t before = 0, all = 0;
        for (std::uint32_t other = 0; other < hosts_.size(); ++other) {
            if (hosts_[other] != hosts_[rank]) continue;
            before += other < rank ? 1 : 0;
            ++all;
        }
        return all <= c_.host_cores ? before : before * c_.host_cores / all;
    }
    [[nodiscard]] Time turn_of(std::uint32_t rank) const {
        std::int64_t ranks = 0;
        for (std::uint32_t other = 0; other < hosts_.size(); ++other)
            ranks += hosts_[other] == hosts_[rank] && kept_core(other) == kept_core(rank) ? 1 : 0;
        return ranks == 1 ? Time{} : Time{c_.turn.ps * ranks / 2};
    }
    Kept& kept(std::uint32_t rank) { return kept_[{hosts_[rank], kept_core(rank)}]; }
    Time turn_to(std::uint32_t rank, Time when) {
        if (!stays()) return Time{};
        const Kept& core = kept(rank);
        if (!core.last || (*core.last == rank && core.free == when)) return Time{};
        return turn_of(rank);
    }
    // When a core of the rank's host is free.
    Time host_free(std::uint32_t rank) {
        if (c_.host_cores == 0) return Time{};
        if (stays()) return kept(rank).free;
        const auto& cores = host_core_[hosts_[rank]];
        return *std::min_element(cores.begin(), cores.end());
    }
    void busy(std::uint32_t rank, const traffic::Op& op, Time now, Time until, bool sent) {
        if (until > now || sent) core(rank, op).worked = until, core(rank, op).sent = sent;
        core(rank, op).free = until;
        if (c_.host_cores == 0) return;
        if (stays()) {
            kept(rank) = {until, rank};
            return;
        }
        auto& cores = host_core_[hosts_[rank]];
        *std::min_element(cores.begin(), cores.end()) = until;
    }
    // An adapter that has room for several messages takes the next when all but the last few are done.
    Time room(Time busy_until, const model::MessageCosts& costs) const {
        return busy_until - costs.gap * (c_.free - 1);
    }
    bool try_later(const Event& event, Time free) {
        if (free <= event.time) return false;
        const bool comes = event.what == What::take || event.what == What::head;
        const std::uint32_t rank = comes ? schedule_.op(event.op).peer.value : ops_[event.op].rank;
        queue_.insert({free, stays() && kept(rank).last != rank, event.number, event.what, event.op});
        return true;
    }

    void release(traffic::OpIndex op, bool on_start, Time when) {
        for (const traffic::Successor& next : schedule_.successors(op)) {
            if (next.on_start != on_start) continue;
            ops_[next.op].ready = std::max(ops_[next.op].ready, when);
            if (--ops_[next.op].waits == 0) freed_.push_back(next.op);
        }
    }
    void begin(traffic::OpIndex op, Time when) {
        ops_[op].span.begin = when;
        release(op, true, when);
    }
    void complete(traffic::OpIndex op, Time when) {
        ops_[op].span.end = when;
        release(op, false, when);
    }
    // Operations that may now begin, rank by rank, sends before receives before the rest.
    void begin_freed() {
        const auto order = [&](traffic::OpIndex op) {
            const auto kind = schedule_.op(op).kind;
            return std::pair(ops_[op].rank, kind == traffic::OpKind::send      ? 0
                                            : kind == traffic::OpKind::receive ? 1
                                                                               : 2);
        };
        std::stable_sort(freed_.begin(), freed_.end(), [&](auto a, auto b) { return order(a) < order(b); });
        for (const traffic::OpIndex op : freed_) {
            const traffic::Op& what = schedule_.op(op);
            Time time = std::max(ops_[op].ready, core(ops_[op].rank, what).free);
            if (what.kind == traffic::OpKind::send)
                time = std::max(time, room(out_[adapter(ops_[op].rank, op)], costs(op)));
            put(time, What::operation, op);
        }
        freed_.clear();
    }

    void play(const Event& event) {
        const traffic::Op& op = schedule_.op(event.op);
        if (event.what == What::call) return play_call(event, op);
        if (event.what == What::head) return play_head(event, op);
        if (event.what == What::take) return play_take(event, op);
        if (op.kind == traffic::OpKind::send) return play_send(event, op);
        if (op.kind == traffic::OpKind::receive) return play_receive(event, op);
        play_local(event, op);
    }
    // What a rank does before everything else.
    void play_call(const Event& event, const traffic::Op& op) {
        const std::uint32_t rank = ops_[event.op].rank;
        if (try_later(event, host_free(rank))) return;
        const Time over = event.time + turn_to(rank, event.time) + c_.call;
        const auto& ops = schedule_.ops(Rank{rank});
        for (const traffic::Op& each : ops) core(rank, each).free = over;
        busy(rank, op, event.time, over, false);
        for (std::size_t i = 0; i < ops.size(); ++i)
            if (ops_[event.op + i].waits == 0) freed_.push_back(static_cast<traffic::OpIndex>(event.op + i));
    }
    void play_local(const Event& event, const traffic::Op& op) {
        const std::uint32_t rank = ops_[event.op].rank;
        if (try_later(event, std::max(core(rank, op).free, host_free(rank)))) return;
        const auto amount = static_cast<std::int64_t>(op.amount);
        const Time work = op.kind == traffic::OpKind::compute ? Time{amount}
                          : op.kind == traffic::OpKind::copy  ? c_.local.step + Time{amount * c_.local.copy}
                                                              : c_.local.step + Time{amount * c_.local.reduce};
        const Time from = event.time + turn_to(rank, event.time);
        busy(rank, op, event.time, from + work, false);
        begin(event.op, from);
        complete(event.op, from + work);
    }
    void play_send(const Event& event, const traffic::Op& op) {
        State& state = ops_[event.op];
        Time& out = out_[adapter(state.rank, event.op)];
        const model::MessageCosts& costs = this->costs(event.op);
        if (try_later(event, std::max({core(state.rank, op).free, host_free(state.rank), room(out, costs)}))) return;
        if (!state.announced) {
            state.announced = true;
            begin(event.op, event.time);
            if (c_.waits_for == model::Large::ready) meet_receive(event.op);
        }
        if (large(event.op) && c_.waits_for == model::Large::ready && !in_advance(event.op)) {
            if (!state.partner) return;  // play_receive will call again
            if (try_later(event, ops_[*state.partner].posted + way(event.op).ready)) return;
        }
        const bool warm = core(state.rank, op).sent && state.ready <= core(state.rank, op).worked;
        const Time posted =
            event.time + turn_to(state.rank, event.time) + costs.send + (warm ? Time{} : costs.send_first);
        const Time copying = in_advance(event.op)    ? Time{}
                             : may_be_lent(event.op) ? own_part(event.op)
                                                     : per_byte(costs.send_byte, op.amount);
        if (in_advance(event.op)) state.lent = Time{};
        const Time sent = posted + copying;
        busy(state.rank, op, event.time, sent, true);
        out = std::max(out, event.time) + costs.gap + per_byte(costs.gap_byte, op.amount);
        put(posted + costs.latency, What::head, event.op);
        sent_[event.op] = sent;
        const bool until_matched = large(event.op) && c_.waits_for == model::Large::match;
        if (!until_matched && !state.lent) complete(event.op, sent);
    }
    [[nodiscard]] bool may_be_lent(traffic::OpIndex send) const {
        return large(send) && c_.waits_for == model::Large::ready && way(send).copying == model::Copying::by_fewer;
    }
    [[nodiscard]] bool in_advance(traffic::OpIndex send) const {
        return may_be_lent(send) && schedule_.op(send).amount <= way(send).advance;
    }
    [[nodiscard]] Time moving(traffic::OpIndex send) const {
        const bool shared = shared_[send] != 0 || shared_[*ops_[send].partner] != 0;
        return per_byte(shared ? way(send).shared_byte : costs(send).send_byte, schedule_.op(send).amount);
    }
    // Large messages that a rank has to do with.
    [[nodiscard]] std::size_t count(std::uint32_t rank, bool sent) const {
        std::size_t all = 0;
        for (traffic::OpIndex op = 0; op < schedule_.size(); ++op)
            if (schedule_.op(op).kind == traffic::OpKind::send && may_be_lent(op))
                all += rank == (sent ? ops_[op].rank : schedule_.op(op).peer.value);
        return all;
    }
    Time own_part(traffic::OpIndex send) {
        const traffic::Op& op = schedule_.op(send);
        const bool from = shared_[send] != 0, to = shared_[*ops_[send].partner] != 0;
        const Time all = moving(send);
        const std::size_t sends = count(ops_[send].rank, true), receives = count(op.peer.value, false);
        Time own = all;
        if (from && !to) own = Time{};
        if (from == to && sends > receives) own = Time{};
        if (from == to && sends == receives && c_.host_cores != 0) own = Time{};
        if (from == to && sends == receives && c_.host_cores == 0 && count(ops_[send].rank, false) == 0) {
            own = Time{all.ps / 2};
            if (const std::int64_t alone = way(send).alone_byte; alone != 0) {
                ops_[send].lent = per_byte(alone, op.amount);
                return *ops_[send].lent;
            }
        }
        if (own != all) ops_[send].lent = all - own;
        return own;
    }
    // The first byte of a message is at the receiver's adapter.
    void play_head(const Event& event, const traffic::Op& op) {
        if (c_.taking == model::Taking::during_arrival) return play_take(event, op);
        Time& in = in_[adapter(op.peer.value, event.op)];
        const model::MessageCosts& costs = this->costs(event.op);
        const Time begin = std::max(event.time, room(in, costs));
        in = std::max(in, begin) + costs.gap + per_byte(costs.gap_byte, op.amount);
        put(begin + per_byte(costs.gap_byte, op.amount), What::take, event.op);
    }
    void play_take(const Event& event, const traffic::Op& op) {
        const std::uint32_t rank = op.peer.value;
        Time& in = in_[adapter(rank, event.op)];
        const model::MessageCosts& costs = this->costs(event.op);
        if (in_advance(event.op) && !ops_[event.op].partner) {
            ops_[event.op].arrived = true;
            return;
        }
        const bool with_adapter = c_.taking == model::Taking::during_arrival;
        const Time from = with_adapter ? room(in, costs) : Time{};
        if (try_later(event, std::max({core(rank, op).free, host_free(rank), from}))) return;
        if (with_adapter) in = std::max(in, event.time) + costs.gap + per_byte(costs.gap_byte, op.amount);
        if (in_advance(event.op)) ops_[event.op].lent = moving(event.op);
        const std::optional<Time> lent = ops_[event.op].lent;
        const Time took =
            event.time + turn_to(rank, event.time) + costs.take + (lent ? *lent : per_byte(costs.take_byte, op.amount));
        busy(rank, op, event.time, took, false);
        ops_[event.op].took = took;
        if (c_.waits_for != model::Large::ready) meet_receive(event.op);
        if (ops_[event.op].partner) finish_message(event.op, event.time);
    }
    void play_receive(const Event& event, const traffic::Op&) {
        begin(event.op, event.time);
        ops_[event.op].posted = event.time;
        auto& waiting = ranks_[ops_[event.op].rank].waiting;
        const auto found = std::find_if(waiting.begin(), waiting.end(), [&](auto s) { return fits(s, event.op); });
        if (found == waiting.end()) return ranks_[ops_[event.op].rank].posted.push_back(event.op);
        const traffic::OpIndex send = *found;
        waiting.erase(found);
        ops_[send].partner = event.op;
        if (in_advance(send)) {
            if (ops_[send].arrived) put(event.time, What::take, send);
            return;
        }
        if (c_.waits_for == model::Large::ready && large(send))
            put(event.time + way(send).ready, What::operation, send);
        else if (ops_[send].took)
            finish_message(send, event.time);
    }
    void meet_receive(traffic::OpIndex send) {
        auto& posted = ranks_[schedule_.op(send).peer.value].posted;
        const auto found = std::find_if(posted.begin(), posted.end(), [&](auto r) { return fits(send, r); });
        if (found == posted.end()) return ranks_[schedule_.op(send).peer.value].waiting.push_back(send);
        ops_[send].partner = *found;
        posted.erase(found);
    }
    // The message is there and its receive is posted.
    void finish_message(traffic::OpIndex send, Time now) {
        const traffic::Op& op = schedule_.op(send);
        if (large(send) && c_.waits_for == model::Large::match) {
            RankState& sender = ranks_[ops_[send].rank];
            sender.core[op.cpu].free = std::max(sender.core[op.cpu].free, now);
            Time& out = out_[adapter(ops_[send].rank, send)];
            out = std::max(out, now);
            complete(send, std::max(now, sent_[send]));
        }
        const Time heard = stays() ? turn_of(ops_[send].rank) : Time{};
        if (ops_[send].lent) complete(send, std::max(*ops_[send].took + costs(send).latency + heard, sent_[send]));
        complete(*ops_[send].partner, std::max(now, *ops_[send].took));
    }
    [[nodiscard]] bool fits(traffic::OpIndex send, traffic::OpIndex receive) const {
        const traffic::Op& to = schedule_.op(receive);
        return (to.peer == traffic::any_rank || to.peer.value == ops_[send].rank) &&
               (to.tag == traffic::any_tag || to.tag == schedule_.op(send).tag);
    }

    const traffic::Schedule& schedule_;
    const model::Charges& c_;
    std::vector<std::uint32_t> hosts_;
    std::vector<std::uint8_t> shared_;
    std::vector<State> ops_;
    std::vector<RankState> ranks_;
    std::map<Adapter, Time> out_, in_;
    std::map<std::uint32_t, std::vector<Time>> host_core_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, Kept> kept_;  // by host and core
    std::map<traffic::OpIndex, Time> sent_;
    std::vector<traffic::OpIndex> freed_;
    std::set<Event> queue_;
    std::uint64_t numbers_ = 0;
};

}  // namespace loom::reference
