#include "reproduce/testbed.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace loom::reproduce {

namespace {

constexpr double message_bytes = 128 * 1024 * 1024.0;
constexpr unsigned table_entries = 6;  // calibrated on row 75-0 of Experiment I, and on nothing else

}  // namespace

Time scaled_down(double seconds) {
    return loom::seconds(seconds / testbed_scale);
}
double paper_seconds(Time time) {
    return time.seconds() * testbed_scale;
}

Testbed::Testbed(const Parts& parts, std::array<Start, 4> starts, double gigabits) {
    using fabric::NodeKind;
    const fabric::LinkRate sdr{fabric::Width::x4, fabric::Speed::sdr};
    const fabric::LinkRate qdr{fabric::Width::x4, fabric::Speed::qdr};
    const NodeId s1 = fabric.add_node(NodeKind::switch_, 24, "S1");
    const NodeId s2 = fabric.add_node(NodeKind::switch_, 24, "S2");
    const auto host = [&](const char* name, NodeId at, unsigned port) {
        const NodeId node = fabric.add_node(NodeKind::host, 1, name);
        fabric.connect(node, PortNum{1}, at, PortNum{static_cast<std::uint8_t>(port)}, sdr);
        return fabric.port_index(node, PortNum{1});
    };
    const PortIndex a = host("A", s1, 12), x = host("X", s1, 11);
    const PortIndex b = host("B", s2, 1), c = host("C", s2, 2), d = host("D", s2, 23), y = host("Y", s2, 24);
    fabric.connect(s1, PortNum{15}, s2, PortNum{20}, qdr);
    fabric.assign_lids();
    between = fabric.port_index(s1, PortNum{15});
    root = fabric.port_index(s2, PortNum{23});
    graph = std::make_unique<routing::SwitchGraph>(fabric);
    tables = parts.route("minhop", *graph, {}).tables;

    // A pair of ranks for each flow: rank 2i sends, rank 2i + 1 receives.
    placement.hosts = {x, y, a, d, b, d, c, d};
    traffic::ScheduleBuilder builder(placement.ranks());
    const auto message = static_cast<std::uint64_t>(message_bytes / testbed_scale) / 4096 * 4096;  // whole packets
    const auto total = static_cast<std::uint64_t>(gigabits * 1e9 / 8 / testbed_scale);
    for (std::uint32_t flow = 0; flow < starts.size(); ++flow) {
        if (!starts[flow].sends) continue;
        const Rank from{2 * flow}, to{2 * flow + 1};
        const std::uint32_t begin = builder.compute(from, scaled_down(starts[flow].seconds));
        std::array<std::uint32_t, 2> before{begin, begin};
        for (std::uint64_t sent = 0, i = 0; sent < total; ++i) {
            const std::uint64_t bytes = std::min(message, total - sent);
            const std::uint32_t send = builder.send(from, to, bytes);
            builder.require(from, send, before[i % 2]);
            before[i % 2] = send;
            builder.receive(to, from, bytes);
            sent += bytes;
        }
    }
    schedule = builder.build();
}

sim::Options testbed_options(std::uint16_t ccti_timer, std::uint16_t marking_rate) {
    sim::Options options;
    sim::CongestionControl& control = options.packet.congestion;
    control.switches.threshold = 15;
    control.switches.marking_rate = marking_rate;
    control.table = sim::halving_table(table_entries);
    for (sim::HostControl& host : control.hosts) {
        host.ccti_timer = ccti_timer;
        host.ccti_increase = 1;
    }
    return options;
}

manager::Settings testbed_settings(std::uint32_t intervals) {
    constexpr double words = 0.1 * 8e9 / 32 * testbed_sweep;
    manager::Settings settings = manager::paper_settings();
    settings.sweep = scaled_down(testbed_sweep);
    settings.congestion = 8'000'000 / testbed_scale;
    settings.wait = 27'400'000 / testbed_scale;
    settings.data = static_cast<std::uint64_t>(words / testbed_scale);
    settings.intervals = intervals;
    settings.low = 0;
    settings.normal = 128;
    return settings;
}

double rate(const sim::Recording& recording, std::size_t flow, std::size_t from, std::size_t to) {
    const auto& delivered = recording.delivered.at(flow);
    const double seconds = (recording.times.at(to) - recording.times.at(from)).seconds();
    return seconds > 0 ? static_cast<double>(delivered.at(to) - delivered.at(from)) * 8e-9 / seconds : 0;
}

std::size_t sample_at(const sim::Recording& recording, Time time) {
    const auto found = std::lower_bound(recording.times.begin(), recording.times.end(), time);
    return std::min<std::size_t>(static_cast<std::size_t>(found - recording.times.begin()), recording.times.size() - 1);
}

std::vector<std::string> testbed_remarks() {
    return {
        fmt::format("scaled down by {}: volumes, start times, sweep and counter thresholds; not T_I, which counts "
                    "sweeps, nor CCTI_Timer. Times are shown in the paper's seconds",
                    testbed_scale),
        "the paper contradicts itself about a flow's volume: Experiment I's durations imply 318 Gbit, Experiment II's "
        "150 Gbit (140 messages of 128 MiB); each experiment is played with its own",
        fmt::format(
            "the contents of the congestion control table are not in the paper. In ours each index halves a "
            "flow's rate; how many indices there are, {}, was calibrated on row 75-0 of Experiment I alone (5 "
            "give 3.5 Gbit/s there, 7 give 3.1). That indices halve, and which packets count as congestion, was "
            "chosen with this experiment in view: equal steps keep the three timers further apart",
            table_entries),
        "messages are whole packets; with a short one at the end of each, X-Y is marked now and then and loses 3 to "
        "11 % at marking rate 0",
        "not in the paper either, and not calibrated: injection delays are longer or shorter by up to 1/16 at random, "
        "so that adapters do not keep step. Rows 150-0 and 300-0 of Experiment I hang on it: 75-0, 150-0 and 300-0 "
        "give 3.2, 2.7 and 2.2 Gbit/s with 1/16; 3.1, 2.4 and 1.8 with 1/8; 3.2, 2.8 and 2.5 with 1/32; without it "
        "the flows lock in phase: 4.9, 4.8 and 4.3",
        "the printed CCTI_Limit of 0 would forbid all throttling; the limit here is the table's last entry",
        "not in the paper, and the simulator's defaults here: MTU 2048, 32 KiB for each input, 50 ns a cable, 100 ns a "
        "switch, 200 ns a host. How a switch recognises congestion is left to its maker, too: here packets of "
        "contending inputs that wait (docs/sim.md)",
    };
}

}  // namespace loom::reproduce
