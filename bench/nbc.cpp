#include "nbc.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "loom/base/error.hpp"
#include "peer/harness/process.hpp"

namespace loom::bench {
namespace {

using coll::Operation;

bool libnbc_has(Operation operation) {
    switch (operation) {
        case Operation::alltoallw:
        case Operation::reduce_scatter_block:
        case Operation::exscan:
            return false;
        default:
            return !coll::has_neighbours(operation);
    }
}

// One library of LibNBC's sources, which call each other and not Open MPI's functions of the same names.
std::filesystem::path build_libnbc(const std::filesystem::path& sources, const std::filesystem::path& folder) {
    const auto library = folder / "libnbc.so";
    peer::Command command;
    command.arguments = {"mpicc.openmpi", "-O3", "-fPIC", "-w", "-shared", "-Wl,-Bsymbolic", "-o", library.string()};
    for (const auto& part : {sources, sources / "libdict"}) {
        std::error_code missing;
        for (const auto& entry : std::filesystem::directory_iterator(part, missing))
            if (entry.path().extension() == ".c") command.arguments.push_back(entry.path().string());
    }
    command.directory = folder;
    command.output = folder / "output";
    command.timeout = peer::Seconds{120};
    const peer::Outcome outcome = peer::run(command);
    if (!outcome.ok()) throw Error(sources.string() + ": LibNBC cannot be built: " + outcome.errors);
    return library;
}

void print(const CollCell& cell) {
    const auto time = [&](Who who) -> std::string {
        const auto found = cell.seconds.find(who);
        return found == cell.seconds.end() ? "" : fmt::format("{:.2f}", median(found->second) * 1e6);
    };
    const Interval ratio = to_libnbc(cell);
    fmt::print("{:<21} {:>5} {:>8} {:>10} {:>10}   {}\n", cell.operation, cell.ranks, cell.bytes, time(Who::nbc),
               time(Who::libnbc),
               ratio.middle == 0 ? "" : fmt::format("{:.2f} [{:.2f}, {:.2f}]", ratio.middle, ratio.low, ratio.high));
    for (const auto& [who, why] : cell.failures) fmt::print("    {}: {}\n", to_string(who), why);
    std::fflush(stdout);
}

}  // namespace

Interval to_libnbc(const CollCell& cell) {
    return cell.to(Who::libnbc, Who::nbc);
}

bool NbcResults::ok() const {
    return std::all_of(cells.begin(), cells.end(), [](const CollCell& cell) { return cell.failures.empty(); });
}

NbcResults measure_nbc(const Plan& plan) {
    const peer::TemporaryFolder folder;
    std::vector<Who> who{Who::nbc};
    std::filesystem::path library;
    if (!plan.libnbc.empty() && plan.peers != Peers::none) {
        library = build_libnbc(std::filesystem::absolute(plan.libnbc), folder.path());
        who.push_back(Who::libnbc);
    }
    NbcResults results;
    fmt::print("{:<21} {:>5} {:>8} {:>10} {:>10}   {}\n", "nbc, us", "ranks", "bytes", "nbc.h", "LibNBC",
               "nbc.h/LibNBC");
    for (const std::uint32_t ranks : plan.ranks_or({2, 4})) {
        const bool crowded = sysconf(_SC_NPROCESSORS_ONLN) < static_cast<long>(ranks);
        auto contestants = gather(
            who, ranks, crowded && !plan.bound ? Contestant::Placing::usual : Contestant::Placing::bound, library);
        for (std::size_t i = 0; i < coll::operations.size(); ++i) {
            const auto operation = static_cast<Operation>(i);
            if (!libnbc_has(operation) || !plan.takes_operation(coll::name(operation))) continue;
            for (const std::uint64_t bytes : plan.bytes_or({8, 4096, 262144})) {
                const bool barrier = operation == Operation::barrier;
                results.cells.push_back(measure_cell(plan, contestants, operation, ranks, barrier ? 0 : bytes));
                print(results.cells.back());
                if (barrier) break;
            }
        }
    }
    return results;
}

std::string to_json(const NbcResults& results) {
    nlohmann::json out = nlohmann::json::array();
    for (const CollCell& cell : results.cells) {
        const Interval ratio = to_libnbc(cell);
        nlohmann::json object = {{"operation", cell.operation},
                                 {"ranks", cell.ranks},
                                 {"bytes", cell.bytes},
                                 {"to_libnbc", {{"ratio", ratio.middle}, {"low", ratio.low}, {"high", ratio.high}}}};
        for (const auto& [who, seconds] : cell.seconds) object["seconds"][to_string(who)] = seconds;
        for (const auto& [who, why] : cell.failures) object["failures"][to_string(who)] = why;
        out.push_back(std::move(object));
    }
    return out.dump();
}

}  // namespace loom::bench
