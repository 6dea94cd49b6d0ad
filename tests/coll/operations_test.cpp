#include "loom/coll/operations.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <type_traits>

#include "loom/base/random.hpp"
#include "loom/coll/typed/operation.hpp"

namespace loom::coll {
namespace {

// Integers of all magnitudes and signs; every fourth number is zero, for what is logical.
template <class T>
T draw(Random& random) {
    if (random.below(4) == 0) return T{};
    if constexpr (std::is_integral_v<T>) return static_cast<T>(random());
    return static_cast<T>(random.below(200)) - static_cast<T>(100);
}

// The kernel against the function object, one element at a time, at odd addresses and lengths.
template <class T, class Op>
void expect_like(Operator name, Op op) {
    Random random(11);
    const Reduction kernel = builtin(name, *detail::number_of<T>());
    ASSERT_NE(kernel.apply, nullptr);
    EXPECT_EQ(kernel.element, sizeof(T));
    for (const std::size_t count : {0u, 1u, 7u, 64u, 1001u}) {
        std::vector<T> a(count), b(count), expected(count);
        for (std::size_t i = 0; i < count; ++i) {
            a[i] = draw<T>(random);
            b[i] = draw<T>(random);
            expected[i] = static_cast<T>(op(a[i], b[i]));
        }
        std::vector<std::byte> in(count * sizeof(T) + 1), inout(count * sizeof(T) + 3);
        if (count > 0) std::memcpy(in.data() + 1, a.data(), count * sizeof(T));
        if (count > 0) std::memcpy(inout.data() + 3, b.data(), count * sizeof(T));

        kernel.apply(nullptr, in.data() + 1, inout.data() + 3, count);

        std::vector<T> result(count);
        if (count > 0) std::memcpy(result.data(), inout.data() + 3, count * sizeof(T));
        EXPECT_EQ(result, expected) << to_string(name);
    }
}

template <class T>
void expect_numbers() {
    using Wide = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;  // in which nothing overflows unseen
    expect_like<T>(Operator::sum, [](T a, T b) { return static_cast<T>(static_cast<Wide>(a) + static_cast<Wide>(b)); });
    expect_like<T>(Operator::product,
                   [](T a, T b) { return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b)); });
    expect_like<T>(Operator::minimum, minimum);
    expect_like<T>(Operator::maximum, maximum);
    expect_like<T>(Operator::logical_and, std::logical_and<>{});
    expect_like<T>(Operator::logical_or, std::logical_or<>{});
    expect_like<T>(Operator::logical_xor, logical_xor);
}

template <class T>
void expect_integers() {
    expect_numbers<T>();
    expect_like<T>(Operator::bit_and, std::bit_and<>{});
    expect_like<T>(Operator::bit_or, std::bit_or<>{});
    expect_like<T>(Operator::bit_xor, std::bit_xor<>{});
}

TEST(Operations, on_numbers_do_what_their_names_say) {
    expect_integers<std::int8_t>();
    expect_integers<std::int16_t>();
    expect_integers<std::int32_t>();
    expect_integers<std::int64_t>();
    expect_integers<std::uint8_t>();
    expect_integers<std::uint16_t>();
    expect_integers<std::uint32_t>();
    expect_integers<std::uint64_t>();
    expect_numbers<float>();
    expect_numbers<double>();
    EXPECT_EQ(builtin(Operator::bit_and, Number::f64).apply, nullptr);
}

TEST(Operations, on_integers_wrap_around) {
    const std::int32_t one = 1;
    std::int32_t most = std::numeric_limits<std::int32_t>::max();

    builtin(Operator::sum, Number::i32)
        .apply(nullptr, reinterpret_cast<const std::byte*>(&one), reinterpret_cast<std::byte*>(&most), 1);

    EXPECT_EQ(most, std::numeric_limits<std::int32_t>::min());
}

TEST(Operations, known_ones_are_recognised_by_type) {
    EXPECT_EQ(reduction_of<double>(std::plus<>{}).apply, builtin(Operator::sum, Number::f64).apply);
    EXPECT_EQ(reduction_of<std::uint16_t>(std::bit_or<std::uint16_t>{}).apply,
              builtin(Operator::bit_or, Number::u16).apply);
    EXPECT_EQ(reduction_of<long>(maximum).apply, builtin(Operator::maximum, Number::i64).apply);
    EXPECT_TRUE(reduction_of<int>([](int a, int b) { return a + b; }).commutative);
    EXPECT_FALSE(reduction_of<int>(ordered([](int a, int b) { return a - b; })).commutative);
}

}  // namespace
}  // namespace loom::coll
