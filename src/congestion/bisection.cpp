#include "loom/congestion/bisection.hpp"

#include <algorithm>
#include <mutex>

#include "congestion/loads.hpp"
#include "loom/base/error.hpp"
#include "loom/base/parallel.hpp"
#include "loom/base/random.hpp"

namespace loom::congestion {
namespace {

// Whether to go on is asked after each group, so that the answer does not depend on the threads.
constexpr std::size_t group = 256;
constexpr std::size_t piece = 32;

class Sampler {
public:
    Sampler(const Routes& routes, std::span<const Rank> ranks)
        : loads_(routes.data(), HostLinks::ignore), ranks_(ranks), order_(ranks.size()), pairs_(ranks.size() / 2) {}

    // Draws a pattern and adds its pairs to by_congestion.
    double bandwidth(std::uint64_t seed, std::size_t sample, std::vector<std::uint64_t>& by_congestion) {
        std::copy(ranks_.begin(), ranks_.end(), order_.begin());
        random_stream(seed, sample).shuffle(std::span(order_));
        const std::size_t half = pairs_.size();
        for (std::size_t i = 0; i < half; ++i) pairs_[i] = {order_[i], order_[half + i]};
        loads_.count(pairs_);
        std::fill(times_.begin(), times_.end(), 0u);
        const std::size_t inside =
            loads_.each(pairs_, [&](const RankPlace& from, const RankPlace& to, const auto* path, auto length) {
                const std::uint32_t c = path[0] == lost ? 0 : loads_.congestion(from, to, path, length);
                if (c >= times_.size()) times_.resize(c + 1, 0);
                ++times_[c];
            });
        times_[1] += inside;
        double sum = 0;
        if (by_congestion.size() < times_.size()) by_congestion.resize(times_.size(), 0);
        for (std::size_t c = 0; c < times_.size(); ++c) {
            by_congestion[c] += times_[c];
            if (c != 0) sum += static_cast<double>(times_[c]) / static_cast<double>(c);
        }
        return sum / static_cast<double>(half);
    }

private:
    Loads loads_;
    std::span<const Rank> ranks_;
    std::vector<Rank> order_;
    std::vector<traffic::Pair> pairs_;
    std::vector<std::uint64_t> times_ = std::vector<std::uint64_t>(16, 0);
};

}  // namespace

Bisection effective_bisection(const Routes& routes, const BisectionOptions& options) {
    const std::vector<Rank> ranks = routes.live_ranks();
    if (ranks.size() < 2) throw Error("a bisection needs at least two hosts");
    Bisection result;
    std::mutex merging;
    for (std::size_t done = 0; done < options.samples;) {
        const std::size_t count = std::min(group, options.samples - done);
        std::vector<double> bandwidth(count);
        parallel_for(count, options.threads, piece, [&](std::size_t begin, std::size_t end) {
            Sampler sampler(routes, ranks);
            std::vector<std::uint64_t> by_congestion;
            for (std::size_t i = begin; i < end; ++i)
                bandwidth[i] = sampler.bandwidth(options.seed, done + i, by_congestion);
            const std::lock_guard lock(merging);
            if (result.by_congestion.size() < by_congestion.size())
                result.by_congestion.resize(by_congestion.size(), 0);
            for (std::size_t c = 0; c < by_congestion.size(); ++c) result.by_congestion[c] += by_congestion[c];
        });
        for (const double b : bandwidth) {
            result.bandwidth.add(b);
            result.histogram.add(b);
        }
        done += count;
        if (options.progress) options.progress(static_cast<double>(done) / static_cast<double>(options.samples));
        result.half_width = result.bandwidth.confidence(options.confidence);
        if (options.precision > 0 && result.half_width <= options.precision) break;
    }
    while (result.by_congestion.size() > 2 && result.by_congestion.back() == 0) result.by_congestion.pop_back();
    return result;
}

}  // namespace loom::congestion
