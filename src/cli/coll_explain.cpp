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
#include "loom/coll/explain.hpp"
#include "loom/coll/world.hpp"
#include "loom/transport/launch.hpp"

namespace loom::cli {

namespace {

struct Options {
    Common common;
    std::string collective;
    std::string bytes = "8";
    std::uint32_t ranks = 4;
};

int explain(const Options& options) {
    const coll::Collective what = coll::parse_collective(options.collective);
    const auto bytes = parse_bytes(options.bytes);
    if (!bytes) throw UsageError("--bytes " + options.bytes + ": expected a number of bytes, such as 4096 or 64KiB");
    const std::string said = ask_ranks(options.ranks, [&](Rank) {
        const auto world = coll::World::open();
        const coll::Explanation e = world->communicator().explain(what, *bytes);
        world->close();
        return options.common.json ? e.json() : e.text();
    });
    if (options.common.json)
        print_json(nlohmann::ordered_json::parse(said));
    else
        fmt::print("{}", said);
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
    why->add_option("-n,--ranks", options->ranks, "Ranks to start")
        ->check(whole_number(1, transport::Launch::most_ranks))
        ->type_name("N")
        ->capture_default_str();
    add_common(*why, options->common);
    why->footer(
        "Starts N ranks as `loom run` does and asks them. What is predicted comes from the schedules that would\n"
        "run (of more than 8 ranks those that are small or may be the best; others from smaller groups of the same\n"
        "kind) and the parameters of this machine, measured at the first start and kept (LOOM_CACHE). LOOM_COLL and\n"
        "LOOM_COLL_PARAMETERS count as they do for programs (docs/model.md).\n"
        "\n"
        "  loom coll explain allreduce --bytes 64KiB -n 4\n"
        "  LOOM_COLL=allreduce=ring loom coll explain allreduce --bytes 1MiB");
    why->callback([options, &exit_code] { exit_code = explain(*options); });
}

}  // namespace loom::cli
