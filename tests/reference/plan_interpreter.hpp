// Executes the plans of all ranks one operation at a time, in an order that chance picks among those allowed, and finds
// what is wrong with them. Slow and obvious.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "loom/base/random.hpp"
#include "loom/coll/plan.hpp"
#include "loom/coll/reduction.hpp"
#include "reference/collectives.hpp"

namespace loom::reference {

// Which operations of a plan are before which, over others too: before[a][b].
inline std::vector<std::vector<bool>> order_of(const coll::Plan& plan) {
    const std::size_t n = plan.schedule.size();
    std::vector<std::vector<bool>> before(n, std::vector<bool>(n, false));
    for (std::size_t a = n; a-- > 0;)  // edges lead to later numbers: a writer can only name steps it has
        for (const traffic::Successor& next : plan.schedule.successors(static_cast<std::uint32_t>(a))) {
            before[a][next.op] = true;
            for (std::size_t b = 0; b < n; ++b)
                if (before[next.op][b]) before[a][b] = true;
        }
    return before;
}

// Two operations of one rank that touch the same bytes, one of them writing, and neither waits for the other; or two
// messages that cannot be told apart. Empty when there are none.
inline std::string find_race(const coll::Plan& plan) {
    struct Touch {
        coll::Buffer buffer;
        std::uint64_t begin, end;
        bool writes;
    };
    const auto touches = [&](std::size_t i) {
        const traffic::Op& op = plan.schedule.op(static_cast<std::uint32_t>(i));
        const coll::Places& at = plan.places[i];
        std::vector<Touch> all;
        const auto add = [&](coll::Place place, bool writes) {
            if (op.amount > 0) all.push_back({place.buffer, place.at, place.at + op.amount, writes});
        };
        if (op.kind == traffic::OpKind::send || op.kind == traffic::OpKind::copy || op.kind == traffic::OpKind::reduce)
            add(at.from, false);
        if (op.kind == traffic::OpKind::receive || op.kind == traffic::OpKind::copy ||
            op.kind == traffic::OpKind::reduce)
            add(at.to, true);
        return all;
    };
    const auto before = order_of(plan);
    const std::size_t n = plan.schedule.size();
    std::vector<std::vector<Touch>> touched(n);
    for (std::size_t i = 0; i < n; ++i) touched[i] = touches(i);
    for (std::size_t a = 0; a < n; ++a)
        for (std::size_t b = a + 1; b < n; ++b) {
            if (before[a][b] || before[b][a]) continue;
            const auto name =
                std::to_string(a) + " and " + std::to_string(b) + " of rank " + std::to_string(plan.me.value);
            for (const Touch& x : touched[a])
                for (const Touch& y : touched[b])
                    if (x.buffer == y.buffer && x.begin < y.end && y.begin < x.end && (x.writes || y.writes))
                        return "operations " + name + " touch the same bytes in any order";
            const traffic::Op& p = plan.schedule.op(static_cast<std::uint32_t>(a));
            const traffic::Op& q = plan.schedule.op(static_cast<std::uint32_t>(b));
            const bool message = p.kind == traffic::OpKind::send || p.kind == traffic::OpKind::receive;
            if (message && p.kind == q.kind && p.peer == q.peer && p.tag == q.tag)
                return "messages " + name + " have one peer and tag and no order";
        }
    return {};
}

// A send is done when its receive is: whoever needs messages to be stored on the way never ends here. `data` is
// changed. Throws std::runtime_error for a deadlock, messages whose sizes differ, bytes outside a buffer, messages left
// over.
inline void run_plans(std::span<const coll::Plan> plans, std::vector<RankData>& data, const coll::Reduction* op,
                      std::uint64_t seed) {
    const auto fail = [](const std::string& why) { throw std::runtime_error(why); };
    Random random(seed);
    struct Started {
        std::uint32_t rank, op;
    };
    std::vector<Data> scratch;
    std::vector<std::vector<std::uint32_t>> waits;
    std::vector<Started> ready;
    std::size_t open = 0;
    for (std::uint32_t r = 0; r < plans.size(); ++r) {
        Data garbage(plans[r].scratch);
        for (std::byte& b : garbage) b = static_cast<std::byte>(random());
        scratch.push_back(std::move(garbage));
        waits.emplace_back();
        for (std::uint32_t i = 0; i < plans[r].schedule.size(); ++i) {
            waits[r].push_back(plans[r].schedule.waits_for(i));
            if (waits[r][i] == 0) ready.push_back({r, i});
        }
        open += plans[r].schedule.size();
    }
    const auto at = [&](std::uint32_t rank, coll::Place place, std::uint64_t bytes) -> std::byte* {
        if (bytes == 0) return nullptr;
        Data* buffer = place.buffer == coll::Buffer::input    ? &data[rank].input
                       : place.buffer == coll::Buffer::output ? &data[rank].output
                                                              : &scratch[rank];
        if (place.buffer == coll::Buffer::none || place.at + bytes > buffer->size())
            fail("an operation of rank " + std::to_string(rank) + " reaches outside its buffer");
        return buffer->data() + place.at;
    };
    const auto done = [&](const Started& what) {
        --open;
        for (const traffic::Successor& next : plans[what.rank].schedule.successors(what.op))
            if (--waits[what.rank][next.op] == 0) ready.push_back({what.rank, next.op});
    };
    using Channel = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // from, to, tag
    std::map<Channel, std::deque<Started>> sends, receives;
    std::vector<std::pair<Started, Started>> travelling;
    const auto match = [&](const Channel& channel) {
        auto& out = sends[channel];
        auto& in = receives[channel];
        if (out.empty() || in.empty()) return;
        travelling.emplace_back(out.front(), in.front());
        out.pop_front();
        in.pop_front();
    };
    while (!ready.empty() || !travelling.empty()) {
        const auto pick = random.below(static_cast<std::uint32_t>(ready.size() + travelling.size()));
        if (pick >= ready.size()) {
            const auto [out, in] = travelling[pick - ready.size()];
            travelling.erase(travelling.begin() + static_cast<std::ptrdiff_t>(pick - ready.size()));
            const std::uint64_t bytes = plans[out.rank].schedule.op(out.op).amount;
            if (bytes != plans[in.rank].schedule.op(in.op).amount)
                fail("a message from rank " + std::to_string(out.rank) + " to " + std::to_string(in.rank) +
                     " has another size than its receive");
            const std::byte* from = at(out.rank, plans[out.rank].places[out.op].from, bytes);
            std::byte* to = at(in.rank, plans[in.rank].places[in.op].to, bytes);
            if (bytes > 0) std::memcpy(to, from, bytes);
            done(out);
            done(in);
            continue;
        }
        const Started now = ready[pick];
        ready.erase(ready.begin() + pick);
        const traffic::Op& what = plans[now.rank].schedule.op(now.op);
        const coll::Places& places = plans[now.rank].places[now.op];
        switch (what.kind) {
            case traffic::OpKind::send: {
                const Channel channel{now.rank, what.peer.value, what.tag};
                sends[channel].push_back(now);
                match(channel);
                break;
            }
            case traffic::OpKind::receive: {
                const Channel channel{what.peer.value, now.rank, what.tag};
                receives[channel].push_back(now);
                match(channel);
                break;
            }
            case traffic::OpKind::copy: {
                const std::byte* from = at(now.rank, places.from, what.amount);
                std::byte* to = at(now.rank, places.to, what.amount);
                if (from < to + what.amount && to < from + what.amount) fail("a copy overlaps itself");
                std::memcpy(to, from, what.amount);
                done(now);
                break;
            }
            case traffic::OpKind::reduce: {
                const std::byte* from = at(now.rank, places.from, what.amount);
                std::byte* to = at(now.rank, places.to, what.amount);
                if (from < to + what.amount && to < from + what.amount) fail("a reduction overlaps itself");
                if (what.amount % op->element != 0) fail("an element is cut");
                op->apply(op->state, from, to, what.amount / op->element);
                done(now);
                break;
            }
            case traffic::OpKind::compute:
                done(now);
                break;
        }
    }
    if (open > 0) fail(std::to_string(open) + " operations wait for ever");
}

// The most messages one after another, each waiting for the one before: the rounds of an algorithm.
inline std::size_t message_depth(const traffic::Schedule& schedule) {
    const std::size_t n = schedule.size();
    std::vector<std::size_t> depth(n, 0);  // messages that must be over before it ends
    std::vector<std::uint32_t> rank_of(n);
    for (std::uint32_t r = 0; r < schedule.ranks(); ++r)
        for (std::size_t i = 0; i < schedule.ops(Rank{r}).size(); ++i) rank_of[schedule.first(Rank{r}) + i] = r;
    using Channel = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
    std::map<Channel, std::deque<std::size_t>> sends;
    std::vector<std::size_t> send_of(n, n);
    for (std::size_t i = 0; i < n; ++i) {
        const traffic::Op& op = schedule.op(static_cast<std::uint32_t>(i));
        if (op.kind == traffic::OpKind::send) sends[{rank_of[i], op.peer.value, op.tag}].push_back(i);
    }
    for (std::size_t i = 0; i < n; ++i) {
        const traffic::Op& op = schedule.op(static_cast<std::uint32_t>(i));
        if (op.kind != traffic::OpKind::receive) continue;
        auto& queue = sends[{op.peer.value, rank_of[i], op.tag}];
        send_of[i] = queue.front();
        queue.pop_front();
    }
    for (bool changed = true; changed;) {
        changed = false;
        const auto raise = [&](std::size_t i, std::size_t to) {
            if (depth[i] < to) depth[i] = to, changed = true;
        };
        for (std::size_t i = 0; i < n; ++i) {
            if (send_of[i] < n) raise(i, depth[send_of[i]] + 1);
            for (const traffic::Successor& next : schedule.successors(static_cast<std::uint32_t>(i)))
                raise(next.op, depth[i]);
        }
    }
    return n == 0 ? 0 : *std::max_element(depth.begin(), depth.end());
}

}  // namespace loom::reference
