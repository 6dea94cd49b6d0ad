// Messages between two ranks.
#include <algorithm>
#include <string>

#include "loom/base/table.hpp"
#include "twin_mpi/process.hpp"

namespace loom::twin_mpi {

using transport::Message;

namespace {

// A peer or MPI_PROC_NULL; of receives also MPI_ANY_SOURCE.
void check_peer(const Comm& comm, int peer, bool receives) {
    if (peer == MPI_PROC_NULL || (receives && peer == MPI_ANY_SOURCE)) return;
    if (peer < 0 || static_cast<std::uint32_t>(peer) >= comm.size())
        throw Failure(MPI_ERR_RANK, "rank " + std::to_string(peer) + " of a communicator with " +
                                        counted(comm.size(), "rank", "ranks"));
}

void check_tag(int tag, bool receives) {
    if (receives && tag == MPI_ANY_TAG) return;
    if (tag < 0 || static_cast<std::uint32_t>(tag) >= tags)
        throw Failure(MPI_ERR_TAG, "tag " + std::to_string(tag) + ": expected 0 to " + std::to_string(tags - 1));
}

twin::Wanted wanted(const Comm& comm, int source, int tag) {
    twin::Wanted result;
    result.tag = first_tag(comm);
    if (source != MPI_ANY_SOURCE) result.from = comm.group.world_rank(Rank{static_cast<std::uint32_t>(source)});
    if (tag == MPI_ANY_TAG)
        result.mask = ~std::uint64_t{tags - 1};
    else
        result.tag.value += static_cast<std::uint64_t>(tag);
    return result;
}

MPI_Status status_of(const Comm& comm, Rank from, transport::Tag tag, std::uint64_t bytes) {
    MPI_Status status = empty_status();
    status.MPI_SOURCE = comm.number_of(from);
    status.MPI_TAG = static_cast<int>(tag.value & (tags - 1));
    status.loom_bytes = static_cast<long long>(bytes);
    return status;
}

MPI_Status status_of_nobody() {
    MPI_Status status = empty_status();
    status.MPI_SOURCE = MPI_PROC_NULL;
    return status;
}

void message_finished(Message& message) {
    Request& request = *static_cast<Request*>(message.owner);
    request.under_way = false;
    if (!request.freed) return;
    settle(current(), request);
    current().release(request);
}

void start_send(Process& me, const Comm& comm, const Type& type, const MessageCall& call, Request& request) {
    const auto count = static_cast<std::uint64_t>(call.count);
    const std::byte* data = call.buffer;
    if (!type.is_plain()) {
        request.packed = std::make_unique_for_overwrite<std::byte[]>(count * type.moved);
        pack(type, call.buffer, count, request.packed.get());
        data = request.packed.get();
    }
    const Rank to = comm.group.world_rank(Rank{static_cast<std::uint32_t>(call.peer)});
    const transport::Tag tag{first_tag(comm).value + static_cast<std::uint64_t>(call.tag)};
    const std::span<const std::byte> all(data, count * type.moved);
    request.under_way = true;
    if (call.kind == MessageCall::Kind::synchronous_send ? me.matching.synchronous_send(to, tag, all, request.message)
                                                         : me.transport.send(to, tag, all, request.message))
        request.under_way = false;
}

void start_receive(Process& me, const Comm& comm, const Type& type, const MessageCall& call, Request& request) {
    const std::uint64_t room = static_cast<std::uint64_t>(call.count) * type.moved;
    std::byte* into = call.buffer;
    if (!type.is_plain()) {
        request.packed = std::make_unique_for_overwrite<std::byte[]>(room);
        request.type = type;
        into = request.packed.get();
    }
    request.under_way = true;
    if (me.matching.receive(wanted(comm, call.peer, call.tag), {into, room}, request.message))
        request.under_way = false;
}

[[noreturn]] void refuse_truncated(const Request& request, const MPI_Status& status) {
    throw Failure(MPI_ERR_TRUNCATE, "a message of " +
                                        counted(static_cast<std::uint64_t>(status.loom_bytes), "byte", "bytes") +
                                        " from rank " + std::to_string(status.MPI_SOURCE) + " with tag " +
                                        std::to_string(status.MPI_TAG) + " is longer than its receive of " +
                                        counted(static_cast<std::uint64_t>(request.call.count), "element", "elements"));
}

}  // namespace

void check(Process& me, const MessageCall& call) {
    const bool receives = call.kind == MessageCall::Kind::receive;
    require(call.count >= 0, MPI_ERR_COUNT, "the count is negative");
    check_peer(me.comm(call.comm), call.peer, receives);
    check_tag(call.tag, receives);
    const Type& type = me.type(call.type);
    require(call.buffer != nullptr || call.count == 0 || type.lower != 0 || type.moved == 0, MPI_ERR_BUFFER,
            "the buffer is null");
}

void start(Process& me, const MessageCall& call, Request& request) {
    check(me, call);
    const Comm& comm = me.comm(call.comm);
    const bool receives = call.kind == MessageCall::Kind::receive;
    const Type& type = me.type(call.type);
    request.call = call;
    request.comm = &comm;
    request.active = request.is_message = true;
    request.is_receive = receives;
    request.status = empty_status();
    request.message.finished = message_finished;
    request.message.owner = &request;
    request.message.outcome = Message::Outcome::done;
    if (call.peer == MPI_PROC_NULL) {
        request.status = status_of_nobody();
        request.under_way = false;
        return;
    }
    if (receives)
        start_receive(me, comm, type, call, request);
    else
        start_send(me, comm, type, call, request);
}

// Of Process::release's fields only what must not wait.
void settle(Process& me, Request& request) {
    request.active = false;
    if (!request.is_message) {
        request.operation.wait();
        if (request.baggage == nullptr) return;
        for (const Unpacking& each : request.baggage->unpackings)
            unpack(each.type, each.memory, each.packed, each.bytes);
        request.baggage.reset();
        return;
    }
    const Message& message = request.message;
    if (message.outcome == Message::Outcome::lost) throw transport::loss_of(message.peer, me.transport);
    if (!request.is_receive || request.call.peer == MPI_PROC_NULL) {
        request.packed.reset();
        return;
    }
    request.status = status_of(*request.comm, message.peer, message.tag, message.bytes);
    if (message.outcome == Message::Outcome::mismatched) refuse_truncated(request, request.status);
    if (!request.type) return;
    unpack(*request.type, request.call.buffer, request.packed.get(), message.bytes);
    request.packed.reset();
    request.type.reset();
}

namespace {

using Kind = MessageCall::Kind;

std::byte* bytes_of(const void* memory) {
    return static_cast<std::byte*>(const_cast<void*>(memory));
}

// Both at once.
void exchange(Process& me, const MessageCall& sends, const MessageCall& receives, MPI_Status* status) {
    check(me, sends);
    check(me, receives);
    Request receive, send;
    start(me, receives, receive);
    start(me, sends, send);
    me.wait_for(receive);
    me.wait_for(send);
    settle(me, send);
    settle(me, receive);
    if (status != MPI_STATUS_IGNORE) *status = receive.status;
}

void run_to_end(Process& me, const MessageCall& call, MPI_Status* status) {
    Request request;
    start(me, call, request);
    me.wait_for(request);
    settle(me, request);
    if (status != MPI_STATUS_IGNORE) *status = request.status;
}

int send(const char* function, Kind kind, const void* buffer, int count, MPI_Datatype type, int dest, int tag,
         MPI_Comm comm) {
    return guarded(function, comm, [&](Process& me) {
        run_to_end(me, {kind, bytes_of(buffer), count, type, dest, tag, comm}, MPI_STATUS_IGNORE);
    });
}

int begin(const char* function, const MessageCall& call, MPI_Request* handle) {
    return guarded(function, call.comm, [&](Process& me) {
        Request& request = me.new_request();
        try {
            start(me, call, request);
        } catch (const Failure&) {
            me.release(request);
            throw;
        }
        *handle = me.handle_of(request);
    });
}

int keep(const char* function, const MessageCall& call, MPI_Request* handle) {
    return guarded(function, call.comm, [&](Process& me) {
        (void)me.type(call.type);
        Request& request = me.new_request();
        request.call = call;
        request.persistent = request.is_message = true;
        request.comm = &me.comm(call.comm);
        request.under_way = false;
        request.status = empty_status();
        *handle = me.handle_of(request);
    });
}

std::optional<MPI_Status> look(const Process& me, const Comm& comm, int source, int tag) {
    const auto found = me.matching.find(wanted(comm, source, tag));
    if (!found) return {};
    return status_of(comm, found->from, found->tag, found->bytes);
}

}  // namespace
}  // namespace loom::twin_mpi

