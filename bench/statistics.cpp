#include "statistics.hpp"

#include <algorithm>
#include <cmath>

#include "loom/base/random.hpp"

namespace loom::bench {
namespace {

constexpr unsigned resamples = 1000;
constexpr std::uint64_t seed = 2009;

std::vector<double> ratios(const Pair& pair) {
    std::vector<double> out(std::min(pair.ours.size(), pair.theirs.size()));
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = pair.ours[i] / pair.theirs[i];
    return out;
}

double resampled_median(const std::vector<double>& values, Random& random) {
    std::vector<double> drawn(values.size());
    for (double& value : drawn) value = values[random.below(static_cast<std::uint32_t>(values.size()))];
    return median(std::move(drawn));
}

}  // namespace

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Interval ratio(std::span<const double> ours, std::span<const double> theirs) {
    const Pair pair{ours, theirs};
    return geometric_mean({&pair, 1});
}

Interval geometric_mean(std::span<const Pair> cells) {
    std::vector<std::vector<double>> all;
    for (const Pair& cell : cells)
        if (auto values = ratios(cell); !values.empty()) all.push_back(std::move(values));
    if (all.empty()) return {};
    Random random(seed);
    const auto mean = [&](const auto& middle) {
        double logarithms = 0;
        for (const auto& values : all) logarithms += std::log(middle(values));
        return std::exp(logarithms / static_cast<double>(all.size()));
    };
    std::vector<double> drawn(resamples);
    for (double& value : drawn)
        value = mean([&](const std::vector<double>& values) { return resampled_median(values, random); });
    std::sort(drawn.begin(), drawn.end());
    return {mean([](const std::vector<double>& values) { return median(values); }),
            drawn[static_cast<std::size_t>(resamples * 0.025)], drawn[static_cast<std::size_t>(resamples * 0.975) - 1]};
}

}  // namespace loom::bench
