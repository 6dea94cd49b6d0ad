// What typed collectives take beside data: layouts of blocks, and "in place".
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "loom/base/error.hpp"
#include "loom/coll/call.hpp"

namespace loom::coll {

// In the place of the input: it is in the output, by MPI's rules for each operation (scatter: in the place of the
// output).
struct InPlace {};
inline constexpr InPlace in_place{};

// Numbers of elements, or places counted in elements: one for each rank or neighbour. A range that has a name, or a
// span, is referred to and must outlive this; what is in braces or a temporary is kept here.
class Counts {
public:
    Counts() = default;
    Counts(std::initializer_list<std::size_t> numbers) : kept_(numbers) {}
    Counts(std::vector<std::size_t>&& numbers) : kept_(std::move(numbers)) {}  // NOLINT: implicit
    template <std::ranges::contiguous_range Numbers>
    requires(!std::same_as<std::remove_cvref_t<Numbers>, Counts>) Counts(Numbers&& numbers) {  // NOLINT: implicit
        static_assert(std::is_same_v<std::ranges::range_value_t<Numbers>, std::size_t>,
                      "counts and places must be of type std::size_t");
        if constexpr (!std::same_as<std::ranges::range_value_t<Numbers>, std::size_t>)
            return;
        else if constexpr (std::ranges::borrowed_range<Numbers>)
            named_ = numbers;
        else
            kept_.assign(std::ranges::begin(numbers), std::ranges::end(numbers));
    }

    [[nodiscard]] std::span<const std::size_t> span() const { return kept_.empty() ? named_ : kept_; }

private:
    std::span<const std::size_t> named_;
    std::vector<std::size_t> kept_;
};

// Blocks of a buffer in elements: how many of each rank (or neighbour), and where. Without places they lie one after
// another. In braces: {{2, 1, 1}} for counts, {{2, 1, 1}, {0, 4, 8}} for counts and places.
struct Layout {
    Counts counts;
    Counts places;

    Layout(Counts count_of, Counts place_of = {})  // NOLINT: implicit
        : counts(std::move(count_of)), places(std::move(place_of)) {}
    template <std::ranges::contiguous_range Numbers>
    Layout(Numbers&& count_of) : counts(std::forward<Numbers>(count_of)) {}  // NOLINT: implicit
};

namespace detail {

inline void need(bool holds, std::string_view what, std::string_view why) {
    if (!holds) [[unlikely]]
        throw UsageError(std::string(what) + ": " + std::string(why));
}

// A layout in bytes. No allocation up to 16 ranks.
class BlockBytes {
public:
    BlockBytes() = default;
    // Checks that all blocks are inside `room` elements.
    BlockBytes(const Layout& layout, std::size_t element, std::size_t room, std::string_view what)
        : size_(layout.counts.span().size()) {
        const std::span<const std::size_t> counts = layout.counts.span(), places = layout.places.span();
        need(places.empty() || places.size() == size_, what, "there must be a place for every count");
        if (size_ > few_.size() / 2) many_.resize(2 * size_);
        std::uint64_t* words = size_ > few_.size() / 2 ? many_.data() : few_.data();
        std::size_t next = 0;
        for (std::size_t i = 0; i < size_; ++i) {
            const std::size_t count = counts[i];
            const std::size_t place = places.empty() ? next : places[i];
            need(count == 0 || (place <= room && count <= room - place), what, "a block goes beyond its buffer");
            words[i] = count * element;
            words[size_ + i] = place * element;
            next = place + count;
        }
    }
    // One block at the beginning.
    BlockBytes(std::uint64_t bytes) : size_(1) { few_[0] = bytes; }  // NOLINT: implicit

    [[nodiscard]] Blocks blocks() const {
        const std::span<const std::uint64_t> words(size_ > few_.size() / 2 ? many_.data() : few_.data(), 2 * size_);
        return {words.first(size_), words.subspan(size_)};
    }

private:
    std::size_t size_ = 0;
    std::array<std::uint64_t, 32> few_{};
    std::vector<std::uint64_t> many_;
};

}  // namespace detail
}  // namespace loom::coll
