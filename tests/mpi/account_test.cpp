#include "loom/mpi/account.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using namespace loom::mpi;
using testing::HasSubstr;

TEST(Account, CountsSharesOfWhatWasAskedFor) {
    Account account;
    for (int i = 0; i < 3; ++i) account.taken(Operation::allreduce, Form::nonblocking);
    account.handed_back(Operation::bcast, Form::persistent, Reason::other_ranks);
    account.handed_back(Operation::barrier, Form::blocking, Reason::not_asked);

    EXPECT_DOUBLE_EQ(account.share_taken(), 0.75);
    EXPECT_EQ(account.taken_of(Operation::allreduce, Form::nonblocking), 3u);
    EXPECT_DOUBLE_EQ(Account().share_taken(), 1);
}

TEST(Account, NamesFunctionsAndReasons) {
    Account account;
    account.taken(Operation::neighbor_alltoallw, Form::nonblocking);
    account.handed_back(Operation::bcast, Form::persistent, Reason::other_ranks);

    const std::string table = account.table(4, ""), json = account.json(4, "no adapter");

    EXPECT_THAT(table, HasSubstr("MPI_Ineighbor_alltoallw"));
    EXPECT_THAT(table, HasSubstr("MPI_Bcast_init"));
    EXPECT_THAT(table, HasSubstr("ranks outside of MPI_COMM_WORLD"));
    EXPECT_THAT(json, HasSubstr("\"not_in_use\": \"no adapter\""));
    EXPECT_THAT(json, HasSubstr("\"share_taken_over\": 0.5"));
}

}  // namespace
