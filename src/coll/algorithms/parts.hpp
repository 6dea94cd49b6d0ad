// What the algorithms are made of: pieces of buffers, steps to wait for, values to be combined, trees.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "loom/coll/algorithm.hpp"
#include "loom/coll/call.hpp"
#include "loom/coll/plan.hpp"

namespace loom::coll {

using Step = Writer::Step;

[[nodiscard]] constexpr Place operator+(Place place, std::uint64_t bytes) {
    return {place.buffer, place.at + bytes};
}

struct Piece {
    std::uint64_t at = 0;
    std::uint64_t bytes = 0;
};

// Steps to wait for, none twice. Adding steps in the order in which they were written costs nothing much, and few of
// them take no memory of the heap: schedules are written by the dozen when an algorithm is chosen.
class Waits {
public:
    Waits() = default;
    Waits(Step step) { add(step); }  // NOLINT: a step is one to wait for
    Waits& add(Step step) {
        const Writer::After known = *this;
        if (!known.empty() && step.number <= latest_)
            for (const Step each : known)
                if (each.number == step.number) return *this;
        latest_ = known.empty() ? step.number : std::max(latest_, step.number);
        if (count_ < few_.size()) {
            few_[count_++] = step;
        } else {
            if (many_.empty()) many_.assign(few_.begin(), few_.end());
            many_.push_back(step);
        }
        return *this;
    }
    Waits& add(const Waits& more) {
        for (const Step step : Writer::After(more)) add(step);
        return *this;
    }
    [[nodiscard]] bool empty() const { return count_ == 0; }
    [[nodiscard]] std::size_t size() const { return Writer::After(*this).size(); }
    operator Writer::After() const {  // NOLINT: that is what it is for
        return many_.empty() ? Writer::After(few_).first(count_) : Writer::After(many_);
    }

private:
    std::array<Step, 5> few_{};
    std::uint32_t count_ = 0;  // in few_
    std::uint32_t latest_ = 0;
    std::vector<Step> many_;  // all, where there are more
};

// All of `waits` as at most one step: worth it where several will wait for them.
[[nodiscard]] Waits joined(Writer& writer, const Waits& waits);

// The i-th of n parts, as equal as can be without cutting an element; the first ones are the larger ones.
[[nodiscard]] Piece part(std::uint64_t bytes, std::uint32_t element, std::uint32_t i, std::uint32_t n);
// From the first of parts [i, j) to the end of the last.
[[nodiscard]] Piece parts(std::uint64_t bytes, std::uint32_t element, std::uint32_t i, std::uint32_t j,
                          std::uint32_t n);

// Cuts of about `segment` bytes and no element cut, all but the last alike; one cut when segment is 0, none without
// bytes. At most `most` of them, so that tags can name them.
[[nodiscard]] std::vector<Piece> segments(std::uint64_t bytes, std::uint32_t element, std::uint64_t segment,
                                          std::uint64_t most = 1u << 16);
inline constexpr std::uint64_t usual_segment = 64 * 1024;  // of algorithms that make no sense without

// Where the blocks of a buffer lie.
class BlockPieces {
public:
    static BlockPieces even(std::uint64_t bytes, std::uint32_t n);    // all alike, one behind the other
    static BlockPieces packed(std::span<const std::uint64_t> bytes);  // one behind the other
    static BlockPieces given(const Blocks& blocks);                   // as the call says
    static BlockPieces split(std::uint64_t bytes, std::uint32_t element, std::uint32_t n);  // part(i, n)

    [[nodiscard]] const Piece& operator[](std::uint32_t i) const { return pieces_[i]; }
    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(pieces_.size()); }
    [[nodiscard]] std::uint64_t total() const;
    // Whether each begins where the one before ends.
    [[nodiscard]] bool dense() const;
    // The same blocks one behind the other, beginning with `first` and going round.
    [[nodiscard]] BlockPieces rotated(std::uint32_t first) const;
    // Blocks [i, j) of a dense layout as one piece.
    [[nodiscard]] Piece range(std::uint32_t i, std::uint32_t j) const;

private:
    std::vector<Piece> pieces_;
};

