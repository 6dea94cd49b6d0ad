#include "suites/suite.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "loom/base/error.hpp"
#include "loom/base/file.hpp"

namespace loom::suites {
namespace {

namespace fs = std::filesystem;

// An empty program that may be run.
void make_program(const fs::path& path) {
    fs::create_directories(path.parent_path());
    write_file(path, "");
    fs::permissions(path, fs::perms::owner_all);
}

peer::Outcome said(const std::string& output, int status = 0) {
    peer::Outcome outcome;
    outcome.status = status;
    outcome.output = output;
    return outcome;
}

TEST(Suites, ListOfTestsIsReadWithRanksArgumentsAndLimits) {
    const peer::TemporaryFolder folder;
    make_program(folder.path() / "coll" / "first");
    make_program(folder.path() / "coll" / "second");
    write_file(folder.path() / "coll" / "testlist",
               "# a remark\n"
               "first 4 arg=-count=10 arg=-v\n"
               "second 10 timeLimit=600 env=A=b strict=false\n"
               "missing 2\n"
               "second many\n");

    const auto tests = mpich_suite(folder.path(), 8);

    ASSERT_EQ(tests.size(), 3u);
    EXPECT_EQ(tests[0].ranks, 4u);
    EXPECT_EQ(tests[0].program, (std::vector<std::string>{folder.path() / "coll" / "first", "-count=10", "-v"}));
    EXPECT_EQ(tests[1].ranks, 8u);
    EXPECT_EQ(tests[1].seconds, 600);
    EXPECT_EQ(tests[1].environment[0].first, "A");
    EXPECT_EQ(tests[1].environment[0].second, "b");
    EXPECT_EQ(tests[1].wanted_ranks, 10u);
    EXPECT_TRUE(tests[0].built);
    EXPECT_FALSE(tests[2].built) << "named and not there";
}

TEST(Suites, TestsOfMpichPassByTheirOwnWord) {
    const peer::TemporaryFolder folder;
    make_program(folder.path() / "coll" / "first");
    write_file(folder.path() / "coll" / "testlist", "first 2\n");
    const suites::Test test = mpich_suite(folder.path(), 8).at(0);

    EXPECT_TRUE(test.passed(said(" No Errors\n")));
    EXPECT_FALSE(test.passed(said(" No Errors\n", 1)));
    EXPECT_FALSE(test.passed(said("Found 3 errors\n")));
}

TEST(Suites, ImbCountsDefects) {
    const peer::TemporaryFolder folder;
    make_program(folder.path() / "IMB-NBC");
    const suites::Test test = imb_suite(folder.path(), 2).at(0);
    const std::string table =
        "       #bytes #repetitions t_ovrl[usec] defects\n            0            5         1.21         0.00\n";

    EXPECT_TRUE(test.passed(said(table)));
    EXPECT_FALSE(test.passed(said(table + "            8            5         1.61         1.00\n")));
    EXPECT_FALSE(test.passed(said(table + "3: Error Ireduce_scatter_pure\n")));
    EXPECT_FALSE(test.passed(said("nothing\n")));
}

TEST(Suites, OsuSaysPassOrFail) {
    const peer::TemporaryFolder folder;
    make_program(folder.path() / "non_blocking" / "osu_iallreduce");
    make_program(folder.path() / "non_blocking" / "osu_ibarrier");
    const auto tests = osu_suite(folder.path(), 2);

    ASSERT_EQ(tests.size(), 2u);
    EXPECT_TRUE(tests[0].passed(said("8 1.4 0.8 Pass\n")));
    EXPECT_FALSE(tests[0].passed(said("8 1.4 0.8 Pass\n16 1.4 0.8 Fail\n")));
    EXPECT_FALSE(tests[0].passed(said("8 1.4 0.8\n")));
    EXPECT_TRUE(tests[1].passed(said("0.81 0.5\n")));
}

TEST(Suites, NothingBuiltIsAnError) {
    const peer::TemporaryFolder folder;

    EXPECT_THROW((void)mpich_suite(folder.path(), 4), Error);
    EXPECT_THROW((void)imb_suite(folder.path(), 4), Error);
    EXPECT_THROW((void)osu_suite(folder.path(), 4), Error);
    EXPECT_THROW((void)nbc_suite({folder.path(), "nbc.h", "libloom-mpi-openmpi.so"}, Mpi::openmpi, folder.path()),
                 Error);
}

}  // namespace
}  // namespace loom::suites
