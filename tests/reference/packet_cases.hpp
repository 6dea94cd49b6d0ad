// Fabrics, schedules and settings drawn at random for the packet level: small, and everything mixed.
#pragma once

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "loom/base/random.hpp"
#include "loom/routing/engine.hpp"
#include "loom/sim/simulation.hpp"
#include "reference/fabrics.hpp"

namespace loom::sim {

// Stays where it was made: its parts point at each other.
struct PacketCase {
    fabric::Fabric fabric;
    std::unique_ptr<routing::SwitchGraph> graph;
    routing::Tables tables;
    Network network;
    traffic::Schedule schedule;
    Options options;

    void route(std::string_view engine) {
        graph = std::make_unique<routing::SwitchGraph>(fabric);
        tables = routing::find_engine(engine).route(*graph, {}).tables;
        network = {graph.get(), &tables, {}};
    }
    [[nodiscard]] std::vector<PortIndex> hosts() const {
        std::vector<PortIndex> ports;
        for (const NodeId node : fabric.nodes_of(fabric::NodeKind::host))
            ports.push_back(fabric.port_index(node, PortNum{1}));
        return ports;
    }
};

inline void set_rate(fabric::Fabric& fabric, PortIndex port, fabric::LinkRate rate) {
    fabric.port(port).rate = rate;
    fabric.port(fabric.port(port).peer).rate = rate;
}

// One piece; now and then parallel cables and circles.
inline fabric::Fabric random_whole_fabric(Random& random, std::uint8_t lmc) {
    if (random.below(3) == 0)
        return reference::two_level_tree(2 + random.below(3), 1 + random.below(3), 1 + random.below(2),
                                         1 + random.below(2), lmc);
    reference::Wiring wiring;
    std::vector<NodeId> switches;
    const unsigned count = 1 + random.below(6);
    for (unsigned i = 0; i < count; ++i) switches.push_back(wiring.add_switch(fmt::format("s{}", i), 16));
    for (unsigned i = 1; i < count; ++i) wiring.join(switches[i], switches[random.below(i)]);
    for (unsigned i = random.below(2 * count); i > 0; --i) {
        const NodeId a = switches[random.below(count)], b = switches[random.below(count)];
        if (a != b) wiring.join(a, b);
    }
    for (const NodeId s : switches)
        for (unsigned i = 1 + random.below(2); i > 0; --i) wiring.add_host(s);
    wiring.add_host(switches[0]);
    wiring.fabric.assign_lids(lmc);
    return std::move(wiring.fabric);
}

inline void draw_rates(fabric::Fabric& fabric, Random& random) {
    using fabric::Speed, fabric::Width;
    constexpr fabric::LinkRate rates[] = {{Width::x1, Speed::sdr},
                                          {Width::x4, Speed::sdr},
                                          {Width::x4, Speed::ddr},
                                          {Width::x4, Speed::qdr},
                                          {Width::x4, Speed::fdr10},
                                          {Width::x4, Speed::fdr},
                                          {Width::x4, Speed::edr},
                                          {Width::x4, Speed::hdr},
                                          {Width::x4, Speed::ndr},
                                          {Width::x12, Speed::qdr},
                                          {}};
    const bool mixed = random.below(4) != 0;
    const fabric::LinkRate same = rates[random.below(std::size(rates))];
    for (std::uint32_t p = 0; p < fabric.port_count(); ++p)
        if (fabric.port(PortIndex{p}).connected() && p < fabric.port(PortIndex{p}).peer.value)
            set_rate(fabric, PortIndex{p}, mixed ? rates[random.below(std::size(rates))] : same);
}

inline traffic::Schedule draw_schedule(Random& random, std::uint32_t ranks, std::uint32_t most_bytes) {
    traffic::ScheduleBuilder builder(ranks);
    const bool wild = random.below(4) == 0;
    const bool narrow = random.below(2) == 0;
    const auto add = [&](std::uint32_t rank, const traffic::Op& op) {
        const std::uint32_t number = builder.add(Rank{rank}, op);
        for (std::uint32_t tries = random.below(3); tries > 0 && number > 0; --tries)
            builder.require(Rank{rank}, number, number - 1 - random.below(std::min(number, 4u)), random.below(3) == 0);
    };
    for (std::uint32_t message = 10 + random.below(random.below(3) == 0 ? 600 : 120); message > 0; --message) {
        const std::uint32_t from = random.below(ranks);
        const std::uint32_t to = narrow && random.below(4) != 0 ? 0 : random.below(ranks);
        traffic::Op send;
        send.kind = traffic::OpKind::send;
        send.peer = Rank{to};
        send.tag = random.below(2);
        send.amount = random.below(4) == 0 ? random.below(3) : random.below(most_bytes);
        send.sl = static_cast<std::uint8_t>(random.below(random.below(3) == 0 ? 16 : 2));
        traffic::Op receive;
        receive.kind = traffic::OpKind::receive;
        receive.peer = wild && random.below(3) == 0 ? traffic::any_rank : Rank{from};
        receive.tag = wild && random.below(3) == 0 ? traffic::any_tag : send.tag;
        receive.amount = send.amount;
        if (random.below(3) == 0) {
            traffic::Op local;
            local.kind = random.below(2) == 0 ? traffic::OpKind::compute : traffic::OpKind::reduce;
            local.amount = random.below(local.kind == traffic::OpKind::compute ? 20'000'000 : 3'000);
            local.cpu = static_cast<std::uint8_t>(random.below(2));
            add(from, local);
        }
        add(from, send);
        if (random.below(20) != 0) add(to, receive);
    }
    return builder.build();
}

inline void draw_lanes(PacketOptions& o, Random& random) {
    const unsigned lanes = 1 + random.below(4);
    for (std::uint8_t& lane : o.sl_to_vl) lane = static_cast<std::uint8_t>(random.below(lanes));
    o.lanes = random.below(2) == 0 ? 0 : std::max<unsigned>(4, lanes);
    if (random.below(3) == 0) return;
    // Every lane in one table at least, some several times, some without weight.
    const auto entry = [&](unsigned lane) {
        return LaneWeight{static_cast<std::uint8_t>(lane), static_cast<std::uint8_t>(1 + random.below(40))};
    };
    for (unsigned v = 0; v < max_lanes; ++v) {
        (random.below(3) == 0 ? o.arbitration.high : o.arbitration.low).push_back(entry(v));
        if (random.below(4) == 0) o.arbitration.low.push_back(entry(v));
        if (random.below(5) == 0) o.arbitration.high.push_back({static_cast<std::uint8_t>(v), 0});
    }
    o.arbitration.high_limit = random.below(2) == 0 ? 255 : static_cast<std::uint8_t>(random.below(3));
}

inline void draw_control(CongestionControl& c, Random& random) {
    c.switches.threshold = static_cast<std::uint8_t>(1 + random.below(15));
    c.switches.marking_rate = static_cast<std::uint16_t>(random.below(random.below(4) == 0 ? 2049 : 4));
    c.switches.packet_size = static_cast<std::uint8_t>(random.below(8));
    c.switches.victim_mask = random.below(2) == 0;
    for (HostControl& host : c.hosts) {
        host.ccti_timer = static_cast<std::uint16_t>(random.below(12));
        host.ccti_increase = static_cast<std::uint8_t>(1 + random.below(3));
        host.ccti_limit = static_cast<std::uint8_t>(random.below(20));
        host.ccti_min = static_cast<std::uint8_t>(random.below(4) == 0 ? random.below(3) : 0);
    }
    if (random.below(6) != 0)
        for (unsigned i = 0; i < 16; ++i) c.table.push_back(i * (0.3 + random.unit()));
    c.jitter = random.below(3) == 0 ? 0 : random.unit();
    c.notify = random.below(2) == 0 ? Notify::cnp : Notify::ack;
    c.scope = random.below(2) == 0 ? ControlScope::queue_pair : ControlScope::service_level;
}

inline std::unique_ptr<PacketCase> draw_case(std::uint64_t seed) {
    Random random(seed);
    auto made = std::make_unique<PacketCase>();
    const auto lmc = static_cast<std::uint8_t>(random.below(3) == 0 ? 1 + random.below(2) : 0);
    const bool torus = random.below(4) == 0;
    made->fabric = torus ? reference::torus(4 + random.below(3), 1 + random.below(2), 1 + random.below(2))
                         : random_whole_fabric(random, lmc);
    draw_rates(made->fabric, random);
    constexpr std::string_view engines[] = {"minhop", "updn", "dfsssp", "sssp", "random"};
    made->route(engines[torus ? 2 * random.below(2) : random.below(std::size(engines))]);

    const std::vector<PortIndex> hosts = made->hosts();
    const std::uint32_t ranks = 2 + random.below(static_cast<std::uint32_t>(2 * hosts.size()));
    for (std::uint32_t r = 0; r < ranks; ++r)
        made->network.placement.hosts.push_back(hosts[random.below(static_cast<std::uint32_t>(hosts.size()))]);

    PacketOptions& o = made->options.packet;
    o.mtu = 256u << random.below(5);
    o.buffer_bytes = 2 * (o.mtu + 64) + random.below(random.below(3) == 0 ? 64 * o.mtu : 6 * o.mtu);
    constexpr std::int64_t delays[] = {0, 1'000, 5'000, 50'000, 100'000, 777'777};
    o.cable_delay = Time{delays[random.below(std::size(delays))]};
    if (random.below(8) == 0) o.cable_delay = microseconds(300);
    o.switch_delay = Time{delays[1 + random.below(std::size(delays) - 1)]};
    o.host_delay = Time{delays[1 + random.below(std::size(delays) - 1)]};
    o.use_table_lanes = random.below(5) != 0;
    draw_lanes(o, random);
    if (o.lanes != 0) o.lanes = std::max(o.lanes, made->tables.lane_count());
    if (random.below(2) == 0) draw_control(o.congestion, random);
    if (random.below(2) == 0) o.lids = LidChoice::spread;
    if (random.below(3) == 0) o.host_turns = HostTurns::message;
    made->options.seed = seed;
    if (random.below(8) == 0) o.flow_control = FlowControl::infinite;
    if (random.below(4) == 0)
        o.paths = PathChoice::adaptive;
    else if (random.below(4) == 0)  // the two together are refused
        o.buffer_use = BufferUse::per_output;
    if (random.below(2) == 0) o.counter_tick = Time{1 + random.below(100'000)};
    if (random.below(2) == 0)
        made->options.local = {random.below(1'000), random.below(1'000), nanoseconds(random.below(50))};
    made->schedule = draw_schedule(random, ranks, 1 + o.mtu * (1 + random.below(12)));
    return made;
}

}  // namespace loom::sim
