#include "transport/plugin/mpi/bootstrap.hpp"

#include <sched.h>

#include <limits>

namespace loom::transport::plugin {

MpiBootstrap::MpiBootstrap(const Settings& settings)
    : timeout_(settings.bootstrap_timeout), values_(static_cast<std::size_t>(world_.size())) {}

void MpiBootstrap::wait(MPI_Request& request) {
    const auto deadline = std::chrono::steady_clock::now() + timeout_;
    for (int done = 0;;) {
        check(PMPI_Test(&request, &done, MPI_STATUS_IGNORE), "exchange what ranks put");
        if (done != 0) return;
        if (std::chrono::steady_clock::now() >= deadline) {
            world_.abandon();
            throw BootstrapError("waited in vain for all ranks for " +
                                 std::to_string(std::chrono::duration<double>(timeout_).count()) +
                                 " s (LOOM_BOOTSTRAP_TIMEOUT)");
        }
        sched_yield();
    }
}

void MpiBootstrap::fence() {
    const std::string mine = pack(unsent_);
    if (mine.size() > std::numeric_limits<int>::max()) throw BootstrapError("a rank has put more than 2 GiB");
    const int bytes = static_cast<int>(mine.size());
    std::vector<int> counts(values_.size()), places(values_.size());
    MPI_Request request = MPI_REQUEST_NULL;
    check(PMPI_Iallgather(&bytes, 1, MPI_INT, counts.data(), 1, MPI_INT, world_.comm(), &request), "fence");
    wait(request);
    std::int64_t total = 0;
    for (std::size_t rank = 0; rank < counts.size(); ++rank) {
        places[rank] = static_cast<int>(total);
        total += counts[rank];
        if (counts[rank] < 0 || total > std::numeric_limits<int>::max())
            throw BootstrapError("the ranks have put more than 2 GiB");
    }
    std::string all(static_cast<std::size_t>(total), '\0');
    check(PMPI_Iallgatherv(mine.data(), bytes, MPI_BYTE, all.data(), counts.data(), places.data(), MPI_BYTE,
                           world_.comm(), &request),
          "fence");
    wait(request);
    for (std::size_t rank = 0; rank < values_.size(); ++rank)
        unpack(std::string_view(all).substr(static_cast<std::size_t>(places[rank]),
                                            static_cast<std::size_t>(counts[rank])),
               values_[rank]);
    unsent_.clear();
}

std::string MpiBootstrap::get(Rank of, std::string_view key) {
    if (of.value >= values_.size())
        throw BootstrapError("there is no rank " + std::to_string(of.value) + " in this job");
    return value_of(values_[of.value], of, key);
}

}  // namespace loom::transport::plugin
