#include "coll/trips.hpp"

#include <algorithm>

namespace loom::coll {

namespace {

constexpr std::uint64_t large_1 = 64 * 1024, large_2 = 512 * 1024;

}  // namespace

std::int64_t cost_of_byte(Time time, std::uint64_t bytes) {
    return std::max<std::int64_t>(0, time.ps / static_cast<std::int64_t>(bytes));
}

model::WayCosts costs_of_way(Trips& meter, const Circumstances& about, std::uint32_t& free) {
    const Way way = about.way;
    const auto own = [&](Time time) { return Time{std::max<std::int64_t>((time - about.clock).ps, 0)}; };
    const Trip one = meter.trip(1, 8, 33, false);
    const Trip many = meter.trip(16, 8, 17, false);
    const std::uint64_t limit = meter.eager_limit();
    const Time round_trip = about.round_trip == Time{} ? one.whole : about.round_trip;

    model::WayCosts costs;
    model::MessageCosts& small = costs.small;
    const Time half{round_trip.ps / 2};
    const Time slope{std::max<std::int64_t>((many.whole - one.whole).ps / 15, 0)};
    small.send = std::min(many.rest, half);
    small.send_first = std::min(Time{std::max<std::int64_t>((own(one.first) - small.send).ps, 0)}, half - small.send);
    // With a core for each the two ends work at once, and the slower one is seen; on one core they take turns.
    const Time other = about.crowded ? Time{std::max<std::int64_t>((slope - small.send).ps, 0)} : slope;
    small.take = std::min(way == Way::far ? std::min(other, small.send) : other, half - small.send - small.send_first);
    small.latency = half - small.send - small.send_first - small.take;
    free = 16;
    if (way == Way::far && slope.ps > small.send.ps * 5 / 4) {
        small.gap = slope;
        free = 1;
        for (const std::uint32_t n : {2u, 4u, 8u}) {
            const Trip few = meter.trip(n, 8, 9, false);
            if ((few.whole - one.whole).ps > (n - 1) * small.send.ps * 3 / 2 + slope.ps) break;
            free = n;
        }
    }

    costs.limit = limit;
    if (limit >= 512) {
        const std::uint64_t bytes = std::min<std::uint64_t>(limit, 8192);
        const Trip eager = meter.trip(1, bytes, 17, false);
        const std::int64_t total = cost_of_byte(Time{(eager.whole - one.whole).ps / 2}, bytes);
        // The call of a send is the time of one core, with nobody's turns in it; the other end copies as much.
        small.send_byte = cost_of_byte(eager.first - one.first, bytes);
        if (way == Way::far)
            small.gap_byte = std::max<std::int64_t>(total - small.send_byte, 0);
        else
            small.take_byte = small.send_byte;
    }

    const std::uint64_t shorter = limit < large_1 ? large_1 : 2 * large_1;  // the way of large ones
    const Trip large = meter.trip(1, shorter, 9, false), larger = meter.trip(1, large_2, 7, false);
    const std::int64_t byte = cost_of_byte(Time{(larger.whole - large.whole).ps / 2}, large_2 - shorter);
    // One wire carries both: what it lets pass in a burst is not its rate.
    if (way == Way::far) small.gap_byte = std::max(small.gap_byte, byte);
    costs.large = small;
    costs.large.send_byte = way == Way::near ? byte : 0;
    costs.large.gap_byte = way == Way::far ? byte : 0;
    costs.large.take_byte = 0;
    const Time rest = Time{large.whole.ps / 2} - Time{byte * static_cast<std::int64_t>(shorter)};
    costs.large.latency = std::max(small.latency, rest - small.send - small.send_first - small.take);
    // Ranks that take turns lend in advance.
    costs.ready = way == Way::near && about.crowded ? Time{} : half;
    if (way == Way::near) {
        const Trip shared = meter.trip(1, large_1, 9, true), longer = meter.trip(1, large_2, 7, true);
        costs.shared_byte = std::min(cost_of_byte(Time{(longer.whole - shared.whole).ps / 2}, large_2 - large_1), byte);
        costs.copying = model::Copying::by_fewer;
        // Two copies, each of which touches memory that another core wrote last.
        small.send_byte = std::max(small.send_byte, costs.shared_byte);
        small.take_byte = std::max(small.take_byte, costs.shared_byte);
    }
    return costs;
}

bool plausible(const model::WayCosts& way, Way kind, bool crowded) {
    const bool far = kind == Way::far;
    const Time most = far ? milliseconds(5) : crowded ? microseconds(200) : microseconds(20);
    const std::int64_t byte = way.large.send_byte + way.large.gap_byte;
    return way.small.latency < most && byte > 0 && byte < (far ? 1'000'000 : 5'000) && way.small.send_byte < 10'000;
}

}  // namespace loom::coll
