#include "loom/model/assumed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "loom/base/error.hpp"

namespace loom::model {

namespace {

constexpr Assumption table[] = {
    {"copy", assumed::copy, "ps/B", "10 GB/s: one core between two buffers that its caches hold in part"},
    {"reduce", assumed::reduce, "ps/B", "5 GB/s: two operands are read where a copy reads one"},
    {"step", assumed::step.ps, "ps", "a call and a cache line that another core wrote"},
    {"o_send", assumed::send.ps, "ps", "a work request posted through the software HCA"},
    {"o_first", assumed::send_first.ps, "ps", "caches that did something else before the first of several sends"},
    {"o_receive", assumed::receive.ps, "ps", "a completion polled and matched"},
    {"link", assumed::megabits, "Mbit/s", "4xEDR, where no fabric and no --rate says otherwise"},
    {"switches", assumed::switches, "switches", "leaf, spine, leaf"},
    {"cable_delay", assumed::cable_delay.ps, "ps", "10 m at 5 ns a metre"},
    {"switch_delay", assumed::switch_delay.ps, "ps", "what vendors state for a switch, port to port"},
    {"host_delay", assumed::host_delay.ps, "ps", "from posting to the wire, and from the wire to completion"},
};

// What a rank waits longer for each other rank that has its core.
constexpr Time turn_of_a_core = nanoseconds(500);

std::string a_byte(std::int64_t ps) {
    return fmt::format("{:g} ns/B", static_cast<double>(ps) / 1000);
}

std::string local_text(const LocalCosts& local) {
    return fmt::format("copy {}, reduce {}, step {}", a_byte(local.copy), a_byte(local.reduce), to_string(local.step));
}

std::size_t most_on_a_host(std::span<const std::uint32_t> hosts) {
    std::vector<std::uint32_t> sorted(hosts.begin(), hosts.end());
    std::sort(sorted.begin(), sorted.end());
    std::size_t most = 0;
    for (auto begin = sorted.begin(); begin != sorted.end();) {
        const auto end = std::upper_bound(begin, sorted.end(), *begin);
        most = std::max(most, static_cast<std::size_t>(end - begin));
        begin = end;
    }
    return most;
}

void over_ethernet(Charges& charges) {
    charges.free = 4;
    charges.far = charges.way;
    charges.far->copying = Copying::by_costs;
    for (MessageCosts* costs : {&charges.far->small, &charges.far->large}) {
        costs->latency += microseconds(5);
        costs->gap = nanoseconds(500);
        costs->gap_byte = 800;
        costs->send_byte = 0;
    }
    charges.far->ready += microseconds(5);
}

}  // namespace

std::span<const Assumption> assumptions() {
    return table;
}

LocalCosts assumed_local() {
    return {.copy = assumed::copy, .reduce = assumed::reduce, .step = assumed::step};
}

Charges assumed_charges(std::span<const std::uint32_t> hosts, std::uint32_t cores) {
    Charges charges;
    const MessageCosts small{.send = assumed::send,
                             .send_first = assumed::send_first,
                             .send_byte = 100,
                             .latency = nanoseconds(200),
                             .take = assumed::receive,
                             .take_byte = 100};
    MessageCosts large = small;
    large.latency = nanoseconds(500);
    large.take_byte = 0;
    charges.way = {small, large, 8192, nanoseconds(500), Copying::by_fewer, 60};
    charges.waits_for = Large::ready;
    charges.free = 16;
    charges.local = assumed_local();
    const std::size_t most = most_on_a_host(hosts);
    if (most > cores) {
        charges.host_cores = cores;
        const Time turn = turn_of_a_core * static_cast<std::int64_t>((most + cores - 1) / cores);
        charges.way.small.latency += turn;
        charges.way.large.latency += turn;
        charges.way.ready += turn;
    }
    if (std::any_of(hosts.begin(), hosts.end(), [&](std::uint32_t host) { return host != hosts[0]; }))
        over_ethernet(charges);
    return charges;
}

Time Link::latency() const {
    return 2 * host_delay + (std::int64_t{switches} + 1) * cable_delay + std::int64_t{switches} * switch_delay;
}

std::int64_t Link::byte_ps() const {
    if (megabits == 0) throw UsageError("a link without a rate takes no bytes");
    return (8'000'000 + std::int64_t{megabits} / 2) / megabits;
}

Charges with_link(Charges charges, const Link& link) {
    WayCosts far = charges.far ? *charges.far : charges.way;
    far.copying = Copying::by_costs;
    for (MessageCosts* costs : {&far.small, &far.large}) {
        costs->latency = link.latency();
        costs->gap = Time{};
        costs->gap_byte = link.byte_ps();
        costs->send_byte = 0;
    }
    far.ready = link.latency();
    charges.far = far;
    return charges;
}

std::string costs_line(const LocalCosts& local, std::string_view origin) {
    return fmt::format("costs: {} ({})", local_text(local), origin);
}

std::string costs_line(const Charges& charges, std::string_view origin) {
    const MessageCosts& m = charges.far ? charges.far->small : charges.way.small;
    const std::string o =
        m.send == m.take ? to_string(m.send) : fmt::format("{} + {}", to_string(m.send), to_string(m.take));
    return fmt::format("costs: {}, o {}, L {}, g {}, G {} ({})", local_text(charges.local), o, to_string(m.latency),
                       to_string(m.gap), a_byte(m.gap_byte), origin);
}

}  // namespace loom::model
