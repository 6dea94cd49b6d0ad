// Meeting other processes: abstract Unix sockets whose names tell user and slot, and vanish with their process. Names
// are per network namespace, so processes of different namespaces never meet here and speak RoCE.
#include "hca/host/peers.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string>

#include "hca/engine.hpp"
#include "hca/host/barrier.hpp"
#include "hca/host/segment.hpp"
#include "hca/service/clock.hpp"
#include "hca/wire/roce_wire.hpp"

namespace loom::hca {

struct Hello {
    std::uint64_t magic = segment_magic;
    std::uint32_t slot = 0;
    std::uint32_t spare = 0;
    std::uint64_t nonce = 0;
    std::uint64_t probe = 0;  // where the nonce lies in the sender's memory
};

namespace {

constexpr std::size_t hello_fds = 2;
constexpr char word_wake = 'w', word_bye = 'b';

bool send_hello(const Home& home, const Peer& peer, int socket) {
    Hello hello;
    hello.slot = home.slot;
    hello.nonce = home.nonce;
    hello.probe = reinterpret_cast<std::uint64_t>(&home.directory->nonce);
    iovec data{&hello, sizeof hello};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * hello_fds)] = {};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int) * hello_fds);
    const int fds[hello_fds] = {home.descriptor, peer.out_fd};
    std::memcpy(CMSG_DATA(header), fds, sizeof fds);
    return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof hello);
}

enum class Heard : std::uint8_t { nothing, hello, wake, bye, datagrams, end };

std::array<std::uint8_t, 80 * 1024> message_buffer;  // under the engine's mutex

// One message; descriptors that come with anything but a hello are closed. Datagrams lie in the buffer.
Heard receive(int socket, Hello& hello, int (&fds)[hello_fds], std::size_t& size) {
    iovec data{message_buffer.data(), message_buffer.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 8)] = {};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t n = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0) return errno == EAGAIN || errno == EINTR ? Heard::nothing : Heard::end;
    size = static_cast<std::size_t>(n);
    std::size_t got = 0;
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i) {
            int fd;
            std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof fd);
            if (got < hello_fds && n == static_cast<ssize_t>(sizeof hello))
                fds[got++] = fd;
            else
                ::close(fd);
        }
    }
    if (n == static_cast<ssize_t>(sizeof hello) && got == hello_fds) {
        std::memcpy(&hello, message_buffer.data(), sizeof hello);
        return Heard::hello;
    }
    for (std::size_t i = 0; i < got; ++i) ::close(fds[i]);
    if (n == 1) {
        const auto word = static_cast<char>(message_buffer[0]);
        return word == word_bye ? Heard::bye : word == word_wake ? Heard::wake : Heard::end;
    }
    return n > 1 && message_buffer[0] == 'f' ? Heard::datagrams : Heard::end;
}

bool hung_up(int socket) {
    pollfd other{socket, POLLRDHUP, 0};
    return ::poll(&other, 1, 0) == 1;
}

// Whether a goodbye lies unread in the socket of a process that has ended.
bool last_words(int socket) {
    for (unsigned messages = 0; messages < 256; ++messages) {
        Hello hello;
        int fds[hello_fds] = {-1, -1};
        std::size_t size = 0;
        const Heard heard = receive(socket, hello, fds, size);
        if (heard == Heard::bye) return true;
        if (heard == Heard::nothing || heard == Heard::end) return false;
        if (heard == Heard::hello)
            for (const int fd : fds) ::close(fd);
    }
    return false;
}

sockaddr_un name_of(std::uint32_t slot, socklen_t& length) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    const int n = std::snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "loom-verbs.%u.%u",
                                static_cast<unsigned>(geteuid()), slot);
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(n));
    return name;
}

// The process at the other end, when it is this user's.
bool same_user(int socket, pid_t& pid) {
    ucred credentials{};
    socklen_t size = sizeof credentials;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0 || credentials.uid != geteuid())
        return false;
    pid = credentials.pid;
    return true;
}

bool can_read(pid_t pid, std::uint64_t address, std::uint64_t expected) {
    std::uint64_t seen = 0;
    iovec local{&seen, sizeof seen}, remote{reinterpret_cast<void*>(address), sizeof seen};
    return process_vm_readv(pid, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(sizeof seen) && seen == expected;
}

// Some sandboxes allow reading another process but not writing to it: an empty write tells.
bool can_write(pid_t pid, std::uint64_t address) {
    char nothing = 0;
    iovec local{&nothing, 0}, remote{reinterpret_cast<void*>(address), 0};
    return process_vm_writev(pid, &local, 1, &remote, 1, 0) == 0;
}

bool make_outbox(Peer& peer) {
    peer.out_fd = -1;
    peer.out = static_cast<Outbox*>(make_segment("loom-verbs-outbox", sizeof(Outbox), peer.out_fd));
    if (peer.out != nullptr) peer.out->magic = segment_magic;
    return peer.out != nullptr;
}

}  // namespace

