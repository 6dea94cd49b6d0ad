// What goes wrong in other libraries: deadlocks, first collectives that block, communicators, types and operations
// freed under an operation, threads.
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>

#include "mpi/workout/case.hpp"

namespace loom::workout {

namespace {

// Rank 0 sits in a blocking call while a broadcast that passes through it is pending: the last rank lies behind rank 0
// in most trees, and rank 1 sends only when it has the broadcast.
template <class Receive, class Send>
void stuck(Receive&& receive, Send&& send) {
    const int rank = rank_in(MPI_COMM_WORLD), last = size_of(MPI_COMM_WORLD) - 1;
    std::vector<int> data(50000, rank == last ? 5 : 0);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibcast(data.data(), static_cast<int>(data.size()), MPI_INT, last, MPI_COMM_WORLD, &request);
    if (rank == 0) {
        receive();
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (rank == last) send();
    }
    expect(data.front() == 5 && data.back() == 5, "the broadcast is wrong");
}

void receive_while_broadcasting(const Wardrobe&) {
    const int last = size_of(MPI_COMM_WORLD) - 1;
    int got = 0, sent = 9;
    MPI_Status status;
    stuck([&] { MPI_Recv(&got, 1, MPI_INT, last, 3, MPI_COMM_WORLD, &status); },
          [&] { MPI_Send(&sent, 1, MPI_INT, 0, 3, MPI_COMM_WORLD); });
    stuck(
        [&] {
            MPI_Probe(last, 4, MPI_COMM_WORLD, &status), MPI_Recv(&got, 1, MPI_INT, last, 4, MPI_COMM_WORLD, &status);
        },
        [&] { MPI_Ssend(&sent, 1, MPI_INT, 0, 4, MPI_COMM_WORLD); });
    int swapped = rank_in(MPI_COMM_WORLD);
    stuck([&] { MPI_Sendrecv_replace(&swapped, 1, MPI_INT, last, 5, last, 5, MPI_COMM_WORLD, &status); },
          [&] { MPI_Sendrecv(&sent, 1, MPI_INT, 0, 5, &got, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &status); });
    if (rank_in(MPI_COMM_WORLD) == 0) {
        expect(got == 9, "the message is wrong");
        expect(swapped == 9, "the exchanged message is wrong");
    }
    MPI_Request request = MPI_REQUEST_NULL;
    stuck(
        [&] {
            MPI_Irecv(&got, 1, MPI_INT, last, 6, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, &status);
            expect(status.MPI_SOURCE == last && status.MPI_TAG == 6, "the status is wrong");
        },
        [&] { MPI_Send(&sent, 1, MPI_INT, 0, 6, MPI_COMM_WORLD); });
}

#if MPI_VERSION >= 4
void wide_receive_while_broadcasting(const Wardrobe&) {
    const int last = size_of(MPI_COMM_WORLD) - 1;
    int got[3] = {}, sent = 9, swapped = rank_in(MPI_COMM_WORLD);
    MPI_Status status;
    stuck([&] { MPI_Recv_c(&got[0], 1, MPI_INT, last, 3, MPI_COMM_WORLD, &status); },
          [&] { MPI_Send_c(&sent, 1, MPI_INT, 0, 3, MPI_COMM_WORLD); });
    stuck(
        [&] {
            MPI_Message message = MPI_MESSAGE_NULL;
            MPI_Mprobe(last, 4, MPI_COMM_WORLD, &message, &status);
            MPI_Mrecv_c(&got[1], 1, MPI_INT, &message, &status);
        },
        [&] { MPI_Ssend_c(&sent, 1, MPI_INT, 0, 4, MPI_COMM_WORLD); });
    stuck([&] { MPI_Sendrecv_replace_c(&swapped, 1, MPI_INT, last, 5, last, 5, MPI_COMM_WORLD, &status); },
          [&] { MPI_Sendrecv_c(&sent, 1, MPI_INT, 0, 5, &got[2], 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &status); });
    if (rank_in(MPI_COMM_WORLD) == 0) {
        expect(got[0] == 9 && got[1] == 9, "the message is wrong");
        expect(swapped == 9, "the exchanged message is wrong");
    }
}
#endif

// Rank 0 waits in a collective of ours while the last rank receives what it sent: the MPI library's handshake needs
// rank 0 to make progress in MPI, on the network and not only with itself.
void sends_finished_while_waiting(const Wardrobe&) {
    const int rank = rank_in(MPI_COMM_WORLD), last = size_of(MPI_COMM_WORLD) - 1;
    for (const int bytes : {4'000, 16'000, 200'000, 4'000'000}) {
        std::vector<char> data(static_cast<std::size_t>(bytes), rank == 0 ? 'x' : '-');
        MPI_Request sent = MPI_REQUEST_NULL, met = MPI_REQUEST_NULL;
        if (rank == 0) MPI_Isend(data.data(), bytes, MPI_CHAR, last, 7, MPI_COMM_WORLD, &sent);
        if (rank == last) MPI_Recv(data.data(), bytes, MPI_CHAR, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Ibarrier(MPI_COMM_WORLD, &met);
        if (bytes > 100'000) {
            int flag = 0;  // the same through tests
            while (flag == 0) MPI_Test(&met, &flag, MPI_STATUS_IGNORE);
        } else {
            MPI_Wait(&met, MPI_STATUS_IGNORE);
        }
        MPI_Wait(&sent, MPI_STATUS_IGNORE);
        if (rank == last) expect(data.back() == 'x', "the message is wrong");
    }
}

// The same with a message that waits to be received: a probe that finds it must not keep MPI from its work.
void sends_finished_beside_an_early_message(const Wardrobe& wardrobe) {
    const int rank = rank_in(MPI_COMM_WORLD), last = size_of(MPI_COMM_WORLD) - 1;
    int early = 4;
    if (rank == last) MPI_Send(&early, 1, MPI_INT, 0, 8, MPI_COMM_WORLD);
    sends_finished_while_waiting(wardrobe);
    if (rank == 0) MPI_Recv(&early, 1, MPI_INT, last, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// The last rank closes an epoch on a window of rank 0, which waits in a collective of ours.
void windows_closed_while_waiting(const Wardrobe&) {
    const int rank = rank_in(MPI_COMM_WORLD), last = size_of(MPI_COMM_WORLD) - 1;
    std::vector<int> shown(20'000, 0), put(20'000, 6);
    const auto bytes = static_cast<int>(shown.size() * sizeof(int));
    MPI_Win window = MPI_WIN_NULL;
    MPI_Win_create(shown.data(), bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    if (rank == last) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
        MPI_Put(put.data(), 20'000, MPI_INT, 0, 0, 20'000, MPI_INT, window);
        MPI_Win_unlock(0, window);
    }
    MPI_Request met = MPI_REQUEST_NULL;
    MPI_Ibarrier(MPI_COMM_WORLD, &met);
    MPI_Wait(&met, MPI_STATUS_IGNORE);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
        const bool arrived = shown.front() == 6 && shown.back() == 6;
        MPI_Win_unlock(0, window);
        expect(arrived, "what was put is not there");
    }
    MPI_Win_free(&window);
}

// Once everybody is out of a collective behind it, the end of an access epoch is seen by the first test.
void window_tested_behind_a_barrier(const Wardrobe&) {
    const int rank = rank_in(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD);
    int shown = 0, flag = 0;
    MPI_Win window = MPI_WIN_NULL;
    MPI_Group all = MPI_GROUP_NULL, partners = MPI_GROUP_NULL;
    MPI_Win_create(&shown, sizeof shown, sizeof shown, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_get_group(window, &all);
    const int first = 0;
    if (rank == 0) {
        MPI_Group_excl(all, 1, &first, &partners);
        MPI_Win_start(partners, 0, window);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_complete(window);
    } else if (size > 1) {
        MPI_Group_incl(all, 1, &first, &partners);
        MPI_Win_post(partners, 0, window);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != 0) {
        MPI_Win_test(window, &flag);
        expect(flag != 0, "the epoch has not ended");
    }
    MPI_Group_free(&partners);
    MPI_Group_free(&all);
    MPI_Win_free(&window);
}

// A window in which rank 0 waits until the last has opened it, too.
void windows_while_broadcasting(const Wardrobe&) {
    int shown = 0;
    MPI_Win window = MPI_WIN_NULL;
    const auto use = [&] {
        MPI_Win_create(&shown, sizeof shown, sizeof shown, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
        MPI_Win_lock_all(0, window);
        MPI_Win_flush_local_all(window);
        MPI_Win_unlock_all(window);
        MPI_Win_free(&window);
    };
    const int rank = rank_in(MPI_COMM_WORLD), last = size_of(MPI_COMM_WORLD) - 1;
    stuck(use, [&] { use(); });
    if (rank != 0 && rank != last) use();
    expect(window == MPI_WIN_NULL, "a window is left");
}

// The barrier is MPI's own where blocking collectives are not taken over.
void blocking_collective_while_broadcasting(const Wardrobe&) {
    const int rank = rank_in(MPI_COMM_WORLD), last = size_of(MPI_COMM_WORLD) - 1;
    std::vector<int> data(50000, rank == last ? 5 : 0);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibcast(data.data(), static_cast<int>(data.size()), MPI_INT, last, MPI_COMM_WORLD, &request);
    if (rank != 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(data.back() == 5, "the broadcast is wrong");
}

// Blocking and non-blocking calls match among themselves: rank 0 begins the non-blocking one first, the others last.
void blocking_and_nonblocking_in_different_orders(const Wardrobe&) {
    const int rank = rank_in(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD);
    int one = 1, sum = 0, highest = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm copy = MPI_COMM_NULL;
    if (rank == 0) MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Allreduce(&rank, &highest, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank != 0) MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(sum == size && highest == size - 1, "calls of two kinds were matched");
    MPI_Comm_free(&copy);
}

void communicators_made_while_broadcasting(const Wardrobe&) {
    const int rank = rank_in(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD);
    MPI_Comm first = MPI_COMM_NULL, second = MPI_COMM_NULL;
    std::vector<int> data(50000, rank == size - 1 ? 5 : 0);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibcast(data.data(), static_cast<int>(data.size()), MPI_INT, size - 1, MPI_COMM_WORLD, &request);
    if (rank != 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    MPI_Comm_split(first, rank % 2, 0, &second);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(data.back() == 5, "the broadcast is wrong");
    int one = 1, sum = 0;
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, second, &request);
    MPI_Comm_free(&second);  // the operation goes on
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(sum == (size + (rank % 2 == 0 ? 1 : 0)) / 2, "the sum is wrong");
    MPI_Comm_free(&first);
}

// More communicators than would live at once; contexts are used again while ranks run ahead of each other.
void many_communicators(const Wardrobe&) {
    const int size = size_of(MPI_COMM_WORLD);
    for (int round = 0; round < 5; ++round) {
        MPI_Comm made[3] = {MPI_COMM_NULL, MPI_COMM_NULL, MPI_COMM_NULL};
        MPI_Request requests[3];
        int ones[3] = {1, 2, 3}, sums[3] = {0, 0, 0};
        for (int i = 0; i < 3; ++i) {
            MPI_Comm_dup(MPI_COMM_WORLD, &made[i]);
            MPI_Iallreduce(&ones[i], &sums[i], 1, MPI_INT, MPI_SUM, made[i], &requests[i]);
            MPI_Comm_free(&made[i]);
        }
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < 3; ++i) expect(sums[i] == size * ones[i], "a sum is wrong");
    }
}

void duplicates_in_the_background(const Wardrobe& wardrobe) {
    MPI_Comm made[2] = {MPI_COMM_NULL, MPI_COMM_NULL};
    MPI_Request requests[2];
    MPI_Comm_idup(MPI_COMM_WORLD, &made[0], &requests[0]);
    MPI_Comm_idup(wardrobe.neighbours.back(), &made[1], &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    int one = 1, sum = 0, mine = rank_in(made[1]), beside[2] = {-1, -1};
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, made[0], &requests[0]);
    MPI_Ineighbor_allgather(&mine, 1, MPI_INT, beside, 1, MPI_INT, made[1], &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    const int size = size_of(MPI_COMM_WORLD);
    expect(sum == size, "the sum is wrong");
    expect(beside[0] == (mine + size - 1) % size, "the neighbour is wrong");
    for (MPI_Comm& comm : made) MPI_Comm_free(&comm);
}

void add(void* in, void* inout, int* count, MPI_Datatype*) {
    for (int i = 0; i < *count; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}

void types_and_operations_freed_early(const Wardrobe&) {
    const int size = size_of(MPI_COMM_WORLD), rank = rank_in(MPI_COMM_WORLD);
    MPI_Op op = MPI_OP_NULL;
    MPI_Op_create(add, 1, &op);
    MPI_Datatype spread = MPI_DATATYPE_NULL;
    MPI_Type_vector(1000, 1, 2, MPI_INT, &spread);
    MPI_Type_commit(&spread);
    std::vector<int> data(2000, rank == 0 ? 3 : 0);
    int one = 1, sum = 0;
    MPI_Request requests[2];
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, op, MPI_COMM_WORLD, &requests[0]);
    MPI_Ibcast(data.data(), 1, spread, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Op_free(&op);
    MPI_Type_free(&spread);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    expect(op == MPI_OP_NULL && spread == MPI_DATATYPE_NULL, "a handle is left");
    expect(sum == size && data[0] == 3 && data[1998] == 3, "the result is wrong");
    expect(data[1] == (rank == 0 ? 3 : 0), "a gap was written");
}

void requests_inactive_and_null(const Wardrobe&) {
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int index = 7, flag = 0, some = 0, indices[2];
    MPI_Status status;
    MPI_Waitany(2, requests, &index, &status);
    expect(index == MPI_UNDEFINED, "waiting for nothing");
    int one = 1, sum = 0;
#if defined(OPEN_MPI)
    MPIX_Allreduce_init(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
#else
    MPI_Allreduce_init(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
#endif
    MPI_Wait(&requests[0], &status);
    expect(requests[0] != MPI_REQUEST_NULL && status.MPI_SOURCE == MPI_ANY_SOURCE, "an inactive request");
    MPI_Testsome(2, requests, &some, indices, MPI_STATUSES_IGNORE);
    expect(some == MPI_UNDEFINED, "nothing is active");
    MPI_Testany(2, requests, &index, &flag, &status);
    expect(flag == 1 && index == MPI_UNDEFINED, "nothing is active");
    MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
    expect(flag == 1, "nothing is active");
    MPI_Start(&requests[0]);
    MPI_Wait(&requests[0], &status);
    int count = -1;
    MPI_Get_count(&status, MPI_INT, &count);
    expect(count == 0 && sum == size_of(MPI_COMM_WORLD), "the result is wrong");
    MPI_Request_free(&requests[0]);
    expect(requests[0] == MPI_REQUEST_NULL, "a freed request is left");
}

// What is sent to the left comes from the right, also where both are the same rank (MPI 4.0, 8.6).
void ring_of_one_or_two(const Wardrobe&) {
    MPI_Comm pair = MPI_COMM_NULL, ring = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank_in(MPI_COMM_WORLD) / 2, 0, &pair);
    int dims[1] = {size_of(pair)}, wrapped[1] = {1};
    MPI_Cart_create(pair, 1, dims, wrapped, 0, &ring);
    const int rank = rank_in(ring), other = (rank + 1) % size_of(ring);
    const int sent[2] = {10 * rank + 1, 10 * rank + 2}, counts[2] = {1, 1}, at[2] = {0, 1};
    int got[2][2] = {};
    MPI_Request requests[2];
    MPI_Ineighbor_alltoall(sent, 1, MPI_INT, got[0], 1, MPI_INT, ring, &requests[0]);
    MPI_Ineighbor_alltoallv(sent, counts, at, MPI_INT, got[1], counts, at, MPI_INT, ring, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (const auto& one : got)
        expect(one[0] == 10 * other + 2 && one[1] == 10 * other + 1, "left and right are mistaken");
    MPI_Comm_free(&ring);
    MPI_Comm_free(&pair);
}

// Split, duplicated in the background, merged; results freed while operations go on.
void intercommunicator(const Wardrobe&) {
    const int rank = rank_in(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD);
    MPI_Comm half = MPI_COMM_NULL, inter = MPI_COMM_NULL, merged = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 8, &inter);
    MPI_Request request = MPI_REQUEST_NULL;
    int one = 1, sum = 0;
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(sum == (size + (rank % 2 == 0 ? 0 : 1)) / 2, "the sum of the others is wrong");
    MPI_Comm copy = MPI_COMM_NULL, part = MPI_COMM_NULL;
    MPI_Comm_idup(inter, &copy, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    int said = rank == 0 ? 7 : 0;
    MPI_Ibcast(&said, 1, MPI_INT, rank == 0 ? MPI_ROOT : rank % 2 == 0 ? MPI_PROC_NULL : 0, copy, &request);
    MPI_Comm_free(&copy);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(said == (rank == 0 || rank % 2 == 1 ? 7 : 0), "the broadcast is wrong");
    MPI_Comm_split(inter, rank / 2 == size / 2 ? MPI_UNDEFINED : rank / 2, 0, &part);  // pairs
    if (part != MPI_COMM_NULL) {
        MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, part, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        expect(sum == (rank ^ 1), "the partner is wrong");
        MPI_Comm_free(&part);
    }
    MPI_Intercomm_merge(inter, rank % 2, &merged);
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, merged, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(sum == size, "the sum of all is wrong");
    for (MPI_Comm* comm : {&half, &inter, &merged}) MPI_Comm_free(comm);
}

// Each thread has a communicator of its own.
void threads(const Wardrobe& wardrobe) {
    int level = 0;
    MPI_Query_thread(&level);
    if (level < MPI_THREAD_MULTIPLE) return;
    MPI_Comm comms[3];
    for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    std::string wrong[3];
    std::vector<std::thread> all;
    for (int t = 0; t < 3; ++t)
        all.emplace_back([&, t] {
            const int size = size_of(comms[t]);
            for (int i = 0; i < 100; ++i) {
                int mine = i + t, sum = 0, users = 0;
                MPI_Request requests[2];
                MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comms[t], &requests[0]);
                MPI_Iallreduce(&mine, &users, 1, MPI_INT, wardrobe.sum, comms[t], &requests[1]);
                MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
                if (sum != mine * size || users != sum) wrong[t] = "a sum is wrong";
            }
            // While something is pending: calls that only MPI can wait in, from several threads at once.
            MPI_Group group = MPI_GROUP_NULL;
            MPI_Comm_group(comms[t], &group);
            for (int i = 0; i < 5; ++i) {
                int mine = i + t, sum = 0;
                MPI_Request request = MPI_REQUEST_NULL;
                MPI_Comm made = MPI_COMM_NULL;
                MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comms[t], &request);
                MPI_Comm_create_group(comms[t], group, t, &made);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
                MPI_Comm_free(&made);
                if (sum != mine * size) wrong[t] = "a sum beside a constructor is wrong";
            }
            MPI_Group_free(&group);
        });
    for (std::thread& one : all) one.join();
    for (const std::string& one : wrong) expect(one.empty(), "a thread's sum is wrong");
    for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
}

}  // namespace

const std::vector<Scenario>& scenarios() {
    static const std::vector<Scenario> all = {
        {"reductions_of_nothing", reductions_of_nothing, 1},
        {"neighbours_of_few", neighbours_of_few, 2},
        {"displacements_below_zero", displacements_below_zero, 2},
        {"blocks_of_256_bytes_swapped", blocks_of_256_bytes_swapped, 2},
        {"types_that_come_and_go", types_that_come_and_go, 2},
        {"requests_of_both_kinds", requests_of_both_kinds, 1},
        {"large_elements", large_elements, 1},
        {"parts_not_committed", parts_not_committed, 1},
        {"elements_beyond_2_gib", elements_beyond_2_gib, 1},
#if MPI_VERSION >= 4
        {"wide_receive_while_broadcasting", wide_receive_while_broadcasting, 2},
        {"duplicates_with_info", duplicates_with_info, 1},
#endif
        {"sends_finished_while_waiting", sends_finished_while_waiting, 2},
        {"sends_finished_beside_an_early_message", sends_finished_beside_an_early_message, 2},
        {"windows_closed_while_waiting", windows_closed_while_waiting, 2},
        {"window_tested_behind_a_barrier", window_tested_behind_a_barrier, 2},
        {"windows_while_broadcasting", windows_while_broadcasting, 2},
        {"receive_while_broadcasting", receive_while_broadcasting, 2},
        {"blocking_collective_while_broadcasting", blocking_collective_while_broadcasting, 1},
        {"blocking_and_nonblocking_in_different_orders", blocking_and_nonblocking_in_different_orders, 1},
        {"communicators_made_while_broadcasting", communicators_made_while_broadcasting, 1},
        {"many_communicators", many_communicators, 1},
        {"duplicates_in_the_background", duplicates_in_the_background, 1},
        {"types_and_operations_freed_early", types_and_operations_freed_early, 1},
        {"requests_inactive_and_null", requests_inactive_and_null, 1},
        {"ring_of_one_or_two", ring_of_one_or_two, 1},
        {"intercommunicator", intercommunicator, 2},
        {"requests_given_up", requests_given_up, 2},
        {"communicators_of_requests_given_up", communicators_of_requests_given_up, 2},
        {"communicators_left_early_and_late", communicators_left_early_and_late, 2},
        {"contexts_once_round", contexts_once_round, 9},  // the more ranks, the smaller their shares
        {"threads", threads, 1},
    };
    return all;
}

}  // namespace loom::workout
