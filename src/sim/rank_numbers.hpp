// Numbers that each rank gives out on its own, so that they do not depend on who is quicker, and storage by them that
// others may read while the rank adds to it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "loom/base/ids.hpp"

namespace loom::sim {

// The rank in the upper bits, a slot in the lower ones. 0xffffffff is none of them.
class RankNumbers {
public:
    explicit RankNumbers(std::uint32_t ranks)
        : ranks_(ranks), bits_(32 - static_cast<unsigned>(std::bit_width(std::max(1u, ranks)))) {}
    [[nodiscard]] std::uint32_t ranks() const { return ranks_; }
    [[nodiscard]] std::uint32_t slots() const { return 1u << bits_; }  // of each rank
    [[nodiscard]] std::uint32_t number(Rank rank, std::uint32_t slot) const { return rank.value << bits_ | slot; }
    [[nodiscard]] Rank rank(std::uint32_t number) const { return Rank{number >> bits_}; }
    [[nodiscard]] std::uint32_t slot(std::uint32_t number) const { return number & (slots() - 1); }

private:
    std::uint32_t ranks_;
    unsigned bits_;
};

// A rank's slots lie in chunks, each twice as long as the one before: nothing ever moves. The rank's thread grows them;
// others may use a slot once they have heard of it in an orderly way. Cost without slots: some 100 bytes a rank.
template <class T>
class RankStorage {
public:
    RankStorage() = default;
    explicit RankStorage(const RankNumbers& numbers)
        : numbers_(numbers),
          chunks_(place(numbers.slots() - 1).chunk + 1),
          table_(std::size_t{numbers.ranks()} * chunks_) {}

    [[nodiscard]] bool empty() const { return table_.empty(); }
    [[nodiscard]] T& operator[](std::uint32_t number) {
        const Place at = place(numbers_.slot(number));
        return table_[row(number) + at.chunk][at.offset];
    }
    [[nodiscard]] const T& operator[](std::uint32_t number) const {
        const Place at = place(numbers_.slot(number));
        return table_[row(number) + at.chunk][at.offset];
    }
    // Makes room for the number.
    void grow(std::uint32_t number) {
        const Place at = place(numbers_.slot(number));
        std::unique_ptr<T[]>& chunk = table_[row(number) + at.chunk];
        if (!chunk) chunk = std::make_unique<T[]>(std::size_t{first} << at.chunk);
    }

private:
    static constexpr std::uint32_t first = 16;  // slots of the first chunk
    struct Place {
        unsigned chunk;
        std::uint32_t offset;
    };
    [[nodiscard]] static Place place(std::uint32_t slot) {
        const auto chunk = static_cast<unsigned>(std::bit_width(slot / first + 1)) - 1;
        return {chunk, slot - first * ((1u << chunk) - 1)};
    }
    [[nodiscard]] std::size_t row(std::uint32_t number) const {
        return std::size_t{numbers_.rank(number).value} * chunks_;
    }

    RankNumbers numbers_{0};
    unsigned chunks_ = 0;
    std::vector<std::unique_ptr<T[]>> table_;  // by rank x chunk
};

}  // namespace loom::sim
