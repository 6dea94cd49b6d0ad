#include "hca/host/home.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "hca/host/barrier.hpp"
#include "hca/host/segment.hpp"
#include "hca/objects/objects.hpp"

namespace loom::hca {

Home::~Home() {
    close_descriptor();
    if (directory != nullptr) munmap(directory, sizeof(Directory));
}

void Home::close_descriptor() {
    if (descriptor >= 0) ::close(std::exchange(descriptor, -1));
}

int Home::open(const Config& config) {
    directory = static_cast<Directory*>(make_segment("loom-verbs-directory", sizeof(Directory), descriptor));
    if (directory == nullptr) return errno;
    directory->slot = slot;
    directory->pid = getpid();
    directory->nonce = nonce;
    directory->hcas = static_cast<std::uint32_t>(config.hcas.size());
    directory->wake.store(1, std::memory_order_relaxed);
    directory->magic = segment_magic;
    reached_by_barriers = register_for_barriers();
    return 0;
}

void Home::publish(const Qp& qp) {
    QpEntry& entry = directory->qps[index_of(qp.qpn)];
    entry.whose.store(qp.pd->id | std::uint64_t{qp.attr.dest_qp_num} << 32, std::memory_order_relaxed);
    entry.what.store(qp.qpn.value | std::uint64_t{static_cast<std::uint8_t>(qp.state())} << 24 |
                         std::uint64_t{static_cast<std::uint8_t>(qp.type())} << 32 |
                         std::uint64_t{qp.rights() & 0xffu} << 40,
                     std::memory_order_release);
}

void Home::withdraw(const Qp& qp) {
    directory->qps[index_of(qp.qpn)].what.store(0, std::memory_order_release);
}

}  // namespace loom::hca