using namespace loom::twin_mpi;

int MPI_Send(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
    return send("MPI_Send", Kind::send, buffer, count, type, dest, tag, comm);
}

int MPI_Rsend(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
    return send("MPI_Rsend", Kind::send, buffer, count, type, dest, tag, comm);
}

int MPI_Ssend(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
    return send("MPI_Ssend", Kind::synchronous_send, buffer, count, type, dest, tag, comm);
}

int MPI_Isend(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
              MPI_Request* request) {
    return begin("MPI_Isend", {Kind::send, bytes_of(buffer), count, type, dest, tag, comm}, request);
}

int MPI_Irsend(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
               MPI_Request* request) {
    return begin("MPI_Irsend", {Kind::send, bytes_of(buffer), count, type, dest, tag, comm}, request);
}

int MPI_Issend(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
               MPI_Request* request) {
    return begin("MPI_Issend", {Kind::synchronous_send, bytes_of(buffer), count, type, dest, tag, comm}, request);
}

int MPI_Send_init(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                  MPI_Request* request) {
    return keep("MPI_Send_init", {Kind::send, bytes_of(buffer), count, type, dest, tag, comm}, request);
}

int MPI_Ssend_init(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                   MPI_Request* request) {
    return keep("MPI_Ssend_init", {Kind::synchronous_send, bytes_of(buffer), count, type, dest, tag, comm}, request);
}

