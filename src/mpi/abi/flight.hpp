// A collective of the program made ready for Loomband, and what must live until it has ended.
#pragma once

#include <mpi.h>

#include <memory>
#include <optional>
#include <vector>

#include "mpi/abi/datatypes.hpp"
#include "mpi/abi/library.hpp"

namespace loom::mpi {

// A reduction that only MPI can do: a user's operation, or a type with gaps. Elements are packed on the way; where the
// type has gaps they are spread out for the operation and packed again.
struct ForeignReduction {
    MPI_Op op = MPI_OP_NULL;
    MPI_Datatype handle = MPI_DATATYPE_NULL;
    Type type;
    coll::Reduction reduction;
    std::vector<std::byte> spread_in, spread_inout;

    void apply(const std::byte* in, std::byte* inout, std::uint64_t count);
};

// The slow way: data in staging buffers, reductions by MPI.
class Baggage {
public:
    Baggage() = default;
    Baggage(const Baggage&) = delete;
    Baggage& operator=(const Baggage&) = delete;
    ~Baggage();

    // A place in the staging buffer; the answer is its offset.
    std::uint64_t add_input(const void* memory, std::uint64_t count, MPI_Datatype handle, const Type& type);
    enum class Way : std::uint8_t { in, out, both };  // whether the operation reads it, writes it
    std::uint64_t add_output(void* memory, std::uint64_t count, MPI_Datatype handle, const Type& type, Way way);
    const coll::Reduction* add_reduction(MPI_Op op, MPI_Datatype handle, const Type& type, bool commutative);

    // Once all pieces are known; the addresses are good from then on.
    void allocate();
    [[nodiscard]] std::byte* input() { return staged_in_.get(); }
    [[nodiscard]] std::byte* output() { return staged_out_.get(); }
    [[nodiscard]] bool foreign() const { return reduction_.has_value(); }

    void before();  // packs what is sent
    void after();   // unpacks what has come

private:
    MPI_Datatype keep(MPI_Datatype handle);  // until we are gone, though the program free it

    std::vector<Piece> in_, out_;
    std::vector<Way> ways_;  // of out_
    std::uint64_t in_bytes_ = 0, out_bytes_ = 0;
    std::unique_ptr<std::byte[]> staged_in_, staged_out_;
    std::optional<ForeignReduction> reduction_;
    std::vector<MPI_Datatype> types_;
};

// Filled by the functions of collectives.hpp, one by one for every call; the vectors keep their memory between calls.
struct Preparation {
    Comm& comm;
    coll::Call call{};
    coll::Buffers buffers{};
    const coll::Reduction* reduction = nullptr;
    std::unique_ptr<Baggage> baggage;
    std::optional<Reason> refused{};  // why what is called wrong is not the program's fault
    struct Lists {
        std::vector<std::uint64_t> sent_bytes, sent_at, received_bytes, received_at;
    } & lists;

    Baggage& luggage() {
        if (baggage == nullptr) baggage = std::make_unique<Baggage>();
        return *baggage;
    }
};

// True: an operation of ours still needs what the program frees; it will be freed with the last of these.
[[nodiscard]] bool free_operation_later(MPI_Op op);
[[nodiscard]] bool free_type_later(MPI_Datatype type);

// What a predefined operation is to us; nothing for a user's and for those of one-sided communication.
struct OperationKind {
    std::optional<Arithmetic> arithmetic;
    bool predefined = false;
};
[[nodiscard]] OperationKind kind_of(MPI_Op op);
void learn_operations();

}  // namespace loom::mpi
