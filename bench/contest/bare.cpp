// No library at all: what moving the bytes costs on this machine, with the fewest copies and the fewest turns that an
// operation can do with. Small data goes through a shared page, large data is fetched straight from the giver by the
// system. It knows that one operation is over everywhere before the next begins. No reductions.
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "contest/board.hpp"
#include "contest/library.hpp"

namespace loom::bench::coll {
namespace {

constexpr std::uint64_t small = 16'384;  // bytes of a rank's whole input

struct alignas(64) Place {
    std::atomic<std::uint32_t> came, fetched;  // the last operation in which it did
    std::uint32_t pid;
    std::uint64_t input;  // its address
    alignas(64) std::byte data[small];
};

class Bare final : public Library {
public:
    explicit Bare(const std::string& file)
        : rank_(number("LOOM_RANK")), ranks_(number("LOOM_SIZE")), place_(map(file)), own_(place_[rank_]) {
        crowded_ = sysconf(_SC_NPROCESSORS_ONLN) < static_cast<long>(ranks_);
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
        own_.pid = static_cast<std::uint32_t>(getpid());
    }
    ~Bare() override { munmap(place_, sizeof(Place) * most_ranks); }

    [[nodiscard]] std::uint32_t rank() const override { return rank_; }
    [[nodiscard]] std::uint32_t ranks() const override { return ranks_; }
    [[nodiscard]] std::string description() const override { return "shared memory and process_vm_readv"; }
    [[nodiscard]] std::byte* allocate(std::uint64_t bytes) override { return ordinary_memory(bytes); }

    void prepare(const Shape& shape, std::byte* input, std::byte* output, Kept) override {
        shape_ = shape;
        if (shape.operation >= Operation::reduce && shape.operation <= Operation::exscan)
            throw std::runtime_error("there are no reductions without a library");
        input_ = shape.operation == Operation::bcast ? output : input;
        output_ = output;
        own_.input = reinterpret_cast<std::uint64_t>(input_);
        is_small_ = shape.bytes * std::max<std::uint64_t>(shape.blocks(), 1) <= small;
    }
    void start() override {
        ++operation_;
        const std::uint64_t gives = bytes_given();
        if (is_small_ && gives != 0) std::memcpy(own_.data, input_, gives);
        own_.came.store(operation_, std::memory_order_release);
    }
    void wait() override {
        switch (shape_.operation) {
            case Operation::barrier:
                for (std::uint32_t from = 0; from < ranks_; ++from) await(place_[from].came);
                return;
            case Operation::bcast:
                if (rank_ != 0) fetch(0, 0, 0);
                break;
            case Operation::gather:
            case Operation::gatherv:
                for (std::uint32_t from = 0; from < ranks_ && rank_ == 0; ++from) fetch(from, 0, from);
                break;
            case Operation::scatter:
            case Operation::scatterv:
                fetch(0, rank_, 0);
                break;
            case Operation::allgather:
            case Operation::allgatherv:
                for (std::uint32_t i = 0; i < ranks_; ++i) fetch((rank_ + i) % ranks_, 0, (rank_ + i) % ranks_);
                break;
            case Operation::neighbor_allgather:
            case Operation::neighbor_allgatherv:
                for (std::uint32_t i = 0; i < shape_.neighbours.size(); ++i) fetch(shape_.neighbours[i], 0, i);
                break;
            case Operation::neighbor_alltoall:
            case Operation::neighbor_alltoallv:
            case Operation::neighbor_alltoallw:
                for (std::uint32_t i = 0; i < shape_.neighbours.size(); ++i) {
                    const auto theirs = neighbours_of(shape_.neighbours[i], ranks_);
                    const auto at = std::find(theirs.begin(), theirs.end(), rank_) - theirs.begin();
                    fetch(shape_.neighbours[i], static_cast<std::uint32_t>(at), i);
                }
                break;
            default:
                for (std::uint32_t i = 0; i < ranks_; ++i) fetch((rank_ + i) % ranks_, rank_, (rank_ + i) % ranks_);
        }
        own_.fetched.store(operation_, std::memory_order_release);
        if (!is_small_) await_readers();
    }
    [[nodiscard]] bool test() override {
        wait();
        return true;
    }
    void release() override {}
    [[nodiscard]] bool set_progress(Progress how) override { return how == Progress::manual; }

private:
    static std::uint32_t number(const char* name) {
        const char* const text = std::getenv(name);
        if (text == nullptr) throw std::runtime_error(std::string(name) + " is not set: not under loom run?");
        return static_cast<std::uint32_t>(std::atoi(text));
    }
    static Place* map(const std::string& file) {
        const int fd = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0 || ftruncate(fd, sizeof(Place) * most_ranks) != 0) throw std::runtime_error("cannot make " + file);
        void* const memory = mmap(nullptr, sizeof(Place) * most_ranks, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        close(fd);
        if (memory == MAP_FAILED) throw std::runtime_error("cannot map " + file);
        return static_cast<Place*>(memory);
    }

    [[nodiscard]] std::uint64_t bytes_given() const {
        const bool root_alone = shape_.operation == Operation::bcast || shape_.operation == Operation::scatter ||
                                shape_.operation == Operation::scatterv;
        if (root_alone && rank_ != 0) return 0;
        return shape_.operation == Operation::bcast ? shape_.bytes : shape_.input_bytes();
    }
    void await(const std::atomic<std::uint32_t>& flag) const {
        while (flag.load(std::memory_order_acquire) != operation_)
            if (crowded_)
                sched_yield();
            else
                __builtin_ia32_pause();
    }
    // Block `block` of what `from` gives, to block `to` of the output.
    void fetch(std::uint32_t from, std::uint64_t block, std::uint64_t to) const {
        std::byte* const into = output_ + to * shape_.bytes;
        if (from == rank_) {
            std::memcpy(into, input_ + block * shape_.bytes, shape_.bytes);
            return;
        }
        const Place& theirs = place_[from];
        await(theirs.came);
        if (is_small_) {
            std::memcpy(into, theirs.data + block * shape_.bytes, shape_.bytes);
            return;
        }
        for (std::uint64_t done = 0; done < shape_.bytes;) {
            const iovec here{into + done, shape_.bytes - done};
            const iovec there{reinterpret_cast<void*>(theirs.input + block * shape_.bytes + done), shape_.bytes - done};
            const ssize_t now = process_vm_readv(static_cast<pid_t>(theirs.pid), &here, 1, &there, 1, 0);
            if (now <= 0) throw std::runtime_error("process_vm_readv does not read");
            done += static_cast<std::uint64_t>(now);
        }
    }
    // What we gave may change when all who want it have it.
    void await_readers() const {
        if (has_neighbours(shape_.operation)) {
            for (const std::uint32_t other : shape_.neighbours) await(place_[other].fetched);
            return;
        }
        if (shape_.operation == Operation::gather || shape_.operation == Operation::gatherv)
            return await(place_[0].fetched);
        if (bytes_given() == 0) return;
        for (std::uint32_t other = 0; other < ranks_; ++other) await(place_[other].fetched);
    }

    std::uint32_t rank_, ranks_;
    Place* place_;
    Place& own_;
    bool crowded_ = false, is_small_ = false;
    std::uint32_t operation_ = 0;
    Shape shape_;
    std::byte* input_ = nullptr;
    std::byte* output_ = nullptr;
};

}  // namespace

std::unique_ptr<Library> open_library(int& argc, char**& argv) {
    if (argc < 2) throw std::runtime_error("no board");
    return std::make_unique<Bare>(std::string(argv[1]) + ".bare");
}

}  // namespace loom::bench::coll
