#include "mpi/abi/bootstrap.hpp"

#include <algorithm>
#include <limits>

namespace loom::mpi {

namespace {

constexpr int giving_up = -1;  // in the place of a length

void check(int result) {
    if (result != MPI_SUCCESS) throw transport::BootstrapError("MPI could not exchange the addresses of ranks");
}

}  // namespace

MpiBootstrap::MpiBootstrap() {
    PMPI_Comm_dup(MPI_COMM_WORLD, &comm_);
    PMPI_Comm_rank(comm_, &rank_);
    PMPI_Comm_size(comm_, &size_);
    known_.resize(static_cast<std::size_t>(size_));
}

// What every rank says: the length of what it has put, or that it gives up.
std::vector<int> MpiBootstrap::meet(int mine) {
    std::vector<int> said(static_cast<std::size_t>(size_));
    check(PMPI_Allgather(&mine, 1, MPI_INT, said.data(), 1, MPI_INT, comm_));
    const auto gone = std::find(said.begin(), said.end(), giving_up);
    if (gone == said.end()) return said;
    abandoned_ = true;
    const auto who = static_cast<int>(gone - said.begin());
    char text[512] = {};
    if (who == rank_) why_.copy(text, sizeof text - 1);
    check(PMPI_Bcast(text, sizeof text, MPI_CHAR, who, comm_));
    throw transport::BootstrapError("rank " + std::to_string(who) + ": " + text);
}

void MpiBootstrap::fence() {
    const std::string mine = transport::pack(unsent_);
    if (mine.size() > std::numeric_limits<int>::max())
        throw transport::BootstrapError("a rank has put more than 2 GiB");
    const std::vector<int> lengths = meet(static_cast<int>(mine.size()));
    std::vector<int> starts;
    std::int64_t total = 0;
    for (const int length : lengths) {
        starts.push_back(static_cast<int>(total));
        total += length;
        if (total > std::numeric_limits<int>::max())
            throw transport::BootstrapError("the ranks have put more than 2 GiB");
    }
    std::string all(static_cast<std::size_t>(total), '\0');
    check(PMPI_Allgatherv(mine.data(), static_cast<int>(mine.size()), MPI_BYTE, all.data(), lengths.data(),
                          starts.data(), MPI_BYTE, comm_));
    for (std::size_t from = 0; from < lengths.size(); ++from)
        transport::unpack(std::string_view(all).substr(static_cast<std::size_t>(starts[from]),
                                                       static_cast<std::size_t>(lengths[from])),
                          known_[from]);
    unsent_.clear();
}

void MpiBootstrap::give_up(std::string_view why) {
    if (abandoned_) return;
    why_ = why;
    try {
        (void)meet(giving_up);
    } catch (const transport::BootstrapError&) {
        // As it must be: all know now.
    }
}

std::string MpiBootstrap::get(Rank of, std::string_view key) {
    if (of.value >= known_.size())
        throw transport::BootstrapError("there is no rank " + std::to_string(of.value) + " in this job");
    return transport::value_of(known_[of.value], of, key);
}

}  // namespace loom::mpi
