// Collectives, as calls of coll.
#include <algorithm>
#include <cstring>
#include <utility>

#include "loom/base/table.hpp"
#include "twin_mpi/process.hpp"

namespace loom::twin_mpi {

using coll::Collective;

namespace {

std::byte* bytes_of(const void* memory) {
    return static_cast<std::byte*>(const_cast<void*>(memory));
}

bool in_place(const void* sent) {
    return sent == MPI_IN_PLACE;
}

// Whether packed data is the program's at the end. Then what is there is packed too: not all of it may be written.
enum class Way : std::uint8_t { in, out };

struct Lists {
    std::vector<std::uint64_t> bytes, at;
    [[nodiscard]] coll::Blocks blocks() const { return {bytes, at}; }
};

// Blocks as MPI gives them: of each rank a count and a place, in elements of one type or in bytes with a type for each.
struct Given {
    const int* counts = nullptr;
    const int* at = nullptr;
    MPI_Datatype type = nullptr;
    const MPI_Datatype* types = nullptr;

    [[nodiscard]] MPI_Datatype type_of(std::size_t i) const { return types != nullptr ? types[i] : type; }
};

// One call of a collective, from MPI's arguments to coll's.
class Preparation {
public:
    Preparation(Process& process, const Comm& group) : me(process), comm(group) {}

    Process& me;
    const Comm& comm;
    coll::Call call;
    coll::Buffers buffers;
    Lists sent, received;
    const coll::Reduction* reduction = nullptr;
    std::unique_ptr<Baggage> baggage;

    void set_root(int root) {
        if (root < 0 || static_cast<std::uint32_t>(root) >= comm.size())
            throw Failure(MPI_ERR_ROOT,
                          "root " + std::to_string(root) + " of " + counted(comm.size(), "rank", "ranks"));
        call.root = Rank{static_cast<std::uint32_t>(root)};
    }
    [[nodiscard]] bool at_root() const { return comm.rank() == call.root.value; }

    // `count` elements that lie one behind the other. Answers their bytes.
    std::uint64_t input(const void* memory, std::int64_t count, MPI_Datatype handle) {
        const auto [where, bytes] = run(memory, count, handle, Way::in);
        buffers.input = where;
        return bytes;
    }
    std::uint64_t output(void* memory, std::int64_t count, MPI_Datatype handle) {
        const auto [where, bytes] = run(memory, count, handle, Way::out);
        buffers.output = where;
        return bytes;
    }
    void input_blocks(const void* memory, const Given& given) { buffers.input = blocks(memory, given, Way::in, sent); }
    void output_blocks(void* memory, const Given& given) { buffers.output = blocks(memory, given, Way::out, received); }
    static void one_block(Lists& lists, std::uint64_t bytes) {
        lists.bytes.assign(1, bytes);
        lists.at.assign(1, 0);
    }
    void combine(MPI_Op op, MPI_Datatype handle);

