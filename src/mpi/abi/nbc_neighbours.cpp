// nbc.h: exchanges with neighbours.
#include <algorithm>

#include "mpi/abi/nbc_operation.hpp"
#include "mpi/abi/nbc_schedule.hpp"
#include "mpi/abi/rows.hpp"

namespace loom::mpi {

namespace {

struct Degrees {
    int in = 0, out = 0, weighted = 0;
};

// Of this rank. The answer is a code of nbc.h.
int degrees_of(MPI_Comm comm, Degrees& degrees) {
    int kind = MPI_UNDEFINED, rank = 0;
    if (const int error = PMPI_Topo_test(comm, &kind); error != MPI_SUCCESS) return nbc_code_of(error);
    switch (kind) {
        case MPI_CART:
            PMPI_Cartdim_get(comm, &degrees.in);
            degrees.in *= 2;
            degrees.out = degrees.in;
            return NBC_OK;
        case MPI_GRAPH:
            PMPI_Comm_rank(comm, &rank);
            PMPI_Graph_neighbors_count(comm, rank, &degrees.in);
            degrees.out = degrees.in;
            return NBC_OK;
        case MPI_DIST_GRAPH:
            return nbc_code_of(PMPI_Dist_graph_neighbors_count(comm, &degrees.in, &degrees.out, &degrees.weighted));
        default:
            return NBC_INVALID_TOPOLOGY_COMM;
    }
}

bool wants_weights(const int* weights) {
    return weights != nullptr && weights != MPI_UNWEIGHTED;
}

void copy_neighbours_of_graph(MPI_Comm comm, const Degrees& degrees, int* sources, int* source_weights,
                              int* destinations, int* destination_weights) {
    // One element more: MPI libraries differ in what they say to empty lists.
    std::vector<int> from(static_cast<std::size_t>(degrees.in) + 1), to(static_cast<std::size_t>(degrees.out) + 1);
    std::vector<int> from_weights(from), to_weights(to);
    PMPI_Dist_graph_neighbors(comm, degrees.in, from.data(), from_weights.data(), degrees.out, to.data(),
                              to_weights.data());
    std::copy_n(from.begin(), degrees.in, sources);
    std::copy_n(to.begin(), degrees.out, destinations);
    if (degrees.weighted == 0) return;
    if (wants_weights(source_weights)) std::copy_n(from_weights.begin(), degrees.in, source_weights);
    if (wants_weights(destination_weights)) std::copy_n(to_weights.begin(), degrees.out, destination_weights);
}

// Data that one rank sends or receives.
struct Block {
    const void* at = nullptr;
    int count = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
};
using Blocks = std::vector<Block>;

MPI_Aint extent_of(MPI_Datatype type) {
    MPI_Aint lowest = 0, extent = 0;
    PMPI_Type_get_extent(type, &lowest, &extent);
    return extent;
}

const void* behind(const void* memory, MPI_Aint bytes) {
    return static_cast<const std::byte*>(memory) + bytes;
}

// Equal ones, one behind the other.
Blocks even_blocks(int number, const void* memory, int count, MPI_Datatype type) {
    Blocks blocks;
    const MPI_Aint extent = extent_of(type);
    for (int i = 0; i < number; ++i) blocks.push_back({behind(memory, MPI_Aint{i} * count * extent), count, type});
    return blocks;
}

Blocks listed_blocks(int number, const void* memory, const int* counts, const int* displacements, MPI_Datatype type) {
    Blocks blocks;
    const MPI_Aint extent = extent_of(type);
    for (int i = 0; i < number; ++i) blocks.push_back({behind(memory, displacements[i] * extent), counts[i], type});
    return blocks;
}

Blocks typed_blocks(int number, const void* memory, const int* counts, const MPI_Datatype* types) {
    Blocks blocks;
    for (int i = 0; i < number; ++i) {
        blocks.push_back({memory, counts[i], types[i]});
        memory = behind(memory, counts[i] * extent_of(types[i]));
    }
    return blocks;
}

// Copies of what is sent, which received data then cannot reach; the blocks point there from now on.
std::vector<std::byte> copied(Blocks& blocks) {
    constexpr MPI_Aint alignment = alignof(std::max_align_t);
    struct Bounds {
        MPI_Aint lowest, bytes;
    };
    std::vector<Bounds> bounds;
    MPI_Aint together = 0;
    for (const Block& block : blocks) {
        MPI_Aint lowest = 0, span = 0;
        PMPI_Type_get_true_extent(block.type, &lowest, &span);
        const MPI_Aint far = std::max(block.count - 1, 0) * extent_of(block.type);
        const MPI_Aint bytes = span + std::abs(far);
        bounds.push_back({lowest + std::min<MPI_Aint>(far, 0), (bytes + alignment - 1) / alignment * alignment});
        together += bounds.back().bytes;
    }
    std::vector<std::byte> memory(static_cast<std::size_t>(together) + 1);
    std::byte* next = memory.data();
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        Block& block = blocks[i];
        void* const to = next - bounds[i].lowest;
        NBC_Copy(block.at, block.count, block.type, to, block.count, block.type, MPI_COMM_SELF);
        block.at = to;
        next += bounds[i].bytes;
    }
    return memory;
}

void list(const Blocks& blocks, const void* base, std::vector<int>& counts, std::vector<MPI_Aint>& far,
          std::vector<MPI_Datatype>& types) {
    for (const Block& block : blocks) {
        counts.push_back(block.count);
        far.push_back(static_cast<const std::byte*>(block.at) - static_cast<const std::byte*>(base));
        types.push_back(block.type);
    }
}

// The buffers of an exchange, as LibNBC takes them.
struct Pair {
    const void* sent;
    void* received;
    bool in_place = false;

