// Of libloom-shmem.so: collectives. Everybody fetches what it needs between two barriers: simple, and right whatever
// the buffers; libraries of collectives are quicker.
#include <algorithm>
#include <cstring>
#include <vector>

#include "window/abi/state.hpp"
#include "window/world_state.hpp"

namespace loom::window::abi {

namespace {

void fetch(const Team& team, std::uint32_t from, void* into, const void* source, std::size_t bytes) {
    if (bytes == 0) return;
    const Rank pe = team.world_rank(Rank{from});
    if (pe == state().world->rank())
        std::memmove(into, source, bytes);
    else
        get(pe, into, source, bytes, true);
}

void meet(const Team& team) {
    quiet();
    team.barrier();
}

void broadcast(const Team& team, void* dest, const void* source, std::size_t bytes, int root, bool also_root) {
    if (root < 0 || static_cast<std::uint32_t>(root) >= team.size()) throw NoSuchRank("a root that is not of the team");
    const auto from = static_cast<std::uint32_t>(root);
    meet(team);
    if (also_root || team.rank().value != from) fetch(team, from, dest, source, bytes);
    team.barrier();
}

void collect(const Team& team, void* dest, const void* source, std::size_t bytes) {
    const auto all = team.state().allgather(std::uint64_t{bytes});
    meet(team);
    std::uint64_t at = 0;
    for (std::uint32_t from = 0; from < team.size(); at += all[from++])
        fetch(team, from, static_cast<std::byte*>(dest) + at, source, all[from]);
    team.barrier();
}

void fcollect(const Team& team, void* dest, const void* source, std::size_t bytes) {
    meet(team);
    for (std::uint32_t from = 0; from < team.size(); ++from)
        fetch(team, from, static_cast<std::byte*>(dest) + from * bytes, source, bytes);
    team.barrier();
}

void alltoall(const Team& team, void* dest, const void* source, std::ptrdiff_t dst, std::ptrdiff_t sst,
              std::size_t count, std::size_t bytes) {
    meet(team);
    const auto element = static_cast<std::ptrdiff_t>(bytes), block = static_cast<std::ptrdiff_t>(count);
    const auto mine = static_cast<std::ptrdiff_t>(team.rank().value);
    for (std::uint32_t from = 0; from < team.size(); ++from) {
        auto* const into = static_cast<std::byte*>(dest) + from * block * dst * element;
        const auto* const out = static_cast<const std::byte*>(source) + mine * block * sst * element;
        if (dst == 1 && sst == 1) {
            fetch(team, from, into, out, count * bytes);
            continue;
        }
        for (std::ptrdiff_t i = 0; i < block; ++i)
            fetch(team, from, into + i * dst * element, out + i * sst * element, bytes);
    }
    team.barrier();
}

// In the order of the PEs, so that all have the same bits.
template <class T, class Combine>
void reduce(const Team& team, T* dest, const T* source, std::size_t count, const Combine& combine) {
    std::vector<T> result(count), next(count);
    meet(team);
    for (std::uint32_t from = 0; from < team.size(); ++from) {
        fetch(team, from, from == 0 ? result.data() : next.data(), source, count * sizeof(T));
        if (from != 0)
            for (std::size_t i = 0; i < count; ++i) result[i] = combine(result[i], next[i]);
    }
    team.barrier();
    std::copy(result.begin(), result.end(), dest);
}

}  // namespace

}  // namespace loom::window::abi

using namespace loom;
using namespace loom::window;
using namespace loom::window::abi;

extern "C" {

void shmem_barrier_all(void) {
    guarded([] { meet(state().world->team()); });
}
void shmem_barrier(int start, int log_stride, int size, long*) {
    guarded([&] { meet(active_set(start, log_stride, size)); });
}
void shmem_sync_all(void) {
    guarded([] { state().world->team().barrier(); });
}
void shmem_sync_active_set(int start, int log_stride, int size, long*) {
    guarded([&] { active_set(start, log_stride, size).barrier(); });
}
int shmem_team_sync(shmem_team_t team) {
    if (team == nullptr) return 1;
    guarded([&] { team_of(team).barrier(); });
    return 0;
}

#define LOOM_DEFINE_MOVES(NAME, MEM, TYPE, SIZE)                                                              \
    int shmem_##NAME##broadcast##MEM(shmem_team_t team, TYPE* d, const TYPE* s, size_t n, int root) {         \
        return guarded([&] { return broadcast(team_of(team), d, s, n * SIZE, root, true), 0; });              \
    }                                                                                                         \
    int shmem_##NAME##collect##MEM(shmem_team_t team, TYPE* d, const TYPE* s, size_t n) {                     \
        return guarded([&] { return collect(team_of(team), d, s, n * SIZE), 0; });                            \
    }                                                                                                         \
    int shmem_##NAME##fcollect##MEM(shmem_team_t team, TYPE* d, const TYPE* s, size_t n) {                    \
        return guarded([&] { return fcollect(team_of(team), d, s, n * SIZE), 0; });                           \
    }                                                                                                         \
    int shmem_##NAME##alltoall##MEM(shmem_team_t team, TYPE* d, const TYPE* s, size_t n) {                    \
        return guarded([&] { return alltoall(team_of(team), d, s, 1, 1, n, SIZE), 0; });                      \
    }                                                                                                         \
    int shmem_##NAME##alltoalls##MEM(shmem_team_t team, TYPE* d, const TYPE* s, ptrdiff_t dst, ptrdiff_t sst, \
                                     size_t n) {                                                              \
        return guarded([&] { return alltoall(team_of(team), d, s, dst, sst, n, SIZE), 0; });                  \
    }