// Copies that bring blocks from one layout into another, neighbours together: block (i + shift) % n of `to` becomes
// block i of `from`. Leaves out nothing but empty blocks and those that `skip` names.
Waits copy_blocks(Writer& writer, Place from, const BlockPieces& source, Place to, const BlockPieces& target,
                  std::uint32_t shift, const Waits& after, std::uint32_t skip = 0xffffffffu);

// A value that is at `at` once `ready` is done. It may be overwritten if it is not `kept`, and not before `readers`.
struct Value {
    Place at;
    Waits ready;
    bool kept = false;
    Waits readers;
};

// Combines values that came from rising ranks, from the left: ((v0 op v1) op v2)... In that order where the operation
// does not commute; with the same brackets in any case, so that ranks that combine the same get the same bits. The
// result is at `target`, and nowhere is copied what needs not be: not if the last value is at the target, or any where
// the operation commutes. Where no value is at the target, it is written after `free`.
Value combine(Writer& writer, std::span<const Value> values, Place target, std::uint64_t bytes, bool commutative,
              const Waits& free = {});
// The same where it does not matter where the result is.
Value combine(Writer& writer, std::span<const Value> values, std::uint64_t bytes, bool commutative);

// Where what a rank gives to a reduction lies.
[[nodiscard]] inline Place own_input(const Call& call) {
    return call.in_place ? output() : input();
}
// The value of the rank itself: the caller's input is not to be written.
[[nodiscard]] Value own_value(Place at);

// A node of a tree over 0..n-1 whose root is 0. Children are those of the largest subtrees first; a subtree holds
// consecutive numbers [v, v + span).
struct Node {
    std::uint32_t parent = 0;
    std::vector<std::uint32_t> children;
    std::vector<std::uint32_t> spans;  // by child
    std::uint32_t span = 1;            // of the subtree
};
// Radix `radix` >= 2: 2 is the binomial tree. Depth: digits of n - 1.
[[nodiscard]] Node knomial_node(std::uint32_t v, std::uint32_t n, std::uint32_t radix);
// Of the binomial tree alone, without the children.
[[nodiscard]] std::uint32_t binomial_span(std::uint32_t v, std::uint32_t n);
// Two children each, the rest of the range divided between them.
[[nodiscard]] Node binary_node(std::uint32_t v, std::uint32_t n);
[[nodiscard]] Node chain_node(std::uint32_t v, std::uint32_t n);
[[nodiscard]] Node flat_node(std::uint32_t v, std::uint32_t n);

// Ranks taking part in something, and which of them this is; numbers 0.. stand for them.
struct Team {
    std::vector<Rank> ranks;
    std::uint32_t me = 0;
    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(ranks.size()); }
    [[nodiscard]] Rank operator[](std::uint32_t i) const { return ranks[i]; }
};
// All of a group, beginning with `first` and going round.
[[nodiscard]] Team everyone(const Group& group, Rank first = Rank{0});

// The largest power of two that is not above n > 0.
[[nodiscard]] std::uint32_t power_below(std::uint32_t n);
[[nodiscard]] constexpr bool is_power(std::uint32_t n) {
    return n != 0 && (n & (n - 1)) == 0;
}

// Some ranks less, so that their number is a power of two (the first step of recursive doubling and halving): of the
// first pairs (0, 1), (2, 3)... one gives what it has to the other, which stays. Neighbours pair up and numbers follow
// ranks, so that order is kept.
class Folding {
public:
    // In each pair the second stays; but `keep` stays if it is in one.
    explicit Folding(std::uint32_t size, Rank keep = no_rank);
    [[nodiscard]] std::uint32_t power() const { return power_; }
    [[nodiscard]] bool paired(Rank rank) const { return rank.value < 2 * rest_; }
    [[nodiscard]] static Rank partner(Rank rank) { return Rank{rank.value ^ 1}; }
    [[nodiscard]] bool stays(Rank rank) const;
    // Of those that stay (and of their partners): 0..power-1.
    [[nodiscard]] std::uint32_t number(Rank rank) const;
    [[nodiscard]] Rank rank(std::uint32_t number) const;

private:
    std::uint32_t power_, rest_;
    Rank keep_;
};

bool always(const Group& group, const Call& call);
bool if_commutative(const Group& group, const Call& call);
bool if_power(const Group& group, const Call& call);

}  // namespace loom::coll
