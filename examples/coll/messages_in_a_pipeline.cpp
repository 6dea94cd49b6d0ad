// Blocks of numbers go through a pipeline of ranks as messages. On the same communicator a sum over all ranks is under
// way meanwhile: messages and collectives never meet.
#include <cstdio>
#include <numeric>
#include <vector>

#include "loom/coll/typed.hpp"

int main() try {
    const auto world = loom::coll::World::open();
    const auto comm = world->communicator();
    const std::uint32_t me = comm.rank().value, last = comm.size() - 1;
    constexpr std::uint32_t blocks = 6;

    const double mine = me + 1;
    double sum = 0;
    auto whole = comm.iallreduce(mine, sum, std::plus<>{});

    // Each block has its number as its tag. A block must stay as it is until it has been sent.
    std::vector<std::vector<double>> data(blocks, std::vector<double>(1000));
    std::vector<loom::coll::Request> requests;
    for (std::uint32_t block = 0; block < blocks; ++block) {
        std::vector<double>& numbers = data[block];
        if (me == 0)
            std::iota(numbers.begin(), numbers.end(), block);
        else
            comm.receive(numbers, loom::Rank{me - 1}, block);
        for (double& number : numbers) number = number / 2 + me;
        if (me != last) requests.push_back(comm.isend(numbers, loom::Rank{me + 1}, block));
    }
    for (auto& request : requests) request.wait();
    whole.wait();

    if (me == last) {
        for (std::uint32_t block = 0; block < blocks; ++block)
            std::printf("block %u begins with %g and ends with %g\n", block, data[block].front(), data[block].back());
        std::printf("sum over %u ranks: %g\n", comm.size(), sum);
    }
    world->close();
} catch (const loom::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
