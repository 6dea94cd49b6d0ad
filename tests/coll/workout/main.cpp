// coll_workout [SEED [CASES [LARGEST [PROGRESS]]]]: random collectives against the reference, on whatever started it:
// `loom run`, mpirun, srun; `coll_workout --ranks N ...` starts itself N times. Prints one line a trouble; exit code 1
// when there was any.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "coll/workout.hpp"
#include "loom/transport/launch.hpp"

int main(int argc, char** argv) {
    using namespace loom;
    try {
        if (argc > 2 && std::string(argv[1]) == "--ranks") {
            transport::Launch job;
            job.ranks = static_cast<std::uint32_t>(std::strtoul(argv[2], nullptr, 10));
            job.program = {argv[0]};
            job.program.insert(job.program.end(), argv + 3, argv + argc);
            job.timeout = std::chrono::seconds(200);
            job.remark = [](const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); };
            return transport::launch(job).exit_code();
        }
        const auto number = [&](int at, std::uint64_t otherwise) {
            return argc > at ? std::strtoull(argv[at], nullptr, 10) : otherwise;
        };
        coll::Workout how;
        how.seed = number(1, 1);
        how.cases = static_cast<std::uint32_t>(number(2, 300));
        how.largest = number(3, 500'000);
        const auto world = coll::World::open();
        if (argc > 4 && std::string(argv[4]) == "thread") world->set_progress(coll::Progress::thread);
        const auto troubles = coll::work_out(*world, how);
        for (const std::string& trouble : troubles) std::fprintf(stderr, "%s\n", trouble.c_str());
        const std::uint32_t bad = troubles.empty() ? 0 : 1;
        std::uint32_t any = 0;
        world->communicator().allreduce(std::span(&bad, 1), std::span(&any, 1), std::plus<>{});
        if (world->rank() == Rank{0})
            std::printf("%u cases on %u ranks over %s: %u ranks had trouble\n", how.cases, world->size(),
                        std::string(world->transport().name()).c_str(), any);
        world->close();
        return any == 0 ? 0 : 1;
    } catch (const Error& error) {
        std::fprintf(stderr, "coll_workout: %s\n", error.what());
        return 2;
    }
}