    void start(Request& request);

private:
    Baggage& bags() {
        if (baggage == nullptr) baggage = std::make_unique<Baggage>();
        return *baggage;
    }
    std::byte* new_memory(std::uint64_t bytes) {
        return bags().memory.emplace_back(std::make_unique_for_overwrite<std::byte[]>(bytes)).get();
    }
    std::pair<std::byte*, std::uint64_t> run(const void* memory, std::int64_t count, MPI_Datatype handle, Way way);
    std::byte* blocks(const void* memory, const Given& given, Way way, Lists& lists);
    void pack_block(const Type& type, std::byte* memory, std::uint64_t count, std::byte* packed, Way way);
};

void Preparation::pack_block(const Type& type, std::byte* memory, std::uint64_t count, std::byte* packed, Way way) {
    pack(type, memory, count, packed);
    if (way == Way::out) bags().unpackings.push_back({type, memory, packed, count * type.moved});
}

std::pair<std::byte*, std::uint64_t> Preparation::run(const void* memory, std::int64_t count, MPI_Datatype handle,
                                                      Way way) {
    const Type& type = me.type(handle);
    require(count >= 0, MPI_ERR_COUNT, "the count is negative");
    const std::uint64_t bytes = static_cast<std::uint64_t>(count) * type.moved;
    require(memory != MPI_IN_PLACE, MPI_ERR_BUFFER, "MPI_IN_PLACE has no place here");
    require(memory != nullptr || bytes == 0 || type.lower != 0, MPI_ERR_BUFFER, "the buffer is null");
    if (type.is_plain()) return {bytes_of(memory), bytes};
    std::byte* const packed = new_memory(bytes);
    pack_block(type, bytes_of(memory), static_cast<std::uint64_t>(count), packed, way);
    return {packed, bytes};
}

std::byte* Preparation::blocks(const void* memory, const Given& given, Way way, Lists& lists) {
    bool plain = true;
    std::uint64_t all = 0;
    lists.bytes.resize(comm.size());
    lists.at.resize(comm.size());
    for (std::size_t i = 0; i < comm.size(); ++i) {
        const Type& type = me.type(given.type_of(i));
        require(given.counts[i] >= 0, MPI_ERR_COUNT, "a count is negative");
        plain &= type.is_plain() && given.at[i] >= 0;
        lists.bytes[i] = static_cast<std::uint64_t>(given.counts[i]) * type.moved;
        const std::int64_t unit = given.types != nullptr ? 1 : type.extent;
        lists.at[i] = static_cast<std::uint64_t>(given.at[i] * unit);
        all += lists.bytes[i];
    }
    require(memory != MPI_IN_PLACE, MPI_ERR_BUFFER, "MPI_IN_PLACE has no place here");
    require(memory != nullptr || all == 0, MPI_ERR_BUFFER, "the buffer is null");
    if (plain) return bytes_of(memory);
    std::byte* const packed = new_memory(all);
    std::uint64_t at = 0;
    for (std::size_t i = 0; i < comm.size(); ++i) {
        pack_block(me.type(given.type_of(i)), bytes_of(memory) + static_cast<std::int64_t>(lists.at[i]),
                   static_cast<std::uint64_t>(given.counts[i]), packed + at, way);
        lists.at[i] = at;
        at += lists.bytes[i];
    }
    return packed;
}

void apply_of_program(const void* state, const std::byte* in, std::byte* inout, std::uint64_t count) {
    const auto& baggage = *static_cast<const Baggage*>(state);
    constexpr std::uint64_t most = INT32_MAX;
    while (count != 0) {
        int now = static_cast<int>(std::min(count, most));
        MPI_Datatype type = baggage.type;
        baggage.function(const_cast<std::byte*>(in), inout, &now, &type);
        in += static_cast<std::uint64_t>(now) * baggage.reduction.element;
        inout += static_cast<std::uint64_t>(now) * baggage.reduction.element;
        count -= static_cast<std::uint64_t>(now);
    }
}

void Preparation::combine(MPI_Op op, MPI_Datatype handle) {
    const Operation operation = me.operation(op);
    const Type& type = me.type(handle);
    if (operation.arithmetic) {
        reduction = mpi::kernel(*operation.arithmetic, type.scalar);
        require(reduction != nullptr, MPI_ERR_OP, "the operation is not defined for the datatype");
    } else {
        require(type.is_plain(), MPI_ERR_TYPE, "a reduction of datatypes with gaps is not there");
        Baggage& bag = bags();
        bag.function = operation.function;
        bag.type = handle;
        bag.reduction = {apply_of_program, &bag, static_cast<std::uint32_t>(type.moved), operation.commutative};
        reduction = &bag.reduction;
    }
    call.element = reduction->element;
    call.commutative = reduction->commutative;
}

void Preparation::start(Request& request) {
    call.sent = sent.blocks();
    call.received = received.blocks();
    request.active = true;
    request.is_message = request.is_receive = request.persistent = request.freed = false;
    request.comm = nullptr;
    request.status = empty_status();
    request.operation = comm.group.start(call, buffers, reduction);
    request.baggage = std::move(baggage);
}

// ---- MPI's arguments, operation by operation

struct Side {
    const void* memory;
    int count;
    MPI_Datatype type;
};

void broadcast(Preparation& p, void* buffer, int count, MPI_Datatype type, int root) {
    p.call.what = Collective::broadcast;
    p.set_root(root);
    p.call.bytes = p.output(buffer, count, type);
}

void gather(Preparation& p, const Side& sent, void* received, int receives, MPI_Datatype type, int root) {
    p.call.what = Collective::gather;
    p.set_root(root);
    p.call.in_place = p.at_root() && in_place(sent.memory);
    if (p.at_root()) p.call.bytes = p.output(received, std::int64_t{receives} * p.comm.size(), type) / p.comm.size();
    if (!p.call.in_place) p.call.bytes = p.input(sent.memory, sent.count, sent.type);
}

void gatherv(Preparation& p, const Side& sent, void* received, const Given& given, int root) {
    p.call.what = Collective::gatherv;
    p.set_root(root);
    p.call.in_place = p.at_root() && in_place(sent.memory);
    if (p.at_root()) p.output_blocks(received, given);
    p.one_block(p.sent,
                p.call.in_place ? p.received.bytes[p.comm.rank()] : p.input(sent.memory, sent.count, sent.type));
}

void scatter(Preparation& p, const Side& sent, void* received, int receives, MPI_Datatype type, int root) {
    p.call.what = Collective::scatter;
    p.set_root(root);
    p.call.in_place = p.at_root() && in_place(received);
    if (p.at_root())
        p.call.bytes = p.input(sent.memory, std::int64_t{sent.count} * p.comm.size(), sent.type) / p.comm.size();
    if (!p.call.in_place) p.call.bytes = p.output(received, receives, type);
}

void scatterv(Preparation& p, const void* sent, const Given& given, void* received, int receives, MPI_Datatype type,
              int root) {
    p.call.what = Collective::scatterv;
    p.set_root(root);
    p.call.in_place = p.at_root() && in_place(received);
    if (p.at_root()) p.input_blocks(sent, given);
    p.one_block(p.received, p.call.in_place ? p.sent.bytes[p.comm.rank()] : p.output(received, receives, type));
}

void allgather(Preparation& p, const Side& sent, void* received, int receives, MPI_Datatype type) {
    p.call.what = Collective::allgather;
    p.call.in_place = in_place(sent.memory);
    p.call.bytes = p.output(received, std::int64_t{receives} * p.comm.size(), type) / p.comm.size();
    if (!p.call.in_place) (void)p.input(sent.memory, sent.count, sent.type);
}

void allgatherv(Preparation& p, const Side& sent, void* received, const Given& given) {
    p.call.what = Collective::allgatherv;
    p.call.in_place = in_place(sent.memory);
    p.output_blocks(received, given);
    if (!p.call.in_place) (void)p.input(sent.memory, sent.count, sent.type);
}

void alltoall(Preparation& p, const Side& sent, void* received, int receives, MPI_Datatype type) {
    p.call.what = Collective::alltoall;
    p.call.in_place = in_place(sent.memory);
    p.call.bytes = p.output(received, std::int64_t{receives} * p.comm.size(), type) / p.comm.size();
    if (!p.call.in_place) (void)p.input(sent.memory, std::int64_t{sent.count} * p.comm.size(), sent.type);
}

void alltoallv(Preparation& p, const void* sent, const Given& given, void* received, const Given& gets) {
    p.call.what = Collective::alltoallv;
    p.call.in_place = in_place(sent);
    p.output_blocks(received, gets);
    if (!p.call.in_place) p.input_blocks(sent, given);
}

void reduce_blocks(Preparation& p, Collective what, const void* sent, void* received, int count, MPI_Datatype type,
                   MPI_Op op, bool gets) {
    p.call.what = what;
    p.combine(op, type);
    p.call.in_place = in_place(sent);
    require(!p.call.in_place || gets, MPI_ERR_BUFFER, "MPI_IN_PLACE has no place here");
    const std::int64_t ranks = what == Collective::reduce_scatter_block ? p.comm.size() : 1;
    if (gets)
        p.call.bytes = p.output(received, p.call.in_place ? count * ranks : count, type) /
                       static_cast<std::uint64_t>(p.call.in_place ? ranks : 1);
    if (!p.call.in_place) p.call.bytes = p.input(sent, count * ranks, type) / static_cast<std::uint64_t>(ranks);
}

void reduce(Preparation& p, const void* sent, void* received, int count, MPI_Datatype type, MPI_Op op, int root) {
    p.set_root(root);
    reduce_blocks(p, Collective::reduce, sent, received, count, type, op, p.at_root());
}

void reduce_scatter(Preparation& p, const void* sent, void* received, const int* counts, MPI_Datatype type, MPI_Op op) {
    p.call.what = Collective::reduce_scatter;
    p.combine(op, type);
    p.call.in_place = in_place(sent);
    std::int64_t all = 0;
    for (std::uint32_t i = 0; i < p.comm.size(); ++i) {
        require(counts[i] >= 0, MPI_ERR_COUNT, "a count is negative");
        p.received.bytes.push_back(static_cast<std::uint64_t>(counts[i]) * p.call.element);
        p.received.at.push_back(static_cast<std::uint64_t>(all) * p.call.element);
        all += counts[i];
    }
    (void)p.output(received, p.call.in_place ? all : counts[p.comm.rank()], type);
    if (!p.call.in_place) (void)p.input(sent, all, type);
}

// ---- blocking and non-blocking

template <class Prepare>
int block(const char* function, MPI_Comm handle, Prepare&& prepare) {
    return guarded(function, handle, [&](Process& me) {
        Preparation preparation(me, me.comm(handle));
        prepare(preparation);
        Request request;
        preparation.start(request);
        try {
            me.wait_for(request);
        } catch (...) {
            request.operation.detach();
            throw;
        }
        settle(me, request);
    });
}

template <class Prepare>
int begin(const char* function, MPI_Comm handle, MPI_Request* made, Prepare&& prepare) {
    return guarded(function, handle, [&](Process& me) {
        Preparation preparation(me, me.comm(handle));
        prepare(preparation);
        Request& request = me.new_request();
        try {
            preparation.start(request);
        } catch (const UsageError&) {
            me.release(request);
            throw;
        }
        *made = me.handle_of(request);
    });
}

}  // namespace
}  // namespace loom::twin_mpi

