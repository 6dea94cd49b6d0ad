// Start-up of Loomband's ranks by MPI: they are those of MPI_COMM_WORLD.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "loom/transport/values.hpp"

namespace loom::mpi {

// Made by all ranks of MPI_COMM_WORLD, of which it keeps a duplicate until it is destroyed. A fence carries everything
// put, and word of ranks that gave up: where one did, the fence throws on every rank and says why.
class MpiBootstrap final : public transport::Bootstrap {
public:
    MpiBootstrap();
    ~MpiBootstrap() override { PMPI_Comm_free(&comm_); }
    MpiBootstrap(const MpiBootstrap&) = delete;
    MpiBootstrap& operator=(const MpiBootstrap&) = delete;

    [[nodiscard]] std::string_view name() const override { return "mpi"; }
    [[nodiscard]] Rank rank() const override { return Rank(static_cast<std::uint32_t>(rank_)); }
    [[nodiscard]] std::uint32_t size() const override { return static_cast<std::uint32_t>(size_); }

    void put(std::string_view key, std::string_view value) override { unsent_[std::string(key)] = value; }
    void fence() override;
    [[nodiscard]] std::string get(Rank of, std::string_view key) override;

    // Instead of the next fence, whichever that is for the others; no fence may follow. Nothing is done where a fence
    // said already that someone gave up.
    void give_up(std::string_view why);
    [[nodiscard]] MPI_Comm comm() const { return comm_; }  // the duplicate: collectives alone are called on it

private:
    std::vector<int> meet(int mine);

    MPI_Comm comm_ = MPI_COMM_NULL;
    int rank_ = 0, size_ = 1;
    bool abandoned_ = false;  // all know that someone gave up
    std::string why_;         // this rank did
    transport::Values unsent_;
    std::vector<transport::Values> known_;  // by rank
};

}  // namespace loom::mpi
