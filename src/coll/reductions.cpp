#include <array>
#include <concepts>
#include <cstring>
#include <type_traits>
#include <utility>

#include "loom/coll/operations.hpp"

namespace loom::coll {
namespace {

// What integers wrap around in: signed overflow is undefined, and small types would be promoted to int.
template <class T>
struct Wrapping {
    using type = T;
};
template <std::integral T>
struct Wrapping<T> {
    using type = std::conditional_t<(sizeof(T) < sizeof(unsigned)), unsigned, std::make_unsigned_t<T>>;
};

template <Operator op, class T>
[[gnu::always_inline]] inline T combine(T a, T b) {
    using W = typename Wrapping<T>::type;
    if constexpr (op == Operator::sum) return static_cast<T>(static_cast<W>(a) + static_cast<W>(b));
    if constexpr (op == Operator::product) return static_cast<T>(static_cast<W>(a) * static_cast<W>(b));
    if constexpr (op == Operator::minimum) return a < b ? a : b;
    if constexpr (op == Operator::maximum) return a > b ? a : b;
    if constexpr (op == Operator::logical_and) return static_cast<T>((a != T{}) & (b != T{}));
    if constexpr (op == Operator::logical_or) return static_cast<T>((a != T{}) | (b != T{}));
    if constexpr (op == Operator::logical_xor) return static_cast<T>((a != T{}) ^ (b != T{}));
    if constexpr (std::integral<T>) {
        if constexpr (op == Operator::bit_and) return static_cast<T>(a & b);
        if constexpr (op == Operator::bit_or) return static_cast<T>(a | b);
        if constexpr (op == Operator::bit_xor) return static_cast<T>(a ^ b);
    }
}

// The buffers may lie anywhere: messages start at odd addresses in MPI programs. memcpy of a constant size is a move.
template <Operator op, class T>
[[gnu::always_inline]] inline void loop(const std::byte* __restrict in, std::byte* __restrict inout,
                                        std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
        T a, b;
        std::memcpy(&a, in + i * sizeof(T), sizeof(T));
        std::memcpy(&b, inout + i * sizeof(T), sizeof(T));
        b = combine<op, T>(a, b);
        std::memcpy(inout + i * sizeof(T), &b, sizeof(T));
    }
}

template <Operator op, class T>
void plain(const void*, const std::byte* in, std::byte* inout, std::uint64_t count) {
    loop<op, T>(in, inout, count);
}

#if defined(__x86_64__)
template <Operator op, class T>
[[gnu::target("avx2")]] void wide(const void*, const std::byte* in, std::byte* inout, std::uint64_t count) {
    loop<op, T>(in, inout, count);
}

bool has_wide() {
    return __builtin_cpu_supports("avx2") != 0;
}
#else
bool has_wide() {
    return false;
}
#endif

using Apply = void (*)(const void*, const std::byte*, std::byte*, std::uint64_t);

constexpr bool is_bitwise(Operator op) {
    return op == Operator::bit_and || op == Operator::bit_or || op == Operator::bit_xor;
}

template <Operator op, class T>
constexpr Reduction entry([[maybe_unused]] bool use_wide) {
    Apply apply = nullptr;
    if constexpr (std::integral<T> || !is_bitwise(op)) {
        apply = plain<op, T>;
#if defined(__x86_64__)
        if (use_wide) apply = wide<op, T>;
#endif
    }
    return {apply, nullptr, sizeof(T), true};
}

using Row = std::array<Reduction, numbers>;

template <Operator op>
Row row(bool use_wide) {
    return {entry<op, std::int8_t>(use_wide),   entry<op, std::int16_t>(use_wide),  entry<op, std::int32_t>(use_wide),
            entry<op, std::int64_t>(use_wide),  entry<op, std::uint8_t>(use_wide),  entry<op, std::uint16_t>(use_wide),
            entry<op, std::uint32_t>(use_wide), entry<op, std::uint64_t>(use_wide), entry<op, float>(use_wide),
            entry<op, double>(use_wide)};
}

template <std::size_t... op>
std::array<Row, operators> all_rows(std::index_sequence<op...>) {
    const bool use_wide = has_wide();
    return {row<static_cast<Operator>(op)>(use_wide)...};
}

}  // namespace

std::string_view to_string(Operator op) {
    constexpr std::array<std::string_view, operators> names{"sum",        "product",    "minimum", "maximum",
                                                            "bit_and",    "bit_or",     "bit_xor", "logical_and",
                                                            "logical_or", "logical_xor"};
    return names[static_cast<std::size_t>(op)];
}

Reduction builtin(Operator op, Number number) {
    static const std::array<Row, operators> table = all_rows(std::make_index_sequence<operators>{});
    return table[static_cast<std::size_t>(op)][static_cast<std::size_t>(number)];
}

}  // namespace loom::coll
