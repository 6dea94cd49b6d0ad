#include "hca/host/loans.hpp"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

#include "hca/host/lending.hpp"
#include "hca/host/peers.hpp"
#include "hca/objects/objects.hpp"
#include "hca/wire/path.hpp"

namespace loom::hca {

namespace {

constexpr std::uint64_t page = 4096;  // of a pipe's slot; where pages are larger fewer are needed
constexpr std::uint32_t default_pages = 16, most_pages = 256;
// Users have 16,384 pages for all their pipes, and shells want some too.
constexpr std::uint32_t pages_of_all_processes = 8192;
// One who takes nothing may not be able to: it is asked again only now and then.
constexpr std::uint32_t patience = 16, pause_after = 1000;

Peer::Pipe make_pipe() {
    Peer::Pipe made;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return made;
    made.fd = ends[0];
    made.into = ends[1];
    made.inode = inode_of_pipe(made.fd);
    made.pages = static_cast<std::uint32_t>(std::max(0, fcntl(made.fd, F_GETPIPE_SZ)) / static_cast<int>(page));
    return made;
}

}  // namespace

// A pipe for the peer that is free, with room for so many pages or for as many as are left to this process; null when
// there is none. While there are enough each pipe takes what it needs. Once they run out each peer has one pipe and an
// equal part; those who had more give it back with their next loan.
Peer::Pipe* Loans::free_pipe(Peer& peer, std::uint32_t needed) {
    const auto processes = static_cast<std::uint32_t>(std::max<std::size_t>(2, peers_.up().size()));
    const std::uint32_t ours = pages_of_all_processes / processes;
    const std::uint32_t part = std::max(default_pages, std::bit_floor(ours / (processes - 1)));
    if (pipes_are_short_)
        for (Peer::Pipe& each : peer.ours)
            if (each.fd >= 0 && each.number == 0 && (&each != peer.ours.data() || each.pages > part)) close_pipe(each);
    const auto usable = pipes_are_short_ ? peer.ours.begin() + 1 : peer.ours.end();
    const auto free = std::find_if(peer.ours.begin(), usable, [](const auto& each) { return each.number == 0; });
    if (free == usable) return nullptr;
    Peer::Pipe& pipe = *free;
    const auto fits = [&](std::uint32_t pages) { return pipe_pages_ - pipe.pages + pages <= ours; };
    if (pipe.fd < 0) {
        if (!fits(default_pages)) return pipes_are_short_ = true, nullptr;
        pipe = make_pipe();
        pipe_pages_ += pipe.pages;
        if (pipe.fd < 0) return peer.pause = pause_after, nullptr;
    }
    if (needed <= pipe.pages) return &pipe;
    std::uint32_t wanted = std::bit_ceil(needed);
    if (!fits(wanted)) pipes_are_short_ = true;
    if (pipes_are_short_) wanted = std::min(wanted, part);
    if (wanted <= pipe.pages || !fits(wanted)) return &pipe;
    const int now = fcntl(pipe.fd, F_SETPIPE_SZ, wanted * static_cast<std::uint32_t>(page));
    if (now <= 0) return &pipe;
    pipe_pages_ -= pipe.pages;
    pipe.pages = static_cast<std::uint32_t>(now / static_cast<int>(page));
    pipe_pages_ += pipe.pages;
    return &pipe;
}

std::uint32_t Loans::lend(Qp& qp, std::span<const std::uint8_t> memory) {
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

void Loans::take_back(Qp& qp, std::uint32_t loan) {
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
    if (pit_ < 0) pit_ = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    ssize_t gone;
    do gone = splice(pipe.fd, nullptr, pit_, nullptr, std::size_t{pipe.pages} * page, SPLICE_F_NONBLOCK);
    while (gone > 0);
    const bool empty = gone < 0 && errno == EAGAIN;
    // Somebody who reads may have found this loan for another of the same place, and not have come to the pipe yet:
    // what is lent next must not be in it.
    const auto copies = [&](std::size_t epoch) { return peer.in->copying[epoch].load(std::memory_order_seq_cst) != 0; };
    if (!empty || copies(0) || copies(1)) close_pipe(pipe);
}

void Loans::close_pipe(Peer::Pipe& pipe) {
    pipe_pages_ -= pipe.pages;
    pipe.close();
}

void Loans::end(Qp& qp) {
    if (qp.path == nullptr || qp.path->peer == nullptr) return;
    for (std::uint32_t loan = 1; loan <= lendings; ++loan) take_back(qp, loan);
}

void Loans::forget(Peer& peer) {
    pipe_pages_ -= peer.close_pipes();
}

void Loans::close_descriptors() {
    if (pit_ >= 0) ::close(pit_);
    pit_ = -1;
}

}  // namespace loom::hca
