// Meeting other processes: abstract Unix sockets whose names tell user and slot, and vanish with their process. Names
// are per network namespace, so processes of different namespaces never meet here and speak RoCE.
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
#include "hca/wire/roce_wire.hpp"

namespace loom::hca {

namespace {

struct Hello {
    std::uint64_t magic = segment_magic;
    std::uint32_t slot = 0;
    std::uint32_t spare = 0;
    std::uint64_t nonce = 0;
    std::uint64_t probe = 0;  // where the nonce lies in the sender's memory
};
constexpr std::size_t hello_fds = 2;
constexpr char word_wake = 'w', word_bye = 'b';

bool send_hello(Engine& a, const Peer& peer, int socket) {
    Hello hello;
    hello.slot = a.slot;
    hello.nonce = a.nonce;
    hello.probe = reinterpret_cast<std::uint64_t>(&a.directory->nonce);
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
    const int fds[hello_fds] = {a.directory_fd, peer.out_fd};
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

// The other's segments are there: the ring can be used.
bool connect_up(Engine& a, Peer& peer, const Hello& hello, const int (&fds)[hello_fds]) {
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
    a.up.push_back(&peer);
    a.watch(peer.pidfd, Watched::process, peer.slot);
    return true;
}

}  // namespace

Peer::~Peer() {
    for (const int fd : {socket, ignored, pidfd, out_fd})
        if (fd >= 0) ::close(fd);
    close_pipes();
    forget_mappings();
    if (out != nullptr) munmap(out, sizeof(Outbox));
    if (self) return;
    if (in != nullptr) munmap(const_cast<Outbox*>(in), sizeof(Outbox));
    if (directory != nullptr) munmap(const_cast<Directory*>(directory), sizeof(Directory));
}

std::uint32_t Peer::close_pipes() {
    std::uint32_t pages = 0;
    for (const Pipe& pipe : ours) pages += pipe.pages;
    for (auto* pipes : {&ours, &theirs})
        for (Pipe& pipe : *pipes) pipe.close();
    return pages;
}

void Peer::Pipe::close() {
    for (const int each : {fd, into})
        if (each >= 0) ::close(each);
    *this = {};
}

void Peer::forget_mappings() {
    for (const auto& [inode, mapping] : mappings)
        if (mapping.base != nullptr) munmap(mapping.base, mapping.length);
    mappings.clear();
    last_inode = 0;
}

bool Peer::has_ended() const {
    pollfd process{pidfd, POLLIN, 0};
    return pidfd >= 0 && poll(&process, 1, 0) == 1;
}

int Engine::take_slot() {
    for (std::uint32_t tried = 0; tried < slots - 1; ++tried) {
        const std::uint32_t candidate = 1 + (static_cast<std::uint32_t>(getpid()) + tried) % (slots - 1);
        const int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0) return errno;
        socklen_t length = 0;
        const sockaddr_un name = name_of(candidate, length);
        if (bind(fd, reinterpret_cast<const sockaddr*>(&name), length) == 0 && listen(fd, 1024) == 0) {
            listener = fd;
            slot = candidate;
            spare = fcntl(fd, F_DUPFD_CLOEXEC, 0);
            return 0;
        }
        ::close(fd);
    }
    return EMFILE;  // more than a thousand processes
}

bool Engine::make_self() {
    self = std::make_shared<Peer>();
    self->self = true;
    self->slot = slot;
    self->nonce = nonce;
    self->can_copy = true;
    self->pid = getpid();
    if (!make_outbox(*self)) return false;
    self->in = self->out;
    self->directory = directory;
    self->state = Peer::State::up;
    up.push_back(self.get());
    return true;
}

std::shared_ptr<Peer> Engine::peer_at(std::uint32_t wanted) {
    if (wanted == slot) return self;
    if (wanted == 0 || wanted >= slots) return nullptr;
    if (peers[wanted] != nullptr) return peers[wanted];
    const int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return nullptr;
    socklen_t length = 0;
    const sockaddr_un name = name_of(wanted, length);
    auto peer = std::make_shared<Peer>();
    peer->slot = wanted;
    peer->socket = fd;  // closed with the peer
    if (connect(fd, reinterpret_cast<const sockaddr*>(&name), length) != 0 || !same_user(fd, peer->pid)) return nullptr;
    if (!make_outbox(*peer) || !send_hello(*this, *peer, fd)) return nullptr;
    peers[wanted] = peer;
    watch(fd, Watched::peer, wanted);
    return peer;
}

void Engine::accept_peers() {
    while (true) {
        const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
            // No descriptor left: with the spare one the caller is hung up on, or it would wait and we would spin.
            ::close(spare);
            ::close(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
            spare = fcntl(listener, F_DUPFD_CLOEXEC, 0);
            return;
        }
        if (fd < 0) return;
        pid_t pid = 0;
        if (!same_user(fd, pid)) {
            ::close(fd);
            continue;
        }
        callers.push_back(fd);
        watch(fd, Watched::caller, static_cast<std::uint32_t>(fd));
    }
}

// The first words of a process that has called us.
void Engine::hear_caller(int fd) {
    if (std::erase(callers, fd) == 0) return;
    Hello hello;
    int fds[hello_fds] = {-1, -1};
    std::size_t size = 0;
    const Heard heard = receive(fd, hello, fds, size);
    if (heard == Heard::nothing) {
        callers.push_back(fd);
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
    if (hello.magic != segment_magic || hello.slot == 0 || hello.slot >= slots || hello.slot == slot ||
        !same_user(fd, pid))
        return hang_up();
    std::shared_ptr<Peer> peer = peers[hello.slot];
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
        if (slot < hello.slot) {
            ::close(fds[0]);
            ::close(fds[1]);
            if (peer->ignored >= 0) ::close(peer->ignored);
            peer->ignored = fd;
            unwatch(fd);
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
        peers[hello.slot] = peer;
    }
    peer->pid = pid;
    watch(fd, Watched::peer, peer->slot);
    if (!connect_up(*this, *peer, hello, fds) || !send_hello(*this, *peer, fd)) lose(*peer);
}

void Engine::hear(Peer& peer) {
    const std::shared_ptr<Peer> keep = peers[peer.slot];
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
                if (roce->accept_forwarded({message_buffer.data(), size})) break;
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
                if (!connect_up(*this, peer, hello, fds)) {
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

void Engine::lose(Peer& peer) {
    if (peer.state == Peer::State::dead || peer.self || peer.leaving) return;
    const std::shared_ptr<Peer> keep = peers[peer.slot];
    peer.leaving = true;
    const auto parted = [](int fd) { return fd >= 0 && last_words(fd); };
    peer.said_bye = peer.said_bye || parted(peer.socket) || parted(peer.ignored);
    if (!peer.said_bye && peer.state == Peer::State::connecting) {
        accept_peers();  // a call of its own may still wait to be heard
        for (const int fd : callers) {
            pid_t pid = 0;
            if (same_user(fd, pid) && pid == peer.pid && hung_up(fd) && last_words(fd)) peer.said_bye = true;
        }
    }
    if (peer.state == Peer::State::up) drain(peer);  // what it wrote before counts
    peer.state = Peer::State::dead;
    std::erase(up, &peer);
    std::erase(touched, &peer);
    if (keep.get() == &peer) peers[peer.slot] = nullptr;
    for (int* fd : {&peer.socket, &peer.ignored, &peer.pidfd, &peer.out_fd}) {
        if (*fd >= 0) ::close(*fd);
        *fd = -1;
    }
    pipe_pages -= peer.close_pipes();
    for (Qp* qp : peer.blocked) qp->listed_blocked = false;
    const std::vector<Qp*> waited = std::move(peer.blocked);
    peer.blocked.clear();
    for (Qp* qp : qps) {
        if (qp == nullptr || qp->path == nullptr || qp->path->peer.get() != &peer) continue;
        const ibv_qp_state state = qp->state();
        if (state != IBV_QPS_RTR && state != IBV_QPS_RTS && state != IBV_QPS_SQD) continue;
        const bool waiting = qp->type() == IBV_QPT_RC && qp->sq_head != qp->sq_tail;
        if (waiting && peer.said_bye)
            give_up(*qp);
        else if (waiting)
            fail(*qp, IBV_WC_RETRY_EXC_ERR);
        else if (!peer.said_bye)
            to_error(*qp);  // a program that crashed must not leave others waiting for it
    }
    for (Qp* qp : waited) run(*qp);
}

void Engine::ring_bells() {
    light_barrier(registered);
    for (Peer* peer : touched) {
        peer->touched = false;
        if (peer->self) kick();
        if (peer->self || peer->state != Peer::State::up) continue;
        if (peer->directory->wake.load(std::memory_order_relaxed) != 0)
            ::send(peer->socket, &word_wake, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    touched.clear();
}

void Engine::say_goodbye() {
    for (const auto& peer : peers)  // also to those that have not answered yet
        if (peer != nullptr) ::send(peer->socket, &word_bye, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

// Connects to every process of this user in this network namespace.
void Engine::meet_everybody() {
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
        if (number != slot) peer_at(number);
    }
    std::fclose(list);
}

}  // namespace loom::hca
