// What g++ -fsanitize=thread calls at every load and store of a kernel's source: here they tell the checker. Linked
// instead of the sanitizer's own library (loom_checked_kernels in cmake/rooms.cmake).
#include <atomic>
#include <cstdint>

#include "loom/device/dcuda.hpp"

namespace {

void tell(const void* memory, std::uint64_t bytes, bool write) {
    loom::device::Block* const block = loom::device::this_block();
    if (block == nullptr || block->observer == nullptr || block->state == nullptr) return;
    // Functions that the checker shares with kernels (of templates, say) may be the copies that call here.
    thread_local bool telling = false;
    if (telling) return;
    telling = true;
    // The last call before it is as near as we can say: the access itself has no line at run time.
    loom::device::Place place = block->place;
    place.function = loom::device::Function::kernel;
    block->observer->access(block->state->context->world_start + block->state->rank, memory, bytes, write, place);
    telling = false;
}

}  // namespace

// The names are the compiler's.
extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

#define LOOM_HOOK(bytes)                                    \
    void __tsan_read##bytes(void* at) {                     \
        tell(at, bytes, false);                             \
    }                                                       \
    void __tsan_write##bytes(void* at) {                    \
        tell(at, bytes, true);                              \
    }                                                       \
    void __tsan_unaligned_read##bytes(void* at) {           \
        tell(at, bytes, false);                             \
    }                                                       \
    void __tsan_unaligned_write##bytes(void* at) {          \
        tell(at, bytes, true);                              \
    }                                                       \
    void __tsan_volatile_read##bytes(void* at) {            \
        tell(at, bytes, false);                             \
    }                                                       \
    void __tsan_volatile_write##bytes(void* at) {           \
        tell(at, bytes, true);                              \
    }                                                       \
    void __tsan_unaligned_volatile_read##bytes(void* at) {  \
        tell(at, bytes, false);                             \
    }                                                       \
    void __tsan_unaligned_volatile_write##bytes(void* at) { \
        tell(at, bytes, true);                              \
    }
LOOM_HOOK(1)
LOOM_HOOK(2)
LOOM_HOOK(4)
LOOM_HOOK(8)
LOOM_HOOK(16)
#undef LOOM_HOOK

void __tsan_read_range(void* at, unsigned long bytes) {
    tell(at, bytes, false);
}
void __tsan_write_range(void* at, unsigned long bytes) {
    tell(at, bytes, true);
}

// Atomic operations of the device functions: done as asked, and not told, since they order and do not race.
#define LOOM_HOOK(bits)                                                                                                \
    std::uint##bits##_t __tsan_atomic##bits##_load(const volatile std::uint##bits##_t* at, int) {                      \
        return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                                                  \
    }                                                                                                                  \
    void __tsan_atomic##bits##_store(volatile std::uint##bits##_t* at, std::uint##bits##_t value, int) {               \
        __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                                                 \
    }                                                                                                                  \
    std::uint##bits##_t __tsan_atomic##bits##_exchange(volatile std::uint##bits##_t* at, std::uint##bits##_t value,    \
                                                       int) {                                                          \
        return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                                                       \
    }                                                                                                                  \
    std::uint##bits##_t __tsan_atomic##bits##_fetch_add(volatile std::uint##bits##_t* at, std::uint##bits##_t value,   \
                                                        int) {                                                         \
        return __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST);                                                        \
    }                                                                                                                  \
    std::uint##bits##_t __tsan_atomic##bits##_fetch_sub(volatile std::uint##bits##_t* at, std::uint##bits##_t value,   \
                                                        int) {                                                         \
        return __atomic_fetch_sub(at, value, __ATOMIC_SEQ_CST);                                                        \
    }                                                                                                                  \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile std::uint##bits##_t* at, std::uint##bits##_t* expected, \
                                                      std::uint##bits##_t wanted, int, int) {                          \
        return __atomic_compare_exchange_n(at, expected, wanted, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);           \
    }
LOOM_HOOK(8)
LOOM_HOOK(16)
LOOM_HOOK(32)
LOOM_HOOK(64)
#undef LOOM_HOOK

void __tsan_atomic_thread_fence(int) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
}
void __tsan_atomic_signal_fence(int) {}
}
