// LOOM_COLL_CHECK: ranks that call different things get an error, instead of waiting for each other or mixing data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "loom/coll/typed.hpp"
#include "loom/coll/world.hpp"

namespace loom::coll {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

class Checked : public testing::Test {
protected:
    void SetUp() override { setenv("LOOM_COLL_CHECK", "1", 1); }
    void TearDown() override { unsetenv("LOOM_COLL_CHECK"); }

    // The error of every rank.
    template <class Body>
    static std::vector<std::string> told(std::uint32_t ranks, Body&& body) {
        std::vector<std::string> said(ranks);
        run_local(ranks, [&](World& world) {
            try {
                body(world.communicator());
            } catch (const UsageError& error) {
                said[world.rank().value] = error.what();
            }
        });
        return said;
    }
};

TEST_F(Checked, AnotherOperationIsNamedOnEveryRank) {
    const auto said = told(3, [](const Communicator& all) {
        std::vector<int> in(100'000), out(100'000);  // so large that it would wait for ever
        if (all.rank() == Rank{1})
            all.reduce(in, out, std::plus<>{}, Rank{0});
        else
            all.broadcast(out, Rank{0});
    });

    EXPECT_THAT(said, Each(AllOf(HasSubstr("rank 0 calls broadcast of 400000 bytes with root 0"),
                                 HasSubstr("rank 1 calls reduce of 400000 bytes with root 0"))));
}

TEST_F(Checked, AnotherRootIsNamed) {
    const auto said = told(4, [](const Communicator& all) {
        std::vector<int> data(10);
        all.broadcast(data, all.rank() == Rank{3} ? Rank{3} : Rank{2});
    });

    EXPECT_THAT(said,
                Each(AllOf(HasSubstr("with root 2"), HasSubstr("rank 3 calls broadcast of 40 bytes with root 3"))));
}

TEST_F(Checked, AnotherLengthIsNamed) {
    const auto said = told(2, [](const Communicator& all) {
        std::vector<int> in(10 + all.rank().value), out(in.size());
        all.allreduce(in, out, std::plus<>{});
    });

    EXPECT_THAT(said, Each(AllOf(HasSubstr("allreduce of 40 bytes"), HasSubstr("allreduce of 44 bytes"))));
}

// The wrong one ends; those before and after it come to their end as ever, and starting waits for nobody.
TEST_F(Checked, OthersGoOn) {
    const auto said = told(3, [](const Communicator& all) {
        std::vector<int> one(1, 1), sums[3] = {{0}, {0}, {0}}, word(1);
        Request before = all.iallreduce(one, sums[0], std::plus<>{});
        Request wrong = all.ibroadcast(word, Rank{all.rank().value});
        Request after = all.iallreduce(one, sums[1], std::plus<>{});
        Persistent again = all.persistent_allreduce(one, sums[2], std::plus<>{});
        after.wait();
        before.wait();
        for (int i = 0; i < 3; ++i) {
            again.start();
            again.wait();
        }
        EXPECT_EQ(sums[0][0] + sums[1][0] + sums[2][0], 9);
        wrong.wait();
    });

    EXPECT_THAT(said, Each(HasSubstr("do not call the same")));
}

TEST_F(Checked, RightCallsAreLetThrough) {
    const auto said = told(5, [](const Communicator& all) {
        std::vector<std::vector<int>> blocks(5, std::vector<int>(all.rank().value));
        std::vector<int> in(5), out(5);
        for (int i = 0; i < 20; ++i) {
            all.alltoall(in, out);
            all.barrier();
            all.scan(in, out, std::plus<>{});
        }
        (void)all.duplicate();
    });

    EXPECT_THAT(said, Each(""));
}

}  // namespace
}  // namespace loom::coll