using namespace loom::twin_mpi;

int MPI_Barrier(MPI_Comm comm) {
    return block("MPI_Barrier", comm, [&](Preparation& p) { p.call.what = Collective::barrier; });
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
    return begin("MPI_Ibarrier", comm, request, [&](Preparation& p) { p.call.what = Collective::barrier; });
}

int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    return block("MPI_Bcast", comm, [&](Preparation& p) { broadcast(p, buffer, count, type, root); });
}

int MPI_Ibcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request) {
    return begin("MPI_Ibcast", comm, request, [&](Preparation& p) { broadcast(p, buffer, count, type, root); });
}

int MPI_Gather(const void* sent, int sends, MPI_Datatype send_type, void* received, int receives,
               MPI_Datatype receive_type, int root, MPI_Comm comm) {
    return block("MPI_Gather", comm, [&](Preparation& p) {
        gather(p, {sent, sends, send_type}, received, receives, receive_type, root);
    });
}

int MPI_Igather(const void* sent, int sends, MPI_Datatype send_type, void* received, int receives,
                MPI_Datatype receive_type, int root, MPI_Comm comm, MPI_Request* request) {
    return begin("MPI_Igather", comm, request, [&](Preparation& p) {
        gather(p, {sent, sends, send_type}, received, receives, receive_type, root);
    });
}

