// loom verbs bench: how fast two software HCAs are here, and whether the bytes arrive.
#include "cli/verbs_bench.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/output.hpp"
#include "loom/base/settings.hpp"
#include "loom/hca/counters.hpp"

namespace loom::cli {

namespace {

struct Options {
    Common common;
    VerbsSettings settings;
};

// As the software HCA counts.
std::vector<verbs::SentBytes> sent_bytes(const std::string& device) {
    constexpr const char* prefix = "sent_bytes_";
    std::vector<verbs::SentBytes> sent;
    if (const auto all = hca::live_counters(getpid()))
        for (const auto& hca : all->hcas)
            for (const auto& counter : hca.counters)
                if (hca.device == device && counter.name.starts_with(prefix))
                    sent.push_back({counter.name.substr(std::strlen(prefix)), counter.value});
    return sent;
}

void run(const Options& options) {
    const std::vector<verbs::Speed> results = bench_verbs(options.settings);
    if (options.common.json) return print_json({{"data", "right"}, {"sizes", to_json(results)}});
    speed_table(results).print();
}

}  // namespace

std::vector<verbs::Speed> bench_verbs(VerbsSettings settings) {
    if (settings.hcas.empty() && !settings::read(Setting::verbs_hcas)) settings.hcas = "2";
    apply(settings);
    const verbs::Functions verbs(verbs::soft_library().string());
    return verbs::measure(verbs, sent_bytes);
}

Table speed_table(const std::vector<verbs::Speed>& results) {
    Table table({{"size", Align::right},
                 {"send, us one way", Align::right},
                 {"RDMA write, GB/s", Align::right},
                 {"RDMA read, GB/s", Align::right},
                 {"path of the writes"}});
    for (const verbs::Speed& result : results)
        table.row({human_bytes(result.size), fmt::format("{:.2f}", result.send_us),
                   fmt::format("{:.3g}", result.write_gbs), fmt::format("{:.3g}", result.read_gbs), result.path});
    return table;
}

nlohmann::ordered_json to_json(const std::vector<verbs::Speed>& results) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const verbs::Speed& result : results)
        rows.push_back({{"bytes", result.size},
                        {"send_us", result.send_us},
                        {"write_gb_per_s", result.write_gbs},
                        {"read_gb_per_s", result.read_gbs},
                        {"write_path", result.path}});
    return rows;
}

void add_verbs_bench(CLI::App& verbs) {
    const auto options = std::make_shared<Options>();
    CLI::App* app =
        verbs.add_subcommand("bench", "Latency and bandwidth between two software HCAs here (some seconds)");
    add_hcas_option(*app, options->settings);
    add_common(*app, options->common);
    app->footer(
        "Two processes, one on loom0 and one on loom1, joined by an RC queue pair: sends back and forth, then RDMA\n"
        "writes and reads with 32 on their way, from 8 bytes to 2 MiB. The bytes are compared at the end of each "
        "size.\n"
        "Times are of this machine as it is now: what else runs on its cores counts.\n"
        "\n"
        "  loom verbs bench");
    app->callback([options] { run(*options); });
}

}  // namespace loom::cli
