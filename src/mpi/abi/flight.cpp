#include "mpi/abi/flight.hpp"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <map>

namespace loom::mpi {

namespace {

// Handles that the program may free while operations of ours need them.
template <class Handle>
class Held {
public:
    void hold(Handle handle) { ++all_[key_of(handle)].holders; }
    // True: it is to be freed now.
    [[nodiscard]] bool release(Handle handle) {
        const auto found = all_.find(key_of(handle));
        if (--found->second.holders != 0) return false;
        const bool freed = found->second.freed;
        all_.erase(found);
        return freed;
    }
    [[nodiscard]] bool free_later(Handle handle) {
        const auto found = all_.find(key_of(handle));
        if (found == all_.end()) return false;
        found->second.freed = true;
        return true;
    }

private:
    struct State {
        std::uint32_t holders = 0;
        bool freed = false;
    };
    std::map<std::uint64_t, State> all_;
};

struct Known {
    Handles<OperationKind> predefined;
    Held<MPI_Op> operations;
    Held<MPI_Datatype> types;
};

Known& known() {
    static Known* const all = new Known;
    return *all;
}

void apply_foreign(const void* state, const std::byte* in, std::byte* inout, std::uint64_t count) {
    const_cast<ForeignReduction*>(static_cast<const ForeignReduction*>(state))->apply(in, inout, count);
}

void reduce(const void* in, void* inout, std::uint64_t count, MPI_Aint step, MPI_Datatype type, MPI_Op op) {
    const auto* from = static_cast<const std::byte*>(in);
    auto* to = static_cast<std::byte*>(inout);
    while (count > 0) {
        const std::uint64_t now = std::min<std::uint64_t>(count, INT_MAX);
        PMPI_Reduce_local(const_cast<std::byte*>(from), to, static_cast<int>(now), type, op);
        from += static_cast<MPI_Aint>(now) * step;
        to += static_cast<MPI_Aint>(now) * step;
        count -= now;
    }
}

std::unique_ptr<std::byte[]> bytes_for(std::uint64_t bytes) {
    return std::unique_ptr<std::byte[]>(new std::byte[bytes + 1]);
}

}  // namespace

void ForeignReduction::apply(const std::byte* in, std::byte* inout, std::uint64_t count) {
    if (type.contiguous) {
        reduce(in, inout, count, type.extent, handle, op);
        return;
    }
    // Where the lowest and the highest byte of all elements lie; extents may be negative.
    const MPI_Aint far = static_cast<MPI_Aint>(count - 1) * type.extent;
    // Rounded down, so that elements are aligned as in the program's memory.
    const MPI_Aint lowest = (type.first + std::min<MPI_Aint>(0, far)) & ~MPI_Aint{15};
    const MPI_Aint bytes = type.span + std::abs(far) + 15;
    spread_in.resize(static_cast<std::size_t>(bytes) + 1);
    spread_inout.resize(static_cast<std::size_t>(bytes) + 1);
    const Piece left{spread_in.data() - lowest, count, handle, type.size, type.extent, 0};
    const Piece right{spread_inout.data() - lowest, count, handle, type.size, type.extent, 0};
    unpack(left, in);
    unpack(right, inout);
    reduce(left.memory, right.memory, count, type.extent, handle, op);
    pack(right, inout);
}

Baggage::~Baggage() {
    if (reduction_ && known().operations.release(reduction_->op)) PMPI_Op_free(&reduction_->op);
    for (MPI_Datatype& type : types_)
        if (known().types.release(type)) PMPI_Type_free(&type);
}

MPI_Datatype Baggage::keep(MPI_Datatype handle) {
    if (std::find(types_.begin(), types_.end(), handle) == types_.end()) {
        known().types.hold(handle);
        types_.push_back(handle);
    }
    return handle;
}

std::uint64_t Baggage::add_input(const void* memory, std::uint64_t count, MPI_Datatype handle, const Type& type) {
    const std::uint64_t at = in_bytes_;
    in_.push_back(
        {static_cast<std::byte*>(const_cast<void*>(memory)), count, keep(handle), type.size, type.extent, at});
    in_bytes_ += count * type.size;
    return at;
}

std::uint64_t Baggage::add_output(void* memory, std::uint64_t count, MPI_Datatype handle, const Type& type, Way way) {
    const std::uint64_t at = out_bytes_;
    out_.push_back({static_cast<std::byte*>(memory), count, keep(handle), type.size, type.extent, at});
    out_bytes_ += count * type.size;
    ways_.push_back(way);
    return at;
}

const coll::Reduction* Baggage::add_reduction(MPI_Op op, MPI_Datatype handle, const Type& type, bool commutative) {
    ForeignReduction& foreign = reduction_.emplace();
    known().operations.hold(op);
    foreign.op = op;
    foreign.handle = keep(handle);
    foreign.type = type;
    // Of elements without data there are none on the way.
    const auto element = static_cast<std::uint32_t>(std::max<std::uint64_t>(type.size, 1));
    foreign.reduction = {apply_foreign, &foreign, element, commutative};
    return &foreign.reduction;
}

void Baggage::allocate() {
    if (!in_.empty()) staged_in_ = bytes_for(in_bytes_);
    if (!out_.empty()) staged_out_ = bytes_for(out_bytes_);
}

void Baggage::before() {
    for (const Piece& piece : in_) pack(piece, staged_in_.get() + piece.at);
    for (std::size_t i = 0; i < out_.size(); ++i)
        if (ways_[i] != Way::out) pack(out_[i], staged_out_.get() + out_[i].at);
}

void Baggage::after() {
    for (std::size_t i = 0; i < out_.size(); ++i)
        if (ways_[i] != Way::in) unpack(out_[i], staged_out_.get() + out_[i].at);
}

bool free_operation_later(MPI_Op op) {
    return known().operations.free_later(op);
}

bool free_type_later(MPI_Datatype type) {
    return known().types.free_later(type);
}

OperationKind kind_of(MPI_Op op) {
    const OperationKind* found = known().predefined.find(key_of(op));
    return found == nullptr ? OperationKind{} : *found;
}

void learn_operations() {
    const auto learn = [](MPI_Op op, std::optional<Arithmetic> arithmetic) {
        known().predefined.put(key_of(op), new OperationKind{arithmetic, true});
    };
    learn(MPI_MAX, Arithmetic::max);
    learn(MPI_MIN, Arithmetic::min);
    learn(MPI_SUM, Arithmetic::sum);
    learn(MPI_PROD, Arithmetic::prod);
    learn(MPI_LAND, Arithmetic::land);
    learn(MPI_BAND, Arithmetic::band);
    learn(MPI_LOR, Arithmetic::lor);
    learn(MPI_BOR, Arithmetic::bor);
    learn(MPI_LXOR, Arithmetic::lxor);
    learn(MPI_BXOR, Arithmetic::bxor);
    learn(MPI_MAXLOC, Arithmetic::maxloc);
    learn(MPI_MINLOC, Arithmetic::minloc);
    learn(MPI_REPLACE, std::nullopt);
    learn(MPI_NO_OP, std::nullopt);
    learn(MPI_OP_NULL, std::nullopt);
}

}  // namespace loom::mpi
