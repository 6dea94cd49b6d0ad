// Vectors in pages of their own.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <vector>

namespace loom::coll {

// For large memory that is needed once: glibc's malloc takes a large block that is given back for a sign of more to
// come, and from then on keeps blocks of that size in its heap instead of giving each pages of its own. What a
// program's arrays lie in must not depend on what was measured before it began.
template <class T>
struct PageAllocator {
    using value_type = T;
    PageAllocator() = default;
    template <class U>
    PageAllocator(const PageAllocator<U>&) {}
    [[nodiscard]] T* allocate(std::size_t count) {
        void* const memory =
            mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) throw std::bad_alloc();
        return static_cast<T*>(memory);
    }
    void deallocate(T* memory, std::size_t count) noexcept { munmap(memory, count * sizeof(T)); }
    friend bool operator==(const PageAllocator&, const PageAllocator&) { return true; }
};

template <class T>
using PageVector = std::vector<T, PageAllocator<T>>;

}  // namespace loom::coll
