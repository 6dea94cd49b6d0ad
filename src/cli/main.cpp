#include <cstdio>
#include <exception>

#include "cli/command.hpp"
#include "loom/base/error.hpp"

namespace loom::cli {

void add_common(CLI::App& app, Common& common) {
    app.add_flag("--json", common.json, "Print one JSON object on standard output and nothing else");
    app.add_flag("-q,--quiet", common.quiet, "No progress and no remarks on standard error");
}

}  // namespace loom::cli

int main(int argc, char** argv) {
    CLI::App program{"Loomband: InfiniBand in software", "loom"};
    program.require_subcommand(1);
    program.set_version_flag("--version", LOOM_VERSION);
    int exit_code = 0;
    try {
        program.parse(argc, argv);
        return exit_code;
    } catch (const CLI::ParseError& error) {
        return program.exit(error) == 0 ? 0 : 2;
    } catch (const loom::Error& error) {
        std::fprintf(stderr, "loom: %s\n", error.what());
        return 2;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "loom: internal error: %s\n", error.what());
        return 2;
    }
}
