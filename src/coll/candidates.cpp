#include "coll/candidates.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "coll/alike.hpp"

namespace loom::coll {

namespace {

constexpr std::size_t most_operations = 12'000;  // walked for one call, before segments are no longer tried

// Of groups of more than most_walked ranks, in operations of all ranks:
constexpr std::uint64_t always_walked = 10'000;       // a schedule that is walked as it is,
constexpr std::uint64_t always_walked_tuned = 3'000;  // one of several that differ by tuning
constexpr std::uint64_t most_sketched = 1'000;        // of the smaller group by which others are sketched at first,
constexpr std::uint64_t most_detailed = 6'000;   // and again where they may be the best and are too large to be walked
constexpr std::uint64_t most_compared = 80'000;  // walked as they are, of those that may be the best

// Of these not all schedules are walked as they are.
bool is_large(const Predictor& predictor) {
    return predictor.group().size > most_walked && predictor.group().neighbours.empty();
}

// Walks those sketches as they are that may be the best, the most promising first, as long as that is not too much.
void compare(std::span<Candidate> all, Predictor& predictor) {
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

bool quicker(const Candidate& a, const Candidate& b) {
    return a.predicted < b.predicted;
}

// Collects them and keeps them in order.
class Collection {
public:
    explicit Collection(Predictor& predictor) : predictor_(predictor), large_(is_large(predictor)) {}

    // Every algorithm that fits, messages as a whole.
    void add_whole() {
        const Group& group = predictor_.group();
        const Alike model(group, predictor_.call(), extent_of(group), predictor_.bytes());
        for (const Algorithm& algorithm : algorithms(predictor_.call().what)) {
            if (!algorithm.fits(model.group(), model.call())) continue;
            for (const Tuning& tuning : whole_tunings(algorithm, group)) {
                add(algorithm, tuning);
                if (group.size == 1) break;
            }
        }
        sort();
    }

    // Segments of the most promising first. How much is tried is counted, not timed: ranks must agree.
    void add_segmented() {
        if (predictor_.group().size == 1) return;
        const std::vector<Candidate> promising = all_;
        const std::size_t most = most_operations + (large_ ? predictor_.operations_walked() : 0);
        const std::uint64_t longest = longest_message(predictor_);
        for (const Candidate& each : promising)
            for (const Tuning& tuning : segmented_tunings(each, longest))
                if (predictor_.operations_walked() < most) add(*each.algorithm, tuning);
        sort();
    }

    void compare_sketches() {
        if (!large_) return;
        compare(all_, predictor_);
        sort();
    }

    std::vector<Candidate> take() { return std::move(all_); }

private:
    void add(const Algorithm& algorithm, const Tuning& tuning) {
        Candidate each{&algorithm, tuning, never, 0, false, {}, {}, {}};
        each.walked = !large_ || predictor_.operations_in_whole(algorithm, tuning) <=
                                     (tuning == Tuning{} ? always_walked : always_walked_tuned);
        each.predicted = each.walked ? predictor_.walk_whole(algorithm, tuning)
                                     : predictor_.sketch(algorithm, tuning, most_sketched);
        each.operations = predictor_.operations_of_last();
        all_.push_back(each);
    }
    void sort() { std::stable_sort(all_.begin(), all_.end(), quicker); }

    Predictor& predictor_;
    const bool large_;
    std::vector<Candidate> all_;
};

}  // namespace

std::uint64_t longest_message(const Predictor& predictor) {
    const bool together = is_large(predictor) && is_of_blocks(predictor.call().what);
    return together ? predictor.bytes() * predictor.group().size : predictor.bytes();
}

std::vector<Candidate> candidates(Predictor& predictor) {
    Collection collection(predictor);
    collection.add_whole();
    collection.add_segmented();
    collection.compare_sketches();
    return collection.take();
}

}  // namespace loom::coll
