// From the arguments of MPI's collectives to calls of Loomband. One template for each, for MPI's int and its wide
// counts alike; the answer is nothing, or why the call must be handed back. That answer is the same on every rank: it
// depends on what the standard demands to be alike everywhere.
#pragma once

#include <algorithm>
#include <optional>

#include "mpi/abi/flight.hpp"

namespace loom::mpi {

using Verdict = std::optional<Reason>;

namespace prepare {

// One run of memory: its packed size, and where it is taken over from. Wrong counts and types are for MPI to say.
struct Run {
    std::uint64_t bytes = 0;
    bool wrong = false;
};

// The input or the output of a call as `count` elements one behind the other; `count` may be that of all ranks.
Run input(Preparation& p, const void* memory, MPI_Count count, MPI_Datatype handle);
Run output(Preparation& p, void* memory, MPI_Count count, MPI_Datatype handle, Baggage::Way way);

// One block for each rank or neighbour, where it lies told by displacements in elements (or bytes), types alike or not.
struct BlockList {
    std::uint32_t blocks = 0;
    std::uint64_t (*count)(const void* counts, std::uint32_t i) = nullptr;
    const void* counts = nullptr;
    MPI_Aint (*displacement)(const void* displacements, std::uint32_t i) = nullptr;
    const void* displacements = nullptr;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    const MPI_Datatype* types = nullptr;  // displacements are in bytes then
};
// False: something is wrong in it.
[[nodiscard]] bool input_blocks(Preparation& p, const void* memory, const BlockList& list);
[[nodiscard]] bool output_blocks(Preparation& p, void* memory, const BlockList& list, Baggage::Way way);

// Decides who reduces and how long an element is on the way; then the data.
Verdict reduction(Preparation& p, MPI_Op op, MPI_Datatype handle);
Run reduced_input(Preparation& p, const void* memory, MPI_Count count, MPI_Datatype handle);
Run reduced_output(Preparation& p, void* memory, MPI_Count count, MPI_Datatype handle, Baggage::Way way);
// Of `count` elements on the way; a type may be without data.
std::uint64_t reduced_bytes(const Preparation& p, MPI_Count count, MPI_Datatype handle);

// `whole` bytes in blocks of the same size, one behind the other.
void even_list(std::vector<std::uint64_t>& bytes, std::vector<std::uint64_t>& at, std::uint32_t blocks,
               std::uint64_t whole);

// Between two groups an allgather or alltoall has blocks of two sizes, one for each direction: as lists.
void list_blocks(Preparation& p, std::uint32_t given, std::uint64_t sent, std::uint64_t received);

// Staging memory, once every piece is known.
void settle(Preparation& p);

template <class T>
BlockList blocks(std::uint32_t number, const T* counts) {
    BlockList list;
    list.blocks = number;
    list.counts = counts;
    list.count = [](const void* all, std::uint32_t i) {
        return static_cast<std::uint64_t>(static_cast<const T*>(all)[i]);
    };
    return list;
}

template <class N, class D>
BlockList blocks(std::uint32_t number, const N* counts, const D* displacements, MPI_Datatype type) {
    BlockList list = blocks(number, counts);
    list.displacements = displacements;
    list.displacement = [](const void* all, std::uint32_t i) {
        return static_cast<MPI_Aint>(static_cast<const D*>(all)[i]);
    };
    list.type = type;
    return list;
}

template <class N, class D>
BlockList blocks(std::uint32_t number, const N* counts, const D* displacements, const MPI_Datatype* types) {
    BlockList list = blocks(number, counts, displacements, MPI_DATATYPE_NULL);
    list.types = types;
    return list;
}

// False: there is no such root. Of an intercommunicator it is a rank of the other group, this one (MPI_ROOT) or some
// other of the own group (MPI_PROC_NULL); in the call it is counted through both groups.
[[nodiscard]] bool root_between(Preparation& p, int root);
[[nodiscard]] inline bool root_of(Preparation& p, int root) {
    if (p.comm.groups) return root_between(p, root);
    p.call.root = Rank(static_cast<std::uint32_t>(root));
    return static_cast<std::uint32_t>(root) < p.comm.size;
}
[[nodiscard]] inline bool at_root(const Preparation& p) {
    return p.call.root.value == (p.comm.groups ? p.comm.groups->me.value : p.comm.rank);
}
// Of the root's group, when it is the others that give or receive: no argument but the root means anything.
[[nodiscard]] inline bool bystander(const Preparation& p) {
    return p.comm.groups && !at_root(p) && p.comm.groups->together(p.call.root, p.comm.groups->me);
}
// Whether this rank gives or receives as one of many: on an intercommunicator the root does not.
[[nodiscard]] inline bool is_one_of_many(const Preparation& p) {
    return !p.comm.groups || !at_root(p);
}
[[nodiscard]] inline bool in_place(const void* memory) {
    return memory == MPI_IN_PLACE;
}
inline constexpr Verdict fine{};
inline constexpr Verdict wrong = Reason::arguments;

}  // namespace prepare

inline Verdict prepare_barrier(Preparation& p) {
    p.call.what = coll::Collective::barrier;
    return {};
}

template <class N>
Verdict prepare_bcast(Preparation& p, void* buffer, N count, MPI_Datatype type, int root) {
    using namespace prepare;
    p.call.what = coll::Collective::broadcast;
    if (!root_of(p, root)) return wrong;
    if (bystander(p)) return fine;
    const Run data = output(p, buffer, count, type, at_root(p) ? Baggage::Way::in : Baggage::Way::out);
    p.call.bytes = data.bytes;
    return data.wrong ? wrong : fine;
}

template <class N>
Verdict prepare_gather(Preparation& p, const void* sendbuf, N sendcount, MPI_Datatype sendtype, void* recvbuf,
                       N recvcount, MPI_Datatype recvtype, int root) {
    using namespace prepare;
    p.call.what = coll::Collective::gather;
    if (!root_of(p, root)) return wrong;
    if (bystander(p)) return fine;
    const bool one_of_many = is_one_of_many(p);
    p.call.in_place = one_of_many && in_place(sendbuf);
    Run mine, all;
    if (one_of_many && !p.call.in_place) mine = input(p, sendbuf, sendcount, sendtype);
    p.call.bytes = mine.bytes;
    if (at_root(p)) {
        all = output(p, recvbuf, MPI_Count{recvcount} * p.comm.peers, recvtype,
                     p.call.in_place ? Baggage::Way::both : Baggage::Way::out);
        p.call.bytes = all.bytes / p.comm.peers;
    }
    return mine.wrong || all.wrong ? wrong : fine;
}

template <class N, class D>
Verdict prepare_gatherv(Preparation& p, const void* sendbuf, N sendcount, MPI_Datatype sendtype, void* recvbuf,
                        const N* recvcounts, const D* displs, MPI_Datatype recvtype, int root) {
    using namespace prepare;
    p.call.what = coll::Collective::gatherv;
    if (!root_of(p, root)) return wrong;
    if (bystander(p)) return fine;
    const bool one_of_many = is_one_of_many(p);
    p.call.in_place = one_of_many && in_place(sendbuf);
    Run mine;
    if (one_of_many && !p.call.in_place) mine = input(p, sendbuf, sendcount, sendtype);
    p.lists.sent_bytes.assign(1, mine.bytes);
    p.lists.sent_at.assign(1, 0);
    const bool good = !at_root(p) || output_blocks(p, recvbuf, blocks(p.comm.peers, recvcounts, displs, recvtype),
                                                   p.call.in_place ? Baggage::Way::both : Baggage::Way::out);
    if (good && at_root(p) && p.call.in_place) p.lists.sent_bytes[0] = p.lists.received_bytes[p.comm.rank];
    return mine.wrong || !good ? wrong : fine;
}

template <class N>
Verdict prepare_scatter(Preparation& p, const void* sendbuf, N sendcount, MPI_Datatype sendtype, void* recvbuf,
                        N recvcount, MPI_Datatype recvtype, int root) {
    using namespace prepare;
    p.call.what = coll::Collective::scatter;
    if (!root_of(p, root)) return wrong;
    if (bystander(p)) return fine;
    const bool one_of_many = is_one_of_many(p);
    p.call.in_place = one_of_many && in_place(recvbuf);
    Run mine, all;
    if (one_of_many && !p.call.in_place) mine = output(p, recvbuf, recvcount, recvtype, Baggage::Way::out);
    p.call.bytes = mine.bytes;
    if (at_root(p)) {
        all = input(p, sendbuf, MPI_Count{sendcount} * p.comm.peers, sendtype);
        p.call.bytes = all.bytes / p.comm.peers;
    }
    return mine.wrong || all.wrong ? wrong : fine;
}

template <class N, class D>
Verdict prepare_scatterv(Preparation& p, const void* sendbuf, const N* sendcounts, const D* displs,
                         MPI_Datatype sendtype, void* recvbuf, N recvcount, MPI_Datatype recvtype, int root) {
    using namespace prepare;
    p.call.what = coll::Collective::scatterv;
    if (!root_of(p, root)) return wrong;
    if (bystander(p)) return fine;
    const bool one_of_many = is_one_of_many(p);
    p.call.in_place = one_of_many && in_place(recvbuf);
    Run mine;
    if (one_of_many && !p.call.in_place) mine = output(p, recvbuf, recvcount, recvtype, Baggage::Way::out);
    p.lists.received_bytes.assign(1, mine.bytes);
    p.lists.received_at.assign(1, 0);
    const bool good = !at_root(p) || input_blocks(p, sendbuf, blocks(p.comm.peers, sendcounts, displs, sendtype));
    if (good && at_root(p) && p.call.in_place) p.lists.received_bytes[0] = p.lists.sent_bytes[p.comm.rank];
    return mine.wrong || !good ? wrong : fine;
}

// Allgather and alltoall: a block of the same size from everyone, `given` of which are sent.
template <class N>
Verdict prepare_equal_blocks(Preparation& p, coll::Collective what, std::uint32_t given, const void* sendbuf,
                             N sendcount, MPI_Datatype sendtype, void* recvbuf, N recvcount, MPI_Datatype recvtype) {
    using namespace prepare;
    p.call.what = what;
    p.call.in_place = in_place(sendbuf);
    Run mine;
    if (!p.call.in_place) mine = input(p, sendbuf, MPI_Count{sendcount} * given, sendtype);
    const Run all = output(p, recvbuf, MPI_Count{recvcount} * p.comm.peers, recvtype,
                           p.call.in_place ? Baggage::Way::both : Baggage::Way::out);
    p.call.bytes = all.bytes / p.comm.peers;
    if (p.comm.groups) list_blocks(p, given, mine.bytes, all.bytes);
    return mine.wrong || all.wrong ? wrong : fine;
}

template <class N>
Verdict prepare_allgather(Preparation& p, const void* sendbuf, N sendcount, MPI_Datatype sendtype, void* recvbuf,
                          N recvcount, MPI_Datatype recvtype) {
    return prepare_equal_blocks(p, coll::Collective::allgather, 1, sendbuf, sendcount, sendtype, recvbuf, recvcount,
                                recvtype);
}

template <class N>
Verdict prepare_alltoall(Preparation& p, const void* sendbuf, N sendcount, MPI_Datatype sendtype, void* recvbuf,
                         N recvcount, MPI_Datatype recvtype) {
    return prepare_equal_blocks(p, coll::Collective::alltoall, p.comm.peers, sendbuf, sendcount, sendtype, recvbuf,
                                recvcount, recvtype);
}

template <class N, class D>
Verdict prepare_allgatherv(Preparation& p, const void* sendbuf, N sendcount, MPI_Datatype sendtype, void* recvbuf,
                           const N* recvcounts, const D* displs, MPI_Datatype recvtype) {
    using namespace prepare;
    p.call.what = coll::Collective::allgatherv;
    p.call.in_place = in_place(sendbuf);
    Run mine;
    if (!p.call.in_place) mine = input(p, sendbuf, sendcount, sendtype);
    if (p.comm.groups) p.lists.sent_bytes.assign(1, mine.bytes);
    const bool good = output_blocks(p, recvbuf, blocks(p.comm.peers, recvcounts, displs, recvtype),
                                    p.call.in_place ? Baggage::Way::both : Baggage::Way::out);
    return mine.wrong || !good ? wrong : fine;
}

inline Verdict prepare_exchange(Preparation& p, const void* sendbuf, const prepare::BlockList& sent, void* recvbuf,
                                const prepare::BlockList& received) {
    using namespace prepare;
    p.call.what = coll::Collective::alltoallv;
    p.call.in_place = in_place(sendbuf);
    const bool good = output_blocks(p, recvbuf, received, p.call.in_place ? Baggage::Way::both : Baggage::Way::out) &&
                      (p.call.in_place || input_blocks(p, sendbuf, sent));
    if (good && p.call.in_place) {  // what is sent is what is received, and lies there
        p.lists.sent_bytes = p.lists.received_bytes;
        p.lists.sent_at = p.lists.received_at;
    }
    return good ? fine : wrong;
}

// Alltoallv has one type on each side, alltoallw a list of them.
template <class N, class D, class Types>
Verdict prepare_alltoallv(Preparation& p, const void* sendbuf, const N* sendcounts, const D* sdispls, Types sendtypes,
                          void* recvbuf, const N* recvcounts, const D* rdispls, Types recvtypes) {
    return prepare_exchange(p, sendbuf, prepare::blocks(p.comm.peers, sendcounts, sdispls, sendtypes), recvbuf,
                            prepare::blocks(p.comm.peers, recvcounts, rdispls, recvtypes));
}

template <class N, class D>
Verdict prepare_alltoallw(Preparation& p, const void* sendbuf, const N* sendcounts, const D* sdispls,
                          const MPI_Datatype* sendtypes, void* recvbuf, const N* recvcounts, const D* rdispls,
                          const MPI_Datatype* recvtypes) {
    return prepare_alltoallv(p, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes);
}

// Reductions of one message: whether this rank gives and gets something.
template <class N>
Verdict prepare_reduction(Preparation& p, coll::Collective what, const void* sendbuf, void* recvbuf, N count,
                          MPI_Datatype type, MPI_Op op, bool gives, bool gets) {
    using namespace prepare;
    p.call.what = what;
    if (Verdict verdict = reduction(p, op, type)) return verdict;
    p.call.in_place = gives && in_place(sendbuf);
    if (p.call.in_place && !gets) return wrong;
    Run given, got;
    if (gives && !p.call.in_place) given = reduced_input(p, sendbuf, count, type);
    if (gets) got = reduced_output(p, recvbuf, count, type, p.call.in_place ? Baggage::Way::both : Baggage::Way::out);
    p.call.bytes = gives && !p.call.in_place ? given.bytes : got.bytes;
    return given.wrong || got.wrong ? wrong : fine;
}

template <class N>
Verdict prepare_reduce(Preparation& p, const void* sendbuf, void* recvbuf, N count, MPI_Datatype type, MPI_Op op,
                       int root) {
    using namespace prepare;
    p.call.what = coll::Collective::reduce;
    if (!root_of(p, root)) return wrong;
    if (bystander(p)) return fine;
    return prepare_reduction(p, coll::Collective::reduce, sendbuf, recvbuf, count, type, op, is_one_of_many(p),
                             at_root(p));
}

template <class N>
Verdict prepare_allreduce(Preparation& p, const void* sendbuf, void* recvbuf, N count, MPI_Datatype type, MPI_Op op) {
    return prepare_reduction(p, coll::Collective::allreduce, sendbuf, recvbuf, count, type, op, true, true);
}

template <class N>
Verdict prepare_scan(Preparation& p, const void* sendbuf, void* recvbuf, N count, MPI_Datatype type, MPI_Op op) {
    if (p.comm.groups) return prepare::wrong;
    return prepare_reduction(p, coll::Collective::scan, sendbuf, recvbuf, count, type, op, true, true);
}

// The first rank's output is read when it is in place, and stays as it was.
template <class N>
Verdict prepare_exscan(Preparation& p, const void* sendbuf, void* recvbuf, N count, MPI_Datatype type, MPI_Op op) {
    if (p.comm.groups) return prepare::wrong;
    const bool gets = p.comm.rank != 0 || prepare::in_place(sendbuf);
    return prepare_reduction(p, coll::Collective::exscan, sendbuf, recvbuf, count, type, op, true, gets);
}

template <class N>
Verdict prepare_reduce_scatter(Preparation& p, const void* sendbuf, void* recvbuf, const N* recvcounts,
                               MPI_Datatype type, MPI_Op op) {
    using namespace prepare;
    MPI_Count whole = 0;
    for (std::uint32_t i = 0; i < p.comm.size; ++i) {
        if (recvcounts[i] < 0) return wrong;
        whole += recvcounts[i];
    }
    p.call.what = coll::Collective::reduce_scatter;
    if (Verdict verdict = reduction(p, op, type)) return verdict;
    p.call.in_place = in_place(sendbuf);
    Run given, got;
    if (!p.call.in_place) given = reduced_input(p, sendbuf, whole, type);
    got = p.call.in_place ? reduced_output(p, recvbuf, whole, type, Baggage::Way::both)
                          : reduced_output(p, recvbuf, MPI_Count{recvcounts[p.comm.rank]}, type, Baggage::Way::out);
    p.lists.received_bytes.resize(p.comm.size);
    p.lists.received_at.resize(p.comm.size);
    std::uint64_t at = 0;
    for (std::uint32_t i = 0; i < p.comm.size; ++i) {
        p.lists.received_bytes[i] = reduced_bytes(p, MPI_Count{recvcounts[i]}, type);
        p.lists.received_at[i] = at;
        at += p.lists.received_bytes[i];
    }
    return given.wrong || got.wrong ? wrong : fine;
}

template <class N>
Verdict prepare_reduce_scatter_block(Preparation& p, const void* sendbuf, void* recvbuf, N recvcount, MPI_Datatype type,
                                     MPI_Op op) {
    using namespace prepare;
    if (recvcount < 0) return wrong;
    p.call.what = coll::Collective::reduce_scatter_block;
    if (Verdict verdict = reduction(p, op, type)) return verdict;
    p.call.in_place = in_place(sendbuf);
    const MPI_Count whole = MPI_Count{recvcount} * p.comm.size;
    Run given, got;
    if (!p.call.in_place) given = reduced_input(p, sendbuf, whole, type);
    got = p.call.in_place ? reduced_output(p, recvbuf, whole, type, Baggage::Way::both)
                          : reduced_output(p, recvbuf, MPI_Count{recvcount}, type, Baggage::Way::out);
    p.call.bytes = reduced_bytes(p, MPI_Count{recvcount}, type);
    return given.wrong || got.wrong ? wrong : fine;
}

// Neighbours of this rank; null: it has no topology.
[[nodiscard]] inline const coll::Neighbours* neighbours_of(const Preparation& p) {
    return p.comm.topology == nullptr ? nullptr : &p.comm.topology->by_rank[p.comm.rank];
}

// What a neighbour that is not there would have sent stays as it was.
[[nodiscard]] inline Baggage::Way way_of(const coll::Neighbours& beside) {
    const auto& from = beside.sources;
    return std::find(from.begin(), from.end(), coll::no_rank) == from.end() ? Baggage::Way::out : Baggage::Way::both;
}

// What passes through ranks that are nobody's neighbour would need them to know its size: with such ranks blocks are
// told as lists, which go straight to their neighbours.
template <class N>
Verdict prepare_neighbor_blocks(Preparation& p, coll::Collective what, const void* sendbuf, N sendcount,
                                MPI_Datatype sendtype, void* recvbuf, N recvcount, MPI_Datatype recvtype) {
    using namespace prepare;
    const coll::Neighbours* beside = neighbours_of(p);
    if (beside == nullptr) return Reason::no_topology;
    const bool gathers = what == coll::Collective::neighbour_allgather;
    const auto given = gathers ? 1 : static_cast<std::uint32_t>(beside->destinations.size());
    const auto got = static_cast<std::uint32_t>(beside->sources.size());
    const Run sent = input(p, sendbuf, MPI_Count{given} * sendcount, sendtype);
    const Run received = output(p, recvbuf, MPI_Count{got} * recvcount, recvtype, way_of(*beside));
    if (sent.wrong || received.wrong) return wrong;
    p.call.what = what;
    if (p.comm.topology->someone_alone) {
        p.call.what = gathers ? coll::Collective::neighbour_allgatherv : coll::Collective::neighbour_alltoallv;
        even_list(p.lists.sent_bytes, p.lists.sent_at, given, sent.bytes);
        even_list(p.lists.received_bytes, p.lists.received_at, got, received.bytes);
    } else {
        // A rank without destinations knows the size of a block from the other side.
        p.call.bytes = beside->destinations.empty() ? received.bytes / got : sent.bytes / given;
    }
    return fine;
}

template <class N>
Verdict prepare_neighbor_allgather(Preparation& p, const void* sendbuf, N sendcount, MPI_Datatype sendtype,
                                   void* recvbuf, N recvcount, MPI_Datatype recvtype) {
    return prepare_neighbor_blocks(p, coll::Collective::neighbour_allgather, sendbuf, sendcount, sendtype, recvbuf,
                                   recvcount, recvtype);
}

template <class N>
Verdict prepare_neighbor_alltoall(Preparation& p, const void* sendbuf, N sendcount, MPI_Datatype sendtype,
                                  void* recvbuf, N recvcount, MPI_Datatype recvtype) {
    return prepare_neighbor_blocks(p, coll::Collective::neighbour_alltoall, sendbuf, sendcount, sendtype, recvbuf,
                                   recvcount, recvtype);
}

template <class N, class D>
Verdict prepare_neighbor_allgatherv(Preparation& p, const void* sendbuf, N sendcount, MPI_Datatype sendtype,
                                    void* recvbuf, const N* recvcounts, const D* displs, MPI_Datatype recvtype) {
    using namespace prepare;
    const coll::Neighbours* beside = neighbours_of(p);
    if (beside == nullptr) return Reason::no_topology;
    p.call.what = coll::Collective::neighbour_allgatherv;
    const Run sent = input(p, sendbuf, sendcount, sendtype);
    p.lists.sent_bytes.assign(1, sent.bytes);
    p.lists.sent_at.assign(1, 0);
    const auto sources = static_cast<std::uint32_t>(beside->sources.size());
    const bool good = output_blocks(p, recvbuf, blocks(sources, recvcounts, displs, recvtype), way_of(*beside));
    return sent.wrong || !good ? wrong : fine;
}

template <class N, class D, class Types>
Verdict prepare_neighbor_alltoallv(Preparation& p, const void* sendbuf, const N* sendcounts, const D* sdispls,
                                   Types sendtypes, void* recvbuf, const N* recvcounts, const D* rdispls,
                                   Types recvtypes) {
    using namespace prepare;
    const coll::Neighbours* beside = neighbours_of(p);
    if (beside == nullptr) return Reason::no_topology;
    p.call.what = coll::Collective::neighbour_alltoallv;
    const auto sources = static_cast<std::uint32_t>(beside->sources.size());
    const auto destinations = static_cast<std::uint32_t>(beside->destinations.size());
    const bool good = input_blocks(p, sendbuf, blocks(destinations, sendcounts, sdispls, sendtypes)) &&
                      output_blocks(p, recvbuf, blocks(sources, recvcounts, rdispls, recvtypes), way_of(*beside));
    return good ? fine : wrong;
}

template <class N, class D>
Verdict prepare_neighbor_alltoallw(Preparation& p, const void* sendbuf, const N* sendcounts, const D* sdispls,
                                   const MPI_Datatype* sendtypes, void* recvbuf, const N* recvcounts, const D* rdispls,
                                   const MPI_Datatype* recvtypes) {
    return prepare_neighbor_alltoallv(p, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls,
                                      recvtypes);
}

}  // namespace loom::mpi
