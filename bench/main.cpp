// loom_bench: one line per size and engine, beside its peers where they can run.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "coll.hpp"
#include "early.hpp"
#include "lines.hpp"
#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/routing/engine.hpp"
#include "nbc.hpp"
#include "overlap.hpp"
#include "ratios.hpp"
#include "verbs.hpp"
#include "window.hpp"

int main(int argc, char** argv) {
    using namespace loom::bench;
    Plan plan;
    std::string json;
    std::vector<std::string> groups;
    CLI::App app{"Measures Loomband, and its peers in the same run", "loom_bench"};
    app.add_flag("--quick", plan.quick, "A small fabric only: seconds in all, to see that everything runs");
    app.add_option("--engines", plan.engines, "Engines to measure")->delimiter(',');
    app.add_option("--threads", plan.threads, "Numbers of threads")->delimiter(',');
    app.add_option("--only", groups,
                   "routing, analysis, sim, message, verbs, window, coll, nbc, early: a rank that comes late, overlap, "
                   "wire: overlap "
                   "between hosts alone")
        ->delimiter(',')
        ->check(CLI::IsMember(
            {"routing", "analysis", "sim", "message", "verbs", "window", "coll", "nbc", "early", "overlap", "wire"}));
    app.add_option("--least-hosts", plan.least_hosts, "Leave out smaller fabrics");
    app.add_option("--most-hosts", plan.most_hosts, "Leave out larger fabrics");
    app.add_option("--peers", plan.peers, "none; some: where they need seconds; full: where they need minutes")
        ->transform(CLI::CheckedTransformer(
            std::map<std::string, Peers>{{"none", Peers::none}, {"some", Peers::some}, {"full", Peers::full}}));
    app.add_option("--loggopsim", plan.loggopsim,
                   "Folder of LogGOPSim and txt2bin, to run them beside the message level");
    app.add_option("--libnbc", plan.libnbc, "Folder of LibNBC's sources, to build it and measure nbc.h beside it");
    app.add_option("--match", plan.match,
                   "Of the lines of verbs and of the collectives, only those with this in their name");
    app.add_option("--ranks", plan.ranks, "Of the collectives: each group has its own")
        ->delimiter(',')
        ->check(CLI::Range(1u, coll::most_ranks));
    app.add_option("--bytes", plan.bytes, "Of the collectives: each group has its own; multiples of 8")->delimiter(',');
    app.add_flag("--bound", plan.bound,
                 "Of the collectives: everybody's ranks stay on a core, also if there are more ranks than cores");
    app.add_option("--rounds", plan.rounds, "Of the collectives: how often everybody has a turn")
        ->check(CLI::Range(1u, 1000u));
    app.add_option("--json", json, "Write the lines to this file as well");
    CLI11_PARSE(app, argc, argv);

    if (plan.engines.empty())
        for (const auto& engine : loom::routing::engines())
            if (engine.name != "random") plan.engines.emplace_back(engine.name);
    if (plan.threads.empty()) plan.threads = plan.quick ? std::vector<unsigned>{1} : std::vector<unsigned>{1, 2};
    for (std::uint64_t& bytes : plan.bytes) bytes = std::max<std::uint64_t>(8, bytes / 8 * 8);
    if (plan.quick) plan.rounds = 1;
    plan.sizes = plan.quick ? quick_sizes() : all_sizes();
    std::erase_if(plan.sizes, [&](const Size& size) { return !plan.takes(size); });
    const auto wanted = [&](const char* group) {
        return groups.empty() || std::find(groups.begin(), groups.end(), group) != groups.end();
    };

    std::vector<Line> lines;
    std::vector<VerbsLine> verbs;
    std::optional<CollResults> collectives;
    std::optional<NbcResults> nbc;
    std::optional<std::vector<EarlyCell>> early;
    std::optional<OverlapResults> overlap;
    bool all_ok = true;
    const Sink sink = [&](const Line& line) {
        print(line);
        all_ok = all_ok && line.measured.ok;
        lines.push_back(line);
    };
    try {
        if (wanted("routing") || wanted("analysis") || wanted("sim") || wanted("message")) print_header();
        if (wanted("routing")) measure_routing(plan, sink);
        if (wanted("analysis")) measure_analysis(plan, sink);
        if (wanted("sim")) measure_sim(plan, sink);
        if (wanted("message")) measure_message(plan, sink);
        const VerbsSink verbs_sink = [&](const VerbsLine& line) {
            print(line);
            all_ok = all_ok && line.ok;
            verbs.push_back(line);
        };
        if (wanted("verbs") || wanted("window")) print_verbs_header();
        if (wanted("verbs")) measure_verbs(plan, verbs_sink);
        if (wanted("window")) measure_window(plan, verbs_sink);
        if (wanted("coll")) {
            collectives = measure_coll(plan);
            all_ok = all_ok && collectives->ok();
        }
        if (wanted("nbc")) {
            nbc = measure_nbc(plan);
            all_ok = all_ok && nbc->ok();
        }
        if (wanted("early")) {
            early = measure_early(plan);
            for (const EarlyCell& cell : *early) all_ok = all_ok && cell.failure.empty();
        }
        if (wanted("overlap") || wanted("wire")) {
            overlap = measure_overlap(plan, wanted("overlap") ? OverlapWires::all : OverlapWires::between);
            all_ok = all_ok && overlap->ok();
        }
        const std::vector<Ratio> beside_peers = ratios(lines, verbs, collectives, nbc, early, overlap);
        const std::vector<Peer> peers = peers_of(beside_peers);
        if (!beside_peers.empty()) print(beside_peers, peers);
        if (!json.empty()) {
            auto all = nlohmann::json::parse(to_json(lines, verbs));
            if (collectives) all["coll"] = nlohmann::json::parse(to_json(*collectives));
            if (nbc) all["nbc"] = nlohmann::json::parse(to_json(*nbc));
            if (early) all["early"] = nlohmann::json::parse(to_json(*early));
            if (overlap) all["overlap"] = nlohmann::json::parse(to_json(*overlap));
            all["ratios"] = nlohmann::json::parse(to_json(beside_peers, peers));
            loom::write_file(json, all.dump(1) + "\n");
        }
    } catch (const loom::Error& error) {
        fmt::print(stderr, "loom_bench: {}\n", error.what());
        return 2;
    }
    return all_ok ? 0 : 1;
}
