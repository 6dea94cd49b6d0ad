#include "mpi/abi/datatypes.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <string>

#include "loom/base/error.hpp"
#include "mpi/abi/library.hpp"

namespace loom::mpi {

namespace {

struct Types {
    Handles<Type> known;
    MPI_Datatype last_handle = MPI_DATATYPE_NULL;
    const Type* last = nullptr;
    int keyval = MPI_KEYVAL_INVALID;
    Departures<Type> departed;
};

Types& types() {
    static Types* const all = new Types;
    return *all;
}

template <class T>
constexpr Scalar integer() {
    constexpr bool is_signed = std::is_signed_v<T>;
    switch (sizeof(T)) {
        case 1:
            return is_signed ? Scalar::i8 : Scalar::u8;
        case 2:
            return is_signed ? Scalar::i16 : Scalar::u16;
        case 4:
            return is_signed ? Scalar::i32 : Scalar::u32;
        default:
            return is_signed ? Scalar::i64 : Scalar::u64;
    }
}

// What a type was made of.
struct Making {
    int combiner = MPI_COMBINER_NAMED;
    std::vector<MPI_Count> numbers;
    std::vector<MPI_Aint> addresses;
    std::vector<MPI_Datatype> parts;

    explicit Making(MPI_Datatype handle);
    ~Making();
    Making(const Making&) = delete;
    Making& operator=(const Making&) = delete;
};

#if MPI_VERSION >= 4
int combiner_of(MPI_Datatype handle, MPI_Count (&lengths)[4]) {
    int combiner = MPI_COMBINER_NAMED;
    PMPI_Type_get_envelope_c(handle, &lengths[0], &lengths[1], &lengths[2], &lengths[3], &combiner);
    return combiner;
}
#else
int combiner_of(MPI_Datatype handle, int (&lengths)[3]) {
    int combiner = MPI_COMBINER_NAMED;
    PMPI_Type_get_envelope(handle, &lengths[0], &lengths[1], &lengths[2], &combiner);
    return combiner;
}
#endif

Making::Making(MPI_Datatype handle) {
#if MPI_VERSION >= 4
    MPI_Count lengths[4] = {};
    const MPI_Count& parts_there = lengths[3];
#else
    int lengths[3] = {};
    const int& parts_there = lengths[2];
#endif
    combiner = combiner_of(handle, lengths);
    if (combiner == MPI_COMBINER_NAMED) return;
    std::vector<int> narrow(static_cast<std::size_t>(lengths[0]));
    addresses.resize(static_cast<std::size_t>(lengths[1]));
    parts.resize(static_cast<std::size_t>(parts_there));
#if MPI_VERSION >= 4
    numbers.resize(static_cast<std::size_t>(lengths[2]));
    PMPI_Type_get_contents_c(handle, lengths[0], lengths[1], lengths[2], lengths[3], narrow.data(), addresses.data(),
                             numbers.data(), parts.data());
#else
    PMPI_Type_get_contents(handle, lengths[0], lengths[1], lengths[2], narrow.data(), addresses.data(), parts.data());
#endif
    numbers.insert(numbers.begin(), narrow.begin(), narrow.end());
}

Making::~Making() {
    for (MPI_Datatype& part : parts) {
#if MPI_VERSION >= 4
        MPI_Count lengths[4] = {};
#else
        int lengths[3] = {};
#endif
        if (combiner_of(part, lengths) != MPI_COMBINER_NAMED) PMPI_Type_free(&part);
    }
}

Type examine(MPI_Datatype handle);

// Where a type comes from: MPI asks only for the outermost one to be committed, and packs no other.
enum class Origin { program, part_of_another };

void settle(MPI_Datatype handle, Type& type, Origin origin);

// A part as a type that can be packed. One element of its own, since a duplicate would copy the program's attributes.
class Packable {
public:
    Packable(MPI_Datatype handle, Origin origin) : handle_(handle), made_(origin == Origin::part_of_another) {
        if (!made_) return;
        PMPI_Type_contiguous(1, handle, &handle_);
        PMPI_Type_commit(&handle_);
    }
    ~Packable() {
        if (made_) PMPI_Type_free(&handle_);
    }
    Packable(const Packable&) = delete;
    Packable& operator=(const Packable&) = delete;

