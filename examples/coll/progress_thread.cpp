// A thread that moves operations forward, switched on for a while: the program computes and never looks.
#include <cstdio>
#include <vector>

#include "loom/coll/typed.hpp"

int main() try {
    using loom::coll::Progress;
    const auto world = loom::coll::World::open();
    const auto comm = world->communicator();
    // Memory in which data travels fastest between ranks of a host.
    auto in = comm.allocate<float>(500'000);
    auto out = comm.allocate<float>(500'000);
    for (float& x : in) x = 1;

    for (const Progress how : {Progress::thread, Progress::manual}) {
        world->set_progress(how);
        auto request = comm.iallreduce(in, out, std::plus<>{});
        double work = 1;
        for (int i = 0; i < 1'000'000; ++i) work = work * 0.999 + 0.001;
        request.wait();
        if (comm.rank() == loom::Rank{0})
            std::printf("%s: %g ranks, work %.3f\n", how == Progress::thread ? "with a thread" : "without one",
                        static_cast<double>(out[0]), work);
    }
    std::fprintf(stderr, "now %s\n", world->progress_state().why.c_str());
    world->close();
} catch (const loom::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
