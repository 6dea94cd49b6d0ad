// loom verbs: programs that speak verbs, on software HCAs.
#include "cli/verbs.hpp"

#include <cstdlib>

#include "loom/base/error.hpp"
#include "loom/base/settings.hpp"
#include "loom/hca/settings.hpp"

namespace loom::cli {

namespace {

void set(Setting setting, const std::string& value) {
    if (!value.empty()) setenv(settings::name(setting), value.c_str(), 1);
}

// The program may change its folder, and each of its children: a name on the command line is seen from here.
std::string from_here(const std::string& file) {
    return file.empty() ? file : std::filesystem::absolute(file).string();
}

}  // namespace

void add_hcas_option(CLI::App& app, VerbsSettings& settings) {
    app.add_option("--hcas", settings.hcas,
                   "Adapters: a number, or a list of ib, roce (the host's first address) and roce:ADDRESS; ib if not "
                   "given. loomN is the Nth")
        ->type_name("LIST");
}

void apply(const VerbsSettings& settings) {
    set(Setting::verbs_hcas, settings.hcas);
    set(Setting::verbs_trace, settings.trace == "1" ? settings.trace : from_here(settings.trace));
    set(Setting::verbs_fault, settings.fault);
    set(Setting::verbs_stats, from_here(settings.stats));
    if (settings.roce_port != 0) set(Setting::verbs_roce_port, std::to_string(settings.roce_port));
    if (settings.no_gso) set(Setting::verbs_gso, "0");
    if (settings.no_shared) set(Setting::verbs_shared, "0");
    if (settings.no_ptracer) set(Setting::verbs_ptracer, "0");
    if (settings.realtime) set(Setting::verbs_realtime, "1");
    hca::check_environment();
}

void add_verbs(CLI::App& program, int&) {
    CLI::App* app = program.add_subcommand("verbs", "Run programs that speak verbs on software HCAs; look at them");
    app->require_subcommand(1);
    add_verbs_run(*app);
    add_verbs_devices(*app);
    add_verbs_counters(*app);
    add_verbs_bench(*app);
    app->footer(
        "A software HCA is a library behind the libibverbs interface: an unchanged program sees a device loom0 and\n"
        "works, without adapter, root, daemon or kernel module. Processes of one user and network namespace reach "
        "each\n"
        "other through shared memory, others through RoCEv2 (UDP).\n"
        "\n"
        "  loom verbs run -- ibv_devinfo\n"
        "  loom verbs run -- ib_write_bw -d loom0               in one terminal; when it waits for a client,\n"
        "  loom verbs run -- ib_write_bw -d loom0 localhost     in another");
}

}  // namespace loom::cli
