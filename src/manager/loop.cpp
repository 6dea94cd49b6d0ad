#include <algorithm>
#include <exception>
#include <vector>

#include "loom/base/error.hpp"
#include "loom/manager/dcms.hpp"

namespace loom::manager {

namespace {

constexpr unsigned patience = 3;  // sweeps without one readable switch

// Reads switch by switch, so that one that does not answer costs its own ports only. The last error when nothing
// could be read at all.
std::exception_ptr read_all(Dcms& manager, const fabric::Fabric& fabric, fabric::CounterSource& source,
                            fabric::Clock& clock) {
    const std::vector<PortIndex> wanted(manager.wanted().begin(), manager.wanted().end());
    std::vector<fabric::PortCounters> counters;
    std::exception_ptr last;
    bool any = wanted.empty();
    for (std::size_t begin = 0, end; begin < wanted.size(); begin = end) {
        const NodeId node = fabric.port(wanted[begin]).node;
        for (end = begin; end < wanted.size() && fabric.port(wanted[end]).node == node;) ++end;
        const std::span ports(wanted.data() + begin, end - begin);
        counters.assign(ports.size(), {});
        try {
            source.read(ports, counters);
        } catch (const Error& error) {
            last = std::current_exception();
            manager.unreadable(ports, clock.now(), error.what());
            continue;
        }
        any = true;
        const Time when = clock.now();
        for (std::size_t i = 0; i < ports.size(); ++i) manager.observe(ports[i], when, counters[i]);
    }
    return any ? nullptr : last;
}

}  // namespace

Work run_manager(const fabric::Fabric& fabric, fabric::CounterSource& counters,
                 fabric::CongestionParameters& parameters, fabric::Clock& clock, const Settings& settings,
                 const OnDecision& decided) {
    Dcms manager(fabric, settings);
    if (manager.wanted().empty()) throw Error("the fabric has no switch port with a cable: nothing to manage");
    unsigned failures = 0;
    try {
        for (;;) {
            const Time begun = clock.now();
            if (const auto error = read_all(manager, fabric, counters, clock)) {
                if (manager.work().sweeps == 0 || ++failures == patience) std::rethrow_exception(error);
            } else {
                failures = 0;
            }
            manager.judge(clock.now(), parameters, decided);
            if (settings.sweeps != 0 && manager.work().sweeps >= settings.sweeps) break;
            if (!clock.sleep_until(std::max(begun + manager.interval(), clock.now()))) break;
        }
    } catch (...) {
        manager.stop(clock.now(), parameters, decided);
        throw;
    }
    manager.stop(clock.now(), parameters, decided);
    return manager.work();
}

}  // namespace loom::manager
