// loom run: a program as many ranks on this host.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "loom/base/error.hpp"
#include "loom/mpi/flavour.hpp"
#include "loom/transport/launch.hpp"

namespace loom::cli {

namespace {

struct Options {
    Common common;
    transport::Launch job;
    bool tag = false;
    double timeout = 0;
    double grace = 5;
};

std::chrono::milliseconds milliseconds(double seconds) {
    return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

void print(const transport::LaunchOutcome& outcome, const transport::Launch& job) {
    nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
    for (std::size_t rank = 0; rank < outcome.ranks.size(); ++rank) {
        const transport::RankEnd& end = outcome.ranks[rank];
        ranks.push_back({{"rank", rank},
                         {"exit_code", end.exit_code},
                         {"signal", end.signal},
                         {"seconds", end.seconds},
                         {"joined", end.joined},
                         {"unfinished", end.unfinished}});
    }
    nlohmann::ordered_json object{{"program", job.program},     {"exit_code", outcome.exit_code()},
                                  {"first_failed", nullptr},    {"timed_out", outcome.timed_out},
                                  {"seconds", outcome.seconds}, {"ranks", ranks}};
    if (outcome.first_failed) object["first_failed"] = outcome.first_failed->value;
    print_json(object);
}

int run(Options& options) {
    transport::Launch& job = options.job;
    if (options.tag && options.common.json)
        throw UsageError("--tag-output and --json: the ranks' output goes to standard error, as it is");
    if (options.tag) job.output = transport::RankOutput::tagged;
    if (options.common.json) job.output = transport::RankOutput::on_error;
    if (options.timeout > 0) job.timeout = milliseconds(options.timeout);
    job.grace = milliseconds(options.grace);
    if (!options.common.quiet)
        job.remark = [](const std::string& text) { fprintf(stderr, "loom: %s\n", text.c_str()); };
    if (const auto library = mpi::flavour_of_program(job.program.front()); library && job.ranks > 1 && job.remark)
        job.remark("the program is one of MPI (" + std::string(mpi::to_string(*library)) +
                   "), which does not hear of loom run: to MPI each rank is alone. Its mpirun starts it");
    const transport::LaunchOutcome outcome = transport::launch(job);
    if (options.common.json) print(outcome, job);
    return outcome.exit_code();
}

}  // namespace

void add_run(CLI::App& program, int& exit_code) {
    const auto options = std::make_shared<Options>();
    CLI::App* app = program.add_subcommand(
        "run", "Start a program as N ranks on this host and look after them: loom run -n N PROGRAM ...");
    transport::Launch& job = options->job;
    app->add_option("PROGRAM", job.program, "The program and its arguments, which are its own from here on")
        ->required();
    app->add_option("-n,--ranks", job.ranks, "How many")
        ->check(whole_number(1, transport::Launch::most_ranks))
        ->type_name("N")
        ->capture_default_str();
    CLI::Option* const bind = app->add_flag_callback(
        "--bind", [&job] { job.bind = transport::Binding::always; },
        "Each rank on one core; without being told only if there are more ranks than cores");
    app->add_flag_callback(
           "--no-bind", [&job] { job.bind = transport::Binding::never; }, "Ranks run wherever the system wants them")
        ->excludes(bind);
    app->add_flag("-l,--tag-output", options->tag, "Whole lines of output only, each behind \"[RANK] \"");
    app->add_option("--timeout", options->timeout, "Stop everything after so many seconds; exit code 124")
        ->check(real_number(0.001, 1e6))
        ->type_name("S");
    app->add_option("--grace", options->grace,
                    "Seconds for the others once a rank has failed, or after ^C, until they are terminated")
        ->check(real_number(0, 1e6))
        ->type_name("S")
        ->capture_default_str();
    add_common(*app, options->common);
    app->footer(
        "Ranks find each other by a socket to this command (LOOM_RUN); LOOM_RANK and LOOM_SIZE tell their number. No\n"
        "daemon, no files. Rank 0 reads standard input, the others nothing. A rank that is killed, fails, or ends\n"
        "before it has said that it is finished, is an error at the others, not a hang; whatever then still runs "
        "after\n"
        "the grace is terminated, and killed a second later. Signals are passed on. Nothing is left behind: process\n"
        "groups of ranks end with them, ranks with this command.\n"
        "\n"
        "Exit code: 0; that of the rank that failed first (128 + signal when it was killed); 124 when the time was "
        "up;\n"
        "2 when the program cannot be run. With --json the ranks' output goes to standard error.\n"
        "\n"
        "  loom run -n 4 ./allreduce\n"
        "  loom run -n 2 --bind -l ./pingpong --bytes 8");
    app->callback([options, &exit_code] { exit_code = run(*options); });
}

std::vector<std::string> mark_program(const CLI::App& program, std::vector<std::string> words) {
#ifdef LOOM_HAS_TWIN
    const bool compiles =
        words.size() > 1 && words[0] == "twin" && words[1] == "cc";  // what is no option of ours is its
    const bool in_twin = compiles || (words.size() > 1 && words[0] == "twin" && words[1] == "run");
#else
    const bool compiles = false, in_twin = false;
#endif
    if (!in_twin && (words.empty() || words[0] != "run")) return words;
    const CLI::App* app =
        in_twin ? program.get_subcommand("twin")->get_subcommand(words[1]) : program.get_subcommand("run");
    for (std::size_t i = in_twin ? 2 : 1; i < words.size(); ++i) {
        const std::string& word = words[i];
        if (word == "--") break;
        if (word.size() < 2 || word[0] != '-') {
            words.insert(words.begin() + static_cast<std::ptrdiff_t>(i), "--");
            break;
        }
        const bool is_long = word[1] == '-';
        const CLI::Option* option =
            app->get_option_no_throw(is_long ? word.substr(0, word.find('=')) : word.substr(0, 2));
        if (compiles && option == nullptr) {
            words.insert(words.begin() + static_cast<std::ptrdiff_t>(i), "--");
            break;
        }
        const bool has_value_in_it = is_long ? word.find('=') != std::string::npos : word.size() > 2;
        if (option != nullptr && option->get_items_expected_max() > 0 && !has_value_in_it) ++i;
    }
    return words;
}

}  // namespace loom::cli