int MPI_Gatherv(const void* sent, int sends, MPI_Datatype send_type, void* received, const int* receives,
                const int* receive_at, MPI_Datatype receive_type, int root, MPI_Comm comm) {
    return block("MPI_Gatherv", comm, [&](Preparation& p) {
        gatherv(p, {sent, sends, send_type}, received, {receives, receive_at, receive_type, nullptr}, root);
    });
}

int MPI_Igatherv(const void* sent, int sends, MPI_Datatype send_type, void* received, const int* receives,
                 const int* receive_at, MPI_Datatype receive_type, int root, MPI_Comm comm, MPI_Request* request) {
    return begin("MPI_Igatherv", comm, request, [&](Preparation& p) {
        gatherv(p, {sent, sends, send_type}, received, {receives, receive_at, receive_type, nullptr}, root);
    });
}

int MPI_Scatter(const void* sent, int sends, MPI_Datatype send_type, void* received, int receives,
                MPI_Datatype receive_type, int root, MPI_Comm comm) {
    return block("MPI_Scatter", comm, [&](Preparation& p) {
        scatter(p, {sent, sends, send_type}, received, receives, receive_type, root);
    });
}

int MPI_Iscatter(const void* sent, int sends, MPI_Datatype send_type, void* received, int receives,
                 MPI_Datatype receive_type, int root, MPI_Comm comm, MPI_Request* request) {
    return begin("MPI_Iscatter", comm, request, [&](Preparation& p) {
        scatter(p, {sent, sends, send_type}, received, receives, receive_type, root);
    });
}

