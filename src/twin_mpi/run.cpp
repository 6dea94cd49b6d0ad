#include "loom/twin_mpi/run.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "twin_mpi/loading.hpp"
#include "twin_mpi/process.hpp"

namespace loom::twin_mpi {

namespace {

// The C functions of programs are found by the loader alone: one of each file, so that all files are linked.
[[gnu::used]] const void* const linked[] = {
    reinterpret_cast<const void*>(&MPI_Send),      reinterpret_cast<const void*>(&MPI_Bcast),
    reinterpret_cast<const void*>(&MPI_Init),      reinterpret_cast<const void*>(&MPI_Wait),
    reinterpret_cast<const void*>(&MPI_Type_size), reinterpret_cast<const void*>(&MPI_Comm_rank),
    reinterpret_cast<const void*>(&clock_function)};

int run_rank(Process& me, const std::function<int()>& body) {
    int code = 0;
    if (setjmp(me.exit.to) == 0)
        code = body();
    else
        code = me.exit.code;
    if (me.exit.job_stopped) return 0;
    if (me.phase == Process::Phase::active)
        throw Error("rank " + std::to_string(me.rank()) + " ended without MPI_Finalize" +
                    (code != 0 ? ", with exit code " + std::to_string(code) : ""));
    return code;
}

using MainOf = std::function<int(Rank)>;

Outcome play(const twin::Options& options, const MainOf& main_of,
             const std::function<void(sim::Simulation&)>& look_at) {
    Outcome outcome;
    std::vector<int> codes;
    codes.resize(std::max<std::size_t>({options.ranks, options.hosts.size(), options.network.placement.hosts.size()}));
    try {
        outcome.result = twin::run(
            options,
            [&](transport::Transport& transport) {
                Process me(transport);
                codes[transport.rank().value] = run_rank(me, [&] { return main_of(transport.rank()); });
            },
            look_at);
        const auto bad = std::find_if(codes.begin(), codes.end(), [](int code) { return code != 0; });
        if (bad != codes.end()) outcome.exit_code = *bad;
    } catch (const Aborted& aborted) {
        outcome.failure = aborted.what();
        outcome.exit_code = aborted.code == 0 ? 1 : aborted.code;
    } catch (const UsageError&) {
        throw;
    } catch (const std::exception& error) {
        outcome.failure = error.what();
        outcome.exit_code = 1;
    }
    return outcome;
}

}  // namespace

Outcome run(const twin::Options& options, const std::function<int()>& main_of_rank,
            const std::function<void(sim::Simulation&)>& look_at) {
    return play(
        options, [&](Rank) { return main_of_rank(); }, look_at);
}

Outcome run(const twin::Options& options, const Program& program,
            const std::function<void(sim::Simulation&)>& look_at) {
    const std::vector<std::byte> image = loaded_part(program.file);
    const std::size_t ranks =
        std::max<std::size_t>({options.ranks, options.hosts.size(), options.network.placement.hosts.size()});
    std::vector<LoadedProgram> programs;
    programs.reserve(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) programs.emplace_back(image, program);
    Outcome outcome = play(
        options, [&](Rank rank) { return programs[rank.value].main(); }, look_at);
    std::fflush(stdout);
    return outcome;
}

}  // namespace loom::twin_mpi
