#include "coll/candidates.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>

#include "coll/algorithms/parts.hpp"
#include "coll/alike.hpp"
#include "coll/whole.hpp"

namespace loom::coll {

namespace {

constexpr std::uint64_t most_segments = 8;       // that are walked
constexpr std::size_t most_operations = 12'000;  // walked for one call, before segments are no longer tried

// Of groups of more than most_walked ranks, in operations of all ranks:
constexpr std::uint64_t always_walked = 10'000;       // a schedule that is walked as it is,
constexpr std::uint64_t always_walked_tuned = 3'000;  // one of several that differ by tuning
constexpr std::uint64_t most_sketched = 1'000;        // of the smaller group by which others are sketched at first,
constexpr std::uint64_t most_detailed = 6'000;   // and again where they may be the best and are too large to be walked
constexpr std::uint64_t most_compared = 80'000;  // walked as they are, of those that may be the best

// value * by / of, for values below some days and `of` below some MiB.
std::int64_t scaled(std::int64_t value, std::uint64_t by, std::uint64_t of) {
    const auto whole = static_cast<std::int64_t>(by / of), rest = static_cast<std::int64_t>(by % of);
    return value * whole + value / static_cast<std::int64_t>(of) * rest +
           value % static_cast<std::int64_t>(of) * rest / static_cast<std::int64_t>(of);
}

class Predictor {
public:
    Predictor(const Group& group, const Call& call, const model::Charges& charges)
        : group_(group), call_(call), charges_(charges), bytes_(known_bytes(call)), whole_(extent_of(group)) {}

    // As it is, but for segments beyond most_segments.
    [[nodiscard]] Time walk_whole(const Algorithm& algorithm, const Tuning& tuning) const {
        last_ = 0;
        return for_extent(algorithm, tuning, whole_, bytes_);
    }

    // From smaller groups of the same kind, the largest of which has up to `most` operations. An algorithm with n ways
    // gets a round more for every n + 1 times as many ranks: thinned so, groups differ by rounds alone. Those whose
    // ranks have a step for every rank take a time for each. All others get a time for every doubling and, where
    // messages grow with the group, one for each rank.
    [[nodiscard]] Time sketch(const Algorithm& algorithm, const Tuning& tuning, std::uint64_t most) const {
        const Part part = typical_part(algorithm, tuning, whole_, known_segments(tuning));
        const bool by_rank = 2 * part.operations > group_.size;
        const std::uint32_t radix = algorithm.ways ? std::max(tuning.ways, 1u) + 1 : 2;
        const std::size_t wanted = algorithm.ways || by_rank ? 2 : 3;
        std::vector<Extent> path{whole_};
        for (Extent next = thinned(whole_, radix); next != path.back(); next = thinned(next, radix))
            path.push_back(next);
        std::size_t largest = 0;
        while (largest + wanted < path.size() &&
               operations_in(algorithm, tuning, path[largest]) > (by_rank ? 2 * most : most))
            ++largest;
        // Where smaller ones would no longer be of the kind, larger ones have to do.
        while (largest > 0 && largest + wanted <= path.size() && !fits(algorithm, path[largest + wanted - 1]))
            --largest;
        std::vector<Point> points;  // the largest first
        for (std::size_t i = largest; i < path.size() && points.size() < wanted; ++i) {
            const std::uint32_t ranks = ranks_in(path[i]);
            // Where a message is divided among all ranks, the parts are to be as long as they will be.
            const std::uint64_t bytes =
                part.divides ? std::max<std::uint64_t>(bytes_ * ranks / group_.size, 1) : bytes_;
            const Time time = for_extent(algorithm, tuning, path[i], bytes);
            if (time != never) points.push_back({ranks, time.ps});
        }
        last_ = part.all;
        if (points.empty()) return never;
        return Time{goes_on(points, largest, algorithm.ways ? Growth::rounds : by_rank ? Growth::ranks : Growth::both)};
    }

    // About how many all ranks have.
    [[nodiscard]] std::uint64_t operations_in(const Algorithm& algorithm, const Tuning& tuning,
                                              const Extent& extent) const {
        return typical_part(algorithm, tuning, extent, known_segments(tuning)).all;
    }
    [[nodiscard]] std::uint64_t operations_in_whole(const Algorithm& algorithm, const Tuning& tuning) const {
        return operations_in(algorithm, tuning, whole_);
    }

