// Requests of ours in the program's hands. A handle is a generalized request of the MPI library, made in advance and
// never completed: the program's waits and tests on it come to us, so that starting and finishing a collective costs no
// call of MPI. A persistent handle is a receive from nobody.
#pragma once

#include <mpi.h>

#include <memory>
#include <optional>

#include "mpi/abi/flight.hpp"
#include "mpi/abi/library.hpp"

namespace loom::mpi {

struct Entry {
    enum class State : std::uint8_t {
        idle,       // in the pool; of a persistent one: not started
        active,     // started
        completed,  // finished, and the program does not know it yet
    };

    MPI_Request handle = MPI_REQUEST_NULL;
    State state = State::idle;
    Comm* comm = nullptr;
    coll::Request request;
    std::optional<coll::Persistent> persistent;
    std::unique_ptr<Baggage> baggage;
    bool calls_mpi = false;  // to reduce: not from a thread where MPI would mind

    // A duplication under way: MPI's own request, and the context on its way to all.
    struct Duplication {
        MPI_Request native = MPI_REQUEST_NULL;
        MPI_Comm made = MPI_COMM_NULL;  // both libraries tell the handle at once
        std::uint32_t context = 0;
        bool native_done = false;
    };
    std::unique_ptr<Duplication> duplication;
    int error = MPI_SUCCESS;
};

// From the pool, idle.
[[nodiscard]] Entry& take_entry();
[[nodiscard]] Entry& make_persistent_entry();
// Of one that is not started, or over.
void put_back(Entry& entry);
void drop_persistent(Entry& entry);
// Null: not ours.
[[nodiscard]] Entry* find_entry(MPI_Request handle);

// Before a start: packs what is sent. MPI must not be called from a thread of ours where it would mind.
void pack_up(Baggage& baggage);
// Of an entry whose request, persistent or duplication is set.
void activate(Entry& entry, Comm& comm);
// Whether it is finished; moves nothing forward but what it takes to know. Unpacks.
[[nodiscard]] bool completed(Entry& entry);
// The program has been told: the handle becomes MPI_REQUEST_NULL, or is inactive; the answer is MPI's code.
int deliver(Entry& entry, MPI_Request* handle, MPI_Status* status);
// The program does not want it any more; it goes on by itself.
void abandon(Entry& entry);
// Whether an active or completed request of ours is in it (idle persistent ones count as nothing).
[[nodiscard]] inline bool waits(const Entry& entry) {
    return entry.state != Entry::State::idle;
}

void open_requests();
// After everything: the pool's requests are completed and freed.
void close_requests();

void set_empty(MPI_Status* status);

}  // namespace loom::mpi
