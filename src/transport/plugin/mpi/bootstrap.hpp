// The bootstrap over MPI: a fence is an allgather of what each rank has put.
#pragma once

#include <vector>

#include "loom/transport/plugin.hpp"
#include "loom/transport/values.hpp"
#include "transport/plugin/mpi/library.hpp"

namespace loom::transport::plugin {

class MpiBootstrap final : public Bootstrap {
public:
    explicit MpiBootstrap(const Settings& settings);

    [[nodiscard]] std::string_view name() const override { return "mpi"; }
    [[nodiscard]] Rank rank() const override { return Rank{static_cast<std::uint32_t>(world_.rank())}; }
    [[nodiscard]] std::uint32_t size() const override { return static_cast<std::uint32_t>(world_.size()); }

    void put(std::string_view key, std::string_view value) override { unsent_[std::string(key)] = value; }
    void fence() override;
    [[nodiscard]] std::string get(Rank of, std::string_view key) override;

private:
    void wait(MPI_Request& request);

    std::chrono::milliseconds timeout_;
    World world_;
    Values unsent_;
    std::vector<Values> values_;  // by rank
};

}  // namespace loom::transport::plugin
