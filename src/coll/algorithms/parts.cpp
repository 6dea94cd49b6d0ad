#include "coll/algorithms/parts.hpp"

#include <algorithm>
#include <numeric>

namespace loom::coll {

Waits joined(Writer& writer, const Waits& waits) {
    if (waits.size() < 2) return waits;
    return writer.join(waits);
}

Piece parts(std::uint64_t bytes, std::uint32_t element, std::uint32_t i, std::uint32_t j, std::uint32_t n) {
    const std::uint64_t count = bytes / element;
    const auto begin = [&](std::uint64_t k) {
        return k == n ? bytes : (count / n * k + std::min<std::uint64_t>(count % n, k)) * element;
    };
    return {begin(i), begin(j) - begin(i)};
}

Piece part(std::uint64_t bytes, std::uint32_t element, std::uint32_t i, std::uint32_t n) {
    return parts(bytes, element, i, i + 1, n);
}

std::vector<Piece> segments(std::uint64_t bytes, std::uint32_t element, std::uint64_t segment, std::uint64_t most) {
    if (bytes == 0) return {};
    if (segment == 0) segment = bytes;
    segment =
        std::max({segment / element * element, std::uint64_t{element}, (bytes / most + element) / element * element});
    std::vector<Piece> cuts;
    for (std::uint64_t at = 0; at < bytes; at += segment) cuts.push_back({at, std::min(segment, bytes - at)});
    return cuts;
}

BlockPieces BlockPieces::even(std::uint64_t bytes, std::uint32_t n) {
    BlockPieces layout;
    layout.pieces_.reserve(n);
    for (std::uint32_t i = 0; i < n; ++i) layout.pieces_.push_back({i * bytes, bytes});
    return layout;
}

BlockPieces BlockPieces::packed(std::span<const std::uint64_t> bytes) {
    BlockPieces layout;
    layout.pieces_.reserve(bytes.size());
    std::uint64_t at = 0;
    for (const std::uint64_t size : bytes) {
        layout.pieces_.push_back({at, size});
        at += size;
    }
    return layout;
}

BlockPieces BlockPieces::given(const Blocks& blocks) {
    BlockPieces layout;
    layout.pieces_.reserve(blocks.bytes.size());
    for (std::size_t i = 0; i < blocks.bytes.size(); ++i) layout.pieces_.push_back({blocks.at[i], blocks.bytes[i]});
    return layout;
}

BlockPieces BlockPieces::split(std::uint64_t bytes, std::uint32_t element, std::uint32_t n) {
    BlockPieces layout;
    layout.pieces_.reserve(n);
    for (std::uint32_t i = 0; i < n; ++i) layout.pieces_.push_back(part(bytes, element, i, n));
    return layout;
}

std::uint64_t BlockPieces::total() const {
    std::uint64_t sum = 0;
    for (const Piece& piece : pieces_) sum += piece.bytes;
    return sum;
}

bool BlockPieces::dense() const {
    for (std::size_t i = 1; i < pieces_.size(); ++i)
        if (pieces_[i].at != pieces_[i - 1].at + pieces_[i - 1].bytes) return false;
    return true;
}

BlockPieces BlockPieces::rotated(std::uint32_t first) const {
    BlockPieces layout;
    layout.pieces_.reserve(pieces_.size());
    std::uint64_t at = 0;
    for (std::uint32_t i = 0; i < size(); ++i) {
        const std::uint64_t bytes = pieces_[(first + i) % size()].bytes;
        layout.pieces_.push_back({at, bytes});
        at += bytes;
    }
    return layout;
}

Piece BlockPieces::range(std::uint32_t i, std::uint32_t j) const {
    if (i == j) return {};
    return {pieces_[i].at, pieces_[j - 1].at + pieces_[j - 1].bytes - pieces_[i].at};
}

Waits copy_blocks(Writer& writer, Place from, const BlockPieces& source, Place to, const BlockPieces& target,
                  std::uint32_t shift, const Waits& after, std::uint32_t skip) {
    Waits done;
    Piece read, write;  // the run so far
    const auto flush = [&] {
        if (read.bytes > 0) done.add(writer.copy(from + read.at, to + write.at, read.bytes, after));
        read = write = {};
    };
    for (std::uint32_t i = 0; i < source.size(); ++i) {
        const std::uint32_t block = (i + shift) % source.size();
        if (source[i].bytes == 0 || block == skip) continue;
        const bool goes_on =
            read.bytes > 0 && source[i].at == read.at + read.bytes && target[block].at == write.at + write.bytes;
        if (!goes_on) {
            flush();
            read.at = source[i].at;
            write.at = target[block].at;
        }
        read.bytes += source[i].bytes;
        write.bytes += source[i].bytes;
    }
    flush();
    return done;
}

Value own_value(Place at) {
    return {at, {}, at.buffer == Buffer::input, {}};
}

namespace {

// Where two values end up that are about to be combined: in the right one where order counts.
bool into_right(const Value& left, const Value& right, const Place* target, bool commutative) {
    if (!commutative) return true;
    if (target != nullptr && left.at == *target && !left.kept) return false;
    if (target != nullptr && right.at == *target && !right.kept) return true;
    return !right.kept;
}

Value fold(Writer& writer, std::span<const Value> values, const Place* target, std::uint64_t bytes, bool commutative,
           const Waits& free) {
    Value sum = values[0];
    for (std::size_t i = 1; i < values.size(); ++i) {
        Value left = std::move(sum);
        Value right = values[i];
        if (right.kept && (!commutative || left.kept)) {
            // The rest of the fold is in values of their own, so the target is free: it may be the last one's.
            const bool last = i + 1 == values.size();
            const Place room = last && target != nullptr ? *target : writer.take_scratch(bytes);
            Waits after = right.ready;
            if (target != nullptr && room == *target) after.add(free);
            right = {room, writer.copy(right.at, room, bytes, after), false, {}};
        }
        const bool rightwards = into_right(left, right, target, commutative);
        const Value& from = rightwards ? left : right;
        const Value& to = rightwards ? right : left;
        Waits after = from.ready;
        after.add(to.ready).add(to.readers);
        sum = {to.at, writer.reduce(from.at, to.at, bytes, after), false, {}};
    }
    return sum;
}

}  // namespace

Value combine(Writer& writer, std::span<const Value> values, std::uint64_t bytes, bool commutative) {
    return fold(writer, values, nullptr, bytes, commutative, {});
}

Value combine(Writer& writer, std::span<const Value> values, Place target, std::uint64_t bytes, bool commutative,
              const Waits& free) {
    Value sum = fold(writer, values, &target, bytes, commutative, free);
    if (sum.at == target) return sum;
    Waits after = sum.ready;
    after.add(free);
    for (const Value& value : values)
        if (value.at == target) after.add(value.readers);
    return {target, writer.copy(sum.at, target, bytes, after), false, {}};
}

Node knomial_node(std::uint32_t v, std::uint32_t n, std::uint32_t radix) {
    Node node;
    std::uint64_t weight = 1;  // of the lowest digit that is not 0: below it are the children's
    while (weight < n && v / weight % radix == 0) weight *= radix;
    const std::uint64_t digit = v / weight % radix;
    node.parent = static_cast<std::uint32_t>(v - digit * weight);
    node.span = static_cast<std::uint32_t>(std::min<std::uint64_t>(weight, n - v));
    for (std::uint64_t w = weight / radix; w > 0; w /= radix)
        for (std::uint64_t d = radix - 1; d > 0; --d) {
            const std::uint64_t child = v + d * w;
            if (child >= n) continue;
            node.children.push_back(static_cast<std::uint32_t>(child));
            node.spans.push_back(static_cast<std::uint32_t>(std::min(w, n - child)));
        }
    return node;
}

std::uint32_t binomial_span(std::uint32_t v, std::uint32_t n) {
    return v == 0 ? n : std::min(v & (~v + 1), n - v);
}

Node binary_node(std::uint32_t v, std::uint32_t n) {
    Node node;
    std::uint32_t top = 0;
    std::uint32_t span = n;
    while (true) {
        const std::uint32_t left = span / 2;  // of what is below the top
        const std::uint32_t right = span - 1 - left;
        if (top == v) {
            node.span = span;
            if (left > 0) {
                node.children.push_back(top + 1);
                node.spans.push_back(left);
            }
            if (right > 0) {
                node.children.push_back(top + 1 + left);
                node.spans.push_back(right);
            }
            return node;
        }
        node.parent = top;
        if (v < top + 1 + left) {
            top = top + 1;
            span = left;
        } else {
            top = top + 1 + left;
            span = right;
        }
    }
}

Node chain_node(std::uint32_t v, std::uint32_t n) {
    Node node;
    node.parent = v == 0 ? 0 : v - 1;
    node.span = n - v;
    if (v + 1 < n) {
        node.children = {v + 1};
        node.spans = {n - v - 1};
    }
    return node;
}

Node flat_node(std::uint32_t v, std::uint32_t n) {
    Node node;
    if (v != 0) return node;
    node.span = n;
    for (std::uint32_t child = 1; child < n; ++child) node.children.push_back(child);
    node.spans.assign(node.children.size(), 1);
    return node;
}

Team everyone(const Group& group, Rank first) {
    Team team;
    team.ranks.reserve(group.size);
    for (std::uint32_t i = 0; i < group.size; ++i) team.ranks.push_back(Rank{(first.value + i) % group.size});
    team.me = (group.me.value + group.size - first.value) % group.size;
    return team;
}

std::uint32_t power_below(std::uint32_t n) {
    std::uint32_t power = 1;
    while (power <= n / 2) power *= 2;
    return power;
}

Folding::Folding(std::uint32_t size, Rank keep) : power_(power_below(size)), rest_(size - power_), keep_(keep) {}

bool Folding::stays(Rank rank) const {
    if (!paired(rank)) return true;
    if (rank == keep_ || partner(rank) == keep_) return rank == keep_;
    return rank.value % 2 == 1;
}

std::uint32_t Folding::number(Rank rank) const {
    return paired(rank) ? rank.value / 2 : rank.value - rest_;
}

Rank Folding::rank(std::uint32_t number) const {
    if (number >= rest_) return Rank{number + rest_};
    const Rank second{2 * number + 1};
    return stays(second) ? second : partner(second);
}

bool always(const Group&, const Call&) {
    return true;
}

bool if_commutative(const Group&, const Call& call) {
    return call.commutative;
}

bool if_power(const Group& group, const Call&) {
    return is_power(group.size);
}

}  // namespace loom::coll
