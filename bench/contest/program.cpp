// One rank of a contestant: does what the board orders with the library that it is linked with.
//   loom_coll_LIBRARY BOARD [NETWORK ADDRESS]...
// With networks, rank i enters the i-th network namespace and has a software HCA there, on its RoCE address.
#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <new>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>

#include "contest/board.hpp"
#include "work.hpp"

namespace loom::bench::coll {
namespace {

double processor_seconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// The first and the last core that we may use: one to compute on, and one for everything else.
class Cores {
public:
    Cores() {
        cpu_set_t all;
        CPU_ZERO(&all);
        if (sched_getaffinity(0, sizeof all, &all) != 0) throw std::runtime_error("no word of our cores");
        for (std::size_t core = 0; core < CPU_SETSIZE; ++core) {
            if (!CPU_ISSET(core, &all)) continue;
            if (CPU_COUNT(&first_) == 0) CPU_SET(core, &first_);
            CPU_ZERO(&last_);
            CPU_SET(core, &last_);
        }
    }
    // All threads of this process; who computes does so in the main one.
    void keep_apart(bool computes) const {
        if (CPU_EQUAL(&first_, &last_)) throw std::runtime_error("there is only one core");
        for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
            const auto id = static_cast<pid_t>(std::stol(thread.path().filename()));
            // One that has just ended needs no place.
            (void)sched_setaffinity(id, sizeof last_, computes && id == getpid() ? &first_ : &last_);
        }
    }

private:
    cpu_set_t first_{}, last_{};
};

// Memory that stays at its place while it is large enough: what libraries remember of it stays true.
class Memory {
public:
    [[nodiscard]] std::byte* take(Library& library, std::uint64_t bytes) {
        if (bytes > bytes_) {
            bytes_ = std::max<std::uint64_t>(bytes, std::uint64_t{1} << 20);
            memory_ = library.allocate(bytes_);
        }
        return memory_;
    }

private:
    std::byte* memory_ = nullptr;
    std::uint64_t bytes_ = 0;
};

class Measuring {
public:
    Measuring(Library& library, Board& board)
        : library_(library), board_(board), rank_(library.rank()), ranks_(library.ranks()) {
        if (ranks_ > most_ranks) throw std::runtime_error("too many ranks for the board");
        rate_ = computing_rate();
        if (rank_ == 0) {
            const std::string text = library.description();
            std::copy_n(text.begin(), std::min(text.size(), board.description.size() - 1), board.description.begin());
        }
    }

    void serve() {
        for (std::uint32_t seen = 0;; ++seen) {
            board_.answered.fetch_add(1, std::memory_order_acq_rel);
            wake_all(board_.answered);
            while (!await_change(board_.ordered, seen, 1))
                if (getppid() == 1) throw std::runtime_error("the launcher is gone");
            if (board_.order.task == Task::leave) return;
            obey(board_.order);
        }
    }

private:
    // Here nothing of the library is used. Returns when all ranks have come.
    void meet() {
        const std::uint32_t generation = board_.generation.load(std::memory_order_acquire);
        if (board_.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == ranks_) {
            board_.arrived.store(0, std::memory_order_relaxed);
            board_.begin = Clock::now() + (crowded_ ? std::chrono::nanoseconds(0) : until_all_know);
            board_.generation.store(generation + 1, std::memory_order_release);
            return;
        }
        while (board_.generation.load(std::memory_order_acquire) == generation) {
            if (board_.failed.load(std::memory_order_relaxed) != 0) throw std::runtime_error("another rank failed");
            if (crowded_)
                sched_yield();
            else
                __builtin_ia32_pause();
        }
    }

    // Whoever hears last that all have come would begin late, and the others' time would hold that: so everybody begins
    // at one instant, as in NBCBench (Hoefler 2008, IV.2.4). Where ranks share cores they come one after another
    // anyway.
    void await_begin() const {
        while (Clock::now() < board_.begin) __builtin_ia32_pause();
    }

