// loom twin run --mpi: all ranks of an MPI program in this process.
#include "cli/twin_mpi.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "loom/base/descriptor.hpp"
#include "loom/base/error.hpp"
#include "loom/base/time.hpp"
#include "loom/twin_mpi/run.hpp"

namespace loom::cli {

namespace {

// What is printed meanwhile goes to standard error.
class OutputOnError {
public:
    explicit OutputOnError(bool wanted) {
        if (!wanted) return;
        std::fflush(stdout);
        before_ = Descriptor(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
        if (!before_.open() || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) throw IoError("cannot redirect standard output");
    }
    ~OutputOnError() {
        if (!before_.open()) return;
        std::fflush(stdout);
        dup2(before_.number(), STDOUT_FILENO);
    }
    OutputOnError(const OutputOnError&) = delete;
    OutputOnError& operator=(const OutputOnError&) = delete;

private:
    Descriptor before_;
};

}  // namespace

void add_twin_mpi_options(CLI::App& run, TwinMpi& options) {
    run.add_flag("--mpi", options.on, "An MPI program that loom twin cc has made: all ranks in one process");
    run.add_option("--stack", options.stack, "Of each rank, with --mpi")->type_name("BYTES")->capture_default_str();
}

TwinMpiPlayed play_mpi(const TwinMpi& mpi, twin::Options options, const std::vector<std::string>& program,
                       bool output_on_error, const std::function<void(sim::Simulation&)>& look_at) {
    constexpr std::uint64_t least = 16 << 10, most = std::uint64_t{1} << 30;
    const auto stack = parse_bytes(mpi.stack);
    if (!stack || *stack < least || *stack > most)
        throw UsageError("--stack " + mpi.stack + ": expected 16KiB to 1GiB");
    options.stack_bytes = static_cast<std::size_t>(*stack);
    const auto begin = std::chrono::steady_clock::now();
    const OutputOnError redirected(output_on_error);
    twin_mpi::Outcome outcome =
        twin_mpi::run(options, twin_mpi::Program{program.front(), {program.begin() + 1, program.end()}}, look_at);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    if (!outcome.failure.empty()) fmt::print(stderr, "loom: {}\n", outcome.failure);
    return {std::move(outcome.result), outcome.exit_code, taken.count()};
}

}  // namespace loom::cli
