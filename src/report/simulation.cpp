#include "loom/report/simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "loom/base/svg.hpp"
#include "loom/base/table.hpp"
#include "report/html.hpp"

namespace loom::report {
namespace {

constexpr std::size_t most_rows = 100;
constexpr std::size_t most_sufferers = 10;
constexpr std::size_t most_decisions = 500;
constexpr double worth_showing = 0.001;  // of a port: acknowledgements alone are less

std::string_view level_words(sim::Level level) {
    switch (level) {
        case sim::Level::packet:
            return "every packet, credit and mark";
        case sim::Level::flow:
            return "fair rates on the routed links; buffers and credits are not seen";
        case sim::Level::message:
            return "LogGOPS, without the fabric";
    }
    return "";
}

std::string ending(const sim::Recording& r) {
    switch (r.state) {
        case sim::State::finished:
            return "finished after " + to_string(r.finish());
        case sim::State::running:
            return "was stopped at " + to_string(r.end);
        case sim::State::deadlocked:
            return "deadlocked after " + to_string(r.end);
        case sim::State::stuck:
            return "was stuck after " + to_string(r.end);
    }
    return {};
}

std::string time_text(Time time) {
    return time == never ? "-" : to_string(time);
}

std::vector<std::size_t> shown_flows(const sim::Recording& r) {
    if (r.flows.size() > most_rows) return sim::slowest_flows(r, most_rows);
    std::vector<std::size_t> shown(r.flows.size());
    std::iota(shown.begin(), shown.end(), std::size_t{0});
    return shown;
}

std::string flows_heading(const sim::Recording& r, std::size_t shown) {
    return shown < r.flows.size() ? fmt::format("<h3>The slowest {} of {} flows</h3>\n", shown, grouped(r.flows.size()))
                                  : std::string("<h3>Flows</h3>\n");
}

std::string flow_table(const sim::Setup& setup, const sim::Recording& r) {
    const std::vector<std::size_t> shown = shown_flows(r);
    HtmlTable table;
    table.column("flow")
        .column("delivered", Cells::right)
        .column("begun", Cells::right)
        .column("ended", Cells::right)
        .column("Gbit/s", Cells::numbers);
    for (const std::size_t i : shown) {
        const sim::Flow& flow = r.flows[i];
        table.row({setup.flow_name(i, flow), human_bytes(flow.delivered), time_text(flow.begun), time_text(flow.ended),
                   fmt::format("{:.3f}", sim::gigabits(flow, r.end))});
    }
    return flows_heading(r, shown.size()) + table.html();
}

std::string port_table(const sim::Setup& setup, std::span<const sim::PortLoad> hottest) {
    HtmlTable table;
    table.column("port")
        .column("rate", Cells::right)
        .column("sent", Cells::right)
        .column("used %", Cells::numbers)
        .column("waited %", Cells::numbers)
        .column("marked", Cells::numbers);
    for (const sim::PortLoad& load : hottest) {
        if (load.used < worth_showing && load.waited < worth_showing) continue;
        const fabric::Port& port = setup.fabric.port(load.port);
        table.row({fabric::describe(setup.fabric, port.node, port.number), to_string(port.rate),
                   human_bytes(load.counters.xmit_data * 4), fmt::format("{:.1f}", 100 * load.used),
                   fmt::format("{:.1f}", 100 * load.waited), grouped(load.counters.marked_fecn)});
    }
    return "<h3>Hottest ports</h3>\n" + table.html();
}

std::string suffering(const sim::Setup& setup, const sim::Recording& r, std::span<const sim::Sufferer> sufferers) {
    if (r.level != sim::Level::packet || setup.flow_names.empty()) return {};
    if (sufferers.empty()) return "<p class=\"good\">Every flow had at least 0.8 of its fair share.</p>\n";
    const bool intended =
        std::ranges::all_of(sufferers, [](const sim::Sufferer& one) { return one.cause == sim::Cause::throttled; });
    std::vector<std::string> sentences;
    for (const sim::Sufferer& one : sufferers.first(std::min(sufferers.size(), most_sufferers)))
        sentences.push_back(describe(one, setup, r));
    if (sufferers.size() > most_sufferers)
        sentences.push_back(fmt::format("and {} more", grouped(sufferers.size() - most_sufferers)));
    return fmt::format("<p>{} of {} flows had less than 0.8 of a fair share of the links on their way:</p>\n",
                       grouped(sufferers.size()), grouped(r.flows.size())) +
           bullet_list(sentences, intended ? "note" : "bad");
}

std::string decision_list(const sim::Setup& setup, const Managed& managed) {
    if (managed.decisions.empty()) return "<p>Nothing was decided: no port was found congested.</p>\n";
    const std::size_t shown = std::min(managed.decisions.size(), most_decisions);
    HtmlTable table;
    table.column("time", Cells::right).column("decision");
    for (const manager::Decision& decision : managed.decisions.first(shown))
        table.row({to_string(decision.time), action_of(decision, setup.fabric, managed.settings)});
    return (shown < managed.decisions.size()
                ? fmt::format("<h3>The first {} of {} decisions</h3>\n", shown, grouped(managed.decisions.size()))
                : std::string("<h3>Decisions</h3>\n")) +
           table.html();
}

std::string both_table(const sim::Setup& setup, const sim::Recording& alone, const sim::Recording& managed) {
    const std::vector<std::size_t> shown = shown_flows(alone);
    HtmlTable table;
    table.column("flow")
        .column("Gbit/s without", Cells::numbers)
        .column("with the manager", Cells::numbers)
        .column("change %", Cells::numbers)
        .column("ended without", Cells::right)
        .column("with the manager", Cells::right);
    for (const std::size_t i : shown) {
        const double before = sim::gigabits(alone.flows[i], alone.end),
                     after = sim::gigabits(managed.flows[i], managed.end);
        table.row({setup.flow_name(i, alone.flows[i]), fmt::format("{:.3f}", before), fmt::format("{:.3f}", after),
                   before > 0 ? fmt::format("{:+.0f}", 100 * (after / before - 1)) : "",
                   time_text(alone.flows[i].ended), time_text(managed.flows[i].ended)});
    }
    return flows_heading(alone, shown.size()) + table.html();
}

}  // namespace

Section simulation_section(const Played& played) {
    const sim::Setup& setup = played.setup;
    const sim::Recording& r = played.recording;
    Section section;
    section.place = Section::Place::first;
    section.heading = setup.title.empty() ? "Simulation" : "Simulation: " + setup.title;
    section.html = fmt::format("<p>Level <b>{}</b> ({}): {}. The simulation {}.</p>\n", to_string(r.level),
                               level_words(r.level), escaped(setup.traffic), ending(r));
    if (!r.trouble.empty()) section.html += bullet_list(r.trouble, "bad");
    section.html += suffering(setup, r, played.sufferers);
    if (r.times.size() > 1) {
        section.html += "<div class=\"pair\">\n" + figure(sim::flows_plot(setup, r), "Payload that arrived.");
        if (!r.ports.empty()) {
            section.html += figure(sim::ports_plot(setup, r), "What the watched ports sent.");
            section.html += figure(sim::waits_plot(setup, r), "Had data and could not send it.");
        }
        section.html += "</div>\n";
    }
    if (!r.flows.empty()) section.html += flow_table(setup, r);
    if (!played.hottest.empty()) section.html += port_table(setup, played.hottest);
    return section;
}

Section management_section(const Played& alone, const Managed& managed) {
    const sim::Setup& setup = alone.setup;
    Section section;
    section.place = Section::Place::first;
    section.heading = "The same with a congestion manager";
    section.html = fmt::format(
        "<p>Policy <b>{}</b>, a sweep every {}: {} sweeps, {} congested ports lowered, {} restored, {} left alone. The "
        "simulation {}.</p>\n",
        to_string(managed.settings.policy), to_string(managed.settings.sweep), grouped(managed.work.sweeps),
        grouped(managed.work.lowered), grouped(managed.work.restored), grouped(managed.work.left),
        ending(managed.recording));
    if (!managed.recording.trouble.empty()) section.html += bullet_list(managed.recording.trouble, "bad");
    section.html += suffering(setup, managed.recording, managed.sufferers);
    if (alone.recording.times.size() > 1 && managed.recording.times.size() > 1)
        section.html += "<div class=\"pair\">\n" + figure(sim::flows_plot(setup, alone.recording), "Without.") +
                        figure(sim::flows_plot(setup, managed.recording), "With the manager.") + "</div>\n";
    section.html += both_table(setup, alone.recording, managed.recording);
    section.html += decision_list(setup, managed);
    return section;
}

}  // namespace loom::report
