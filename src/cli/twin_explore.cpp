#include "cli/twin_explore.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/output.hpp"
#include "loom/base/error.hpp"
#include "loom/base/progress.hpp"
#include "loom/twin/explore.hpp"

namespace loom::cli {

namespace {

std::string last_line(const std::string& text) {
    const std::size_t end = text.find_last_not_of('\n');
    if (end == std::string::npos) return {};
    const std::size_t before = text.rfind('\n', end);
    const std::size_t begin = before == std::string::npos ? 0 : before + 1;
    return text.substr(begin, end + 1 - begin);
}

// The answer of a program is what its ranks print; that one of them fails is no answer.
twin::Played play(const twin::Options& options, const twin::Processes& processes) {
    std::vector<std::string> printed(options.ranks), errors(options.ranks);
    twin::Processes now = processes;
    now.launch.output = transport::RankOutput::handed;
    now.launch.print = [&](Rank rank, bool error, const std::string& lines) {
        (error ? errors : printed)[rank.value] += lines;
    };
    now.launch.remark = nullptr;
    const twin::ProcessResult result = twin::run(options, now);
    twin::Played played;
    played.result = result.result;
    for (std::uint32_t rank = 0; rank < options.ranks; ++rank)
        if (!printed[rank].empty()) played.answer += fmt::format("rank {}: {}", rank, printed[rank]);
    if (result.outcome.timed_out) throw Error("the time of --timeout was up in the midst of a run");
    if (played.result.state == sim::State::finished && result.outcome.first_failed) {
        const Rank failed = *result.outcome.first_failed;
        played.thrown = fmt::format("rank {} {}", failed.value, describe(result.outcome.ranks[failed.value]));
        if (const std::string line = last_line(errors[failed.value]); !line.empty()) played.thrown += ": " + line;
    }
    return played;
}

nlohmann::ordered_json to_json(const twin::Exploration& exploration) {
    nlohmann::ordered_json object{{"seeds", exploration.seeds},
                                  {"orders", exploration.orders},
                                  {"failure", to_string(exploration.failure)},
                                  {"seed", nullptr},
                                  {"longest_delay_ps", nullptr},
                                  {"why", exploration.why}};
    if (exploration.failure != twin::Failure::none && exploration.seed != 0) {
        object["seed"] = exploration.seed;
        object["longest_delay_ps"] = exploration.replay.longest_delay.ps;
    }
    return object;
}

}  // namespace

int explore(TwinJob& job, const twin::Processes& processes, std::uint64_t seeds, const Common& common) {
    if (processes.processor > 0)
        throw UsageError("--explore and --processor: no seed repeats a run whose computation is measured");
    if (job.run.disturb != 0) throw UsageError("--explore and --disturb: many seeds, or one");
    Progress progress(fmt::format("{} seeds", seeds), common.quiet ? Show::nothing : Show::automatic);
    std::uint64_t runs = 0;
    const twin::Exploration exploration = twin::explore(job.run, seeds, [&](const twin::Options& now) {
        progress.update(static_cast<double>(runs++) / static_cast<double>(seeds + 1));
        return play(now, processes);
    });
    progress.finish();
    if (common.json) {
        print_json(to_json(exploration));
    } else {
        std::vector<std::string> lines = to_lines(exploration);
        if (exploration.failure != twin::Failure::none && exploration.seed != 0)
            lines.back() = fmt::format("again with --disturb {} --longest-delay {}ps in place of --explore",
                                       exploration.seed, exploration.replay.longest_delay.ps);
        for (const std::string& line : lines) fmt::print("{}\n", line);
    }
    return exploration.failure == twin::Failure::none ? 0 : 1;
}

}  // namespace loom::cli
