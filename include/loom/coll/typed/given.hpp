// The arguments of a typed call: checked when the program is compiled, and without types afterwards. Data are
// - a range of trivially copyable elements that lie one after another (a vector, an array, a span), or
// - a variable of a trivially copyable type, which is one element.
// A call that goes on after it returns keeps no temporaries. A call that waits takes them as its input.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ranges>
#include <type_traits>

#include "loom/base/ids.hpp"
#include "loom/coll/buffers.hpp"
#include "loom/coll/typed/data.hpp"
#include "loom/coll/typed/operation.hpp"

namespace loom::coll::detail {

struct Nothing {};
struct Omitted {};  // what had to be there

enum class Until : std::uint8_t { returned, finished };       // how long a call uses its arguments
enum class InPlaceAs : std::uint8_t { none, input, output };  // what in_place may stand for

template <class A>
inline constexpr bool is_in_place = std::same_as<std::remove_cvref_t<A>, InPlace>;
template <class A>
inline constexpr bool is_nothing = std::same_as<std::remove_cvref_t<A>, Nothing>;
template <class A>
inline constexpr bool is_data = !is_in_place<A> && !is_nothing<A>;

template <class A>
struct ElementOf {
    using type = std::remove_cvref_t<A>;
};
template <std::ranges::range A>
struct ElementOf<A> {
    using type = std::ranges::range_value_t<A>;
};
template <class A>
using Element = typename ElementOf<A>::type;

template <class A>
consteval bool is_constant() {
    if constexpr (std::ranges::range<A>)
        return std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<A>>>;
    else
        return std::is_const_v<std::remove_reference_t<A>>;
}

// A is the type that a forwarding reference deduces.
template <class A>
consteval bool is_temporary() {
    if constexpr (std::ranges::range<A>)
        return !std::ranges::borrowed_range<A>;
    else
        return !std::is_lvalue_reference_v<A>;
}

enum class Mistake : std::uint8_t {
    none,
    scattered,
    not_bytes,
    pointer,
    constant,
    temporary_output,
    temporary_input,
    types_differ,
    in_place,
    no_operation,
    temporary_operation,
};

template <class A>
consteval Mistake mistake_in_data() {
    using T = Element<A>;
    if constexpr (std::ranges::range<A> && !(std::ranges::contiguous_range<A> && std::ranges::sized_range<A>))
        return Mistake::scattered;
    else if constexpr (!std::is_trivially_copyable_v<T>)
        return Mistake::not_bytes;
    else
        return std::is_pointer_v<T> || std::is_null_pointer_v<T> ? Mistake::pointer : Mistake::none;
}

template <Until until, class In>
consteval Mistake mistake_in_input() {
    if constexpr (mistake_in_data<In>() != Mistake::none)
        return mistake_in_data<In>();
    else
        return until == Until::finished && is_temporary<In>() ? Mistake::temporary_input : Mistake::none;
}

template <class Out>
consteval Mistake mistake_in_output() {
    if constexpr (mistake_in_data<Out>() != Mistake::none)
        return mistake_in_data<Out>();
    else if constexpr (is_constant<Out>())
        return Mistake::constant;
    else
        return is_temporary<Out>() ? Mistake::temporary_output : Mistake::none;
}

// Those of the standard that have a type claim to combine it, whether they can or not.
template <class Op>
struct UntypedOf {
    using type = Op;
};
template <class T>
struct UntypedOf<std::plus<T>> {
    using type = std::plus<>;
};
template <class T>
struct UntypedOf<std::multiplies<T>> {
    using type = std::multiplies<>;
};
template <class Op>
using Untyped = typename UntypedOf<Op>::type;

// The operation is used until the request is finished, beyond the end of a call that does not wait.
template <Until until, class Op, class T>
consteval Mistake mistake_in_operation() {
    if constexpr (std::is_function_v<std::remove_reference_t<Op>> || !Operation<Untyped<std::remove_cvref_t<Op>>, T>)
        return Mistake::no_operation;
    else if constexpr (until == Until::finished && !std::is_lvalue_reference_v<Op>)
        return Stateless<std::remove_cvref_t<Op>> ? Mistake::none : Mistake::temporary_operation;
    else
        return Mistake::none;
}

template <Until until, InPlaceAs in_place, class In, class Out>
consteval Mistake mistake_in_both() {
    if constexpr (is_in_place<Out> && (in_place != InPlaceAs::output || is_in_place<In>)) return Mistake::in_place;
    if constexpr (is_in_place<In> && in_place != InPlaceAs::input) return Mistake::in_place;
    if constexpr (is_data<Out>)
        if constexpr (mistake_in_output<Out>() != Mistake::none) return mistake_in_output<Out>();
    if constexpr (is_data<In>)
        if constexpr (mistake_in_input<until, In>() != Mistake::none) return mistake_in_input<until, In>();
    if constexpr (is_data<In> && is_data<Out>)
        if constexpr (!std::same_as<Element<In>, Element<Out>>) return Mistake::types_differ;
    return Mistake::none;
}

// The first there is: one mistake, one message.
template <Until until, InPlaceAs in_place, class In, class Out, class Op>
consteval Mistake first_mistake() {
    constexpr Mistake in_data = mistake_in_both<until, in_place, In, Out>();
    if constexpr (in_data != Mistake::none || is_nothing<Op>)
        return in_data;
    else
        return mistake_in_operation<until, Op, Element<Out>>();
}

// What a call was given.
struct Given {
    Buffers buffers;
    std::size_t inputs = 0, outputs = 0;  // elements
    std::uint32_t element = 1;            // bytes of one
    bool in_place = false;                // one of the two stands for both
    Reduction reduction;
};

template <class A>
[[nodiscard]] std::size_t elements_of(const A& data) {
    if constexpr (std::ranges::range<A>)
        return std::ranges::size(data);
    else
        return 1;
}

template <class A>
[[nodiscard]] auto* address_of(A& data) {
    if constexpr (std::ranges::range<A>)
        return std::ranges::data(data);
    else
        return std::addressof(data);
}

template <Until until, InPlaceAs in_place_as, class In, class Out, class Op = Nothing>
struct Arguments : Given {
    static constexpr Mistake mistake = first_mistake<until, in_place_as, In, Out, Op>();
    static_assert(mistake != Mistake::scattered,
                  "data must lie one after another: give a vector, an array, a span or a single variable");
    static_assert(mistake != Mistake::not_bytes, "data must be trivially copyable: messages carry their bytes");
    static_assert(mistake != Mistake::pointer, "a pointer is not data: give what it points to, or a span of it");
    static_assert(mistake != Mistake::constant, "the output must not be const: the call writes it");
    static_assert(mistake != Mistake::temporary_output,
                  "the output must be a variable or a span: what a temporary receives is lost");
    static_assert(mistake != Mistake::temporary_input,
                  "the input must be a variable or a span: the call uses it after it returns");
    static_assert(mistake != Mistake::types_differ, "input and output must have elements of the same type");
    static_assert(mistake != Mistake::in_place, "in_place cannot stand here: give data");
    static_assert(mistake != Mistake::no_operation,
                  "the operation must be a function object that makes one element of two: T op(const T&, const T&)");
    static_assert(mistake != Mistake::temporary_operation,
                  "an operation with state must be a variable that lives until the request is finished");

