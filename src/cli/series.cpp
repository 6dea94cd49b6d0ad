#include "cli/series.hpp"

#include <fmt/format.h>

#include "cli/options.hpp"
#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/sim/scenario.hpp"
#include "loom/sim/show.hpp"

namespace loom::cli {
namespace {

std::vector<PortIndex> watched(const sim::Setup& setup, const SeriesFiles& files) {
    constexpr std::size_t few = 64;
    if (setup.level == sim::Level::message && !(files.csv_ports.empty() && files.plot_ports.empty()))
        throw UsageError("--csv-ports and --plot-ports: level message has no ports");
    if (!setup.watch.empty() || (files.csv_ports.empty() && files.plot_ports.empty())) return setup.watch;
    std::vector<PortIndex> ports;
    for (std::uint32_t i = 0; i < setup.fabric.port_count(); ++i) {
        const fabric::Port& port = setup.fabric.port(PortIndex{i});
        if (port.connected() && setup.fabric.node(port.node).kind == fabric::NodeKind::switch_) ports.emplace_back(i);
    }
    if (ports.empty()) throw UsageError("no switch of the fabric has a cabled port to watch");
    if (ports.size() > few)
        throw UsageError(
            fmt::format("the switches have {} ports; expected --watch NODE:PORT for those of interest", ports.size()));
    return ports;
}

}  // namespace

bool SeriesFiles::any_file() const {
    return !csv_flows.empty() || !csv_ports.empty() || !plot.empty() || !plot_ports.empty();
}

bool SeriesFiles::on_stdout() const {
    return csv_flows == "-" || csv_ports == "-" || plot == "-" || plot_ports == "-";
}

void add_series_options(CLI::App& app, SeriesFiles& files, const char* group) {
    app.add_option("--watch", files.watch, "Sample this port's counters; a host's name may be its first word")
        ->type_name("NODE:PORT")
        ->group(group)
        ->allow_extra_args(false);
    const auto output = [&](const char* name, std::string& value, const char* help, const char* type) {
        app.add_option(name, value, help)->type_name(type)->group(group);
    };
    output("--csv-flows", files.csv_flows, "Write what each flow delivered, sample by sample", "FILE.csv");
    output("--csv-ports", files.csv_ports, "Write the watched ports' counters, sample by sample", "FILE.csv");
    output("--plot", files.plot, "Draw the flows' throughput over time", "FILE.svg");
    output("--plot-ports", files.plot_ports, "Draw what the watched ports send over time", "FILE.svg");
}

void check_series(const SeriesFiles& files, const Common& common) {
    check_outputs({{"--csv-flows", files.csv_flows},
                   {"--csv-ports", files.csv_ports},
                   {"--plot", files.plot},
                   {"--plot-ports", files.plot_ports}},
                  common);
    check_ending({"--csv-flows", files.csv_flows}, "a table of numbers", {".csv"});
    check_ending({"--csv-ports", files.csv_ports}, "a table of numbers", {".csv"});
    check_ending({"--plot", files.plot}, "an SVG picture", {".svg"});
    check_ending({"--plot-ports", files.plot_ports}, "an SVG picture", {".svg"});
}

void watch_ports(sim::Scenario& scenario, const SeriesFiles& files) {
    for (const std::string& port : files.watch) sim::take_line(scenario, "watch \"" + port + '"', {"--watch", 0});
}

sim::RecordOptions record_options(const sim::Setup& setup, const SeriesFiles& files) {
    sim::RecordOptions how;
    how.ports = watched(setup, files);
    if (!files.csv_flows.empty()) how.flows = SIZE_MAX;
    how.sample = setup.sample;
    if (!how.sample && !files.any_file()) how.sample = Time{};
    return how;
}

void write_series(const sim::Setup& setup, const sim::Recording& recording, const SeriesFiles& files) {
    if (!files.csv_flows.empty()) write_file(files.csv_flows, sim::flows_csv(setup, recording));
    if (!files.csv_ports.empty()) write_file(files.csv_ports, sim::ports_csv(setup, recording));
    if (!files.plot.empty()) write_file(files.plot, sim::flows_plot(setup, recording).document());
    if (!files.plot_ports.empty()) write_file(files.plot_ports, sim::ports_plot(setup, recording).document());
}

}  // namespace loom::cli
