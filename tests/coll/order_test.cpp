#include "loom/coll/order.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/coll/typed.hpp"
#include "loom/coll/world.hpp"

namespace loom::coll {
namespace {

TEST(RankOrder, IsReadInAnyForm) {
    EXPECT_EQ(read_rank_order("2\n0\n1\n", "a", 3), (std::vector<std::uint32_t>{2, 0, 1}));
    EXPECT_EQ(read_rank_order("# by loom map\n2, 0\t1", "a", 3), (std::vector<std::uint32_t>{2, 0, 1}));
}

TEST(RankOrder, ThatIsNoneIsRefused) {
    for (const char* text : {"0 1", "0 1 1", "0 1 3", "0 1 2 2", "0 1 x", "0 1 -2", ""})
        EXPECT_THROW((void)read_rank_order(text, "a", 3), ParseError) << text;
}

// The file says which rank comes first, not where each rank goes.
TEST(RankOrder, OfAFileIsThatOfTheWorld) {
    const std::string file = std::filesystem::temp_directory_path() / ("loom-order-" + std::to_string(getpid()));
    write_file(file, "2 0 3 1\n");
    setenv("LOOM_RANK_ORDER", file.c_str(), 1);
    std::vector<std::uint32_t> of_world(4);

    run_local(4, [&](World& world) {
        const Communicator comm = world.communicator();
        of_world[comm.rank().value] = comm.world_rank(comm.rank()).value;
        EXPECT_EQ(comm.world_rank(comm.rank()), world.rank());
    });

    unsetenv("LOOM_RANK_ORDER");
    std::filesystem::remove(file);
    EXPECT_EQ(of_world, (std::vector<std::uint32_t>{2, 0, 3, 1}));
}

TEST(Renumbered, HasTheRanksInTheirNewOrder) {
    run_local(4, [](World& world) {
        const Communicator comm = world.communicator();
        const std::vector<std::uint32_t> order{2, 0, 3, 1};

        const Communicator other = comm.renumbered(order);

        EXPECT_EQ(order[other.rank().value], comm.rank().value);
        const std::vector<std::uint32_t> mine{comm.rank().value};
        std::vector<std::uint32_t> all(4);
        other.iallgather(mine, all).wait();
        EXPECT_EQ(all, order);
    });
}

TEST(Renumbered, RefusesWhatIsNoOrder) {
    run_local(2, [](World& world) {
        const std::vector<std::uint32_t> twice{0, 0}, few{0};

        EXPECT_THROW((void)world.communicator().renumbered(twice), UsageError);
        EXPECT_THROW((void)world.communicator().renumbered(few), UsageError);
    });
}

}  // namespace
}  // namespace loom::coll
