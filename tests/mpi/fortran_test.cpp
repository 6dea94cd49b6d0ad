// Programs in Fortran (tests/mpi/fortran), which know nothing of Loomband, with the library preloaded; and what is done
// to Fortran's texts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "loom/base/file.hpp"
#include "mpi/abi/fortran/text.hpp"
#include "mpi/launch.hpp"
#include "support/process.hpp"

namespace {

using loom::mpi::fortran::text;
using loom::mpi::fortran::Words;
using loom::test::mpirun;
using loom::test::Outcome;
using loom::test::TemporaryFolder;
using loom::test::with_library;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(FortranText, LosesTheBlanksAroundIt) {
    EXPECT_EQ(text("  a name   ", 11), "a name");
    EXPECT_EQ(text("cut", 2), "cu");
    EXPECT_EQ(text("    ", 4), "");
}

std::vector<std::string> listed(Words&& words) {
    std::vector<std::string> all;
    for (char** word = words.data(); *word != nullptr; ++word) all.emplace_back(*word);
    return all;
}

TEST(FortranText, MakesListsOfArguments) {
    const char* const list = "one two     three       ";
    // Two rows, three columns, one column behind the other.
    const char* const matrix = "a   d   b b         ";

    EXPECT_THAT(listed(Words(list, 4, 1)), ElementsAre("one", "two"));
    EXPECT_THAT(listed(Words(matrix, 4, 2)), ElementsAre("a", "b b"));
    EXPECT_THAT(listed(Words(matrix + 4, 4, 2)), ElementsAre("d"));
    EXPECT_THAT(listed(Words("    ", 4, 1)), ElementsAre());
}

// The functions that a library has, by a regular expression, in small letters.
std::set<std::string> functions(const std::string& library, const std::string& pattern) {
    const Outcome outcome =
        loom::test::shell("nm -D --defined-only " + library + " | awk '$3 ~ /" + pattern + "/ {print tolower($3)}'");
    EXPECT_EQ(outcome.err, "");
    std::istringstream lines(outcome.out);
    return {std::istream_iterator<std::string>(lines), {}};
}

TEST(FortranNames, AreThereForEveryFunctionOfOpenMpiThatIsTakenOver) {
    const std::string library = LOOM_LIBRARIES "/libloom-mpi-openmpi.so";
    const std::set<std::string> fortran = functions(library, "^mpix?_");

    const std::set<std::string> c = functions(library, "^MPIX?_");

    EXPECT_GT(c.size(), 100u);
    for (const std::string& name : c) EXPECT_TRUE(fortran.contains(name + "_")) << name;
}

#if defined(LOOM_FORTRAN)

// Functions of the module mpi_f08 that have a buffer, and call C's functions, end with "_f08ts_".
TEST(FortranNames, AreThereForEveryFunctionOfMpichThatIsTakenOverWithoutABuffer) {
    const std::string library = LOOM_LIBRARIES "/libloom-mpi-mpich.so";
    const Outcome bindings =
        loom::test::shell("ldd " LOOM_FORTRAN "/fixed_mpich | awk '/libmpichfort/ {printf \"%s\", $3}'");
    const std::set<std::string> theirs = functions(bindings.out, "^mpi_.*_f08_");
    const std::set<std::string> ours = functions(library, "^mpi_.*_f08_");

    const std::set<std::string> c = functions(library, "^MPI_");

    EXPECT_GT(theirs.size(), 100u);
    for (const std::string& name : c) {
        const bool wide = name.ends_with("_c");
        const std::string called = wide ? name.substr(0, name.size() - 2) + "_f08_large_" : name + "_f08_";
        EXPECT_EQ(ours.contains(called), theirs.contains(called)) << called;
    }
}

using Run = std::tuple<std::string, std::string, int>;

class Fortran : public testing::TestWithParam<Run> {};

TEST_P(Fortran, IsRightAndTakenOver) {
    const auto& [mpi, name, ranks] = GetParam();
    const TemporaryFolder folder;
    const std::string program = LOOM_FORTRAN "/" + name + "_" + mpi + " " + folder.file("opened");

    const Outcome outcome = loom::test::shell(mpirun(mpi, ranks) + with_library(mpi, folder.file("report")) +
                                              "LOOM_MPI_BLOCKING=1 " + program);

    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    ASSERT_THAT(outcome.out, HasSubstr("all right")) << outcome.out << outcome.err;
    const auto report = nlohmann::json::parse(loom::test::slurp(folder.file("report")));
    EXPECT_EQ(report["share_of_asked_for"], 1.0) << report;
    EXPECT_EQ(report["share_taken_over"], 1.0) << report;
    EXPECT_EQ(report["ranks"], ranks);
}

INSTANTIATE_TEST_SUITE_P(Mpi, Fortran,
                         testing::Combine(testing::Values<std::string>("openmpi", "mpich"),
                                          testing::Values<std::string>("collectives_mpif", "collectives_mpi",
                                                                       "collectives_mpi_f08", "requests_mpif",
                                                                       "requests_mpi", "requests_mpi_f08", "fixed"),
                                          testing::Values(1, 2, 3, 4)),
                         [](const auto& one) {
                             return std::get<0>(one.param) + "_" + std::get<1>(one.param) + "_on_" +
                                    std::to_string(std::get<2>(one.param));
                         });

#endif

}  // namespace
