// Clients that load verbs themselves (NCCL: dlopen("libibverbs.so.1") and dlvsym) get this library instead.
#include <dlfcn.h>

#include <atomic>
#include <cstring>

#include "hca/abi/exports.hpp"

namespace {

bool names_libibverbs(const char* file) {
    if (file == nullptr) return false;
    const char* slash = std::strrchr(file, '/');
    return std::strncmp(slash == nullptr ? file : slash + 1, "libibverbs.so", 13) == 0;
}

// Apart, so that nothing of it lies on the stack of dlopen.
__attribute__((noinline)) const char* file_to_open(const char* file) noexcept {
    Dl_info info{};
    if (!names_libibverbs(file)) return file;
    return dladdr(reinterpret_cast<const void*>(&ibv_get_device_list), &info) != 0 ? info.dli_fname : file;
}

using DlOpen = void* (*)(const char*, int) noexcept;

__attribute__((noinline)) DlOpen next_dlopen() noexcept {
    static std::atomic<DlOpen> known{nullptr};
    DlOpen function = known.load(std::memory_order_relaxed);
    if (function == nullptr) {
        function = reinterpret_cast<DlOpen>(dlsym(RTLD_NEXT, "dlopen"));
        known.store(function, std::memory_order_relaxed);
    }
    return function;
}

}  // namespace

// The C library looks at its return address to find whose RPATH counts: the last call must be a jump, hence the
// optimisation in every build.
LOOM_EXPORT __attribute__((optimize("O2", "omit-frame-pointer", "optimize-sibling-calls"))) void* dlopen(
    const char* file, int mode) noexcept {
    const DlOpen real = next_dlopen();
    return real(file_to_open(file), mode);
}
