// The packet level with one queue of events and no cleverness: std::deque for every queue, a map for every table. The
// rules are the engine's, and so are the ties: events of a moment go arrivals, deferred arrivals, looks at outputs,
// posts, local deliveries, local work, starts; within a kind by port, then by operation. Credits are read on a grid,
// before anything else of that moment.
#pragma once

#include <bit>
#include <deque>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <tuple>

#include "loom/base/random.hpp"
#include "reference/packet_ranks.hpp"
#include "reference/packet_ways.hpp"

namespace loom::reference {

class PacketLevel {
public:
    using OpIndex = traffic::OpIndex;
    using PortId = std::uint32_t;  // PortIndex value
    using At = std::int64_t;       // picoseconds

    PacketLevel(const sim::Network& network, const traffic::Schedule& schedule, const sim::Options& options)
        : network_(network),
          fabric_(network.graph->fabric()),
          schedule_(schedule),
          o_(options.packet),
          local_(options.local),
          ranks_(schedule, options.local),
          ways_(network) {
        ranks_.begin_send = [this](OpIndex send, At now) { begin_send(send, now); };
        ranks_.wake_at = [this](OpIndex op, At at) { due(at, work, op); };
        const At shortest = o_.cable_delay.ps + std::min(o_.switch_delay.ps, o_.host_delay.ps);
        grid_ = At{1} << std::min(19, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(shortest))) - 1);
        count_lanes();
        for (std::uint32_t r = 0; r < schedule.ranks(); ++r) {
            if (network.placement.hosts[r] == no_port) continue;
            number_.emplace(host_of(r), number_.size());
            jitter_.emplace(host_of(r), random_stream(options.seed, number_.at(host_of(r))));
            later(0, start, host_of(r), r, {.op = r});
        }
    }

    // Everything before `until`.
    void run(Time until = never) {
        while (!events_.empty() && events_.top().at < until.ps) {
            const Event event = events_.top();
            events_.pop();
            now_ = event.at;
            handle(event);
        }
    }

    [[nodiscard]] const Ranks& ranks() const { return ranks_; }
    [[nodiscard]] fabric::PortCounters counters(PortIndex port, Time now) const {
        fabric::PortCounters c;
        const auto words = [](const Output& output) { return (output.bytes - 2 * output.packets) / 4; };
        const auto ticks = [&](At over, std::optional<At> since) {
            const At going_on = since ? std::max<At>(0, now.ps - *since) : 0;
            return static_cast<std::uint64_t>((over + going_on) / o_.counter_tick.ps);
        };
        if (const auto found = outputs_.find(port.value); found != outputs_.end()) {
            const Output& output = found->second;
            c.xmit_data = words(output);
            c.xmit_pkts = output.packets;
            c.xmit_wait = ticks(output.waited, output.waiting);
            c.xmit_cong_time = ticks(output.congested_for, output.congested);
            c.marked_fecn = output.marked;
        }
        if (const auto found = outputs_.find(fabric_.port(port).peer.value); found != outputs_.end()) {
            c.rcv_data = words(found->second);
            c.rcv_pkts = found->second.packets;
        }
        if (const auto found = notified_.find(port.value); found != notified_.end())
            std::tie(c.rcv_fecn, c.rcv_becn) = found->second;
        return c;
    }

