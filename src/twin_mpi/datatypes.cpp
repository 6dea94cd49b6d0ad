#include "twin_mpi/datatypes.hpp"

#include <algorithm>
#include <array>
#include <complex>
#include <cstring>
#include <type_traits>

namespace loom::twin_mpi {

using mpi::Scalar;

namespace {

template <class T>
constexpr Scalar integer() {
    constexpr bool is_signed = std::is_signed_v<T>;
    if constexpr (sizeof(T) == 1) return is_signed ? Scalar::i8 : Scalar::u8;
    if constexpr (sizeof(T) == 2) return is_signed ? Scalar::i16 : Scalar::u16;
    if constexpr (sizeof(T) == 4) return is_signed ? Scalar::i32 : Scalar::u32;
    return is_signed ? Scalar::i64 : Scalar::u64;
}

Type plain(std::size_t size, Scalar scalar) {
    Type type;
    type.size = type.moved = size;
    type.extent = static_cast<std::int64_t>(size);
    type.pieces = {{0, size}};
    type.scalar = scalar;
    type.committed = true;
    return type;
}

template <class T>
Type whole() {
    return plain(sizeof(T), integer<T>());
}

template <class Value, class Index>
Type pair(Scalar scalar) {
    struct Both {
        Value value;
        Index index;
    };
    Type type = plain(sizeof(Both), scalar);
    type.size = sizeof(Value) + sizeof(Index);
    return type;
}

// In the order of the handles in mpi.h.
std::array<Type, predefined_types> make_all() {
    return {whole<char>(),
            whole<signed char>(),
            whole<unsigned char>(),
            plain(1, Scalar::byte),
            whole<short>(),
            whole<unsigned short>(),
            whole<int>(),
            whole<unsigned>(),
            whole<long>(),
            whole<unsigned long>(),
            whole<long long>(),
            whole<unsigned long long>(),
            plain(sizeof(float), Scalar::f32),
            plain(sizeof(double), Scalar::f64),
            plain(sizeof(long double), Scalar::f80),
            whole<std::int8_t>(),
            whole<std::int16_t>(),
            whole<std::int32_t>(),
            whole<std::int64_t>(),
            whole<std::uint8_t>(),
            whole<std::uint16_t>(),
            whole<std::uint32_t>(),
            whole<std::uint64_t>(),
            whole<MPI_Aint>(),
            whole<MPI_Count>(),
            whole<MPI_Offset>(),
            plain(sizeof(bool), Scalar::logical8),
            plain(sizeof(bool), Scalar::logical8),
            plain(sizeof(wchar_t), Scalar::none),
            plain(sizeof(std::complex<float>), Scalar::c32),
            plain(sizeof(std::complex<double>), Scalar::c64),
            plain(sizeof(std::complex<long double>), Scalar::c80),
            pair<float, int>(Scalar::f32_i32),
            pair<double, int>(Scalar::f64_i32),
            pair<long, int>(Scalar::i64_i32),
            pair<int, int>(Scalar::i32_i32),
            pair<short, int>(Scalar::i16_i32),
            pair<long double, int>(Scalar::f80_i32)};
}

void append(std::vector<Piece>& pieces, const Piece& piece) {
    if (piece.bytes == 0) return;
    if (!pieces.empty() && pieces.back().at + static_cast<std::int64_t>(pieces.back().bytes) == piece.at)
        pieces.back().bytes += piece.bytes;
    else
        pieces.push_back(piece);
}

}  // namespace

const Type* predefined_type(std::uintptr_t number) {
    static const std::array<Type, predefined_types> all = make_all();
    return number == 0 || number > predefined_types ? nullptr : &all[number - 1];
}

Type make_type(const std::vector<Part>& parts) {
    Type type;
    std::int64_t first = INT64_MAX, last = INT64_MIN;
    for (const Part& part : parts) {
        const Type& old = *part.old;
        if (part.length == 0) continue;
        first = std::min(first, part.at + old.lower);
        last = std::max(last, part.at + old.lower + static_cast<std::int64_t>(part.length) * old.extent);
        type.size += part.length * old.size;
        type.moved += part.length * old.moved;
        if (old.is_plain()) {
            append(type.pieces, {part.at, part.length * old.moved});
            continue;
        }
        for (std::uint64_t i = 0; i < part.length; ++i)
            for (const Piece& piece : old.pieces)
                append(type.pieces, {part.at + static_cast<std::int64_t>(i) * old.extent + piece.at, piece.bytes});
    }
    if (first > last) return type;
    type.lower = first;
    type.extent = last - first;
    return type;
}

void pack(const Type& type, const std::byte* memory, std::uint64_t count, std::byte* packed) {
    if (type.is_plain()) {
        if (count * type.moved != 0) std::memcpy(packed, memory, count * type.moved);
        return;
    }
    for (std::uint64_t i = 0; i < count; ++i)
        for (const Piece& piece : type.pieces) {
            std::memcpy(packed, memory + static_cast<std::int64_t>(i) * type.extent + piece.at, piece.bytes);
            packed += piece.bytes;
        }
}

void unpack(const Type& type, std::byte* memory, const std::byte* packed, std::uint64_t bytes) {
    if (type.is_plain()) {
        if (bytes != 0) std::memcpy(memory, packed, bytes);
        return;
    }
    for (std::int64_t i = 0; bytes != 0; ++i)
        for (const Piece& piece : type.pieces) {
            const std::uint64_t now = std::min(bytes, piece.bytes);
            if (now != 0) std::memcpy(memory + i * type.extent + piece.at, packed, now);
            packed += now;
            bytes -= now;
        }
}

}  // namespace loom::twin_mpi
