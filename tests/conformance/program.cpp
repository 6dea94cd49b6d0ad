// The cases as a program: under loom run, mpirun and srun, with the transport and the bootstrap of the environment.
// Options: --die RANK (that rank kills itself while the others wait for a message of it; they exit with 3 when they are
// told), --fail RANK (that rank fails while the others wait for it), --verbose.
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>

#include "conformance/cases.hpp"
#include "conformance/kit.hpp"
#include "loom/transport/bootstrap.hpp"
#include "loom/transport/open.hpp"

namespace {

using namespace loom;

int wait_for_the_dead(transport::Transport& transport, Rank dies) {
    conformance::barrier(transport);
    if (transport.rank() == dies) raise(SIGKILL);
    conformance::Operations operations(transport);
    const conformance::Operation& receive = operations.receive(dies, 1, 1000);
    operations.wait();
    receive.check(transport::Message::Outcome::lost);
    if (transport.rank().value == 0) std::puts("told");
    return 3;
}

int run(int argc, char** argv) {
    bool verbose = false;
    const char* dies = nullptr;
    const char* fails = nullptr;
    for (int i = 1; i < argc; ++i) {
        if (std::string_view(argv[i]) == "--verbose") verbose = true;
        if (std::string_view(argv[i]) == "--die" && i + 1 < argc) dies = argv[++i];
        if (std::string_view(argv[i]) == "--fail" && i + 1 < argc) fails = argv[++i];
    }
    const auto bootstrap = transport::find_bootstrap();
    {
        const auto transport = transport::open_transport(*bootstrap);
        if (dies != nullptr) return wait_for_the_dead(*transport, Rank{static_cast<std::uint32_t>(std::atoi(dies))});
        if (fails != nullptr) {
            conformance::barrier(*transport);
            conformance::require(transport->rank().value != static_cast<std::uint32_t>(std::atoi(fails)), "as told");
            conformance::barrier(*transport);
            return 0;
        }
        conformance::run_all(*transport, [&](const std::string& name) {
            if (verbose) std::fprintf(stderr, "%u %s\n", transport->rank().value, name.c_str());
        });
        bootstrap->fence();
        if (transport->rank() == Rank{0})
            std::printf("%u ranks, %s by %s: %zu cases passed\n", transport->size(),
                        std::string(transport->name()).c_str(), std::string(bootstrap->name()).c_str(),
                        conformance::cases().size());
    }
    bootstrap->finished();
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "conformance: %s\n", error.what());
        return 1;
    }
}