    void obey(const Order& order) {
        Shape shape{order.operation, order.bytes, rank_, ranks_, {}};
        if (has_neighbours(order.operation)) shape.neighbours = neighbours_of(rank_, ranks_);
        std::byte* const input = input_.take(library_, shape.input_bytes());
        std::byte* const output = output_.take(library_, shape.output_bytes());
        if (!library_.set_progress(order.progress)) throw std::runtime_error("no such progress in this library");
        crowded_ = sysconf(_SC_NPROCESSORS_ONLN) < static_cast<long>(ranks_) || order.computing != everyone;
        computes_ = order.computing == everyone || order.computing == rank_;
        if (order.computing != everyone) cores_.keep_apart(computes_);
        if (order.task == Task::check) fill(shape, input, output);
        library_.prepare(shape, input, output, order.kept);
        if (rank_ == 0) {
            board_.answer = {};
            board_.stop_at.store(most_rounds + 1, std::memory_order_relaxed);
        }
        meet();
        if (order.task == Task::check) {
            const auto begin = Clock::now();
            library_.start();
            const double start = since(begin);
            library_.wait();
            if (rank_ == 0) board_.answer.start = start;
            if (const auto wrong = first_wrong(shape, output))
                throw std::runtime_error(std::string(name(order.operation)) + " of " + std::to_string(order.bytes) +
                                         " bytes: byte " + std::to_string(*wrong) + " of rank " +
                                         std::to_string(rank_) + " is wrong");
        } else {
            repeat(order);
        }
        library_.release();
        meet();
    }

    // The first round warms up.
    void repeat(const Order& order) {
        Clock::time_point begin = Clock::now();
        double processor = 0;
        std::uint32_t round = 0;
        for (;; ++round) {
            // Said before the others can come to this round, so that all stop at the same one.
            if (rank_ == 0 && (round == most_rounds + 1 || (round > order.least && since(begin) >= order.seconds)))
                board_.stop_at.store(round, std::memory_order_relaxed);
            meet();
            if (round >= board_.stop_at.load(std::memory_order_relaxed)) break;
            await_begin();
            Round unused;
            one(order, round == 0 ? unused : board_.rounds[rank_][round - 1]);
            if (round == 0) begin = Clock::now(), processor = processor_seconds();
        }
        board_.processor[rank_] = processor_seconds() - processor;
        meet();
        if (rank_ == 0) sum_up(round - 1, order.task == Task::time ? everyone : order.computing);
    }

    void one(const Order& order, Round& out) {
        out = {};
        switch (order.task) {
            case Task::overlap_fixed:
                return overlap_fixed(order, out);
            case Task::overlap_deadline:
                return overlap_deadline(order, out);
            default:
                break;
        }
        const auto begin = Clock::now();
        library_.start();
        out.start = since(begin);
        library_.wait();
        out.total = since(begin);
    }

    void work(std::uint64_t units) const {
        if (computes_)
            compute(units);
        else
            std::this_thread::sleep_for(std::chrono::duration<double>(static_cast<double>(units) / rate_));
    }

    void overlap_fixed(const Order& order, Round& out) {
        const auto units = static_cast<std::uint64_t>(order.work_seconds * rate_);
        const std::uint64_t slice = units / (order.tests + 1);
        auto begin = Clock::now();
        for (std::uint32_t i = 0; i <= order.tests; ++i) work(slice);
        out.work = since(begin);
        meet();
        await_begin();
        begin = Clock::now();
        library_.start();
        out.start = out.calls = since(begin);
        bool done = false;
        for (std::uint32_t i = 0; i <= order.tests; ++i) {
            work(slice);
            if (i == order.tests || done) continue;
            const auto testing = Clock::now();
            done = library_.test();
            out.calls += since(testing);
        }
        const auto waiting = Clock::now();
        if (!done) library_.wait();
        out.calls += since(waiting);
        out.total = since(begin);
    }

