// Window creation and freeing, barriers: what ranks ask their host for and wait until all have.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/host/network.hpp"
#include "device/host/tables.hpp"
#include "loom/base/error.hpp"

namespace loom::device {

struct Asked {
    Function function = Function::barrier;
    std::int32_t argument = 0;         // the communicator of a new window, the window to free
    std::uint64_t base = 0, size = 0;  // of a new window
    [[nodiscard]] bool same(const Asked& other) const {
        return function == other.function && argument == other.argument;
    }
};

// Of one device. When all its ranks have asked for the same the hosts exchange what they have, and each rank gets its
// acknowledgement.
class Collectives {
public:
    // `starts` has the first rank of each process, and the number of all ranks at its end.
    Collectives(Tables& tables, Network& network, std::vector<std::uint32_t> starts)
        : tables_(tables), network_(network), starts_(std::move(starts)), asked_(tables.size()) {}

    // Throws Error when ranks of the device ask for different things, or hosts do.
    void ask(std::uint32_t rank, const Asked& what);
    // Goes on as far as it can; what is acknowledged to all ranks (word 0) comes out. finish waits until `is_quiet`.
    [[nodiscard]] std::optional<std::uint32_t> step(bool is_quiet);
    // A window that was freed, or never was, in words.
    [[nodiscard]] std::string about(std::uint32_t window) const;
    [[nodiscard]] std::optional<Asked> asked(std::uint32_t rank) const { return asked_[rank]; }
    [[nodiscard]] bool is_finished() const { return finished_; }  // all processes are

private:
    [[nodiscard]] std::vector<std::byte> own_part() const;
    [[nodiscard]] std::uint32_t settle(const std::vector<std::vector<std::byte>>& parts);
    [[nodiscard]] std::uint32_t create(const std::vector<std::vector<std::byte>>& parts);
    [[nodiscard]] bool is_world() const;

    Tables& tables_;
    Network& network_;
    std::vector<std::uint32_t> starts_;
    std::vector<std::optional<Asked>> asked_;  // by rank of the device
    std::uint32_t count_ = 0;
    bool under_way_ = false, finished_ = false;
    std::int32_t next_world_ = 0, next_device_ = 1;  // windows of the world have even numbers: the same everywhere
};

}  // namespace loom::device
