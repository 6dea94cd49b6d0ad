// Operations of reductions with types: the standard's function objects, ours, or anybody's.
#pragma once

#include <concepts>
#include <cstring>
#include <functional>
#include <optional>
#include <type_traits>

#include "loom/coll/operations.hpp"
#include "loom/coll/reduction.hpp"

namespace loom::coll {

// What can be sent as the bytes it consists of.
template <class T>
concept Data = std::is_trivially_copyable_v<T> && !std::is_const_v<T>;

// A binary operation on T. It must be associative, and commutative unless given as ordered(op).
template <class Op, class T>
concept Operation = requires(const Op& op, const T& a, const T& b) {
    { op(a, b) } -> std::convertible_to<T>;
};

namespace detail {

template <class T>
concept Comparable = requires(const T& a, const T& b) {
    { a < b } -> std::convertible_to<bool>;
};

}  // namespace detail

struct Minimum {
    template <detail::Comparable T>
    constexpr T operator()(const T& a, const T& b) const {
        return b < a ? b : a;
    }
};
struct Maximum {
    template <detail::Comparable T>
    constexpr T operator()(const T& a, const T& b) const {
        return a < b ? b : a;
    }
};
struct LogicalXor {
    template <class T>
    requires std::constructible_from<bool, const T&>
    constexpr bool operator()(const T& a, const T& b) const { return static_cast<bool>(a) != static_cast<bool>(b); }
};
inline constexpr Minimum minimum{};
inline constexpr Maximum maximum{};
inline constexpr LogicalXor logical_xor{};

// An operation that does not commute: elements are combined in the order of ranks.
template <class Op>
struct Ordered {
    [[no_unique_address]] Op op;
    template <class T>
    requires Operation<Op, T>
    constexpr T operator()(const T& a, const T& b) const { return op(a, b); }
};
template <class Op>
[[nodiscard]] constexpr Ordered<Op> ordered(Op op) {
    return {op};
}

namespace detail {

template <class Op>
inline constexpr bool is_ordered = false;
template <class Op>
inline constexpr bool is_ordered<Ordered<Op>> = true;

template <class T>
constexpr std::optional<Number> number_of() {
    if constexpr (std::same_as<T, float>) return Number::f32;
    if constexpr (std::same_as<T, double>) return Number::f64;
    if constexpr (std::integral<T> && !std::same_as<T, bool>) {
        constexpr auto first = std::signed_integral<T> ? Number::i8 : Number::u8;
        constexpr int log = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
        if (sizeof(T) <= 8) return static_cast<Number>(static_cast<int>(first) + log);
    }
    return {};
}

template <class Op, class T>
constexpr std::optional<Operator> operator_of() {
    const auto is = [](auto... candidates) { return (std::same_as<Op, decltype(candidates)> || ...); };
    if (is(std::plus<>{}, std::plus<T>{})) return Operator::sum;
    if (is(std::multiplies<>{}, std::multiplies<T>{})) return Operator::product;
    if (is(Minimum{})) return Operator::minimum;
    if (is(Maximum{})) return Operator::maximum;
    if (is(std::bit_and<>{}, std::bit_and<T>{})) return Operator::bit_and;
    if (is(std::bit_or<>{}, std::bit_or<T>{})) return Operator::bit_or;
    if (is(std::bit_xor<>{}, std::bit_xor<T>{})) return Operator::bit_xor;
    if (is(std::logical_and<>{}, std::logical_and<T>{})) return Operator::logical_and;
    if (is(std::logical_or<>{}, std::logical_or<T>{})) return Operator::logical_or;
    if (is(LogicalXor{})) return Operator::logical_xor;
    return {};
}

// An operation without state can be made anew where it is used.
template <class Op>
concept Stateless = std::is_empty_v<Op> && std::is_default_constructible_v<Op>;

// Elements may lie at any address.
template <class T, class Op>
void apply(const void* state, const std::byte* in, std::byte* inout, std::uint64_t count) {
    const auto combine = [state](const T& a, const T& b) -> T {
        if constexpr (Stateless<Op>)
            return Op{}(a, b);
        else
            return (*static_cast<const Op*>(state))(a, b);
    };
    for (std::uint64_t i = 0; i < count; ++i) {
        alignas(T) std::byte a[sizeof(T)], b[sizeof(T)];
        std::memcpy(a, in + i * sizeof(T), sizeof(T));
        std::memcpy(b, inout + i * sizeof(T), sizeof(T));
        const T result = combine(*reinterpret_cast<const T*>(a), *reinterpret_cast<const T*>(b));
        std::memcpy(inout + i * sizeof(T), &result, sizeof(T));
    }
}

}  // namespace detail

// For T elements with `op`, which must outlive the operation if it has state.
template <Data T, class Op>
[[nodiscard]] Reduction reduction_of(const Op& op) {
    static_assert(Operation<Op, T>, "the operation must take two elements and give one: T op(const T&, const T&)");
    if constexpr (detail::number_of<T>().has_value() && detail::operator_of<Op, T>().has_value()) {
        const Reduction known = builtin(*detail::operator_of<Op, T>(), *detail::number_of<T>());
        if (known.apply != nullptr) return known;
    }
    return {detail::apply<T, Op>, detail::Stateless<Op> ? nullptr : &op, sizeof(T), !detail::is_ordered<Op>};
}

}  // namespace loom::coll
