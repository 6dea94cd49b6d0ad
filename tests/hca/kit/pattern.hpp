// What the checker sends: bytes that follow from (seed, message, offset), in buffers whose surroundings are watched.
#pragma once

#include <infiniband/verbs.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "loom/base/random.hpp"

namespace loom::kit {

constexpr std::uint64_t mixed(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

// One message of a stream. Two messages differ in nearly every byte.
class Pattern {
public:
    Pattern(std::uint64_t seed, std::uint64_t message) : base_(mixed(seed) ^ mixed(message ^ 0xabcdu)) {}

    [[nodiscard]] std::uint8_t at(std::uint64_t offset) const {
        return static_cast<std::uint8_t>(mixed(base_ ^ (offset / 8)) >> (8 * (offset % 8)));
    }
    void fill(std::span<std::uint8_t> bytes, std::uint64_t offset) const {
        each(bytes.size(), offset, [&](std::size_t i, const std::uint8_t* expected, std::size_t n) {
            std::memcpy(bytes.data() + i, expected, n);
            return true;
        });
    }
    // The first byte that is not as it should be, or the size.
    [[nodiscard]] std::size_t differs(std::span<const std::uint8_t> bytes, std::uint64_t offset) const {
        std::size_t found = bytes.size();
        each(bytes.size(), offset, [&](std::size_t i, const std::uint8_t* expected, std::size_t n) {
            if (std::memcmp(bytes.data() + i, expected, n) == 0) return true;
            for (found = i; bytes[found] == expected[found - i];) ++found;
            return false;
        });
        return found;
    }

private:
    // Runs over words of the stream and their pieces at either end.
    template <class Visit>
    void each(std::size_t size, std::uint64_t offset, Visit&& visit) const {
        for (std::size_t i = 0; i < size;) {
            const std::uint64_t word = mixed(base_ ^ ((offset + i) / 8));
            const std::size_t skip = (offset + i) % 8;
            const std::size_t n = std::min(8 - skip, size - i);
            if (!visit(i, reinterpret_cast<const std::uint8_t*>(&word) + skip, n)) return;
            i += n;
        }
    }

    std::uint64_t base_;
};

// A message's place in memory: pieces with guards before, between and after them.
class Slot {
public:
    static constexpr std::size_t guard = 24;
    static constexpr std::uint8_t guard_byte = 0xc9;

    // Bytes that a slot of this many pieces takes.
    static std::size_t footprint(std::size_t size, std::size_t pieces) { return size + (pieces + 1) * guard + 8; }

    // Cuts `size` bytes into pieces at odd places chosen by `random`; some may be empty. aligned8: one piece, as
    // atomics ask for it.
    Slot(std::span<std::uint8_t> memory, std::size_t size, std::size_t pieces, Random& random, bool aligned8 = false)
        : memory_(memory), size_(size) {
        std::memset(memory_.data(), guard_byte, memory_.size());
        std::size_t at = guard;
        if (aligned8) at += (8 - reinterpret_cast<std::uintptr_t>(memory_.data() + at) % 8) % 8;
        std::size_t left = size;
        for (std::size_t i = 0; i < pieces; ++i) {
            const std::size_t length = i + 1 == pieces ? left
                                       : left == 0     ? 0
                                                       : random.below(static_cast<std::uint32_t>(left + 1));
            pieces_.push_back(memory_.subspan(at, length));
            at += length + guard;
            left -= length;
        }
    }

    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(pieces_.front().data()); }
    [[nodiscard]] std::span<std::uint8_t> bytes() const { return pieces_.front(); }

    [[nodiscard]] std::vector<ibv_sge> gather(std::uint32_t lkey) const {
        std::vector<ibv_sge> list;
        for (const auto& piece : pieces_)
            list.push_back(
                {reinterpret_cast<std::uint64_t>(piece.data()), static_cast<std::uint32_t>(piece.size()), lkey});
        return list;
    }
    void fill(const Pattern& pattern) {
        std::uint64_t offset = 0;
        for (const auto& piece : pieces_) {
            pattern.fill(piece, offset);
            offset += piece.size();
        }
    }
    void clear() {
        for (const auto& piece : pieces_) std::memset(piece.data(), 0x5a, piece.size());
    }
    // The first `length` bytes after `prefix` are the pattern's. "" or what is wrong.
    [[nodiscard]] std::string check(const Pattern& pattern, std::size_t prefix, std::size_t length) const {
        std::size_t position = 0;
        for (const auto& piece : pieces_) {
            const std::size_t begin = std::max(position, prefix);
            const std::size_t end = std::min(position + piece.size(), prefix + length);
            if (begin < end) {
                const auto part = piece.subspan(begin - position, end - begin);
                const std::size_t wrong = pattern.differs(part, begin - prefix);
                if (wrong != part.size())
                    return "byte " + std::to_string(begin - prefix + wrong) + " of " + std::to_string(length) +
                           " is wrong";
            }
            position += piece.size();
        }
        return check_guards();
    }
    [[nodiscard]] std::string check_guards() const {
        const std::uint8_t* at = memory_.data();
        const auto clean = [&](const std::uint8_t* end) {
            for (; at < end; ++at)
                if (*at != guard_byte) return false;
            return true;
        };
        for (const auto& piece : pieces_) {
            if (!clean(piece.data())) return "bytes before or between buffers were touched";
            at = piece.data() + piece.size();
        }
        return clean(memory_.data() + memory_.size()) ? "" : "bytes behind a buffer were touched";
    }

private:
    std::span<std::uint8_t> memory_;
    std::size_t size_;
    std::vector<std::span<std::uint8_t>> pieces_;
};

}  // namespace loom::kit
