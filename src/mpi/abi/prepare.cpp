// Memory of MPI's arguments as Loomband sees it: as it lies where it has no gaps, else by way of staging buffers.
#include <algorithm>
#include <climits>

#include "mpi/abi/collectives.hpp"

namespace loom::mpi::prepare {

namespace {

// Where the lowest block begins: displacements may be negative, offsets of Loomband are not.
struct Layout {
    std::byte* base = nullptr;
    bool good = true, direct = true;
};

const Type* type_at(const BlockList& list, std::uint32_t i) {
    return type_of(list.types == nullptr ? list.type : list.types[i]);
}

MPI_Aint offset_of(const BlockList& list, std::uint32_t i, const Type& type) {
    const MPI_Aint given = list.displacement(list.displacements, i);
    return list.types == nullptr ? given * type.extent : given;
}

Layout lay_out(const void* memory, const BlockList& list, std::vector<std::uint64_t>& bytes,
               std::vector<std::uint64_t>& at) {
    bytes.resize(list.blocks);
    at.resize(list.blocks);
    Layout layout;
    MPI_Aint lowest = 0;
    for (std::uint32_t i = 0; i < list.blocks; ++i) {
        const std::uint64_t count = list.count(list.counts, i);
        const Type* type = type_at(list, i);
        if (type == nullptr || static_cast<std::int64_t>(count) < 0) return {nullptr, false, false};
        bytes[i] = count * type->size;
        layout.direct &= type->in_order(count);
        const MPI_Aint offset = bytes[i] == 0 ? 0 : offset_of(list, i, *type) + type->first;
        at[i] = static_cast<std::uint64_t>(offset);
        lowest = std::min(lowest, offset);
    }
    if (layout.direct)
        for (std::uint64_t& offset : at) offset -= static_cast<std::uint64_t>(lowest);
    layout.base = static_cast<std::byte*>(const_cast<void*>(memory)) + lowest;
    return layout;
}

// False, and the call is handed back: an element that MPI cannot pack. Ranks that describe the same data by other types
// would not know; that is the price.
bool packable(Preparation& p, const Type& type) {
    if (type.size > INT_MAX) p.refused = Reason::size;
    return type.size <= INT_MAX;
}

bool all_packable(Preparation& p, const BlockList& list) {
    for (std::uint32_t i = 0; i < list.blocks; ++i)
        if (!packable(p, *type_at(list, i))) return false;
    return true;
}

template <class Add>
void stage(const void* memory, const BlockList& list, std::vector<std::uint64_t>& at, Add&& add) {
    for (std::uint32_t i = 0; i < list.blocks; ++i) {
        const Type& type = *type_at(list, i);
        auto* block = static_cast<std::byte*>(const_cast<void*>(memory)) + offset_of(list, i, type);
        at[i] = add(block, list.count(list.counts, i), list.types == nullptr ? list.type : list.types[i], type);
    }
}

}  // namespace

Run input(Preparation& p, const void* memory, MPI_Count count, MPI_Datatype handle) {
    const Type* type = type_of(handle);
    if (type == nullptr || count < 0) return {0, true};
    const auto elements = static_cast<std::uint64_t>(count);
    if (type->in_order(elements))
        p.buffers.input = static_cast<const std::byte*>(memory) + type->first;
    else if (packable(p, *type))
        p.luggage().add_input(memory, elements, handle, *type);
    else
        return {0, true};
    return {elements * type->size, false};
}

Run output(Preparation& p, void* memory, MPI_Count count, MPI_Datatype handle, Baggage::Way way) {
    const Type* type = type_of(handle);
    if (type == nullptr || count < 0) return {0, true};
    const auto elements = static_cast<std::uint64_t>(count);
    if (type->in_order(elements))
        p.buffers.output = static_cast<std::byte*>(memory) + type->first;
    else if (packable(p, *type))
        p.luggage().add_output(memory, elements, handle, *type, way);
    else
        return {0, true};
    return {elements * type->size, false};
}

bool input_blocks(Preparation& p, const void* memory, const BlockList& list) {
    const Layout layout = lay_out(memory, list, p.lists.sent_bytes, p.lists.sent_at);
    if (!layout.good) return false;
    if (layout.direct)
        p.buffers.input = layout.base;
    else if (all_packable(p, list))
        stage(memory, list, p.lists.sent_at, [&](auto... piece) { return p.luggage().add_input(piece...); });
    else
        return false;
    return true;
}

bool output_blocks(Preparation& p, void* memory, const BlockList& list, Baggage::Way way) {
    const Layout layout = lay_out(memory, list, p.lists.received_bytes, p.lists.received_at);
    if (!layout.good) return false;
    if (layout.direct)
        p.buffers.output = layout.base;
    else if (all_packable(p, list))
        stage(memory, list, p.lists.received_at, [&](auto... piece) { return p.luggage().add_output(piece..., way); });
    else
        return false;
    return true;
}

bool root_between(Preparation& p, int root) {
    const coll::TwoGroups& groups = *p.comm.groups;
    if (root == MPI_ROOT)
        p.call.root = groups.me;
    else if (root == MPI_PROC_NULL)
        p.call.root = Rank(groups.here() + (p.comm.rank == 0 ? 1 : 0));
    else
        p.call.root = Rank(groups.there() + static_cast<std::uint32_t>(root));
    if (root == MPI_PROC_NULL) return p.comm.size > 1;
    return root == MPI_ROOT || static_cast<std::uint32_t>(root) < p.comm.peers;
}

void even_list(std::vector<std::uint64_t>& bytes, std::vector<std::uint64_t>& at, std::uint32_t blocks,
               std::uint64_t whole) {
    bytes.assign(blocks, blocks == 0 ? 0 : whole / blocks);
    at.resize(blocks);
    for (std::uint32_t i = 0; i < blocks; ++i) at[i] = i * bytes[i];
}

void list_blocks(Preparation& p, std::uint32_t given, std::uint64_t sent, std::uint64_t received) {
    const bool gathers = p.call.what == coll::Collective::allgather;
    p.call.what = gathers ? coll::Collective::allgatherv : coll::Collective::alltoallv;
    even_list(p.lists.sent_bytes, p.lists.sent_at, given, sent);
    even_list(p.lists.received_bytes, p.lists.received_at, p.comm.peers, received);
}

Verdict reduction(Preparation& p, MPI_Op op, MPI_Datatype handle) {
    const Type* type = type_of(handle);
    if (type == nullptr) return wrong;
    const OperationKind kind = kind_of(op);
    if (kind.arithmetic) p.reduction = kernel(*kind.arithmetic, type->scalar);
    if (p.reduction == nullptr) {
        // Between two groups not every rank is told the operation, so that all must do without knowing it: MPI reduces.
        if (kind.predefined && (!kind.arithmetic || !p.comm.groups)) return Reason::operation;
        if (type->size > INT_MAX) return Reason::size;
        int commutes = 0;
        if (PMPI_Op_commutative(op, &commutes) != MPI_SUCCESS) return wrong;
        p.reduction = p.luggage().add_reduction(op, handle, *type, commutes != 0);
    }
    p.call.element = p.reduction->element;
    p.call.commutative = p.reduction->commutative;
    return {};
}

std::uint64_t reduced_bytes(const Preparation& p, MPI_Count count, MPI_Datatype handle) {
    return static_cast<std::uint64_t>(count) * (p.baggage != nullptr ? type_of(handle)->size : p.call.element);
}

// Our own loops take pairs with their padding, as they lie.
Run reduced_input(Preparation& p, const void* memory, MPI_Count count, MPI_Datatype handle) {
    if (p.baggage != nullptr) return input(p, memory, count, handle);
    p.buffers.input = static_cast<const std::byte*>(memory);
    return {static_cast<std::uint64_t>(count) * p.call.element, count < 0};
}

Run reduced_output(Preparation& p, void* memory, MPI_Count count, MPI_Datatype handle, Baggage::Way way) {
    if (p.baggage != nullptr) return output(p, memory, count, handle, way);
    p.buffers.output = static_cast<std::byte*>(memory);
    return {static_cast<std::uint64_t>(count) * p.call.element, count < 0};
}

void settle(Preparation& p) {
    p.call.sent = {p.lists.sent_bytes, p.lists.sent_at};
    p.call.received = {p.lists.received_bytes, p.lists.received_at};
    if (p.baggage == nullptr) return;
    p.baggage->allocate();
    if (p.baggage->input() != nullptr) p.buffers.input = p.baggage->input();
    if (p.baggage->output() != nullptr) p.buffers.output = p.baggage->output();
}

}  // namespace loom::mpi::prepare
