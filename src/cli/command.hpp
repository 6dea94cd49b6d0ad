// What a subcommand is to the main program.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace loom::cli {

// Options every subcommand has.
struct Common {
    bool json = false;   // one JSON object on standard output, nothing else
    bool quiet = false;  // no progress, no remarks
};

// Adds --json and --quiet.
void add_common(CLI::App& app, Common& common);

// Each subcommand lives in one file and adds itself to the program. Its callback returns through
// exit_code: 0 done, 1 the answer is no; bad input is thrown as loom::Error.
void add_fabric(CLI::App& program, int& exit_code);
void add_route(CLI::App& program, int& exit_code);

}  // namespace loom::cli
