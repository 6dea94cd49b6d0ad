// A sum over all ranks that travels while each computes something else.
#include <cmath>
#include <cstdio>
#include <vector>

#include "loom/coll/typed.hpp"

int main() try {
    const auto world = loom::coll::World::open();
    const auto comm = world->communicator();
    const double me = comm.rank().value;

    const std::vector<double> in(100'000, me + 1);
    std::vector<double> out(in.size());
    auto request = comm.iallreduce(in, out, std::plus<>{});

    // Now and then a look at the request moves it forward; with a progress thread that is not needed.
    double other = 0;
    for (int block = 0; block < 100; ++block) {
        for (int i = 0; i < 1000; ++i) other += std::sqrt(block * 1000 + i);
        (void)request.test();
    }
    request.wait();

    if (me == 0) std::printf("sum over %u ranks: %g, and meanwhile %.0f\n", comm.size(), out.back(), other);
    world->close();
} catch (const loom::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
