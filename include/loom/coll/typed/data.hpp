// What typed collectives take: ranges of data, layouts of blocks, and "in place".
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "loom/base/error.hpp"
#include "loom/coll/call.hpp"
#include "loom/coll/typed/operation.hpp"

namespace loom::coll {

// In the place of the input: it is in the output, by MPI's rules for each operation (scatter: in the place of the
// output).
struct InPlace {};
inline constexpr InPlace in_place{};

// Elements one after another in memory that stays: a vector or array with a name, a span; not a temporary container.
template <class R>
concept Range = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> && std::ranges::borrowed_range<R> &&
    Data<std::ranges::range_value_t<R>>;

// The same, and they can be written.
template <class R>
concept OutputRange = Range<R> && !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;

// The input that goes with an output of T: elements of the same type, or in_place.
template <class R, class T>
concept InputFor = std::same_as<std::remove_cvref_t<R>, InPlace> ||
    (Range<R>&& std::same_as<std::ranges::range_value_t<R>, T>);

// The output that goes with an input of T, where in_place stands in its place.
template <class R, class T>
concept OutputFor = std::same_as<std::remove_cvref_t<R>, InPlace> ||
    (OutputRange<R>&& std::same_as<std::ranges::range_value_t<R>, T>);

template <class R>
using Element = std::ranges::range_value_t<R>;  // of a Range

// Blocks of a buffer in elements: how many of each rank (or neighbour), and where. Without places they lie one after
// another. Refers to what it is made from.
struct Layout {
    std::span<const std::size_t> counts;
    std::span<const std::size_t> places = {};

    Layout(std::span<const std::size_t> count_of, std::span<const std::size_t> place_of = {})  // NOLINT: implicit
        : counts(count_of), places(place_of) {}
    Layout(const std::vector<std::size_t>& count_of)  // NOLINT: implicit
        : Layout(std::span(count_of)) {}
};

namespace detail {

template <class R>
inline constexpr bool is_in_place = std::same_as<std::remove_cvref_t<R>, InPlace>;

template <class R>
[[nodiscard]] const std::byte* input_data(const R& range) {
    if constexpr (is_in_place<R>)
        return nullptr;
    else
        return reinterpret_cast<const std::byte*>(std::ranges::data(range));
}

template <class R>
[[nodiscard]] std::byte* output_data(R& range) {
    if constexpr (is_in_place<R>)
        return nullptr;
    else
        return reinterpret_cast<std::byte*>(std::ranges::data(range));
}

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
        : size_(layout.counts.size()) {
        need(layout.places.empty() || layout.places.size() == size_, what, "there must be a place for every count");
        if (size_ > few_.size() / 2) many_.resize(2 * size_);
        std::uint64_t* words = size_ > few_.size() / 2 ? many_.data() : few_.data();
        std::size_t next = 0;
        for (std::size_t i = 0; i < size_; ++i) {
            const std::size_t count = layout.counts[i];
            const std::size_t place = layout.places.empty() ? next : layout.places[i];
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
