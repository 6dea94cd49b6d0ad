// Libraries of collectives that are up at the same time and take turns.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "contest/board.hpp"
#include "peer/harness/process.hpp"
#include "support/network/namespaces.hpp"

namespace loom::bench {

enum class Who : unsigned char {
    native,     // Loomband's own API under `loom run`
    shared,     // the same with its data in memory that the library allocated
    preloaded,  // an MPI program under Open MPI with libloom-mpi loaded
    openmpi,
    mpich,
    bare,    // no library under `loom run`: what the machine allows; no reductions
    nbc,     // nbc.h of libloom-mpi under Open MPI
    libnbc,  // LibNBC under Open MPI
};
inline constexpr Who everybody[] = {Who::native, Who::shared, Who::preloaded, Who::openmpi, Who::mpich, Who::bare};
[[nodiscard]] const char* to_string(
    Who who);  // "native", "allocated", "libloom-mpi", "Open MPI", "MPICH", "bare", "nbc.h", "LibNBC"

// The ranks of one contestant, asleep until asked. They end with this object.
class Contestant {
public:
    // Each rank on a core; or what launchers do with more ranks than cores when they are not told: `loom run` does the
    // same, those of MPI let them run anywhere; or where orders say, each rank with a core to spare as far as it knows.
    enum class Placing : unsigned char { bound, usual, ordered };

    // On `hosts`, rank 0 on the left and rank 1 on the right one: native only. `library`: LibNBC's, for it alone.
    Contestant(Who who, std::uint32_t ranks, Placing placing, const test::TwoHosts* hosts = nullptr,
               const std::filesystem::path& library = {});

    [[nodiscard]] Who who() const { return who_; }
    // Nothing once it has failed: wrong data, an error, or no answer within half a minute. failure() says why.
    [[nodiscard]] std::optional<coll::Answer> ask(const coll::Order& order);
    [[nodiscard]] const std::string& failure() const { return failure_; }
    [[nodiscard]] std::string description() const { return board_->description.data(); }

private:
    bool await_answers();

    Who who_;
    std::uint32_t ranks_;
    std::uint32_t orders_ = 0;
    peer::TemporaryFolder folder_;
    coll::BoardFile board_;
    std::string failure_;
    std::unique_ptr<peer::Background> process_;
};

// Those that do not come up are named on standard error and left out.
[[nodiscard]] std::vector<std::unique_ptr<Contestant>> gather(const std::vector<Who>& who, std::uint32_t ranks,
                                                              Contestant::Placing placing,
                                                              const std::filesystem::path& library = {});

// `order` to all in turn, `rounds` times (five at most where a round takes more than a fifth of a second), another one
// first each time. Answers by contestant; one that failed has no more of them from then on.
[[nodiscard]] std::vector<std::vector<coll::Answer>> take_turns(std::vector<std::unique_ptr<Contestant>>& contestants,
                                                                const coll::Order& order, unsigned rounds);

}  // namespace loom::bench
