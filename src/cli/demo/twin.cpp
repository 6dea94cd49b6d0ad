// loom demo: 1,728 ranks of an all-to-all application in virtual time, beside the traffic of others.
#include "loom/twin/run.hpp"

#include <vector>

#include "cli/demo/demo.hpp"
#include "cli/twin_output.hpp"
#include "loom/base/clock.hpp"
#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/base/plot.hpp"
#include "loom/base/progress.hpp"
#include "loom/coll/typed.hpp"
#include "loom/manager/dcms.hpp"
#include "loom/report/managed.hpp"
#include "loom/report/ranks.hpp"
#include "loom/sim/setup.hpp"
#include "loom/twin/scenario.hpp"

namespace loom::cli {

namespace {

// The same six pods as the victim's, now without an end; thresholds of the manager as there, for a sweep of 50 us.
constexpr const char* scenario_text =
    R"(# An application on every host, and beside it six hosts in six pods that send to one.
title 1,728 ranks beside an incast
fabric tree.json
tables ftree.lft
ranks 1728
flow others-1 from host0144 to host0000 endless message 1MiB window 2
flow others-2 from host0288 to host0000 endless message 1MiB window 2
flow others-3 from host0432 to host0000 endless message 1MiB window 2
flow others-4 from host0576 to host0000 endless message 1MiB window 2
flow others-5 from host0720 to host0000 endless message 1MiB window 2
flow others-6 from host0864 to host0000 endless message 1MiB window 2
until 200ms

congestion threshold 15
congestion marking_rate 128
congestion ccti_timer 75
congestion cct halving
manager sweep 50us
manager congestion 285
manager wait 975
manager data 2500
)";
constexpr std::uint32_t columns = 48;  // of the grid of ranks; four switches of hosts have a row
constexpr std::size_t block = 4096;    // bytes for each other rank of a row or column

// Everybody with everybody in a row or a column, one after the other.
void exchange(const coll::Communicator& comm, std::uint32_t first, std::uint32_t stride, std::uint32_t count) {
    const std::uint32_t me = (comm.rank().value - first) / stride;
    const std::vector<std::byte> mine(block);
    std::vector<std::byte> theirs(block);
    for (std::uint32_t k = 1; k < count; ++k) {
        auto taken = comm.ireceive(std::span(theirs), Rank{first + (me + count - k) % count * stride});
        comm.send(std::span(mine), Rank{first + (me + k) % count * stride});
        taken.wait();
    }
}

// A transform in two dimensions, as a pencil decomposition has it.
void transform(transport::Transport& transport) {
    coll::World world(transport, nullptr);
    const coll::Communicator comm = world.communicator();
    const std::uint32_t me = comm.rank().value;
    compute(microseconds(20));
    exchange(comm, me / columns * columns, 1, columns);
    compute(microseconds(20));
    exchange(comm, me % columns, columns, comm.size() / columns);
}

struct Regime {
    const char* name;
    const char* engine;
    bool others;
    bool managed;
};
constexpr Regime regimes[] = {{"minhop", "minhop", false, false},
                              {"ftree", "ftree", false, false},
                              {"minhop, incast", "minhop", true, false},
                              {"ftree, incast", "ftree", true, false},
                              {"minhop, incast, manager", "minhop", true, true},
                              {"ftree, incast, manager", "ftree", true, true}};

struct Run {
    twin::Result result;
    sim::LinkAnswers links;
    std::vector<std::string> decisions;  // that changed a marking rate
};

void manage(twin::Options& options, const sim::Setup& setup, Run& run) {
    const manager::Settings settings = report::scenario_settings(setup);
    options.control = [&setup, &run, settings](fabric::CounterSource& counters,
                                               fabric::CongestionParameters& parameters, fabric::Clock& clock) {
        (void)manager::run_manager(setup.fabric, counters, parameters, clock, settings,
                                   [&](const manager::Decision& decision) {
                                       if (decision.old_rate != decision.new_rate)
                                           run.decisions.push_back(describe(decision, setup.fabric, settings));
                                   });
    };
}

Run play(const Demo& demo, const Regime& regime, report::RanksPlayed& played) {
    sim::Scenario scenario = sim::read_scenario(demo.folder / "ranks.scn", sim::Traffic::programs);
    scenario.tables_file.clear();
    scenario.engine = regime.engine;
    if (!regime.managed) scenario.options.packet.congestion.switches.threshold = 0;
    const auto setup = sim::set_up(std::move(scenario), sim::Traffic::programs);
    if (!regime.others) setup->background.clear();
    twin::Options options = twin::options_of(*setup);
    options.record.reset();
    Run run;
    if (regime.managed) manage(options, *setup, run);
    run.result = twin::run(options, transform, [&](sim::Simulation& simulation) {
        run.links = sim::look_at_links(twin::whole_network(options), options.simulation, simulation,
                                       {.most_jams = 3, .most_pairs = 5000});
    });
    if (run.result.state != sim::State::finished)
        throw Error("the demo's ranks did not finish: " + std::string(to_string(run.result.state)));
    played = ranks_played({.options = options,
                           .result = run.result,
                           .links = run.links,
                           .title = regime.name,
                           .computation = "declared",
                           .remarks = run.decisions});
    played.fabric = nullptr;  // it goes with the setup
    return run;
}

Time waiting(const twin::Result& result) {
    Time sum{};
    for (const twin::RankTimes& rank : result.ranks) sum += rank.waiting + rank.sending;
    return {sum.ps / std::ssize(result.ranks)};
}

std::string section_html(const std::string& rows, const std::vector<Bar>& bars, const report::Section& worst) {
    return "<p>1,728 ranks, one on each host, exchange 4 KiB with each other rank of their row and then of their "
           "column: "
           "the transposes of a transform. Beside them six hosts send to one without an end. The ranks are real: each "
           "runs on a stack of its own, and its messages cross the simulated fabric packet by packet.</p>\n"
           "<div class=\"scroll\"><table><thead><tr><th></th><th class=\"n\">finished after</th><th class=\"n\">mean "
           "waiting</th><th>where they waited</th></tr></thead><tbody>\n" +
           rows + "</tbody></table></div>\n<figure>" +
           bar_plot({"Finished after", "", "us", 760, 320}, bars).fragment() + "</figure>\n<h3>" + worst.heading +
           "</h3>\n" + worst.html;
}

}  // namespace

