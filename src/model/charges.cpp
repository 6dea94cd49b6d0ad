#include <algorithm>

#include "loom/model/walk.hpp"
#include "loom/traffic/playing.hpp"

namespace loom::model {

namespace {

// How often `from` must double to reach `bytes`, in 1/16: whole ones, and the rest as if it grew evenly between.
std::uint64_t doublings(std::uint64_t bytes, std::uint64_t from) {
    std::uint64_t count = 0, at = std::max<std::uint64_t>(from, 1);
    for (; at <= bytes / 2; at *= 2) count += 16;
    return bytes <= at ? count : count + (bytes - at) * 16 / at;
}

}  // namespace

Charges charges(const LogGp& p) {
    Charges c;
    c.way.small = {.send = p.o, .gap = p.g, .gap_byte = p.G, .latency = p.L, .take = p.o};
    c.way.large = c.way.small;
    c.local = p.local;
    return c;
}

Charges charges(const LogfP& p) {
    Charges c;
    c.way.small = {
        .send = p.o_min, .send_first = p.o_max, .gap = p.g, .gap_byte = p.G, .latency = p.L, .take = p.o_receive};
    c.way.large = c.way.small;
    c.free = p.f;
    c.local = p.local;
    return c;
}

Charges charges(const LogGops& p, const LocalCosts& local) {
    Charges c;
    c.way.small = {.send = p.o,
                   .send_byte = p.O,
                   .gap = p.g,
                   .gap_byte = p.G,
                   .latency = p.L,
                   .take = p.o,
                   .take_byte = std::max(p.O, p.G)};
    c.way.large = c.way.small;
    c.way.limit = p.S;
    c.waits_for = Large::match;
    c.taking = Taking::during_arrival;
    c.local = local;
    return c;
}

Time Prediction::finish() const {
    Time last{};
    for (const Time end : ends) last = std::max(last, end);
    return last;
}

std::vector<std::string> trouble(const traffic::Schedule& schedule, const Prediction& prediction) {
    std::vector<traffic::OpIndex> waiting;
    for (traffic::OpIndex op = 0; op < schedule.size() && !prediction.finished; ++op) {
        const Span& span = prediction.ops[op];
        if (span.begin != never && span.end == never) waiting.push_back(op);  // others wait for one of these
    }
    return traffic::trouble_text(schedule, waiting, prediction.untaken);
}

namespace {

Charges with_sized(const Charges& charges, const SizedCosts& costs) {
    Charges out = charges;
    out.local.copy = costs.copy;
    out.local.reduce = costs.reduce;
    out.way.large.send_byte = costs.large_byte;
    out.way.shared_byte = costs.shared_byte;
    out.way.alone_byte = costs.alone_byte;
    out.sized.clear();
    out.cold.reset();
    return out;
}

Charges by_size(const Charges& charges, std::uint64_t bytes) {
    const std::vector<SizedCosts>& known = charges.sized;
    const auto above = std::find_if(known.begin(), known.end(), [&](const auto& each) { return each.bytes >= bytes; });
    if (above == known.begin()) return with_sized(charges, known.front());
    if (above == known.end()) return with_sized(charges, known.back());
    const SizedCosts &a = *(above - 1), &b = *above;
    const auto reach = static_cast<std::int64_t>(std::max<std::uint64_t>(doublings(b.bytes, a.bytes), 1));
    const auto part = std::min(static_cast<std::int64_t>(doublings(bytes, a.bytes)), reach);
    const auto between = [&](std::int64_t from, std::int64_t to) { return from + (to - from) * part / reach; };
    return with_sized(charges,
                      {bytes, between(a.copy, b.copy), between(a.reduce, b.reduce), between(a.large_byte, b.large_byte),
                       between(a.shared_byte, b.shared_byte), between(a.alone_byte, b.alone_byte)});
}

}  // namespace

Charges for_working_set(const Charges& charges, std::uint64_t bytes_a_core) {
    if (!charges.sized.empty()) return by_size(charges, bytes_a_core);
    if (!charges.cold || bytes_a_core <= charges.cold->fits) return charges;
    const ColdCosts& cold = *charges.cold;
    // In 1/256, by the doublings since `fits`.
    const std::uint64_t reach = doublings(cold.spills, cold.fits);
    const std::uint64_t share =
        std::min<std::uint64_t>(256, doublings(bytes_a_core, cold.fits) * 256 / std::max<std::uint64_t>(reach, 1));
    const auto mixed = [&](std::int64_t warm, std::int64_t colder) {
        return warm + std::max<std::int64_t>(colder - warm, 0) * static_cast<std::int64_t>(share) / 256;
    };
    Charges out = charges;
    out.local.copy = mixed(charges.local.copy, cold.copy);
    out.local.reduce = mixed(charges.local.reduce, cold.reduce);
    out.way.large.send_byte = mixed(charges.way.large.send_byte, cold.large_byte);
    out.way.shared_byte = mixed(charges.way.shared_byte, cold.shared_byte);
    out.cold.reset();
    return out;
}

}  // namespace loom::model
