#include "hca/host/peer.hpp"

#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

namespace loom::hca {

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

}  // namespace loom::hca
