// MPI's predefined reductions as loops over arithmetic types.
#pragma once

#include <complex>
#include <cstdint>

#include "loom/coll/reduction.hpp"

namespace loom::mpi {

// What an element of a predefined datatype is to a reduction.
enum class Scalar : std::uint8_t {
    none,  // nothing that a predefined operation can be applied to here
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
    f32,
    f64,
    f80,  // long double
    c32,  // complex<float>
    c64,
    c80,
    logical8,  // true or false: land, lor, lxor alone
    logical32,
    byte,  // bits: band, bor, bxor alone
    f32_i32,
    f64_i32,
    i64_i32,
    i32_i32,
    i16_i32,
    f80_i32,
    f32_f32,  // Fortran's pairs
    f64_f64,
};
inline constexpr std::size_t scalars = 26;

enum class Arithmetic : std::uint8_t {
    max,
    min,
    sum,
    prod,
    land,
    band,
    lor,
    bor,
    lxor,
    bxor,
    maxloc,
    minloc,
};
inline constexpr std::size_t arithmetics = 12;

// Lives as long as the process; null where MPI does not define the operation for the type. `element` is the extent of
// the type: pairs are taken with their padding.
[[nodiscard]] const coll::Reduction* kernel(Arithmetic operation, Scalar scalar);

}  // namespace loom::mpi
