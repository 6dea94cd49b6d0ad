#include "transport/bootstrap.hpp"

#include <charconv>
#include <map>

#include "loom/base/settings.hpp"
#include "transport/plugins.hpp"

namespace loom::transport {

namespace {

class Alone : public Bootstrap {
public:
    [[nodiscard]] std::string_view name() const override { return "alone"; }
    [[nodiscard]] Rank rank() const override { return Rank{0}; }
    [[nodiscard]] std::uint32_t size() const override { return 1; }

    void put(std::string_view key, std::string_view value) override { values_[std::string(key)] = value; }
    void fence() override {}
    [[nodiscard]] std::string get(Rank of, std::string_view key) override {
        const auto found = values_.find(key);
        if (of != rank() || found == values_.end())
            throw BootstrapError("rank " + std::to_string(of.value) + " has put no " + std::string(key));
        return found->second;
    }

private:
    std::map<std::string, std::string, std::less<>> values_;
};

bool is_set(const char* variable) {
    return !settings::variable(variable).value_or("").empty();
}

// Tasks that srun started without PMIx would each take themselves for a job of one.
void check_slurm() {
    const auto tasks = settings::variable("SLURM_STEP_NUM_TASKS");
    if (tasks && *tasks != "1")
        throw BootstrapError("srun has started " + *tasks +
                             " tasks that do not know of each other: use srun --mpi=pmix, or LOOM_BOOTSTRAP=alone");
}

std::string who_started_us() {
    if (const auto asked = settings::read(Setting::bootstrap)) return *asked;
    if (settings::read(Setting::twin)) return "twin";
    if (settings::read(Setting::run)) return "launcher";
    if (is_set("PMIX_NAMESPACE") && is_set("PMIX_RANK")) return "pmix";
    if (is_set("PMI_RANK") && is_set("PMI_SIZE")) return "mpi";  // MPICH's mpirun
    check_slurm();
    return "alone";
}

std::unique_ptr<Bootstrap> mpi_bootstrap() {
    const std::string library = mpi_of_this_process();
    if (library.empty()) throw BootstrapError("neither Open MPI's mpirun nor MPICH's has started this process");
    return plugged_bootstrap("transport-" + library);
}

}  // namespace

std::chrono::milliseconds bootstrap_timeout() {
    const auto text = settings::read(Setting::bootstrap_timeout);
    if (!text) return std::chrono::seconds(60);
    double seconds = 0;
    const char* const end = text->data() + text->size();
    const auto [stop, error] = std::from_chars(text->data(), end, seconds);
    if (error != std::errc{} || stop != end || !(seconds > 0 && seconds <= 1e6))
        throw BootstrapError("LOOM_BOOTSTRAP_TIMEOUT=" + *text + ": expected seconds, more than 0");
    return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000) + 1);
}

std::unique_ptr<Bootstrap> alone_bootstrap() {
    return std::make_unique<Alone>();
}

std::unique_ptr<Bootstrap> find_bootstrap() {
    const std::string kind = who_started_us();
    if (kind == "launcher") return launcher_bootstrap();
    if (kind == "twin" || kind == "pmix") return plugged_bootstrap(kind);
    if (kind == "mpi") return mpi_bootstrap();
    if (kind == "alone") return alone_bootstrap();
    throw BootstrapError("LOOM_BOOTSTRAP=" + kind + ": expected launcher, twin, pmix, mpi or alone");
}

}  // namespace loom::transport
