// Programs that are wrong: the message names the rank and the function.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "twin_mpi/play.hpp"

namespace loom::twin_mpi {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

std::string failure_of(const std::function<void()>& body, std::uint32_t count = 3) {
    return play(ranks(count), body).failure;
}

TEST(Errors, NameRankAndFunction) {
    int value = 0;

    EXPECT_EQ(failure_of([&] {
                  if (my_rank() == 1) MPI_Send(&value, 1, MPI_INT, 7, 0, MPI_COMM_WORLD);
              }),
              "rank 1: MPI_Send: rank 7 of a communicator with 3 ranks");
    EXPECT_EQ(failure_of([&] {
                  if (my_rank() == 2) MPI_Recv(&value, 1, MPI_INT, 0, 1 << 24, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
              }),
              "rank 2: MPI_Recv: tag 16777216: expected 0 to 16777215");
    EXPECT_EQ(failure_of([&] { MPI_Bcast(&value, 1, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD); }),
              "rank 0: MPI_Bcast: the datatype is MPI_DATATYPE_NULL");
    EXPECT_EQ(failure_of([&] { MPI_Bcast(&value, 1, MPI_INT, 3, MPI_COMM_WORLD); }),
              "rank 0: MPI_Bcast: root 3 of 3 ranks");
    EXPECT_EQ(failure_of([&] { MPI_Reduce(&value, &value, 1, MPI_DOUBLE, MPI_BAND, 0, MPI_COMM_WORLD); }),
              "rank 0: MPI_Reduce: the operation is not defined for the datatype");
    EXPECT_EQ(failure_of([&] { MPI_Barrier(MPI_COMM_NULL); }),
              "rank 0: MPI_Barrier: the communicator is MPI_COMM_NULL");
    EXPECT_EQ(failure_of([&] { MPI_Isend(&value, -1, MPI_INT, 0, 0, MPI_COMM_WORLD, nullptr); }),
              "rank 0: MPI_Isend: the count is negative");
}

TEST(Errors, OfHandlesThatNobodyMade) {
    auto request = reinterpret_cast<MPI_Request>(std::intptr_t{12345});
    auto type = reinterpret_cast<MPI_Datatype>(std::intptr_t{54321});
    auto comm = reinterpret_cast<MPI_Comm>(std::intptr_t{-1});

    EXPECT_EQ(failure_of([&] { MPI_Wait(&request, MPI_STATUS_IGNORE); }), "rank 0: MPI_Wait: there is no such request");
    EXPECT_EQ(failure_of([&] { MPI_Type_free(&type); }), "rank 0: MPI_Type_free: there is no such datatype");
    EXPECT_EQ(failure_of([&] { MPI_Barrier(comm); }), "rank 0: MPI_Barrier: there is no such communicator");
}

TEST(Errors, OfATypeThatWasNotCommitted) {
    EXPECT_EQ(failure_of([] {
                  MPI_Datatype type = MPI_DATATYPE_NULL;
                  int values[2] = {0, 0};
                  MPI_Type_contiguous(2, MPI_INT, &type);
                  MPI_Bcast(values, 1, type, 0, MPI_COMM_WORLD);
              }),
              "rank 0: MPI_Bcast: the datatype was not committed");
}

// The message is here before its receive, and the receive before its message.
TEST(Errors, OfAMessageLongerThanItsReceive) {
    for (const bool early : {true, false}) {
        int values[5] = {};
        EXPECT_EQ(
            failure_of([&, early] {
                if (my_rank() == 0 && !early) MPI_Barrier(MPI_COMM_WORLD);
                if (my_rank() == 0) MPI_Send(values, 5, MPI_INT, 1, 3, MPI_COMM_WORLD);
                if (my_rank() == 0 && early) MPI_Barrier(MPI_COMM_WORLD);
                if (my_rank() == 0) return;
                MPI_Request request = MPI_REQUEST_NULL;
                if (my_rank() == 1 && !early) MPI_Irecv(values, 4, MPI_INT, 0, 3, MPI_COMM_WORLD, &request);
                MPI_Barrier(MPI_COMM_WORLD);
                if (my_rank() == 1 && early) MPI_Irecv(values, 4, MPI_INT, 0, 3, MPI_COMM_WORLD, &request);
                if (my_rank() == 1) MPI_Wait(&request, MPI_STATUS_IGNORE);
            }),
            "rank 1: MPI_Wait: a message of 20 bytes from rank 0 with tag 3 is longer than its receive of 4 elements");
    }
}

TEST(Errors, OfAnEndTooEarly) {
    const Outcome outcome = run(ranks(2), [] {
        MPI_Init(nullptr, nullptr);
        if (my_rank() == 1) return 0;
        MPI_Finalize();
        return 0;
    });
    EXPECT_EQ(outcome.failure, "rank 1 ended without MPI_Finalize");
    EXPECT_EQ(outcome.exit_code, 1);

    EXPECT_EQ(run(ranks(2),
                  [] {
                      int rank = 0;
                      return MPI_Comm_rank(MPI_COMM_WORLD, &rank);
                  })
                  .failure,
              "rank 0: MPI_Comm_rank: called before MPI_Init");
}

TEST(Errors, OfRequestsThatWereNotFinished) {
    int value = 0;
    EXPECT_EQ(failure_of(
                  [&] {
                      MPI_Request request;
                      MPI_Irecv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
                  },
                  1),
              "rank 0: MPI_Finalize: 1 requests were not finished");
}

TEST(Errors, EndTheJobWhereTheProgramAborts) {
    const Outcome outcome = play(ranks(4), [] {
        int value = 0;
        if (my_rank() == 2) MPI_Abort(MPI_COMM_WORLD, 17);
        MPI_Recv(&value, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    });

    EXPECT_EQ(outcome.failure, "rank 2: MPI_Abort with code 17");
    EXPECT_EQ(outcome.exit_code, 17);
}

TEST(Errors, OfADeadlockNameWhoWaitsForWhom) {
    const Outcome outcome = play(ranks(3), [] {
        int value = 0;
        MPI_Recv(&value, 1, MPI_INT, (my_rank() + 1) % 3, 42, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    });

    EXPECT_EQ(outcome.failure, "");
    EXPECT_EQ(outcome.result.state, sim::State::stuck);
    EXPECT_THAT(outcome.result.trouble, Contains("ranks wait for each other in a circle: 0 for 1 for 2 for 0"));
    EXPECT_THAT(outcome.result.trouble, Contains("rank 1 waits for a message of 4 bytes from rank 2, tag 0x2a"));
}

TEST(Errors, OfAWaitForAnybodySaySo) {
    const Outcome outcome = play(ranks(2), [] {
        int value = 0;
        if (my_rank() == 0) MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (my_rank() == 1) MPI_Probe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    });

    EXPECT_NE(outcome.result.state, sim::State::finished);
    EXPECT_THAT(outcome.result.trouble, Contains("rank 0 waits for a message from any rank"));
}

TEST(Errors, OfMpiOutsideOfARun) {
    int flag = 0;
    EXPECT_THROW(MPI_Initialized(&flag), Error);
}

}  // namespace
}  // namespace loom::twin_mpi