void demo_ranks(Demo& demo) {
    demo.heading("1,728 real ranks in virtual time, beside an incast, without and with the congestion manager", {});
    write_file(demo.folder / "ranks.scn", scenario_text);
    Table table({{""}, {"finished after", Align::right}, {"mean waiting", Align::right}, {"manager", Align::right}});
    std::vector<Bar> bars;
    std::string rows, why, decision;
    report::Section worst;
    Time slowest{};
    Progress progress("ranks", demo.options.common.quiet ? Show::nothing : Show::automatic);
    for (const Regime& regime : regimes) {
        report::RanksPlayed played;
        const Run run = play(demo, regime, played);
        const std::string jam = run.links.jams.empty() ? "" : describe(run.links.jams.front());
        table.row({regime.name, to_string(run.result.finish), to_string(waiting(run.result)),
                   regime.managed ? counted(run.decisions.size(), "change", "changes") : "-"});
        rows +=
            fmt::format("<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td></tr>\n", regime.name,
                        to_string(run.result.finish), to_string(waiting(run.result)), Svg::escaped(jam));
        demo.result["ranks"].push_back({{"regime", regime.name},
                                        {"finish_s", run.result.finish.seconds()},
                                        {"mean_waiting_s", waiting(run.result).seconds()},
                                        {"packets", run.result.work.packets},
                                        {"changes", run.decisions}});
        bars.push_back({regime.name, run.result.finish.seconds() * 1e6, ""});
        if (run.result.finish > slowest) {
            slowest = run.result.finish;
            why = jam;
            worst = report::ranks_section(played, {.most_ranks = 10});
        }
        if (!run.decisions.empty()) decision = run.decisions.front();
        progress.update(static_cast<double>(bars.size()) / std::size(regimes));
    }
    progress.finish();
    demo.show(table);
    demo.say(
        "   Where the slowest run waited: {}.\n   {}\n"
        "   Your own program there: loom twin run --scenario ranks.scn -n 64 --manage ./program\n",
        why, decision);
    demo.sections.push_back({"1,728 ranks beside an incast, and the manager", section_html(rows, bars, worst)});
}

}  // namespace loom::cli
