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
#include <utility>

#include "hca/engine.hpp"
#include "hca/host/lending.hpp"
#include "hca/interface/api.hpp"
#include "hca/interface/caught.hpp"

namespace loom::hca {

namespace {

constexpr std::uint64_t page = 4096;  // of a pipe's slot; where pages are larger fewer are needed
constexpr std::uint32_t default_pages = 16, most_pages = 256;
// Users have 16,384 pages for all their pipes, and shells want some too.
constexpr std::uint32_t pages_of_all_processes = 8192;
// One who takes nothing may not be able to: it is asked again only now and then.
constexpr std::uint32_t patience = 16, pause_after = 1000;

std::uint64_t inode_of(int fd) {
    struct stat file {};
    return fstat(fd, &file) == 0 && S_ISFIFO(file.st_mode) ? file.st_ino : 0;
}

Peer::Pipe make_pipe() {
    Peer::Pipe made;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return made;
    made.fd = ends[0];
    made.into = ends[1];
    made.inode = inode_of(made.fd);
    made.pages = static_cast<std::uint32_t>(std::max(0, fcntl(made.fd, F_GETPIPE_SZ)) / static_cast<int>(page));
    return made;
}

// The reading end of the peer's pipe, which never waits. It is shared with the peer: one of our own would have to be
// opened by name, which takes as long as three reads. Negative: it cannot be had.
int fetch_pipe(const Peer& peer, Peer::Pipe& pipe, std::uint64_t fd, std::uint64_t inode) {
    if (pipe.inode == inode && pipe.fd >= 0) return pipe.fd;
    pipe.close();
    pipe.inode = inode;
    const int theirs = static_cast<int>(syscall(SYS_pidfd_getfd, peer.pidfd, static_cast<int>(fd), 0));
    if (theirs < 0) return -1;
    const int flags = fcntl(theirs, F_GETFL);
    if (inode == 0 || inode_of(theirs) != inode || flags < 0 || (flags & O_NONBLOCK) == 0) {
        ::close(theirs);
        return -1;
    }
    return pipe.fd = theirs;
}

}  // namespace

// A pipe for the peer that is free, with room for so many pages or for as many as are left to this process; null when
// there is none. While there are enough each pipe takes what it needs. Once they run out each peer has one pipe and an
// equal part; those who had more give it back with their next loan.
Peer::Pipe* Engine::free_pipe(Peer& peer, std::uint32_t needed) {
    const auto processes = static_cast<std::uint32_t>(std::max<std::size_t>(2, up.size()));
    const std::uint32_t ours = pages_of_all_processes / processes;
    const std::uint32_t part = std::max(default_pages, std::bit_floor(ours / (processes - 1)));
    if (pipes_are_short)
        for (Peer::Pipe& each : peer.ours)
            if (each.fd >= 0 && each.number == 0 && (&each != peer.ours.data() || each.pages > part)) close_pipe(each);
    const auto usable = pipes_are_short ? peer.ours.begin() + 1 : peer.ours.end();
    const auto free = std::find_if(peer.ours.begin(), usable, [](const auto& each) { return each.number == 0; });
    if (free == usable) return nullptr;
    Peer::Pipe& pipe = *free;
    const auto fits = [&](std::uint32_t pages) { return pipe_pages - pipe.pages + pages <= ours; };
    if (pipe.fd < 0) {
        if (!fits(default_pages)) return pipes_are_short = true, nullptr;
        pipe = make_pipe();
        pipe_pages += pipe.pages;
        if (pipe.fd < 0) return peer.pause = pause_after, nullptr;
    }
    if (needed <= pipe.pages) return &pipe;
    std::uint32_t wanted = std::bit_ceil(needed);
    if (!fits(wanted)) pipes_are_short = true;
    if (pipes_are_short) wanted = std::min(wanted, part);
    if (wanted <= pipe.pages || !fits(wanted)) return &pipe;
    const int now = fcntl(pipe.fd, F_SETPIPE_SZ, wanted * static_cast<std::uint32_t>(page));
    if (now <= 0) return &pipe;
    pipe_pages -= pipe.pages;
    pipe.pages = static_cast<std::uint32_t>(now / static_cast<int>(page));
    pipe_pages += pipe.pages;
    return &pipe;
}

std::uint32_t Engine::lend(Qp& qp, std::span<const std::uint8_t> memory) {
    if (qp.path == nullptr || qp.path->peer == nullptr || memory.empty()) return 0;
    Peer& peer = *qp.path->peer;
    if (peer.self || peer.state != Peer::State::up || peer.in->can_pull.load(std::memory_order_relaxed) == 0) return 0;
    if (peer.pause != 0) {
        --peer.pause;
        return 0;
    }
    const std::uint64_t before = reinterpret_cast<std::uintptr_t>(memory.data()) % page;
    const std::uint64_t needed = std::min<std::uint64_t>((before + memory.size() + page - 1) / page, most_pages);
    Peer::Pipe* const found = free_pipe(peer, static_cast<std::uint32_t>(needed));
    if (found == nullptr) return 0;
    Peer::Pipe& pipe = *found;
    if (pipe.pages < needed / 2) return 0;  // it would not be worth it
    const iovec whole{const_cast<std::uint8_t*>(memory.data()), memory.size()};
    const ssize_t in_pipe = vmsplice(pipe.into, &whole, 1, SPLICE_F_NONBLOCK);
    if (in_pipe <= 0) {
        if (in_pipe < 0 && errno == EAGAIN) close_pipe(pipe);  // its reader only said that it is empty
        return 0;
    }
    const auto which = static_cast<std::size_t>(found - peer.ours.data());
    Lending& shown = peer.out->lent[which];
    std::atomic_thread_fence(std::memory_order_release);  // that nothing is lent there is seen first
    shown.address.store(reinterpret_cast<std::uintptr_t>(memory.data()), std::memory_order_relaxed);
    shown.length.store(static_cast<std::uint64_t>(in_pipe), std::memory_order_relaxed);
    shown.pipe.store(static_cast<std::uint64_t>(pipe.fd), std::memory_order_relaxed);
    shown.inode.store(pipe.inode, std::memory_order_relaxed);
    pipe.qpn = qp.qpn;
    pipe.number = ++peer.lent;
    shown.number.store(pipe.number, std::memory_order_release);
    return static_cast<std::uint32_t>(which + 1);
}

void Engine::take_back(Qp& qp, std::uint32_t loan) {
    if (loan == 0 || loan > lendings || qp.path == nullptr || qp.path->peer == nullptr) return;
    Peer& peer = *qp.path->peer;
    Peer::Pipe& pipe = peer.ours[loan - 1];
    if (pipe.number == 0 || pipe.qpn != qp.qpn) return;
    peer.out->lent[loan - 1].number.store(0, std::memory_order_seq_cst);
    if (std::exchange(pipe.number, 0) == peer.in->lent_taken[loan - 1].load(std::memory_order_acquire)) {
        peer.untaken = 0;
        return;
    }
    if (++peer.untaken >= patience) peer.pause = pause_after;
    // The pages are still in it.
    if (pit < 0) pit = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    ssize_t gone;
    do gone = splice(pipe.fd, nullptr, pit, nullptr, std::size_t{pipe.pages} * page, SPLICE_F_NONBLOCK);
    while (gone > 0);
    const bool empty = gone < 0 && errno == EAGAIN;
    // Somebody who reads may have found this loan for another of the same place, and not have come to the pipe yet:
    // what is lent next must not be in it.
    const auto copies = [&](std::size_t epoch) { return peer.in->copying[epoch].load(std::memory_order_seq_cst) != 0; };
    if (!empty || copies(0) || copies(1)) close_pipe(pipe);
}

void Engine::close_pipe(Peer::Pipe& pipe) {
    pipe_pages -= pipe.pages;
    pipe.close();
}

void Engine::end_loans(Qp& qp) {
    if (qp.path == nullptr || qp.path->peer == nullptr) return;
    for (std::uint32_t loan = 1; loan <= lendings; ++loan) take_back(qp, loan);
}

namespace {

struct Found {
    std::size_t which = 0;
    std::uint64_t number = 0, address = ~std::uint64_t{0}, length = 0, fd = 0, inode = 0;
};

// The first that is lent to us and lies whole in the `most` bytes from `from` on. None: its address is beyond all.
Found first_lent(const Peer& peer, std::uint64_t from, std::uint64_t most) {
    Found first;
    for (std::size_t which = 0; which < lendings; ++which) {
        const Lending& shown = peer.in->lent[which];
        const std::uint64_t number = shown.number.load(std::memory_order_seq_cst);  // after `copying`
        if (number == 0 || number == peer.theirs[which].number) continue;
        const Found found{which,
                          number,
                          shown.address.load(std::memory_order_relaxed),
                          shown.length.load(std::memory_order_relaxed),
                          shown.pipe.load(std::memory_order_relaxed),
                          shown.inode.load(std::memory_order_relaxed)};
        std::atomic_thread_fence(std::memory_order_acquire);
        if (shown.number.load(std::memory_order_relaxed) != number) continue;
        const std::uint64_t before = found.address - from;
        if (found.address < from || before >= most || found.length > most - before) continue;
        if (found.address < first.address) first = found;
    }
    return first;
}

}  // namespace

std::uint64_t read_lent(Peer& peer, std::uint64_t address, std::uint64_t most, IoList& into) {
    const Found lent = first_lent(peer, address, most);
    if (lent.address != address) return 0;
    Peer::Pipe& theirs = peer.theirs[lent.which];
    const int pipe = fetch_pipe(peer, theirs, lent.fd, lent.inode);
    theirs.number = lent.number;  // whatever comes of it, it is not tried again
    if (pipe < 0) return 0;
    std::uint64_t done = 0;
    while (done < lent.length) {
        // No more than was said to be in it, whatever is.
        std::size_t whole = 0;
        std::uint64_t left = lent.length - done;
        while (whole < into.count && into.first[whole].iov_len <= left) left -= into.first[whole++].iov_len;
        const std::size_t cut = whole < into.count ? std::exchange(into.first[whole].iov_len, left) : 0;
        const ssize_t got = readv(pipe, into.first, static_cast<int>(whole + (left != 0 ? 1 : 0)));
        if (whole < into.count) into.first[whole].iov_len = cut;
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return done;
        done += static_cast<std::uint64_t>(got);
        into.skip(static_cast<std::size_t>(got));
    }
    peer.out->lent_taken[lent.which].store(lent.number, std::memory_order_release);
    return done;
}

std::uint64_t before_lent(const Peer& peer, std::uint64_t address, std::uint64_t most) {
    return std::min(most, first_lent(peer, address, most).address - address);
}

namespace api {

std::uint32_t lend(ibv_qp* abi, const void* memory, std::size_t bytes) try {
    Engine* a = engine_of(abi->context);
    if (a == nullptr) return 0;
    const Guard guard(*a);
    return a->lend(Qp::of(abi), {static_cast<const std::uint8_t*>(memory), bytes});
} catch (const std::exception&) {
    return 0;
}

void take_back(ibv_qp* abi, std::uint32_t loan) try {
    Engine* a = engine_of(abi->context);
    if (a == nullptr) return;
    const Guard guard(*a);
    a->take_back(Qp::of(abi), loan);
} catch (const std::exception&) {
    // The caller has no way to hear of it.
}

}  // namespace api

}  // namespace loom::hca
