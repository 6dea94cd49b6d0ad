#include "early.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>

#include "peer/harness/process.hpp"
#include "statistics.hpp"

namespace loom::bench {
namespace {

struct Seen {
    double megabytes = 0, microseconds = 0;
};

Seen run_once(EarlyCell& cell, bool loaded) {
    const peer::TemporaryFolder folder;
    peer::Command command;
    command.arguments = {"mpirun.openmpi", "--oversubscribe", "-n", "4", "--bind-to", "none"};
    if (geteuid() == 0) command.arguments.emplace_back("--allow-run-as-root");
    if (loaded)
        for (const char* word : {"-x", "LD_PRELOAD=" LOOM_MPI_OPENMPI, "-x", "LOOM_MPI_BLOCKING=1"})
            command.arguments.emplace_back(word);
    for (const std::string& word : {std::string(LOOM_LATE), std::to_string(cell.steps), std::to_string(cell.late)})
        command.arguments.push_back(word);
    command.directory = folder.path();
    command.output = folder.path() / "output";
    command.timeout = peer::Seconds{300};
    const peer::Outcome outcome = peer::run(command);
    double kibibytes = 0;
    Seen seen;
    if (!outcome.ok() || !(std::istringstream(outcome.output) >> kibibytes >> seen.microseconds))
        cell.failure = fmt::format("{}: {}", loaded ? "libloom-mpi" : "Open MPI", outcome.errors);
    seen.megabytes = kibibytes * 1024 / 1e6;
    return seen;
}

void print(const EarlyCell& cell) {
    fmt::print("{:>7} {:>8} {:>12.1f} {:>12.1f} {:>12.1f} {:>12.1f}\n", cell.steps, cell.late, median(cell.memory),
               median(cell.memory_alone), median(cell.step), median(cell.step_alone));
    if (!cell.failure.empty()) fmt::print("    {}\n", cell.failure);
    std::fflush(stdout);
}

}  // namespace

std::vector<EarlyCell> measure_early(const Plan& plan) {
    struct Setting {
        std::uint32_t steps, late;
    };
    const std::vector<Setting> settings = plan.quick
                                              ? std::vector<Setting>{{50, 100}}
                                              : std::vector<Setting>{{5'000, 1'000}, {10'000, 1'000}, {20'000, 0}};
    fmt::print("{:>7} {:>8} {:>12} {:>12} {:>12} {:>12}\n", "early", "late, us", "root, MB", "alone", "step, us",
               "alone");
    std::vector<EarlyCell> cells;
    for (const Setting& setting : settings) {
        EarlyCell& cell = cells.emplace_back();
        cell.steps = setting.steps;
        cell.late = setting.late;
        const unsigned rounds = std::min(plan.rounds, 3u);
        for (unsigned round = 0; round < rounds && cell.failure.empty(); ++round)
            for (const bool loaded : {round % 2 == 0, round % 2 != 0}) {
                const Seen seen = run_once(cell, loaded);
                (loaded ? cell.memory : cell.memory_alone).push_back(seen.megabytes);
                (loaded ? cell.step : cell.step_alone).push_back(seen.microseconds);
            }
        print(cell);
    }
    return cells;
}

std::string to_json(const std::vector<EarlyCell>& cells) {
    nlohmann::json out = nlohmann::json::array();
    for (const EarlyCell& cell : cells) {
        nlohmann::json object = {{"steps", cell.steps},
                                 {"late_us", cell.late},
                                 {"libloom_mpi", {{"megabytes", cell.memory}, {"step_us", cell.step}}},
                                 {"open_mpi", {{"megabytes", cell.memory_alone}, {"step_us", cell.step_alone}}}};
        if (!cell.failure.empty()) object["failure"] = cell.failure;
        out.push_back(std::move(object));
    }
    return out.dump();
}

}  // namespace loom::bench
