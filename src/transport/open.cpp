#include "loom/transport/open.hpp"

#include <atomic>
#include <cstdio>

#include "loom/base/error.hpp"
#include "loom/base/settings.hpp"
#include "transport/plugins.hpp"

namespace loom::transport {

namespace {

// Once for a process, and by rank 0 for all. Names that were meant for the software HCA are its own business.
void remark_on_settings(Rank rank) {
    static std::atomic<bool> done{false};
    if (rank != Rank{0} || done.exchange(true)) return;
    for (const settings::Unknown& each : settings::unknown())
        if (settings::info(each.nearest).room != std::string_view("hca"))
            std::fprintf(stderr, "loom: %s\n", settings::remark(each).c_str());
}

}  // namespace

std::unique_ptr<Transport> open_transport(Bootstrap& bootstrap, std::string_view name) {
    remark_on_settings(bootstrap.rank());
    std::string wanted(name), origin;
    if (wanted == "auto") {
        wanted = bootstrap.name() == "twin" ? "twin" : settings::read(Setting::transport).value_or("verbs");
        origin = "LOOM_TRANSPORT: ";
    }
    if (wanted == "verbs") return open_verbs(bootstrap);
    if (wanted == "mpi") return open_mpi(bootstrap);
    if (wanted == "twin") return plugged_transport("twin", bootstrap);
    throw UsageError(origin + "no such transport: " + wanted + "; expected verbs or mpi");
}

}  // namespace loom::transport
