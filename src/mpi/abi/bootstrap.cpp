#include "mpi/abi/bootstrap.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace loom::mpi {

namespace {

constexpr int giving_up = -1;  // in the place of a length

void append(std::string& bytes, std::string_view text) {
    const std::uint64_t length = text.size();
    bytes.append(reinterpret_cast<const char*>(&length), sizeof length).append(text);
}

std::string take(std::string_view& bytes) {
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof length);
    std::string text(bytes.substr(sizeof length, length));
    bytes.remove_prefix(sizeof length + length);
    return text;
}

void check(int result) {
    if (result != MPI_SUCCESS) throw transport::BootstrapError("MPI could not exchange the addresses of ranks");
}

}  // namespace

MpiBootstrap::MpiBootstrap() {
    PMPI_Comm_dup(MPI_COMM_WORLD, &comm_);
    PMPI_Comm_rank(comm_, &rank_);
    PMPI_Comm_size(comm_, &size_);
}

void MpiBootstrap::put(std::string_view key, std::string_view value) {
    append(unsent_, key);
    append(unsent_, value);
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
    const int mine = static_cast<int>(unsent_.size());
    const std::vector<int> lengths = meet(mine);
    std::vector<int> starts(lengths.size());
    std::exclusive_scan(lengths.begin(), lengths.end(), starts.begin(), 0);
    std::string all(static_cast<std::size_t>(starts.back() + lengths.back()), '\0');
    check(PMPI_Allgatherv(unsent_.data(), mine, MPI_BYTE, all.data(), lengths.data(), starts.data(), MPI_BYTE, comm_));
    for (std::size_t from = 0; from < lengths.size(); ++from) {
        std::string_view bytes(all.data() + starts[from], static_cast<std::size_t>(lengths[from]));
        while (!bytes.empty()) {
            std::string key = take(bytes);
            known_[{Rank(static_cast<std::uint32_t>(from)), std::move(key)}] = take(bytes);
        }
    }
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
    const auto found = known_.find({of, std::string(key)});
    if (found == known_.end())
        throw transport::BootstrapError("rank " + std::to_string(of.value) + " has put no '" + std::string(key) + "'");
    return found->second;
}

}  // namespace loom::mpi
