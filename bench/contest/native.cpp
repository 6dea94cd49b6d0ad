// Loomband's own collectives.
#include <algorithm>
#include <cstdlib>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "contest/library.hpp"
#include "loom/coll/communicator.hpp"
#include "loom/coll/operations.hpp"
#include "loom/coll/world.hpp"

namespace loom::bench::coll {
namespace {

using loom::coll::Call;
using loom::coll::Collective;

Collective collective_of(Operation operation) {
    switch (operation) {
        case Operation::barrier:
            return Collective::barrier;
        case Operation::bcast:
            return Collective::broadcast;
        case Operation::gather:
            return Collective::gather;
        case Operation::gatherv:
            return Collective::gatherv;
        case Operation::scatter:
            return Collective::scatter;
        case Operation::scatterv:
            return Collective::scatterv;
        case Operation::allgather:
            return Collective::allgather;
        case Operation::allgatherv:
            return Collective::allgatherv;
        case Operation::alltoall:
            return Collective::alltoall;
        case Operation::alltoallv:
        case Operation::alltoallw:  // in bytes they are the same
            return Collective::alltoallv;
        case Operation::reduce:
            return Collective::reduce;
        case Operation::allreduce:
            return Collective::allreduce;
        case Operation::reduce_scatter:
            return Collective::reduce_scatter;
        case Operation::reduce_scatter_block:
            return Collective::reduce_scatter_block;
        case Operation::scan:
            return Collective::scan;
        case Operation::exscan:
            return Collective::exscan;
        case Operation::neighbor_allgather:
            return Collective::neighbour_allgather;
        case Operation::neighbor_allgatherv:
            return Collective::neighbour_allgatherv;
        case Operation::neighbor_alltoall:
            return Collective::neighbour_alltoall;
        case Operation::neighbor_alltoallv:
        case Operation::neighbor_alltoallw:
            return Collective::neighbour_alltoallv;
    }
    return Collective::barrier;
}

loom::coll::Neighbours neighbours(std::uint32_t rank, std::uint32_t ranks) {
    loom::coll::Neighbours out;
    for (const std::uint32_t other : neighbours_of(rank, ranks)) out.sources.emplace_back(other);
    out.destinations = out.sources;
    return out;
}

class Native final : public Library {
public:
    Native()
        : world_(loom::coll::World::open()),
          everyone_(world_->communicator()),
          graph_(everyone_.graph(neighbours(rank(), ranks()))) {}

    [[nodiscard]] std::uint32_t rank() const override { return world_->rank().value; }
    [[nodiscard]] std::uint32_t ranks() const override { return world_->size(); }
    [[nodiscard]] std::string description() const override { return world_->transport().description(); }

    // LOOM_BENCH_MEMORY=shared: from the transport, as programs can have it. Otherwise as most programs have it.
    [[nodiscard]] std::byte* allocate(std::uint64_t bytes) override {
        const char* const memory = std::getenv("LOOM_BENCH_MEMORY");
        if (memory == nullptr || std::string_view(memory) != "shared") return ordinary_memory(bytes);
        return world_->transport().allocate(bytes).data();
    }

    void prepare(const Shape& shape, std::byte* input, std::byte* output, Kept kept) override {
        blocks_.assign(shape.blocks(), shape.bytes);
        at_.resize(shape.blocks());
        for (std::size_t i = 0; i < at_.size(); ++i) at_[i] = i * shape.bytes;
        const bool reduces = shape.operation >= Operation::reduce && shape.operation <= Operation::exscan;
        call_ = {};
        call_.what = collective_of(shape.operation);
        call_.bytes = shape.bytes;
        call_.element = reduces ? sizeof(double) : 1;
        const loom::coll::Blocks all{blocks_, at_};
        const loom::coll::Blocks one{std::span(blocks_).first(std::min<std::size_t>(1, blocks_.size())), {}};
        switch (call_.what) {
            case Collective::gatherv:
            case Collective::neighbour_allgatherv:
                call_.sent = one;
                call_.received = all;
                break;
            case Collective::scatterv:
                call_.sent = all;
                call_.received = shape.rank == 0 ? all : one;
                break;
            case Collective::alltoallv:
            case Collective::neighbour_alltoallv:
                call_.sent = call_.received = all;
                break;
            case Collective::allgatherv:
            case Collective::reduce_scatter:
                call_.received = all;
                break;
            default:
                break;
        }
        buffers_ = {input, output};
        reduction_ = reduces ? &sum_ : nullptr;
        where_ = has_neighbours(shape.operation) ? &graph_ : &everyone_;
        if (kept == Kept::persistent) persistent_.emplace(where_->prepare(call_, buffers_, reduction_));
    }
    void start() override {
        if (persistent_)
            persistent_->start();
        else
            request_ = where_->start(call_, buffers_, reduction_);
    }
    [[nodiscard]] bool test() override { return persistent_ ? persistent_->test() : request_.test(); }
    void wait() override {
        if (persistent_)
            persistent_->wait();
        else
            request_.wait();
    }
    void release() override { persistent_.reset(); }

    [[nodiscard]] bool set_progress(Progress how) override {
        const auto wanted = how == Progress::manual   ? loom::coll::Progress::manual
                            : how == Progress::thread ? loom::coll::Progress::thread
                                                      : loom::coll::Progress::real_time;
        if (world_->progress_state().how != wanted) world_->set_progress(wanted);
        return world_->progress_state().how == wanted;
    }

private:
    std::unique_ptr<loom::coll::World> world_;
    loom::coll::Communicator everyone_, graph_;
    const loom::coll::Communicator* where_ = nullptr;
    const loom::coll::Reduction sum_ = loom::coll::builtin(loom::coll::Operator::sum, loom::coll::Number::f64);
    const loom::coll::Reduction* reduction_ = nullptr;
    Call call_;
    loom::coll::Buffers buffers_;
    std::vector<std::uint64_t> blocks_, at_;
    loom::coll::Request request_;
    std::optional<loom::coll::Persistent> persistent_;
};

}  // namespace

std::unique_ptr<Library> open_library(int&, char**&) {
    return std::make_unique<Native>();
}

}  // namespace loom::bench::coll
