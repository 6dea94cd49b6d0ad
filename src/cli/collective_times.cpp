#include "cli/collective_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "loom/base/error.hpp"
#include "loom/coll/explain.hpp"
#include "loom/coll/forecast.hpp"
#include "loom/coll/operations.hpp"
#include "loom/coll/rounds.hpp"
#include "loom/coll/world.hpp"
#include "loom/model/parameters.hpp"

namespace loom::cli {

using nlohmann::ordered_json;

namespace {

constexpr std::uint32_t passes = 3;

// Rounds that do not count: rings of frames are cold until they have gone round once, pages move after some uses.
std::uint32_t warm_up(std::uint64_t bytes) {
    return bytes <= 16384 ? 60 : bytes <= 1 << 20 ? 12 : 5;
}

// A whole number of pages, none of which is new when it is timed.
class Pages {
public:
    explicit Pages(std::size_t bytes) : memory_(static_cast<std::byte*>(std::aligned_alloc(4096, whole(bytes)))) {
        if (memory_ == nullptr) throw std::bad_alloc();
        std::memset(memory_, 0, whole(bytes));
    }
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;
    ~Pages() { std::free(memory_); }
    [[nodiscard]] std::byte* data() const { return memory_; }

private:
    static std::size_t whole(std::size_t bytes) { return (bytes / 4096 + 1) * 4096; }
    std::byte* memory_;
};

// A cell on this rank.
struct Running {
    coll::UniformCall call;
    coll::Call mine;
    coll::Communicator on;
    coll::Choice choice;
};

bool of_neighbours(coll::Collective what) {
    return what >= coll::Collective::neighbour_allgather;
}

// Of blocks that a rank has one of, a uniform call has as many as there are ranks.
coll::Call call_of(const coll::UniformCall& call, Rank me) {
    using coll::Collective;
    coll::Call mine = call.calls()[me.value];
    const auto first = [](const coll::Blocks& blocks) {
        return coll::Blocks{blocks.bytes.first(1), blocks.at.first(1)};
    };
    const bool root = mine.root == me;
    if ((mine.what == Collective::gatherv && !root) || mine.what == Collective::neighbour_allgatherv)
        mine.sent = first(mine.sent);
    if (mine.what == Collective::scatterv && !root) mine.received = first(mine.received);
    return mine;
}

Running make_running(TimedCell& cell, const coll::Communicator& everyone) {
    coll::UniformCall call(shape_of(cell, everyone.size()));
    const coll::Call mine = call_of(call, everyone.rank());
    coll::Communicator on = everyone;
    if (const coll::Grid* grid = call.group().grid; grid != nullptr && of_neighbours(mine.what))
        on = everyone.cartesian(grid->dims, grid->periodic);
    const coll::Explanation said = on.explain(mine);
    cell.algorithm = said.algorithm;
    cell.tuning = said.tuning;
    return {std::move(call), mine, on, {said.algorithm, said.tuning}};
}

std::uint64_t most_bytes(const TimingPlan& plan, std::uint32_t ranks) {
    std::uint64_t most = 8;
    for (const std::uint64_t bytes : plan.bytes) most = std::max(most, bytes);
    return most * std::max(ranks, 4u);  // of a grid in two dimensions
}

void time_cells(coll::World& world, const TimingPlan& plan, std::vector<TimedCell>& cells) {
    const coll::Communicator everyone = world.communicator();
    const std::uint64_t bytes = most_bytes(plan, everyone.size());
    const Pages in(bytes), out(bytes);
    const coll::Reduction sum = coll::builtin(coll::Operator::sum, coll::Number::f64);
    std::vector<Running> running;
    for (TimedCell& cell : cells) running.push_back(make_running(cell, everyone));
    std::vector<coll::RoundTimes> times(cells.size());
    coll::Rounds timer(world);
    for (std::uint32_t pass = 0; pass < passes; ++pass)
        for (std::size_t i = 0; i < cells.size(); ++i) {
            const Running& one = running[i];
            const auto begin = [&] { return one.on.start(one.mine, {in.data(), out.data()}, &sum, &one.choice); };
            times[i].add(timer.run(begin, warm_up(cells[i].bytes), std::max(plan.rounds / passes, 3u),
                                   Time{plan.most.ps / passes}));
        }
    for (std::size_t i = 0; i < cells.size() && everyone.rank() == Rank{0}; ++i) {
        const std::vector<Time> last = times[i].last();
        cells[i].measured = coll::quantile(last, 0.5);
        cells[i].low = coll::quantile(last, 0.25);
        cells[i].high = coll::quantile(last, 0.75);
        cells[i].rounds = last.size();
    }
}

ordered_json to_json(const coll::Probed& each) {
    return {{"kind", to_string(each.probe.kind)},
            {"from", each.probe.from.value},
            {"to", each.probe.to.value},
            {"bytes", each.probe.bytes},
            {"count", each.probe.count},
            {"us", each.time.microseconds()},
            {"other_us", each.other.microseconds()},
            {"low_us", each.low.microseconds()},
            {"high_us", each.high.microseconds()}};
}

Time us_of(const ordered_json& value) {
    return Time{static_cast<std::int64_t>(value.get<double>() * 1e6)};
}

coll::Probed probed_from(const ordered_json& said) {
    coll::Probe probe;
    probe.kind = coll::parse_probe(said.at("kind").get<std::string>());
    probe.from = Rank{said.at("from").get<std::uint32_t>()};
    probe.to = Rank{said.at("to").get<std::uint32_t>()};
    probe.bytes = said.at("bytes").get<std::uint64_t>();
    probe.count = said.at("count").get<std::uint32_t>();
    return {probe, us_of(said.at("us")), us_of(said.at("other_us")), us_of(said.at("low_us")),
            us_of(said.at("high_us"))};
}

ordered_json to_json(const TimedCell& cell) {
    ordered_json object{{"operation", cell.operation},
                        {"bytes", cell.bytes},
                        {"algorithm", cell.algorithm},
                        {"segment", cell.tuning.segment},
                        {"ways", cell.tuning.ways},
                        {"measured_us", cell.measured.microseconds()},
                        {"low_us", cell.low.microseconds()},
                        {"high_us", cell.high.microseconds()},
                        {"rounds", cell.rounds}};
    if (cell.predicted != never) {
        object["predicted_us"] = cell.predicted.microseconds();
        object["ratio"] = cell.ratio();
    }
    return object;
}

TimedCell cell_from(const ordered_json& said) {
    TimedCell cell;
    cell.operation = said.at("operation").get<std::string>();
    cell.bytes = said.at("bytes").get<std::uint64_t>();
    cell.algorithm = said.at("algorithm").get<std::string>();
    cell.tuning = {said.at("segment").get<std::uint64_t>(), said.at("ways").get<std::uint32_t>()};
    cell.measured = us_of(said.at("measured_us"));
    cell.low = us_of(said.at("low_us"));
    cell.high = us_of(said.at("high_us"));
    cell.rounds = said.at("rounds").get<std::size_t>();
    return cell;
}

}  // namespace

coll::UniformShape shape_of(const TimedCell& cell, std::uint32_t ranks) {
    coll::UniformShape shape;
    shape.what = coll::parse_collective(cell.operation);
    shape.ranks = ranks;
    shape.bytes = shape.what == coll::Collective::barrier ? 0 : cell.bytes;
    if (coll::is_reduction(shape.what)) shape.element = sizeof(double);
    return shape;
}

std::string time_collectives(const TimingPlan& plan) {
    setenv("LOOM_CACHE", "off", 1);        // nothing is kept, and nothing that was
    setenv("LOOM_HUGE_PAGES", "soon", 0);  // probes and cells find pages alike, not some early and some late
    setenv("LOOM_COLL_PARAMETERS", "measure", 0);
    const auto world = coll::World::open();
    TimedGroup group;
    group.ranks = world->size();
    group.cores = world->transport().cores();
    group.transport = world->transport().description();
    group.limit = world->communicator().explain(coll::Collective::barrier, 0).parameters.charges.way.limit;
    const std::vector<coll::Probe> probes = coll::probes(group.ranks, group.cores);
    group.probed = coll::run_probes(*world, probes, plan.probe_rounds, plan.probe_most);
    for (const std::string& operation : plan.operations)
        for (const std::uint64_t bytes : plan.bytes) {
            const bool counts = coll::parse_collective(operation) != coll::Collective::barrier;
            if (counts || bytes == plan.bytes.front()) {
                TimedCell cell;
                cell.operation = operation;
                cell.bytes = counts ? bytes : 0;
                group.cells.push_back(cell);
            }
        }
    time_cells(*world, plan, group.cells);
    const bool speaks = world->rank() == Rank{0};
    world->close();
    return speaks ? to_json(group).dump() : std::string();
}

ordered_json to_json(const TimedGroup& group) {
    ordered_json object{{"ranks", group.ranks},
                        {"cores", group.cores},
                        {"limit", group.limit},
                        {"transport", group.transport},
                        {"text", model::to_text(group.charges)},
                        {"probes", ordered_json::array()},
                        {"cells", ordered_json::array()}};
    for (const coll::Probed& each : group.probed) object["probes"].push_back(to_json(each));
    for (const TimedCell& each : group.cells) object["cells"].push_back(to_json(each));
    return object;
}

TimedGroup group_from(const ordered_json& said) {
    TimedGroup group;
    try {
        group.ranks = said.at("ranks").get<std::uint32_t>();
        group.cores = said.at("cores").get<std::uint32_t>();
        group.limit = said.at("limit").get<std::uint64_t>();
        group.transport = said.at("transport").get<std::string>();
        for (const ordered_json& each : said.at("probes")) group.probed.push_back(probed_from(each));
        for (const ordered_json& each : said.at("cells")) group.cells.push_back(cell_from(each));
    } catch (const nlohmann::json::exception& error) {
        throw UsageError(fmt::format("expected what loom measure coll --json prints: {}", error.what()));
    }
    return group;
}

void predict(TimedGroup& group, const std::string& over) {
    group.charges = coll::calibrated(group.probed, group.ranks, group.cores, group.limit);
    if (!over.empty()) group.charges = model::parse_charges(over, group.charges);
    coll::Parameters parameters;
    parameters.charges = group.charges;
    parameters.source = coll::Parameters::Source::measured;
    for (TimedCell& cell : group.cells) {
        const coll::UniformCall call(shape_of(cell, group.ranks));
        cell.predicted = coll::forecast(call, coll::plan_named(call, cell.algorithm, cell.tuning), parameters).time();
    }
}

}  // namespace loom::cli
