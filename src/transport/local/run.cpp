#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "loom/transport/open.hpp"
#include "transport/local/job.hpp"

namespace loom::transport {

void run_local(std::uint32_t ranks, const std::function<void(Transport&)>& body) {
    if (ranks == 0) throw UsageError("a job needs at least one rank");
    local::Job job(ranks);
    std::mutex mutex;
    std::exception_ptr first;
    const auto run = [&](std::uint32_t rank) {
        try {
            body(*job.endpoints[rank]);
        } catch (...) {
            {
                const std::lock_guard lock(mutex);
                if (!first) first = std::current_exception();
            }
            job.lose(Rank{rank});
        }
    };
    {
        std::vector<std::jthread> threads;
        for (std::uint32_t rank = 1; rank < ranks; ++rank) threads.emplace_back(run, rank);
        run(0);
    }
    if (first) std::rethrow_exception(first);
}

}  // namespace loom::transport
