// What one rank's MPI knows: communicators, datatypes, operations and requests by their handles.
#pragma once

#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loom/base/error.hpp"
#include "loom/coll/communicator.hpp"
#include "loom/coll/world.hpp"
#include "loom/transport/message.hpp"
#include "loom/twin/matching.hpp"
#include "loom/twin_mpi/mpi.h"
#include "twin_mpi/datatypes.hpp"

namespace loom::twin_mpi {

// A call that MPI calls erroneous.
class Failure : public Error {
public:
    Failure(int given, const std::string& why) : Error(why), code(given) {}
    int code;
};

// The program called MPI_Abort. Not for programs to catch.
struct Aborted : Error {
    Aborted(Rank who, int given)
        : Error("rank " + std::to_string(who.value) + ": MPI_Abort with code " + std::to_string(given)), code(given) {}
    int code;
};

// What the program is left with by exit(): as there, none of its destructors runs.
struct Exit {
    std::jmp_buf to;
    int code = 0;
    bool job_stopped = false;
};

struct Comm {
    explicit Comm(coll::Communicator given, std::uint32_t number) : group(std::move(given)), context(number) {}

    coll::Communicator group;
    std::uint32_t context;  // of its messages
    bool returns_errors = false;
    bool is_world_like = false;  // its ranks have the numbers that the transport has for them
    std::optional<coll::Grid> grid;

    [[nodiscard]] std::uint32_t size() const { return group.size(); }
    [[nodiscard]] std::uint32_t rank() const { return group.rank().value; }
    // Of a rank of the transport that is a member.
    [[nodiscard]] int number_of(Rank world) const;
};

struct Operation {
    std::optional<mpi::Arithmetic> arithmetic;  // nothing: the program's
    MPI_User_function* function = nullptr;
    bool commutative = true;
};

// The blocks of packed data that are the program's again when an operation is over.
struct Unpacking {
    Type type;  // a copy: the program may free it meanwhile
    std::byte* memory = nullptr;
    const std::byte* packed = nullptr;
    std::uint64_t bytes = 0;
};

// What a collective keeps beside its buffers until it is over.
struct Baggage {
    std::vector<std::unique_ptr<std::byte[]>> memory;
    std::vector<Unpacking> unpackings;
    MPI_User_function* function = nullptr;
    MPI_Datatype type = nullptr;
    coll::Reduction reduction;
};

// The arguments of a message.
struct MessageCall {
    enum class Kind : std::uint8_t { send, synchronous_send, receive };
    Kind kind = Kind::send;
    std::byte* buffer = nullptr;
    int count = 0;
    MPI_Datatype type = nullptr;
    int peer = 0;
    int tag = 0;
    MPI_Comm comm = nullptr;
};

struct Request {
    transport::Message message;
    coll::Request operation;
    std::unique_ptr<Baggage> baggage;
    std::unique_ptr<std::byte[]> packed;  // of a message whose type has gaps
    std::optional<Type> type;             // of that receive
    MessageCall call;
    const Comm* comm = nullptr;  // of a message
    MPI_Status status{};
    bool active = false;
    bool is_message = false;
    bool is_receive = false;
    bool under_way = false;  // the message
    bool persistent = false;
    bool freed = false;  // goes with its end
    std::uint32_t number = 0;

    [[nodiscard]] bool finished() const { return is_message ? !under_way : operation.finished(); }
};

class Process {
public:
    explicit Process(transport::Transport& transport);
    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    enum class Phase : std::uint8_t { before, active, after };
    Phase phase = Phase::before;
    transport::Transport& transport;
    twin::Matching& matching;
    std::unique_ptr<coll::World> world;
    Exit exit{};
    std::uint32_t next_context = coll::Communicator::first_context;

    void initialise();
    void finalise();
    [[nodiscard]] std::uint32_t rank() const { return transport.rank().value; }

    // Throw Failure for what is no such handle.
    [[nodiscard]] Comm& comm(MPI_Comm handle);
    [[nodiscard]] const Type& type(MPI_Datatype handle, bool committed = true);
    void commit(MPI_Datatype handle);
    [[nodiscard]] Operation operation(MPI_Op handle) const;
    [[nodiscard]] Request& request(MPI_Request handle);

    [[nodiscard]] MPI_Comm add(std::unique_ptr<Comm> comm);
    [[nodiscard]] MPI_Datatype add(Type type);
    [[nodiscard]] MPI_Op add(const Operation& operation);
    void remove(MPI_Comm handle);
    void remove(MPI_Datatype handle);
    void remove(MPI_Op handle);

    [[nodiscard]] Request& new_request();
    [[nodiscard]] MPI_Request handle_of(const Request& request) const;
    void release(Request& request);

    // Looks, and rests when there is nothing. Throws transport::RankLost once a rank is lost.
    void wait_for(const Request& request);
    void look_or_rest(bool for_any);

private:
    std::vector<std::unique_ptr<Comm>> comms_;
    std::vector<std::unique_ptr<Comm>> freed_comms_;  // that requests still need
    std::vector<std::unique_ptr<Type>> types_;
    std::vector<std::optional<Operation>> operations_;
    std::vector<std::unique_ptr<Request>> requests_;
    std::vector<std::uint32_t> free_requests_;
};

// The one that runs. Throws Error outside of a run.
[[nodiscard]] Process& current();

// Where errors of functions without a communicator go: to that of MPI_COMM_WORLD.
int failed(const char* function, MPI_Comm comm, const Failure& failure);

// The body of an MPI function: answers MPI_SUCCESS or, where the communicator's errors are returned, their code.
template <class Body>
int guarded(const char* function, MPI_Comm comm, Body&& body) {
    try {
        Process& me = current();
        if (me.phase != Process::Phase::active)
            throw Failure(MPI_ERR_OTHER,
                          me.phase == Process::Phase::before ? "called before MPI_Init" : "called after MPI_Finalize");
        body(me);
        return MPI_SUCCESS;
    } catch (const Failure& failure) {
        return failed(function, comm, failure);
    } catch (const UsageError& error) {
        return failed(function, comm, Failure(MPI_ERR_ARG, error.what()));
    }
}

inline void require(bool holds, int code, const char* why) {
    if (!holds) throw Failure(code, why);
}

// messages.cpp and collectives.cpp
// Throws Failure for arguments that cannot be.
void check(Process& me, const MessageCall& call);
void start(Process& me, const MessageCall& call, Request& request);
// It is finished: data and status are the program's. Throws what it failed with; it is inactive then.
void settle(Process& me, Request& request);

// Does nothing: who calls it links clocks.cpp.
void clock_function();

inline constexpr std::uint32_t tags = 1u << 24;
[[nodiscard]] transport::Tag first_tag(const Comm& comm);
MPI_Status empty_status();

}  // namespace loom::twin_mpi
