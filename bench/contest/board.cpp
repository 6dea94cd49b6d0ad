#include "contest/board.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <new>
#include <stdexcept>

namespace loom::bench::coll {
namespace {

std::uint32_t* word(const std::atomic<std::uint32_t>& counter) {
    return reinterpret_cast<std::uint32_t*>(const_cast<std::atomic<std::uint32_t>*>(&counter));
}

}  // namespace

BoardFile::BoardFile(const std::filesystem::path& path, How how) : board_(nullptr) {
    const int flags = O_RDWR | O_CLOEXEC | (how == How::make ? O_CREAT | O_EXCL : 0);
    const int descriptor = open(path.c_str(), flags, 0600);
    if (descriptor < 0) throw std::runtime_error("cannot open " + path.string());
    const bool sized = how == How::open || ftruncate(descriptor, sizeof(Board)) == 0;
    void* memory = sized ? mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0) : MAP_FAILED;
    close(descriptor);
    if (memory == MAP_FAILED) throw std::runtime_error("cannot map " + path.string());
    board_ = how == How::make ? new (memory) Board : static_cast<Board*>(memory);
}

BoardFile::~BoardFile() {
    munmap(board_, sizeof(Board));
}

bool await_change(const std::atomic<std::uint32_t>& counter, std::uint32_t seen, double seconds) {
    timespec end{};
    clock_gettime(CLOCK_MONOTONIC, &end);
    const double until = static_cast<double>(end.tv_sec) + static_cast<double>(end.tv_nsec) * 1e-9 + seconds;
    end.tv_sec = static_cast<time_t>(until);
    end.tv_nsec = static_cast<long>((until - std::floor(until)) * 1e9);
    while (counter.load(std::memory_order_acquire) == seen)
        if (syscall(SYS_futex, word(counter), FUTEX_WAIT_BITSET, seen, &end, nullptr, FUTEX_BITSET_MATCH_ANY) != 0 &&
            errno == ETIMEDOUT)
            return false;
    return true;
}

void wake_all(std::atomic<std::uint32_t>& counter) {
    syscall(SYS_futex, word(counter), FUTEX_WAKE, most_ranks + 1, nullptr, nullptr, 0);
}

void fail(Board& board, const std::string& why) {
    std::uint32_t none = 0;
    if (!board.failed.compare_exchange_strong(none, 1)) return;
    const std::size_t length = std::min(why.size(), board.failure.size() - 1);
    std::copy_n(why.begin(), length, board.failure.begin());
    board.failed.store(2, std::memory_order_release);
}

}  // namespace loom::bench::coll