// The other's segments are there: the ring can be used.
bool Peers::connect_up(Peer& peer, const Hello& hello, const int (&fds)[hello_fds]) {
    const auto* directory = static_cast<const Directory*>(map_segment(fds[0], sizeof(Directory)));
    const auto* box = static_cast<const Outbox*>(map_segment(fds[1], sizeof(Outbox)));
    ::close(fds[0]);
    ::close(fds[1]);
    peer.directory = directory;
    peer.in = box;
    if (directory == nullptr || box == nullptr || directory->magic != segment_magic || box->magic != segment_magic ||
        hello.magic != segment_magic || directory->nonce != hello.nonce)
        return false;
    peer.nonce = hello.nonce;
    peer.pidfd = static_cast<int>(syscall(SYS_pidfd_open, peer.pid, 0));
    peer.can_copy = peer.pid > 0 && can_read(peer.pid, hello.probe, hello.nonce) && can_write(peer.pid, hello.probe);
    peer.out->can_pull.store(peer.can_copy ? 1 : 0, std::memory_order_release);
    peer.state = Peer::State::up;
    up_.push_back(&peer);
    engine_.service.watch(peer.pidfd, Watched::process, peer.slot);
    return true;
}

int Peers::take_slot() {
    for (std::uint32_t tried = 0; tried < slots - 1; ++tried) {
        const std::uint32_t candidate = 1 + (static_cast<std::uint32_t>(getpid()) + tried) % (slots - 1);
        const int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0) return errno;
        socklen_t length = 0;
        const sockaddr_un name = name_of(candidate, length);
        if (bind(fd, reinterpret_cast<const sockaddr*>(&name), length) == 0 && listen(fd, 1024) == 0) {
            listener_ = fd;
            engine_.home.slot = candidate;
            spare_ = fcntl(fd, F_DUPFD_CLOEXEC, 0);
            return 0;
        }
        ::close(fd);
    }
    return EMFILE;  // more than a thousand processes
}

bool Peers::make_self() {
    self_ = std::make_shared<Peer>();
    self_->self = true;
    self_->slot = engine_.home.slot;
    self_->nonce = engine_.home.nonce;
    self_->can_copy = true;
    self_->pid = getpid();
    if (!make_outbox(*self_)) return false;
    self_->in = self_->out;
    self_->directory = engine_.home.directory;
    self_->state = Peer::State::up;
    up_.push_back(self_.get());
    return true;
}

std::shared_ptr<Peer> Peers::at(std::uint32_t wanted) {
    if (wanted == engine_.home.slot) return self_;
    if (wanted == 0 || wanted >= slots) return nullptr;
    if (known_[wanted] != nullptr) return known_[wanted];
    const int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return nullptr;
    socklen_t length = 0;
    const sockaddr_un name = name_of(wanted, length);
    auto peer = std::make_shared<Peer>();
    peer->slot = wanted;
    peer->socket = fd;  // closed with the peer
    if (connect(fd, reinterpret_cast<const sockaddr*>(&name), length) != 0 || !same_user(fd, peer->pid)) return nullptr;
    if (!make_outbox(*peer) || !send_hello(engine_.home, *peer, fd)) return nullptr;
    known_[wanted] = peer;
    engine_.service.watch(fd, Watched::peer, wanted);
    return peer;
}

void Peers::accept() {
    while (true) {
        const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
            // No descriptor left: with the spare one the caller is hung up on, or it would wait and we would spin.
            ::close(spare_);
            ::close(accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
            spare_ = fcntl(listener_, F_DUPFD_CLOEXEC, 0);
            return;
        }
        if (fd < 0) return;
        pid_t pid = 0;
        if (!same_user(fd, pid)) {
            ::close(fd);
            continue;
        }
        callers_.push_back(fd);
        engine_.service.watch(fd, Watched::caller, static_cast<std::uint32_t>(fd));
    }
}

