// loom verbs run: an unchanged program, with the software HCA in it.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/output.hpp"
#include "cli/verbs.hpp"
#include "loom/base/error.hpp"
#include "loom/base/program.hpp"
#include "loom/base/settings.hpp"
#include "loom/verbs/functions.hpp"

namespace loom::cli {

namespace {

struct Options {
    Common common;
    VerbsSettings settings;
    std::vector<std::string> words;  // the program and its arguments
};

nlohmann::ordered_json environment() {
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    if (const auto value = settings::variable("LD_PRELOAD")) object["LD_PRELOAD"] = *value;
    for (const settings::Info& each : settings::all())
        if (std::string_view(each.room) == "hca")
            if (const auto value = settings::variable(each.name)) object[each.name] = *value;
    return object;
}

[[noreturn]] void execute(const std::string& program, std::vector<std::string> words) {
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    execv(program.c_str(), arguments.data());
    const char* hint = errno == ENOEXEC ? " (a script begins with a line like #!/bin/sh)" : "";
    throw UsageError("cannot run " + program + ": " + std::strerror(errno) + hint);
}

void run(const Options& options) {
    const std::vector<std::string>& words = options.words;
    const std::string program = preloadable_program(words.front()).string();
    const std::string library = verbs::soft_library().string();
    const std::string preload = preload_list(library);
    apply(options.settings);
    setenv("LD_PRELOAD", preload.c_str(), 1);
    if (!options.common.json) execute(program, words);
    print_json({{"program", program}, {"arguments", words}, {"library", library}, {"environment", environment()}});
}

}  // namespace

void add_verbs_run(CLI::App& verbs) {
    const auto options = std::make_shared<Options>();
    CLI::App* app = verbs.add_subcommand(
        "run", "Run a program with the software HCA preloaded: loom verbs run [OPTIONS] -- PROGRAM ...");
    VerbsSettings& settings = options->settings;
    app->add_option("PROGRAM", options->words,
                    "The program and its arguments; after --, so that its options are its own")
        ->required();
    add_hcas_option(*app, settings);
    app->add_flag("--trace{1}", settings.trace, "Print every call, on standard error, or into a file: --trace=FILE");
    app->add_option("--fault", settings.fault,
                    "Break things: seed=N,drop=P,datagrams=P,delay=TIME,error=P, any of them")
        ->type_name("LIST");
    app->add_option("--stats", settings.stats, "Append each process's counters to FILE when it exits, a JSON line each")
        ->type_name("FILE");
    app->add_option("--roce-port", settings.roce_port, "UDP port for RoCEv2; 4791 if not given")
        ->check(CLI::Range(1, 65535))
        ->type_name("PORT");
    app->add_flag("--no-gso", settings.no_gso, "No UDP segmentation offload: one packet, one datagram in a capture");
    app->add_flag("--no-shared", settings.no_shared,
                  "No shared memory between processes of this host: RoCE adapters send packets, which can be captured");
    app->add_flag("--realtime", settings.realtime, "The adapter's thread asks for a real-time priority");
    app->add_flag("--no-ptracer", settings.no_ptracer, "Do not let others of this user copy from and to the program");
    app->add_flag("--json", options->common.json,
                  "Run nothing; print the program, the library and the variables as one JSON object");
    app->footer(
        "The program sees devices loom0, loom1, ... and nothing of the system's adapters; its exit code is the\n"
        "command's. Refused with exit code 2: static programs and those with setuid, setgid or capabilities, into "
        "which\n"
        "no library can be preloaded. Every option stands for a variable of the environment that may be set instead\n"
        "(LOOM_VERBS_HCAS, _TRACE, _FAULT, _STATS, _ROCE_PORT, _GSO, _SHARED, _REALTIME, _PTRACER); the library "
        "itself\n"
        "is found beside loom or by LOOM_VERBS_LIBRARY.\n"
        "\n"
        "  loom verbs run --hcas 2 -- ibv_devinfo\n"
        "  loom verbs run -- ibv_rc_pingpong              in one terminal,\n"
        "  loom verbs run -- ibv_rc_pingpong localhost    then in another\n"
        "  loom verbs run --fault seed=7,error=0.01 -- ./my-tests    do my error paths work?");
    app->callback([options] { run(*options); });
}

}  // namespace loom::cli
