#include "coll/candidates.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "coll/whole.hpp"

namespace loom::coll {

namespace {

constexpr std::uint64_t most_segments = 8;      // that are walked
constexpr std::uint64_t usual_segment = 65536;  // of algorithms that cut messages when they are not told how
constexpr std::uint32_t most_walked_if_few = 128;
constexpr std::uint64_t few_operations = 1'500;  // of all ranks
constexpr std::size_t most_operations = 12'000;  // walked for one call, before segments are no longer tried

bool on_one_host(const Group& group) {
    return std::all_of(group.hosts.begin(), group.hosts.end(), [&](std::uint32_t h) { return h == group.hosts[0]; });
}

// A call of the same kind on a group that may be smaller, made up of what all ranks know. Every rank's blocks are
// alike.
class Model {
public:
    Model(const Group& group, const Call& call, std::uint32_t size, std::uint64_t bytes) : group_(group) {
        if (size != group.size) {
            hosts_.resize(size);
            for (std::uint32_t rank = 0; rank < size; ++rank)
                hosts_[rank] = group.hosts[std::uint64_t{rank} * group.size / size];
            // Numbers of hosts in the order of first appearance, as algorithms expect them.
            std::vector<std::uint32_t> seen;
            for (std::uint32_t& host : hosts_) {
                const auto known = std::find(seen.begin(), seen.end(), host);
                const auto number = static_cast<std::uint32_t>(known - seen.begin());
                if (known == seen.end()) seen.push_back(host);
                host = number;
            }
            group_.size = size;
            group_.hosts = hosts_;
            group_.me = Rank{0};
        }
        call_ = call;
        call_.in_place = false;
        if (call_.root.value >= size || on_one_host(group)) call_.root = Rank{0};
        const std::uint64_t element = std::max<std::uint32_t>(call.element, 1);
        call_.bytes = bytes / element * element;
        if (bytes > 0 && call_.bytes == 0) call_.bytes = element;
        make_blocks();
    }
    Model(const Model&) = delete;
    Model& operator=(const Model&) = delete;

    [[nodiscard]] const Group& group() const { return group_; }
    [[nodiscard]] std::span<const Call> calls() const {
        return calls_.empty() ? std::span(&call_, 1) : std::span(calls_);
    }
    [[nodiscard]] const Call& call() const { return calls().front(); }

private:
    void make_blocks() {
        const std::size_t most = most_blocks();
        if (most == 0) return;
        bytes_.assign(most, call_.bytes);
        at_.resize(most);
        for (std::size_t i = 0; i < most; ++i) at_[i] = i * call_.bytes;
        const auto blocks = [&](std::size_t count) {
            return Blocks{std::span(bytes_).first(count), std::span(at_).first(count)};
        };
        calls_.assign(group_.size, call_);
        for (std::uint32_t rank = 0; rank < group_.size; ++rank) {
            Call& call = calls_[rank];
            const bool root = rank == call.root.value;
            call.bytes = 0;
            switch (call.what) {
                case Collective::gatherv:
                    call.sent = blocks(1);
                    if (root) call.received = blocks(group_.size);
                    break;
                case Collective::scatterv:
                    if (root) call.sent = blocks(group_.size);
                    call.received = blocks(1);
                    break;
                case Collective::allgatherv:
                    call.sent = blocks(1);
                    call.received = blocks(group_.size);
                    break;
                case Collective::neighbour_allgatherv:
                    call.sent = blocks(1);
                    call.received = blocks(group_.neighbours[rank].sources.size());
                    break;
                case Collective::neighbour_alltoallv:
                    call.sent = blocks(group_.neighbours[rank].destinations.size());
                    call.received = blocks(group_.neighbours[rank].sources.size());
                    break;
                default:
                    call.sent = call.received = blocks(group_.size);
            }
        }
    }
    [[nodiscard]] std::size_t most_blocks() const {
        switch (call_.what) {
            case Collective::gatherv:
            case Collective::scatterv:
            case Collective::allgatherv:
            case Collective::alltoallv:
            case Collective::reduce_scatter:
                return group_.size;
            case Collective::neighbour_allgatherv:
            case Collective::neighbour_alltoallv: {
                std::size_t most = 1;
                for (const Neighbours& each : group_.neighbours)
                    most = std::max({most, each.sources.size(), each.destinations.size()});
                return most;
            }
            default:
                return 0;
        }
    }

