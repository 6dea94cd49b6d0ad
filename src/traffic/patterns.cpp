#include "traffic/patterns.hpp"

#include <bit>
#include <numeric>

#include "loom/base/random.hpp"

namespace loom::traffic {
namespace {

class FunctionPattern final : public Pattern {
public:
    FunctionPattern(std::string name, std::size_t ranks, std::size_t stages, StageMaker maker)
        : name_(std::move(name)), ranks_(ranks), stages_(stages), maker_(std::move(maker)) {}

    [[nodiscard]] std::string name() const override { return name_; }
    [[nodiscard]] std::size_t ranks() const override { return ranks_; }
    [[nodiscard]] std::size_t stages() const override { return stages_; }
    void stage(std::size_t index, std::vector<Pair>& out) const override {
        out.clear();
        maker_(index, out);
    }

private:
    std::string name_;
    std::size_t ranks_;
    std::size_t stages_;
    StageMaker maker_;
};

void append_shift(std::size_t ranks, std::size_t distance, std::vector<Pair>& out) {
    out.resize(ranks);
    const std::size_t turn = ranks - distance;  // from here on the destination wraps around
    for (std::size_t i = 0; i < turn; ++i) out[i] = pair(i, i + distance);
    for (std::size_t i = turn; i < ranks; ++i) out[i] = pair(i, i - turn);
}

void append_xor(std::size_t ranks, std::size_t mask, std::vector<Pair>& out) {
    for (std::size_t i = 0; i < ranks; ++i)
        if ((i ^ mask) < ranks) out.push_back(pair(i, i ^ mask));
}

std::vector<std::uint32_t> shuffled(std::size_t ranks, std::uint64_t seed, std::size_t stage) {
    std::vector<std::uint32_t> order(ranks);
    std::iota(order.begin(), order.end(), 0u);
    random_stream(seed, stage).shuffle(std::span(order));
    return order;
}

}  // namespace

PatternPtr from_function(std::string name, std::size_t ranks, std::size_t stages, StageMaker maker) {
    return std::make_unique<FunctionPattern>(std::move(name), ranks, stages, std::move(maker));
}

std::size_t doubling_rounds(std::size_t ranks) {
    return static_cast<std::size_t>(std::bit_width(ranks - 1));
}

PatternPtr make_shift(std::string name, std::size_t ranks) {
    return from_function(std::move(name), ranks, ranks - 1,
                         [ranks](std::size_t stage, auto& out) { append_shift(ranks, stage + 1, out); });
}

PatternPtr make_single_shift(std::string name, std::size_t ranks, std::size_t distance) {
    return from_function(std::move(name), ranks, 1,
                         [=](std::size_t, auto& out) { append_shift(ranks, distance, out); });
}

PatternPtr make_xor(std::string name, std::size_t ranks) {
    return from_function(std::move(name), ranks, std::bit_ceil(ranks) - 1,
                         [ranks](std::size_t stage, auto& out) { append_xor(ranks, stage + 1, out); });
}

PatternPtr make_single_xor(std::string name, std::size_t ranks, std::size_t mask) {
    return from_function(std::move(name), ranks, 1, [=](std::size_t, auto& out) { append_xor(ranks, mask, out); });
}

PatternPtr make_doubling_shift(std::string name, std::size_t ranks) {
    return from_function(std::move(name), ranks, doubling_rounds(ranks),
                         [ranks](std::size_t stage, auto& out) { append_shift(ranks, std::size_t{1} << stage, out); });
}

// Ranks beyond the largest power of two hand their part to a partner first and get the result last.
PatternPtr make_recursive_doubling(std::string name, std::size_t ranks) {
    const std::size_t core = std::bit_floor(ranks);
    const std::size_t rounds = doubling_rounds(core);
    const std::size_t extra = ranks - core;
    return from_function(std::move(name), ranks, rounds + (extra != 0 ? 2 : 0), [=](std::size_t stage, auto& out) {
        const bool fold = extra != 0 && stage == 0;
        const bool unfold = extra != 0 && stage == rounds + 1;
        for (std::size_t i = 0; i < extra && (fold || unfold); ++i)
            out.push_back(fold ? pair(core + i, i) : pair(i, core + i));
        if (!fold && !unfold) append_xor(core, std::size_t{1} << (stage - (extra != 0 ? 1 : 0)), out);
    });
}

PatternPtr make_binomial(std::string name, std::size_t ranks, std::size_t root) {
    return from_function(std::move(name), ranks, doubling_rounds(ranks), [=](std::size_t stage, auto& out) {
        const std::size_t reach = std::size_t{1} << stage;
        for (std::size_t i = 0; i < reach && i + reach < ranks; ++i)
            out.push_back(pair((i + root) % ranks, (i + reach + root) % ranks));
    });
}

PatternPtr make_gather(std::string name, std::size_t ranks, std::size_t root) {
    return from_function(std::move(name), ranks, 1, [=](std::size_t, auto& out) {
        for (std::size_t i = 0; i < ranks; ++i)
            if (i != root) out.push_back(pair(i, root));
    });
}

PatternPtr make_scatter(std::string name, std::size_t ranks, std::size_t root) {
    return from_function(std::move(name), ranks, 1, [=](std::size_t, auto& out) {
        for (std::size_t i = 0; i < ranks; ++i)
            if (i != root) out.push_back(pair(root, i));
    });
}

// The grid closes on itself. A neighbour reached both ways round (extent 2) is sent to once.
PatternPtr make_neighbors(std::string name, std::vector<std::size_t> extent) {
    const std::size_t ranks = std::accumulate(extent.begin(), extent.end(), std::size_t{1}, std::multiplies<>{});
    return from_function(std::move(name), ranks, 1, [ranks, extent = std::move(extent)](std::size_t, auto& out) {
        for (std::size_t i = 0; i < ranks; ++i) {
            std::size_t stride = 1;
            for (std::size_t d = extent.size(); d-- > 0; stride *= extent[d]) {
                const std::size_t place = i / stride % extent[d];
                const std::size_t line = i - place * stride;
                const std::size_t after = (place + 1) % extent[d];
                const std::size_t before = (place + extent[d] - 1) % extent[d];
                if (after != place) out.push_back(pair(i, line + after * stride));
                if (before != after) out.push_back(pair(i, line + before * stride));
            }
        }
    });
}

PatternPtr make_permutation(std::string name, std::size_t ranks, std::size_t samples, std::uint64_t seed) {
    return from_function(std::move(name), ranks, samples, [=](std::size_t stage, auto& out) {
        const auto order = shuffled(ranks, seed, stage);
        for (std::size_t i = 0; i < ranks; ++i)
            if (order[i] != i) out.push_back(pair(i, order[i]));
    });
}

PatternPtr make_bisect(std::string name, std::size_t ranks, std::size_t samples, std::uint64_t seed) {
    return from_function(std::move(name), ranks, samples, [=](std::size_t stage, auto& out) {
        const auto order = shuffled(ranks, seed, stage);
        const std::size_t half = ranks / 2;
        out.resize(half);
        for (std::size_t i = 0; i < half; ++i) out[i] = pair(order[i], order[half + i]);
    });
}

}  // namespace loom::traffic
