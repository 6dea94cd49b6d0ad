#include "loom/coll/calibration.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "coll/page_vector.hpp"
#include "loom/base/error.hpp"
#include "loom/coll/operations.hpp"
#include "loom/coll/plan.hpp"

namespace loom::coll {

namespace {

constexpr std::array<std::string_view, 7> kinds{"empty", "hops", "exchanges", "combines", "burst", "copies", "reduces"};

constexpr std::uint64_t small_sizes[] = {8, 96, 768, 3000, 12'000};
constexpr std::uint64_t large_sizes[] = {24'000,  48'000,    96'000,    200'000,  400'000,
                                         800'000, 1'600'000, 3'000'000, 6'000'000};
constexpr std::uint64_t local_sizes[] = {8, 800, 12'000, 48'000, 200'000, 800'000, 3'000'000, 6'000'000};

std::uint32_t chain(std::uint64_t bytes) {
    return bytes <= 12'000 ? 16 : bytes <= 200'000 ? 8 : bytes <= 1'600'000 ? 4 : 2;
}

// Ranks stay on their cores in blocks (transport::Binding::crowded).
std::uint32_t core_of(std::uint32_t rank, std::uint32_t ranks, std::uint32_t cores) {
    return ranks <= cores ? rank : rank * cores / ranks;
}
bool is_first_of_core(std::uint32_t rank, std::uint32_t ranks, std::uint32_t cores) {
    return rank == 0 || core_of(rank, ranks, cores) != core_of(rank - 1, ranks, cores);
}

// Of the transport over the software HCA where every rank has a core (RendezvousSender::lends_in_advance).
constexpr std::uint64_t most_in_advance = 64 << 10;

constexpr std::uint32_t word_tag = 1u << 20;

// To and fro. What is to come is posted when what came before is there. All others wait for a word at the end.
void write_hops(const Probe& probe, std::uint32_t ranks, Writer& writer) {
    const Rank me = writer.me();
    if (me != probe.from && me != probe.to) {
        writer.receive(probe.to, output(), 8, {}, word_tag);
        return;
    }
    const Rank partner = me == probe.from ? probe.to : probe.from;
    std::vector<Writer::Step> came;
    for (std::uint32_t i = 0; i < probe.count; ++i) {
        const bool sends = (i % 2 == 0) == (me == probe.from);
        if (sends)
            writer.send(partner, input(), probe.bytes, came, i);
        else
            came = {writer.receive(partner, output(), probe.bytes, came, i)};
    }
    if (me != probe.to) return;
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
        if (Rank{rank} != probe.from && Rank{rank} != probe.to) writer.send(Rank{rank}, input(), 8, came, word_tag);
}

void write_exchanges(const Probe& probe, std::uint32_t ranks, Writer& writer) {
    const std::uint32_t me = writer.me().value, apart = probe.to.value - probe.from.value;
    const Rank partner{me / apart % 2 == 0 ? me + apart : me - apart};
    if (partner.value >= ranks) {
        writer.join({});
        return;
    }
    const bool combines = probe.kind == Probe::Kind::combines;
    const Place into = combines ? writer.take_scratch(probe.bytes) : output();
    std::vector<Writer::Step> came;
    for (std::uint32_t i = 0; i < probe.count; ++i) {
        const Writer::Step sent = writer.send(partner, input(), probe.bytes, came, i);
        const Writer::Step here = writer.receive(partner, into, probe.bytes, came, i);
        if (combines)
            came = {sent, writer.reduce(into, output(), probe.bytes, {here})};
        else
            came = {sent, here};
    }
}

void write_burst(const Probe& probe, std::uint32_t ranks, Writer& writer) {
    const Rank me = writer.me();
    std::vector<Writer::Step> came;
    for (std::uint32_t i = 0; i < probe.count && me == probe.from; ++i)
        writer.send(probe.to, input(), probe.bytes, {}, i);
    for (std::uint32_t i = 0; i < probe.count && me == probe.to; ++i)
        came.push_back(writer.receive(probe.from, output(i * probe.bytes), probe.bytes, {}, i));
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        if (Rank{rank} == probe.from || Rank{rank} == probe.to) continue;
        if (me == probe.to) writer.send(Rank{rank}, input(), 8, came, word_tag);
        if (me == Rank{rank}) writer.receive(probe.to, output(), 8, {}, word_tag);
    }
}

void write_local(const Probe& probe, std::uint32_t ranks, std::uint32_t cores, Writer& writer) {
    std::vector<Writer::Step> before;
    if (!is_first_of_core(writer.me().value, ranks, cores)) {
        writer.join({});
        return;
    }
    for (std::uint32_t i = 0; i < probe.count; ++i)
        before = {probe.kind == Probe::Kind::copies ? writer.copy(input(), output(), probe.bytes, before)
                                                    : writer.reduce(input(), output(), probe.bytes, before)};
}

Time not_negative(Time time) {
    return std::max(time, Time{});
}

// What one message or copy of a probe took, by bytes.
struct Point {
    std::uint64_t bytes = 0;
    Time time;
};

class Seen {
public:
    // Where ranks share cores, another may have ours when a round begins: the quicker rounds are those that tell.
    Seen(std::span<const Probed> probed, bool crowded) : all_(probed), crowded_(crowded) {
        const auto empty = std::find_if(all_.begin(), all_.end(),
                                        [](const Probed& each) { return each.probe.kind == Probe::Kind::empty; });
        if (empty == all_.end()) throw UsageError("what a call costs was not probed");
        call_ = crowded ? empty->low : empty->time;
    }

    [[nodiscard]] Time call() const { return call_; }
    [[nodiscard]] std::vector<Point> points(Probe::Kind kind, Rank to) const {
        std::vector<Point> found;
        for (const Probed& each : all_)
            if (each.probe.kind == kind && each.probe.to == to)
                found.push_back({each.probe.bytes, Time{not_negative(time_of(each) - call_).ps / each.probe.count}});
        std::sort(found.begin(), found.end(), [](const Point& a, const Point& b) { return a.bytes < b.bytes; });
        if (found.empty())
            throw UsageError(std::string(to_string(kind)) + " to rank " + std::to_string(to.value) +
                             " were not probed");
        return found;
    }
    // Of each but the first of the smallest, at the receiver.
    [[nodiscard]] Time taking_in_turn(Rank to, Time first) const {
        for (const Probed& each : all_)
            if (each.probe.kind == Probe::Kind::burst && each.probe.to == to)
                return Time{not_negative(each.other - call_ - first).ps / (each.probe.count - 1)};
        throw UsageError("bursts to rank " + std::to_string(to.value) + " were not probed");
    }

private:
    // Of work of one rank alone, which a turn at the beginning delays.
    [[nodiscard]] Time time_of(const Probed& each) const {
        const Probe::Kind kind = each.probe.kind;
        const bool alone = kind == Probe::Kind::copies || kind == Probe::Kind::reduces || kind == Probe::Kind::burst;
        return crowded_ && alone ? each.low : each.time;
    }

    std::span<const Probed> all_;
    bool crowded_;
    Time call_;
};

// Of a byte, between two of them.
std::int64_t slope(const Point& a, const Point& b) {
    return std::max<std::int64_t>(0, (b.time - a.time).ps / static_cast<std::int64_t>(b.bytes - a.bytes));
}

// From the smallest to each: the one in the middle. Short messages cost more a byte than long ones.
std::int64_t typical_slope(const std::vector<Point>& points) {
    std::vector<std::int64_t> all;
    for (std::size_t i = 1; i < points.size(); ++i) all.push_back(slope(points.front(), points[i]));
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    std::nth_element(all.begin(), middle, all.end());
    return *middle;
}

// In between by the bytes.
Time at(const std::vector<Point>& points, std::uint64_t bytes) {
    const auto above =
        std::find_if(points.begin(), points.end(), [&](const Point& each) { return each.bytes >= bytes; });
    if (above == points.begin()) return points.front().time;
    if (above == points.end()) return points.back().time;
    const Point& below = *(above - 1);
    return below.time + Time{(above->time - below.time).ps / static_cast<std::int64_t>(above->bytes - below.bytes) *
                             static_cast<std::int64_t>(bytes - below.bytes)};
}

std::vector<Point> beyond(std::vector<Point> points, std::uint64_t limit) {
    std::erase_if(points, [&](const Point& each) { return each.bytes <= limit; });
    if (points.size() < 2) throw UsageError("too few large messages were probed");
    return points;
}

}  // namespace

std::string_view to_string(Probe::Kind kind) {
    return kinds[static_cast<std::size_t>(kind)];
}

Probe::Kind parse_probe(std::string_view name) {
    const auto at = std::find(kinds.begin(), kinds.end(), name);
    if (at == kinds.end()) throw UsageError("there is no probe '" + std::string(name) + "'");
    return static_cast<Probe::Kind>(at - kinds.begin());
}

std::vector<Probe> probes(std::uint32_t ranks, std::uint32_t cores) {
    using Kind = Probe::Kind;
    std::vector<Probe> all{{Kind::empty, {}, Rank{1}, 0, 1}};
    // The first on another core, and the first where it shares one.
    std::vector<std::uint32_t> partners;
    for (std::uint32_t rank = 1; rank < ranks && partners.empty(); ++rank)
        if (core_of(rank, ranks, cores) != 0) partners.push_back(rank);
    if (partners.empty() || partners[0] != 1) partners.push_back(1);
    for (const std::uint32_t to : partners) {
        for (const std::uint64_t bytes : small_sizes) {
            all.push_back({Kind::hops, {}, Rank{to}, bytes, chain(bytes)});
            all.push_back({Kind::burst, {}, Rank{to}, bytes, bytes > 3000 ? 4u : 16u});
        }
        for (const std::uint64_t bytes : large_sizes) all.push_back({Kind::hops, {}, Rank{to}, bytes, chain(bytes)});
        for (const std::uint64_t bytes : small_sizes)
            all.push_back({Kind::exchanges, {}, Rank{to}, bytes, chain(bytes)});
        for (const std::uint64_t bytes : large_sizes)
            for (const Kind kind : {Kind::exchanges, Kind::combines})
                all.push_back({kind, {}, Rank{to}, bytes, chain(bytes)});
    }
    for (const std::uint64_t bytes : local_sizes)
        for (const Kind kind : {Kind::copies, Kind::reduces}) all.push_back({kind, {}, Rank{1}, bytes, chain(bytes)});
    return all;
}

Plan plan_of(const Probe& probe, std::uint32_t ranks, std::uint32_t cores, Rank me) {
    Writer writer(ranks, me);
    switch (probe.kind) {
        case Probe::Kind::empty:
            writer.join({});
            break;
        case Probe::Kind::hops:
            write_hops(probe, ranks, writer);
            break;
        case Probe::Kind::exchanges:
        case Probe::Kind::combines:
            write_exchanges(probe, ranks, writer);
            break;
        case Probe::Kind::burst:
            write_burst(probe, ranks, writer);
            break;
        case Probe::Kind::copies:
        case Probe::Kind::reduces:
            write_local(probe, ranks, cores, writer);
            break;
    }
    return writer.finish();
}

std::vector<Probed> run_probes(World& world, std::span<const Probe> probes, std::uint32_t rounds, Time most) {
    constexpr std::uint32_t passes = 3;
    const Communicator everyone = world.communicator();
    const std::uint32_t ranks = everyone.size(), cores = world.transport().cores();
    std::uint64_t bytes = 0;
    for (const Probe& each : probes)
        bytes = std::max(bytes, each.kind == Probe::Kind::burst ? each.bytes * each.count : each.bytes);
    PageVector<std::byte> in(bytes + 64), out(bytes + 64);
    std::memset(in.data(), 0, in.size());
    std::memset(out.data(), 0, out.size());
    const Reduction sum = builtin(Operator::sum, Number::f64);
    Rounds timer(world);
    std::vector<std::shared_ptr<const Plan>> plans;
    for (const Probe& each : probes)
        plans.push_back(std::make_shared<const Plan>(plan_of(each, ranks, cores, everyone.rank())));
    std::vector<RoundTimes> times(probes.size());
    for (std::uint32_t pass = 0; pass < passes; ++pass)
        for (std::size_t i = 0; i < probes.size(); ++i) {
            const auto begin = [&] { return everyone.start(plans[i], {in.data(), out.data()}, &sum); };
            const std::uint32_t warm_up = pass == 0 ? 8 : 3;
            times[i].add(timer.run(begin, warm_up, std::max(rounds / passes, 3u), Time{most.ps / passes}));
        }
    std::vector<Probed> probed;
    for (std::size_t i = 0; i < probes.size() && everyone.rank() == Rank{0}; ++i) {
        const bool all = probes[i].kind == Probe::Kind::exchanges || probes[i].kind == Probe::Kind::combines;
        const std::vector<Time> ends = all ? times[i].last() : times[i].of(probes[i].from);
        probed.push_back({probes[i], quantile(ends, 0.5), quantile(times[i].of(probes[i].to), 0.5),
                          quantile(ends, 0.25), quantile(ends, 0.75)});
    }
    return probed;
}

namespace {

// Messages that are over before they are received: a line from the smallest on, whose parts are what
// the sender's call took in bursts, what the receiver takes for each of them, and the rest on the way.
model::MessageCosts small_costs(const Seen& seen, Rank to, std::uint64_t limit) {
    std::vector<Point> hops = seen.points(Probe::Kind::hops, to), sends = seen.points(Probe::Kind::burst, to);
    for (std::vector<Point>* each : {&hops, &sends})
        std::erase_if(*each, [&](const Point& point) { return point.bytes > limit; });
    if (hops.size() < 2 || sends.size() < 2) throw UsageError("too few small messages were probed");
    const Time whole = hops.front().time;
    model::MessageCosts small;
    small.send = std::min(sends.front().time, whole);
    small.take = std::min(seen.taking_in_turn(to, whole), whole - small.send);
    small.latency = whole - small.send - small.take;
    const std::int64_t byte = typical_slope(hops);
    small.send_byte = std::min(typical_slope(sends), byte);
    small.take_byte = byte - small.send_byte;
    return small;
}

// Where a line through the first two of them begins.
Time intercept(const std::vector<Point>& points) {
    return not_negative(points[0].time -
                        Time{slope(points[0], points[1]) * static_cast<std::int64_t>(points[0].bytes)});
}

std::int64_t byte_of(Time time, std::uint64_t bytes) {
    return std::max<std::int64_t>(1, time.ps / static_cast<std::int64_t>(bytes));
}

// By how much a core works on: in exchanges every rank of a core copies, `together` of them one after another.
std::vector<model::SizedCosts> sized_costs(const Seen& seen, Rank to, std::uint64_t limit, std::int64_t together,
                                           Time step) {
    const std::vector<Point> both = beyond(seen.points(Probe::Kind::exchanges, to), limit);
    const std::vector<Point> combined = beyond(seen.points(Probe::Kind::combines, to), limit);
    const std::vector<Point> hops = beyond(seen.points(Probe::Kind::hops, to), limit);
    const std::vector<Point> copies = seen.points(Probe::Kind::copies, Rank{1});
    const std::vector<Point> reduces = seen.points(Probe::Kind::reduces, Rank{1});
    const Time fixed = intercept(both);
    std::vector<model::SizedCosts> sized;
    for (const Point& each : both) {
        const std::uint64_t bytes = each.bytes;
        const Time reduce = at(reduces, bytes);
        sized.push_back({2 * bytes * static_cast<std::uint64_t>(together), byte_of(at(copies, bytes) - step, bytes),
                         byte_of(reduce - step, bytes), byte_of(Time{(each.time - fixed).ps / together}, bytes),
                         byte_of(Time{(at(combined, bytes) - fixed).ps / together} - reduce, bytes),
                         together > 1 ? 0 : byte_of(at(hops, bytes) - fixed, bytes)});
    }
    return sized;
}

}  // namespace

model::Charges calibrated(std::span<const Probed> probed, std::uint32_t ranks, std::uint32_t cores,
                          std::uint64_t limit) {
    const bool crowded = ranks > cores;
    const Seen seen(probed, crowded);
    std::uint32_t other = 1;
    while (other + 1 < ranks && core_of(other, ranks, cores) == 0) ++other;
    const Rank to{other};
    const std::int64_t together = crowded ? (ranks + cores - 1) / cores : 1;
    model::Charges charges;
    charges.waits_for = model::Large::ready;
    charges.free = 16;
    charges.call = seen.call();
    charges.way.limit = limit;
    charges.way.copying = model::Copying::by_fewer;
    charges.way.advance = crowded ? UINT64_MAX : most_in_advance;
    model::MessageCosts& small = charges.way.small;
    small = small_costs(seen, to, limit);
    Time turns{};  // in every hop
    if (crowded) {
        charges.host_cores = cores;
        const Time alike = seen.points(Probe::Kind::hops, Rank{1}).front().time;
        turns = std::min(small.latency, not_negative(alike - small.send - small.take));
        charges.turn = Time{turns.ps * 2 / together};
        small.latency = small.latency - turns;
    }
    charges.way.large = small;
    charges.way.large.take_byte = 0;
    const Time fixed =
        intercept(beyond(seen.points(crowded ? Probe::Kind::hops : Probe::Kind::exchanges, to), limit)) - turns;
    // The kernel's part of a copy between processes is the receiver's core's.
    charges.way.large.take = not_negative(fixed - small.send - small.latency);
    charges.way.ready = small.latency;
    charges.local.step = seen.points(Probe::Kind::copies, Rank{1}).front().time;
    charges.sized = sized_costs(seen, to, limit, together, charges.local.step);
    const model::SizedCosts& least = charges.sized.front();
    charges.local.copy = least.copy;
    charges.local.reduce = least.reduce;
    charges.way.large.send_byte = least.large_byte;
    charges.way.shared_byte = least.shared_byte;
    charges.way.alone_byte = least.alone_byte;
    return charges;
}

}  // namespace loom::coll
