#include <numeric>

#include "twin_mpi/answers/cases.hpp"

namespace answers {
namespace {

int next() {
    return (rank() + 1) % size();
}

int previous() {
    return (rank() + size() - 1) % size();
}

void sendrecv() {
    int mine = rank(), got = -1, count = -1;
    MPI_Status status;
    MPI_Sendrecv(&mine, 1, MPI_INT, next(), 5, &got, 1, MPI_INT, previous(), 5, MPI_COMM_WORLD, &status);
    same(got, previous(), "what came");
    same(status.MPI_SOURCE, previous(), "the source");
    same(status.MPI_TAG, 5, "the tag");
    MPI_Get_count(&status, MPI_INT, &count);
    same(count, 1, "the count");
    MPI_Sendrecv_replace(&got, 1, MPI_INT, next(), 6, previous(), 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    same(got, (rank() + 2 * size() - 2) % size(), "what came second");
}

// Even ranks send first, with each way to send; the last of an odd number has nobody.
template <class Send>
void exchange(Send send, int tag) {
    const int peer = rank() ^ 1;
    if (peer >= size()) return;
    std::vector<double> mine(1000, rank() + 0.5), got(1200, -1);
    const auto receive = [&] {
        MPI_Status status;
        int count = -1;
        MPI_Recv(got.data(), 1200, MPI_DOUBLE, peer, tag, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_DOUBLE, &count);
        same(count, 1000, "the count of a shorter message");
        same(got[999], peer + 0.5, "the last");
        same(got[1000], -1.0, "what lies behind");
    };
    if (rank() % 2 == 0) {
        send(mine.data(), 1000, MPI_DOUBLE, peer, tag, MPI_COMM_WORLD);
        receive();
    } else {
        receive();
        send(mine.data(), 1000, MPI_DOUBLE, peer, tag, MPI_COMM_WORLD);
    }
}

void ways_to_send() {
    exchange(MPI_Send, 1);
    exchange(MPI_Ssend, 2);
}

void nobody() {
    int value = 7;
    MPI_Status status;
    MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
    same(value, 7, "what nobody sent");
    same(status.MPI_SOURCE, MPI_PROC_NULL, "nobody");
    int count = -1;
    MPI_Get_count(&status, MPI_INT, &count);
    same(count, 0, "the count of nothing");
}

void order_of_one_sender() {
    if (size() < 2) return;
    constexpr int messages = 50;
    if (rank() == 0) {
        for (int i = 0; i < messages; ++i) MPI_Send(&i, 1, MPI_INT, 1, i % 3, MPI_COMM_WORLD);
    } else if (rank() == 1) {
        for (int i = 0; i < messages; ++i) {
            int got = -1;
            MPI_Status status;
            MPI_Recv(&got, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            same(got, i, "the next message");
            same(status.MPI_TAG, i % 3, "its tag");
        }
    }
}

void tags_apart() {
    if (size() < 2) return;
    if (rank() == 0) {
        for (int tag = 0; tag < 4; ++tag) MPI_Send(&tag, 1, MPI_INT, 1, tag, MPI_COMM_WORLD);
    } else if (rank() == 1) {
        for (const int tag : {2, 0, 3, 1}) {
            int got = -1;
            MPI_Recv(&got, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            same(got, tag, "the message of a tag");
        }
    }
}

void any_source() {
    if (rank() != 0) {
        const int mine[2] = {rank(), rank() * rank()};
        MPI_Send(mine, 2, MPI_INT, 0, 10 + rank(), MPI_COMM_WORLD);
        return;
    }
    std::vector<int> seen(static_cast<std::size_t>(size()), 0);
    for (int i = 1; i < size(); ++i) {
        int got[2] = {-1, -1};
        MPI_Status status;
        MPI_Recv(got, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        same(got[0], status.MPI_SOURCE, "the source");
        same(got[1], got[0] * got[0], "its square");
        same(status.MPI_TAG, 10 + got[0], "its tag");
        ++seen[static_cast<std::size_t>(got[0])];
    }
    same(std::accumulate(seen.begin(), seen.end(), 0), size() - 1, "the number of messages");
}

// A receive from anybody does not take what an earlier receive is for, and one with a source behind it waits its turn.
void wildcards_in_turn() {
    if (size() < 2) return;
    if (rank() == 1) {
        for (int i = 0; i < 3; ++i) MPI_Send(&i, 1, MPI_INT, 0, 4, MPI_COMM_WORLD);
    } else if (rank() == 0) {
        int got[3] = {-1, -1, -1};
        MPI_Request requests[3];
        MPI_Irecv(&got[0], 1, MPI_INT, 1, 4, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(&got[1], 1, MPI_INT, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &requests[1]);
        MPI_Irecv(&got[2], 1, MPI_INT, 1, 4, MPI_COMM_WORLD, &requests[2]);
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < 3; ++i) same(got[i], i, "in the order of receives");
    }
}

void probing() {
    if (size() < 2) return;
    if (rank() == 1) {
        std::vector<int> mine(37, 11);
        MPI_Send(mine.data(), 37, MPI_INT, 0, 9, MPI_COMM_WORLD);
    } else if (rank() == 0) {
        MPI_Status status;
        int count = -1, flag = 0;
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        same(status.MPI_SOURCE, 1, "the source of what is there");
        MPI_Get_count(&status, MPI_INT, &count);
        same(count, 37, "how much is there");
        MPI_Iprobe(1, 9, MPI_COMM_WORLD, &flag, &status);
        same(flag, 1, "whether it is still there");
        std::vector<int> got(static_cast<std::size_t>(count));
        MPI_Recv(got.data(), count, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        same(got[36], 11, "the last");
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        same(flag, 0, "whether something else is there");
    }
}

void looking_until_it_comes() {
    if (size() < 2) return;
    if (rank() == 0) {
        int flag = 0, got = -1;
        while (flag == 0) MPI_Iprobe(1, 3, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        MPI_Recv(&got, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        same(got, 8, "what came");
    } else if (rank() == 1) {
        const int mine = 8;
        MPI_Send(&mine, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
    }
}

void nothing_at_all() {
    int count = -1;
    MPI_Status status;
    MPI_Sendrecv(nullptr, 0, MPI_INT, next(), 0, nullptr, 0, MPI_INT, previous(), 0, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    same(count, 0, "the count of an empty message");
}

}  // namespace

std::vector<Case> message_cases() {
    return {{"sendrecv", sendrecv},
            {"ways_to_send", ways_to_send},
            {"nobody", nobody},
            {"order_of_one_sender", order_of_one_sender},
            {"tags_apart", tags_apart},
            {"any_source", any_source},
            {"wildcards_in_turn", wildcards_in_turn},
            {"probing", probing},
            {"looking_until_it_comes", looking_until_it_comes},
            {"nothing_at_all", nothing_at_all}};
}

}  // namespace answers