int MPI_Scatterv(const void* sent, const int* sends, const int* send_at, MPI_Datatype send_type, void* received,
                 int receives, MPI_Datatype receive_type, int root, MPI_Comm comm) {
    return block("MPI_Scatterv", comm, [&](Preparation& p) {
        scatterv(p, sent, {sends, send_at, send_type, nullptr}, received, receives, receive_type, root);
    });
}

int MPI_Iscatterv(const void* sent, const int* sends, const int* send_at, MPI_Datatype send_type, void* received,
                  int receives, MPI_Datatype receive_type, int root, MPI_Comm comm, MPI_Request* request) {
    return begin("MPI_Iscatterv", comm, request, [&](Preparation& p) {
        scatterv(p, sent, {sends, send_at, send_type, nullptr}, received, receives, receive_type, root);
    });
}

int MPI_Allgather(const void* sent, int sends, MPI_Datatype send_type, void* received, int receives,
                  MPI_Datatype receive_type, MPI_Comm comm) {
    return block("MPI_Allgather", comm, [&](Preparation& p) {
        allgather(p, {sent, sends, send_type}, received, receives, receive_type);
    });
}

int MPI_Iallgather(const void* sent, int sends, MPI_Datatype send_type, void* received, int receives,
                   MPI_Datatype receive_type, MPI_Comm comm, MPI_Request* request) {
    return begin("MPI_Iallgather", comm, request, [&](Preparation& p) {
        allgather(p, {sent, sends, send_type}, received, receives, receive_type);
    });
}

int MPI_Allgatherv(const void* sent, int sends, MPI_Datatype send_type, void* received, const int* receives,
                   const int* receive_at, MPI_Datatype receive_type, MPI_Comm comm) {
    return block("MPI_Allgatherv", comm, [&](Preparation& p) {
        allgatherv(p, {sent, sends, send_type}, received, {receives, receive_at, receive_type, nullptr});
    });
}

int MPI_Iallgatherv(const void* sent, int sends, MPI_Datatype send_type, void* received, const int* receives,
                    const int* receive_at, MPI_Datatype receive_type, MPI_Comm comm, MPI_Request* request) {
    return begin("MPI_Iallgatherv", comm, request, [&](Preparation& p) {
        allgatherv(p, {sent, sends, send_type}, received, {receives, receive_at, receive_type, nullptr});
    });
}

int MPI_Alltoall(const void* sent, int sends, MPI_Datatype send_type, void* received, int receives,
                 MPI_Datatype receive_type, MPI_Comm comm) {
    return block("MPI_Alltoall", comm, [&](Preparation& p) {
        alltoall(p, {sent, sends, send_type}, received, receives, receive_type);
    });
}

int MPI_Ialltoall(const void* sent, int sends, MPI_Datatype send_type, void* received, int receives,
                  MPI_Datatype receive_type, MPI_Comm comm, MPI_Request* request) {
    return begin("MPI_Ialltoall", comm, request, [&](Preparation& p) {
        alltoall(p, {sent, sends, send_type}, received, receives, receive_type);
    });
}

int MPI_Alltoallv(const void* sent, const int* sends, const int* send_at, MPI_Datatype send_type, void* received,
                  const int* receives, const int* receive_at, MPI_Datatype receive_type, MPI_Comm comm) {
    return block("MPI_Alltoallv", comm, [&](Preparation& p) {
        alltoallv(p, sent, {sends, send_at, send_type, nullptr}, received,
                  {receives, receive_at, receive_type, nullptr});
    });
}

int MPI_Ialltoallv(const void* sent, const int* sends, const int* send_at, MPI_Datatype send_type, void* received,
                   const int* receives, const int* receive_at, MPI_Datatype receive_type, MPI_Comm comm,
                   MPI_Request* request) {
    return begin("MPI_Ialltoallv", comm, request, [&](Preparation& p) {
        alltoallv(p, sent, {sends, send_at, send_type, nullptr}, received,
                  {receives, receive_at, receive_type, nullptr});
    });
}

