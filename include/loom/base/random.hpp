// Random numbers that give the same sequence on every machine and compiler.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace loom {

// xoshiro256++ seeded through splitmix64: 32 bytes of state, about 1 ns a number, passes BigCrush.
// std::shuffle and the std distributions are not used: their results differ between libraries.
class Random {
public:
    using result_type = std::uint64_t;
    explicit constexpr Random(std::uint64_t seed) {
        for (auto& word : state_) {
            seed += 0x9e3779b97f4a7c15u;
            std::uint64_t z = seed;
            z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
            z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
            word = z ^ (z >> 31);
        }
    }

    static constexpr result_type min() { return 0; }
    static constexpr result_type max() { return ~result_type{0}; }

    constexpr std::uint64_t operator()() {
        const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
        const std::uint64_t t = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= t;
        state_[3] = std::rotl(state_[3], 45);
        return result;
    }

    // Uniform in [0, bound) without bias (multiply-and-reject); bound > 0.
    constexpr std::uint32_t below(std::uint32_t bound) {
        std::uint64_t m = (operator()() >> 32) * bound;
        if (static_cast<std::uint32_t>(m) < bound) {
            const std::uint32_t threshold = -bound % bound;
            while (static_cast<std::uint32_t>(m) < threshold) m = (operator()() >> 32) * bound;
        }
        return static_cast<std::uint32_t>(m >> 32);
    }

    // Uniform in [0, 1).
    constexpr double unit() { return static_cast<double>(operator()() >> 11) * 0x1.0p-53; }

    // Fisher-Yates; every permutation equally likely.
    template <class T>
    constexpr void shuffle(std::span<T> items) {
        for (std::size_t i = items.size(); i > 1; --i)
            std::swap(items[i - 1], items[below(static_cast<std::uint32_t>(i))]);
    }

private:
    std::uint64_t state_[4]{};
};

// The index-th of many independent sequences that one seed stands for: samples can then be drawn in
// any order, by any thread, and stay the same.
[[nodiscard]] constexpr Random random_stream(std::uint64_t seed, std::uint64_t index) {
    Random mixed(seed);
    return Random(mixed() ^ Random(index ^ 0x6a09e667f3bcc909u)());
}

}  // namespace loom
