#include "loom/congestion/mapping.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "congestion/swap_loads.hpp"
#include "loom/base/error.hpp"
#include "loom/base/random.hpp"

namespace loom::congestion {
namespace {

// Weight of the squares beside a maximum that most swaps do not move: enough to tell which way the
// next swap should go, too little to pay for a higher maximum.
constexpr double smoothing = 0.02;

class Search {
public:
    Search(const Routes& routes, const traffic::Pattern& pattern, const MapOptions& options)
        : options_(options),
          loads_(routes, pattern, options.duplex,
                 options.metric == Metric::sum_of_routes ? SwapLoads::Track::routes : SwapLoads::Track::loads),
          random_(options.seed),
          best_(loads_.mapping()),
          best_value_(value()) {
        for (const Rank rank : routes.live_ranks()) movable_.push_back(rank.value);
    }

    void run() {
        if (movable_.size() < 2) return;
        const std::uint64_t restarts = options_.restarts != 0 ? options_.restarts : worthwhile();
        const std::uint64_t descent = options_.moves / 10;
        for (std::uint64_t i = 0; i < restarts && !out_of_time(); ++i) {
            if (i % 3 == 1) loads_.set(best_);
            if (i % 3 == 2) loads_.set(random_mapping());
            anneal((options_.moves - descent) / restarts, i % 3 == 1 ? 0.3 : 1.0);
        }
        loads_.set(best_);
        descend(descent);
    }

    [[nodiscard]] const Mapping& best() const { return best_; }
    [[nodiscard]] std::uint64_t moves() const { return done_; }

private:
    // One long run beats several short ones until each has some thousand swaps a rank.
    [[nodiscard]] std::uint64_t worthwhile() const {
        return std::clamp<std::uint64_t>(options_.moves / (2000 * movable_.size()), 1, 5);
    }

    [[nodiscard]] std::uint64_t value() const {
        switch (options_.metric) {
            case Metric::sum_of_maxima:
                return loads_.sum_of_maxima();
            case Metric::sum_of_routes:
                return loads_.sum_of_routes();
            case Metric::link_traversals:
                break;
        }
        return loads_.link_traversals();
    }

    [[nodiscard]] double cost() const {
        const auto plain = static_cast<double>(value());
        return options_.metric == Metric::sum_of_maxima ? plain + smoothing * static_cast<double>(loads_.squares())
                                                        : plain;
    }

    Mapping random_mapping() {
        Mapping result = loads_.mapping();
        std::vector<std::uint32_t> order(movable_);
        random_.shuffle(std::span(order));
        for (std::size_t i = 0; i < order.size(); ++i) result[movable_[i]] = order[i];
        return result;
    }

    void swap_two() {
        const auto count = static_cast<std::uint32_t>(movable_.size());
        const std::uint32_t first = random_.below(count);
        const std::uint32_t second = (first + 1 + random_.below(count - 1)) % count;
        loads_.swap(movable_[first], movable_[second]);
        ++done_;
    }

    void keep_best() {
        if (value() >= best_value_) return;
        best_value_ = value();
        best_ = loads_.mapping();
    }

    // Hot enough at first that about every swap is taken (times `heat`), cold enough at last that only better ones are.
    void anneal(std::uint64_t moves, double heat) {
        if (moves == 0) return;
        constexpr int probes = 64;
        double spread = 0;
        const double start = cost();
        for (int i = 0; i < probes; ++i) {
            swap_two();
            spread += std::abs(cost() - start) / probes;
            loads_.undo();
        }
        const double hot = std::max(heat * spread, 0.1);
        const double cold = 0.05;
        const double cooling = std::pow(std::min(cold / hot, 1.0), 1.0 / static_cast<double>(moves));
        double temperature = hot;
        double now = start;
        keep_best();
        for (std::uint64_t i = 0; i < moves; ++i, temperature *= cooling) {
            swap_two();
            const double then = cost();
            if (then <= now || random_.unit() < std::exp((now - then) / temperature)) {
                now = then;
                keep_best();
            } else {
                loads_.undo();
            }
            if ((i & 0xff) == 0 && report_and_stop()) return;
        }
    }

    // Swaps that are no worse, until none of many is better.
    void descend(std::uint64_t moves) {
        double now = cost();
        for (std::uint64_t i = 0; i < moves; ++i) {
            swap_two();
            if (const double then = cost(); then <= now) {
                now = then;
                keep_best();
            } else {
                loads_.undo();
            }
            if ((i & 0xff) == 0 && report_and_stop()) return;
        }
    }

    [[nodiscard]] bool out_of_time() const {
        return options_.seconds > 0 &&
               std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count() >= options_.seconds;
    }

    bool report_and_stop() {
        if (options_.progress)
            options_.progress(std::min(1.0, static_cast<double>(done_) / static_cast<double>(options_.moves)));
        return out_of_time();
    }

    const MapOptions& options_;
    SwapLoads loads_;
    Random random_;
    std::vector<std::uint32_t> movable_;
    Mapping best_;
    std::uint64_t best_value_;
    std::uint64_t done_ = 0;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

std::uint64_t value_of(const MapMetrics& metrics, Metric metric) {
    switch (metric) {
        case Metric::sum_of_maxima:
            return metrics.sum_of_maxima;
        case Metric::sum_of_routes:
            return metrics.sum_of_routes;
        case Metric::link_traversals:
            break;
    }
    return metrics.link_traversals;
}

MapMetrics measure_mapping(const Routes& routes, const traffic::Pattern& pattern,
                           std::span<const std::uint32_t> mapping, Duplex duplex) {
    std::vector<bool> taken(routes.ranks(), false);
    bool permutes = mapping.size() == routes.ranks();
    for (std::size_t i = 0; permutes && i < mapping.size(); ++i) {
        permutes = mapping[i] < taken.size() && !taken[mapping[i]];
        if (permutes) taken[mapping[i]] = true;
    }
    if (!permutes) throw Error("a mapping gives every rank a place of its own");
    SwapLoads loads(routes, pattern, duplex, SwapLoads::Track::routes);
    loads.set(mapping);
    return {loads.sum_of_maxima(), loads.sum_of_routes(), loads.link_traversals()};
}

Remapping optimise_mapping(const Routes& routes, const traffic::Pattern& pattern, const MapOptions& options) {
    Search search(routes, pattern, options);
    Remapping result;
    result.before = measure_mapping(routes, pattern, search.best(), options.duplex);
    search.run();
    result.mapping = search.best();
    result.after = measure_mapping(routes, pattern, result.mapping, options.duplex);
    result.moves = search.moves();
    return result;
}

fabric::Placement remapped(const fabric::Placement& placement, std::span<const std::uint32_t> mapping) {
    if (mapping.size() != placement.ranks())
        throw Error("the mapping and the placement have different numbers of ranks");
    fabric::Placement result;
    for (const std::uint32_t place : mapping) result.hosts.push_back(placement.hosts.at(place));
    return result;
}

}  // namespace loom::congestion