    [[nodiscard]] MPI_Datatype handle() const { return handle_; }

private:
    MPI_Datatype handle_;
    bool made_;
};

// Of elements too large to try: whether they are made of parts that lie one behind the other. `type.size` bytes span as
// many; a way to make types that is not known here counts as out of order, which costs time alone.
bool built_in_order(MPI_Datatype handle, const Type& type) {
    const Making making(handle);
    std::vector<Type> parts;
    for (const MPI_Datatype part : making.parts) {
        parts.push_back(examine(part));
        settle(part, parts.back(), Origin::part_of_another);
    }
    const std::vector<MPI_Count>& numbers = making.numbers;
    switch (making.combiner) {
        case MPI_COMBINER_DUP:
        case MPI_COMBINER_RESIZED:
            return parts[0].dense;
        case MPI_COMBINER_CONTIGUOUS:
            return parts[0].contiguous;
        case MPI_COMBINER_VECTOR:
            return parts[0].contiguous && (numbers[0] == 1 || numbers[1] == numbers[2]);
        case MPI_COMBINER_STRUCT: {
            MPI_Aint end = type.first;
            if (making.addresses.size() != parts.size()) return false;  // wide ones
            for (std::size_t i = 0; i < parts.size(); ++i) {
                const MPI_Count count = numbers[i + 1];
                if (count == 0 || parts[i].size == 0) continue;
                if (!parts[i].contiguous || making.addresses[i] != end) return false;
                end += count * static_cast<MPI_Aint>(parts[i].size);
            }
            return true;
        }
        default:
            return false;
    }
}

// Whether packing an element changes nothing: a pattern of 16-bit numbers, their low bytes and then their high ones, is
// packed and compared.
bool packs_in_order(MPI_Datatype handle, const Type& type, Origin origin) {
    const auto bytes = static_cast<std::size_t>(type.span);
    if (type.size != bytes) return false;
    if (bytes > (std::size_t{1} << 16)) return built_in_order(handle, type);
    const Packable element(handle, origin);
    std::vector<std::byte> memory(bytes + 1), packed(bytes + 1);
    for (const unsigned shift : {0u, 8u}) {
        for (std::size_t i = 0; i < bytes; ++i) memory[i] = static_cast<std::byte>(i >> shift);
        int position = 0;
        PMPI_Pack(memory.data() - type.first, 1, element.handle(), packed.data(), static_cast<int>(bytes), &position,
                  MPI_COMM_SELF);
        if (static_cast<std::size_t>(position) != bytes || std::memcmp(memory.data(), packed.data(), bytes) != 0)
            return false;
    }
    return true;
}

Type examine(MPI_Datatype handle) {
    Type type;
    int size = 0;
    MPI_Aint first = 0;
    PMPI_Type_size(handle, &size);
    type.size = static_cast<std::uint64_t>(size);
    PMPI_Type_get_extent(handle, &first, &type.extent);
    PMPI_Type_get_true_extent(handle, &type.first, &type.span);
    if (size == MPI_UNDEFINED) {  // more than int holds
        MPI_Count wide = 0;
        PMPI_Type_size_x(handle, &wide);
        type.size = static_cast<std::uint64_t>(wide);
    }
    return type;
}

void settle(MPI_Datatype handle, Type& type, Origin origin = Origin::program) {
    type.dense = type.size == 0 || packs_in_order(handle, type, origin);
    type.contiguous =
        type.size == 0 || (type.dense && type.first == 0 && type.extent == static_cast<MPI_Aint>(type.size));
}

void learn(MPI_Datatype handle, Scalar scalar) {
    if (handle == MPI_DATATYPE_NULL) return;
    Type type = examine(handle);
    if (type.size == 0) return;  // the library was built without it
    settle(handle, type);
    type.scalar = scalar;
    types().known.put(key_of(handle), new Type(type));
}

template <class T>
void learn_integer(MPI_Datatype handle) {
    learn(handle, integer<T>());
}

void learn_fortran_integer(MPI_Datatype handle) {
    if (handle == MPI_DATATYPE_NULL) return;
    const std::uint64_t size = examine(handle).size;
    if (size == 0 || size > 8) return;
    learn(handle, size == 1 ? Scalar::i8 : size == 2 ? Scalar::i16 : size == 4 ? Scalar::i32 : Scalar::i64);
}

void forget(std::uint64_t key, Type* type) {
    Types& all = types();
    if (all.known.find(key) == type) all.known.remove(key);
    all.last_handle = MPI_DATATYPE_NULL;
    all.last = nullptr;
    ++library().gone;
    delete type;
}

void read_notes() {
    for (const auto& [key, type] : types().departed.take()) forget(key, type);
}

int type_freed(MPI_Datatype handle, int, void* value, void*) {
    if (library().threads)
        types().departed.note(key_of(handle), static_cast<Type*>(value));
    else
        forget(key_of(handle), static_cast<Type*>(value));
    return MPI_SUCCESS;
}

// Absolute addresses count from MPI_BOTTOM, which MPICH's MPI_Pack refuses: a type that lies one byte further down, in
// memory one byte further up.
class OffBottom {
public:
    explicit OffBottom(const Piece& given) : piece_(given), made_(given.memory == nullptr && given.count != 0) {
        if (!made_) return;
        const int once = 1;
        const MPI_Aint down = -1;
        PMPI_Type_create_hindexed(1, &once, &down, given.type, &piece_.type);
        PMPI_Type_commit(&piece_.type);
        piece_.memory = reinterpret_cast<std::byte*>(1);
    }
    ~OffBottom() {
        if (made_) PMPI_Type_free(&piece_.type);
    }
    OffBottom(const OffBottom&) = delete;
    OffBottom& operator=(const OffBottom&) = delete;

