#include "coll/predictor.hpp"

#include <algorithm>
#include <vector>

#include "coll/algorithms/parts.hpp"
#include "coll/call_class.hpp"
#include "coll/whole.hpp"

namespace loom::coll {

namespace {

constexpr std::size_t most_kept = 256;  // operations of a schedule that is kept

// value * by / of, for values below some days and `of` below some MiB.
std::int64_t scaled(std::int64_t value, std::uint64_t by, std::uint64_t of) {
    const auto whole = static_cast<std::int64_t>(by / of), rest = static_cast<std::int64_t>(by % of);
    return value * whole + value / static_cast<std::int64_t>(of) * rest +
           value % static_cast<std::int64_t>(of) * rest / static_cast<std::int64_t>(of);
}

// Messages are counted, not timed.
model::Charges a_message_is_one() {
    model::Charges one;
    one.way.small.latency = one.way.large.latency = Time{1};
    return one;
}

}  // namespace

std::uint64_t working_set(const Whole& all, const Group& group, const model::Charges& charges) {
    if (!charges.cold && charges.sized.empty()) return 0;
    std::uint64_t written = 0, touched = 0, ranks = 0;
    for (std::uint32_t rank = 0; rank < group.size; ++rank) {
        if (group.hosts[rank] != group.hosts[0]) continue;
        ++ranks;
        touched += all.touched[rank];
        for (const traffic::Op& op : all.schedule.ops(Rank{rank}))
            if (op.kind != traffic::OpKind::send && op.kind != traffic::OpKind::compute) written += op.amount;
    }
    const std::uint64_t cores = charges.host_cores != 0 ? std::min<std::uint64_t>(charges.host_cores, ranks) : ranks;
    if (!charges.sized.empty()) return touched / cores;  // the last cache is common to all
    return 2 * (written / cores);
}

Predictor::Predictor(const Group& group, const Call& call, const model::Charges& charges)
    : group_(group), call_(call), charges_(charges), bytes_(known_bytes(call)), whole_(extent_of(group)) {}

Time Predictor::walk_whole(const Algorithm& algorithm, const Tuning& tuning) {
    last_ = 0;
    return for_extent(algorithm, tuning, whole_, bytes_);
}

Time Predictor::sketch(const Algorithm& algorithm, const Tuning& tuning, std::uint64_t most) {
    const Part part = typical_part(algorithm, tuning, whole_, known_segments(tuning));
    const bool by_rank = 2 * part.operations > group_.size;
    const std::uint32_t radix = algorithm.ways ? std::max(tuning.ways, 1u) + 1 : 2;
    const std::size_t wanted = algorithm.ways || by_rank ? 2 : 3;
    std::vector<Extent> path{whole_};
    for (Extent next = thinned(whole_, radix); next != path.back(); next = thinned(next, radix)) path.push_back(next);
    std::size_t largest = 0;
    while (largest + wanted < path.size() &&
           operations_in(algorithm, tuning, path[largest]) > (by_rank ? 2 * most : most))
        ++largest;
    // Where smaller ones would no longer be of the kind, larger ones have to do.
    while (largest > 0 && largest + wanted <= path.size() && !fits(algorithm, path[largest + wanted - 1])) --largest;
    std::vector<Point> points;  // the largest first
    for (std::size_t i = largest; i < path.size() && points.size() < wanted; ++i) {
        const std::uint32_t ranks = ranks_in(path[i]);
        // Where a message is divided among all ranks, the parts are to be as long as they will be.
        const std::uint64_t bytes = part.divides ? std::max<std::uint64_t>(bytes_ * ranks / group_.size, 1) : bytes_;
        const Time time = for_extent(algorithm, tuning, path[i], bytes);
        if (time != never) points.push_back({ranks, time.ps});
    }
    last_ = part.all;
    if (points.empty()) return never;
    return Time{goes_on(points, largest, algorithm.ways ? Growth::rounds : by_rank ? Growth::ranks : Growth::both)};
}

// The time after so many steps more of the way that leads from the last points to the first, and on to the group.
std::int64_t Predictor::goes_on(std::span<const Point> points, std::size_t steps, Growth growth) const {
    const Point& now = points[0];
    if (steps == 0 || points.size() < 2)
        return growth == Growth::ranks ? scaled(now.time, group_.size, now.ranks) : now.time;
    if (now.ranks <= points[1].ranks) return now.time;
    const std::uint32_t more = now.ranks - points[1].ranks;
    const std::int64_t step = std::max<std::int64_t>(now.time - points[1].time, 0);
    std::int64_t for_ranks = growth == Growth::ranks ? step : 0;  // of the step
    if (growth == Growth::both && points.size() > 2) {
        const std::uint32_t earlier = points[1].ranks - points[2].ranks;
        const std::int64_t step_before = std::max<std::int64_t>(points[1].time - points[2].time, 0);
        if (more > earlier && step > step_before)
            for_ranks = std::min(scaled(step - step_before, more, more - earlier), step);
    }
    return now.time + (step - for_ranks) * static_cast<std::int64_t>(steps) +
           scaled(for_ranks, group_.size - now.ranks, more);
}

std::uint64_t Predictor::operations_in(const Algorithm& algorithm, const Tuning& tuning, const Extent& extent) {
    return typical_part(algorithm, tuning, extent, known_segments(tuning)).all;
}

std::uint64_t Predictor::operations_in_whole(const Algorithm& algorithm, const Tuning& tuning) {
    return operations_in(algorithm, tuning, whole_);
}

std::int64_t Predictor::rounds(const Algorithm& algorithm, const Tuning& tuning) {
    model::Charges one = a_message_is_one();
    one.local = {0, 0, Time{}};
    const Whole* all = whole_of(algorithm, tuning, whole_, std::min(bytes_, usual_segment));
    return all == nullptr ? never.ps : model::walk(all->schedule, one).finish().ps;
}

std::int64_t Predictor::depth(const Algorithm& algorithm, const Tuning& tuning) {
    const Whole* all = whole_of_few(algorithm, tuning);
    return all == nullptr ? never.ps : model::walk(all->schedule, a_message_is_one()).finish().ps;
}

std::int64_t Predictor::work(const Algorithm& algorithm, const Tuning& tuning) {
    const Whole* all = whole_of_few(algorithm, tuning);
    if (all == nullptr) return never.ps;
    if (bytes_ <= charges_.way.limit) return 0;
    std::int64_t work = 0;
    for (const traffic::Op& op : all->schedule.ops()) {
        const auto amount = static_cast<std::int64_t>(op.amount);
        if (op.kind == traffic::OpKind::send)
            work += amount * (charges_.way.large.send_byte + charges_.way.large.take_byte);
        if (op.kind == traffic::OpKind::copy) work += amount * charges_.local.copy;
        if (op.kind == traffic::OpKind::reduce) work += amount * charges_.local.reduce;
    }
    return work;
}

const Alike& Predictor::alike(const Extent& extent, std::uint64_t bytes) {
    if (!alike_ || alike_extent_ != extent || alike_bytes_ != bytes) {
        alike_.emplace(group_, call_, extent, bytes);
        alike_extent_ = extent;
        alike_bytes_ = bytes;
    }
    return *alike_;
}

// Null where the algorithm does not fit. Stays until the next call. What is small is kept: rules ask for it once more.
const Whole* Predictor::whole_of(const Algorithm& algorithm, const Tuning& tuning, const Extent& extent,
                                 std::uint64_t bytes) {
    if (extent == whole_)
        for (const Built& each : built_)
            if (each.algorithm == &algorithm && each.tuning == tuning && each.bytes == bytes) return &each.whole;
    const Alike& model = alike(extent, bytes);
    if (!algorithm.fits(model.group(), model.call())) return nullptr;
    const Whole& all = builder_.build(algorithm, model.group(), model.calls(), tuning);
    if (extent != whole_ || bytes > usual_segment || all.schedule.size() > most_kept) return &all;
    return &built_.emplace_back(&algorithm, tuning, bytes, all).whole;
}

// Of a smaller group where this one is large, and of a segment where the message is long.
const Whole* Predictor::whole_of_few(const Algorithm& algorithm, const Tuning& tuning) {
    Extent extent = whole_;
    while (ranks_in(extent) > most_walked && thinned(extent, 2) != extent) extent = thinned(extent, 2);
    return whole_of(algorithm, tuning, extent, std::min(bytes_, usual_segment));
}

// The bytes of as many segments as are walked.
std::uint64_t Predictor::known_segments(const Tuning& tuning) const {
    return tuning.segment == 0 ? bytes_ : std::min(bytes_, tuning.segment * most_segments);
}

std::uint32_t Predictor::ranks_in(const Extent& extent) const {
    return static_cast<std::uint32_t>(std::uint64_t{group_.size} * extent.hosts * extent.inside /
                                      (std::uint64_t{whole_.hosts} * whole_.inside));
}

bool Predictor::fits(const Algorithm& algorithm, const Extent& extent) {
    const Alike& model = alike(extent, bytes_);
    return algorithm.fits(model.group(), model.call());
}

Predictor::Part Predictor::typical_part(const Algorithm& algorithm, const Tuning& tuning, const Extent& extent,
                                        std::uint64_t bytes) {
    const Alike& model = alike(extent, bytes);
    if (!algorithm.fits(model.group(), model.call())) return {};
    const auto schedule_of = [&](Rank rank) {
        Group group = model.group();
        group.me = rank;
        return make_plan(algorithm, group, model.call_of(rank), tuning).schedule;
    };
    const traffic::Schedule middle = schedule_of(Rank{model.group().size / 2 | 1});
    std::uint64_t longest = 0;
    for (const traffic::Op& op : middle.ops())
        if (op.kind == traffic::OpKind::receive) longest = std::max(longest, op.amount);
    const std::uint64_t most =
        algorithm.segments ? std::min(bytes, tuning.segment != 0 ? tuning.segment : usual_segment) : bytes;
    return {middle.size(), middle.size() * model.group().size + schedule_of(model.call().root).size(),
            longest < most - most / 4};
}

Time Predictor::for_extent(const Algorithm& algorithm, const Tuning& tuning, const Extent& extent,
                           std::uint64_t bytes) {
    const std::uint64_t segment = tuning.segment != 0 ? tuning.segment : usual_segment;
    const std::uint64_t most = algorithm.segments ? segment * most_segments : bytes;
    if (bytes <= most) return walk_one(algorithm, tuning, extent, bytes);
    last_ = 0;
    const std::int64_t whole = walk_one(algorithm, tuning, extent, most).ps;
    const std::int64_t half = walk_one(algorithm, tuning, extent, most / 2).ps;
    if (tuning.segment != 0) last_ = last_ * (bytes / most);
    return Time{whole + scaled(whole - half, bytes - most, most / 2)};
}

Time Predictor::walk_one(const Algorithm& algorithm, const Tuning& tuning, const Extent& extent, std::uint64_t bytes) {
    const Whole* all = whole_of(algorithm, tuning, extent, bytes);
    if (all == nullptr) return never;
    const traffic::Schedule& schedule = all->schedule;
    const Group& group = alike(extent, bytes).group();
    operations_ += schedule.size();
    last_ = std::max<std::uint64_t>(last_, schedule.size());
    const std::uint64_t times = std::max<std::uint64_t>(bytes_, 1) / std::max<std::uint64_t>(bytes, 1);
    const model::Charges charges = model::for_working_set(charges_, times * working_set(*all, group, charges_));
    return model::walk(schedule, charges, group.hosts, all->in_scratch).finish();
}

}  // namespace loom::coll
