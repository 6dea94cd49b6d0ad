// What a subcommand is to the main program.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

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
void add_completion(CLI::App& program, int& exit_code);
void add_reproduce(CLI::App& program, int& exit_code);
void add_report(CLI::App& program, int& exit_code);
void add_fabric(CLI::App& program, int& exit_code);
void add_demo(CLI::App& program, int& exit_code);
void add_congestion(CLI::App& program, int& exit_code);
void add_bisection(CLI::App& program, int& exit_code);
void add_map(CLI::App& program, int& exit_code);
void add_sim(CLI::App& program, int& exit_code);
void add_manage(CLI::App& program, int& exit_code);
void add_route(CLI::App& program, int& exit_code);
void add_check(CLI::App& program, int& exit_code);
void add_verbs(CLI::App& program, int& exit_code);
void add_mpi(CLI::App& program, int& exit_code);
void add_measure(CLI::App& program, int& exit_code);
void add_model(CLI::App& program, int& exit_code);
void add_predict(CLI::App& program, int& exit_code);
void add_run(CLI::App& program, int& exit_code);
void add_coll(CLI::App& program, int& exit_code);
void add_session(CLI::App& program, int& exit_code);
void add_twin(CLI::App& program, int& exit_code);

// `loom run -n 2 ls -l` is `loom run -n 2 -- ls -l`: a program's options are its own.
[[nodiscard]] std::vector<std::string> mark_program(const CLI::App& program, std::vector<std::string> words);

// The headings of `loom --help`. Called once all subcommands are there.
void arrange_help(CLI::App& program);

// Throws UsageError with a suggestion when the words that name a subcommand name none.
void check_command_words(const CLI::App& program, const std::vector<std::string>& words);

// One line for a command line that CLI11 refused, with a suggestion where a name is nearly right.
[[nodiscard]] std::string explain(const CLI::App& program, const CLI::ParseError& error,
                                  const std::vector<std::string>& words);

}  // namespace loom::cli
