// LogGOPS as it is told: every event in turn, one that finds its core or adapter busy tries again when that is free,
// and matching walks lists. Slow and obvious.
#pragma once

#include <algorithm>
#include <list>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "loom/sim/options.hpp"
#include "loom/traffic/schedule.hpp"

namespace loom::reference {

class LogGops {
public:
    LogGops(const traffic::Schedule& schedule, const sim::Options& options)
        : schedule_(schedule),
          options_(options),
          p_(options.message.parameters),
          ranks_(schedule.ranks()),
          waits_(schedule.size()),
          ready_(schedule.size()),
          sent_(schedule.size()),
          took_(schedule.size()),
          partner_(schedule.size()),
          done_(schedule.size(), false),
          free_(schedule.size(), never),
          rank_(schedule.size()) {
        for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank)
            for (std::size_t i = 0; i < schedule.ops(Rank{rank}).size(); ++i)
                rank_[schedule.first(Rank{rank}) + i] = rank;
        for (traffic::OpIndex op = 0; op < schedule.size(); ++op) {
            waits_[op] = schedule.waits_for(op);
            if (waits_[op] == 0) freed_.push_back(op);
        }
        begin_freed();
        while (!queue_.empty()) {
            const Event event = *queue_.begin();
            queue_.erase(queue_.begin());
            play(event);
            begin_freed();
        }
    }

    // When each rank's cores were last busy; never where an operation is open.
    [[nodiscard]] std::vector<Time> ends() const {
        std::vector<Time> ends(ranks_.size());
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
            for (const auto& [cpu, free] : ranks_[rank].core) ends[rank] = std::max(ends[rank], free);
        for (std::size_t op = 0; op < done_.size(); ++op)
            if (!done_[op]) ends[rank_[op]] = never;
        return ends;
    }
    [[nodiscard]] bool finished() const {
        return std::all_of(done_.begin(), done_.end(), [](bool d) { return d; });
    }
    [[nodiscard]] std::uint64_t events() const { return numbers_; }
    // By operation: when the core was free that what waited for it could take; never where it is open.
    [[nodiscard]] const std::vector<Time>& core_free() const { return free_; }

private:
    enum class What { operation, message, request, answer_send, answer, data_send, data };
    struct Event {
        Time time;
        std::uint64_t number;  // order of creation; an event that tries again keeps it
        What what;
        traffic::OpIndex op;  // of a message: its send
        bool operator<(const Event& other) const { return std::tie(time, number) < std::tie(other.time, other.number); }
    };
    struct RankState {
        std::map<unsigned, Time> core, out, in;  // when each core, and each adapter's sides, are free
        std::list<traffic::OpIndex> posted, unexpected;
    };

    static Time per_byte(std::int64_t picoseconds, std::uint64_t bytes) {
        return Time{bytes == 0 ? 0 : picoseconds * static_cast<std::int64_t>(bytes - 1)};
    }
    Time& core(std::uint32_t rank, const traffic::Op& op) { return ranks_[rank].core[op.cpu]; }
    Time& out(std::uint32_t rank, const traffic::Op& op) { return ranks_[rank].out[op.nic]; }
    Time& in(std::uint32_t rank, const traffic::Op& op) { return ranks_[rank].in[op.nic]; }
    void put(Time time, What what, traffic::OpIndex op) { queue_.insert({time, numbers_++, what, op}); }

    void release(traffic::OpIndex op, bool on_start, Time when) {
        for (const traffic::Successor& next : schedule_.successors(op)) {
            if (next.on_start != on_start) continue;
            ready_[next.op] = std::max(ready_[next.op], when);
            if (--waits_[next.op] == 0) freed_.push_back(next.op);
        }
    }
    void complete(traffic::OpIndex op, Time when) {
        done_[op] = true;
        free_[op] = core(rank_[op], schedule_.op(op));
        release(op, false, when);
    }
    // Operations that may now begin, rank by rank, sends before receives before the rest.
    void begin_freed() {
        const auto order = [&](traffic::OpIndex op) {
            const auto kind = schedule_.op(op).kind;
            return std::pair(rank_[op], kind == traffic::OpKind::send ? 0 : kind == traffic::OpKind::receive ? 1 : 2);
        };
        std::stable_sort(freed_.begin(), freed_.end(), [&](auto a, auto b) { return order(a) < order(b); });
        for (const traffic::OpIndex op : freed_) {
            const traffic::Op& what = schedule_.op(op);
            Time time = std::max(ready_[op], core(rank_[op], what));
            if (what.kind == traffic::OpKind::send) time = std::max(time, out(rank_[op], what));
            put(time, What::operation, op);
        }
        freed_.clear();
    }
    // False, and the event put back, while one of the two is busy.
    bool both_free(const Event& event, Time one, Time other) {
        const Time free = std::max(one, other);
        if (free <= event.time) return true;
        queue_.insert({free, event.number, event.what, event.op});
        return false;
    }
    [[nodiscard]] bool handshake(const traffic::Op& op) const { return options_.message.handshake && op.amount > p_.S; }