    Pair(const void* sendbuf, void* recvbuf) : sent(sendbuf), received(recvbuf) {
        if (sent == MPI_IN_PLACE) sent = received;
        if (received == MPI_IN_PLACE) received = const_cast<void*>(sent);
        in_place = sent == received && sent != nullptr;
    }
};

// Blocks of any kind to and from the neighbours.
int exchange(const Pair& buffers, Blocks out, const Blocks& in, MPI_Comm comm, NBC_Handle* handle) {
    KeptArguments kept;
    const void* sendbuf = buffers.sent;
    void* const recvbuf = buffers.received;
    if (buffers.in_place) {
        kept.memory = copied(out);
        sendbuf = kept.memory.data();
    }
    list(out, sendbuf, kept.sent, kept.sent_far, kept.sent_types);
    list(in, recvbuf, kept.received, kept.received_far, kept.received_types);
    const int *sendcounts = kept.sent.data(), *recvcounts = kept.received.data();
    const MPI_Aint *sdispls = kept.sent_far.data(), *rdispls = kept.received_far.data();
    const MPI_Datatype *sendtypes = kept.sent_types.data(), *recvtypes = kept.received_types.data();
    return start_nbc_keeping(std::move(kept), Operation::neighbor_alltoallw, comm, handle,
                             LOOM_NBC_PREPARE(neighbor_alltoallw), LOOM_NBC_NATIVE(neighbor_alltoallw));
}

}  // namespace

}  // namespace loom::mpi

using namespace loom::mpi;

