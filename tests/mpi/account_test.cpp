#include "loom/mpi/account.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace {

using namespace loom::mpi;
using testing::HasSubstr;

TEST(Account, CountsBlockingCallsThatWereNotAskedFor) {
    Account account;
    for (int i = 0; i < 3; ++i) account.taken(Operation::allreduce, Form::nonblocking);
    account.handed_back(Operation::bcast, Form::persistent, Reason::other_ranks);
    for (int i = 0; i < 4; ++i) account.handed_back(Operation::barrier, Form::blocking, Reason::not_asked);

    const std::string table = account.table(2, "");
    const auto json = nlohmann::json::parse(account.json(2, ""));

    EXPECT_EQ(account.taken_of(Operation::allreduce, Form::nonblocking), 3u);
    EXPECT_THAT(table, HasSubstr("3 of 8 collectives were taken over (37.5 %), 2 ranks"));
    EXPECT_THAT(table, HasSubstr("4 were blocking, and left to the MPI library: --no-blocking or LOOM_MPI_BLOCKING=0"));
    EXPECT_EQ(json["share_taken_over"], 0.375);
    EXPECT_EQ(json["share_of_asked_for"], 0.75);
    EXPECT_EQ(json["blocking_not_asked_for"], 4);
    EXPECT_THAT(table, testing::Not(HasSubstr("are taken over like the others")));
}

TEST(Account, ClaimsNothingWhereNothingWasCalledOrAskedFor) {
    Account others;
    others.taken(Operation::allreduce, Form::nonblocking);
    EXPECT_THAT(others.table(2, ""), HasSubstr("blocking collectives are taken over like the others"));
    Account blocking;
    blocking.handed_back(Operation::allreduce, Form::blocking, Reason::not_asked);

    EXPECT_THAT(Account().table(1, ""), HasSubstr("no collective was called, 1 ranks"));
    EXPECT_TRUE(nlohmann::json::parse(Account().json(1, ""))["share_taken_over"].is_null());
    EXPECT_THAT(blocking.table(1, ""), HasSubstr("0 of 1 collectives were taken over (0.0 %)"));
    EXPECT_EQ(nlohmann::json::parse(blocking.json(1, ""))["share_taken_over"], 0.0);
    EXPECT_TRUE(nlohmann::json::parse(blocking.json(1, ""))["share_of_asked_for"].is_null());
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
