// loom coll explain: which algorithm a collective gets here, and why.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/coll_explain.hpp"
#include "cli/command.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/ranks.hpp"
#include "loom/base/error.hpp"
#include "loom/base/table.hpp"
#include "loom/coll/explain.hpp"
#include "loom/coll/uniform.hpp"
#include "loom/coll/world.hpp"
#include "loom/transport/launch.hpp"
#include "loom/transport/waiting.hpp"

namespace loom::cli {

namespace {

struct Options {
    Common common;
    std::string collective;
    std::string bytes = "8";
    std::uint32_t ranks = 4;
};

constexpr std::uint32_t most_ranks_a_core = 4;

// More ranks than this machine should start: what they would do on one host of so many cores.
int imagine(const Options& options, coll::Collective what, std::uint64_t bytes, std::uint32_t cores) {
    coll::UniformShape shape;
    shape.what = what;
    shape.ranks = options.ranks;
    shape.bytes = bytes;
    const coll::UniformCall call(shape);
    const coll::Parameters parameters = coll::imagined_parameters({.hosts = call.group().hosts, .cores = cores});
    const coll::Explanation e = coll::explain(call.group(), call.calls()[0], parameters);
    if (options.common.json) {
        nlohmann::ordered_json object = nlohmann::ordered_json::parse(e.json());
        object["started_ranks"] = 0;
        print_json(object);
        return 0;
    }
    fmt::print("no rank was started: {} are more than {} for each of {}; what they would take is predicted\n",
               options.ranks, most_ranks_a_core, counted(cores, "core", "cores"));
    fmt::print("{}", e.text());
    return 0;
}

int explain(const Options& options) {
    const coll::Collective what = coll::parse_collective(options.collective);
    const auto bytes = parse_bytes(options.bytes);
    if (!bytes) throw UsageError("--bytes " + options.bytes + ": expected a number of bytes, such as 4096 or 64KiB");
    const std::uint32_t cores = transport::usable_cores();
    if (options.ranks > most_ranks_a_core * cores) return imagine(options, what, *bytes, cores);
    const std::string said = ask_ranks(options.ranks, [&](Rank) {
        const auto world = coll::World::open();
        const coll::Explanation e = world->communicator().explain(what, *bytes);
        world->close();
        return options.common.json ? e.json() : e.text();
    });
    if (options.common.json) {
        nlohmann::ordered_json object = nlohmann::ordered_json::parse(said);
        object["started_ranks"] = options.ranks;
        print_json(object);
    } else {
        fmt::print("{}", said);
    }
    return 0;
}

}  // namespace

void add_coll_explain(CLI::App& coll, int& exit_code) {
    const auto options = std::make_shared<Options>();
    CLI::App* why = coll.add_subcommand("explain", "Which algorithm runs on N ranks here, and what others would take");
    why->add_option("COLLECTIVE", options->collective, "allreduce, broadcast, barrier...")->required();
    why->add_option("--bytes", options->bytes, "Of the message or of one block")
        ->type_name("BYTES")
        ->capture_default_str();
    why->add_option("-n,--ranks", options->ranks, "Ranks to start; of more than four for each core it is predicted")
        ->check(whole_number(1, 1u << 20))
        ->type_name("N")
        ->capture_default_str();
    add_common(*why, options->common);
    why->footer(
        "Starts N ranks as `loom run` does and asks them; more than four for each core are not started but predicted,\n"
        "by assumed costs. What is predicted comes from the schedules that would\n"
        "run (of more than 8 ranks those that are small or may be the best; others from smaller groups of the same\n"
        "kind) and the parameters of this machine, measured at the first start and kept (LOOM_CACHE). LOOM_COLL and\n"
        "LOOM_COLL_PARAMETERS count as they do for programs (docs/model.md).\n"
        "\n"
        "  loom coll explain allreduce --bytes 64KiB -n 4\n"
        "  LOOM_COLL=allreduce=ring loom coll explain allreduce --bytes 1MiB");
    why->callback([options, &exit_code] { exit_code = explain(*options); });
}

}  // namespace loom::cli