    Arguments(std::remove_reference_t<In>& in, std::remove_reference_t<Out>& out) {
        if constexpr (mistake == Mistake::none) {
            if constexpr (is_data<In>) {
                buffers.input = reinterpret_cast<const std::byte*>(address_of(in));
                inputs = elements_of(in);
                element = sizeof(Element<In>);
            }
            if constexpr (is_data<Out>) {
                buffers.output = reinterpret_cast<std::byte*>(address_of(out));
                outputs = elements_of(out);
                element = sizeof(Element<Out>);
            }
            in_place = is_in_place<In> || is_in_place<Out>;
        }
    }
    Arguments(std::remove_reference_t<In>& in, std::remove_reference_t<Out>& out, const std::remove_reference_t<Op>& op)
        : Arguments(in, out) {
        if constexpr (mistake == Mistake::none) reduction = reduction_of<Element<Out>>(op);
    }
};

// A rank among arguments: a number in its place may be meant for something else.
struct RankArgument {
    Rank rank;

    RankArgument(Rank given) : rank(given) {}  // NOLINT: implicit
    template <class Other>
    RankArgument(const Other&) {  // NOLINT: implicit
        static_assert(std::is_same_v<Other, Rank>, "a rank must be given as a loom::Rank: loom::Rank{0}");
    }
};

// In the place of a rank that was left out. Where the operation was left out before it, that is the mistake.
template <class Op>
consteval auto no_rank_after() {
    if constexpr (std::same_as<std::remove_cvref_t<Op>, Rank>)
        return Rank{};
    else
        return Omitted{};
}

}  // namespace loom::coll::detail