#define LOOM_DEFINE(NAME, TYPE) LOOM_DEFINE_MOVES(NAME##_, , TYPE, sizeof(TYPE))
LOOM_SHMEM_RMA(LOOM_DEFINE)
#undef LOOM_DEFINE
LOOM_DEFINE_MOVES(, mem, void, 1)

#define LOOM_DEFINE(BITS, BYTES)                                                                                      \
    void shmem_broadcast##BITS(void* d, const void* s, size_t n, int root, int start, int stride, int size, long*) {  \
        guarded([&] { broadcast(active_set(start, stride, size), d, s, n* BYTES, root, false); });                    \
    }                                                                                                                 \
    void shmem_collect##BITS(void* d, const void* s, size_t n, int start, int stride, int size, long*) {              \
        guarded([&] { collect(active_set(start, stride, size), d, s, n* BYTES); });                                   \
    }                                                                                                                 \
    void shmem_fcollect##BITS(void* d, const void* s, size_t n, int start, int stride, int size, long*) {             \
        guarded([&] { fcollect(active_set(start, stride, size), d, s, n* BYTES); });                                  \
    }                                                                                                                 \
    void shmem_alltoall##BITS(void* d, const void* s, size_t n, int start, int stride, int size, long*) {             \
        guarded([&] { alltoall(active_set(start, stride, size), d, s, 1, 1, n, BYTES); });                            \
    }                                                                                                                 \
    void shmem_alltoalls##BITS(void* d, const void* s, ptrdiff_t dst, ptrdiff_t sst, size_t n, int start, int stride, \
                               int size, long*) {                                                                     \
        guarded([&] { alltoall(active_set(start, stride, size), d, s, dst, sst, n, BYTES); });                        \
    }
LOOM_DEFINE(32, 4)
LOOM_DEFINE(64, 8)
#undef LOOM_DEFINE

#define LOOM_DEFINE_REDUCE(NAME, TYPE, OP, RESULT)                                                    \
    int shmem_##NAME##_##OP##_reduce(shmem_team_t team, TYPE* d, const TYPE* s, size_t n) {           \
        return guarded([&] {                                                                          \
            reduce(team_of(team), d, s, n, [](TYPE a, TYPE b) { return static_cast<TYPE>(RESULT); }); \
            return 0;                                                                                 \
        });                                                                                           \
    }
#define LOOM_DEFINE(NAME, TYPE)                \
    LOOM_DEFINE_REDUCE(NAME, TYPE, sum, a + b) \
    LOOM_DEFINE_REDUCE(NAME, TYPE, prod, a* b) \
    LOOM_DEFINE_REDUCE(NAME, TYPE, min, std::min(a, b)) LOOM_DEFINE_REDUCE(NAME, TYPE, max, std::max(a, b))
LOOM_SHMEM_RMA(LOOM_DEFINE)
#undef LOOM_DEFINE
#define LOOM_DEFINE(NAME, TYPE)               \
    LOOM_DEFINE_REDUCE(NAME, TYPE, and, a& b) \
    LOOM_DEFINE_REDUCE(NAME, TYPE, or, a | b) LOOM_DEFINE_REDUCE(NAME, TYPE, xor, a ^ b)
LOOM_SHMEM_REDUCE_BITWISE(LOOM_DEFINE)
#undef LOOM_DEFINE

#define LOOM_DEFINE_SET(NAME, TYPE, OP, RESULT)                                                                       \
    void shmem_##NAME##_##OP##_to_all(TYPE* d, const TYPE* s, int n, int start, int stride, int size, TYPE*, long*) { \
        guarded([&] {                                                                                                 \
            reduce(active_set(start, stride, size), d, s, static_cast<std::size_t>(std::max(n, 0)),                   \
                   [](TYPE a, TYPE b) { return static_cast<TYPE>(RESULT); });                                         \
        });                                                                                                           \
    }
#define LOOM_DEFINE(NAME, TYPE)            \
    LOOM_DEFINE_SET(NAME, TYPE, and, a& b) \
    LOOM_DEFINE_SET(NAME, TYPE, or, a | b) LOOM_DEFINE_SET(NAME, TYPE, xor, a ^ b)
LOOM_SHMEM_SET_BITS(LOOM_DEFINE)
#undef LOOM_DEFINE
#define LOOM_DEFINE(NAME, TYPE)             \
    LOOM_DEFINE_SET(NAME, TYPE, sum, a + b) \
    LOOM_DEFINE_SET(NAME, TYPE, prod, a* b) \
    LOOM_DEFINE_SET(NAME, TYPE, min, std::min(a, b)) LOOM_DEFINE_SET(NAME, TYPE, max, std::max(a, b))
LOOM_SHMEM_SET_NUMBERS(LOOM_DEFINE)
#undef LOOM_DEFINE
}
