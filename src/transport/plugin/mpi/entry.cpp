// libloom-transport-openmpi.so and libloom-transport-mpich.so: one source, two builds.
#include <memory>

#include "transport/plugin/mpi/bootstrap.hpp"
#include "transport/plugin/mpi/transport.hpp"

#define LOOM_EXPORT extern "C" __attribute__((visibility("default")))

LOOM_EXPORT const char* loom_plugin_version() {
    return loom::transport::plugin::version;
}

LOOM_EXPORT loom::transport::Bootstrap* loom_open_bootstrap(const loom::transport::plugin::Settings& settings) {
    return std::make_unique<loom::transport::plugin::MpiBootstrap>(settings).release();
}

LOOM_EXPORT loom::transport::Transport* loom_open_transport(loom::transport::Bootstrap& bootstrap,
                                                            const loom::transport::plugin::Settings&) {
    return std::make_unique<loom::transport::plugin::MpiTransport>(bootstrap).release();
}
