// Clients look at the device node and at files of the kernel before they use a device (UCX: stat and access of
// /dev/infiniband/uverbsN, gid_attrs/types). These functions of the C library answer for the nodes of our HCAs and hand
// everything else on, at the cost of comparing the beginning of the path.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "hca/abi/exports.hpp"
#include "hca/device/sysfs.hpp"

namespace loom::hca::abi {

namespace {

using Kind = SysfsNode::Kind;

// These functions replace the C library's and throw nothing: without memory for its text there is no node.
SysfsNode node_at(const char* path) noexcept try {
    return may_be_sysfs(path) ? sysfs_node(config(), path) : SysfsNode{};
} catch (const std::exception&) {
    return {};
}

// The function of that name after ours in the order of search: the C library's, or that of another preloaded library.
// Looked up when first needed, because programs and libraries open files before any constructor of ours could run.
template <class Function>
Function next(std::atomic<Function>& known, const char* name) {
    Function function = known.load(std::memory_order_relaxed);
    if (function == nullptr) {
        function = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
        known.store(function, std::memory_order_relaxed);
    }
    return function;
}

#define NEXT(name, type)                         \
    ([]() -> type {                              \
        static std::atomic<type> known{nullptr}; \
        return next<type>(known, name);          \
    }())

template <class Result>
Result missing(Result result) {
    errno = ENOSYS;
    return result;
}

int open_node(const SysfsNode& node, int flags) {
    if (node.kind == Kind::device)  // what real programs do with it goes through the verbs functions, never through it
        return static_cast<int>(NEXT("open", int (*)(const char*, int, ...))("/dev/null", flags & ~O_CREAT));
    if ((flags & O_ACCMODE) != O_RDONLY || (flags & O_DIRECTORY) != 0) {
        errno = (flags & O_DIRECTORY) != 0 ? ENOTDIR : EACCES;
        return -1;
    }
    const int fd = memfd_create("loom-verbs-sysfs", (flags & O_CLOEXEC) != 0 ? MFD_CLOEXEC : 0);
    if (fd < 0) return -1;
    const auto length = static_cast<ssize_t>(node.text.size());
    if (write(fd, node.text.data(), node.text.size()) == length && lseek(fd, 0, SEEK_SET) == 0) return fd;
    close(fd);
    errno = EIO;
    return -1;
}

bool can_open(const SysfsNode& node) {
    return node.kind == Kind::file || node.kind == Kind::device;
}

void fill(struct stat& status, const SysfsNode& node) {
    status = {};
    status.st_nlink = 1;
    status.st_blksize = 4096;
    if (node.kind == Kind::device) {
        status.st_mode = S_IFCHR | 0666;
        status.st_rdev = makedev(231, node.minor);
    } else if (node.kind == Kind::folder) {
        status.st_mode = S_IFDIR | 0555;
    } else {
        status.st_mode = S_IFREG | 0444;
        status.st_size = 4096;  // as of all files there
    }
}

int access_node(const SysfsNode& node, int mode) {
    const int allowed = node.kind == Kind::device ? R_OK | W_OK : node.kind == Kind::folder ? R_OK | X_OK : R_OK;
    if ((mode & ~allowed) == 0) return 0;
    errno = EACCES;
    return -1;
}

std::FILE* stream_of(const SysfsNode& node, const char* mode) {
    const bool reads = mode[0] == 'r' && std::strchr(mode, '+') == nullptr;
    const int fd = open_node(node, (reads ? O_RDONLY : O_RDWR) | (std::strchr(mode, 'e') != nullptr ? O_CLOEXEC : 0));
    if (fd < 0) return nullptr;
    std::FILE* stream = fdopen(fd, mode);
    if (stream == nullptr) close(fd);
    return stream;
}

mode_t mode_of(int flags, std::va_list arguments) {
    const bool given = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
    return given ? va_arg(arguments, mode_t) : 0;
}

using Stat = int (*)(const char*, struct stat*);
using VersionedStat = int (*)(int, const char*, struct stat*);
using Open = int (*)(const char*, int, ...);
using OpenChecked = int (*)(const char*, int);
using OpenAt = int (*)(int, const char*, int, ...);
using FileOpen = std::FILE* (*)(const char*, const char*);

int stat_with(Stat real, const char* path, struct stat* status) {
    const SysfsNode node = node_at(path);
    if (node.kind == Kind::none) return real == nullptr ? missing(-1) : real(path, status);
    fill(*status, node);
    return 0;
}

int stat_with(VersionedStat real, int version, const char* path, struct stat* status) {
    const SysfsNode node = node_at(path);
    if (node.kind == Kind::none) return real == nullptr ? missing(-1) : real(version, path, status);
    fill(*status, node);
    return 0;
}

char* own_path(const char* path, char* resolved) {
    if (resolved == nullptr) return strdup(path);
    return std::strcpy(resolved, path);
}

}  // namespace

}  // namespace loom::hca::abi

