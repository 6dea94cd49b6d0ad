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

// libloom-verbs.so: LOOM_VERBS_LIBRARY, or beside the program in its build tree or its installed one.
// Throws UsageError that says where it was looked for.

// The file that execvp would run. Throws UsageError when there is none, or when a library cannot be preloaded into it:
// static programs, programs that change their user, group or capabilities, and those of other machines. A script
// is judged by its interpreter.
[[nodiscard]] std::filesystem::path preloadable_program(const std::string& name);

void add_verbs_run(CLI::App& verbs);
void add_verbs_devices(CLI::App& verbs);
void add_verbs_counters(CLI::App& verbs);
void add_verbs_bench(CLI::App& verbs);

}  // namespace loom::cli
