// Rank 0 makes blocks and everybody works on them: while one is worked on, the next is on its way.
#include <array>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <vector>

#include "loom/coll/typed.hpp"

int main() try {
    const auto world = loom::coll::World::open();
    const auto comm = world->communicator();
    constexpr loom::Rank root{0};
    constexpr std::uint64_t blocks = 10, elements = 20'000;

    std::array<std::vector<std::uint64_t>, 2> buffers;
    buffers.fill(std::vector<std::uint64_t>(elements));
    std::array<loom::coll::Request, 2> requests;
    const auto start = [&](std::uint64_t block) {
        auto& buffer = buffers[block % 2];
        if (comm.rank() == root) std::iota(buffer.begin(), buffer.end(), block * elements);
        requests[block % 2] = comm.ibroadcast(buffer, root);
    };

    std::uint64_t total = 0;
    start(0);
    for (std::uint64_t block = 0; block < blocks; ++block) {
        if (block + 1 < blocks) start(block + 1);
        requests[block % 2].wait();
        total = std::accumulate(buffers[block % 2].begin(), buffers[block % 2].end(), total);
    }

    std::vector<std::uint64_t> totals(comm.size());
    comm.gather(total, totals, root);
    if (comm.rank() == root)
        for (std::uint32_t rank = 0; rank < comm.size(); ++rank)
            std::printf("rank %u has added up %llu\n", rank, static_cast<unsigned long long>(totals[rank]));
    world->close();
} catch (const loom::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
