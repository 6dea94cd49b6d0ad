// loom mpi: unchanged MPI programs whose collectives Loomband takes over.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/output.hpp"
#include "loom/base/error.hpp"
#include "loom/base/program.hpp"
#include "loom/base/settings.hpp"
#include "loom/mpi/flavour.hpp"
#include "loom/verbs/functions.hpp"

namespace loom::cli {

namespace {

namespace fs = std::filesystem;

struct Options {
    Common common;
    std::string mpi, report;
    std::optional<bool> blocking;
    std::vector<std::string> words;
};

struct Found {
    mpi::Flavour flavour;
    std::string how;
};

// By the first word that is a program linked with an MPI library, else by the launcher's name.
Found find_flavour(const Options& options) {
    if (!options.mpi.empty()) return {mpi::parse_flavour(options.mpi), "given"};
    for (const std::string& word : options.words)
        if (const fs::path program = find_program(word); !program.empty())
            if (const auto flavour = mpi::flavour_of_program(program))
                return {*flavour, program.string() + " needs it"};
    if (const fs::path launcher = find_program(options.words.front()); !launcher.empty())
        if (const auto flavour = mpi::flavour_of_launcher(launcher)) return {*flavour, "by the launcher's name"};
    throw UsageError("none of the words is a program linked with Open MPI or MPICH: say which with --mpi");
}

// One MPI's launcher starts the other's programs as so many jobs of one rank each, and nothing says so.
void remark_on_launcher(const Options& options, const Found& found) {
    const fs::path launcher = find_program(options.words.front());
    if (launcher.empty()) return;
    const auto its = mpi::flavour_of_launcher(launcher);
    if (!its || *its == found.flavour) return;
    std::fprintf(stderr, "loom: %s is a launcher of %s, and the program needs %s: each rank will be alone\n",
                 launcher.c_str(), std::string(mpi::to_string(*its)).c_str(),
                 std::string(mpi::to_string(found.flavour)).c_str());
}

fs::path library_for(mpi::Flavour flavour) {
    if (const auto given = settings::read(Setting::mpi_library)) {
        if (!fs::exists(*given)) throw UsageError("LOOM_MPI_LIBRARY='" + *given + "': there is no such file");
        return fs::absolute(*given);
    }
    const std::string name = "libloom-mpi-" + std::string(mpi::to_string(flavour)) + ".so";
    const fs::path library = verbs::soft_library().parent_path() / name;
    if (!fs::exists(library))
        throw UsageError("cannot find " + library.string() + "; build it, or set LOOM_MPI_LIBRARY");
    return library;
}

// What the program must find in its environment.
std::vector<std::pair<std::string, std::string>> variables(const Options& options, const fs::path& library) {
    std::vector<std::pair<std::string, std::string>> all{{"LD_PRELOAD", preload_list(library)}};
    if (options.blocking) all.emplace_back(settings::name(Setting::mpi_blocking), *options.blocking ? "1" : "0");
    if (!options.report.empty())
        all.emplace_back(settings::name(Setting::mpi_report),
                         options.report == "1" ? "1" : fs::absolute(options.report).string());
    return all;
}

void print(const Options& options, const Found& found, const fs::path& library,
           const std::vector<std::pair<std::string, std::string>>& set) {
    nlohmann::ordered_json environment = nlohmann::ordered_json::object();
    for (const auto& [name, value] : set) environment[name] = value;
    print_json({{"arguments", options.words},
                {"mpi", mpi::to_string(found.flavour)},
                {"found", found.how},
                {"library", library.string()},
                {"environment", environment}});
}

// While this file is there nobody has given the account; the process that we become says why at its end.
void owe_account() {
    std::string file = (fs::temp_directory_path() / "loom-report-XXXXXX").string();
    const int out = mkstemp(file.data());
    const std::string process = std::to_string(getpid()) + "\n";
    if (out < 0 || write(out, process.data(), process.size()) < 0)
        throw Error("cannot write " + file + ": " + std::strerror(errno));
    close(out);
    setenv(settings::name(Setting::mpi_report_owed), file.c_str(), 1);
}

[[noreturn]] void execute(std::vector<std::string> words) {
    const fs::path program = find_program(words.front());
    if (program.empty()) throw UsageError("no such program: " + words.front());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    execv(program.c_str(), arguments.data());
    throw UsageError("cannot run " + program.string() + ": " + std::strerror(errno));
}

enum class Then { run, show };

void run(const Options& options, Then then) {
    const Found found = find_flavour(options);
    remark_on_launcher(options, found);
    const fs::path library = library_for(found.flavour);
    const auto set = variables(options, library);
    if (options.common.json) {
        print(options, found, library, set);
        return;
    }
    if (then == Then::show) {
        for (const auto& [name, value] : set) std::printf("export %s='%s'\n", name.c_str(), value.c_str());
        return;
    }
    for (const auto& [name, value] : set) setenv(name.c_str(), value.c_str(), 1);
    if (!options.report.empty()) owe_account();
    execute(options.words);
}

void add(CLI::App& app, Then then, const char* name, const char* summary, const char* footer) {
    const auto options = std::make_shared<Options>();
    CLI::App* command = app.add_subcommand(name, summary);
    command
        ->add_option("PROGRAM", options->words, "Launcher, program and arguments; after --, so that options are theirs")
        ->required();
    command->add_option("--mpi", options->mpi, "openmpi or mpich; found from the program if not given")
        ->type_name("NAME");
    command->add_flag("--blocking,!--no-blocking", options->blocking,
                      "Take over the blocking collectives too, which is the default; --no-blocking leaves them alone");
    command->add_flag(
        "--report{1}", options->report,
        "Print at the end what was taken over and what not, on standard error; or as JSON: --report=FILE");
    command->add_flag("--json", options->common.json, "Run nothing; print library and variables as one JSON object");
    command->footer(footer);
    command->callback([options, then] { run(*options, then); });
}

}  // namespace

void add_mpi(CLI::App& program, int&) {
    CLI::App* app = program.add_subcommand("mpi", "Run unchanged MPI programs with Loomband's collectives");
    app->require_subcommand(1);
    add(*app, Then::run, "run",
        "Run an MPI program with libloom-mpi loaded: loom mpi run [OPTIONS] -- mpirun ... PROGRAM",
        "The library is the one built for the MPI library that PROGRAM was linked with, and is preloaded. It takes "
        "over\n"
        "all collectives, and hands back what it cannot do; --report says what and why. --no-blocking leaves blocking\n"
        "ones to the MPI library. LOOM_MPI=off in the environment switches it off. On other hosts the launcher must be "
        "told\n"
        "to pass LD_PRELOAD on (Open MPI: -x LD_PRELOAD).\n"
        "\n"
        "  loom mpi run --report -- mpirun -n 4 ./solver input\n"
        "  loom mpi run --no-blocking -- mpiexec.hydra -n 2 ./solver");
    add(*app, Then::show, "env", "Print the variables that load libloom-mpi, for a shell or a job script",
        "  eval \"$(loom mpi env -- ./solver)\"; srun --mpi=pmix ./solver");
    app->footer(
        "Collectives of MPI programs, started and waited for as MPI has it, run on Loomband's transport with its\n"
        "algorithms; nothing is recompiled. docs/mpi.md says what is taken over and what the limits are.");
}

}  // namespace loom::cli
