// What differs between the two back ends of a kernel: a GPU's threads, and loops over the threads of a block on a CPU.
// Everything above this header and block.hpp is one source for both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__CUDACC__)
#define DCUDA_ON_GPU 1
#include <cuda/atomic>
#define DCUDA_KERNEL __global__
#define DCUDA_DEVICE __device__
#define DCUDA_SHARED __shared__
#else
#define DCUDA_ON_GPU 0
#include <atomic>

#include "loom/base/clock.hpp"
#define DCUDA_KERNEL
#define DCUDA_DEVICE
#define DCUDA_SHARED
#endif

namespace loom::device {

// System scope: the other side may be the host, or another device.
#if DCUDA_ON_GPU
template <class T>
using AtomicRef = cuda::atomic_ref<T, cuda::thread_scope_system>;
inline constexpr auto order_relaxed = cuda::std::memory_order_relaxed;
inline constexpr auto order_acquire = cuda::std::memory_order_acquire;
inline constexpr auto order_release = cuda::std::memory_order_release;
inline constexpr auto order_both = cuda::std::memory_order_acq_rel;
#else
template <class T>
using AtomicRef = std::atomic_ref<T>;
inline constexpr auto order_relaxed = std::memory_order_relaxed;
inline constexpr auto order_acquire = std::memory_order_acquire;
inline constexpr auto order_release = std::memory_order_release;
inline constexpr auto order_both = std::memory_order_acq_rel;
#endif

template <class T>
DCUDA_DEVICE inline T load_acquire(T* from) {
    return AtomicRef<T>(*from).load(order_acquire);
}
template <class T>
DCUDA_DEVICE inline T load_relaxed(T* from) {
    return AtomicRef<T>(*from).load(order_relaxed);
}
template <class T>
DCUDA_DEVICE inline void store_release(T* to, T value) {
    AtomicRef<T>(*to).store(value, order_release);
}
// What was there before. Orders both ways: of several who add, the last sees what all did.
template <class T>
DCUDA_DEVICE inline T add_ordered(T* to, T value) {
    return AtomicRef<T>(*to).fetch_add(value, order_both);
}

// The one thread of a block that speaks for it, and the wait of all for each other.
DCUDA_DEVICE inline bool is_leader() {
#if DCUDA_ON_GPU
    return threadIdx.x == 0;
#else
    return true;
#endif
}
DCUDA_DEVICE inline void sync_threads() {
#if DCUDA_ON_GPU
    __syncthreads();
#endif
}
// What this thread wrote is seen by everyone before what its block's leader writes after sync_threads().
DCUDA_DEVICE inline void publish() {
#if DCUDA_ON_GPU
    __threadfence_system();
#endif
}

#if DCUDA_ON_GPU
template <class Word>
DCUDA_DEVICE inline std::uint64_t copy_words(void* to, const void* from, std::uint64_t done, std::uint64_t bytes) {
    const std::uint64_t words = (bytes - done) / sizeof(Word);
    Word* const into = reinterpret_cast<Word*>(static_cast<char*>(to) + done);
    const Word* const out = reinterpret_cast<const Word*>(static_cast<const char*>(from) + done);
    for (std::uint64_t i = threadIdx.x; i < words; i += blockDim.x) into[i] = out[i];
    return done + words * sizeof(Word);
}
#endif

// By all threads of the block together; neighbours touch neighbouring words of up to 16 bytes. May not overlap.
DCUDA_DEVICE inline void copy_together(void* to, const void* from, std::uint64_t bytes) {
#if DCUDA_ON_GPU
    const std::uint64_t both = reinterpret_cast<std::uint64_t>(to) | reinterpret_cast<std::uint64_t>(from);
    std::uint64_t done = 0;
    if (both % 16 == 0) done = copy_words<uint4>(to, from, done, bytes);
    if (both % 8 == 0) done = copy_words<unsigned long long>(to, from, done, bytes);
    if (both % 4 == 0) done = copy_words<unsigned int>(to, from, done, bytes);
    copy_words<unsigned char>(to, from, done, bytes);
#else
    std::memmove(to, from, bytes);
#endif
}

}  // namespace loom::device
