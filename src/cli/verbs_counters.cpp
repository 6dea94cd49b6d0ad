// loom verbs counters: what running programs have sent, and by which path.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/output.hpp"
#include "cli/verbs.hpp"
#include "loom/base/error.hpp"
#include "loom/base/table.hpp"
#include "loom/hca/counters.hpp"

namespace loom::cli {

namespace {

struct Options {
    Common common;
    int pid = 0;
};

void print(const std::vector<hca::ProcessCounters>& processes) {
    Table table({{"pid", Align::right}, {"program"}, {"device"}, {"counter"}, {"value", Align::right}});
    for (const auto& process : processes)
        for (const auto& hca : process.hcas)
            for (const auto& counter : hca.counters)
                if (counter.value != 0)
                    table.row({std::to_string(process.pid), process.program, hca.device, counter.name,
                               grouped(counter.value)});
    table.print();
}

// In the shape of the lines of `loom verbs run --stats`: bytes by path are objects of their own.
nlohmann::ordered_json to_json(const hca::HcaCounters& hca) {
    nlohmann::ordered_json object = {{"name", hca.device}};
    for (const auto& counter : hca.counters) {
        const auto bytes = counter.name.find("_bytes_");
        if (bytes == std::string::npos)
            object[counter.name] = counter.value;
        else
            object[counter.name.substr(0, bytes + 6)][counter.name.substr(bytes + 7)] = counter.value;
    }
    return object;
}

nlohmann::ordered_json to_json(const std::vector<hca::ProcessCounters>& processes) {
    using nlohmann::ordered_json;
    ordered_json list = ordered_json::array();
    for (const auto& process : processes) {
        ordered_json hcas = ordered_json::array();
        for (const auto& hca : process.hcas) {
            hcas.push_back(to_json(hca));
        }
        list.push_back({{"pid", process.pid}, {"program", process.program}, {"hcas", std::move(hcas)}});
    }
    return {{"processes", std::move(list)}};
}

void run(const Options& options) {
    std::vector<hca::ProcessCounters> processes;
    if (options.pid == 0) {
        processes = hca::live_counters();
    } else {
        auto found = hca::live_counters(options.pid);
        if (!found)
            throw UsageError(fmt::format("process {} has no software HCA open that you may look at", options.pid));
        processes.push_back(std::move(*found));
    }
    if (options.common.json) return print_json(to_json(processes));
    if (processes.empty()) return print_remarks({"no running program has a software HCA open"}, options.common);
    print(processes);
}

}  // namespace

void add_verbs_counters(CLI::App& verbs) {
    const auto options = std::make_shared<Options>();
    CLI::App* app = verbs.add_subcommand("counters", "Counters of programs that run on software HCAs now");
    app->add_option("PID", options->pid, "Of this process only; all that you may look at if not given")
        ->check(CLI::PositiveNumber);
    add_common(*app, options->common);
    app->footer(
        "Payload by the path it took: store (written into shared memory), direct (copied between the two processes'\n"
        "memory), target (copied by the target's own thread), roce (packets on UDP); packets, retransmissions, NAKs "
        "and\n"
        "drops beside it. Counters that are 0 are left out of the table, not out of --json. `loom verbs run --stats "
        "FILE`\n"
        "keeps those of programs that have ended; programs read their own below /sys/class/infiniband/loomN/ports/1/.");
    app->callback([options] { run(*options); });
}

}  // namespace loom::cli
