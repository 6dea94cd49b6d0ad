// loom measure: what messages cost on this machine.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/charges_output.hpp"
#include "cli/command.hpp"
#include "cli/measure_coll.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/ranks.hpp"
#include "loom/base/file.hpp"
#include "loom/coll/parameters.hpp"
#include "loom/model/parameters.hpp"
#include "loom/transport/launch.hpp"
#include "loom/transport/open.hpp"

namespace loom::cli {

namespace {

struct Options {
    Common common;
    std::uint32_t ranks = 2;
    std::string transport = "auto";
};

int run(const Options& options) {
    const std::string text = ask_ranks(options.ranks, [&](Rank) {
        const auto bootstrap = transport::find_bootstrap();
        const auto transport = transport::open_transport(*bootstrap, options.transport);
        const coll::Parameters parameters = coll::measure_parameters(*transport);
        bootstrap->finished();
        return transport->description() + "\n" + parameters.origin + "\n" + std::string(to_string(parameters.source)) +
               "\n" + model::to_text(parameters.charges);
    });
    std::string_view transport, origin, source, charges;
    Lines lines(text);
    lines.next(transport), lines.next(origin), lines.next(source), lines.next(charges);
    const model::Charges measured = model::parse_charges(charges, {});
    const bool is_measured = source == to_string(coll::Parameters::Source::measured);
    if (options.common.json) {
        print_json({{"ranks", options.ranks},
                    {"transport", transport},
                    {"origin", origin},
                    {"measured", is_measured},
                    {"parameters", to_json(measured)},
                    {"text", charges}});
        return 0;
    }
    if (!is_measured) fmt::print("NOT MEASURED, {}. What follows is assumed.\n", origin);
    fmt::print("{} ranks, {}{}{}\n\n", options.ranks, transport, is_measured ? ", " : "", is_measured ? origin : "");
    print_charges(measured);
    return 0;
}

}  // namespace

void add_measure(CLI::App& program, int& exit_code) {
    CLI::App* app = program.add_subcommand("measure", "Measure what messages and collectives cost on this machine");
    app->require_subcommand(1);
    const auto options = std::make_shared<Options>();
    CLI::App* loggp =
        app->add_subcommand("loggp", "L, o, g, G, f, and the costs of copies and reductions, between N ranks");
    loggp->add_option("-n,--ranks", options->ranks, "Ranks to start; more than there are cores is another machine")
        ->check(whole_number(2, transport::Launch::most_ranks))
        ->type_name("N")
        ->capture_default_str();
    loggp->add_option("--transport", options->transport, "How they send: auto, verbs, mpi")
        ->check(one_of({"auto", "verbs", "mpi"}))
        ->type_name("NAME")
        ->capture_default_str();
    add_common(*loggp, options->common);
    loggp->footer(
        "Round trips of 1 and of 16 small messages, of one just below the eager limit and of two large ones, some "
        "tens\n"
        "of each, lower quartiles (Hoefler 2008, II.2.4): about 100 ms. All other ranks wait meanwhile as they would "
        "in a\n"
        "collective, so that with more ranks than cores the latency has their turns in it. This is what programs\n"
        "measure at their first start and keep; the command measures and keeps nothing.\n"
        "\n"
        "  loom measure loggp\n"
        "  loom measure loggp -n 8 --json");
    loggp->callback([options, &exit_code] { exit_code = run(*options); });
    add_measure_coll(*app, exit_code);
}

}  // namespace loom::cli
