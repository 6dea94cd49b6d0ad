#include "loom/congestion/bounds.hpp"

#include <atomic>
#include <numeric>

#include "congestion/loads.hpp"
#include "loom/base/parallel.hpp"
#include "loom/base/random.hpp"

namespace loom::congestion {
namespace {

// One after the other over the rounds, with the pairs sent through a mapping first.
class Rounds {
public:
    Rounds(const Routes& routes, const traffic::Pattern& pattern, HostLinks host_links)
        : pattern_(&pattern), loads_(routes.data(), host_links) {}

    RoundSums sums(std::span<const std::uint32_t> mapping) {
        RoundSums result;
        for (std::size_t round = 0; round < pattern_->stages(); ++round) {
            pattern_->stage(round, pairs_);
            for (traffic::Pair& pair : pairs_) pair = {Rank{mapping[pair.from.value]}, Rank{mapping[pair.to.value]}};
            loads_.count(pairs_);
            std::uint64_t sum = 0;
            std::uint64_t routes = 0;
            std::uint32_t most = 1;
            loads_.each(pairs_, [&](const RankPlace& from, const RankPlace& to, const auto* path, auto length) {
                if (path[0] == lost) return;
                const std::uint32_t c = loads_.congestion(from, to, path, length);
                most = std::max(most, c);
                sum += c;
                ++routes;
            });
            result.sum_max += most;
            result.sum_average += routes == 0 ? 1.0 : static_cast<double>(sum) / static_cast<double>(routes);
        }
        const auto rounds = static_cast<double>(std::max<std::size_t>(pattern_->stages(), 1));
        return {result.sum_max / rounds, result.sum_average / rounds};
    }

private:
    const traffic::Pattern* pattern_;
    Loads loads_;
    std::vector<traffic::Pair> pairs_;
};

}  // namespace

RoundSums round_sums(const Routes& routes, const traffic::Pattern& pattern, HostLinks host_links) {
    check_ranks(routes, pattern);
    std::vector<std::uint32_t> identity(routes.ranks());
    std::iota(identity.begin(), identity.end(), 0u);
    return Rounds(routes, pattern, host_links).sums(identity);
}

Bounds bandwidth_bounds(const Routes& routes, const traffic::Pattern& pattern, const BoundsOptions& options) {
    check_ranks(routes, pattern);
    std::vector<RoundSums> sums(options.mappings);
    std::atomic<std::size_t> done{0};
    parallel_for(options.mappings, options.threads, 8, [&](std::size_t begin, std::size_t end) {
        Rounds rounds(routes, pattern, options.host_links);
        std::vector<std::uint32_t> mapping(routes.ranks());
        for (std::size_t i = begin; i < end; ++i) {
            std::iota(mapping.begin(), mapping.end(), 0u);
            random_stream(options.seed, i).shuffle(std::span(mapping));
            sums[i] = rounds.sums(mapping);
            const std::size_t finished = done.fetch_add(1) + 1;
            if (options.progress)
                options.progress(static_cast<double>(finished) / static_cast<double>(options.mappings));
        }
    });
    Bounds result;
    for (const RoundSums& s : sums) {
        if (pattern.stages() == 0) break;
        result.sum_max.add(s.sum_max);
        result.sum_average.add(s.sum_average);
        result.lower.add(1.0 / s.sum_max);
        result.upper.add(1.0 / s.sum_average);
        result.lower_bandwidth.add(1.0 / s.sum_max);
        result.upper_bandwidth.add(1.0 / s.sum_average);
    }
    return result;
}

}  // namespace loom::congestion
