#include "hca/device/host_id.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string_view>

namespace loom::hca {

namespace {

constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {  // the finaliser of splitmix64
    hash ^= value + 0x9e3779b97f4a7c15 + (hash << 6) + (hash >> 2);
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9;
    hash = (hash ^ (hash >> 27)) * 0x94d049bb133111eb;
    return hash ^ (hash >> 31);
}

// Mixes in the first line of a file; false when there is none.
bool mix_file(const char* path, std::uint64_t& hash) {
    char text[64];
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    const ssize_t length = read(fd, text, sizeof text);
    close(fd);
    if (length < 16) return false;
    for (const char letter : std::string_view(text, static_cast<std::size_t>(length)))
        if (letter != '\n') hash = mix(hash, static_cast<unsigned char>(letter));
    return true;
}

}  // namespace

std::uint64_t host_id() {
    std::uint64_t hash = 0;
    // The machine's id outlives a boot; images of containers often have none.
    if (!mix_file("/etc/machine-id", hash)) mix_file("/proc/sys/kernel/random/boot_id", hash);
    struct stat space {};
    if (stat("/proc/self/ns/net", &space) == 0) hash = mix(hash, space.st_ino);
    return hash;
}

}  // namespace loom::hca
