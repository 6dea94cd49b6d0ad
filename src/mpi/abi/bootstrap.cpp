#include "mpi/abi/bootstrap.hpp"

#include <mpi.h>

#include <cstring>
#include <map>
#include <numeric>
#include <vector>

namespace loom::mpi {

namespace {

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

class MpiBootstrap final : public transport::Bootstrap {
public:
    MpiBootstrap() {
        PMPI_Comm_dup(MPI_COMM_WORLD, &comm_);
        PMPI_Comm_rank(comm_, &rank_);
        PMPI_Comm_size(comm_, &size_);
    }
    ~MpiBootstrap() override { PMPI_Comm_free(&comm_); }
    MpiBootstrap(const MpiBootstrap&) = delete;
    MpiBootstrap& operator=(const MpiBootstrap&) = delete;

    [[nodiscard]] std::string_view name() const override { return "mpi"; }
    [[nodiscard]] Rank rank() const override { return Rank(static_cast<std::uint32_t>(rank_)); }
    [[nodiscard]] std::uint32_t size() const override { return static_cast<std::uint32_t>(size_); }

    void put(std::string_view key, std::string_view value) override {
        append(unsent_, key);
        append(unsent_, value);
    }

    void fence() override {
        const int mine = static_cast<int>(unsent_.size());
        std::vector<int> lengths(static_cast<std::size_t>(size_)), starts(lengths.size());
        check(PMPI_Allgather(&mine, 1, MPI_INT, lengths.data(), 1, MPI_INT, comm_));
        std::exclusive_scan(lengths.begin(), lengths.end(), starts.begin(), 0);
        std::string all(static_cast<std::size_t>(starts.back() + lengths.back()), '\0');
        check(PMPI_Allgatherv(unsent_.data(), mine, MPI_BYTE, all.data(), lengths.data(), starts.data(), MPI_BYTE,
                              comm_));
        for (std::size_t from = 0; from < lengths.size(); ++from) {
            std::string_view bytes(all.data() + starts[from], static_cast<std::size_t>(lengths[from]));
            while (!bytes.empty()) {
                std::string key = take(bytes);
                known_[{Rank(static_cast<std::uint32_t>(from)), std::move(key)}] = take(bytes);
            }
        }
        unsent_.clear();
    }

    [[nodiscard]] std::string get(Rank of, std::string_view key) override {
        const auto found = known_.find({of, std::string(key)});
        if (found == known_.end())
            throw transport::BootstrapError("rank " + std::to_string(of.value) + " has put no '" + std::string(key) +
                                            "'");
        return found->second;
    }

private:
    static void check(int result) {
        if (result != MPI_SUCCESS) throw transport::BootstrapError("MPI could not exchange the addresses of ranks");
    }

    MPI_Comm comm_ = MPI_COMM_NULL;
    int rank_ = 0, size_ = 1;
    std::string unsent_;
    std::map<std::pair<Rank, std::string>, std::string> known_;
};

}  // namespace

std::unique_ptr<transport::Bootstrap> mpi_bootstrap() {
    return std::make_unique<MpiBootstrap>();
}

}  // namespace loom::mpi
