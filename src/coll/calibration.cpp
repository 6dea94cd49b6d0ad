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

constexpr std::array<std::string_view, 6> kinds{"empty", "hops", "exchanges", "burst", "copies", "reduces"};

constexpr std::uint64_t small_sizes[] = {8, 96, 768, 3000, 12'000};
constexpr std::uint64_t large_sizes[] = {24'000, 48'000, 96'000, 200'000, 400'000, 800'000, 1'600'000, 3'000'000, 6'000'000};
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
        if (Rank{rank} != probe.from && Rank{rank} != probe.to)
            writer.send(Rank{rank}, input(), 8, came, word_tag);
}

void write_exchanges(const Probe& probe, std::uint32_t ranks, Writer& writer) {
    const std::uint32_t me = writer.me().value, apart = probe.to.value - probe.from.value;
    const Rank partner{(me / apart % 2 == 0 ? me + apart : me - apart) % ranks};
    std::vector<Writer::Step> came;
    for (std::uint32_t i = 0; i < probe.count; ++i) {
        const Writer::Step sent = writer.send(partner, input(), probe.bytes, came, i);
        const Writer::Step here = writer.receive(partner, output(), probe.bytes, came, i);
        came = {sent, here};
    }
}

void write_burst(const Probe& probe, std::uint32_t ranks, Writer& writer) {
    const Rank me = writer.me();
    std::vector<Writer::Step> came;
    for (std::uint32_t i = 0; i < probe.count && me == probe.from; ++i) writer.send(probe.to, input(), probe.bytes, {}, i);
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

const Probed& find(std::span<const Probed> all, Probe::Kind kind, std::uint64_t bytes, Rank to) {
    for (const Probed& each : all)
        if (each.probe.kind == kind && each.probe.bytes == bytes && each.probe.to == to) return each;
    throw UsageError("the costs of " + std::string(to_string(kind)) + " of " + std::to_string(bytes) +
                     " bytes to rank " + std::to_string(to.value) + " were not probed");
}

Time not_negative(Time time) {
    return std::max(time, Time{});
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
    const std::uint32_t far = ranks <= cores ? 1 : ranks / 2;  // the first on another core
    std::vector<std::uint32_t> partners{far};
    if (far != 1) partners.push_back(1);
    for (const std::uint32_t to : partners) {
        for (const std::uint64_t bytes : small_sizes) {
            all.push_back({Kind::hops, {}, Rank{to}, bytes, chain(bytes)});
            all.push_back({Kind::burst, {}, Rank{to}, bytes, bytes > 3000 ? 4u : 16u});
        }
        for (const std::uint64_t bytes : large_sizes) all.push_back({Kind::hops, {}, Rank{to}, bytes, chain(bytes)});
        for (const std::uint64_t bytes : small_sizes)
            all.push_back({Kind::exchanges, {}, Rank{to}, bytes, chain(bytes)});
        for (const std::uint64_t bytes : large_sizes)
            all.push_back({Kind::exchanges, {}, Rank{to}, bytes, chain(bytes)});
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
        if (times[i].rounds() == 0) throw Error("the machine is too busy to time anything");
        const bool all = probes[i].kind == Probe::Kind::exchanges;
        const std::vector<Time> ends = all ? times[i].last() : times[i].of(probes[i].from);
        probed.push_back({probes[i], quantile(ends, 0.5), quantile(times[i].of(probes[i].to), 0.5),
                          quantile(ends, 0.25), quantile(ends, 0.75)});
    }
    return probed;
}

model::Charges calibrated(std::span<const Probed> probed, std::uint32_t ranks, std::uint32_t cores,
                          std::uint64_t limit) {
    (void)probed, (void)ranks, (void)cores, (void)limit, (void)not_negative, (void)find;
    return {};
}

}  // namespace loom::coll