    struct Effort {
        std::int64_t depth = 0;  // messages one after another, from the first to the last, and local work between them
        std::int64_t work = 0;   // of the bytes of large messages, on all cores together
    };

    // Messages one after another, from the first to the last. Of a segment where the message is long.
    [[nodiscard]] std::int64_t rounds(const Algorithm& algorithm, const Tuning& tuning) const {
        model::Charges one;
        one.local = {0, 0, Time{}};
        one.way.small.latency = one.way.large.latency = Time{1};
        const Alike model(group_, call_, whole_, std::min(bytes_, usual_segment));
        return model::walk(whole(algorithm, model.group(), model.calls(), tuning).schedule, one).finish().ps;
    }

    // Of a smaller group where this one is large, and of a segment where the message is long.
    [[nodiscard]] Effort effort(const Algorithm& algorithm, const Tuning& tuning) const {
        model::Charges one;
        one.way.small.latency = one.way.large.latency = Time{1};
        Extent extent = whole_;
        while (ranks_in(extent) > most_walked && thinned(extent, 2) != extent) extent = thinned(extent, 2);
        const Alike model(group_, call_, extent, std::min(bytes_, usual_segment));
        if (!algorithm.fits(model.group(), model.call())) return {never.ps, never.ps};
        const traffic::Schedule schedule = whole(algorithm, model.group(), model.calls(), tuning).schedule;
        Effort effort{model::walk(schedule, one).finish().ps, 0};
        if (bytes_ <= charges_.way.limit) return effort;
        for (const traffic::Op& op : schedule.ops()) {
            const auto amount = static_cast<std::int64_t>(op.amount);
            if (op.kind == traffic::OpKind::send)
                effort.work += amount * (charges_.way.large.send_byte + charges_.way.large.take_byte);
            if (op.kind == traffic::OpKind::copy) effort.work += amount * charges_.local.copy;
            if (op.kind == traffic::OpKind::reduce) effort.work += amount * charges_.local.reduce;
        }
        return effort;
    }

    // Of what was predicted last.
    [[nodiscard]] std::uint64_t operations_of_last() const { return last_; }
    [[nodiscard]] std::size_t operations() const { return operations_; }  // walked so far

private:
    struct Part {
        std::uint64_t operations = 0;  // of a rank in the middle
        std::uint64_t all = 0;         // about: of all ranks
        bool divides = false;          // no message of it is as long as it could be
    };
    struct Point {
        std::uint32_t ranks;
        std::int64_t time;
    };
    enum class Growth : std::uint8_t { rounds, ranks, both };

