// Programs that `loom twin cc` makes and `loom twin run --mpi` runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/process.hpp"

namespace {

using loom::test::loom_program;
using loom::test::Outcome;
using loom::test::shell;
using testing::HasSubstr;

class Programs : public testing::Test {
protected:
    // Compiled in the folder, as "prog".
    [[nodiscard]] Outcome compile(const std::string& source, const std::string& name = "prog.c",
                                  const std::string& options = "") const {
        std::ofstream(folder_.path() / name) << source;
        return loom_program("twin cc " + options + " '" + folder_.file(name) + "' -o '" + folder_.file("prog") + "'");
    }
    [[nodiscard]] Outcome run(int ranks, const std::string& options = "-q", const std::string& words = "") const {
        return loom_program("twin run " + options + " -n " + std::to_string(ranks) + " --mpi '" + folder_.file("prog") +
                            "' " + words);
    }

private:
    loom::test::TemporaryFolder folder_;
};

TEST_F(Programs, HaveGlobalsOfTheirOwn) {
    ASSERT_EQ(compile(R"(
#include <mpi.h>
#include <stdio.h>
static int counter = 10;
int common[1000];
static __thread int of_thread = 3;
int* pointer = &counter;
int main(int argc, char** argv) {
    int rank, size, sum, all;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i <= rank; ++i) {
        ++*pointer;
        common[999] += 2;
        ++of_thread;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int i = rank + 1; i < size; ++i) MPI_Barrier(MPI_COMM_WORLD);
    sum = counter == 11 + rank && common[999] == 2 * rank + 2 && of_thread == 4 + rank;
    MPI_Allreduce(&sum, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("%d of %d, %s\n", all, size, argv[1]);
    MPI_Finalize();
    return 0;
}
)")
                  .exit_code,
              0);

    const Outcome outcome = run(7, "-q", "words");

    EXPECT_EQ(outcome.out, "7 of 7, words\n") << outcome.err;
    EXPECT_EQ(outcome.exit_code, 0);
}

TEST_F(Programs, InCppHaveStaticsOfTheirOwn) {
    ASSERT_EQ(compile(R"(
#include <mpi.h>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>
std::vector<int> made(3, 5);
template <class T> struct Holder { static inline int value = 1; };
inline int& count() { static int here = 0; return here; }
int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    made.push_back(rank);
    Holder<int>::value += rank;
    count() += rank;
    MPI_Barrier(MPI_COMM_WORLD);
    int mine = made.size() == 4 && made[3] == rank && Holder<int>::value == 1 + rank && count() == rank, all = 0;
    try {
        MPI_Barrier(MPI_COMM_WORLD);
        throw std::runtime_error("caught");
    } catch (const std::exception& error) {
        mine += std::string(error.what()) == "caught";
    }
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) std::printf("%d\n", all);
    MPI_Finalize();
}
)",
                      "prog.cpp")
                  .exit_code,
              0);

    EXPECT_EQ(run(5).out, "10\n");
}

TEST_F(Programs, ThatNeedWhatIsNotThereDoNotCompile) {
    const std::string source = "#include <mpi.h>\nint main(void) { return MPI_Win_fence(0, 0); }\n";

    const Outcome in_c = compile(source), in_cpp = compile(source, "prog.cpp");

    EXPECT_NE(in_c.exit_code, 0);
    EXPECT_THAT(in_c.err, HasSubstr("MPI_Win_fence"));
    EXPECT_NE(in_cpp.exit_code, 0);
    EXPECT_THAT(in_cpp.err, HasSubstr("MPI_Win_fence"));
}

TEST_F(Programs, ThatAnotherCompilerMadeAreRefused) {
    ASSERT_EQ(compile("int MPI_Win_fence(int, int);\nint main(void) { return MPI_Win_fence(0, 0); }\n").exit_code, 0);
    const Outcome missing = run(2), other = loom_program("twin run --mpi -n 2 /bin/true");

    EXPECT_EQ(missing.exit_code, 2);
    EXPECT_THAT(missing.err, HasSubstr("needs MPI_Win_fence, which is not there"));
    EXPECT_EQ(other.exit_code, 2);
    EXPECT_THAT(other.err, HasSubstr("/bin/true is no program for ranks in one process: make it with loom twin cc"));
}

TEST_F(Programs, SeeVirtualTimeAlone) {
    ASSERT_EQ(compile(R"(
#include <mpi.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
int main(int argc, char** argv) {
    struct timespec a, b;
    struct timeval day;
    MPI_Init(&argc, &argv);
    clock_gettime(CLOCK_MONOTONIC, &a);
    sleep(2);
    usleep(500000);
    clock_gettime(CLOCK_MONOTONIC, &b);
    gettimeofday(&day, 0);
    printf("%ld %ld %ld %.1f\n", (long)(b.tv_sec - a.tv_sec), (b.tv_nsec - a.tv_nsec) / 1000000, (long)day.tv_sec,
           MPI_Wtime());
    MPI_Finalize();
    return time(0) == 946684802 ? 0 : 1;
}
)")
                  .exit_code,
              0);

    const Outcome outcome = run(1);

    EXPECT_EQ(outcome.out, "2 500 946684802 2.5\n");
    EXPECT_EQ(outcome.exit_code, 0);
}

TEST_F(Programs, MayExit) {
    ASSERT_EQ(compile(R"(
#include <mpi.h>
#include <stdlib.h>
static void deep(int rank) { exit(rank == 1 ? 7 : 0); }
int main(int argc, char** argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 1) MPI_Abort(MPI_COMM_WORLD, 9);
    MPI_Finalize();
    deep(rank);
}
)")
                  .exit_code,
              0);

    EXPECT_EQ(run(3).exit_code, 7);
    const Outcome aborted = run(3, "-q", "now");
    EXPECT_EQ(aborted.exit_code, 9);
    EXPECT_EQ(aborted.err, "loom: rank 0: MPI_Abort with code 9\n");
}

TEST_F(Programs, AnswerAsOneObject) {
    ASSERT_EQ(compile(R"(
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("hello\n");
    MPI_Finalize();
    return 0;
}
)")
                  .exit_code,
              0);

    const Outcome outcome = run(4, "--json");

    const auto answer = nlohmann::json::parse(outcome.out, nullptr, false);
    ASSERT_TRUE(answer.is_object()) << outcome.out << outcome.err;
    EXPECT_EQ(answer["ranks"].size(), 4u);
    EXPECT_EQ(answer["exit_code"], 0);
    EXPECT_THAT(outcome.err, HasSubstr("hello\nhello\nhello\nhello\n"));
}

TEST(SameSource, HoldsWithOpenMpi) {
    for (const int ranks : {2, 3, 4}) {
        const std::string count = std::to_string(ranks);

        const Outcome real = shell("timeout 100 mpirun.openmpi --allow-run-as-root --oversubscribe -n " + count +
                                   " env ASAN_OPTIONS=detect_leaks=0 " LOOM_ANSWERS_OPENMPI);
        const Outcome twin = loom_program("twin run -q --mpi -n " + count + " " LOOM_ANSWERS_TWIN);

        EXPECT_EQ(real.exit_code, 0) << real.err;
        EXPECT_EQ(twin.exit_code, 0) << twin.err;
        EXPECT_EQ(real.out, twin.out);
        EXPECT_GT(twin.out.size(), 500u);
    }
}

}  // namespace
