// What the subcommands of loom verbs share.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace loom::cli {

// Settings that the command line gives and the library reads from the environment.
struct VerbsSettings {
    std::string hcas, trace, fault, stats;
    int roce_port = 0;
    bool no_gso = false, no_shared = false, no_ptracer = false, realtime = false;
};

void add_hcas_option(CLI::App& app, VerbsSettings& settings);

// Puts them into the environment; throws UsageError when the library would refuse one.
void apply(const VerbsSettings& settings);

void add_verbs_run(CLI::App& verbs);
void add_verbs_devices(CLI::App& verbs);
void add_verbs_counters(CLI::App& verbs);
void add_verbs_bench(CLI::App& verbs);

}  // namespace loom::cli
