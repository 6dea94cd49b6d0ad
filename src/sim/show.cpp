#include "loom/sim/show.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "loom/base/csv.hpp"
#include "loom/base/plot.hpp"

namespace loom::sim {
namespace {

constexpr std::size_t most_lines = 8;  // in one picture

double rate(std::uint64_t before, std::uint64_t now, Time span, double bits) {
    return span.ps <= 0 ? 0 : static_cast<double>(now - before) * bits * 1'000 / static_cast<double>(span.ps);
}

double wait_share(Time counter_tick, const fabric::PortCounters& before, const fabric::PortCounters& now, Time span) {
    if (span.ps <= 0) return 0;
    return static_cast<double>(now.xmit_wait - before.xmit_wait) * static_cast<double>(counter_tick.ps) /
           static_cast<double>(span.ps);
}

std::string port_name(const Setup& setup, PortIndex port) {
    const fabric::Port& p = setup.fabric.port(port);
    return fabric::describe(setup.fabric, p.node, p.number);
}

// Empty without a fabric, or without a place on it.
std::string host_name(const Setup& setup, Rank rank) {
    if (setup.graph == nullptr || setup.placement.hosts[rank.value] == no_port) return {};
    return fabric::describe(setup.fabric, setup.fabric.port(setup.placement.hosts[rank.value]).node);
}

template <class Value>
std::vector<std::pair<double, double>> points(const Recording& recording, Value&& value) {
    std::vector<std::pair<double, double>> result;
    for (std::size_t k = 1; k < recording.times.size(); ++k)
        result.emplace_back(recording.times[k].seconds(), value(k, recording.times[k] - recording.times[k - 1]));
    return result;
}

// Seconds, or thousandths and millionths of them where those are what the axis shows.
struct Unit {
    const char* name;
    double per_second;
};
Unit unit_of(const Recording& recording) {
    const double end = recording.end.seconds();
    if (end >= 1) return {"s", 1};
    return end >= 1e-3 ? Unit{"ms", 1e3} : Unit{"us", 1e6};
}

Svg plot(const Setup& setup, const Recording& recording, const std::string& what, const char* y_label,
         std::vector<Series> series) {
    const Unit unit = unit_of(recording);
    for (Series& one : series)
        for (auto& point : one.points) point.first *= unit.per_second;
    const std::string title = setup.title.empty() ? what : fmt::format("{}: {}", setup.title, what);
    return line_plot({.title = title, .x_label = fmt::format("time in {}", unit.name), .y_label = y_label}, series);
}

}  // namespace

std::string flows_csv(const Setup& setup, const Recording& recording) {
    std::string text = "time_s,flow,from,to,from_host,to_host,delivered_bytes,gbit_per_s\n";
    std::vector<std::string> names;
    for (std::size_t f = 0; f < recording.delivered.size(); ++f) {
        const Flow& flow = recording.flows[f];
        names.push_back(fmt::format("{},{},{},{},{}", csv_field(setup.flow_name(f, flow)), flow.from.value,
                                    flow.to.value, csv_field(host_name(setup, flow.from)),
                                    csv_field(host_name(setup, flow.to))));
    }
    for (std::size_t k = 0; k < recording.times.size(); ++k)
        for (std::size_t f = 0; f < names.size(); ++f) {
            const auto& delivered = recording.delivered[f];
            const double gigabit =
                k == 0 ? 0 : rate(delivered[k - 1], delivered[k], recording.times[k] - recording.times[k - 1], 8);
            fmt::format_to(std::back_inserter(text), "{:.9f},{},{},{:.6f}\n", recording.times[k].seconds(), names[f],
                           delivered[k], gigabit);
        }
    return text;
}

std::string ports_csv(const Setup& setup, const Recording& recording) {
    std::string text =
        "time_s,port,xmit_data,rcv_data,xmit_pkts,rcv_pkts,xmit_wait,xmit_cong_time,marked_fecn,rcv_fecn,rcv_becn,"
        "xmit_gbit_per_s,wait_share\n";
    for (std::size_t k = 0; k < recording.times.size(); ++k)
        for (std::size_t p = 0; p < recording.ports.size(); ++p) {
            const fabric::PortCounters& now = recording.counters[p][k];
            const fabric::PortCounters& before = recording.counters[p][k == 0 ? 0 : k - 1];
            const Time span = k == 0 ? Time{} : recording.times[k] - recording.times[k - 1];
            fmt::format_to(std::back_inserter(text), "{:.9f},{},{},{},{},{},{},{},{},{},{},{:.6f},{:.4f}\n",
                           recording.times[k].seconds(), csv_field(port_name(setup, recording.ports[p])), now.xmit_data,
                           now.rcv_data, now.xmit_pkts, now.rcv_pkts, now.xmit_wait, now.xmit_cong_time,
                           now.marked_fecn, now.rcv_fecn, now.rcv_becn, rate(before.xmit_data, now.xmit_data, span, 32),
                           wait_share(setup.options.packet.counter_tick, before, now, span));
        }
    return text;
}

Svg flows_plot(const Setup& setup, const Recording& recording) {
    std::vector<Series> series;
    const auto add = [&](std::string name, const std::vector<std::uint64_t>& delivered) {
        series.push_back({std::move(name), points(recording, [&](std::size_t k, Time span) {
                              return rate(delivered[k - 1], delivered[k], span, 8);
                          })});
    };
    if (recording.flows.size() <= most_lines)
        for (std::size_t f = 0; f < recording.delivered.size(); ++f)
            add(setup.flow_name(f, recording.flows[f]), recording.delivered[f]);
    else
        add("all flows", recording.total);
    return plot(setup, recording, "throughput", "Gbit/s", std::move(series));
}

Svg ports_plot(const Setup& setup, const Recording& recording) {
    std::vector<Series> series;
    for (std::size_t p = 0; p < std::min(recording.ports.size(), most_lines); ++p)
        series.push_back({port_name(setup, recording.ports[p]), points(recording, [&](std::size_t k, Time span) {
                              return rate(recording.counters[p][k - 1].xmit_data, recording.counters[p][k].xmit_data,
                                          span, 32);
                          })});
    return plot(setup, recording, "what ports send", "Gbit/s", std::move(series));
}

Svg waits_plot(const Setup& setup, const Recording& recording) {
    std::vector<Series> series;
    for (std::size_t p = 0; p < std::min(recording.ports.size(), most_lines); ++p)
        series.push_back({port_name(setup, recording.ports[p]), points(recording, [&](std::size_t k, Time span) {
                              return wait_share(setup.options.packet.counter_tick, recording.counters[p][k - 1],
                                                recording.counters[p][k], span);
                          })});
    return plot(setup, recording, "share of time in which ports wait", "share", std::move(series));
}

std::vector<std::size_t> slowest_flows(const Recording& recording, std::size_t most) {
    std::vector<std::pair<double, std::size_t>> rates;
    for (std::size_t f = 0; f < recording.flows.size(); ++f)
        if (recording.flows[f].begun != never && recording.flows[f].bytes != 0)
            rates.emplace_back(gigabits(recording.flows[f], recording.end), f);
    most = std::min(most, rates.size());
    std::partial_sort(rates.begin(), rates.begin() + static_cast<std::ptrdiff_t>(most), rates.end());
    std::vector<std::size_t> result;
    for (std::size_t i = 0; i < most; ++i) result.push_back(rates[i].second);
    return result;
}

std::vector<PortLoad> hottest_ports(const Setup& setup, const Simulation& simulation, std::size_t most) {
    return hottest_ports(setup.fabric, simulation, setup.options.packet.counter_tick, most);
}

std::vector<PortLoad> hottest_ports(const fabric::Fabric& fabric, const Simulation& simulation, Time counter_tick,
                                    std::size_t most) {
    std::vector<PortLoad> loads;
    const Time now = simulation.now();
    if (simulation.level() == Level::message || now.ps <= 0) return loads;
    for (std::uint32_t i = 0; i < fabric.port_count(); ++i) {
        const fabric::Port& port = fabric.port(PortIndex{i});
        if (!port.connected()) continue;
        PortLoad load{PortIndex{i}, simulation.counters(PortIndex{i}), 0, 0};
        if (load.counters.xmit_data == 0 && load.counters.xmit_wait == 0) continue;
        const double megabits = port.rate.megabits() == 0 ? 32'000 : port.rate.megabits();
        load.used = rate(0, load.counters.xmit_data, now, 32) / (megabits * 1e-3);
        load.waited = wait_share(counter_tick, {}, load.counters, now);
        loads.push_back(load);
    }
    std::stable_sort(loads.begin(), loads.end(), [](const PortLoad& a, const PortLoad& b) {
        return a.used != b.used ? a.used > b.used : a.waited > b.waited;
    });
    if (loads.size() > most) loads.resize(most);
    return loads;
}

}  // namespace loom::sim
