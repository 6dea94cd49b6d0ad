// Scenarios of what is given up or freed while others still need it: requests, communicators, contexts.
#include <chrono>
#include <thread>

#include "mpi/workout/case.hpp"

namespace loom::workout {

namespace {

// `number` at once, on this rank alone: more than Loomband has requests ready for make it look at those given up.
void many_at_once(std::size_t number) {
    std::vector<MPI_Request> requests(number, MPI_REQUEST_NULL);
    for (MPI_Request& request : requests) MPI_Ibarrier(MPI_COMM_SELF, &request);
    MPI_Waitall(static_cast<int>(number), requests.data(), MPI_STATUSES_IGNORE);
}

// Until it comes here, too. Those who wait inside MPI take turns with it.
void leave_the_cores_to_rank_0() {
    int word = 0, there = 0;
    if (rank_in(MPI_COMM_WORLD) == 0) {
        for (int to = 1; to < size_of(MPI_COMM_WORLD); ++to) MPI_Send(&word, 1, MPI_INT, to, 34, MPI_COMM_WORLD);
        return;
    }
    while (true) {
        MPI_Iprobe(0, 34, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
        if (there != 0) break;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    MPI_Recv(&word, 1, MPI_INT, 0, 34, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

}  // namespace

// MPI forbids to give up the request of a collective; of ours it only means that nobody waits for it. The last rank
// does so before the root has begun: the data comes all the same, to where it was asked for.
void requests_given_up(const Wardrobe&) {
    const int rank = rank_in(MPI_COMM_WORLD), last = size_of(MPI_COMM_WORLD) - 1;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Datatype spread = MPI_DATATYPE_NULL;  // with gaps: what comes has to be put in its place at the end
    MPI_Type_vector(10, 1, 2, MPI_INT, &spread);
    MPI_Type_commit(&spread);
    std::vector<int> first(20, rank == 0 ? 5 : -1), second(20, rank == 0 ? 6 : -1);
    int word = 0, flag = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank == 0) MPI_Recv(&word, 1, MPI_INT, last, 31, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Ibcast(first.data(), 1, spread, 0, comm, &request);
    if (rank == last) {
        MPI_Request_free(&request);
        expect(request == MPI_REQUEST_NULL, "a freed request is left");
        MPI_Send(&word, 1, MPI_INT, 0, 31, MPI_COMM_WORLD);
    } else {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Ibcast(second.data(), 1, spread, 0, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (std::size_t number = 64; number <= 4096 && first.front() != 5; number *= 2) {
        MPI_Iprobe(MPI_ANY_SOURCE, 32, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
        many_at_once(number);
    }
    expect(second[0] == 6 && second[18] == 6, "the broadcast behind it is wrong");
    expect(first[0] == 5 && first[18] == 5, "what was given up never came");
    expect(first[1] == (rank == 0 ? 5 : -1), "a gap was written");
    MPI_Type_free(&spread);
    MPI_Comm_free(&comm);
}

// The communicator, too, is left before the root has begun. MPI_Finalize waits for what is still under way.
void communicators_of_requests_given_up(const Wardrobe&) {
    const int rank = rank_in(MPI_COMM_WORLD), last = size_of(MPI_COMM_WORLD) - 1;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    int word = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank == 0) MPI_Recv(&word, 1, MPI_INT, last, 33, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Ibarrier(comm, &request);
    if (rank == last) {
        MPI_Request_free(&request);
        MPI_Send(&word, 1, MPI_INT, 0, 33, MPI_COMM_WORLD);
    } else {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Comm_free(&comm);
    expect(comm == MPI_COMM_NULL && request == MPI_REQUEST_NULL, "a handle is left");
}

// Some leave a communicator before its operation has ended, some after: all say farewell once, or MPI_Finalize waits
// for ever.
void communicators_left_early_and_late(const Wardrobe&) {
    const int size = size_of(MPI_COMM_WORLD), rank = rank_in(MPI_COMM_WORLD);
    for (int round = 0; round < 2; ++round) {
        const bool early = rank % 2 == round;
        MPI_Comm comm = MPI_COMM_NULL;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        int one = 1, sum = 0;
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &request);
        if (early) MPI_Comm_free(&comm);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (!early) MPI_Comm_free(&comm);
        expect(sum == size, "the sum is wrong");
    }
}

// A rank gives contexts out in a circle. Once round, those of communicators that live are passed over.
void contexts_once_round(const Wardrobe&) {
    constexpr int number = 32, all_contexts = (1 << 20) - 16;
    const int rank = rank_in(MPI_COMM_WORLD), share = all_contexts / size_of(MPI_COMM_WORLD);
    std::vector<MPI_Comm> comms(2 * number, MPI_COMM_NULL);
    const auto make = [&](int from) {
        for (int i = from; i < from + number; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[static_cast<std::size_t>(i)]);
    };
    make(0);
    for (int i = 0; rank == 0 && i < share - number - number / 2; ++i) {
        MPI_Comm none = MPI_COMM_NULL;
        MPI_Comm_split(MPI_COMM_SELF, MPI_UNDEFINED, 0, &none);
    }
    leave_the_cores_to_rank_0();
    make(number);
    // In one order at the root and in the other elsewhere: who had the same context would take the other's.
    std::vector<int> values(comms.size(), -1);
    std::vector<MPI_Request> requests(comms.size(), MPI_REQUEST_NULL);
    for (std::size_t k = 0; k < comms.size(); ++k) {
        const std::size_t i = rank == 0 ? k : (k + number) % comms.size();
        if (rank == 0) values[i] = static_cast<int>(i);
        MPI_Ibcast(&values[i], 1, MPI_INT, 0, comms[i], &requests[i]);
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    for (std::size_t i = 0; i < values.size(); ++i)
        expect(values[i] == static_cast<int>(i), "a communicator has another's broadcast");
    for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
}

}  // namespace loom::workout