int MPI_Alltoallw(const void* sent, const int* sends, const int* send_at, const MPI_Datatype* send_types,
                  void* received, const int* receives, const int* receive_at, const MPI_Datatype* receive_types,
                  MPI_Comm comm) {
    return block("MPI_Alltoallw", comm, [&](Preparation& p) {
        alltoallv(p, sent, {sends, send_at, nullptr, send_types}, received,
                  {receives, receive_at, nullptr, receive_types});
    });
}

int MPI_Ialltoallw(const void* sent, const int* sends, const int* send_at, const MPI_Datatype* send_types,
                   void* received, const int* receives, const int* receive_at, const MPI_Datatype* receive_types,
                   MPI_Comm comm, MPI_Request* request) {
    return begin("MPI_Ialltoallw", comm, request, [&](Preparation& p) {
        alltoallv(p, sent, {sends, send_at, nullptr, send_types}, received,
                  {receives, receive_at, nullptr, receive_types});
    });
}

int MPI_Reduce(const void* sent, void* received, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
    return block("MPI_Reduce", comm, [&](Preparation& p) { reduce(p, sent, received, count, type, op, root); });
}

int MPI_Ireduce(const void* sent, void* received, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm,
                MPI_Request* request) {
    return begin("MPI_Ireduce", comm, request,
                 [&](Preparation& p) { reduce(p, sent, received, count, type, op, root); });
}

int MPI_Allreduce(const void* sent, void* received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    return block("MPI_Allreduce", comm, [&](Preparation& p) {
        reduce_blocks(p, Collective::allreduce, sent, received, count, type, op, true);
    });
}

int MPI_Iallreduce(const void* sent, void* received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request* request) {
    return begin("MPI_Iallreduce", comm, request, [&](Preparation& p) {
        reduce_blocks(p, Collective::allreduce, sent, received, count, type, op, true);
    });
}

int MPI_Reduce_scatter(const void* sent, void* received, const int* counts, MPI_Datatype type, MPI_Op op,
                       MPI_Comm comm) {
    return block("MPI_Reduce_scatter", comm,
                 [&](Preparation& p) { reduce_scatter(p, sent, received, counts, type, op); });
}

int MPI_Ireduce_scatter(const void* sent, void* received, const int* counts, MPI_Datatype type, MPI_Op op,
                        MPI_Comm comm, MPI_Request* request) {
    return begin("MPI_Ireduce_scatter", comm, request,
                 [&](Preparation& p) { reduce_scatter(p, sent, received, counts, type, op); });
}

int MPI_Reduce_scatter_block(const void* sent, void* received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    return block("MPI_Reduce_scatter_block", comm, [&](Preparation& p) {
        reduce_blocks(p, Collective::reduce_scatter_block, sent, received, count, type, op, true);
    });
}

int MPI_Ireduce_scatter_block(const void* sent, void* received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                              MPI_Request* request) {
    return begin("MPI_Ireduce_scatter_block", comm, request, [&](Preparation& p) {
        reduce_blocks(p, Collective::reduce_scatter_block, sent, received, count, type, op, true);
    });
}

int MPI_Scan(const void* sent, void* received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    return block("MPI_Scan", comm,
                 [&](Preparation& p) { reduce_blocks(p, Collective::scan, sent, received, count, type, op, true); });
}

int MPI_Iscan(const void* sent, void* received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
              MPI_Request* request) {
    return begin("MPI_Iscan", comm, request,
                 [&](Preparation& p) { reduce_blocks(p, Collective::scan, sent, received, count, type, op, true); });
}

int MPI_Exscan(const void* sent, void* received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    return block("MPI_Exscan", comm,
                 [&](Preparation& p) { reduce_blocks(p, Collective::exscan, sent, received, count, type, op, true); });
}

int MPI_Iexscan(const void* sent, void* received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                MPI_Request* request) {
    return begin("MPI_Iexscan", comm, request,
                 [&](Preparation& p) { reduce_blocks(p, Collective::exscan, sent, received, count, type, op, true); });
}
