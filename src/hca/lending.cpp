// A reader that asks the kernel for another process's memory pays for looking up its pages one by one. Where the owner
// knows that a peer will read something soon it puts references to the pages into a pipe (vmsplice), which costs less
// to both together; the bytes are still copied once, by the reader. What a pipe does not hold is read as ever.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>

#include "hca/api.hpp"
#include "hca/engine.hpp"

namespace loom::hca {

namespace {

constexpr std::uint64_t page = 4096;  // of a pipe's slot; where pages are larger fewer are needed
constexpr std::uint32_t default_pages = 16, most_pages = 256;
// Users have 16,384 pages for all their pipes, and shells want some too.
constexpr std::uint32_t pages_per_process = 1024;
constexpr std::uint32_t patience = 4, longest_pause = 1024;

std::uint64_t inode_of(int fd) {
    struct stat file {};
    return fstat(fd, &file) == 0 && S_ISFIFO(file.st_mode) ? file.st_ino : 0;
}

// One descriptor for both ends: programs may have few.
Peer::Pipe make_pipe() {
    Peer::Pipe made;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return made;
    char path[40];
    std::snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
    made.fd = ::open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    ::close(ends[0]);
    ::close(ends[1]);
    if (made.fd < 0) return made;
    made.inode = inode_of(made.fd);
    made.pages = static_cast<std::uint32_t>(std::max(0, fcntl(made.fd, F_GETPIPE_SZ))) / page;
    return made;
}

// The peer's pipe, as a descriptor of ours. Negative: it cannot be had.
int fetch_pipe(const Peer& peer, Peer::Pipe& pipe, std::uint64_t fd, std::uint64_t inode) {
    if (pipe.inode == inode) return pipe.fd;
    if (pipe.fd >= 0) ::close(pipe.fd);
    pipe.inode = inode;
    pipe.fd = static_cast<int>(syscall(SYS_pidfd_getfd, peer.pidfd, static_cast<int>(fd), 0));
    if (pipe.fd < 0 || inode_of(pipe.fd) == inode) return pipe.fd;
    ::close(pipe.fd);
    return pipe.fd = -1;
}

}  // namespace

std::uint32_t Engine::lend(Qp& qp, std::span<const std::uint8_t> memory) {
    if (qp.path == nullptr || qp.path->peer == nullptr || memory.empty()) return 0;
    Peer& peer = *qp.path->peer;
    if (peer.self || peer.state != Peer::State::up) return 0;
    if (peer.pause != 0) {
        --peer.pause;
        return 0;
    }
    const auto free =
        std::find_if(peer.ours.begin(), peer.ours.end(), [](const auto& pipe) { return pipe.number == 0; });
    if (free == peer.ours.end()) return 0;
    Peer::Pipe& pipe = *free;
    if (pipe.fd < 0) {
        if (pipe_pages + default_pages > pages_per_process) return 0;
        pipe = make_pipe();
        if (pipe.fd < 0) return 0;
        pipe_pages += pipe.pages;
    }
    const std::uint64_t before = reinterpret_cast<std::uintptr_t>(memory.data()) % page;
    const std::uint64_t needed = std::min<std::uint64_t>((before + memory.size() + page - 1) / page, most_pages);
    if (needed > pipe.pages) {
        const std::uint32_t wanted = std::bit_ceil(static_cast<std::uint32_t>(needed));
        if (pipe_pages - pipe.pages + wanted <= pages_per_process) {
            const int now = fcntl(pipe.fd, F_SETPIPE_SZ, wanted * static_cast<std::uint32_t>(page));
            if (now > 0) {
                pipe_pages -= pipe.pages;
                pipe.pages = static_cast<std::uint32_t>(now) / page;
                pipe_pages += pipe.pages;
            }
        }
    }
    const iovec whole{const_cast<std::uint8_t*>(memory.data()), memory.size()};
    const ssize_t in_pipe = vmsplice(pipe.fd, &whole, 1, SPLICE_F_NONBLOCK);
    if (in_pipe <= 0) return 0;
    const auto which = static_cast<std::size_t>(free - peer.ours.begin());
    Lending& shown = peer.out->lent[which];
    shown.address.store(reinterpret_cast<std::uintptr_t>(memory.data()), std::memory_order_relaxed);
    shown.length.store(static_cast<std::uint64_t>(in_pipe), std::memory_order_relaxed);
    shown.pipe.store(static_cast<std::uint64_t>(pipe.fd), std::memory_order_relaxed);
    shown.inode.store(pipe.inode, std::memory_order_relaxed);
    pipe.number = ++peer.lent;
    shown.number.store(pipe.number, std::memory_order_release);
    return static_cast<std::uint32_t>(which + 1);
}

void Engine::take_back(Qp& qp, std::uint32_t loan) {
    if (loan == 0 || loan > lendings || qp.path == nullptr || qp.path->peer == nullptr) return;
    Peer& peer = *qp.path->peer;
    Peer::Pipe& pipe = peer.ours[loan - 1];
    if (pipe.number == 0) return;
    peer.out->lent[loan - 1].number.store(0, std::memory_order_release);
    const std::uint64_t taken = peer.in->lent_taken[loan - 1].load(std::memory_order_acquire);
    if (std::exchange(pipe.number, 0) == taken) {
        peer.untaken = 0;
        return;
    }
    // The pages are still in it. A new pipe costs less than to read them.
    pipe_pages -= pipe.pages;
    ::close(pipe.fd);
    pipe = {};
    if (++peer.untaken >= patience) peer.pause = std::min(longest_pause, 8u << std::min(peer.untaken - patience, 7u));
}

std::uint64_t Engine::read_lent(Peer& peer, std::uint64_t address, std::span<const iovec> into, std::uint64_t most) {
    for (std::size_t which = 0; which < lendings; ++which) {
        const Lending& shown = peer.in->lent[which];
        std::atomic<std::uint64_t>& taken = peer.out->lent_taken[which];
        const std::uint64_t number = shown.number.load(std::memory_order_acquire);
        if (number == 0 || number == taken.load(std::memory_order_relaxed)) continue;
        const std::uint64_t at = shown.address.load(std::memory_order_relaxed);
        const std::uint64_t length = shown.length.load(std::memory_order_relaxed);
        const std::uint64_t fd = shown.pipe.load(std::memory_order_relaxed);
        const std::uint64_t inode = shown.inode.load(std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_acquire);
        if (at != address || length > most || shown.number.load(std::memory_order_relaxed) != number) continue;
        const int pipe = fetch_pipe(peer, peer.theirs[which], fd, inode);
        if (pipe < 0) return 0;
        std::uint64_t done = 0, skipped = 0;
        for (std::size_t i = 0; i < into.size() && done < length;) {
            iovec pieces[max_sges];
            int count = 0;
            std::uint64_t left = length - done, skip = done - skipped;
            for (std::size_t j = i; j < into.size() && left != 0; ++j) {
                const std::uint64_t take = std::min<std::uint64_t>(into[j].iov_len - skip, left);
                pieces[count++] = {static_cast<char*>(into[j].iov_base) + skip, take};
                skip = 0;
                left -= take;
            }
            const ssize_t got = readv(pipe, pieces, count);
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) return done;
            done += static_cast<std::uint64_t>(got);
            while (i < into.size() && done - skipped >= into[i].iov_len) skipped += into[i++].iov_len;
        }
        taken.store(number, std::memory_order_release);
        return length;
    }
    return 0;
}

namespace api {

std::uint32_t lend(ibv_qp* abi, const void* memory, std::size_t bytes) {
    Engine* a = engine_of(abi->context);
    if (a == nullptr) return 0;
    const Guard guard(*a);
    return a->lend(Qp::of(abi), {static_cast<const std::uint8_t*>(memory), bytes});
}

void take_back(ibv_qp* abi, std::uint32_t loan) {
    Engine* a = engine_of(abi->context);
    if (a == nullptr) return;
    const Guard guard(*a);
    a->take_back(Qp::of(abi), loan);
}

}  // namespace api

}  // namespace loom::hca
