#include "sim/packet/hosts.hpp"

#include <algorithm>
#include <bit>

#include "sim/executor.hpp"
#include "sim/live_program.hpp"
#include "sim/paths.hpp"

namespace loom::sim::packet {

namespace {

constexpr std::int64_t timer_unit = 1'024'000;  // 1.024 us

}  // namespace

template <class Program>
Hosts<Program>::Hosts(const Plant& plant, Ports& ports, Links& links, Program& program, const Options& options)
    : plant_(plant),
      ports_(ports),
      links_(links),
      program_(program),
      costs_(options.local),
      control_(plant.options->congestion),
      throttling_(control_.switches.threshold != 0 && !control_.table.empty()),
      by_pair_(control_.scope == ControlScope::queue_pair),
      pairs_(program.template per_flow<QueuePair>()),
      next_message_(program.per_op(OpIndex{no_index})),
      lanes_(plant.endpoint.size() * ports.lanes),
      throttled_(plant.endpoint.size()),
      notified_(plant.endpoint.size()),
      reliable_(Program::live && plant.options->retries.has_value()) {
    if (reliable_) {
        sending_ = program.template per_flow<Sending>();
        receiving_ = program.template per_flow<Receiving>();
        sequence_ = program.per_op(std::uint32_t{0});
    }
    if constexpr (!Program::live)
        for (FlowIndex f = 0; f < program.flow_count(); ++f) find_addresses(f);
    if (throttling_ && by_pair_) pair_indices_ = program.template per_flow<Index>();
    if (throttling_ && !by_pair_) level_indices_.resize(plant.endpoint.size() * service_levels);
    if (throttling_)
        for (Endpoint e = 0; e < plant.endpoint.size(); ++e) jitter_.push_back(random_stream(options.seed, e));
    if (control_.notify == Notify::ack) owes_becn_ = program.template per_flow<std::uint8_t>();
    if (plant.options->paths == PathChoice::adaptive) arrived_ = program.per_op(std::uint32_t{0});
}

template <class Program>
void Hosts<Program>::find_addresses(FlowIndex flow) {
    const Rank from = program_.flow_from(flow), to = program_.flow_to(flow);
    if (plant_.rank_endpoint[from.value] == plant_.rank_endpoint[to.value]) return;
    pairs_[flow].dlid = plant_.address(from, to);
    pairs_[flow].slid = plant_.address(to, from);
}

template <class Program>
void Hosts<Program>::prepare(FlowIndex flow) {
    if constexpr (Program::live) {
        if (ports_.failed.empty())
            check_pair(*plant_.network, program_.flow_from(flow), program_.flow_to(flow), plant_.options->lids,
                       Answers::back);
        pairs_.grow(flow);
        if (reliable_) {
            sending_.grow(flow);
            receiving_.grow(flow);
        }
        if (!pair_indices_.empty()) pair_indices_.grow(flow);
        if (!owes_becn_.empty()) owes_becn_.grow(flow);
        find_addresses(flow);
    }
}

template <class Program>
void Hosts<Program>::Callbacks::begin_send(Rank rank, OpIndex send, Time now) {
    if constexpr (Program::live) {
        hosts.next_message_.grow(send);
        if (!hosts.arrived_.empty()) hosts.arrived_.grow(send);
        if (hosts.reliable_) hosts.sequence_.grow(send);
    }
    Program& program = hosts.program_;
    const std::int64_t delay = hosts.plant_.options->host_delay.ps;
    const bool local = hosts.plant_.rank_endpoint[program.peer(send).value] == hosts.plant_.rank_endpoint[rank.value];
    Packet packet{};
    packet.flow = program.flow(send);
    const Port port = hosts.plant_.endpoint[endpoint].port;
    if (!local) {
        packet.op = program.ticket(send, Due::post, Time{now.ps + delay});
        worker.remind(port, now.ps + delay, What::post, packet);
        return;
    }
    // One after the other, as a pair's messages on the wire: a short one must not overtake a long one.
    std::int64_t& free = hosts.pairs_[packet.flow].allowed;
    free = std::max(free, now.ps + delay) + static_cast<std::int64_t>(program.amount(send)) * hosts.costs_.copy;
    packet.op = program.ticket(send, Due::deliver, Time{free + delay});
    worker.remind(port, free + delay, What::deliver, packet);
}

template <class Program>
void Hosts<Program>::Callbacks::wake_at(Rank rank, OpIndex op, Time at) {
    Packet packet{};
    packet.op = op;
    packet.flow = rank.value;
    worker.remind(hosts.plant_.endpoint[endpoint].port, at.ps, What::work, packet);
}

template <class Program>
void Hosts<Program>::handle(Worker& worker, Endpoint endpoint, const Event& event, std::int64_t now) {
    Callbacks calls{*this, worker, endpoint};
    switch (event.what()) {
        case What::arrive:
            receive(worker, endpoint, event.packet, now);
            return;
        case What::wake: {
            Output& output = ports_.out[event.port()];
            if (output.wake_at == now) output.wake_at = at_no_time;
            try_send(worker, endpoint, now);
            return;
        }
        case What::post:
            post(worker, endpoint, program_.redeem(event.packet.op), now);
            return;
        case What::deliver:
            deliver_locally(worker, endpoint, program_.redeem(event.packet.op), now);
            return;
        case What::work:
            program_.work_done(Rank{event.packet.flow}, event.packet.op, Time{now}, calls);
            return;
        case What::retry:
            return go_back(worker, endpoint, event.packet, now);
        case What::start:
            program_.start(Rank{event.packet.op}, Time{now}, calls);
            return;
        default:
            return;
    }
}

template <class Program>
void Hosts<Program>::post(Worker& worker, Endpoint endpoint, OpIndex op, std::int64_t now) {
    const FlowIndex flow = program_.flow(op);
    QueuePair& pair = pairs_[flow];
    enqueue(flow, op);
    if (pair.listed) return;
    pair.left = program_.amount(op);
    pair.lane = plant_.lane(endpoint, pair.dlid, program_.sl(op));
    pair.listed = true;
    list(endpoint, flow, now);
    try_send(worker, endpoint, now);
}

// Behind those that wait, and behind those that are under way where they may have to go again.
template <class Program>
void Hosts<Program>::enqueue(FlowIndex flow, OpIndex op) {
    QueuePair& pair = pairs_[flow];
    const bool alone = reliable_ ? sending_[flow].oldest == no_index : pair.first == no_index;
    if (!alone) next_message_[pair.last] = op;
    if (pair.first == no_index) pair.first = op;
    if constexpr (Program::live) next_message_[op] = no_index;  // the number may have been another's
    pair.last = op;
    if (!reliable_) return;
    if (alone) sending_[flow].oldest = op;
    sequence_[op] = sending_[flow].posted++;
}

// A packet of the queue pair is lost: all again from the oldest message that is not acknowledged on.
template <class Program>
void Hosts<Program>::go_back(Worker& worker, Endpoint endpoint, const Packet& lost, std::int64_t now) {
    Sending& sending = sending_[lost.flow];
    if (lost.epoch() != sending.epoch || sending.oldest == no_index || sending.over) return;
    sending.over = sending.retries == plant_.options->retries->most;
    if (sending.over) return;
    ++sending.retries;
    sending.epoch = static_cast<std::uint8_t>((sending.epoch + 1) % 8);
    QueuePair& pair = pairs_[lost.flow];
    pair.first = sending.oldest;
    pair.left = program_.amount(pair.first);
    if (pair.listed) return;
    pair.lane = plant_.lane(endpoint, pair.dlid, program_.sl(pair.first));
    pair.listed = true;
    list(endpoint, lost.flow, now);
    try_send(worker, endpoint, now);
}

template <class Program>
void Hosts<Program>::list(Endpoint endpoint, FlowIndex flow, std::int64_t now) {
    QueuePair& pair = pairs_[flow];
    if (pair.allowed > now) {
        auto& heap = throttled_[endpoint];
        heap.push_back({pair.allowed, flow});
        std::push_heap(heap.begin(), heap.end(), later());
        return;
    }
    HostLane& line = lane(endpoint, pair.lane);
    const bool begun = pair.left < program_.amount(pair.first);
    if (begun && plant_.options->host_turns == HostTurns::message && line.first != no_index) {
        pair.next = line.first;
        line.first = flow;
    } else {
        (line.first == no_index ? line.first : pairs_[line.last].next) = flow;
        line.last = flow;
        pair.next = no_index;
    }
    ports_.out[plant_.endpoint[endpoint].port].active |= static_cast<std::uint16_t>(1u << pair.lane);
}

template <class Program>
Packet Hosts<Program>::next_packet(Endpoint endpoint, unsigned v) const {
    const HostLane& line = lane(endpoint, v);
    if (line.has_control()) return line.control[line.control_at];
    const QueuePair& pair = pairs_[line.first];
    const auto payload = static_cast<std::uint32_t>(std::min<std::uint64_t>(pair.left, plant_.options->mtu));
    Packet packet{};
    packet.op = pair.first;
    packet.flow = line.first;
    packet.dlid = pair.dlid;
    packet.slid = pair.slid;
    packet.wire = static_cast<std::uint16_t>(payload + header_bytes);
    packet.lane = static_cast<std::uint8_t>(v);
    packet.bits = static_cast<std::uint8_t>(Packet::data | (payload == pair.left ? Packet::last : 0));
    if (reliable_) packet.set_epoch(sending_[packet.flow].epoch);
    return packet;
}

template <class Program>
void Hosts<Program>::take_packet(Endpoint endpoint, unsigned v, const Packet& packet, std::int64_t now) {
    HostLane& line = lane(endpoint, v);
    if (packet.kind() != Packet::data) {
        if (++line.control_at == line.control.size()) {
            line.control.clear();
            line.control_at = 0;
        }
        return;
    }
    QueuePair& pair = pairs_[packet.flow];
    line.first = pair.next;
    pair.left -= packet.payload();
    if (throttling_) {
        const std::uint8_t sl = program_.sl(packet.op);
        const unsigned index = index_now(index_of(packet.flow, endpoint, sl), endpoint, sl, now);
        const std::int64_t time = plant_.serialise(plant_.endpoint[endpoint].port, packet.wire);
        const double stretch = 1 + control_.jitter * (2 * jitter_[endpoint].unit() - 1);
        pair.allowed =
            now + time + static_cast<std::int64_t>(control_.table[index] * stretch * static_cast<double>(time));
    }
    if (!packet.has(Packet::last)) return;
    pair.first = next_message_[packet.op];
    if (pair.first == no_index) {
        pair.listed = false;
        return;
    }
    pair.left = program_.amount(pair.first);
    pair.lane = plant_.lane(endpoint, pair.dlid, program_.sl(pair.first));
}

template <class Program>
void Hosts<Program>::try_send(Worker& worker, Endpoint endpoint, std::int64_t now) {
    const Port port = plant_.endpoint[endpoint].port;
    Output& output = ports_.out[port];
    auto& heap = throttled_[endpoint];
    if (output.busy_until > now) {
        wake_when_free(worker, endpoint);
        return;
    }
    while (!heap.empty() && heap.front().allowed <= now) {
        const FlowIndex flow = heap.front().flow;
        std::pop_heap(heap.begin(), heap.end(), later());
        heap.pop_back();
        list(endpoint, flow, now);
    }
    unsigned eligible = 0;
    for (unsigned rest = output.active; rest != 0; rest &= rest - 1) {
        const auto v = static_cast<unsigned>(std::countr_zero(rest));
        if (links_.may_send(port, next_packet(endpoint, v))) eligible |= 1u << v;
    }
    if (eligible == 0) {
        if (output.active != 0) links_.begin_wait(port, now);
        if (!heap.empty()) links_.wake(worker, port, heap.front().allowed);
        return;
    }
    links_.end_wait(port, now);
    const unsigned v = ports_.choose_lane(port, eligible);
    const Packet packet = next_packet(endpoint, v);
    take_packet(endpoint, v, packet, now);
    if (lane(endpoint, v).empty()) output.active &= static_cast<std::uint16_t>(~(1u << v));
    if (packet.kind() == Packet::data && pairs_[packet.flow].listed) list(endpoint, packet.flow, now);
    ports_.charge_lane(port, packet.wire);
    if (!ports_.failed.empty() && ports_.failed[port] != 0) {
        output.busy_until = now + plant_.serialise(port, packet.wire);
        links_.lose(worker, packet, now);
    } else {
        links_.take_credits(port, packet);
        links_.transmit(worker, port, packet, now);
    }
    wake_when_free(worker, endpoint);
}

// An earlier wake that is under way may have kept that of a throttled queue pair from being asked for: ask again.
template <class Program>
void Hosts<Program>::wake_when_free(Worker& worker, Endpoint endpoint) {
    const Port port = plant_.endpoint[endpoint].port;
    const Output& output = ports_.out[port];
    const auto& heap = throttled_[endpoint];
    if (output.active != 0)
        links_.wake(worker, port, output.busy_until);
    else if (!heap.empty())
        links_.wake(worker, port, std::max(output.busy_until, heap.front().allowed));
}

template <class Program>
void Hosts<Program>::answer(Worker& worker, Endpoint endpoint, const Packet& to, Packet::Kind kind, std::uint8_t flags,
                            std::int64_t now) {
    Packet packet{};
    packet.op = to.op;
    packet.flow = to.flow;
    packet.dlid = to.slid;
    packet.slid = to.dlid;
    packet.wire = static_cast<std::uint16_t>(kind == Packet::ack ? ack_bytes : cnp_bytes);
    packet.lane = plant_.lane(endpoint, to.slid, program_.sl(to.op));
    packet.bits = static_cast<std::uint8_t>(kind | flags);
    packet.set_epoch(to.epoch());
    lane(endpoint, packet.lane).control.push_back(packet);
    ports_.out[plant_.endpoint[endpoint].port].active |= static_cast<std::uint16_t>(1u << packet.lane);
    try_send(worker, endpoint, now);
}

template <class Program>
void Hosts<Program>::receive(Worker& worker, Endpoint endpoint, const Packet& packet, std::int64_t now) {
    links_.release(worker, plant_.endpoint[endpoint].port, packet, 0, now);
    if (packet.kind() == Packet::data) {
        if (reliable_ && !is_in_order(worker, endpoint, packet, now)) return;
        ++worker.packets;
        worker.bytes += packet.payload();
        program_.delivered(packet.flow, packet.payload(), Time{now});
        if (packet.has(Packet::fecn)) {
            ++notified_[endpoint].fecn;
            if (control_.notify == Notify::cnp)
                answer(worker, endpoint, packet, Packet::cnp, Packet::becn, now);
            else
                owes_becn_[packet.flow] = 1;
        }
        if (arrived_.empty()) {
            if (packet.has(Packet::last)) message_complete(worker, endpoint, packet, now);
            return;
        }
        const std::uint64_t bytes = program_.amount(packet.op);
        const std::uint64_t packets =
            std::max<std::uint64_t>(1, (bytes + plant_.options->mtu - 1) / plant_.options->mtu);
        if (++arrived_[packet.op] != packets) return;
        if constexpr (Program::live) arrived_[packet.op] = 0;
        message_complete(worker, endpoint, packet, now);
        return;
    }
    if (packet.has(Packet::becn)) {
        ++notified_[endpoint].becn;
        throttle(endpoint, packet.flow, packet.op, now);
    }
    if (packet.kind() == Packet::ack && (!reliable_ || is_next_ack(worker, packet, now))) {
        Callbacks calls{*this, worker, endpoint};
        program_.send_done(program_.flow_from(packet.flow), packet.op, Time{now}, calls);
    }
}

// One that has overtaken another would be an acknowledgement of both; here the sender asks again some time.
template <class Program>
bool Hosts<Program>::is_next_ack(Worker& worker, const Packet& packet, std::int64_t now) {
    Sending& sending = sending_[packet.flow];
    if (packet.epoch() != sending.epoch) return false;
    if (packet.op != sending.oldest) {
        links_.lose(worker, packet, now);
        return false;
    }
    sending.retries = 0;
    sending.oldest = next_message_[packet.op];
    return true;
}

template <class Program>
void Hosts<Program>::begin_epoch(Worker& worker, const Packet& packet, std::int64_t now) {
    Receiving& to = receiving_[packet.flow];
    if (to.got != 0 && to.next == to.expected) {  // counted, and comes again
        program_.delivered(packet.flow, std::uint64_t{0} - to.got, Time{now});
        worker.bytes -= to.got;
    }
    to = {.expected = to.expected, .epoch = packet.epoch()};
}

// A message's number may be looked up as long as packets of this epoch count: its sender keeps it until then.
template <class Program>
bool Hosts<Program>::is_in_order(Worker& worker, Endpoint endpoint, const Packet& packet, std::int64_t now) {
    Receiving& to = receiving_[packet.flow];
    const unsigned newer = (packet.epoch() - to.epoch) % 8u;
    if (newer > 4) return false;  // from before the sender went back
    if (newer != 0) begin_epoch(worker, packet, now);
    if (to.broken) return false;
    const std::uint32_t number = sequence_[packet.op];
    if (!to.begun) to.next = number;
    to.begun = true;
    const std::uint64_t bytes = to.got + packet.payload();
    const bool last = packet.has(Packet::last);
    if (number != to.next || number > to.expected || (last && bytes != program_.amount(packet.op))) {
        to.broken = true;
        links_.lose(worker, packet, now);
        return false;
    }
    const bool again = number < to.expected;
    to.got = last ? 0 : bytes;
    if (last) ++to.next;
    if (last && again) answer(worker, endpoint, packet, Packet::ack, 0, now);
    if (last && !again) ++to.expected;
    return !again;
}

template <class Program>
void Hosts<Program>::message_complete(Worker& worker, Endpoint endpoint, const Packet& packet, std::int64_t now) {
    std::uint8_t flags = 0;
    if (!owes_becn_.empty() && owes_becn_[packet.flow] != 0) {
        owes_becn_[packet.flow] = 0;
        flags = Packet::becn;
    }
    answer(worker, endpoint, packet, Packet::ack, flags, now);
    Callbacks calls{*this, worker, endpoint};
    program_.message_arrived(program_.flow_to(packet.flow), program_.flow_from(packet.flow), packet.op, Time{now},
                             calls);
}

template <class Program>
void Hosts<Program>::deliver_locally(Worker& worker, Endpoint endpoint, OpIndex op, std::int64_t now) {
    Callbacks calls{*this, worker, endpoint};
    const FlowIndex flow = program_.flow(op);
    const Rank from = program_.flow_from(flow);
    const std::uint64_t bytes = program_.amount(op);
    worker.bytes += bytes;
    program_.delivered(flow, bytes, Time{now});
    program_.message_arrived(program_.flow_to(flow), from, op, Time{now}, calls);
    program_.send_done(from, op, Time{now}, calls);
}

template <class Program>
std::int64_t Hosts<Program>::timer_ticks(Endpoint endpoint, const HostControl& control, std::int64_t now) const {
    if (control.ccti_timer == 0) return 0;
    const std::int64_t period = control.ccti_timer * timer_unit;
    // Adapters are not started together: each has its own phase.
    const auto phase = static_cast<std::int64_t>((endpoint * 0x9e3779b97f4a7c15u) >> 33) % period;
    return (now + phase) / period;
}

// It falls by the timer of the service level that raised it last.
template <class Program>
unsigned Hosts<Program>::index_now(const Index& index, Endpoint endpoint, std::uint8_t sl, std::int64_t now) const {
    const std::int64_t fallen = timer_ticks(endpoint, control_.hosts[index.sl], now) - index.ticks;
    const std::int64_t least = control_.hosts[sl].ccti_min;
    const std::int64_t most = static_cast<std::int64_t>(control_.table.size()) - 1;
    return static_cast<unsigned>(std::min(std::max(index.value - fallen, least), most));
}

template <class Program>
void Hosts<Program>::throttle(Endpoint endpoint, FlowIndex flow, OpIndex op, std::int64_t now) {
    if (!throttling_) return;
    const std::uint8_t sl = program_.sl(op);
    const HostControl& control = control_.hosts[sl];
    Index& index = index_of(flow, endpoint, sl);
    const std::size_t last = control_.table.size() - 1;
    const std::size_t limit = control.ccti_limit == 0 ? last : std::min<std::size_t>(control.ccti_limit, last);
    index.value = static_cast<std::uint8_t>(
        std::min<std::size_t>(index_now(index, endpoint, sl, now) + control.ccti_increase, limit));
    index.sl = sl;
    index.ticks = timer_ticks(endpoint, control, now);
}

template <class Program>
unsigned Hosts<Program>::throttle_index(FlowIndex flow, std::uint8_t sl, std::int64_t now) const {
    if (!throttling_) return 0;
    const Endpoint endpoint = plant_.rank_endpoint[program_.flow_from(flow).value];
    return index_now(index_of(flow, endpoint, sl), endpoint, sl, now);
}

template class Hosts<Executor>;
template class Hosts<LiveProgram>;

}  // namespace loom::sim::packet
