// The reductions everybody needs, on numbers: vectorised.
#pragma once

#include <cstdint>
#include <string_view>

#include "loom/coll/reduction.hpp"

namespace loom::coll {

enum class Operator : std::uint8_t {
    sum,
    product,
    minimum,
    maximum,
    bit_and,
    bit_or,
    bit_xor,
    logical_and,
    logical_or,
    logical_xor,
};
inline constexpr std::size_t operators = 10;

enum class Number : std::uint8_t { i8, i16, i32, i64, u8, u16, u32, u64, f32, f64 };
inline constexpr std::size_t numbers = 10;

[[nodiscard]] std::string_view to_string(Operator op);

// Integers wrap around; logical results are 0 or 1; of a NaN and a number, minimum and maximum give either. `apply` is
// null for bits of f32 and f64. Costs a look into a table; the result needs no state.
[[nodiscard]] Reduction builtin(Operator op, Number number);

}  // namespace loom::coll
