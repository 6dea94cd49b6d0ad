// The cases as a program: under loom run, mpirun and srun, with the transport and the bootstrap of the environment.
#include <cstdio>
#include <exception>

#include "conformance/window/cases.hpp"

int main() {
    using namespace loom;
    try {
        const auto world = window::World::open();
        conformance::run_window_cases(*world);
        if (world->rank() == Rank{0})
            std::printf("%u ranks, %s: %zu cases passed\n", world->size(),
                        std::string(world->transport().name()).c_str(), conformance::window_cases().size());
        world->close();
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "window: %s\n", error.what());
        return 1;
    }
}