int MPI_Recv(void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status* status) {
    return guarded("MPI_Recv", comm, [&](Process& me) {
        run_to_end(me, {Kind::receive, bytes_of(buffer), count, type, source, tag, comm}, status);
    });
}

int MPI_Irecv(void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request* request) {
    return begin("MPI_Irecv", {Kind::receive, bytes_of(buffer), count, type, source, tag, comm}, request);
}

int MPI_Recv_init(void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                  MPI_Request* request) {
    return keep("MPI_Recv_init", {Kind::receive, bytes_of(buffer), count, type, source, tag, comm}, request);
}

int MPI_Sendrecv(const void* sent, int sends, MPI_Datatype send_type, int dest, int send_tag, void* received,
                 int receives, MPI_Datatype receive_type, int source, int receive_tag, MPI_Comm comm,
                 MPI_Status* status) {
    return guarded("MPI_Sendrecv", comm, [&](Process& me) {
        exchange(me, {Kind::send, bytes_of(sent), sends, send_type, dest, send_tag, comm},
                 {Kind::receive, bytes_of(received), receives, receive_type, source, receive_tag, comm}, status);
    });
}

int MPI_Sendrecv_replace(void* buffer, int count, MPI_Datatype type, int dest, int send_tag, int source,
                         int receive_tag, MPI_Comm comm, MPI_Status* status) {
    return guarded("MPI_Sendrecv_replace", comm, [&](Process& me) {
        const Type& its = me.type(type);
        require(count >= 0, MPI_ERR_COUNT, "the count is negative");
        const std::uint64_t bytes = static_cast<std::uint64_t>(count) * its.moved;
        const auto copy = std::make_unique_for_overwrite<std::byte[]>(bytes);
        pack(its, bytes_of(buffer), static_cast<std::uint64_t>(count), copy.get());
        // Its bytes, as they lie there without gaps.
        require(bytes <= INT32_MAX, MPI_ERR_COUNT, "the buffer is too long");
        exchange(me, {Kind::send, copy.get(), static_cast<int>(bytes), MPI_BYTE, dest, send_tag, comm},
                 {Kind::receive, bytes_of(buffer), count, type, source, receive_tag, comm}, status);
    });
}

int MPI_Probe(int source, int tag, MPI_Comm handle, MPI_Status* status) {
    return guarded("MPI_Probe", handle, [&](Process& me) {
        const Comm& comm = me.comm(handle);
        check_peer(comm, source, true);
        check_tag(tag, true);
        std::optional<MPI_Status> found;
        if (source == MPI_PROC_NULL) found = status_of_nobody();
        // A look can take time, in which a message comes: so the rest begins right behind one that found none.
        while (!found) {
            const bool any = me.transport.progress();
            found = look(me, comm, source, tag);
            if (found || any) continue;
            if (const auto lost = me.transport.lost()) throw loom::transport::loss_of(*lost, me.transport);
            me.matching.rest_until_any();
        }
        if (status != MPI_STATUS_IGNORE) *status = *found;
    });
}

int MPI_Iprobe(int source, int tag, MPI_Comm handle, int* flag, MPI_Status* status) {
    return guarded("MPI_Iprobe", handle, [&](Process& me) {
        const Comm& comm = me.comm(handle);
        check_peer(comm, source, true);
        check_tag(tag, true);
        std::optional<MPI_Status> found;
        if (source == MPI_PROC_NULL)
            found = status_of_nobody();
        else if (!(found = look(me, comm, source, tag))) {
            (void)me.transport.progress();
            if (const auto lost = me.transport.lost()) throw loom::transport::loss_of(*lost, me.transport);
            found = look(me, comm, source, tag);
        }
        *flag = found ? 1 : 0;
        if (found && status != MPI_STATUS_IGNORE) *status = *found;
    });
}

int MPI_Get_count(const MPI_Status* status, MPI_Datatype handle, int* count) {
    return guarded("MPI_Get_count", MPI_COMM_WORLD, [&](Process& me) {
        const Type& type = me.type(handle);
        const auto moved = static_cast<long long>(type.moved);
        if (moved == 0)
            *count = status->loom_bytes == 0 ? 0 : MPI_UNDEFINED;
        else if (status->loom_bytes % moved != 0 || status->loom_bytes / moved > INT32_MAX)
            *count = MPI_UNDEFINED;
        else
            *count = static_cast<int>(status->loom_bytes / moved);
    });
}
