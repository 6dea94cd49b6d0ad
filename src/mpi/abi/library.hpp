// The one state of libloom-mpi-openmpi.so or libloom-mpi-mpich.so: the world of ranks, what is known of communicators,
// and the account.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "loom/coll/algorithm.hpp"
#include "loom/coll/between.hpp"
#include "loom/coll/world.hpp"
#include "loom/mpi/account.hpp"
#include "loom/transport/waiting.hpp"
#include "mpi/handles.hpp"

namespace loom::mpi {

// Open MPI's handles are pointers, MPICH's are numbers.
template <class Handle>
[[nodiscard]] std::uint64_t key_of(Handle handle) {
    if constexpr (std::is_pointer_v<Handle>)
        return reinterpret_cast<std::uintptr_t>(handle);
    else
        return static_cast<std::uint32_t>(handle);
}

// Neighbours in MPI's order, no_rank for MPI_PROC_NULL.
struct Topology {
    std::vector<coll::Neighbours> by_rank;
    std::optional<coll::Grid> grid;
    bool someone_alone = false;  // a rank that is nobody's neighbour: what it says of sizes means nothing
};

// What MPI told us in a callback is gone. With several threads in MPI such a callback must not wait for our lock: MPI
// calls it with locks of its own held, which whoever has ours may be waiting for. So it leaves a note.
template <class Value>
class Departures {
public:
    void note(std::uint64_t key, Value* value) {
        const std::lock_guard hold(lock_);
        notes_.emplace_back(key, value);
        any_.store(true, std::memory_order_release);
    }
    [[nodiscard]] bool any() const { return any_.load(std::memory_order_acquire); }
    [[nodiscard]] std::vector<std::pair<std::uint64_t, Value*>> take() {
        const std::lock_guard hold(lock_);
        any_.store(false, std::memory_order_relaxed);
        return std::exchange(notes_, {});
    }

private:
    std::mutex lock_;
    std::vector<std::pair<std::uint64_t, Value*>> notes_;
    std::atomic<bool> any_{false};
};

// Which algorithms nbc.h's info keys ask for; null: any.
struct AskedAlgorithms {
    const coll::Algorithm* broadcast = nullptr;
    const coll::Algorithm* allreduce = nullptr;
};

// What is kept of a communicator of MPI.
struct Comm {
    MPI_Comm handle = MPI_COMM_NULL;
    std::optional<Reason> handed_back;        // nothing of it can be taken over
    std::optional<coll::Communicator> group;  // of an intercommunicator: both groups
    std::uint32_t rank = 0, size = 0, context = 0;
    std::uint32_t peers = 0;                // with whom data is exchanged: `size`, or the other group's
    std::optional<coll::TwoGroups> groups;  // of an intercommunicator
    std::unique_ptr<Topology> topology;
    std::uint32_t pending = 0;  // operations started and not finished
    bool freed = false;
    std::unique_ptr<AskedAlgorithms> asked;  // by nbc.h
    coll::Request farewell;                  // after the last operation: when everyone came, the context is free
};

struct Library {
    bool opened = false;  // MPI_Init was seen, MPI_Finalize not yet
    bool blocking = false;
    std::string remark = "MPI_Init was not seen";  // why there is no world
    std::unique_ptr<transport::Bootstrap> bootstrap;
    std::unique_ptr<transport::Transport> transport;
    std::unique_ptr<coll::World> world;
    transport::Waiting waiting = transport::Waiting::yield;
    MPI_Comm silent = MPI_COMM_NULL;  // all ranks, the bootstrap's own: no messages are sent on it

    bool threads = false;  // MPI_THREAD_MULTIPLE: everything of ours is behind the lock
    std::recursive_mutex lock;
    coll::Progress progress = coll::Progress::manual;  // as the user wants it
    std::uint32_t foreign = 0;                         // pending operations that call MPI to reduce
    std::uint32_t deputies = 0;                        // calls of MPI during which a thread looks after ours

    Handles<Comm> comms;
    MPI_Comm last_handle = MPI_COMM_NULL;
    Comm* last_comm = nullptr;
    MPI_Group everyone = MPI_GROUP_NULL;         // of MPI_COMM_WORLD
    std::vector<std::unique_ptr<Comm>> leaving;  // freed, their farewell pending
    Departures<Comm> departed;
    std::uint64_t gone = 0;  // how many communicators and datatypes were freed: their handles may mean others now
    int comm_keyval = MPI_KEYVAL_INVALID;
    std::uint32_t context_first = 0, context_share = 0, context_next = 0;
    std::vector<bool> context_used;

