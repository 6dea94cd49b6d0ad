// LibNBC's interface under Open MPI: the library that LOOM_BENCH_NBC names, or libloom-mpi where it is preloaded. Found
// when it runs, so that both are measured by the same program; handles are memory of which it knows nothing.
#include <dlfcn.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "contest/library.hpp"

namespace loom::bench::coll {
namespace {

// As LibNBC 1.1.1 declares them.
struct Functions {
    using Ints = const int*;
    using Type = MPI_Datatype;
    int (*wait)(void*, MPI_Status*);
    int (*test)(void*);
    int (*barrier)(MPI_Comm, void*);
    int (*bcast)(void*, int, Type, int, MPI_Comm, void*);
    int (*gather)(const void*, int, Type, void*, int, Type, int, MPI_Comm, void*);
    int (*gatherv)(const void*, int, Type, void*, Ints, Ints, Type, int, MPI_Comm, void*);
    int (*scatter)(const void*, int, Type, void*, int, Type, int, MPI_Comm, void*);
    int (*scatterv)(const void*, Ints, Ints, Type, void*, int, Type, int, MPI_Comm, void*);
    int (*allgather)(const void*, int, Type, void*, int, Type, MPI_Comm, void*);
    int (*allgatherv)(const void*, int, Type, void*, Ints, Ints, Type, MPI_Comm, void*);
    int (*alltoall)(const void*, int, Type, void*, int, Type, MPI_Comm, void*);
    int (*alltoallv)(const void*, Ints, Ints, Type, void*, Ints, Ints, Type, MPI_Comm, void*);
    int (*reduce)(const void*, void*, int, Type, MPI_Op, int, MPI_Comm, void*);
    int (*allreduce)(const void*, void*, int, Type, MPI_Op, MPI_Comm, void*);
    int (*reduce_scatter)(const void*, void*, Ints, Type, MPI_Op, MPI_Comm, void*);
    int (*scan)(const void*, void*, int, Type, MPI_Op, MPI_Comm, void*);
};

class Finder {
public:
    explicit Finder(const char* file) {
        if (file == nullptr) return;
        library_ = dlopen(file, RTLD_NOW | RTLD_LOCAL);
        if (library_ == nullptr) throw std::runtime_error(dlerror());
        prefix_ = "NBC_";
    }
    template <class Function>
    void operator()(const char* name, Function& function) const {
        void* const found = dlsym(library_, (prefix_ + name).c_str());
        if (found == nullptr) throw std::runtime_error("there is no " + prefix_ + name);
        function = reinterpret_cast<Function>(found);
    }

private:
    void* library_ = RTLD_DEFAULT;
    std::string prefix_ = "loom_NBC_";
};

Functions find_functions() {
    const Finder find(std::getenv("LOOM_BENCH_NBC"));
    Functions all{};
    find("Wait", all.wait);
    find("Testold", all.test);
    find("Ibarrier", all.barrier);
    find("Ibcast", all.bcast);
    find("Igather", all.gather);
    find("Igatherv", all.gatherv);
    find("Iscatter", all.scatter);
    find("Iscatterv", all.scatterv);
    find("Iallgather", all.allgather);
    find("Iallgatherv", all.allgatherv);
    find("Ialltoall", all.alltoall);
    find("Ialltoallv", all.alltoallv);
    find("Ireduce", all.reduce);
    find("Iallreduce", all.allreduce);
    find("Ireduce_scatter", all.reduce_scatter);
    find("Iscan", all.scan);
    return all;
}

void check(int code) {
    if (code != 0) throw std::runtime_error("a function of LibNBC's interface failed: " + std::to_string(code));
}

class Nbc final : public Library {
public:
    Nbc(int& argc, char**& argv) : call_(find_functions()) {
        MPI_Init(&argc, &argv);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        MPI_Comm_size(MPI_COMM_WORLD, &size_);
    }
    Nbc(const Nbc&) = delete;
    Nbc& operator=(const Nbc&) = delete;
    ~Nbc() override { MPI_Finalize(); }

    [[nodiscard]] std::uint32_t rank() const override { return static_cast<std::uint32_t>(rank_); }
    [[nodiscard]] std::uint32_t ranks() const override { return static_cast<std::uint32_t>(size_); }
    [[nodiscard]] std::string description() const override {
        return std::getenv("LOOM_BENCH_NBC") == nullptr ? "nbc.h of Loomband" : "LibNBC";
    }

