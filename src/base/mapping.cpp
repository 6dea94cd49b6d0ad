#include "loom/base/mapping.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/ioctl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace loom {

namespace {

// PROCMAP_QUERY as Linux 6.11 has it; the headers we build with are older.
struct MapQuery {
    std::uint64_t size, flags, address;
    std::uint64_t start, end, vma_flags, page_size, offset, inode;
    std::uint32_t device_major, device_minor, name_size, build_id_size;
    std::uint64_t name_address, build_id_address;
};
static_assert(sizeof(MapQuery) == 104);
constexpr unsigned long map_query = _IOWR('f', 17, MapQuery);
constexpr std::uint64_t vma_read = 1, vma_write = 2, vma_shared = 8;

bool is_memfd(std::string_view name) {
    return name.starts_with("/memfd:");
}

std::optional<MappedRange> from_text(std::FILE* maps, std::uint64_t address) {
    char line[512];
    while (std::fgets(line, sizeof line, maps) != nullptr) {
        unsigned long start = 0, end = 0, offset = 0, inode = 0;
        char rights[5] = {};
        int name_at = 0;
        if (std::sscanf(line, "%lx-%lx %4s %lx %*s %lu %n", &start, &end, rights, &offset, &inode, &name_at) < 5)
            continue;
        if (address < start || address >= end) continue;
        return MappedRange{start,  end,   rights[0] == 'r',        rights[1] == 'w', rights[3] == 's',
                           offset, inode, is_memfd(line + name_at)};
    }
    return std::nullopt;
}

}  // namespace

std::optional<MappedRange> mapping_at(std::uint64_t address) {
    const int fd = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return std::nullopt;
    char name[256] = {};
    MapQuery query{};
    query.size = sizeof query;
    query.address = address;
    query.name_size = sizeof name;
    query.name_address = reinterpret_cast<std::uint64_t>(name);
    if (ioctl(fd, map_query, &query) == 0) {
        ::close(fd);
        return MappedRange{query.start,
                           query.end,
                           (query.vma_flags & vma_read) != 0,
                           (query.vma_flags & vma_write) != 0,
                           (query.vma_flags & vma_shared) != 0,
                           query.offset,
                           query.inode,
                           is_memfd(name)};
    }
    const bool unmapped = errno == ENOENT;
    std::FILE* maps = unmapped ? nullptr : fdopen(fd, "r");
    if (maps == nullptr) {
        ::close(fd);
        return std::nullopt;
    }
    auto found = from_text(maps, address);
    std::fclose(maps);
    return found;
}

int duplicate_sealed_memfd(std::uint64_t inode) {
    DIR* folder = opendir("/proc/self/fd");
    if (folder == nullptr) return -1;
    int found = -1;
    while (const dirent* entry = readdir(folder)) {
        const int fd = std::atoi(entry->d_name);
        struct stat file {};
        if (entry->d_name[0] == '.' || fd == dirfd(folder) || fstat(fd, &file) != 0 || file.st_ino != inode) continue;
        const int seals = fcntl(fd, F_GET_SEALS);
        if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) continue;
        found = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        break;
    }
    closedir(folder);
    return found;
}

}  // namespace loom
