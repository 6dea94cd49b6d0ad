#include "hca/host/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace loom::hca {

namespace {

// A memfd counts as a file: beyond RLIMIT_FSIZE ftruncate does not just fail, it kills the program with SIGXFSZ.
bool within_file_limit(std::size_t size) {
    rlimit limit{};
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || size <= limit.rlim_cur) return true;
    errno = EFBIG;
    return false;
}

}  // namespace

void* make_segment(const char* name, std::size_t size, int& fd) {
    fd = -1;
    if (!within_file_limit(size)) return nullptr;
    fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) return nullptr;
    void* memory = MAP_FAILED;
    if (ftruncate(fd, static_cast<off_t>(size)) == 0)
        memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
        ::close(fd);
        fd = -1;
        return nullptr;
    }
    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL);
    madvise(memory, size, MADV_DONTFORK);
    return memory;
}

const void* map_segment(int fd, std::size_t size) {
    struct stat file {};
    const int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || fstat(fd, &file) != 0 || file.st_size != static_cast<off_t>(size))
        return nullptr;
    void* memory = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) return nullptr;
    madvise(memory, size, MADV_DONTFORK);
    return memory;
}

}  // namespace loom::hca
