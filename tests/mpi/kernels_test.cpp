#include "loom/mpi/kernels.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace {

using namespace loom::mpi;

template <class T>
std::vector<T> combined(Arithmetic operation, Scalar scalar, const std::vector<T>& in, std::vector<T> inout) {
    const loom::coll::Reduction* found = kernel(operation, scalar);
    EXPECT_NE(found, nullptr);
    EXPECT_EQ(found->element, sizeof(T));
    found->apply(found->state, reinterpret_cast<const std::byte*>(in.data()),
                 reinterpret_cast<std::byte*>(inout.data()), in.size());
    return inout;
}

using Ints = std::vector<std::int32_t>;
using Bytes = std::vector<std::uint8_t>;

TEST(Kernels, ComputeWhatTheStandardSays) {
    EXPECT_EQ(combined<std::int32_t>(Arithmetic::sum, Scalar::i32, {1, 2147483647}, {2, 1}),
              (Ints{3, std::numeric_limits<std::int32_t>::min()}));
    EXPECT_EQ(combined<std::int32_t>(Arithmetic::max, Scalar::i32, {-1, 5}, {2, 4}), (Ints{2, 5}));
    EXPECT_EQ(combined<std::uint8_t>(Arithmetic::max, Scalar::u8, {128, 1}, {121, 2}), (Bytes{128, 2}));
    EXPECT_EQ(combined<std::uint8_t>(Arithmetic::sum, Scalar::u8, {200}, {100}), (Bytes{44}));
    EXPECT_EQ(combined<std::int32_t>(Arithmetic::land, Scalar::i32, {4, 0, 2}, {2, 1, 0}), (Ints{1, 0, 0}));
    EXPECT_EQ(combined<std::int32_t>(Arithmetic::lxor, Scalar::i32, {4, 0, 2}, {2, 0, 0}), (Ints{0, 0, 1}));
    EXPECT_EQ(combined<std::int32_t>(Arithmetic::bxor, Scalar::i32, {6}, {3}), (Ints{5}));
    EXPECT_EQ(combined<double>(Arithmetic::prod, Scalar::f64, {2.5}, {4}), (std::vector<double>{10}));
    EXPECT_EQ(combined<std::complex<float>>(Arithmetic::prod, Scalar::c32, {{0, 1}}, {{0, 1}}),
              (std::vector<std::complex<float>>{{-1, 0}}));
}

struct Located {
    double value;
    std::int32_t index;
    friend bool operator==(const Located&, const Located&) = default;
};

TEST(Kernels, TakeTheLowerIndexOfEqualValues) {
    const std::vector<Located> in{{3, 7}, {3, 1}, {1, 9}}, inout{{3, 2}, {3, 4}, {5, 0}};

    EXPECT_EQ(combined(Arithmetic::maxloc, Scalar::f64_i32, in, inout), (std::vector<Located>{{3, 2}, {3, 1}, {5, 0}}));
    EXPECT_EQ(combined(Arithmetic::minloc, Scalar::f64_i32, in, inout), (std::vector<Located>{{3, 2}, {3, 1}, {1, 9}}));
}

TEST(Kernels, AreMissingWhereTheStandardDefinesNone) {
    EXPECT_EQ(kernel(Arithmetic::band, Scalar::f64), nullptr);
    EXPECT_EQ(kernel(Arithmetic::max, Scalar::c64), nullptr);
    EXPECT_EQ(kernel(Arithmetic::sum, Scalar::byte), nullptr);
    EXPECT_EQ(kernel(Arithmetic::maxloc, Scalar::i32), nullptr);
    EXPECT_EQ(kernel(Arithmetic::sum, Scalar::none), nullptr);
}

}  // namespace