extern "C" {

int NBC_Comm_neighbors_count(MPI_Comm comm, int* indegree, int* outdegree, int* weighted) {
    Degrees degrees;
    const int code = degrees_of(comm, degrees);
    if (code != NBC_OK) return code;
    *indegree = degrees.in;
    *outdegree = degrees.out;
    *weighted = degrees.weighted;
    return NBC_OK;
}
LOOM_NBC_ALIAS(Comm_neighbors_count)

int NBC_Comm_neighbors(MPI_Comm comm, int maxindegree, int sources[], int* sourceweights, int maxoutdegree,
                       int destinations[], int* destweights) {
    Degrees degrees;
    int kind = MPI_UNDEFINED, rank = 0;
    if (const int code = degrees_of(comm, degrees); code != NBC_OK) return code;
    if (degrees.in > maxindegree || degrees.out > maxoutdegree) return NBC_INVALID_PARAM;
    PMPI_Topo_test(comm, &kind);
    if (kind == MPI_DIST_GRAPH) {
        copy_neighbours_of_graph(comm, degrees, sources, sourceweights, destinations, destweights);
        return NBC_OK;
    }
    if (kind == MPI_GRAPH) {
        PMPI_Comm_rank(comm, &rank);
        PMPI_Graph_neighbors(comm, rank, degrees.in, sources);
    } else {
        for (int i = 0; 2 * i < degrees.in; ++i) PMPI_Cart_shift(comm, i, 1, &sources[2 * i], &sources[2 * i + 1]);
    }
    std::copy_n(sources, degrees.in, destinations);
    return NBC_OK;
}
LOOM_NBC_ALIAS(Comm_neighbors)

// What is not in place goes its direct way; else OUT and IN are the blocks.
#define LOOM_NBC_NEIGHBOUR_FORM(NAME, OPERATION, OUT, IN)                                                              \
    int NBC_I##NAME(LOOM_ROW_##OPERATION(LOOM_PARAMETER, int, int, MPI_Aint) MPI_Comm comm, NBC_Handle* handle) {      \
        Degrees degrees;                                                                                               \
        if (const int code = degrees_of(comm, degrees); code != NBC_OK) return code;                                   \
        const Pair both(sendbuf, recvbuf);                                                                             \
        if (both.in_place) return exchange(both, OUT, IN, comm, handle);                                               \
        return start_nbc(Operation::OPERATION, comm, handle, LOOM_NBC_PREPARE(OPERATION), LOOM_NBC_NATIVE(OPERATION)); \
    }                                                                                                                  \
    LOOM_NBC_ALIAS(I##NAME)

#define LOOM_SAME_TO_ALL Blocks(static_cast<std::size_t>(degrees.out), Block{both.sent, sendcount, sendtype})
#define LOOM_EVEN_OUT even_blocks(degrees.out, both.sent, sendcount, sendtype)
#define LOOM_EVEN_IN even_blocks(degrees.in, both.received, recvcount, recvtype)
#define LOOM_LISTED_OUT listed_blocks(degrees.out, both.sent, sendcounts, sdispls, sendtype)
#define LOOM_LISTED_IN listed_blocks(degrees.in, both.received, recvcounts, rdispls, recvtype)
LOOM_NBC_NEIGHBOUR_FORM(neighbor_xchg, neighbor_alltoall, LOOM_EVEN_OUT, LOOM_EVEN_IN)
LOOM_NBC_NEIGHBOUR_FORM(neighbor_xchgv, neighbor_alltoallv, LOOM_LISTED_OUT, LOOM_LISTED_IN)
LOOM_NBC_NEIGHBOUR_FORM(neighbor_alltoall, neighbor_alltoall, LOOM_EVEN_OUT, LOOM_EVEN_IN)
LOOM_NBC_NEIGHBOUR_FORM(neighbor_alltoallv, neighbor_alltoallv, LOOM_LISTED_OUT, LOOM_LISTED_IN)
LOOM_NBC_NEIGHBOUR_FORM(neighbor_allgather, neighbor_allgather, LOOM_SAME_TO_ALL, LOOM_EVEN_IN)
LOOM_NBC_NEIGHBOUR_FORM(neighbor_allgatherv, neighbor_allgatherv, LOOM_SAME_TO_ALL, LOOM_LISTED_IN)

int NBC_Ineighbor_alltoallw(const void* sendbuf, const int* sendcounts, const MPI_Datatype* sendtypes, void* recvbuf,
                            const int* recvcounts, const MPI_Datatype* recvtypes, MPI_Comm comm, NBC_Handle* handle) {
    Degrees degrees;
    if (const int code = degrees_of(comm, degrees); code != NBC_OK) return code;
    const Pair both(sendbuf, recvbuf);
    return exchange(both, typed_blocks(degrees.out, both.sent, sendcounts, sendtypes),
                    typed_blocks(degrees.in, both.received, recvcounts, recvtypes), comm, handle);
}
LOOM_NBC_ALIAS(Ineighbor_alltoallw)

int NBC_Icart_shift_xchg(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                         MPI_Datatype recvtype, int direction, int disp, MPI_Comm comm, NBC_Handle* handle) {
    int kind = MPI_UNDEFINED, source = MPI_PROC_NULL, destination = MPI_PROC_NULL, size = 0;
    if (PMPI_Topo_test(comm, &kind) != MPI_SUCCESS || kind != MPI_CART) return NBC_INVALID_TOPOLOGY_COMM;
    if (const int error = PMPI_Cart_shift(comm, direction, disp, &source, &destination); error != MPI_SUCCESS)
        return nbc_code_of(error);
    PMPI_Comm_size(comm, &size);
    const Pair both(sendbuf, recvbuf);
    Blocks out{{both.sent, sendcount, sendtype}};
    KeptArguments kept;
    if (both.in_place) kept.memory = copied(out);
    sendbuf = out[0].at;
    recvbuf = both.received;
    // An alltoallv in which everybody else gets nothing.
    for (std::vector<int>* each : {&kept.sent, &kept.sent_at, &kept.received, &kept.received_at})
        each->assign(static_cast<std::size_t>(size), 0);
    if (destination != MPI_PROC_NULL) kept.sent[static_cast<std::size_t>(destination)] = sendcount;
    if (source != MPI_PROC_NULL) kept.received[static_cast<std::size_t>(source)] = recvcount;
    const int *sendcounts = kept.sent.data(), *sdispls = kept.sent_at.data();
    const int *recvcounts = kept.received.data(), *rdispls = kept.received_at.data();
    return start_nbc_keeping(std::move(kept), Operation::alltoallv, comm, handle, LOOM_NBC_PREPARE(alltoallv),
                             LOOM_NBC_NATIVE(alltoallv));
}
LOOM_NBC_ALIAS(Icart_shift_xchg)

}  // extern "C"
