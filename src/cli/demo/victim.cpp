// loom demo: a flow that suffers from the congestion of others, without and with the congestion manager.
#include <algorithm>
#include <optional>

#include "cli/demo/demo.hpp"
#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/base/plot.hpp"
#include "loom/report/managed.hpp"
#include "loom/sim/suffering.hpp"

namespace loom::cli {

namespace {

// Routes to host0000 meet at the root L2-000; the victim passes through it on its way to another pod.
constexpr const char* scenario_text =
    R"(# Six hosts in six pods send to one host; a seventh flow only shares two links with one of them.
title A victim in a tree of 1,728 hosts
fabric tree.json
tables ftree.lft
flow victim from host0145 to host1584 bytes 150MB message 1MiB window 2
flow others-1 from host0144 to host0000 bytes 20MB message 1MiB window 2 start 4ms
flow others-2 from host0288 to host0000 bytes 20MB message 1MiB window 2 start 4ms
flow others-3 from host0432 to host0000 bytes 20MB message 1MiB window 2 start 4ms
flow others-4 from host0576 to host0000 bytes 20MB message 1MiB window 2 start 4ms
flow others-5 from host0720 to host0000 bytes 20MB message 1MiB window 2 start 4ms
flow others-6 from host0864 to host0000 bytes 20MB message 1MiB window 2 start 4ms
sample 500us
watch L1-012:13
watch L2-000:1

congestion threshold 15
congestion marking_rate 128
congestion ccti_timer 75
congestion cct halving

# The thresholds of Mizero 2016 in relation to its sweep; T_D is a twentieth of what a link can send in a sweep.
manager sweep 2ms
manager congestion 11400
manager wait 39000
manager data 100000
)";
constexpr std::size_t victim = 0;  // among the flows

struct Regime {
    const char* name;
    std::uint8_t threshold;
    std::uint16_t marking_rate;
    const char* policy;  // null: nobody manages
    bool drawn = true;
};
constexpr Regime regimes[] = {{"no congestion control", 0, 128, nullptr},
                              {"marking rate 128, fixed", 15, 128, nullptr, false},  // as without

                              {"marking rate 0, fixed", 15, 0, nullptr},
                              {"manager as in the paper", 15, 128, "paper"},
                              {"manager, proportional", 15, 128, "proportional"}};

struct Fared {
    double victim = 0;     // Gbit/s, all of its time
    double meanwhile = 0;  // Gbit/s, while others send
    Time victim_done;
    double others = 0;  // Gbit/s together
    Time others_done;
};

std::uint64_t delivered_at(const sim::Recording& recording, std::size_t flow, Time time) {
    const auto after = std::ranges::lower_bound(recording.times, time);
    const auto at = std::min<std::ptrdiff_t>(after - recording.times.begin(), std::ssize(recording.times) - 1);
    return recording.delivered[flow][static_cast<std::size_t>(at)];
}

double gigabits(std::uint64_t bytes, Time span) {
    return static_cast<double>(bytes) * 8 / span.nanoseconds();
}

Fared judge(const sim::Recording& recording) {
    Fared fared;
    fared.victim = sim::gigabits(recording.flows[victim], recording.end);
    fared.victim_done = recording.flows[victim].ended;
    Time begun = never;
    std::uint64_t bytes = 0;
    for (std::size_t f = victim + 1; f < recording.flows.size(); ++f) {
        begun = std::min(begun, recording.flows[f].begun);
        fared.others_done = std::max(fared.others_done, recording.flows[f].ended);
        bytes += recording.flows[f].delivered;
    }
    fared.others = gigabits(bytes, fared.others_done - begun);
    const Time both = std::min(fared.others_done, fared.victim_done);
    fared.meanwhile =
        gigabits(delivered_at(recording, victim, both) - delivered_at(recording, victim, begun), both - begun);
    return fared;
}

std::pair<Series, Series> curves(const char* name, const sim::Recording& recording) {
    Series mine{name, {}}, theirs{name, {}};
    for (std::size_t k = 1; k < recording.times.size(); ++k) {
        const Time span = recording.times[k] - recording.times[k - 1];
        const double milliseconds = recording.times[k].seconds() * 1e3;
        std::uint64_t sum = 0;
        for (std::size_t f = victim + 1; f < recording.delivered.size(); ++f)
            sum += recording.delivered[f][k] - recording.delivered[f][k - 1];
        mine.points.emplace_back(milliseconds,
                                 gigabits(recording.delivered[victim][k] - recording.delivered[victim][k - 1], span));
        theirs.points.emplace_back(milliseconds, gigabits(sum, span));
    }
    return {std::move(mine), std::move(theirs)};
}

// The first decisions that changed something.
std::vector<std::string> first_changes(const report::ManagedRun& run, const fabric::Fabric& fabric,
                                       const manager::Settings& settings, std::size_t most) {
    std::vector<std::string> lines;
    for (const manager::Decision& decision : run.decisions)
        if (lines.size() < most && decision.old_rate != decision.new_rate)
            lines.push_back(describe(decision, fabric, settings));
    return lines;
}

std::string row_html(const char* name, const Fared& fared) {
    return fmt::format(
        "<tr><td>{}</td><td class=\"n\">{:.1f}</td><td class=\"n\">{:.1f}</td><td class=\"n\">{}</td>"
        "<td class=\"n\">{:.1f}</td><td class=\"n\">{}</td></tr>\n",
        name, fared.victim, fared.meanwhile, to_string(fared.victim_done), fared.others, to_string(fared.others_done));
}

std::string section_html(const std::string& why, const std::string& rows, const std::vector<Series>& mine,
                         const std::vector<Series>& theirs, const std::vector<std::string>& decisions) {
    std::string html =
        "<p>Six hosts in six pods send to one. A seventh flow, the victim, goes elsewhere and only shares two links "
        "with one of them.</p>\n<ul class=\"words bad\"><li>" +
        Svg::escaped(why) +
        "</li></ul>\n<div class=\"scroll\"><table><thead><tr><th></th><th class=\"n\">victim, Gbit/s</th><th "
        "class=\"n\">while others send</th>"
        "<th class=\"n\">done</th><th class=\"n\">others together, Gbit/s</th><th "
        "class=\"n\">done</th></tr></thead><tbody>\n" +
        rows + "</tbody></table></div>\n<div class=\"pair\">\n";
    for (const auto& [title, series] : {std::pair{"The victim", &mine}, {"The other six together", &theirs}})
        html += "<figure>" + line_plot({title, "time in ms", "Gbit/s", 640, 340}, *series).fragment() + "</figure>\n";
    html +=
        "</div>\n<p>The first changes of the manager as in the paper. T_C and T_W are the ticks of 22 ns in a sweep "
        "of 2 ms beyond which a port counts as congested, or as waiting:</p>\n<ul class=\"words\">\n";
    for (const std::string& line : decisions) html += "<li>" + Svg::escaped(line) + "</li>\n";
    return html + "</ul>\n";
}

}  // namespace

