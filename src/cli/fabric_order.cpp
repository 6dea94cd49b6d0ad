// loom fabric order: the hosts in rank order, for OpenSM's readers and for --place.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

#include "cli/fabric.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/base/table.hpp"
#include "loom/fabric/host_order_io.hpp"
#include "loom/fabric/placement.hpp"

namespace loom::cli {

using namespace fabric;

namespace {

struct Options {
    Common common;
    std::string input, from, output;
    std::string form = "opensm";
    bool no_keepers = false;
};

std::string opensm_order(const Options& options, const Fabric& fabric, const std::vector<HostPort>& hosts) {
    const auto without =
        std::ranges::find_if(hosts, [&](const HostPort& host) { return fabric.port(host.port).lid == no_lid; });
    if (without != hosts.end())
        throw Error(fmt::format("{}: {} has no LID, which OpenSM's order names hosts by; --to hosts writes their names",
                                options.input, describe(fabric, fabric.port(without->port).node)));
    std::ostringstream text;
    write_host_order(fabric, hosts, text, options.no_keepers ? PlaceKeepers::drop : PlaceKeepers::keep);
    return std::move(text).str();
}

void run(const Options& options) {
    check_outputs({{"-o", options.output}}, options.common);
    check_ending({"-o", options.output}, "a host order", {".csv"});
    const Reading reading = load_fabric(options.input, options.from, options.common);
    const Fabric& fabric = reading.fabric;
    const std::vector<HostPort> hosts = host_order(fabric);
    if (hosts.empty()) throw Error(fmt::format("{}: no host is connected to a switch", options.input));
    const std::string text =
        options.form == "opensm"
            ? opensm_order(options, fabric, hosts)
            : to_text(fabric, options.no_keepers ? place_in_order(fabric) : place_with_keepers(fabric));
    write_file(options.output, text);
    const auto places = static_cast<std::size_t>(std::ranges::count(text, '\n'));
    if (options.common.json)
        print_json({{"input", options.input},
                    {"hosts", hosts.size()},
                    {"place_keepers", places - hosts.size()},
                    {"output", options.output},
                    {"format", options.form},
                    {"remarks", reading.remarks}});
    else if (options.output != "-")
        fmt::print("{} and {} written to {} ({})\n", counted(hosts.size(), "host", "hosts"),
                   counted(places - hosts.size(), "place keeper", "place keepers"), options.output, options.form);
}

}  // namespace

void add_fabric_order(CLI::App& fabric) {
    const auto options = std::make_shared<Options>();
    CLI::App* app = fabric.add_subcommand("order", "Write the hosts in rank order, leaf by leaf and port by port");
    app->add_option("FABRIC", options->input, "Fabric to read, any known format; - is standard input")->required();
    app->add_option("-o,--output", options->output, "File to write; - is standard output")
        ->required()
        ->type_name("FILE");
    app->add_option("--from", options->from, "Format of FABRIC (default: found from its content)")->type_name("FORMAT");
    app->add_option("--to", options->form, "opensm: LID and name a line, as opensm-ftree-ca-order.dump; hosts: a name")
        ->type_name("opensm|hosts")
        ->check(one_of({"opensm", "hosts"}))
        ->capture_default_str();
    app->add_flag("--no-keepers", options->no_keepers,
                  "Hosts only: nothing keeps the places of hosts that a leaf lacks");
    add_common(*app, options->common);
    app->footer(
        "Ranks in this order meet no contention in shifts on a complete tree routed by ftree. Leaves with few hosts "
        "are filled\n"
        "up with place keepers, so that a missing host does not move the ranks after it.\n\n"
        "  loom fabric order tree.json -o opensm-ftree-ca-order.dump\n"
        "  loom congestion tree.json tree.lft --place opensm-ftree-ca-order.dump");
    app->callback([options] { run(*options); });
}

}  // namespace loom::cli