    Group group_;
    Call call_;
    std::vector<Call> calls_;
    std::vector<std::uint32_t> hosts_;
    std::vector<std::uint64_t> bytes_, at_;
};

// value * by / of, for values below some days and `of` below some MiB.
std::int64_t scaled(std::int64_t value, std::uint64_t by, std::uint64_t of) {
    const auto whole = static_cast<std::int64_t>(by / of), rest = static_cast<std::int64_t>(by % of);
    return value * whole + value / static_cast<std::int64_t>(of) * rest +
           value % static_cast<std::int64_t>(of) * rest / static_cast<std::int64_t>(of);
}

class Predictor {
public:
    Predictor(const Group& group, const Call& call, const model::Charges& charges)
        : group_(group), call_(call), charges_(charges), bytes_(known_bytes(call)) {}

    [[nodiscard]] Time predict(const Algorithm& algorithm, const Tuning& tuning) const {
        last_ = 0;
        if (group_.size <= most_walked || !group_.neighbours.empty()) return for_size(algorithm, tuning, group_.size);
        if (group_.size <= most_walked_if_few && tuning.segment == 0) {
            // Trees and disseminations have few operations, and jumps where rounds begin.
            (void)for_size(algorithm, tuning, most_walked);
            if (last_ * group_.size / most_walked <= few_operations) return for_size(algorithm, tuning, group_.size);
            last_ = 0;
        }
        // Halves of the group, until it is small: how much more the last doublings took goes on.
        std::vector<std::uint32_t> sizes{group_.size};
        while (sizes.back() > most_walked) sizes.push_back((sizes.back() + 1) / 2);
        const std::uint32_t base = sizes.back();
        const std::uint32_t half = (base + 1) / 2, quarter = (half + 1) / 2;
        const std::int64_t now = for_size(algorithm, tuning, base).ps;
        const std::int64_t before = for_size(algorithm, tuning, half).ps;
        const std::int64_t earlier = for_size(algorithm, tuning, quarter).ps;
        const std::int64_t last = std::max<std::int64_t>(now - before, 0);
        const std::int64_t first = std::max<std::int64_t>(before - earlier, 1);
        // In 1/16: 16 is growth by the logarithm of the ranks, 32 by their number.
        const std::uint64_t growth = std::clamp<std::uint64_t>(
            static_cast<std::uint64_t>(scaled(last, 16, static_cast<std::uint64_t>(first))), 16, 32);
        Time time{now};
        std::int64_t step = last;
        for (std::size_t doubling = 1; doubling < sizes.size(); ++doubling) {
            step = scaled(step, growth, 16);
            time += Time{step};
        }
        return time;
    }

    // Messages one after another, from the first to the last; of a smaller group where this one is large.
    [[nodiscard]] std::int64_t rounds(const Algorithm& algorithm, const Tuning& tuning) const {
        model::Charges one;
        one.way.small.latency = one.way.large.latency = Time{1};
        const Model model(group_, call_, std::min(group_.size, most_walked), std::min(bytes_, usual_segment));
        if (!algorithm.fits(model.group(), model.call())) return never.ps;
        return model::walk(whole(algorithm, model.group(), model.calls(), tuning).schedule, one).finish().ps;
    }

