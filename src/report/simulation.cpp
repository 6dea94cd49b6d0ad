#include "loom/report/simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "loom/base/svg.hpp"
#include "loom/base/table.hpp"

namespace loom::report {
namespace {

constexpr std::size_t most_rows = 100;

std::string escaped(const std::string& text) {
    return Svg::escaped(text);
}

std::string figure(const Svg& picture, const char* caption) {
    return fmt::format("<figure>{}<figcaption>{}</figcaption></figure>\n", picture.fragment(), caption);
}

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

std::string flow_table(const sim::Setup& setup, const sim::Recording& r) {
    std::vector<std::size_t> shown(r.flows.size());
    std::iota(shown.begin(), shown.end(), std::size_t{0});
    if (shown.size() > most_rows) shown = sim::slowest_flows(r, most_rows);
    std::string out = shown.size() < r.flows.size()
                          ? fmt::format("<h3>The slowest {} of {} flows</h3>\n", shown.size(), grouped(r.flows.size()))
                          : std::string("<h3>Flows</h3>\n");
    out +=
        "<div class=\"scroll\"><table><thead><tr><th data-sort=\"text\">flow</th><th class=\"n\">delivered</th><th "
        "class=\"n\">begun</th><th class=\"n\">ended</th><th class=\"n\" data-sort=\"number\">Gbit/s</th></tr></thead>"
        "<tbody>\n";
    for (const std::size_t i : shown) {
        const sim::Flow& flow = r.flows[i];
        out += fmt::format(
            "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
            "class=\"n\">{:.3f}</td></tr>\n",
            escaped(setup.flow_name(i, flow)), human_bytes(flow.delivered), time_text(flow.begun),
            time_text(flow.ended), sim::gigabits(flow, r.end));
    }
    return out + "</tbody></table></div>\n";
}

std::string port_table(const sim::Setup& setup, std::span<const sim::PortLoad> hottest) {
    std::string out =
        "<h3>Hottest ports</h3>\n<div class=\"scroll\"><table><thead><tr><th data-sort=\"text\">port</th><th "
        "class=\"n\">rate</th><th class=\"n\">sent</th><th class=\"n\" data-sort=\"number\">used %</th><th class=\"n\" "
        "data-sort=\"number\">waited %</th><th class=\"n\" data-sort=\"number\">marked</th></tr></thead><tbody>\n";
    for (const sim::PortLoad& load : hottest) {
        const fabric::Port& port = setup.fabric.port(load.port);
        out += fmt::format(
            "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{:.1f}</td><td "
            "class=\"n\">{:.1f}</td><td class=\"n\">{}</td></tr>\n",
            escaped(fabric::describe(setup.fabric, port.node, port.number)), to_string(port.rate),
            human_bytes(load.counters.xmit_data * 4), 100 * load.used, 100 * load.waited,
            grouped(load.counters.marked_fecn));
    }
    return out + "</tbody></table></div>\n";
}

}  // namespace

Section simulation_section(const sim::Setup& setup, const sim::Recording& r, std::span<const sim::PortLoad> hottest) {
    Section section;
    section.heading = setup.title.empty() ? "Simulation" : "Simulation: " + setup.title;
    section.html = fmt::format("<p>Level <b>{}</b> ({}): {}. The simulation {}.</p>\n", to_string(r.level),
                               level_words(r.level), escaped(setup.traffic), ending(r));
    if (!r.trouble.empty()) {
        section.html += "<ul class=\"words bad\">\n";
        for (const std::string& line : r.trouble) section.html += fmt::format("<li>{}</li>\n", escaped(line));
        section.html += "</ul>\n";
    }
    if (r.times.size() > 1) {
        section.html += "<div class=\"pair\">\n" + figure(sim::flows_plot(setup, r), "Payload that arrived.");
        if (!r.ports.empty()) {
            section.html += figure(sim::ports_plot(setup, r), "What the watched ports sent.");
            section.html += figure(sim::waits_plot(setup, r), "Had data and could not send it.");
        }
        section.html += "</div>\n";
    }
    if (!r.flows.empty()) section.html += flow_table(setup, r);
    if (!hottest.empty()) section.html += port_table(setup, hottest);
    return section;
}

}  // namespace loom::report
