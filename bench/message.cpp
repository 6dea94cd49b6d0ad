#include <fmt/format.h>
#include <malloc.h>

#include <cstdlib>
#include <string_view>

#include "lines.hpp"
#include "loom/base/file.hpp"
#include "loom/base/table.hpp"
#include "loom/sim/simulation.hpp"
#include "loom/traffic/goal.hpp"
#include "loom/traffic/schedules.hpp"
#include "peer/harness/process.hpp"

namespace loom::bench {
namespace {

struct Case {
    const char* schedule;
    std::vector<std::size_t> ranks;
};

traffic::Schedule make(const Case& c, std::size_t ranks) {
    return traffic::make_schedule(c.schedule, ranks, {.bytes = 8, .work = microseconds(10)});
}

// From the schedule in memory to the last event, with the engine's own preparation.
void play(const Case& c, std::size_t ranks, Measured& measured) {
    const traffic::Schedule schedule = make(c, ranks);
    measured.hosts = ranks;
    measured.bytes = schedule.bytes();
    repeat(measured, 5, [&] {
        const auto simulation = make_simulation(sim::Level::message, {}, schedule, {});
        measured.ok = simulation->advance(never) == sim::State::finished;
        measured.amount = static_cast<double>(simulation->work().events);
        measured.notes = fmt::format("{} ns", simulation->now().ps / 1000);  // as LogGOPSim tells it
    });
}

// LogGOPSim on the same schedule as GOAL text. Its time is that of the whole process, which maps the converted
// schedule and does not read it first; the conversion is not counted.
void beside_loggopsim(const Plan& plan, const Case& c, std::size_t ranks, Line& line) {
    const peer::TemporaryFolder folder;
    const std::string goal = folder.path() / "schedule.goal", binary = folder.path() / "schedule.bin";
    write_file(goal, [&](std::ostream& out) { write_goal(make(c, ranks), out); });
    malloc_trim(0);
    const auto run = [&](std::vector<std::string> arguments, double timeout) {
        return peer::run({.arguments = std::move(arguments),
                          .environment = {},
                          .directory = folder.path(),
                          .output = folder.path() / "output",
                          .timeout = peer::Seconds{timeout}});
    };
    line.peer = "LogGOPSim";
    if (!run({plan.loggopsim + "/txt2bin", "-i", goal, "-o", binary}, 600).ok()) {
        line.measured.ok = false;
        line.measured.notes = "txt2bin failed";
        return;
    }
    const double most = plan.peers == Peers::full ? 600 : 60;
    const peer::Outcome theirs = run({plan.loggopsim + "/LogGOPSim", "-b", "-f", binary}, most);
    line.peer_seconds = theirs.seconds;
    line.peer_kilobytes = theirs.peak_kilobytes;
    if (theirs.timed_out) {
        line.peer = "LogGOPSim (given up)";
        return;
    }
    const std::size_t at = theirs.output.find("Maximum finishing time at host ");
    const std::size_t colon = theirs.output.find(": ", at);
    const bool same = at != std::string::npos && colon != std::string::npos &&
                      std::strtoull(theirs.output.c_str() + colon + 2, nullptr, 10) ==
                          std::strtoull(line.measured.notes.c_str(), nullptr, 10);
    line.measured.ok = line.measured.ok && theirs.ok() && same;
    if (!same) line.peer = "LogGOPSim (other time)";
}

}  // namespace

void measure_message(const Plan& plan, const Sink& sink) {
    const std::vector<Case> all{{"dissemination", {1024, 16384, 262144}},
                                {"alltoall", {64, 256, 1024}},
                                {"stencil2d", {1024, 65536}},
                                {"ring:100", {1024, 65536}}};
    const std::vector<Case> quick{{"dissemination", {64}}, {"alltoall", {16}}, {"stencil2d", {64}}};
    for (const Case& c : plan.quick ? quick : all)
        for (const std::size_t ranks : c.ranks) {
            Line line{"message", fmt::format("{} ranks", ranks), c.schedule, 1, {}, {}, 0, 0, {}};
            line.measured = in_child([&](Measured& measured) { play(c, ranks, measured); });
            if (line.measured.seconds > 0)
                line.rate =
                    grouped(static_cast<std::size_t>(line.measured.amount / line.measured.seconds)) + " events/s";
            if (!plan.loggopsim.empty() && plan.peers != Peers::none) beside_loggopsim(plan, c, ranks, line);
            sink(line);
        }
}

}  // namespace loom::bench
