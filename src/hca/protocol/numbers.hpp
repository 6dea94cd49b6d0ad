// Numbers of 24 bits that packets carry: of packets, and of queue pairs. Programs and what lies on a wire have plain
// integers, which become these at the border.
#pragma once

#include <cstdint>

#include "loom/base/ids.hpp"

namespace loom::hca {

constexpr std::uint32_t low_24_bits = 0xffffff;

// Number of a packet on the circle of 2^24. Which of two comes first is known while they are less than half the circle
// apart, as all packets of a queue pair that are under way are; hence no operator <.
class Psn {
public:
    constexpr Psn() = default;
    // What stands above the lower 24 bits is not part of it.
    constexpr explicit Psn(std::uint32_t word) : value_(word & low_24_bits) {}

    [[nodiscard]] constexpr std::uint32_t value() const { return value_; }
    [[nodiscard]] constexpr bool before(Psn other) const { return *this - other < 0; }
    [[nodiscard]] constexpr bool after(Psn other) const { return *this - other > 0; }

    friend constexpr bool operator==(Psn, Psn) = default;
    friend constexpr Psn operator+(Psn psn, std::uint32_t packets) { return Psn(psn.value_ + packets); }
    friend constexpr Psn operator-(Psn psn, std::uint32_t packets) { return Psn(psn.value_ - packets); }
    // How far the first is ahead of the second, in [-2^23, 2^23).
    friend constexpr std::int32_t operator-(Psn a, Psn b) {
        return static_cast<std::int32_t>((a.value_ - b.value_) << 8) >> 8;
    }

private:
    std::uint32_t value_ = 0;
};

// Of a queue pair: the slot of its process, and its place in that process's tables.
using QpNumber = Id<struct QpNumberTag, std::uint32_t>;

constexpr unsigned slot_bits = 10, index_bits = 14;
constexpr std::uint32_t slots = 1u << slot_bits;  // 1 .. slots - 1 are given to processes
constexpr std::uint32_t qps_per_process = 1u << index_bits;
constexpr QpNumber multicast_qpn{low_24_bits};

constexpr QpNumber qp_number(std::uint32_t slot, std::uint32_t index) {
    return QpNumber{slot << index_bits | index};
}
constexpr std::uint32_t slot_of(QpNumber qp) {
    return qp.value >> index_bits;
}
constexpr std::uint32_t index_of(QpNumber qp) {
    return qp.value & (qps_per_process - 1);
}

}  // namespace loom::hca
