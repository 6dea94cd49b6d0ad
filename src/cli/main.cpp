#include <algorithm>
#include <cstdio>
#include <exception>

#include "cli/command.hpp"
#include "cli/settings.hpp"
#include "loom/base/error.hpp"

namespace loom::cli {

void add_common(CLI::App& app, Common& common) {
    app.add_flag("--json", common.json, "Print one JSON object on standard output and nothing else");
    app.add_flag("-q,--quiet", common.quiet, "No progress and no remarks on standard error");
}

namespace {

void add_commands(CLI::App& program, int& exit_code) {
    add_demo(program, exit_code);
    add_fabric(program, exit_code);
    add_route(program, exit_code);
    add_check(program, exit_code);
    add_congestion(program, exit_code);
    add_bisection(program, exit_code);
    add_map(program, exit_code);
    add_sim(program, exit_code);
    add_manage(program, exit_code);
    add_verbs(program, exit_code);
    add_mpi(program, exit_code);
    add_run(program, exit_code);
    add_coll(program, exit_code);
    add_session(program, exit_code);
    add_predict(program, exit_code);
#ifdef LOOM_HAS_TWIN
    add_twin(program, exit_code);
#endif
    add_measure(program, exit_code);
    add_model(program, exit_code);
    add_report(program, exit_code);
    add_reproduce(program, exit_code);
    add_settings(program, exit_code);
    add_completion(program, exit_code);
}

// `loom help route` is `loom route --help`.
std::vector<std::string> words_of(int argc, char** argv) {
    std::vector<std::string> words(argv + 1, argv + argc);
    if (!words.empty() && words.front() == "help") {
        words.erase(words.begin());
        words.emplace_back("--help");
    }
    return words;
}

bool wants_quiet(const std::vector<std::string>& words) {
    const auto own = std::find(words.begin(), words.end(), "--");  // what follows is for the program that is run
    return std::any_of(words.begin(), own, [](const std::string& word) { return word == "-q" || word == "--quiet"; });
}

int run(int argc, char** argv) {
    CLI::App program{"Loomband: InfiniBand in software", "loom"};
    program.require_subcommand(1);
    program.set_version_flag("--version", "loom " LOOM_VERSION);
    int exit_code = 0;
    add_commands(program, exit_code);
    arrange_help(program);

    const std::vector<std::string> words = mark_program(program, words_of(argc, argv));
    if (words.empty()) {
        std::fputs(program.help().c_str(), stderr);
        return 2;
    }
    check_command_words(program, words);
    if (!wants_quiet(words)) remark_on_settings();
    try {
        program.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    } catch (const CLI::Success& request) {  // --help, --version
        return program.exit(request);
    } catch (const CLI::ParseError& error) {
        throw UsageError(explain(program, error, words));
    }
    return exit_code;
}

}  // namespace

}  // namespace loom::cli

int main(int argc, char** argv) {
    try {
        const int code = loom::cli::run(argc, argv);
        if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
            throw loom::IoError("cannot write to standard output");
        return code;
    } catch (const loom::Error& error) {
        std::fprintf(stderr, "loom: %s\n", error.what());
    } catch (const std::bad_alloc&) {
        std::fputs("loom: out of memory\n", stderr);
    } catch (const std::exception& error) {
        if (std::ferror(stdout) != 0)
            std::fputs("loom: cannot write to standard output\n", stderr);
        else
            std::fprintf(stderr, "loom: internal error: %s\n", error.what());
    }
    return 2;
}