    // Of what was predicted last.
    [[nodiscard]] std::uint64_t operations_of_last() const { return last_; }
    [[nodiscard]] std::size_t operations() const { return operations_; }  // walked so far

private:
    [[nodiscard]] Time for_size(const Algorithm& algorithm, const Tuning& tuning, std::uint32_t size) const {
        const std::uint64_t segment = tuning.segment != 0 ? tuning.segment : usual_segment;
        const std::uint64_t most = algorithm.segments ? segment * most_segments : bytes_;
        if (bytes_ <= most) return walk_one(algorithm, tuning, size, bytes_);
        last_ = 0;
        const std::int64_t whole = walk_one(algorithm, tuning, size, most).ps;
        const std::int64_t half = walk_one(algorithm, tuning, size, most / 2).ps;
        if (tuning.segment != 0) last_ = last_ * (bytes_ / most);
        return Time{whole + scaled(whole - half, bytes_ - most, most / 2)};
    }
    [[nodiscard]] Time walk_one(const Algorithm& algorithm, const Tuning& tuning, std::uint32_t size,
                                std::uint64_t bytes) const {
        const Model model(group_, call_, size, bytes);
        if (!algorithm.fits(model.group(), model.call())) return never;
        const Whole all = whole(algorithm, model.group(), model.calls(), tuning);
        operations_ += all.schedule.size();
        last_ = std::max<std::uint64_t>(last_, all.schedule.size());
        const model::Charges charges =
            model::for_working_set(charges_, working_set(all.schedule, model.group(), bytes));
        return model::walk(all.schedule, charges, model.group().hosts, all.in_scratch).finish();
    }

    // Bytes that a core of the first host works on in a call of all the bytes: what is written, and as much that is
    // read for it.
    [[nodiscard]] std::uint64_t working_set(const traffic::Schedule& schedule, const Group& group,
                                            std::uint64_t bytes) const {
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
        return 2 * (written / cores) * (std::max<std::uint64_t>(bytes_, 1) / std::max<std::uint64_t>(bytes, 1));
    }

    const Group& group_;
    const Call& call_;
    const model::Charges& charges_;
    std::uint64_t bytes_;
    mutable std::size_t operations_ = 0;
    mutable std::uint64_t last_ = 0;
};

std::vector<Tuning> whole_tunings(const Algorithm& algorithm, const Group& group) {
    if (!algorithm.ways) return {{}};
    std::vector<Tuning> all;
    for (const std::uint32_t ways : {1u, 2u, 3u, 4u, 5u, 6u, 7u})
        if (ways < group.size || ways == 1) all.push_back({0, ways});
    return all;
}

std::vector<Tuning> segmented_tunings(const Candidate& whole, std::uint64_t bytes) {
    std::vector<Tuning> all;
    if (!whole.algorithm->segments) return all;
    for (const std::uint64_t segment : {4096u, 16384u, 65536u, 262144u})
        if (segment < bytes && bytes / segment <= 128) all.push_back({segment, whole.tuning.ways});
    return all;
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
    const Model model(group, call, group.size, bytes);
    const Predictor predictor(group, call, charges);
    std::vector<Candidate> all;
    const auto add = [&](const Algorithm& algorithm, const Tuning& tuning) {
        const Time predicted = predictor.predict(algorithm, tuning);
        all.push_back({&algorithm, tuning, predicted, predictor.operations_of_last()});
    };
    const auto sort = [&] {
        std::stable_sort(all.begin(), all.end(),
                         [](const Candidate& a, const Candidate& b) { return a.predicted < b.predicted; });
    };
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
    for (const Candidate& each : promising) {
        if (group.size == 1) break;
        for (const Tuning& tuning : segmented_tunings(each, bytes))
            if (predictor.operations() < most_operations) add(*each.algorithm, tuning);
    }
    sort();
    const auto near = std::partition_point(all.begin(), all.end(), [&](const Candidate& each) {
        return each.predicted.ps - all.front().predicted.ps <= all.front().predicted.ps / 8;
    });
    // Where ranks take turns, a round more is a turn more for everybody: more than its latency, which others' work
    // hides.
    const auto rounds = [&](const Candidate& each) {
        return charges.host_cores != 0 ? predictor.rounds(*each.algorithm, each.tuning) : 0;
    };
    const auto simplest = std::min_element(all.begin(), near, [&](const Candidate& a, const Candidate& b) {
        const std::int64_t of_a = rounds(a), of_b = rounds(b);
        return of_a != of_b ? of_a < of_b : a.operations < b.operations;
    });
    if (simplest != near) std::rotate(all.begin(), simplest, simplest + 1);
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