using namespace loom::hca;
using namespace loom::hca::abi;

static_assert(sizeof(struct stat) == sizeof(struct stat64) && sizeof(off_t) == 8);  // the same on 64-bit Linux

#define STAT(name)                                                         \
    LOOM_EXPORT int name(const char* path, struct stat* status) noexcept { \
        return stat_with(NEXT(#name, Stat), path, status);                 \
    }
#define STAT64(name)                                                                       \
    LOOM_EXPORT int name(const char* path, struct stat64* status) noexcept {               \
        return stat_with(NEXT(#name, Stat), path, reinterpret_cast<struct stat*>(status)); \
    }
#define XSTAT(name)                                                                     \
    LOOM_EXPORT int name(int version, const char* path, struct stat* status) noexcept { \
        return stat_with(NEXT(#name, VersionedStat), version, path, status);            \
    }

STAT(stat)
STAT(lstat)
STAT64(stat64)
STAT64(lstat64)
XSTAT(__xstat)  // programs built before glibc 2.33
XSTAT(__lxstat)
XSTAT(__xstat64)
XSTAT(__lxstat64)

LOOM_EXPORT int fstatat(int folder, const char* path, struct stat* status, int flags) noexcept {
    using Function = int (*)(int, const char*, struct stat*, int);
    const SysfsNode node = node_at(path);
    if (node.kind == Kind::none) {
        const Function real = NEXT("fstatat", Function);
        return real == nullptr ? missing(-1) : real(folder, path, status, flags);
    }
    fill(*status, node);
    return 0;
}

LOOM_EXPORT int fstatat64(int folder, const char* path, struct stat64* status, int flags) noexcept {
    return fstatat(folder, path, reinterpret_cast<struct stat*>(status), flags);
}

LOOM_EXPORT int statx(int folder, const char* path, int flags, unsigned mask, struct statx* status) noexcept {
    using Function = int (*)(int, const char*, int, unsigned, struct statx*);
    const SysfsNode node = node_at(path);
    if (node.kind == Kind::none) {
        const Function real = NEXT("statx", Function);
        return real == nullptr ? missing(-1) : real(folder, path, flags, mask, status);
    }
    struct stat known {};
    fill(known, node);
    *status = {};
    status->stx_mask = STATX_TYPE | STATX_MODE | STATX_NLINK | STATX_SIZE;
    status->stx_blksize = 4096;
    status->stx_nlink = 1;
    status->stx_mode = static_cast<__u16>(known.st_mode);
    status->stx_size = static_cast<__u64>(known.st_size);
    status->stx_rdev_major = major(known.st_rdev);
    status->stx_rdev_minor = minor(known.st_rdev);
    return 0;
}

LOOM_EXPORT int access(const char* path, int mode) noexcept {
    using Function = int (*)(const char*, int);
    const SysfsNode node = node_at(path);
    if (node.kind != Kind::none) return access_node(node, mode);
    const Function real = NEXT("access", Function);
    return real == nullptr ? missing(-1) : real(path, mode);
}

LOOM_EXPORT int faccessat(int folder, const char* path, int mode, int flags) noexcept {
    using Function = int (*)(int, const char*, int, int);
    const SysfsNode node = node_at(path);
    if (node.kind != Kind::none) return access_node(node, mode);
    const Function real = NEXT("faccessat", Function);
    return real == nullptr ? missing(-1) : real(folder, path, mode, flags);
}

#define OPEN(name)                                                                               \
    LOOM_EXPORT int name(const char* path, int flags, ...) {                                     \
        std::va_list arguments;                                                                  \
        va_start(arguments, flags);                                                              \
        const mode_t mode = mode_of(flags, arguments);                                           \
        va_end(arguments);                                                                       \
        if (const SysfsNode node = node_at(path); can_open(node)) return open_node(node, flags); \
        const Open real = NEXT(#name, Open);                                                     \
        return real == nullptr ? missing(-1) : real(path, flags, mode);                          \
    }
// What the compiler makes of open when it checks that no mode is missing (_FORTIFY_SOURCE).
#define OPEN_CHECKED(name)                                                                       \
    LOOM_EXPORT int name(const char* path, int flags) {                                          \
        if (const SysfsNode node = node_at(path); can_open(node)) return open_node(node, flags); \
        const OpenChecked real = NEXT(#name, OpenChecked);                                       \
        return real == nullptr ? missing(-1) : real(path, flags);                                \
    }
#define OPENAT(name)                                                                             \
    LOOM_EXPORT int name(int folder, const char* path, int flags, ...) {                         \
        std::va_list arguments;                                                                  \
        va_start(arguments, flags);                                                              \
        const mode_t mode = mode_of(flags, arguments);                                           \
        va_end(arguments);                                                                       \
        if (const SysfsNode node = node_at(path); can_open(node)) return open_node(node, flags); \
        const OpenAt real = NEXT(#name, OpenAt);                                                 \
        return real == nullptr ? missing(-1) : real(folder, path, flags, mode);                  \
    }
#define FOPEN(name)                                                                             \
    LOOM_EXPORT std::FILE* name(const char* path, const char* mode) {                           \
        if (const SysfsNode node = node_at(path); can_open(node)) return stream_of(node, mode); \
        const FileOpen real = NEXT(#name, FileOpen);                                            \
        return real == nullptr ? missing<std::FILE*>(nullptr) : real(path, mode);               \
    }

OPEN(open)
OPEN(open64)
OPEN_CHECKED(__open_2)
OPEN_CHECKED(__open64_2)
OPENAT(openat)
OPENAT(openat64)
FOPEN(fopen)
FOPEN(fopen64)

LOOM_EXPORT char* realpath(const char* path, char* resolved) noexcept {
    using Function = char* (*)(const char*, char*);
    if (node_at(path).kind != Kind::none) return own_path(path, resolved);
    const Function real = NEXT("realpath", Function);
    return real == nullptr ? missing<char*>(nullptr) : real(path, resolved);
}

LOOM_EXPORT char* __realpath_chk(const char* path, char* resolved, size_t size) noexcept {
    using Function = char* (*)(const char*, char*, size_t);
    if (node_at(path).kind != Kind::none && size > std::strlen(path)) return own_path(path, resolved);
    const Function real = NEXT("__realpath_chk", Function);
    return real == nullptr ? missing<char*>(nullptr) : real(path, resolved, size);
}

LOOM_EXPORT ssize_t readlink(const char* path, char* text, size_t size) noexcept {
    using Function = ssize_t (*)(const char*, char*, size_t);
    if (node_at(path).kind != Kind::none) {
        errno = EINVAL;  // there, and no link
        return -1;
    }
    const Function real = NEXT("readlink", Function);
    return real == nullptr ? missing<ssize_t>(-1) : real(path, text, size);
}

const char* ibv_get_sysfs_path() {
    return "/sys";
}

// The text without its last newline; its length, or -1.
int ibv_read_sysfs_file(const char* folder, const char* file, char* text, size_t size) {
    char path[PATH_MAX];
    if (std::snprintf(path, sizeof path, "%s/%s", folder, file) >= static_cast<int>(sizeof path)) return -1;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    ssize_t length = read(fd, text, size);
    close(fd);
    if (length > 0) {
        if (text[length - 1] == '\n')
            text[--length] = '\0';
        else if (static_cast<size_t>(length) < size)
            text[length] = '\0';
        else
            return -1;
    }
    return static_cast<int>(length);
}
