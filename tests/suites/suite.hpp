// Other people's tests of collectives, built elsewhere: which there are, how each is run and how it says that it
// passed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "peer/harness/process.hpp"

namespace loom::suites {

enum class Mpi : unsigned char { openmpi, mpich };
[[nodiscard]] const char* to_string(Mpi mpi);

struct Test {
    std::string suite;  // "mpich", "imb", "osu", "nbc"
    std::string name;   // "coll/allred -count=10"
    std::filesystem::path folder;
    std::vector<std::string> program;  // with its arguments
    std::vector<std::pair<std::string, std::string>> environment;
    std::uint32_t ranks = 2;
    std::uint32_t wanted_ranks = 0;  // more than `ranks`: so many the suite asks for; 0: it leaves that to us
    bool built = true;               // else there is only its name
    bool switched_off = false;       // without our library it cannot be linked: LOOM_MPI=off where it is to do without
    double seconds = 60;             // then it has failed
    std::function<bool(const peer::Outcome&)> passed;
};

// `built` is a folder with what was built for one MPI. Tests that a suite names and that were not built are marked.
// Throws Error when there is nothing that could be run. MPICH's test suite: the lists of tests in its folders. Those
// that want more ranks than `most_ranks` get so many.
[[nodiscard]] std::vector<Test> mpich_suite(const std::filesystem::path& built, std::uint32_t most_ranks);
// Intel's IMB-NBC and IMB-MPI1, built with -DCHECK.
[[nodiscard]] std::vector<Test> imb_suite(const std::filesystem::path& built, std::uint32_t ranks);
// The collectives of the OSU micro-benchmarks: folders blocking, non_blocking, neighborhood and persistent.
[[nodiscard]] std::vector<Test> osu_suite(const std::filesystem::path& built, std::uint32_t ranks);
// LibNBC's tests, compiled here without a change: `sources` is a checkout of LibNBC, and `folder`, which must be empty,
// gets copies beside a link to our nbc.h, where they look for theirs. Throws Error too when one does not compile.
struct NbcParts {
    std::filesystem::path sources;
    std::filesystem::path header;   // include/loom/nbc.h
    std::filesystem::path library;  // libloom-mpi-openmpi.so
};
[[nodiscard]] std::vector<Test> nbc_suite(const NbcParts& parts, Mpi mpi, const std::filesystem::path& folder);

}  // namespace loom::suites
