// libloom-pmix.so: the bootstrap of whatever speaks PMIx, such as Open MPI's mpirun and Slurm's srun --mpi=pmix.
#include <pmix.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "loom/transport/plugin.hpp"
#include "loom/transport/values.hpp"

namespace loom::transport::plugin {

namespace {

constexpr std::uint32_t nobody = 0xffffffffu;

// PMIx calls back from a thread of its own, perhaps after whoever asked has given up: what it touches is shared.
struct Answer {
    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;
    pmix_status_t status = PMIX_SUCCESS;
};

struct Job {
    std::atomic<std::uint32_t> lost{nobody};
    std::string name;
};

// The handler has no argument of ours: there is one PMIx in a process, and one job it is in.
std::shared_ptr<Job>& this_job() {
    static std::shared_ptr<Job> job;
    return job;
}

[[noreturn]] void fail(const std::string& what, pmix_status_t status) {
    throw BootstrapError("PMIx cannot " + what + ": " + PMIx_Error_string(status));
}

void check(pmix_status_t status, const char* what) {
    if (status != PMIX_SUCCESS) fail(what, status);
}

void fence_done(pmix_status_t status, void* argument) {
    const std::unique_ptr<std::shared_ptr<Answer>> holder(static_cast<std::shared_ptr<Answer>*>(argument));
    const std::lock_guard lock((*holder)->mutex);
    (*holder)->status = status;
    (*holder)->done = true;
    (*holder)->changed.notify_all();
}

void on_event(std::size_t, pmix_status_t, const pmix_proc_t* source, pmix_info_t[], std::size_t, pmix_info_t[],
              std::size_t, pmix_event_notification_cbfunc_fn_t done, void* argument) {
    const std::shared_ptr<Job> job = this_job();
    if (job && source != nullptr && job->name == source->nspace && source->rank <= PMIX_RANK_VALID) {
        std::uint32_t expected = nobody;
        job->lost.compare_exchange_strong(expected, source->rank);
    }
    if (done != nullptr) done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, argument);
}

void forget(pmix_status_t, std::size_t, void*) {}

class Pmix final : public Bootstrap {
public:
    explicit Pmix(const Settings& settings) : timeout_(settings.bootstrap_timeout) {
        check(PMIx_Init(&me_, nullptr, 0), "join the job");
        try {
            size_ = read_size();
            if (me_.rank >= size_) throw BootstrapError("PMIx gives a rank beyond the size of its job");
            job_->name = me_.nspace;
            this_job() = job_;
            listen();
        } catch (...) {
            PMIx_Finalize(nullptr, 0);
            throw;
        }
        values_.resize(size_);
        read_until_.resize(size_);
    }
    ~Pmix() override { PMIx_Finalize(nullptr, 0); }
    Pmix(const Pmix&) = delete;
    Pmix& operator=(const Pmix&) = delete;

    [[nodiscard]] std::string_view name() const override { return "pmix"; }
    [[nodiscard]] Rank rank() const override { return Rank{me_.rank}; }
    [[nodiscard]] std::uint32_t size() const override { return size_; }

    void put(std::string_view key, std::string_view value) override { unsent_[std::string(key)] = value; }

    // Each PMIx key is written once, for one fence: some servers keep showing the first value of a key.
    void fence() override {
        const std::string bytes = pack(unsent_);
        pmix_value_t value;
        PMIX_VALUE_CONSTRUCT(&value);
        value.type = PMIX_BYTE_OBJECT;
        value.data.bo.bytes = const_cast<char*>(bytes.data());
        value.data.bo.size = bytes.size();
        check(PMIx_Put(PMIX_GLOBAL, key_of(fences_ + 1).c_str(), &value), "put a value");
        check(PMIx_Commit(), "commit values");
        wait_for_all();
        unsent_.clear();
        ++fences_;
    }

    [[nodiscard]] std::string get(Rank of, std::string_view key) override {
        if (of.value >= size_) throw BootstrapError("there is no rank " + std::to_string(of.value) + " in this job");
        while (read_until_[of.value] < fences_) {
            unpack(read(of, key_of(read_until_[of.value] + 1)), values_[of.value]);
            ++read_until_[of.value];
        }
        return value_of(values_[of.value], of, key);
    }

    [[nodiscard]] std::optional<Rank> lost() override {
        const std::uint32_t who = job_->lost.load(std::memory_order_acquire);
        return who == nobody ? std::optional<Rank>() : Rank{who};
    }

private:
    static std::string key_of(std::uint32_t fence) { return "loom." + std::to_string(fence); }