    std::uint32_t active = 0;  // requests started by the program and not finished
    MPI_Status empty_status{};
    Account account;
};

// `remark` at the end.
inline constexpr const char* after_finalize = "MPI_Finalize was called";

// Made when we are loaded and never destroyed: MPI may be finalised after static objects are gone.
extern Library* const the_library;
[[nodiscard]] inline Library& library() {
    return *the_library;
}

// Taken around everything of ours when the program has several threads in MPI.
class Guard {
public:
    Guard() : locked_(library().threads) {
        if (locked_) library().lock.lock();
    }
    ~Guard() {
        if (locked_) library().lock.unlock();
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

private:
    bool locked_;
};

// communicators.cpp. Null: never seen.
[[nodiscard]] Comm* find_comm(MPI_Comm handle);

// Made by all ranks of a communicator that others are about to be made of: each offers a context for those of which it
// will be the first rank, and knows the others' offers afterwards. So whoever is made needs no word on contexts, and
// everyone is in the constructor: pending operations of ours went on while they were waited for.
class Offers {
public:
    explicit Offers(MPI_Comm parent);
    ~Offers();
    Offers(const Offers&) = delete;
    Offers& operator=(const Offers&) = delete;

    // False: `parent` is not one of ours, and nobody was waited for.
    [[nodiscard]] bool made() const { return !all_.empty(); }
    // What `first`, a rank of the world, has offered; its own is used from now on.
    [[nodiscard]] std::uint32_t accept(Rank first);

private:
    std::optional<coll::Communicator> group_;
    std::vector<std::uint32_t> all_;
    std::uint32_t mine_ = 0;
};

// After a constructor, by every rank of the new communicator. Without offers (or where those of the other group are
// not known) the ranks agree through MPI. MPI_COMM_NULL is fine.
void adopt(MPI_Comm handle, Offers* offers = nullptr);
// With a context that was agreed on already; a copy of `parent`.
void adopt_copy(MPI_Comm handle, const Comm& parent, std::uint32_t context);
// One of this rank's share; 0 when there is none left. Only the first rank of a new communicator needs it.
[[nodiscard]] std::uint32_t take_context();
// The communicator is about to be freed: from MPI's callback.
void forget(MPI_Comm handle, Comm* comm);
void operation_ended(Comm& comm);
// Those that left and whose farewell is over.
void bury();
[[nodiscard]] std::unique_ptr<Topology> read_topology(MPI_Comm handle, std::uint32_t size);

// owed.cpp. From MPI_Init on; and once rank 0 gives the account, so that nobody needs to say why there is none.
void expect_account();
void account_given();

// open.cpp: what an exception of ours becomes in MPI's words; prints it.
int report_failure(MPI_Comm comm, const std::exception& error);

// Moves Loomband's operations forward; false when nothing happened.
bool advance();

// Moves messages of the MPI library's own forward.
void look_at_mpi();

// What to do between two fruitless looks at Loomband: now and then MPI's turn, then the core for others.
class Pace {
public:
    void idle();

private:
    std::uint32_t looks_ = 0;
    transport::Pauses pauses_{library().waiting};
};

// Until `done()`: Loomband's progress and, through `done` or the pace, MPI's.
template <class Done>
void until(Done&& done) {
    Pace pace;
    while (!done())
        if (!advance()) pace.idle();
}

// Waits for a request of the MPI library's own, our operations going on meanwhile.
int wait_native(MPI_Request* request, MPI_Status* status);

// Whether a blocking call of MPI must look after operations of ours.
[[nodiscard]] inline bool busy() {
    const Library& all = library();
    const Guard guard;
    return all.active != 0 && all.world != nullptr && all.world->pending() != 0;
}

// While it lives a thread looks after pending operations: for calls that only MPI can wait in.
class Deputy {
public:
    Deputy();
    ~Deputy();
    Deputy(const Deputy&) = delete;
    Deputy& operator=(const Deputy&) = delete;

private:
    bool working_ = false;
};

}  // namespace loom::mpi