// The first words of a process that has called us.
void Peers::hear_caller(int fd) {
    if (std::erase(callers_, fd) == 0) return;
    Hello hello;
    int fds[hello_fds] = {-1, -1};
    std::size_t size = 0;
    const Heard heard = receive(fd, hello, fds, size);
    if (heard == Heard::nothing) {
        callers_.push_back(fd);
        return;
    }
    pid_t pid = 0;
    const auto hang_up = [&] {
        ::close(fds[0]);
        ::close(fds[1]);
        ::close(fd);
    };
    if (heard != Heard::hello) {
        ::close(fd);
        return;
    }
    if (hello.magic != segment_magic || hello.slot == 0 || hello.slot >= slots || hello.slot == engine_.home.slot ||
        !same_user(fd, pid))
        return hang_up();
    std::shared_ptr<Peer> peer = known_[hello.slot];
    if (peer != nullptr && peer->state == Peer::State::up) {
        // Its slot has a new owner, so the old one is gone. (A second call of the same process is not answered.)
        if (peer->nonce == hello.nonce) return hang_up();
        lose(*peer);
        peer = nullptr;
    }
    if (peer != nullptr && peer->pid != pid) {  // the one that we have called left the slot to this one
        lose(*peer);
        peer = nullptr;
    }
    if (peer != nullptr) {
        // Both called each other: the call of the lower slot counts.
        if (engine_.home.slot < hello.slot) {
            ::close(fds[0]);
            ::close(fds[1]);
            if (peer->ignored >= 0) ::close(peer->ignored);
            peer->ignored = fd;
            engine_.service.unwatch(fd);
            return;
        }
        ::close(peer->socket);
        peer->socket = fd;
    } else {
        peer = std::make_shared<Peer>();
        peer->slot = hello.slot;
        peer->socket = fd;
        if (!make_outbox(*peer)) {
            ::close(fds[0]);
            ::close(fds[1]);
            return;
        }
        known_[hello.slot] = peer;
    }
    peer->pid = pid;
    engine_.service.watch(fd, Watched::peer, peer->slot);
    if (!connect_up(*peer, hello, fds) || !send_hello(engine_.home, *peer, fd)) lose(*peer);
}

