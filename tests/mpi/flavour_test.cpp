#include "loom/mpi/flavour.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loom/base/error.hpp"
#include "loom/base/random.hpp"
#include "support/process.hpp"

namespace {

using namespace loom::mpi;
using testing::Contains;
using testing::StartsWith;

TEST(Flavour, IsFoundFromTheLibrariesThatAProgramNeeds) {
    EXPECT_EQ(flavour_of_program(std::string(LOOM_WORKOUT) + "_openmpi"), Flavour::openmpi);
    EXPECT_EQ(flavour_of_program(std::string(LOOM_WORKOUT) + "_mpich"), Flavour::mpich);
    EXPECT_EQ(flavour_of_program("/proc/self/exe"), std::nullopt);
    EXPECT_THAT(needed_libraries("/proc/self/exe"), Contains(StartsWith("libc.so")));
}

TEST(Flavour, IsFoundFromTheNameOfALauncher) {
    EXPECT_EQ(flavour_of_launcher("/usr/bin/mpirun.openmpi"), Flavour::openmpi);
    EXPECT_EQ(flavour_of_launcher("somewhere/mpiexec.hydra"), Flavour::mpich);
    EXPECT_EQ(flavour_of_launcher("srun"), std::nullopt);
    EXPECT_THROW(static_cast<void>(parse_flavour("lam")), loom::UsageError);
}

// A file may claim anything.
TEST(Flavour, OfBrokenFilesIsNone) {
    const loom::test::TemporaryFolder folder;
    const std::string whole = loom::test::slurp(std::string(LOOM_WORKOUT) + "_openmpi");
    loom::Random random(3);
    std::size_t found = 0;

    for (int i = 0; i < 200; ++i) {
        std::string broken = whole.substr(0, 64 + random.below(4096));
        for (int k = 0; k < 20; ++k)
            broken[16 + random.below(static_cast<std::uint32_t>(broken.size() - 16))] ^= '\x41';
        std::ofstream(folder.file("broken"), std::ios::binary) << broken;
        found += needed_libraries(folder.file("broken")).size();
    }

    EXPECT_LT(found, 200u * 100u);
    EXPECT_TRUE(needed_libraries(folder.file("missing")).empty());
    EXPECT_TRUE(needed_libraries(folder.path()).empty());
}

}  // namespace
