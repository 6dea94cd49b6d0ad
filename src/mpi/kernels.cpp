#include "loom/mpi/kernels.hpp"

#include <array>
#include <type_traits>

namespace loom::mpi {

namespace {

template <class Value, class Index>
struct Pair {
    Value value;
    Index index;
};

struct Byte {
    std::uint8_t bits;
};

template <class T>
struct Logical {
    T truth;
};

template <class T>
inline constexpr bool is_complex = false;
template <class T>
inline constexpr bool is_complex<std::complex<T>> = true;
template <class T>
inline constexpr bool is_pair = false;
template <class V, class I>
inline constexpr bool is_pair<Pair<V, I>> = true;
template <class T>
inline constexpr bool is_logical = false;
template <class T>
inline constexpr bool is_logical<Logical<T>> = true;

// Which operation MPI defines for which type (MPI 3.1, 5.9.2); the logical ones for floating-point numbers too, as
// MPICH has them.
template <Arithmetic A, class T>
consteval bool defined() {
    using enum Arithmetic;
    if constexpr (is_pair<T>) return A == maxloc || A == minloc;
    if constexpr (is_logical<T>) return A == land || A == lor || A == lxor;
    if constexpr (std::is_same_v<T, Byte>) return A == band || A == bor || A == bxor;
    if constexpr (is_complex<T>) return A == sum || A == prod;
    if constexpr (std::is_floating_point_v<T>) return A <= prod || A == land || A == lor || A == lxor;
    if constexpr (std::is_integral_v<T>) return A != maxloc && A != minloc;
    return false;
}

// The integers go through their unsigned kin: a sum that overflows wraps.
template <class T>
constexpr auto wrapping(T value) {
    if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
        return static_cast<std::make_unsigned_t<T>>(value);
    else
        return value;
}

template <Arithmetic A, class T>
constexpr T combine(const T& a, const T& b) {
    using enum Arithmetic;
    if constexpr (A == max) return a > b ? a : b;
    if constexpr (A == min) return a < b ? a : b;
    if constexpr (A == sum) return static_cast<T>(wrapping(a) + wrapping(b));
    if constexpr (A == prod && std::is_integral_v<T>)
        return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    else if constexpr (A == prod)
        return a * b;
    if constexpr (is_logical<T>) {
        const bool x = a.truth != 0, y = b.truth != 0;
        return {static_cast<decltype(a.truth)>(A == land ? x && y : A == lor ? x || y : x != y)};
    } else if constexpr (A == land)
        return static_cast<T>(a != 0 && b != 0);
    else if constexpr (A == lor)
        return static_cast<T>(a != 0 || b != 0);
    else if constexpr (A == lxor)
        return static_cast<T>((a != 0) != (b != 0));
    if constexpr (std::is_same_v<T, Byte>)
        return {static_cast<std::uint8_t>(A == band ? a.bits & b.bits : A == bor ? a.bits | b.bits : a.bits ^ b.bits)};
    else if constexpr (A == band)
        return static_cast<T>(a & b);
    else if constexpr (A == bor)
        return static_cast<T>(a | b);
    else if constexpr (A == bxor)
        return static_cast<T>(a ^ b);
    // The lower index wins where the values are equal.
    if constexpr (is_pair<T>) {
        if (a.value == b.value) return a.index < b.index ? a : b;
        return (A == maxloc ? a.value > b.value : a.value < b.value) ? a : b;
    }
}

template <Arithmetic A, class T>
void apply(const void*, const std::byte* in, std::byte* inout, std::uint64_t count) {
    const T* __restrict from = reinterpret_cast<const T*>(in);
    T* __restrict to = reinterpret_cast<T*>(inout);
    for (std::uint64_t i = 0; i < count; ++i) to[i] = combine<A, T>(from[i], to[i]);
}

template <Arithmetic A, class T>
consteval coll::Reduction entry() {
    if constexpr (defined<A, T>())
        return {&apply<A, T>, nullptr, sizeof(T), true};
    else
        return {};
}

template <class T, std::size_t... A>
consteval std::array<coll::Reduction, arithmetics> row(std::index_sequence<A...>) {
    return {entry<static_cast<Arithmetic>(A), T>()...};
}

template <class... T>
consteval auto rows() {
    return std::array<std::array<coll::Reduction, arithmetics>, sizeof...(T)>{
        row<T>(std::make_index_sequence<arithmetics>())...};
}

struct Nothing {};

// In the order of Scalar.
constexpr auto table =
    rows<Nothing, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t,
         std::uint64_t, float, double, long double, std::complex<float>, std::complex<double>,
         std::complex<long double>, Logical<std::uint8_t>, Logical<std::uint32_t>, Byte, Pair<float, std::int32_t>,
         Pair<double, std::int32_t>, Pair<std::int64_t, std::int32_t>, Pair<std::int32_t, std::int32_t>,
         Pair<std::int16_t, std::int32_t>, Pair<long double, std::int32_t>, Pair<float, float>, Pair<double, double>>();
static_assert(table.size() == scalars);

}  // namespace

const coll::Reduction* kernel(Arithmetic operation, Scalar scalar) {
    const coll::Reduction& found = table[static_cast<std::size_t>(scalar)][static_cast<std::size_t>(operation)];
    return found.apply == nullptr ? nullptr : &found;
}

}  // namespace loom::mpi