    [[nodiscard]] std::uint32_t read_size() const {
        pmix_proc_t all = me_;
        all.rank = PMIX_RANK_WILDCARD;
        pmix_value_t* value = nullptr;
        check(PMIx_Get(&all, PMIX_JOB_SIZE, nullptr, 0, &value), "tell the size of the job");
        const std::uint32_t size = value->type == PMIX_UINT32 ? value->data.uint32 : 0;
        PMIX_VALUE_RELEASE(value);
        return size;
    }

    // Ranks that end otherwise than they should. Not every server tells of them.
    static void listen() {
        std::vector<pmix_status_t> codes{PMIX_ERR_PROC_ABORTED,       PMIX_ERR_PROC_ABORTING,
                                         PMIX_ERR_PROC_KILLED_BY_CMD, PMIX_ERR_PROC_REQUESTED_ABORT,
                                         PMIX_ERR_PROC_TERM_WO_SYNC,  PMIX_ERR_EXIT_NONZERO_TERM,
                                         PMIX_ERR_LOST_CONNECTION};
        PMIx_Register_event_handler(codes.data(), codes.size(), nullptr, 0, on_event, forget, nullptr);
    }

    void wait_for_all() {
        const auto answer = std::make_shared<Answer>();
        pmix_info_t collect;
        PMIX_INFO_CONSTRUCT(&collect);
        bool yes = true;
        PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
        auto holder = std::make_unique<std::shared_ptr<Answer>>(answer);
        const pmix_status_t status = PMIx_Fence_nb(nullptr, 0, &collect, 1, fence_done, holder.get());
        PMIX_INFO_DESTRUCT(&collect);
        if (status == PMIX_OPERATION_SUCCEEDED) return;
        check(status, "fence");
        (void)holder.release();  // fence_done has it now

        const auto deadline = std::chrono::steady_clock::now() + timeout_;
        std::unique_lock lock(answer->mutex);
        while (!answer->done) {
            answer->changed.wait_for(lock, std::chrono::milliseconds(20));
            if (answer->done) break;
            if (const auto who = lost(); who)
                throw BootstrapError("rank " + std::to_string(who->value) + " has ended, says PMIx");
            if (std::chrono::steady_clock::now() >= deadline)
                throw BootstrapError("waited in vain for all ranks for " +
                                     std::to_string(std::chrono::duration<double>(timeout_).count()) +
                                     " s (LOOM_BOOTSTRAP_TIMEOUT)");
        }
        if (answer->status != PMIX_SUCCESS) fail("fence", answer->status);
    }

    [[nodiscard]] std::string read(Rank of, const std::string& key) const {
        pmix_proc_t whose = me_;
        whose.rank = of.value;
        pmix_info_t timeout;
        PMIX_INFO_CONSTRUCT(&timeout);
        int seconds = static_cast<int>(std::chrono::ceil<std::chrono::seconds>(timeout_).count());
        PMIX_INFO_LOAD(&timeout, PMIX_TIMEOUT, &seconds, PMIX_INT);
        pmix_value_t* value = nullptr;
        const pmix_status_t status = PMIx_Get(&whose, key.c_str(), &timeout, 1, &value);
        PMIX_INFO_DESTRUCT(&timeout);
        if (status != PMIX_SUCCESS) fail("get what rank " + std::to_string(of.value) + " has put", status);
        const bool right = value->type == PMIX_BYTE_OBJECT;
        std::string bytes =
            right && value->data.bo.size > 0 ? std::string(value->data.bo.bytes, value->data.bo.size) : std::string();
        PMIX_VALUE_RELEASE(value);
        if (!right) throw BootstrapError("PMIx answers with a value of another type");
        return bytes;
    }

    std::chrono::milliseconds timeout_;
    pmix_proc_t me_{};
    std::uint32_t size_ = 0;
    std::shared_ptr<Job> job_ = std::make_shared<Job>();
    Values unsent_;
    std::uint32_t fences_ = 0;
    std::vector<Values> values_;             // by rank
    std::vector<std::uint32_t> read_until_;  // by rank: the last fence whose values are in values_
};

}  // namespace

}  // namespace loom::transport::plugin

#define LOOM_EXPORT extern "C" __attribute__((visibility("default")))

LOOM_EXPORT const char* loom_plugin_version() {
    return loom::transport::plugin::version;
}

LOOM_EXPORT loom::transport::Bootstrap* loom_open_bootstrap(const loom::transport::plugin::Settings& settings) {
    return std::make_unique<loom::transport::plugin::Pmix>(settings).release();
}