    // The time after so many steps more of the way that leads from the last points to the first, and on to the group.
    [[nodiscard]] std::int64_t goes_on(std::span<const Point> points, std::size_t steps, Growth growth) const {
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

    // The bytes of as many segments as are walked.
    [[nodiscard]] std::uint64_t known_segments(const Tuning& tuning) const {
        return tuning.segment == 0 ? bytes_ : std::min(bytes_, tuning.segment * most_segments);
    }
    [[nodiscard]] std::uint32_t ranks_in(const Extent& extent) const {
        return static_cast<std::uint32_t>(std::uint64_t{group_.size} * extent.hosts * extent.inside /
                                          (std::uint64_t{whole_.hosts} * whole_.inside));
    }
    [[nodiscard]] bool fits(const Algorithm& algorithm, const Extent& extent) const {
        const Alike model(group_, call_, extent, bytes_);
        return algorithm.fits(model.group(), model.call());
    }
    [[nodiscard]] Part typical_part(const Algorithm& algorithm, const Tuning& tuning, const Extent& extent,
                                    std::uint64_t bytes) const {
        const Alike model(group_, call_, extent, bytes);
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

    [[nodiscard]] Time for_extent(const Algorithm& algorithm, const Tuning& tuning, const Extent& extent,
                                  std::uint64_t bytes) const {
        const std::uint64_t segment = tuning.segment != 0 ? tuning.segment : usual_segment;
        const std::uint64_t most = algorithm.segments ? segment * most_segments : bytes;
        if (bytes <= most) return walk_one(algorithm, tuning, extent, bytes);
        last_ = 0;
        const std::int64_t whole = walk_one(algorithm, tuning, extent, most).ps;
        const std::int64_t half = walk_one(algorithm, tuning, extent, most / 2).ps;
        if (tuning.segment != 0) last_ = last_ * (bytes / most);
        return Time{whole + scaled(whole - half, bytes - most, most / 2)};
    }
    [[nodiscard]] Time walk_one(const Algorithm& algorithm, const Tuning& tuning, const Extent& extent,
                                std::uint64_t bytes) const {
        const Alike model(group_, call_, extent, bytes);
        if (!algorithm.fits(model.group(), model.call())) return never;
        const Whole all = whole(algorithm, model.group(), model.calls(), tuning);
        operations_ += all.schedule.size();
        last_ = std::max<std::uint64_t>(last_, all.schedule.size());
        const std::uint64_t times = std::max<std::uint64_t>(bytes_, 1) / std::max<std::uint64_t>(bytes, 1);
        const model::Charges charges =
            model::for_working_set(charges_, times * working_set(all.schedule, model.group()));
        return model::walk(all.schedule, charges, model.group().hosts, all.in_scratch).finish();
    }

    // Bytes that a core of the first host works on: what is written, and as much that is read for it.
    [[nodiscard]] std::uint64_t working_set(const traffic::Schedule& schedule, const Group& group) const {
        if (!charges_.cold) return 0;
        std::uint64_t written = 0, ranks = 0;
        for (std::uint32_t rank = 0; rank < group.size; ++rank) {
            if (group.hosts[rank] != group.hosts[0]) continue;
            ++ranks;
            for (const traffic::Op& op : schedule.ops(Rank{rank}))
                if (op.kind != traffic::OpKind::send && op.kind != traffic::OpKind::compute) written += op.amount;
        }
        const std::uint64_t cores =
            charges_.host_cores != 0 ? std::min<std::uint64_t>(charges_.host_cores, ranks) : ranks;
        return 2 * (written / cores);
    }

    const Group& group_;
    const Call& call_;
    const model::Charges& charges_;
    std::uint64_t bytes_;
    Extent whole_;
    mutable std::size_t operations_ = 0;
    mutable std::uint64_t last_ = 0;
};

// Walks those sketches as they are that may be the best, the most promising first, as long as that is not too much.
void compare(std::span<Candidate> all, const Predictor& predictor) {
    Time best = never;
    for (const Candidate& each : all)
        if (each.walked) best = std::min(best, each.predicted);
    std::uint64_t left = most_compared;
    for (Candidate& each : all) {
        if (each.walked || each.predicted.ps / 3 * 2 > best.ps) continue;
        const std::uint64_t operations = predictor.operations_in_whole(*each.algorithm, each.tuning);
        if (operations <= left) {
            left -= operations;
            each.walked = true;
            each.predicted = predictor.walk_whole(*each.algorithm, each.tuning);
            best = std::min(best, each.predicted);
        } else if (left >= most_detailed) {
            left -= most_detailed;
            each.predicted = predictor.sketch(*each.algorithm, each.tuning, most_detailed);
        }
    }
}

std::vector<Tuning> whole_tunings(const Algorithm& algorithm, const Group& group) {
    if (!algorithm.ways) return {{}};
    std::vector<Tuning> all;
    for (const std::uint32_t ways : {1u, 2u, 3u, 4u, 5u, 6u, 7u})
        if (ways < group.size || ways == 1) all.push_back({0, ways});
    return all;
}

// `bytes` of all that goes through one rank.
std::vector<Tuning> segmented_tunings(const Candidate& whole, std::uint64_t bytes) {
    std::vector<Tuning> all;
    if (!whole.algorithm->segments) return all;
    for (const std::uint64_t segment : {4096u, 16384u, 65536u, 262144u})
        if (segment < bytes && bytes / segment <= 128) all.push_back({segment, whole.tuning.ways});
    return all;
}

bool is_of_blocks(Collective what) {
    return what != Collective::broadcast && what != Collective::reduce && what != Collective::allreduce &&
           what != Collective::scan && what != Collective::exscan;
}

std::uint64_t mean_of(std::span<const std::uint64_t> blocks) {
    if (blocks.empty()) return 0;
    return std::accumulate(blocks.begin(), blocks.end(), std::uint64_t{0}) / blocks.size();
}

}  // namespace

std::uint64_t size_class(std::uint64_t bytes) {
    const auto width = static_cast<unsigned>(std::bit_width(bytes));
    return width <= 3 ? bytes : bytes >> (width - 3) << (width - 3);
}

std::uint64_t known_bytes(const Call& call) {
    switch (call.what) {
        case Collective::barrier:
            return 0;
        case Collective::gatherv:
        case Collective::scatterv:
        case Collective::alltoallv:
        case Collective::neighbour_allgatherv:
        case Collective::neighbour_alltoallv:
            return usual_block;
        case Collective::allgatherv:
        case Collective::reduce_scatter:
            return size_class(call.received.bytes.empty() ? call.bytes : mean_of(call.received.bytes));
        default:
            return size_class(call.bytes);
    }
}

std::vector<Candidate> candidates(const Group& group, const Call& call, const model::Charges& charges) {
    const std::uint64_t bytes = known_bytes(call);
    const Alike model(group, call, extent_of(group), bytes);
    const Predictor predictor(group, call, charges);
    const bool large = group.size > most_walked && group.neighbours.empty();
    // The longest that is cut into segments: where blocks are collected on the way, all of them.
    const std::uint64_t together = large && is_of_blocks(call.what) ? bytes * group.size : bytes;
    std::vector<Candidate> all;
    const auto add = [&](const Algorithm& algorithm, const Tuning& tuning) {
        Candidate each{&algorithm, tuning, never, 0};
        each.walked = !large || predictor.operations_in_whole(algorithm, tuning) <=
                                    (tuning == Tuning{} ? always_walked : always_walked_tuned);
        each.predicted =
            each.walked ? predictor.walk_whole(algorithm, tuning) : predictor.sketch(algorithm, tuning, most_sketched);
        each.operations = predictor.operations_of_last();
        all.push_back(each);
    };
    const auto sooner = [](const Candidate& a, const Candidate& b) { return a.predicted < b.predicted; };
    const auto sort = [&] { std::stable_sort(all.begin(), all.end(), sooner); };
    for (const Algorithm& algorithm : algorithms(call.what)) {
        if (!algorithm.fits(model.group(), model.call())) continue;
        for (const Tuning& tuning : whole_tunings(algorithm, group)) {
            add(algorithm, tuning);
            if (group.size == 1) break;
        }
    }
    sort();
    // Segments of the most promising first. How much is tried is counted, not timed: ranks must agree.
    const std::vector<Candidate> promising = all;
    const std::size_t most = most_operations + (large ? predictor.operations() : 0);
    for (const Candidate& each : promising) {
        if (group.size == 1) break;
        for (const Tuning& tuning : segmented_tunings(each, together))
            if (predictor.operations() < most) add(*each.algorithm, tuning);
    }
    sort();
    if (large) {
        compare(all, predictor);
        sort();
    }
    auto end = all.end();
    const Time quickest = all.front().predicted;
    const auto prefer = [&](const auto& is_preferred, std::int64_t times) {
        const auto best = std::find_if(all.begin(), end, is_preferred);
        if (best != end && best->predicted.ps / times <= quickest.ps)
            end = std::stable_partition(all.begin(), end, is_preferred);
    };
    // Where ranks take turns, a segment waits for a turn of each rank on its way, which costs more than is predicted:
    // pipelines have to promise twice the speed. (Not those of a reduction to one rank, whose segments stay in caches.)
    const bool takes_turns = charges.host_cores != 0;
    if (takes_turns && call.what != Collective::reduce)
        prefer(
            [&](const Candidate& each) {
                const std::uint64_t segment = each.algorithm->always_cuts ? usual_segment : together;
                return together <= (each.tuning.segment != 0 ? each.tuning.segment : segment);
            },
            2);
    // Nor is a broadcast quicker there in parts: by scatter and allgather it is predicted to take 0.8 of the linear
    // one's time on 4 ranks of 2 cores, and takes 1.1, on 8 1.5 to 2.8 times as long. And of two ranks of a host none
    // hands anything on: more rounds or parts of a message only change which protocol moves the bytes, and parameters
    // that were measured at a bad moment tell nonsense about that, by a factor of two and more. (A reduction in parts
    // of 64 KiB takes twice as long, an allreduce of 1 MiB of which each rank combines half 1.3 times, where caches are
    // apart 2.6 times.)
    const bool are_two = group.size == 2 && on_one_host(group);
    // Nor do blocks that others hand on arrive sooner there (1 MiB of 8 ranks on 2 cores: 3.0 ms at once, 4.2 and
    // 6.1 in trees).
    const bool are_blocks = takes_turns && (call.what == Collective::allgather || call.what == Collective::allgatherv);
    if (are_two || are_blocks || (takes_turns && call.what == Collective::broadcast)) {
        for (Candidate& each : all)
            if (are_two)
                each.rounds = predictor.rounds(*each.algorithm, each.tuning);
            else if (are_blocks)
                each.rounds = predictor.effort(*each.algorithm, each.tuning).depth;
        const auto simplicity = [](const Candidate& each) { return std::pair(each.rounds, each.operations); };
        const auto simplest = std::min_element(all.begin(), all.end(), [&](const Candidate& a, const Candidate& b) {
            return simplicity(a) < simplicity(b);
        });
        prefer([&, least = simplicity(*simplest)](const Candidate& each) { return simplicity(each) == least; },
               are_two ? 4 : 2);
    }
    const auto near = std::partition_point(all.begin(), end, [&](const Candidate& each) {
        return each.predicted.ps - all.front().predicted.ps <= all.front().predicted.ps / 8;
    });
    // Where ranks take turns, a round more is a turn more for everybody: more than its latency, which others' work
    // hides. And the work of others does not hide bytes: cores that move some get in each other's way in their memory.
    std::vector<Predictor::Effort> efforts(static_cast<std::size_t>(near - all.begin()));
    std::int64_t least = INT64_MAX;
    const bool compares = charges.host_cores != 0 && efforts.size() > 1;
    for (std::size_t i = 0; i < efforts.size() && compares; ++i) {
        efforts[i] = predictor.effort(*all[i].algorithm, all[i].tuning);
        least = std::min(least, efforts[i].work);
    }
    auto simplest = near;
    std::pair<std::int64_t, std::uint64_t> fewest;
    for (auto each = all.begin(); each != near; ++each) {
        const Predictor::Effort& effort = efforts[static_cast<std::size_t>(each - all.begin())];
        const std::pair<std::int64_t, std::uint64_t> work{effort.depth, each->operations};
        if ((compares && effort.work / 3 * 2 > least) || (simplest != near && work >= fewest)) continue;
        simplest = each;
        fewest = work;
    }
    if (simplest != near) std::rotate(all.begin(), simplest, simplest + 1);
    std::stable_sort(all.begin() + 1, all.end(), sooner);
    return all;
}

std::uint64_t signature(const Group& group) {
    std::uint64_t hash = 0xcbf29ce484222325u;
    const auto mix = [&](std::uint64_t value) { hash = (std::rotl(hash, 5) ^ value) * 0x9e3779b97f4a7c15u; };
    mix(group.size);
    for (const std::uint32_t host : group.hosts) mix(host);
    for (const Neighbours& each : group.neighbours) {
        mix(each.sources.size());
        for (const Rank rank : each.sources) mix(rank.value);
        mix(each.destinations.size());
        for (const Rank rank : each.destinations) mix(rank.value);
    }
    if (group.grid)
        for (std::size_t i = 0; i < group.grid->dims.size(); ++i)
            mix(std::uint64_t{group.grid->dims[i]} << 1 | (group.grid->periodic[i] ? 1 : 0));
    return hash;
}

const std::vector<Candidate>& Ranking::of(const Group& group, std::uint64_t group_signature, const Call& call,
                                          const model::Charges& charges) {
    const std::uint64_t root = on_one_host(group) ? 0 : call.root.value;
    const Key key{group_signature, known_bytes(call), std::uint64_t{call.element} << 32 | root,
                  static_cast<std::uint64_t>(call.what) << 1 | (call.commutative ? 1 : 0)};
    const auto known = known_.find(key);
    if (known != known_.end()) return known->second;
    if (known_.size() >= most) known_.clear();
    return known_.emplace(key, candidates(group, call, charges)).first->second;
}

}  // namespace loom::coll
