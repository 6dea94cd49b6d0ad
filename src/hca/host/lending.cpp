// A reader that asks the kernel for another process's memory pays for looking up its pages one by one. Where the owner
// knows that a peer will read something soon it puts references to the pages into a pipe (vmsplice), which costs less
// to both together; the bytes are still copied once, by the reader. What a pipe does not hold is read as ever.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "hca/host/lending.hpp"

namespace loom::hca {

std::uint64_t inode_of_pipe(int fd) {
    struct stat file {};
    return fstat(fd, &file) == 0 && S_ISFIFO(file.st_mode) ? file.st_ino : 0;
}

namespace {

// The reading end of the peer's pipe, which never waits. It is shared with the peer: one of our own would have to be
// opened by name, which takes as long as three reads. Negative: it cannot be had.
int fetch_pipe(const Peer& peer, Peer::Pipe& pipe, std::uint64_t fd, std::uint64_t inode) {
    if (pipe.inode == inode && pipe.fd >= 0) return pipe.fd;
    pipe.close();
    pipe.inode = inode;
    const int theirs = static_cast<int>(syscall(SYS_pidfd_getfd, peer.pidfd, static_cast<int>(fd), 0));
    if (theirs < 0) return -1;
    const int flags = fcntl(theirs, F_GETFL);
    if (inode == 0 || inode_of_pipe(theirs) != inode || flags < 0 || (flags & O_NONBLOCK) == 0) {
        ::close(theirs);
        return -1;
    }
    return pipe.fd = theirs;
}

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

}  // namespace loom::hca