void Peers::hear(Peer& peer) {
    const std::shared_ptr<Peer> keep = known_[peer.slot];
    // What is left makes the socket readable again: others want their turn too.
    for (unsigned messages = 0; messages < 256 && peer.state != Peer::State::dead; ++messages) {
        Hello hello;
        int fds[hello_fds] = {-1, -1};
        std::size_t size = 0;
        switch (receive(peer.socket, hello, fds, size)) {
            case Heard::nothing:
                return;
            case Heard::wake:
                break;
            case Heard::bye:
                peer.said_bye = true;
                break;
            case Heard::datagrams:
                if (engine_.roce->accept_forwarded({message_buffer.data(), size})) break;
                lose(peer);
                return;
            case Heard::end:
                lose(peer);
                return;
            case Heard::hello:
                if (peer.state != Peer::State::connecting || hello.slot != peer.slot) {
                    ::close(fds[0]);
                    ::close(fds[1]);
                    lose(peer);
                    return;
                }
                if (!connect_up(peer, hello, fds)) {
                    lose(peer);
                    return;
                }
                for (const auto& message : peer.held)
                    ::send(peer.socket, message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
                peer.held.clear();
                break;
        }
    }
}

void Peers::lose(Peer& peer) {
    if (peer.state == Peer::State::dead || peer.self || peer.leaving) return;
    const std::shared_ptr<Peer> keep = known_[peer.slot];
    peer.leaving = true;
    const auto parted = [](int fd) { return fd >= 0 && last_words(fd); };
    peer.said_bye = peer.said_bye || parted(peer.socket) || parted(peer.ignored);
    if (!peer.said_bye && peer.state == Peer::State::connecting) {
        accept();  // a call of its own may still wait to be heard
        for (const int fd : callers_) {
            pid_t pid = 0;
            if (same_user(fd, pid) && pid == peer.pid && hung_up(fd) && last_words(fd)) peer.said_bye = true;
        }
    }
    if (peer.state == Peer::State::up) engine_.ring.drain(peer);  // what it wrote before counts
    peer.state = Peer::State::dead;
    std::erase(up_, &peer);
    std::erase(touched_, &peer);
    if (keep.get() == &peer) known_[peer.slot] = nullptr;
    for (int* fd : {&peer.socket, &peer.ignored, &peer.pidfd, &peer.out_fd}) {
        if (*fd >= 0) ::close(*fd);
        *fd = -1;
    }
    engine_.loans.forget(peer);
    for (Qp* qp : peer.blocked) qp->listed_blocked = false;
    const std::vector<Qp*> waited = std::move(peer.blocked);
    peer.blocked.clear();
    for (Qp* qp : engine_.queue_pairs.all()) {
        if (qp == nullptr || qp->path == nullptr || qp->path->peer.get() != &peer) continue;
        const ibv_qp_state state = qp->state();
        if (state != IBV_QPS_RTR && state != IBV_QPS_RTS && state != IBV_QPS_SQD) continue;
        const bool waiting = qp->type() == IBV_QPT_RC && qp->sq_head != qp->sq_tail;
        if (waiting && peer.said_bye)
            engine_.requester.give_up(*qp);
        else if (waiting)
            engine_.requester.fail(*qp, IBV_WC_RETRY_EXC_ERR);
        else if (!peer.said_bye)
            engine_.queue_pairs.to_error(*qp);  // a program that crashed must not leave others waiting for it
    }
    for (Qp* qp : waited) engine_.requester.run(*qp);
}

void Peers::ring_bells() {
    light_barrier(engine_.home.reached_by_barriers);
    for (Peer* peer : touched_) {
        peer->touched = false;
        if (peer->self) engine_.service.kick();
        if (peer->self || peer->state != Peer::State::up) continue;
        if (peer->directory->wake.load(std::memory_order_relaxed) != 0)
            ::send(peer->socket, &word_wake, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    touched_.clear();
}

void Peers::say_goodbye() {
    for (const auto& peer : known_)  // also to those that have not answered yet
        if (peer != nullptr) ::send(peer->socket, &word_bye, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

// Connects to every process of this user in this network namespace.
void Peers::meet_everybody() {
    std::FILE* list = std::fopen("/proc/net/unix", "re");
    if (list == nullptr) return;
    char line[512];
    const std::string wanted = "@loom-verbs." + std::to_string(geteuid()) + ".";
    while (std::fgets(line, sizeof line, list) != nullptr) {
        const char* found = std::strstr(line, wanted.c_str());
        if (found == nullptr) continue;
        std::uint32_t number = 0;
        const char* digits = found + wanted.size();
        std::from_chars(digits, digits + std::strlen(digits), number);
        if (number != engine_.home.slot) at(number);
    }
    std::fclose(list);
}

// Notes that the queue pair waits for the other process; it runs again when that has moved.
void Peers::block_on(Peer& peer, Qp& qp) {
    if (qp.listed_blocked) return;
    qp.listed_blocked = true;
    peer.blocked.push_back(&qp);
    if (peer.state == Peer::State::connecting && std::find(silent_.begin(), silent_.end(), peer.slot) == silent_.end())
        silent_.push_back(peer.slot);
    engine_.service.kick();
}

void Peers::run_blocked(Peer& peer) {
    if (peer.broken) return lose(peer);
    std::vector<Qp*> waiting;
    waiting.swap(peer.blocked);
    for (Qp* qp : waiting) qp->listed_blocked = false;
    for (Qp* qp : waiting) {
        if (qp->owes()) engine_.responder.owe(*qp);
        engine_.requester.run(*qp);
    }
}

// Who waits for a process that does not answer looks now and then whether it has waited enough: datagrams may be lost.
void Peers::run_silent() {
    std::vector<std::uint32_t> slots_now;
    slots_now.swap(silent_);
    for (const std::uint32_t other : slots_now)
        if (known_[other] != nullptr && known_[other]->state == Peer::State::connecting) run_blocked(*known_[other]);
}

// Whether the process of that slot sends to us by memory.
bool Peers::met(std::uint32_t other) const {
    return other == engine_.home.slot ||
           (other < slots && known_[other] != nullptr && known_[other]->state == Peer::State::up);
}

Peers::~Peers() {
    hang_up();
}

void Peers::forget(Qp& qp) {
    if (!qp.listed_blocked) return;
    qp.listed_blocked = false;
    for (Peer* peer : up_) std::erase(peer->blocked, &qp);
    if (qp.path != nullptr && qp.path->peer != nullptr) std::erase(qp.path->peer->blocked, &qp);
    for (const auto& peer : known_)
        if (peer != nullptr) std::erase(peer->blocked, &qp);
}

void Peers::look_after(std::uint32_t slot) {
    // Its socket says so too, unless a child holds it open.
    if (known_[slot] == nullptr || known_[slot]->state != Peer::State::up || !known_[slot]->has_ended()) return;
    hear(*known_[slot]);
    if (known_[slot] != nullptr) lose(*known_[slot]);
}

void Peers::clear() {
    up_.clear();
    touched_.clear();
    for (auto& peer : known_) peer.reset();
    self_.reset();
}

void Peers::close_descriptors() {
    hang_up();
    const auto let_go = [](const std::shared_ptr<Peer>& peer) {
        if (peer == nullptr) return;
        for (const int fd : {peer->socket, peer->ignored, peer->pidfd, peer->out_fd})
            if (fd >= 0) ::close(fd);
        peer->close_pipes();
    };
    let_go(self_);
    for (const auto& peer : known_) let_go(peer);
}

void Peers::hang_up() {
    for (int* fd : {&listener_, &spare_})
        if (*fd >= 0) ::close(std::exchange(*fd, -1));
    for (const int fd : callers_) ::close(fd);
    callers_.clear();
}

}  // namespace loom::hca
