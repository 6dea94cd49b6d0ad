// An MPI program whose results are known: every collective with random arguments, compared with what the MPI library
// itself computes; many in flight, finished in every way there is, beside point-to-point messages; and scenarios.
//
//   workout [--cases N] [--seed N] [--blocking] [--no-scenarios] [--scenario NAME]
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "mpi/workout/case.hpp"

namespace loom::workout {
namespace {

struct Options {
    std::uint64_t cases = 220, seed = 1;
    bool blocking = false, scenarios = true;
    std::string only;
    int level = MPI_THREAD_SINGLE;
};

Options read_options(int argc, char** argv) {
    Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const auto number = [&] { return std::strtoull(argv[++i], nullptr, 10); };
        if (word == "--cases") options.cases = number();
        if (word == "--seed") options.seed = number();
        if (word == "--blocking") options.blocking = true;
        if (word == "--no-scenarios") options.scenarios = false;
        if (word == "--scenario") options.only = argv[++i];
        if (word == "--threads") options.level = MPI_THREAD_MULTIPLE;
    }
    return options;
}

// Messages round a ring, to be waited for together with collectives.
class Ring {
public:
    explicit Ring(std::size_t bytes) : sent_(bytes), got_(bytes) {
        int rank = 0, size = 1;
        PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
        PMPI_Comm_size(MPI_COMM_WORLD, &size);
        std::memset(sent_.data(), rank, bytes);
        from_ = (rank + size - 1) % size;
        MPI_Irecv(got_.data(), static_cast<int>(bytes), MPI_BYTE, from_, 77, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(sent_.data(), static_cast<int>(bytes), MPI_BYTE, (rank + 1) % size, 77, MPI_COMM_WORLD, &requests[1]);
    }
    void check() const {
        for (const char byte : got_)
            if (byte != static_cast<char>(from_)) throw std::runtime_error("the ring's message is wrong");
    }
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};

private:
    std::vector<char> sent_, got_;
    int from_ = 0;
};

void finish_any_way(std::vector<MPI_Request>& all, std::uint64_t way) {
    const int count = static_cast<int>(all.size());
    std::vector<MPI_Status> statuses(all.size());
    std::vector<int> indices(all.size());
    int left = count, flag = 0, index = 0, some = 0;
    switch (way % 7) {
        case 0:
            MPI_Waitall(count, all.data(), statuses.data());
            break;
        case 1:
            while (flag == 0) MPI_Testall(count, all.data(), &flag, MPI_STATUSES_IGNORE);
            break;
        case 2:
            for (; left > 0; --left) MPI_Waitany(count, all.data(), &index, &statuses[0]);
            break;
        case 3:
            while (left > 0) {
                MPI_Waitsome(count, all.data(), &some, indices.data(), statuses.data());
                left -= some;
            }
            break;
        case 4:
            while (left > 0) {
                MPI_Testsome(count, all.data(), &some, indices.data(), MPI_STATUSES_IGNORE);
                left -= some;
            }
            break;
        case 5:
            while (left > 0) {
                MPI_Testany(count, all.data(), &index, &flag, MPI_STATUS_IGNORE);
                left -= flag;
            }
            break;
        default:
            for (std::size_t i = all.size(); i-- > 0;) {
                for (int tries = 0; tries < 3 && flag == 0; ++tries)
                    MPI_Request_get_status(all[i], &flag, &statuses[0]);
                MPI_Wait(&all[i], &statuses[i]);
            }
    }
}

// Ten cases in flight, a message beside them.
void run_batch(const Wardrobe& wardrobe, std::uint64_t first, std::uint64_t number, bool blocking) {
    std::vector<std::unique_ptr<Case>> cases;
    for (std::uint64_t i = 0; i < number; ++i) {
        cases.push_back(make_case(wardrobe, first + i));
        cases.back()->ask_mpi();
    }
    const auto check = [&](const char* how) {
        for (std::uint64_t i = 0; i < number; ++i)
            if (const std::string wrong = cases[i]->wrong(); !wrong.empty())
                throw std::runtime_error("case " + std::to_string(first + i) + ", " + how + ": " + wrong);
    };
    {
        Ring ring(first % 3 == 0 ? 200000 : 100);
        std::vector<MPI_Request> requests(ring.requests, ring.requests + 2);
        for (auto& one : cases) {
            one->reset();
            requests.push_back(MPI_REQUEST_NULL);
            if (one->start(one->memory(one->out), &requests.back()) != MPI_SUCCESS)
                throw std::runtime_error(one->name + " was refused");
        }
        finish_any_way(requests, first / number);
        check("non-blocking");
        ring.check();
        for (const MPI_Request request : requests)
            if (request != MPI_REQUEST_NULL) throw std::runtime_error("a finished request is left");
    }
    std::vector<MPI_Request> kept;
    for (auto& one : cases) {
        kept.push_back(MPI_REQUEST_NULL);
        if (one->init(one->memory(one->out), &kept.back()) != MPI_SUCCESS)
            throw std::runtime_error(one->name + " was refused as persistent");
    }
    for (int again = 0; again < 2; ++again) {
        for (auto& one : cases) one->reset();
        MPI_Startall(static_cast<int>(kept.size()), kept.data());
        finish_any_way(kept, first / number + static_cast<std::uint64_t>(again));
        check(again == 0 ? "persistent" : "persistent, again");
    }
    for (MPI_Request& request : kept) MPI_Request_free(&request);
    if (!blocking) return;
    for (auto& one : cases) {
        one->reset();
        one->blocking(one->memory(one->out));
    }
    check("blocking");
}

void run(const Options& options) {
    const Wardrobe wardrobe;
    int size = 1, rank = 0;
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    constexpr std::uint64_t batch = 10;
    for (std::uint64_t done = 0; done < options.cases; done += batch)
        run_batch(wardrobe, options.seed * 1000000 + done, batch, options.blocking);
    if (!options.scenarios) return;
    for (const Scenario& scenario : scenarios()) {
        if (size < scenario.least_ranks || (!options.only.empty() && options.only != scenario.name)) continue;
        try {
            scenario.run(wardrobe);
        } catch (const std::exception& error) {
            throw std::runtime_error(std::string(scenario.name) + ": " + error.what());
        }
    }
}

}  // namespace
}  // namespace loom::workout

int main(int argc, char** argv) {
    const loom::workout::Options options = loom::workout::read_options(argc, argv);
    int provided = 0, rank = 0;
    MPI_Init_thread(&argc, &argv, options.level, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (provided < options.level) {
        std::fprintf(stderr, "the MPI library has no threads\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    try {
        loom::workout::run(options);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (rank == 0) std::printf("all right\n");
    MPI_Finalize();
}
