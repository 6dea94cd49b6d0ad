#include "loom/manager/decision.hpp"

#include <fmt/format.h>

#include "loom/base/table.hpp"

namespace loom::manager {

std::string_view to_string(What what) {
    switch (what) {
        case What::leave:
            return "leave";
        case What::lower:
            return "lower";
        case What::add_victim:
            return "add victim";
        case What::mark_more:
            return "mark more";
        case What::drop_victim:
            return "drop victim";
        case What::restore:
            return "restore";
        case What::refused:
            return "refused";
        case What::unreadable:
            return "unreadable";
        case What::reset:
            return "reset";
    }
    return "?";
}

std::string_view to_string(Why why) {
    switch (why) {
        case Why::none:
            return "";
        case Why::congested:
            return "congested";
        case Why::host_waits:
            return "host waits";
        case Why::no_victims:
            return "no victims";
        case Why::duration:
            return "duration";
        case Why::stopped:
            return "stopped";
    }
    return "?";
}

namespace {

std::string ticks(std::uint64_t number, const char* threshold, std::uint64_t limit) {
    return fmt::format("{} ticks ({} {})", grouped(number), threshold, grouped(limit));
}

}  // namespace

std::string action_of(const Decision& d, const fabric::Fabric& fabric, const Settings& settings) {
    const auto name = [&](PortIndex index) {
        const fabric::Port& port = fabric.port(index);
        return fabric::describe(fabric, port.node, port.number);
    };
    const auto cause = [&] {
        return d.why == Why::host_waits ? "leads to a host and waited " + ticks(d.waited, "T_W", settings.wait)
                                        : "congested for " + ticks(d.congested, "T_C", settings.congestion);
    };
    const auto suffers = [&] {
        return fmt::format("{} waited {}", name(d.victim), ticks(d.victim_waited, "T_W", settings.wait));
    };
    const auto rates = [&] { return fmt::format("marking rate {} -> {}", d.old_rate, d.new_rate); };

    std::string text;
    switch (d.what) {
        case What::leave:
            text = fmt::format("left alone: {}, but no port that faces its switch waits", cause());
            break;
        case What::lower:
            text = fmt::format("{}: {}, and {}", rates(), cause(), suffers());
            break;
        case What::add_victim:
            text = fmt::format("one more victim: {}; {} now, marking rate stays {}", suffers(),
                               counted(d.victims, "victim", "victims"), d.new_rate);
            break;
        case What::mark_more:
            text = fmt::format("{}: {} still", rates(), suffers());
            break;
        case What::drop_victim:
            text = fmt::format("{} is a victim no more: it sent {} words after {} (T_D {}); {} left", name(d.victim),
                               grouped(d.data_now), grouped(d.data_before), grouped(settings.data),
                               counted(d.victims, "victim", "victims"));
            break;
        case What::restore:
            text = rates() + ": ";
            if (d.why == Why::no_victims)
                text += fmt::format("no victims are left after {}", counted(d.intervals, "sweep", "sweeps"));
            else if (d.why == Why::duration)
                text += fmt::format("low for {} (T_I {}), {} left", counted(d.intervals, "sweep", "sweeps"),
                                    settings.intervals, counted(d.victims, "victim", "victims"));
            else
                text += "the manager stops";
            break;
        case What::refused:
            text = fmt::format("{} was refused: {}", rates(), d.error);
            break;
        case What::unreadable:
            text = "counters of its switch not read: " + d.error;
            break;
        case What::reset:
            text = "a counter went backwards: taken as reset, what it counted since is the least it can be";
            break;
    }
    return fmt::format("{}: {}", name(d.port), text);
}

std::string describe(const Decision& d, const fabric::Fabric& fabric, const Settings& settings) {
    const bool quick = settings.sweep < milliseconds(100);
    return fmt::format("{:10.3f} {}  {}", quick ? d.time.microseconds() * 1e-3 : d.time.seconds(), quick ? "ms" : "s",
                       action_of(d, fabric, settings));
}

}  // namespace loom::manager
