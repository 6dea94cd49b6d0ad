// How ranks learn of each other before they can send: put, fence, get.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "loom/base/error.hpp"
#include "loom/base/ids.hpp"

namespace loom::transport {

// Start-up failed: the launcher is gone, a rank did not come, a key is missing.
class BootstrapError : public Error {
public:
    using Error::Error;
};

// Served by the local launcher (`loom run`), by PMIx (mpirun, srun) or by MPI. Values are bytes of any kind, some
// kilobytes long. Not thread-safe.
class Bootstrap {
public:
    virtual ~Bootstrap() = default;

    [[nodiscard]] virtual std::string_view name() const = 0;  // "launcher", "pmix", "mpi", "alone"
    [[nodiscard]] virtual Rank rank() const = 0;
    [[nodiscard]] virtual std::uint32_t size() const = 0;

    virtual void put(std::string_view key, std::string_view value) = 0;
    // Returns when every rank has called it; what they had put can be had afterwards. Throws BootstrapError when a
    // rank ended before it came, or after a minute (LOOM_BOOTSTRAP_TIMEOUT in seconds). Inside of MPI_Init
    // (libloom-mpi) ranks go on all or none, which a limit of each would break: there MPI alone says when to stop
    // waiting.
    virtual void fence() = 0;
    [[nodiscard]] virtual std::string get(Rank of, std::string_view key) = 0;

    // The first rank that put something else under `key` than rank 0. Cost: a get of every rank; less where one process
    // has them all.
    [[nodiscard]] virtual std::optional<Rank> first_unlike(std::string_view key) {
        const std::string first = get(Rank{0}, key);
        for (std::uint32_t rank = 1; rank < size(); ++rank)
            if (get(Rank{rank}, key) != first) return Rank{rank};
        return {};
    }

    // A rank of which the launcher says that it ended without being finished; of several each call answers another,
    // until all were named (PMIx and MPI name the first alone). Cheap enough for every millisecond.
    [[nodiscard]] virtual std::optional<Rank> lost() { return {}; }
    // This rank needs nobody any more: its end is no loss to others.
    virtual void finished() {}
};

// Who started this process: the local launcher, PMIx when its variables are set, MPICH's mpirun when its are (MPI_Init
// is then called), or nobody: a single rank. PMIx and MPI are plug-ins, loaded now. LOOM_BOOTSTRAP=launcher|pmix|mpi|
// alone decides otherwise. Throws BootstrapError.
[[nodiscard]] std::unique_ptr<Bootstrap> find_bootstrap();

}  // namespace loom::transport