private:
    enum Kind { credit, arrive, defer, look, post, deliver, work, start };
    enum What { data, ack, cnp };
    struct Packet {
        What what = data;
        OpIndex op = 0;
        std::uint16_t dlid = 0, slid = 0;
        std::uint32_t wire = 0;
        unsigned lane = 0;
        bool last = false, fecn = false, becn = false;
        [[nodiscard]] int blocks() const { return static_cast<int>((wire + 63) / 64); }
    };
    struct Event {
        At at;
        Kind kind;
        PortId port;
        std::uint64_t order;
        Packet packet;
        unsigned pool;
        friend bool operator<(const Event& a, const Event& b) {
            return std::tie(a.at, a.kind, a.port, a.order) > std::tie(b.at, b.kind, b.port, b.order);
        }
    };
    struct Turns {
        std::size_t at = SIZE_MAX;  // before the first
        int left = 0;
    };
    struct Output {
        At busy_until = 0;
        std::set<At> looks;  // asked for and to come
        std::optional<At> waiting;
        At waited = 0, congested_for = 0;
        std::uint64_t bytes = 0, packets = 0, marked = 0;
        bool victim = false, chose_high = false;
        std::map<unsigned, std::map<unsigned, std::deque<Packet>>> queues;  // by lane and input number; none empty
        std::map<unsigned, unsigned> last_input;                            // by lane
        Turns high, low;
        std::optional<int> budget;
        unsigned unmarked = 0;
        std::optional<At> congested;
    };
    struct Pair {
        std::deque<OpIndex> messages;
        std::uint64_t left = 0;
        At allowed = 0;
    };
    using Flow = std::pair<std::uint32_t, std::uint32_t>;
    struct Host {
        std::map<unsigned, std::deque<Flow>> lines;      // by lane, in turn; none empty
        std::map<unsigned, std::deque<Packet>> control;  // none empty
        std::set<std::pair<At, Flow>> throttled;
    };
    struct Index {
        unsigned value = 0;
        std::uint8_t sl = 0;  // that raised it last
        At ticks = 0;         // of the timer then
    };

    // ---- the fabric
    [[nodiscard]] PortId host_of(std::uint32_t rank) const { return network_.placement.hosts[rank].value; }
    [[nodiscard]] PortId peer(PortId port) const { return fabric_.port(PortIndex{port}).peer.value; }
    [[nodiscard]] bool is_switch(PortId port) const {
        return fabric_.node(fabric_.port(PortIndex{port}).node).kind == fabric::NodeKind::switch_;
    }
    [[nodiscard]] routing::SwitchIndex switch_of(PortId port) const {
        return network_.graph->index(fabric_.port(PortIndex{port}).node);
    }
    [[nodiscard]] unsigned number(PortId port) const { return fabric_.port(PortIndex{port}).number.value; }
    [[nodiscard]] PortId sibling(PortId port, unsigned n) const { return port - number(port) + n; }
    [[nodiscard]] std::uint64_t megabits(PortId port) const {
        const std::uint64_t known = fabric_.port(PortIndex{port}).rate.megabits();
        return known == 0 ? 32'000 : known;
    }
    // Picoseconds a byte times 256, rounded: what links are timed with.
    [[nodiscard]] std::uint64_t slowness(PortId port) const {
        return (8'000'000 * 256 + megabits(port) / 2) / megabits(port);
    }
    [[nodiscard]] At time(PortId port, std::uint32_t bytes) const {
        return static_cast<At>(bytes * slowness(port) / 256);
    }
    [[nodiscard]] std::uint16_t address(std::uint32_t from, std::uint32_t to) const {
        const fabric::Port& port = fabric_.port(network_.placement.hosts[to]);
        const unsigned paths = 1u << port.lmc;
        return static_cast<std::uint16_t>(port.lid.value +
                                          (o_.lids == sim::LidChoice::first ? 0 : (from + to) % paths));
    }
    [[nodiscard]] unsigned lane(PortId host, std::uint16_t dlid, std::uint8_t sl) const {
        if (o_.use_table_lanes && network_.tables->has_lanes())
            return network_.tables->lane(switch_of(peer(host)), Lid{dlid});
        return o_.sl_to_vl[sl];
    }
    void count_lanes() {
        lanes_ = std::max(1u, o_.lanes);
        if (o_.use_table_lanes && network_.tables->has_lanes()) {
            lanes_ = std::max(lanes_, network_.tables->lane_count());
            return;
        }
        for (const traffic::Op& op : schedule_.ops())
            if (op.kind == traffic::OpKind::send) lanes_ = std::max(lanes_, o_.sl_to_vl[op.sl] + 1u);
    }

    // ---- events
    void later(At at, Kind kind, PortId port, std::uint64_t order, const Packet& packet, unsigned pool = 0) {
        events_.push({at, kind, port, order, packet, pool});
    }
    void due(At at, Kind kind, OpIndex op) {  // what a rank began first comes first
        const std::uint32_t rank = ranks_.rank(op);
        later(at, kind, host_of(rank), std::uint64_t{rank} << 32 | begun_++, {.op = op});
    }
    void look_at(PortId port, At at) {
        if (outputs_[port].looks.insert(at).second) later(at, look, port, 0, {});
    }
    void handle(const Event& e) {
        switch (e.kind) {
            case credit:
                used_[{e.port, e.packet.lane, e.pool}] -= e.packet.blocks();
                if (outputs_[e.port].waiting) look_at(e.port, now_);
                return;
            case arrive:
            case defer:
                return is_switch(e.port) ? pass(e.port, e.packet, e.kind == defer) : receive(e.port, e.packet);
            case look:
                outputs_[e.port].looks.erase(now_);
                return is_switch(e.port) ? arbitrate(e.port) : try_send(e.port);
            case post:
                return enter(e.port, e.packet.op);
            case deliver:
                ranks_.delivered(e.packet.op, schedule_.op(e.packet.op).amount, now_);
                ranks_.arrived(e.packet.op, now_);
                [[fallthrough]];
            case work:
                return ranks_.done(e.packet.op, now_);
            case start:
                return ranks_.start(e.packet.op, now_);
        }
    }

    // ---- links
    // Which pool of the next buffer a packet goes to: its output there, where outputs have pools of their own.
    [[nodiscard]] unsigned pool(PortId out, const Packet& packet) const {
        const PortId in = peer(out);
        if (o_.buffer_use == sim::BufferUse::shared || !is_switch(in)) return 0;
        return network_.tables->port(switch_of(in), Lid{packet.dlid});
    }
    [[nodiscard]] bool may_send(PortId out, const Packet& packet) {
        if (o_.flow_control == sim::FlowControl::infinite) return true;
        const int blocks = static_cast<int>(o_.buffer_bytes / 64);
        return used_[{out, packet.lane, pool(out, packet)}] + packet.blocks() <= blocks;
    }
    void transmit(PortId out, const Packet& packet) {
        Output& output = outputs_[out];
        used_[{out, packet.lane, pool(out, packet)}] += packet.blocks();
        output.busy_until = now_ + time(out, packet.wire);
        output.bytes += packet.wire;
        ++output.packets;
        if (output.chose_high) {
            output.high.left -= packet.blocks();
            if (output.budget) *output.budget -= static_cast<int>(packet.wire);
        } else {
            output.low.left -= packet.blocks();
        }
        const PortId in = peer(out);
        const At through = is_switch(in) ? o_.switch_delay.ps : time(out, packet.wire) + o_.host_delay.ps;
        later(now_ + o_.cable_delay.ps + through, arrive, in, packet.op, packet);
    }
    // The packet's tail has left the buffer behind `in`: its blocks are credits again when the note of it has crossed
    // the cable and the next line of the grid is reached.
    void release(PortId in, const Packet& packet, unsigned through, At moment) {
        const At line = std::max(now_ / grid_ + 1, (moment + o_.cable_delay.ps + grid_ - 1) / grid_);
        later(line * grid_, credit, peer(in), packet.op, packet, o_.buffer_use == sim::BufferUse::shared ? 0 : through);
    }
    void begin_wait(PortId out) {
        Output& output = outputs_[out];
        if (output.waiting) return;
        output.waiting = now_;
        output.victim = true;
        judge_congestion(out);
    }
    void end_wait(PortId out) {
        Output& output = outputs_[out];
        output.victim = output.waiting.has_value();
        if (output.waiting) output.waited += now_ - *output.waiting;
        output.waiting.reset();
    }

    // ---- lanes
    [[nodiscard]] std::optional<unsigned> turn(const std::vector<sim::LaneWeight>& table, Turns& turns,
                                               const std::set<unsigned>& eligible) const {
        if (table.empty()) return std::nullopt;
        if (turns.left > 0 && eligible.contains(table[turns.at].lane)) return table[turns.at].lane;
        for (std::size_t step = 1; step <= table.size(); ++step) {
            const std::size_t next = (turns.at + step) % table.size();
            if (table[next].weight == 0 || !eligible.contains(table[next].lane)) continue;
            turns = {next, table[next].weight};
            return table[next].lane;
        }
        return std::nullopt;
    }
    unsigned choose_lane(PortId out, const std::set<unsigned>& eligible) {
        if (lanes_ == 1) return 0;
        Output& output = outputs_[out];
        std::vector<sim::LaneWeight> low = o_.arbitration.low;
        if (low.empty())
            for (unsigned v = 0; v < lanes_; ++v) low.push_back({static_cast<std::uint8_t>(v), 1});
        const bool limited = o_.arbitration.high_limit != 255;
        const int full = std::max(1, o_.arbitration.high_limit * 4096);
        if (!output.budget && limited) output.budget = full;
        const bool low_waits = std::any_of(low.begin(), low.end(), [&](const sim::LaneWeight& entry) {
            return entry.weight != 0 && eligible.contains(entry.lane);
        });
        const bool spent = limited && *output.budget <= 0;
        if (spent) output.budget = full;
        if (!spent || !low_waits)
            if (const auto lane = turn(o_.arbitration.high, output.high, eligible)) {
                output.chose_high = true;
                return *lane;
            }
        output.chose_high = false;
        if (limited) output.budget = full;
        return turn(low, output.low, eligible).value();
    }

    // ---- switches
    [[nodiscard]] std::uint32_t queued(PortId out, unsigned lane) {
        std::uint32_t bytes = 0;
        for (const auto& [input, queue] : outputs_[out].queues[lane])
            for (const Packet& packet : queue) bytes += packet.wire;
        return bytes;
    }
    [[nodiscard]] bool active(PortId out) {
        for (unsigned v = 0; v < lanes_; ++v)
            if (!outputs_[out].queues[v].empty()) return true;
        return false;
    }
    void pass(PortId in, const Packet& packet, bool deferred) {
        const std::vector<unsigned> may_take =
            packet.what == data ? ways_.choices(switch_of(in), packet.dlid, o_.paths)
                                : std::vector<unsigned>{network_.tables->port(switch_of(in), Lid{packet.dlid})};
        PortId fastest = sibling(in, may_take.front());
        PortId out = fastest;
        for (const unsigned n : may_take) {
            const PortId other = sibling(in, n);
            if (slowness(other) < slowness(fastest)) fastest = other;
            const auto busy = [&](PortId port) {
                return std::pair(queued(port, packet.lane), outputs_[port].busy_until);
            };
            if (busy(other) < busy(out)) out = other;
        }
        if (!deferred && slowness(in) > slowness(fastest)) {
            later(now_ + time(in, packet.wire) - time(fastest, packet.wire), defer, in, packet.op, packet);
            return;
        }
        Output& output = outputs_[out];
        if (!active(out) && output.busy_until <= now_ && may_send(out, packet)) {
            output.victim = false;
            output.last_input[packet.lane] = number(in);
            choose_lane(out, {packet.lane});
            transmit(out, packet);
            release(in, packet, number(out), output.busy_until);
            return;
        }
        output.queues[packet.lane][number(in)].push_back(packet);
        judge_congestion(out);
        if (output.busy_until > now_)
            look_at(out, output.busy_until);
        else if (output.looks.empty() && (!output.waiting || lanes_ > 1 || o_.buffer_use == sim::BufferUse::per_output))
            arbitrate(out);
    }
    // The input whose first packet may go, in turn. Where all share a buffer, whoever's turn it is waits.
    [[nodiscard]] std::optional<unsigned> ready_input(PortId out, unsigned lane) {
        Output& output = outputs_[out];
        const auto& queues = output.queues[lane];
        auto at = queues.upper_bound(output.last_input[lane]);
        for (std::size_t i = 0; i < queues.size(); ++i, ++at) {
            if (at == queues.end()) at = queues.begin();
            if (may_send(out, at->second.front())) return at->first;
            if (o_.buffer_use == sim::BufferUse::shared) return std::nullopt;
        }
        return std::nullopt;
    }
    void arbitrate(PortId out) {
        Output& output = outputs_[out];
        if (!active(out)) return;
        if (output.busy_until > now_) return look_at(out, output.busy_until);
        std::set<unsigned> eligible;
        for (unsigned v = 0; v < lanes_; ++v)
            if (ready_input(out, v)) eligible.insert(v);
        if (eligible.empty()) return begin_wait(out);
        end_wait(out);
        const unsigned lane = choose_lane(out, eligible);
        const unsigned input = ready_input(out, lane).value();
        judge_congestion(out);
        std::deque<Packet>& queue = output.queues[lane][input];
        Packet packet = queue.front();
        mark(out, packet);
        queue.pop_front();
        if (queue.empty()) output.queues[lane].erase(input);
        output.last_input[lane] = input;
        judge_congestion(out);
        transmit(out, packet);
        release(sibling(out, input), packet, number(out), output.busy_until);
        if (active(out)) look_at(out, output.busy_until);
    }

    // ---- congestion
    void judge_congestion(PortId out) {
        const sim::SwitchControl& control = o_.congestion.switches;
        if (control.threshold == 0 || !is_switch(out)) return;
        const std::uint32_t threshold = o_.buffer_bytes / 64 * 64 / 15 * (15u - control.threshold);
        Output& output = outputs_[out];
        std::uint32_t longest = 0;
        std::set<unsigned> inputs;  // that have packets waiting, or were served last
        for (unsigned v = 0; v < lanes_; ++v) {
            const auto& queues = output.queues[v];
            // The packet behind the one that went last, from the same input, is not held up by others.
            const auto last = queues.find(output.last_input[v]);
            longest = std::max(longest, queued(out, v) - (last == queues.end() ? 0 : last->second.front().wire));
            for (const auto& [input, queue] : queues) inputs.insert({input, output.last_input[v]});
        }
        std::uint64_t speed = 0;  // of the inputs together
        for (const unsigned input : inputs)
            if (fabric_.port(PortIndex{sibling(out, input)}).connected()) speed += megabits(sibling(out, input));
        const bool oversubscribed = speed > megabits(out);
        const bool congested = longest > threshold && (!output.victim || control.victim_mask) && oversubscribed;
        if (congested && !output.congested) output.congested = now_;
        if (!congested && output.congested) {
            output.congested_for += now_ - *output.congested;
            output.congested.reset();
        }
    }
    void mark(PortId out, Packet& packet) {
        const sim::SwitchControl& control = o_.congestion.switches;
        Output& output = outputs_[out];
        if (!output.congested || packet.what != data || packet.wire < control.packet_size * 64u) return;
        if (output.unmarked++ < control.marking_rate) return;
        output.unmarked = 0;
        if (!packet.fecn) ++output.marked;
        packet.fecn = true;
    }
    [[nodiscard]] bool throttling() const {
        return o_.congestion.switches.threshold != 0 && !o_.congestion.table.empty();
    }
    Index& index_of(PortId host, OpIndex op) {
        const std::uint8_t sl = schedule_.op(op).sl;
        if (o_.congestion.scope == sim::ControlScope::service_level) return indices_[{host, 0, sl}];
        return indices_[{ranks_.rank(op), schedule_.op(op).peer.value, 0}];
    }
    [[nodiscard]] At ticks(PortId host, std::uint8_t sl) const {
        const At period = o_.congestion.hosts[sl].ccti_timer * At{1'024'000};
        if (period == 0) return 0;
        const At phase = static_cast<At>((number_.at(host) * 0x9e3779b97f4a7c15u) >> 33) % period;
        return (now_ + phase) / period;
    }
    [[nodiscard]] unsigned index_now(PortId host, OpIndex op) {
        const Index& index = index_of(host, op);
        const At value = index.value - (ticks(host, index.sl) - index.ticks);
        const At least = o_.congestion.hosts[schedule_.op(op).sl].ccti_min;
        return static_cast<unsigned>(
            std::min<At>(std::max(value, least), static_cast<At>(o_.congestion.table.size()) - 1));
    }
    void slow_down(PortId host, OpIndex op) {
        if (!throttling()) return;
        const sim::HostControl& control = o_.congestion.hosts[schedule_.op(op).sl];
        const auto last = static_cast<unsigned>(o_.congestion.table.size() - 1);
        const unsigned limit = std::min<unsigned>(control.ccti_limit == 0 ? last : control.ccti_limit, last);
        const unsigned value = std::min(index_now(host, op) + control.ccti_increase, limit);
        index_of(host, op) = {value, schedule_.op(op).sl, ticks(host, schedule_.op(op).sl)};
    }

    // ---- hosts
    void begin_send(OpIndex send, At now) {
        const traffic::Op& op = schedule_.op(send);
        if (host_of(ranks_.rank(send)) != host_of(op.peer.value)) return due(now + o_.host_delay.ps, post, send);
        At& free = pairs_[flow_of(send)].allowed;
        free = std::max(free, now + o_.host_delay.ps) + static_cast<At>(op.amount) * local_.copy;
        due(free + o_.host_delay.ps, deliver, send);
    }
    [[nodiscard]] Flow flow_of(OpIndex send) const { return {ranks_.rank(send), schedule_.op(send).peer.value}; }
    void enter(PortId host, OpIndex send) {
        Pair& pair = pairs_[flow_of(send)];
        pair.messages.push_back(send);
        if (pair.messages.size() > 1) return;
        pair.left = schedule_.op(send).amount;
        line_up(host, flow_of(send));
        try_send(host);
    }
    void line_up(PortId host, Flow flow) {
        const Pair& pair = pairs_[flow];
        if (pair.allowed > now_) {
            hosts_[host].throttled.insert({pair.allowed, flow});
            look_at(host, pair.allowed);
            return;
        }
        const traffic::Op& message = schedule_.op(pair.messages.front());
        auto& line = hosts_[host].lines[lane(host, address(flow.first, flow.second), message.sl)];
        const bool goes_on = pair.left < message.amount && o_.host_turns == sim::HostTurns::message;
        line.insert(goes_on ? line.begin() : line.end(), flow);
    }
    [[nodiscard]] Packet next_packet(PortId host, unsigned v) {
        Host& there = hosts_[host];
        if (!there.control[v].empty()) return there.control[v].front();
        const Flow flow = there.lines[v].front();
        const Pair& pair = pairs_[flow];
        const auto payload = static_cast<std::uint32_t>(std::min<std::uint64_t>(pair.left, o_.mtu));
        Packet packet;
        packet.op = pair.messages.front();
        packet.dlid = address(flow.first, flow.second);
        packet.slid = address(flow.second, flow.first);
        packet.wire = payload + 26;
        packet.lane = v;
        packet.last = payload == pair.left;
        return packet;
    }
    void try_send(PortId host) {
        Host& there = hosts_[host];
        Output& output = outputs_[host];
        if (output.busy_until > now_) return look_at(host, output.busy_until);
        while (!there.throttled.empty() && there.throttled.begin()->first <= now_) {
            const Flow flow = there.throttled.begin()->second;
            there.throttled.erase(there.throttled.begin());
            line_up(host, flow);
        }
        bool any = false;
        std::set<unsigned> eligible;
        for (unsigned v = 0; v < lanes_; ++v) {
            if (there.control[v].empty() && there.lines[v].empty()) continue;
            any = true;
            if (may_send(host, next_packet(host, v))) eligible.insert(v);
        }
        if (eligible.empty()) {
            if (any) begin_wait(host);
            return;
        }
        end_wait(host);
        const unsigned v = choose_lane(host, eligible);
        const Packet packet = next_packet(host, v);
        transmit(host, packet);
        look_at(host, output.busy_until);
        if (packet.what != data) return there.control[v].pop_front();
        const Flow flow = there.lines[v].front();
        there.lines[v].pop_front();
        Pair& pair = pairs_[flow];
        pair.left -= packet.wire - 26;
        const At own = time(host, packet.wire);
        if (throttling()) {
            const double stretch = 1 + o_.congestion.jitter * (2 * jitter_.at(host).unit() - 1);
            pair.allowed =
                now_ + own +
                static_cast<At>(o_.congestion.table[index_now(host, packet.op)] * stretch * static_cast<double>(own));
        }
        if (packet.last) {
            pair.messages.pop_front();
            if (pair.messages.empty()) return;
            pair.left = schedule_.op(pair.messages.front()).amount;
        }
        line_up(host, flow);
    }
    void answer(PortId host, const Packet& to, What what, bool becn) {
        Packet packet;
        packet.what = what;
        packet.op = to.op;
        packet.dlid = to.slid;
        packet.slid = to.dlid;
        packet.wire = what == ack ? 30 : 42;
        packet.lane = lane(host, to.slid, schedule_.op(to.op).sl);
        packet.becn = becn;
        hosts_[host].control[packet.lane].push_back(packet);
        try_send(host);
    }
    void receive(PortId host, const Packet& packet) {
        release(host, packet, 0, now_);
        if (packet.what != data) {
            if (packet.becn) {
                ++notified_[host].second;
                slow_down(host, packet.op);
            }
            if (packet.what == ack) ranks_.done(packet.op, now_);
            return;
        }
        ranks_.delivered(packet.op, packet.wire - 26, now_);
        if (packet.fecn) {
            ++notified_[host].first;
            if (o_.congestion.notify == sim::Notify::cnp)
                answer(host, packet, cnp, true);
            else
                owed_.insert(flow_of(packet.op));
        }
        const std::uint64_t packets =
            std::max<std::uint64_t>(1, (schedule_.op(packet.op).amount + o_.mtu - 1) / o_.mtu);
        if (++arrived_[packet.op] != packets) return;
        answer(host, packet, ack, owed_.erase(flow_of(packet.op)) != 0);
        ranks_.arrived(packet.op, now_);
    }

    const sim::Network& network_;
    const fabric::Fabric& fabric_;
    const traffic::Schedule& schedule_;
    const sim::PacketOptions& o_;
    sim::LocalCosts local_;
    Ranks ranks_;
    Ways ways_;
    At grid_ = 1, now_ = 0;
    unsigned lanes_ = 1;
    std::uint32_t begun_ = 0;
    std::map<PortId, std::size_t> number_;  // of host ports, in the order of their first ranks
    std::map<PortId, Random> jitter_;       // adapters do not keep step
    std::priority_queue<Event> events_;
    std::map<PortId, Output> outputs_;
    std::map<std::tuple<PortId, unsigned, unsigned>, int> used_;  // blocks, by sending port, lane and pool
    std::map<PortId, Host> hosts_;
    std::map<Flow, Pair> pairs_;
    std::map<std::tuple<std::uint32_t, std::uint32_t, unsigned>, Index> indices_;
    std::set<Flow> owed_;
    std::map<OpIndex, std::uint64_t> arrived_;
    std::map<PortId, std::pair<std::uint64_t, std::uint64_t>> notified_;  // FECN, BECN
};

}  // namespace loom::reference