    void play(const Event& event) {
        const traffic::Op& op = schedule_.op(event.op);
        switch (event.what) {
            case What::operation:
                if (op.kind == traffic::OpKind::send) return play_send(event, op);
                if (op.kind == traffic::OpKind::receive) return play_receive(event, op);
                return play_local(event, op);
            case What::message:
            case What::request:
                return play_arrival(event, op);
            case What::answer_send:
                if (!both_free(event, core(op.peer.value, op), out(op.peer.value, op))) return;
                core(op.peer.value, op) = event.time + p_.o;
                out(op.peer.value, op) = event.time + p_.g;
                return put(event.time + p_.o + p_.L, What::answer, event.op);
            case What::answer: {
                const std::uint32_t rank = rank_[event.op];
                if (!both_free(event, core(rank, op), in(rank, op))) return;
                core(rank, op) = event.time + p_.o;
                in(rank, op) = event.time + p_.g;
                return put(std::max(core(rank, op), out(rank, op)), What::data_send, event.op);
            }
            case What::data_send: {
                const std::uint32_t rank = rank_[event.op];
                if (!both_free(event, core(rank, op), out(rank, op))) return;
                core(rank, op) = event.time + p_.o + per_byte(p_.O, op.amount);
                out(rank, op) = event.time + p_.g + per_byte(p_.G, op.amount);
                put(event.time + p_.o + p_.L, What::data, event.op);
                return complete(event.op, core(rank, op));
            }
            case What::data:
                if (!both_free(event, core(op.peer.value, op), in(op.peer.value, op))) return;
                core(op.peer.value, op) = event.time + p_.o + per_byte(std::max(p_.O, p_.G), op.amount);
                in(op.peer.value, op) = event.time + p_.g + per_byte(p_.G, op.amount);
                return complete(partner_[event.op], core(op.peer.value, op));
        }
    }
    void play_local(const Event& event, const traffic::Op& op) {
        Time& free = core(rank_[event.op], op);
        if (!both_free(event, free, Time{})) return;
        const auto amount = static_cast<std::int64_t>(op.amount);
        free = event.time + Time{op.kind == traffic::OpKind::compute ? amount
                                 : op.kind == traffic::OpKind::copy
                                     ? options_.local.step.ps + amount * options_.local.copy
                                     : options_.local.step.ps + amount * options_.local.reduce};
        const Time end = free;
        release(event.op, true, event.time);
        complete(event.op, end);
    }
    void play_send(const Event& event, const traffic::Op& op) {
        const std::uint32_t rank = rank_[event.op];
        if (!both_free(event, core(rank, op), out(rank, op))) return;
        release(event.op, true, event.time);
        const std::uint64_t bytes = handshake(op) ? 1 : op.amount;
        core(rank, op) = event.time + p_.o + per_byte(p_.O, bytes);
        out(rank, op) = event.time + p_.g + per_byte(p_.G, bytes);
        sent_[event.op] = core(rank, op);
        put(event.time + p_.o + p_.L, handshake(op) ? What::request : What::message, event.op);
        if (op.amount <= p_.S) complete(event.op, core(rank, op));
    }
    void play_arrival(const Event& event, const traffic::Op& op) {
        const std::uint32_t rank = op.peer.value;
        if (!both_free(event, core(rank, op), in(rank, op))) return;
        const std::uint64_t bytes = handshake(op) ? 1 : op.amount;
        core(rank, op) = event.time + p_.o + per_byte(std::max(p_.O, p_.G), bytes);
        in(rank, op) = event.time + p_.g + per_byte(p_.G, bytes);
        took_[event.op] = core(rank, op);
        auto& posted = ranks_[rank].posted;
        const auto found = std::find_if(posted.begin(), posted.end(), [&](auto r) { return fits(event.op, r); });
        if (found == posted.end()) return ranks_[rank].unexpected.push_back(event.op);
        const traffic::OpIndex receive = *found;
        posted.erase(found);
        match(event.op, receive, event.time);
    }
    void play_receive(const Event& event, const traffic::Op&) {
        release(event.op, true, event.time);
        auto& unexpected = ranks_[rank_[event.op]].unexpected;
        const auto found =
            std::find_if(unexpected.begin(), unexpected.end(), [&](auto s) { return fits(s, event.op); });
        if (found == unexpected.end()) return ranks_[rank_[event.op]].posted.push_back(event.op);
        const traffic::OpIndex send = *found;
        unexpected.erase(found);
        match(send, event.op, event.time);
    }
    [[nodiscard]] bool fits(traffic::OpIndex send, traffic::OpIndex receive) const {
        const traffic::Op& to = schedule_.op(receive);
        return (to.peer == traffic::any_rank || to.peer.value == rank_[send]) &&
               (to.tag == traffic::any_tag || to.tag == schedule_.op(send).tag);
    }
    void match(traffic::OpIndex send, traffic::OpIndex receive, Time now) {
        const traffic::Op& op = schedule_.op(send);
        if (handshake(op)) {
            partner_[send] = receive;
            const Time free = std::max(core(op.peer.value, op), out(op.peer.value, op));
            return put(std::max({now, took_[send], free}), What::answer_send, send);
        }
        if (op.amount > p_.S) {
            core(rank_[send], op) = std::max(core(rank_[send], op), now);
            out(rank_[send], op) = std::max(out(rank_[send], op), now);
            complete(send, std::max(now, sent_[send]));
        }
        complete(receive, std::max(now, took_[send]));
    }

    const traffic::Schedule& schedule_;
    const sim::Options& options_;
    const model::LogGops& p_;
    std::vector<RankState> ranks_;
    std::vector<std::uint32_t> waits_;
    std::vector<Time> ready_;  // when the last of those that were waited for was over
    std::vector<Time> sent_;   // of a send: when its core was free again
    std::vector<Time> took_;   // of a send: when the receiver's core had taken the message in
    std::vector<traffic::OpIndex> partner_;
    std::vector<bool> done_;
    std::vector<Time> free_;
    std::vector<std::uint32_t> rank_;
    std::vector<traffic::OpIndex> freed_;
    std::set<Event> queue_;
    std::uint64_t numbers_ = 0;
};

}  // namespace loom::reference