void demo_victim(Demo& demo) {
    demo.heading("A flow that suffers from others' congestion, without and with the congestion manager",
                 {"loom sim --scenario victim.scn --threshold 0", "loom sim --scenario victim.scn --marking-rate 0",
                  "loom manage --scenario victim.scn --compare none,paper,proportional",
                  "loom report --scenario victim.scn -o victim.html"});
    write_file(demo.folder / "victim.scn", scenario_text);
    const auto setup = sim::set_up(sim::read_scenario(demo.folder / "victim.scn"));
    Table table({{""},
                 {"victim, Gbit/s", Align::right},
                 {"while others send", Align::right},
                 {"done", Align::right},
                 {"others, Gbit/s", Align::right},
                 {"done", Align::right}});
    std::vector<Series> mine, theirs;
    std::string why, rows;
    std::vector<std::string> decisions;
    for (const Regime& regime : regimes) {
        sim::SwitchControl& switches = setup->options.packet.congestion.switches;
        switches.threshold = regime.threshold;
        switches.marking_rate = regime.marking_rate;
        std::optional<manager::Settings> settings;
        if (regime.policy != nullptr) set(settings.emplace(report::scenario_settings(*setup)), "policy", regime.policy);
        const report::ManagedRun run = report::play_managed(*setup, settings, {.sample = setup->sample});
        if (run.recording.state != sim::State::finished)
            throw Error("the demo's scenario did not finish: " + std::string(to_string(run.recording.state)));
        const Fared fared = judge(run.recording);
        table.row({regime.name, fmt::format("{:.1f}", fared.victim), fmt::format("{:.1f}", fared.meanwhile),
                   to_string(fared.victim_done), fmt::format("{:.1f}", fared.others), to_string(fared.others_done)});
        rows += row_html(regime.name, fared);
        demo.result["victim"].push_back({{"regime", regime.name},
                                         {"policy", run.policy},
                                         {"victim_gbit_per_s", fared.victim},
                                         {"victim_meanwhile_gbit_per_s", fared.meanwhile},
                                         {"victim_done_s", fared.victim_done.seconds()},
                                         {"others_gbit_per_s", fared.others},
                                         {"others_done_s", fared.others_done.seconds()},
                                         {"sweeps", run.work.sweeps},
                                         {"lowered", run.work.lowered}});
        if (regime.drawn) {
            auto [victims, others] = curves(regime.name, run.recording);
            mine.push_back(std::move(victims));
            theirs.push_back(std::move(others));
        }
        if (regime.threshold == 0) {
            const auto sufferers = sim::find_sufferers(*setup, *run.simulation, run.recording);
            if (!sufferers.empty()) why = describe(sufferers.front(), *setup, run.recording);
        }
        if (settings && decisions.empty()) decisions = first_changes(run, setup->fabric, *settings, 2);
    }
    demo.show(table);
    demo.say("   {}.\n", why);
    for (const std::string& line : decisions) demo.say("   {}\n", line);
    demo.say(
        "   Marking every packet everywhere throttles the victim too, where it meets others-1 on its own way.\n"
        "   This victim passes the switch at which the manager looks; one that turns off before it gains less\n"
        "   (docs/manager.md).\n");
    demo.result["victim_why"] = why;
    demo.sections.push_back(
        {"A victim of congestion, and the manager", section_html(why, rows, mine, theirs, decisions)});
}

}  // namespace loom::cli
