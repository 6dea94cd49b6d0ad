// MPI's own collectives, of whichever MPI this is compiled with.
#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#define LOOM_INIT(operation) MPIX_##operation##_init
#else
#define LOOM_INIT(operation) MPI_##operation##_init
#endif

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "contest/library.hpp"

namespace loom::bench::coll {
namespace {

void check(int code) {
    if (code == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(code, text, &length);
    throw std::runtime_error(std::string(text, static_cast<std::size_t>(length)));
}

class Mpi final : public Library {
public:
    Mpi(int& argc, char**& argv) {
        check(MPI_Init(&argc, &argv));
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        MPI_Comm_size(MPI_COMM_WORLD, &size_);
        const auto neighbours = neighbours_of(rank(), ranks());
        const std::vector<int> list(neighbours.begin(), neighbours.end());
        const int degree = static_cast<int>(list.size());
        check(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, list.data(), MPI_UNWEIGHTED, degree, list.data(),
                                             MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph_));
    }
    Mpi(const Mpi&) = delete;
    Mpi& operator=(const Mpi&) = delete;
    ~Mpi() override {
        MPI_Comm_free(&graph_);
        MPI_Finalize();
    }

    [[nodiscard]] std::uint32_t rank() const override { return static_cast<std::uint32_t>(rank_); }
    [[nodiscard]] std::uint32_t ranks() const override { return static_cast<std::uint32_t>(size_); }
    [[nodiscard]] std::string description() const override {
        char text[MPI_MAX_LIBRARY_VERSION_STRING];
        int length = 0;
        MPI_Get_library_version(text, &length);
        const std::string all(text, static_cast<std::size_t>(length));
        return all.substr(0, all.find_first_of(",\n"));
    }

    [[nodiscard]] std::byte* allocate(std::uint64_t bytes) override { return ordinary_memory(bytes); }
    void prepare(const Shape& shape, std::byte* input, std::byte* output, Kept kept) override {
        shape_ = shape;
        in_ = input;
        out_ = output;
        kept_ = kept;
        bytes_ = static_cast<int>(shape.bytes);
        doubles_ = static_cast<int>(shape.bytes / sizeof(double));
        const std::size_t blocks = shape.blocks();
        counts_.assign(blocks, bytes_);
        double_counts_.assign(blocks, doubles_);
        at_.resize(blocks);
        far_.resize(blocks);
        types_.assign(blocks, MPI_BYTE);
        for (std::size_t i = 0; i < blocks; ++i) {
            at_[i] = static_cast<int>(i) * bytes_;
            far_[i] = static_cast<MPI_Aint>(i) * bytes_;
        }
        if (kept == Kept::persistent) check(make_persistent());
    }
    void start() override { check(kept_ == Kept::persistent ? MPI_Start(&request_) : start_fresh()); }
    [[nodiscard]] bool test() override {
        int done = 0;
        check(MPI_Test(&request_, &done, MPI_STATUS_IGNORE));
        return done != 0;
    }
    void wait() override { check(MPI_Wait(&request_, MPI_STATUS_IGNORE)); }
    void release() override {
        if (kept_ == Kept::persistent) check(MPI_Request_free(&request_));
    }
    [[nodiscard]] bool set_progress(Progress how) override { return how == Progress::manual; }

private:
    // clang-format off
    int start_fresh() {
        const MPI_Comm world = MPI_COMM_WORLD;
        MPI_Request* const r = &request_;
        switch (shape_.operation) {
            case Operation::barrier: return MPI_Ibarrier(world, r);
            case Operation::bcast: return MPI_Ibcast(out_, bytes_, MPI_BYTE, 0, world, r);
            case Operation::gather: return MPI_Igather(in_, bytes_, MPI_BYTE, out_, bytes_, MPI_BYTE, 0, world, r);
            case Operation::gatherv: return MPI_Igatherv(in_, bytes_, MPI_BYTE, out_, counts_.data(), at_.data(), MPI_BYTE, 0, world, r);
            case Operation::scatter: return MPI_Iscatter(in_, bytes_, MPI_BYTE, out_, bytes_, MPI_BYTE, 0, world, r);
            case Operation::scatterv: return MPI_Iscatterv(in_, counts_.data(), at_.data(), MPI_BYTE, out_, bytes_, MPI_BYTE, 0, world, r);
            case Operation::allgather: return MPI_Iallgather(in_, bytes_, MPI_BYTE, out_, bytes_, MPI_BYTE, world, r);
            case Operation::allgatherv: return MPI_Iallgatherv(in_, bytes_, MPI_BYTE, out_, counts_.data(), at_.data(), MPI_BYTE, world, r);
            case Operation::alltoall: return MPI_Ialltoall(in_, bytes_, MPI_BYTE, out_, bytes_, MPI_BYTE, world, r);
            case Operation::alltoallv: return MPI_Ialltoallv(in_, counts_.data(), at_.data(), MPI_BYTE, out_, counts_.data(), at_.data(), MPI_BYTE, world, r);
            case Operation::alltoallw: return MPI_Ialltoallw(in_, counts_.data(), at_.data(), types_.data(), out_, counts_.data(), at_.data(), types_.data(), world, r);
            case Operation::reduce: return MPI_Ireduce(in_, out_, doubles_, MPI_DOUBLE, MPI_SUM, 0, world, r);
            case Operation::allreduce: return MPI_Iallreduce(in_, out_, doubles_, MPI_DOUBLE, MPI_SUM, world, r);
            case Operation::reduce_scatter: return MPI_Ireduce_scatter(in_, out_, double_counts_.data(), MPI_DOUBLE, MPI_SUM, world, r);
            case Operation::reduce_scatter_block: return MPI_Ireduce_scatter_block(in_, out_, doubles_, MPI_DOUBLE, MPI_SUM, world, r);
            case Operation::scan: return MPI_Iscan(in_, out_, doubles_, MPI_DOUBLE, MPI_SUM, world, r);
            case Operation::exscan: return MPI_Iexscan(in_, out_, doubles_, MPI_DOUBLE, MPI_SUM, world, r);
            case Operation::neighbor_allgather: return MPI_Ineighbor_allgather(in_, bytes_, MPI_BYTE, out_, bytes_, MPI_BYTE, graph_, r);
            case Operation::neighbor_allgatherv: return MPI_Ineighbor_allgatherv(in_, bytes_, MPI_BYTE, out_, counts_.data(), at_.data(), MPI_BYTE, graph_, r);
            case Operation::neighbor_alltoall: return MPI_Ineighbor_alltoall(in_, bytes_, MPI_BYTE, out_, bytes_, MPI_BYTE, graph_, r);
            case Operation::neighbor_alltoallv: return MPI_Ineighbor_alltoallv(in_, counts_.data(), at_.data(), MPI_BYTE, out_, counts_.data(), at_.data(), MPI_BYTE, graph_, r);
            case Operation::neighbor_alltoallw: return MPI_Ineighbor_alltoallw(in_, counts_.data(), far_.data(), types_.data(), out_, counts_.data(), far_.data(), types_.data(), graph_, r);
        }
        return MPI_ERR_OTHER;
    }

    int make_persistent() {
        const MPI_Comm world = MPI_COMM_WORLD;
        const MPI_Info none = MPI_INFO_NULL;
        MPI_Request* const r = &request_;
        switch (shape_.operation) {
            case Operation::barrier: return LOOM_INIT(Barrier)(world, none, r);
            case Operation::bcast: return LOOM_INIT(Bcast)(out_, bytes_, MPI_BYTE, 0, world, none, r);
            case Operation::allgather: return LOOM_INIT(Allgather)(in_, bytes_, MPI_BYTE, out_, bytes_, MPI_BYTE, world, none, r);
            case Operation::alltoall: return LOOM_INIT(Alltoall)(in_, bytes_, MPI_BYTE, out_, bytes_, MPI_BYTE, world, none, r);
            case Operation::reduce: return LOOM_INIT(Reduce)(in_, out_, doubles_, MPI_DOUBLE, MPI_SUM, 0, world, none, r);
            case Operation::allreduce: return LOOM_INIT(Allreduce)(in_, out_, doubles_, MPI_DOUBLE, MPI_SUM, world, none, r);
            case Operation::neighbor_alltoall: return LOOM_INIT(Neighbor_alltoall)(in_, bytes_, MPI_BYTE, out_, bytes_, MPI_BYTE, graph_, none, r);
            default: return MPI_ERR_OTHER;
        }
    }
    // clang-format on

    int rank_ = 0, size_ = 1;
    MPI_Comm graph_ = MPI_COMM_NULL;
    MPI_Request request_ = MPI_REQUEST_NULL;
    Shape shape_;
    Kept kept_ = Kept::fresh;
    std::byte* in_ = nullptr;
    std::byte* out_ = nullptr;
    int bytes_ = 0, doubles_ = 0;
    std::vector<int> counts_, double_counts_, at_;
    std::vector<MPI_Aint> far_;
    std::vector<MPI_Datatype> types_;
};

}  // namespace

std::unique_ptr<Library> open_library(int& argc, char**& argv) {
    return std::make_unique<Mpi>(argc, argv);
}

}  // namespace loom::bench::coll