    void overlap_deadline(const Order& order, Round& out) {
        const double slice = order.work_seconds / (order.tests + 1);
        const auto begin = Clock::now();
        library_.start();
        out.start = out.calls = since(begin);
        bool done = false;
        for (std::uint32_t i = 0; i <= order.tests; ++i) {
            while (since(begin) < slice * (i + 1)) work(1);
            if (i == order.tests || done) continue;
            const auto testing = Clock::now();
            done = library_.test();
            out.calls += since(testing);
        }
        const auto waiting = Clock::now();
        if (!done) library_.wait();
        out.calls += since(waiting);
        out.total = since(begin);
    }

    void sum_up(std::uint32_t rounds, std::uint32_t computing) {
        std::vector<double> totals, works, calls, starts;
        for (std::uint32_t round = 0; round < rounds; ++round) {
            Round slowest{};
            for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
                if (computing != everyone && computing != rank) continue;
                const Round& one = board_.rounds[rank][round];
                slowest.total = std::max(slowest.total, one.total);
                slowest.work = std::max(slowest.work, one.work);
                slowest.calls = std::max(slowest.calls, one.calls);
                starts.push_back(one.start);
            }
            totals.push_back(slowest.total);
            works.push_back(slowest.work);
            calls.push_back(slowest.calls);
        }
        std::sort(starts.begin(), starts.end());
        Answer& answer = board_.answer;
        answer.rounds = rounds;
        answer.total = typical(std::move(totals));
        answer.work = typical(std::move(works));
        answer.calls = typical(std::move(calls));
        answer.start = starts[starts.size() / 2];
        answer.processor = std::accumulate(board_.processor.begin(), board_.processor.begin() + ranks_, 0.0) / rounds;
    }

    // The mean. Where every rank has a core, without the tenth of the rounds at either end: what disturbs a rank there
    // is not the library's doing. Where ranks share cores it is.
    [[nodiscard]] double typical(std::vector<double> values) const {
        std::sort(values.begin(), values.end());
        const std::size_t aside = crowded_ ? 0 : values.size() / 10;
        const auto begin = values.begin() + static_cast<std::ptrdiff_t>(aside);
        const auto end = values.end() - static_cast<std::ptrdiff_t>(aside);
        return std::accumulate(begin, end, 0.0) / static_cast<double>(end - begin);
    }

    // A word needs 0.3 us from one core to another at most here.
    static constexpr std::chrono::nanoseconds until_all_know{1500};

    Library& library_;
    Board& board_;
    std::uint32_t rank_, ranks_;
    const Cores cores_;
    bool computes_ = true;
    bool crowded_ = false;
    double rate_ = 0;
    Memory input_, output_;
};

// Before the library is opened: it must find what is there.
void enter_network(int argc, char** argv) {
    const char* rank = std::getenv("LOOM_RANK");
    const int at = 2 + 2 * (rank == nullptr ? 0 : std::atoi(rank));
    if (argc < 4) return;
    if (at + 1 >= argc) throw std::runtime_error("no network for this rank");
    const int network = open(argv[at], O_RDONLY | O_CLOEXEC);
    if (network < 0 || setns(network, CLONE_NEWNET) != 0)
        throw std::runtime_error(std::string("cannot enter ") + argv[at]);
    close(network);
    setenv("LOOM_VERBS_HCAS", (std::string("roce:") + argv[at + 1]).c_str(), 1);
}

int run(int argc, char** argv) {
    if (argc < 2) {
        std::fputs("usage: loom_coll_LIBRARY BOARD [NETWORK ADDRESS]...\n", stderr);
        return 2;
    }
    BoardFile board(argv[1], BoardFile::How::open);
    try {
        enter_network(argc, argv);
        const auto library = open_library(argc, argv);
        Measuring(*library, *board).serve();
        return 0;
    } catch (const std::exception& error) {
        fail(*board, error.what());
        std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
        std::_Exit(1);  // others may be waiting for us inside the library: it shall not wait for them
    }
}

}  // namespace

std::byte* ordinary_memory(std::uint64_t bytes) {
    void* const memory = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<std::byte*>(memory);
}

}  // namespace loom::bench::coll

int main(int argc, char** argv) {
    try {
        return loom::bench::coll::run(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
        return 1;
    }
}