    [[nodiscard]] const Piece& piece() const { return piece_; }

private:
    Piece piece_;
    bool made_;
};

// `step` answers MPI's code and how many bytes it took or made.
template <class Step>
void in_steps(const Piece& piece, Step&& step) {
    if (piece.size > INT_MAX) throw Error("MPI cannot pack an element of " + std::to_string(piece.size) + " bytes");
    const std::uint64_t most = piece.size == 0 ? INT_MAX : INT_MAX / piece.size;
    for (std::uint64_t done = 0; done < piece.count;) {
        const std::uint64_t now = std::min(most, piece.count - done);
        const int bytes = static_cast<int>(now * piece.size);
        int position = 0;
        const int error = step(piece.memory + static_cast<MPI_Aint>(done) * piece.extent, static_cast<int>(now),
                               done * piece.size, bytes, &position);
        if (error != MPI_SUCCESS || position != bytes)
            throw Error("MPI did not pack or unpack " + std::to_string(bytes) + " bytes, but " +
                        std::to_string(position));
        done += now;
    }
}

}  // namespace

const Type* type_of(MPI_Datatype handle) {
    Types& all = types();
    const bool alone = !library().threads;
    if (alone && handle == all.last_handle) return all.last;
    if (all.departed.any()) read_notes();
    if (handle == MPI_DATATYPE_NULL) return nullptr;
    const Type* found = all.known.find(key_of(handle));
    if (found == nullptr) {
        auto fresh = std::make_unique<Type>(examine(handle));
        settle(handle, *fresh);
        if (PMPI_Type_set_attr(handle, all.keyval, fresh.get()) != MPI_SUCCESS) return nullptr;
        found = fresh.get();
        all.known.put(key_of(handle), fresh.release());
    }
    if (alone) {
        all.last_handle = handle;
        all.last = found;
    }
    return found;
}

void learn_types() {
    PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, type_freed, &types().keyval, nullptr);
    learn_integer<char>(MPI_CHAR);
    learn_integer<signed char>(MPI_SIGNED_CHAR);
    learn_integer<unsigned char>(MPI_UNSIGNED_CHAR);
    learn_integer<short>(MPI_SHORT);
    learn_integer<unsigned short>(MPI_UNSIGNED_SHORT);
    learn_integer<int>(MPI_INT);
    learn_integer<unsigned>(MPI_UNSIGNED);
    learn_integer<long>(MPI_LONG);
    learn_integer<unsigned long>(MPI_UNSIGNED_LONG);
    learn_integer<long long>(MPI_LONG_LONG_INT);
    learn_integer<unsigned long long>(MPI_UNSIGNED_LONG_LONG);
    learn_integer<std::int8_t>(MPI_INT8_T);
    learn_integer<std::int16_t>(MPI_INT16_T);
    learn_integer<std::int32_t>(MPI_INT32_T);
    learn_integer<std::int64_t>(MPI_INT64_T);
    learn_integer<std::uint8_t>(MPI_UINT8_T);
    learn_integer<std::uint16_t>(MPI_UINT16_T);
    learn_integer<std::uint32_t>(MPI_UINT32_T);
    learn_integer<std::uint64_t>(MPI_UINT64_T);
    learn_integer<MPI_Aint>(MPI_AINT);
    learn_integer<MPI_Offset>(MPI_OFFSET);
    learn_integer<MPI_Count>(MPI_COUNT);
    learn(MPI_FLOAT, Scalar::f32);
    learn(MPI_DOUBLE, Scalar::f64);
    learn(MPI_LONG_DOUBLE, Scalar::f80);
    learn(MPI_C_FLOAT_COMPLEX, Scalar::c32);
    learn(MPI_C_DOUBLE_COMPLEX, Scalar::c64);
    learn(MPI_C_LONG_DOUBLE_COMPLEX, Scalar::c80);
    learn(MPI_CXX_FLOAT_COMPLEX, Scalar::c32);
    learn(MPI_CXX_DOUBLE_COMPLEX, Scalar::c64);
    learn(MPI_CXX_LONG_DOUBLE_COMPLEX, Scalar::c80);
    learn(MPI_C_BOOL, Scalar::logical8);
    learn(MPI_CXX_BOOL, Scalar::logical8);
    learn(MPI_BYTE, Scalar::byte);
    learn(MPI_PACKED, Scalar::none);
    learn(MPI_WCHAR, Scalar::none);
    learn(MPI_FLOAT_INT, Scalar::f32_i32);
    learn(MPI_DOUBLE_INT, Scalar::f64_i32);
    learn(MPI_LONG_INT, Scalar::i64_i32);
    learn(MPI_2INT, Scalar::i32_i32);
    learn(MPI_SHORT_INT, Scalar::i16_i32);
    learn(MPI_LONG_DOUBLE_INT, Scalar::f80_i32);
    for (const MPI_Datatype type : {MPI_INTEGER, MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8})
        learn_fortran_integer(type);
    learn(MPI_REAL, Scalar::f32);
    learn(MPI_REAL4, Scalar::f32);
    learn(MPI_REAL8, Scalar::f64);
    learn(MPI_DOUBLE_PRECISION, Scalar::f64);
    learn(MPI_COMPLEX, Scalar::c32);
    learn(MPI_COMPLEX8, Scalar::c32);
    learn(MPI_DOUBLE_COMPLEX, Scalar::c64);
    learn(MPI_COMPLEX16, Scalar::c64);
    learn(MPI_LOGICAL, Scalar::logical32);
    learn(MPI_CHARACTER, Scalar::none);
    learn(MPI_2INTEGER, Scalar::i32_i32);
    learn(MPI_2REAL, Scalar::f32_f32);
    learn(MPI_2DOUBLE_PRECISION, Scalar::f64_f64);
}

void pack(const Piece& given, std::byte* packed) {
    const OffBottom lifted(given);
    const Piece& piece = lifted.piece();
    in_steps(piece, [&](std::byte* memory, int count, std::uint64_t at, int bytes, int* position) {
        return PMPI_Pack(memory, count, piece.type, packed + at, bytes, position, MPI_COMM_SELF);
    });
}

void unpack(const Piece& given, const std::byte* packed) {
    const OffBottom lifted(given);
    const Piece& piece = lifted.piece();
    in_steps(piece, [&](std::byte* memory, int count, std::uint64_t at, int bytes, int* position) {
        auto* from = const_cast<std::byte*>(packed) + at;
        return PMPI_Unpack(from, bytes, position, memory, count, piece.type, MPI_COMM_SELF);
    });
}

}  // namespace loom::mpi
