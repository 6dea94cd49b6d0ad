// coll_workout [SEED [CASES [LARGEST [PROGRESS]]]]: random collectives against the reference, then random messages with
// collectives beside them, on whatever started it: `loom run`, mpirun, srun; `coll_workout --ranks N ...` starts itself
// N times. Prints one line a trouble; exit code 1 when there was any.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "coll/message_workout.hpp"
#include "coll/workout.hpp"
#include "loom/base/copy.hpp"
#include "loom/transport/launch.hpp"

namespace {

// One and the same buffers again and again, of more than the caches of a host hold: such are copied and kept in other
// ways. How many numbers were wrong.
std::size_t work_again(loom::coll::World& world) {
    const std::uint64_t ranks = world.size(), me = world.rank().value;
    const std::size_t block = loom::last_caches_bytes() / (2 * ranks * ranks) / 8 + 4097;
    std::vector<std::uint64_t> in(ranks * block), out(ranks * block);
    std::size_t wrong = 0;
    for (std::uint64_t round = 0; round < 5; ++round) {
        for (std::size_t i = 0; i < in.size(); ++i) in[i] = me << 48 | round << 40 | i;
        world.communicator().alltoall(in, out);
        for (std::uint64_t from = 0; from < ranks; ++from)
            for (std::size_t i = 0; i < block; ++i)
                wrong += out[from * block + i] != (from << 48 | round << 40 | (me * block + i));
    }
    return wrong;
}

}  // namespace

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
        auto troubles = coll::work_out(*world, how);
        if (const std::size_t wrong = work_again(*world); wrong != 0)
            troubles.push_back(std::to_string(wrong) + " numbers of buffers used again were wrong");
        const auto of_messages = coll::exchange_messages(*world, {.seed = how.seed, .largest = how.largest});
        troubles.insert(troubles.end(), of_messages.begin(), of_messages.end());
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