    [[nodiscard]] std::byte* allocate(std::uint64_t bytes) override { return ordinary_memory(bytes); }
    void prepare(const Shape& shape, std::byte* input, std::byte* output, Kept kept) override {
        if (kept == Kept::persistent) throw std::runtime_error("LibNBC keeps no operations");
        shape_ = shape;
        in_ = input;
        out_ = output;
        bytes_ = static_cast<int>(shape.bytes);
        doubles_ = static_cast<int>(shape.bytes / sizeof(double));
        counts_.assign(shape.blocks(), bytes_);
        double_counts_.assign(shape.blocks(), doubles_);
        at_.resize(shape.blocks());
        for (std::size_t i = 0; i < at_.size(); ++i) at_[i] = static_cast<int>(i) * bytes_;
    }
    void start() override { check(start_shape()); }
    [[nodiscard]] bool test() override { return call_.test(handle()) == 0; }
    void wait() override { check(call_.wait(handle(), &status_)); }
    void release() override {}
    [[nodiscard]] bool set_progress(Progress how) override { return how == Progress::manual; }

private:
    [[nodiscard]] void* handle() { return handle_.data(); }

    // clang-format off
    int start_shape() {
        const MPI_Comm world = MPI_COMM_WORLD;
        void* const h = handle();
        switch (shape_.operation) {
            case Operation::barrier: return call_.barrier(world, h);
            case Operation::bcast: return call_.bcast(out_, bytes_, MPI_BYTE, 0, world, h);
            case Operation::gather: return call_.gather(in_, bytes_, MPI_BYTE, out_, bytes_, MPI_BYTE, 0, world, h);
            case Operation::gatherv: return call_.gatherv(in_, bytes_, MPI_BYTE, out_, counts_.data(), at_.data(), MPI_BYTE, 0, world, h);
            case Operation::scatter: return call_.scatter(in_, bytes_, MPI_BYTE, out_, bytes_, MPI_BYTE, 0, world, h);
            case Operation::scatterv: return call_.scatterv(in_, counts_.data(), at_.data(), MPI_BYTE, out_, bytes_, MPI_BYTE, 0, world, h);
            case Operation::allgather: return call_.allgather(in_, bytes_, MPI_BYTE, out_, bytes_, MPI_BYTE, world, h);
            case Operation::allgatherv: return call_.allgatherv(in_, bytes_, MPI_BYTE, out_, counts_.data(), at_.data(), MPI_BYTE, world, h);
            case Operation::alltoall: return call_.alltoall(in_, bytes_, MPI_BYTE, out_, bytes_, MPI_BYTE, world, h);
            case Operation::alltoallv: return call_.alltoallv(in_, counts_.data(), at_.data(), MPI_BYTE, out_, counts_.data(), at_.data(), MPI_BYTE, world, h);
            case Operation::reduce: return call_.reduce(in_, out_, doubles_, MPI_DOUBLE, MPI_SUM, 0, world, h);
            case Operation::allreduce: return call_.allreduce(in_, out_, doubles_, MPI_DOUBLE, MPI_SUM, world, h);
            case Operation::reduce_scatter: return call_.reduce_scatter(in_, out_, double_counts_.data(), MPI_DOUBLE, MPI_SUM, world, h);
            case Operation::scan: return call_.scan(in_, out_, doubles_, MPI_DOUBLE, MPI_SUM, world, h);
            default: throw std::runtime_error(std::string("LibNBC has no ") + name(shape_.operation));
        }
    }
    // clang-format on

    Functions call_;
    int rank_ = 0, size_ = 1;
    // LibNBC's own has some 150 bytes.
    alignas(64) std::array<std::byte, 1024> handle_{};
    MPI_Status status_{};
    Shape shape_;
    std::byte* in_ = nullptr;
    std::byte* out_ = nullptr;
    int bytes_ = 0, doubles_ = 0;
    std::vector<int> counts_, double_counts_, at_;
};

}  // namespace

std::unique_ptr<Library> open_library(int& argc, char**& argv) {
    return std::make_unique<Nbc>(argc, argv);
}

}  // namespace loom::bench::coll
