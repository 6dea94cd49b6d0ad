#include <array>

#include "twin_mpi/answers/cases.hpp"

namespace answers {
namespace {

// A message round the ring, and a sum, with a request for each.
struct Flight {
    int mine = rank(), got = -1, sum = -1;
    std::array<MPI_Request, 3> requests{};

    explicit Flight(int tag = 20) {
        const int next = (rank() + 1) % size(), previous = (rank() + size() - 1) % size();
        MPI_Irecv(&got, 1, MPI_INT, previous, tag, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&mine, 1, MPI_INT, next, tag, MPI_COMM_WORLD, &requests[1]);
        MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[2]);
    }
    void check() const {
        same(got, (rank() + size() - 1) % size(), "what came");
        same(sum, size() * (size() - 1) / 2, "the sum");
        for (const MPI_Request each : requests) same(each == MPI_REQUEST_NULL, true, "that a request is gone");
    }
};

void wait_each() {
    Flight flight;
    MPI_Status status;
    MPI_Wait(&flight.requests[0], &status);
    same(status.MPI_TAG, 20, "the tag");
    MPI_Wait(&flight.requests[2], MPI_STATUS_IGNORE);
    MPI_Wait(&flight.requests[1], MPI_STATUS_IGNORE);
    flight.check();
    MPI_Wait(&flight.requests[1], &status);
    same(status.MPI_SOURCE, MPI_ANY_SOURCE, "the source of nothing");
}

void wait_all() {
    Flight flight;
    std::array<MPI_Status, 3> statuses{};
    MPI_Waitall(3, flight.requests.data(), statuses.data());
    same(statuses[0].MPI_SOURCE, (rank() + size() - 1) % size(), "the source");
    flight.check();
}

void wait_any() {
    Flight flight;
    std::array<int, 3> seen{};
    int index = -1;
    for (int i = 0; i < 3; ++i) {
        MPI_Waitany(3, flight.requests.data(), &index, MPI_STATUS_IGNORE);
        ++seen.at(static_cast<std::size_t>(index));
    }
    for (const int each : seen) same(each, 1, "how often one was finished");
    flight.check();
    MPI_Waitany(3, flight.requests.data(), &index, MPI_STATUS_IGNORE);
    same(index, MPI_UNDEFINED, "the index of none");
}

void wait_some() {
    Flight flight;
    int done = 0, all = 0;
    std::array<int, 3> indices{};
    for (; all < 3; all += done) {
        MPI_Waitsome(3, flight.requests.data(), &done, indices.data(), MPI_STATUSES_IGNORE);
        same(done >= 1, true, "that one at least is finished");
    }
    flight.check();
    MPI_Waitsome(3, flight.requests.data(), &done, indices.data(), MPI_STATUSES_IGNORE);
    same(done, MPI_UNDEFINED, "how many of none");
}

void test_each() {
    Flight flight;
    for (MPI_Request& each : flight.requests)
        for (int flag = 0; flag == 0;) MPI_Test(&each, &flag, MPI_STATUS_IGNORE);
    flight.check();
    int flag = 0;
    MPI_Test(&flight.requests[0], &flag, MPI_STATUS_IGNORE);
    same(flag, 1, "a test of nothing");
}

void test_all() {
    Flight flight;
    for (int flag = 0; flag == 0;) MPI_Testall(3, flight.requests.data(), &flag, MPI_STATUSES_IGNORE);
    flight.check();
}

void test_any_and_some() {
    Flight first(21), second(22);
    int left = 3;
    while (left > 0) {
        int index = -1, flag = 0;
        MPI_Testany(3, first.requests.data(), &index, &flag, MPI_STATUS_IGNORE);
        if (flag != 0) --left;
    }
    first.check();
    for (int all = 0; all < 3;) {
        int done = 0;
        std::array<int, 3> indices{};
        MPI_Testsome(3, second.requests.data(), &done, indices.data(), MPI_STATUSES_IGNORE);
        all += done;
    }
    second.check();
}

void freed_while_under_way() {
    const int next = (rank() + 1) % size(), previous = (rank() + size() - 1) % size();
    const int mine = rank();
    int got = -1;
    MPI_Request request;
    MPI_Isend(&mine, 1, MPI_INT, next, 30, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    same(request == MPI_REQUEST_NULL, true, "that the request is gone");
    MPI_Recv(&got, 1, MPI_INT, previous, 30, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    same(got, previous, "what came");
    MPI_Barrier(MPI_COMM_WORLD);
}

void persistent() {
    const int next = (rank() + 1) % size(), previous = (rank() + size() - 1) % size();
    int mine = -1, got = -1;
    std::array<MPI_Request, 2> requests{};
    MPI_Send_init(&mine, 1, MPI_INT, next, 31, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(&got, 1, MPI_INT, previous, 31, MPI_COMM_WORLD, &requests[1]);
    for (int round = 0; round < 3; ++round) {
        mine = 100 * round + rank();
        MPI_Startall(2, requests.data());
        MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
        same(got, 100 * round + previous, "what came");
    }
    mine = 7;
    MPI_Start(&requests[1]);
    MPI_Start(&requests[0]);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    same(got, 7, "what came last");
    for (MPI_Request& each : requests) MPI_Request_free(&each);
}

void synchronous_send_waits() {
    if (size() < 2) return;
    int value = 5, flag = 1;
    if (rank() == 0) {
        MPI_Request request;
        MPI_Issend(&value, 1, MPI_INT, 1, 40, MPI_COMM_WORLD, &request);
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        same(flag, 0, "a synchronous send without a receive");
        MPI_Send(&value, 1, MPI_INT, 1, 41, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (rank() == 1) {
        MPI_Recv(&value, 1, MPI_INT, 0, 41, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&value, 1, MPI_INT, 0, 40, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

}  // namespace

std::vector<Case> request_cases() {
    return {{"wait_each", wait_each},
            {"wait_all", wait_all},
            {"wait_any", wait_any},
            {"wait_some", wait_some},
            {"test_each", test_each},
            {"test_all", test_all},
            {"test_any_and_some", test_any_and_some},
            {"freed_while_under_way", freed_while_under_way},
            {"persistent", persistent},
            {"synchronous_send_waits", synchronous_send_waits}};
}

}  // namespace answers
