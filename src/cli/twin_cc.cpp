// loom twin cc: the compiler, for MPI programs that run in virtual time.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/output.hpp"
#include "cli/twin_mpi.hpp"
#include "loom/base/error.hpp"
#include "loom/base/program.hpp"

namespace loom::cli {

namespace {

namespace fs = std::filesystem;

struct Options {
    Common common;
    std::string compiler;
    std::vector<std::string> words;
};

bool ends_like(const std::string& word, std::initializer_list<const char*> endings) {
    const std::string ending = fs::path(word).extension().string();
    return std::any_of(endings.begin(), endings.end(), [&](const char* each) { return ending == each; });
}

// C++ unless all that is compiled is C: its driver links C as well.
std::string compiler_for(const std::vector<std::string>& words) {
    const bool compiles_c =
        std::any_of(words.begin(), words.end(), [](const auto& each) { return ends_like(each, {".c"}); });
    const bool has_cpp = std::any_of(words.begin(), words.end(), [](const auto& each) {
        return ends_like(each, {".cpp", ".cc", ".cxx", ".C", ".c++"});
    });
    return compiles_c && !has_cpp ? "cc" : "c++";
}

// Beside the program that is installed, or where it was built from.
fs::path header_folder() {
    std::error_code none;
    const fs::path installed =
        fs::read_symlink("/proc/self/exe", none).parent_path().parent_path() / "include/loom/twin_mpi";
    const fs::path folder = fs::exists(installed / "mpi.h", none) ? installed : fs::path(LOOM_TWIN_MPI_HEADERS);
    if (!fs::exists(folder / "mpi.h", none)) throw Error("there is no " + (folder / "mpi.h").string());
    return folder;
}

std::vector<std::string> command_line(const Options& options) {
    const std::string name = options.compiler.empty() ? compiler_for(options.words) : options.compiler;
    const fs::path compiler = find_program(name);
    if (compiler.empty()) throw UsageError("there is no compiler " + name);
    std::vector<std::string> line{compiler.string(), "-I" + header_folder().string(),
                                  // Exceptions that end a rank pass through functions in C.
                                  "-fPIC", "-fexceptions"};
    const bool cpp = name.find("++") != std::string::npos;
    if (cpp && name.find("clang") == std::string::npos) line.emplace_back("-fno-gnu-unique");  // else copies share them
    if (!cpp) line.emplace_back("-Werror=implicit-function-declaration");
    line.insert(line.end(), options.words.begin(), options.words.end());
    const bool links = std::none_of(options.words.begin(), options.words.end(), [](const std::string& each) {
        return each == "-c" || each == "-S" || each == "-E" || each == "-M" || each == "-MM";
    });
    if (!links) return line;
    line.insert(line.end(), {"-shared", "-Wl,-Bsymbolic"});
    for (const char* function : {"clock_gettime", "gettimeofday", "time", "nanosleep", "usleep", "sleep", "exit",
                                 "_ZNSt6chrono3_V212steady_clock3nowEv", "_ZNSt6chrono3_V212system_clock3nowEv"})
        line.push_back(std::string("-Wl,--wrap=") + function);
    return line;
}

int execute(std::vector<std::string> line) {
    std::vector<char*> words;
    for (std::string& each : line) words.push_back(each.data());
    words.push_back(nullptr);
    const pid_t child = fork();
    if (child < 0) throw Error(std::string("no process for the compiler: ") + std::strerror(errno));
    if (child == 0) {
        execv(words.front(), words.data());
        _exit(127);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace

void add_twin_cc(CLI::App& twin, int& exit_code) {
    const auto options = std::make_shared<Options>();
    CLI::App* const app =
        twin.add_subcommand("cc", "Compile an MPI program to run in virtual time: loom twin cc -O2 prog.c -o prog");
    app->add_option("WORDS", options->words, "What the compiler is told: its own from here on")->required();
    app->add_option("--compiler", options->compiler, "Default: cc where all that is compiled is C, else c++")
        ->type_name("NAME");
    add_common(*app, options->common);
    app->footer(
        "What it makes is run by `loom twin run --mpi`, as often as there are ranks, in one process: each has its own\n"
        "globals. mpi.h is Loomband's; what MPI functions it has is in docs/twin.md, and a program that uses others\n"
        "does not compile.\n"
        "\n"
        "  loom twin cc -O2 prog.c -o prog\n"
        "  loom twin run -n 256 --mpi ./prog");
    app->callback([options, &exit_code] {
        const std::vector<std::string> line = command_line(*options);
        if (options->common.json)
            print_json({{"command", line}});
        else
            exit_code = execute(line);
    });
}

}  // namespace loom::cli
