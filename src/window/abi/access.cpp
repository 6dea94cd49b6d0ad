// Of libloom-shmem.so: puts, gets, atomics, waits.
#include <array>
#include <bit>
#include <cstring>

#include "window/abi/state.hpp"

namespace loom::window::abi {

namespace {

template <std::size_t bytes>
bool put_small(const Place& place, Rank pe, const void* source, std::size_t length) {
    if (length != bytes) return false;
    std::array<std::byte, bytes> value;
    std::memcpy(value.data(), source, bytes);
    place.window->put_value(pe, place.offset, value);
    return true;
}

}  // namespace

void put(Rank pe, void* dest, const void* source, std::size_t bytes, bool wait) {
    const Place place = place_of(dest, bytes);
    if (put_small<8>(place, pe, source, bytes) || put_small<4>(place, pe, source, bytes) ||
        put_small<2>(place, pe, source, bytes) || put_small<1>(place, pe, source, bytes) ||
        put_small<16>(place, pe, source, bytes))
        return;
    place.window->put(pe, place.offset, {static_cast<const std::byte*>(source), bytes});
    if (wait) place.window->flush(pe);
}

void get(Rank pe, void* dest, const void* source, std::size_t bytes, bool wait) {
    const Place place = place_of(source, bytes);
    place.window->get(pe, place.offset, {static_cast<std::byte*>(dest), bytes});
    if (wait) place.window->flush(pe);
}

namespace {

void put_strided(Rank pe, void* dest, const void* source, std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t count,
                 std::size_t bytes) {
    for (std::size_t i = 0; i < count; ++i) {
        const auto at = static_cast<std::ptrdiff_t>(i * bytes);
        put(pe, static_cast<std::byte*>(dest) + at * dst, static_cast<const std::byte*>(source) + at * sst, bytes,
            true);
    }
}

void get_strided(Rank pe, void* dest, const void* source, std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t count,
                 std::size_t bytes) {
    for (std::size_t i = 0; i < count; ++i) {
        const auto at = static_cast<std::ptrdiff_t>(i * bytes);
        get(pe, static_cast<std::byte*>(dest) + at * dst, static_cast<const std::byte*>(source) + at * sst, bytes,
            false);
    }
    if (count != 0) place_of(source, bytes).window->flush(pe);
}

// The signal comes behind the data: what the adapter moves is waited for before.
void put_signal(Rank pe, void* dest, const void* source, std::size_t bytes, std::uint64_t* sig, std::uint64_t signal,
                int op) {
    put(pe, dest, source, bytes, true);
    const Place place = place_of(sig, sizeof *sig);
    if (place_of(dest, bytes).window != place.window || place.window->direct(pe) == nullptr)
        place_of(dest, bytes).window->flush(pe);
    if (op == SHMEM_SIGNAL_ADD)
        (void)place.window->fetch_add(pe, place.offset, signal);
    else if (std::byte* const direct = place.window->direct(pe); direct != nullptr)
        __atomic_store_n(reinterpret_cast<std::uint64_t*>(direct + place.offset), signal, __ATOMIC_RELEASE);
    else
        place.window->put_value(pe, place.offset, signal);
}

// Replaces the value by change(value) in one step, and returns what was there. Adapters have 8 bytes alone: of a
// smaller value the others of its word stay.
template <class T, class Change>
T update(Rank pe, const T* dest, const Change& change) {
    using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
    static_assert(sizeof(T) == sizeof(Bits));
    const Place place = place_of(dest, sizeof(T));
    if (std::byte* const direct = place.window->direct(pe); direct != nullptr) {
        auto* const word = reinterpret_cast<Bits*>(direct + place.offset);
        Bits before = __atomic_load_n(word, __ATOMIC_SEQ_CST);
        while (!__atomic_compare_exchange_n(word, &before, std::bit_cast<Bits>(change(std::bit_cast<T>(before))), false,
                                            __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
        }
        return std::bit_cast<T>(before);
    }
    // Words are multiples of 8 by address, and the beginnings of windows are.
    const std::uint64_t offset = place.offset / 8 * 8, within = place.offset % 8;
    std::uint64_t word = place.window->fetch_add(pe, offset, 0);
    while (true) {
        T before;
        std::memcpy(&before, reinterpret_cast<const std::byte*>(&word) + within, sizeof before);
        const T after = change(before);
        std::uint64_t wanted = word;
        std::memcpy(reinterpret_cast<std::byte*>(&wanted) + within, &after, sizeof after);
        const std::uint64_t seen = wanted == word ? word : place.window->compare_swap(pe, offset, word, wanted);
        if (seen == word) return before;
        word = seen;
    }
}

template <class T>
bool compare(T left, int cmp, T right) {
    switch (cmp) {
        case SHMEM_CMP_EQ:
            return left == right;
        case SHMEM_CMP_NE:
            return left != right;
        case SHMEM_CMP_GT:
            return left > right;
        case SHMEM_CMP_LE:
            return left <= right;
        case SHMEM_CMP_LT:
            return left < right;
        case SHMEM_CMP_GE:
            return left >= right;
        default:
            throw UsageError("a comparison that is none");
    }
}

template <class T>
bool holds(const T* ivar, int cmp, T value) {
    T now;
    __atomic_load(ivar, &now, __ATOMIC_ACQUIRE);
    return compare(now, cmp, value);
}

// Of several: which of them hold. `step` 0: one value for all.
template <class T>
struct Several {
    const T* ivars;
    std::size_t count;
    const int* status;
    int cmp;
    const T* values;
    std::size_t step;

    [[nodiscard]] bool counts(std::size_t i) const { return status == nullptr || status[i] == 0; }
    [[nodiscard]] bool has(std::size_t i) const { return holds(ivars + i, cmp, values[i * step]); }
    [[nodiscard]] bool any_counts() const {
        for (std::size_t i = 0; i < count; ++i)
            if (counts(i)) return true;
        return false;
    }
    [[nodiscard]] bool all() const {
        for (std::size_t i = 0; i < count; ++i)
            if (counts(i) && !has(i)) return false;
        return true;
    }
    [[nodiscard]] std::size_t first() const {
        for (std::size_t i = 0; i < count; ++i)
            if (counts(i) && has(i)) return i;
        return SIZE_MAX;
    }
    std::size_t some(std::size_t* indices) const {
        std::size_t found = 0;
        for (std::size_t i = 0; i < count; ++i)
            if (counts(i) && has(i)) indices[found++] = i;
        return found;
    }
};

template <class T>
bool test_all(const Several<T>& of) {
    if (of.all()) return true;
    state().world->progress();
    return of.all();
}

template <class T>
void wait_all(const Several<T>& of) {
    for (Poll poll; !of.all(); poll.rest()) {
    }
}

template <class T>
std::size_t wait_any(const Several<T>& of) {
    if (!of.any_counts()) return SIZE_MAX;
    Poll poll;
    while (true) {
        const std::size_t found = of.first();
        if (found != SIZE_MAX) return found;
        poll.rest();
    }
}

template <class T>
std::size_t wait_some(const Several<T>& of, std::size_t* indices) {
    if (!of.any_counts()) return 0;
    Poll poll;
    while (true) {
        const std::size_t found = of.some(indices);
        if (found != 0) return found;
        poll.rest();
    }
}

template <class T>
std::size_t test_any(const Several<T>& of) {
    const std::size_t found = of.first();
    if (found == SIZE_MAX) state().world->progress();
    return found != SIZE_MAX ? found : of.first();
}

template <class T>
std::size_t test_some(const Several<T>& of, std::size_t* indices) {
    const std::size_t found = of.some(indices);
    if (found == 0) state().world->progress();
    return found != 0 ? found : of.some(indices);
}

}  // namespace

}  // namespace loom::window::abi

using namespace loom;
using namespace loom::window;
using namespace loom::window::abi;

extern "C" {

// NAME, TYPE as the lists of types.h have them; PE: how the number of a PE is read.
#define LOOM_DEFINE_RMA(PREFIX, CTX, PE, NAME, TYPE)                                                                 \
    void PREFIX##NAME##_put(CTX TYPE* d, const TYPE* s, size_t n, int pe) {                                          \
        guarded([&] { put(PE, d, s, n * sizeof(TYPE), true); });                                                     \
    }                                                                                                                \
    void PREFIX##NAME##_get(CTX TYPE* d, const TYPE* s, size_t n, int pe) {                                          \
        guarded([&] { get(PE, d, s, n * sizeof(TYPE), true); });                                                     \
    }                                                                                                                \
    void PREFIX##NAME##_put_nbi(CTX TYPE* d, const TYPE* s, size_t n, int pe) {                                      \
        guarded([&] { put(PE, d, s, n * sizeof(TYPE), false); });                                                    \
    }                                                                                                                \
    void PREFIX##NAME##_get_nbi(CTX TYPE* d, const TYPE* s, size_t n, int pe) {                                      \
        guarded([&] { get(PE, d, s, n * sizeof(TYPE), false); });                                                    \
    }                                                                                                                \
    void PREFIX##NAME##_p(CTX TYPE* d, TYPE value, int pe) {                                                         \
        guarded([&] { put(PE, d, &value, sizeof(TYPE), true); });                                                    \
    }                                                                                                                \
    TYPE PREFIX##NAME##_g(CTX const TYPE* s, int pe) {                                                               \
        return guarded([&] {                                                                                         \
            TYPE value{};                                                                                            \
            get(PE, &value, s, sizeof(TYPE), true);                                                                  \
            return value;                                                                                            \
        });                                                                                                          \
    }                                                                                                                \
    void PREFIX##NAME##_iput(CTX TYPE* d, const TYPE* s, ptrdiff_t dst, ptrdiff_t sst, size_t n, int pe) {           \
        guarded([&] { put_strided(PE, d, s, dst, sst, n, sizeof(TYPE)); });                                          \
    }                                                                                                                \
    void PREFIX##NAME##_iget(CTX TYPE* d, const TYPE* s, ptrdiff_t dst, ptrdiff_t sst, size_t n, int pe) {           \
        guarded([&] { get_strided(PE, d, s, dst, sst, n, sizeof(TYPE)); });                                          \
    }                                                                                                                \
    void PREFIX##NAME##_put_signal(CTX TYPE* d, const TYPE* s, size_t n, uint64_t* sig, uint64_t signal, int op,     \
                                   int pe) {                                                                         \
        guarded([&] { put_signal(PE, d, s, n * sizeof(TYPE), sig, signal, op); });                                   \
    }                                                                                                                \
    void PREFIX##NAME##_put_signal_nbi(CTX TYPE* d, const TYPE* s, size_t n, uint64_t* sig, uint64_t signal, int op, \
                                       int pe) {                                                                     \
        guarded([&] { put_signal(PE, d, s, n * sizeof(TYPE), sig, signal, op); });                                   \
    }
#define LOOM_NO_CTX
#define LOOM_WITH_CTX shmem_ctx_t ctx,
#define LOOM_DEFINE(NAME, TYPE) LOOM_DEFINE_RMA(shmem_, LOOM_NO_CTX, rank_of(pe), NAME, TYPE)
LOOM_SHMEM_RMA(LOOM_DEFINE)
#undef LOOM_DEFINE
#define LOOM_DEFINE(NAME, TYPE) LOOM_DEFINE_RMA(shmem_ctx_, LOOM_WITH_CTX, rank_of(ctx, pe), NAME, TYPE)
LOOM_SHMEM_RMA(LOOM_DEFINE)
#undef LOOM_DEFINE

#define LOOM_DEFINE(BITS, BYTES)                                                                                      \
    void shmem_put##BITS(void* d, const void* s, size_t n, int pe) {                                                  \
        guarded([&] { put(rank_of(pe), d, s, n* BYTES, true); });                                                     \
    }                                                                                                                 \
    void shmem_get##BITS(void* d, const void* s, size_t n, int pe) {                                                  \
        guarded([&] { get(rank_of(pe), d, s, n* BYTES, true); });                                                     \
    }                                                                                                                 \
    void shmem_put##BITS##_nbi(void* d, const void* s, size_t n, int pe) {                                            \
        guarded([&] { put(rank_of(pe), d, s, n* BYTES, false); });                                                    \
    }                                                                                                                 \
    void shmem_get##BITS##_nbi(void* d, const void* s, size_t n, int pe) {                                            \
        guarded([&] { get(rank_of(pe), d, s, n* BYTES, false); });                                                    \
    }                                                                                                                 \
    void shmem_put##BITS##_signal(void* d, const void* s, size_t n, uint64_t* sig, uint64_t signal, int op, int pe) { \
        guarded([&] { put_signal(rank_of(pe), d, s, n* BYTES, sig, signal, op); });                                   \
    }                                                                                                                 \
    void shmem_put##BITS##_signal_nbi(void* d, const void* s, size_t n, uint64_t* sig, uint64_t signal, int op,       \
                                      int pe) {                                                                       \
        guarded([&] { put_signal(rank_of(pe), d, s, n* BYTES, sig, signal, op); });                                   \
    }                                                                                                                 \
    void shmem_ctx_put##BITS(shmem_ctx_t ctx, void* d, const void* s, size_t n, int pe) {                             \
        guarded([&] { put(rank_of(ctx, pe), d, s, n* BYTES, true); });                                                \
    }                                                                                                                 \
    void shmem_ctx_get##BITS(shmem_ctx_t ctx, void* d, const void* s, size_t n, int pe) {                             \
        guarded([&] { get(rank_of(ctx, pe), d, s, n* BYTES, true); });                                                \
    }                                                                                                                 \
    void shmem_ctx_put##BITS##_nbi(shmem_ctx_t ctx, void* d, const void* s, size_t n, int pe) {                       \
        guarded([&] { put(rank_of(ctx, pe), d, s, n* BYTES, false); });                                               \
    }                                                                                                                 \
    void shmem_ctx_get##BITS##_nbi(shmem_ctx_t ctx, void* d, const void* s, size_t n, int pe) {                       \
        guarded([&] { get(rank_of(ctx, pe), d, s, n* BYTES, false); });                                               \
    }
LOOM_DEFINE(mem, 1)
LOOM_SHMEM_SIZES(LOOM_DEFINE)
#undef LOOM_DEFINE
#define LOOM_DEFINE(BITS, BYTES)                                                                               \
    void shmem_iput##BITS(void* d, const void* s, ptrdiff_t dst, ptrdiff_t sst, size_t n, int pe) {            \
        guarded([&] { put_strided(rank_of(pe), d, s, dst, sst, n, BYTES); });                                  \
    }                                                                                                          \
    void shmem_iget##BITS(void* d, const void* s, ptrdiff_t dst, ptrdiff_t sst, size_t n, int pe) {            \
        guarded([&] { get_strided(rank_of(pe), d, s, dst, sst, n, BYTES); });                                  \
    }                                                                                                          \
    void shmem_ctx_iput##BITS(shmem_ctx_t ctx, void* d, const void* s, ptrdiff_t dst, ptrdiff_t sst, size_t n, \
                              int pe) {                                                                        \
        guarded([&] { put_strided(rank_of(ctx, pe), d, s, dst, sst, n, BYTES); });                             \
    }                                                                                                          \
    void shmem_ctx_iget##BITS(shmem_ctx_t ctx, void* d, const void* s, ptrdiff_t dst, ptrdiff_t sst, size_t n, \
                              int pe) {                                                                        \
        guarded([&] { get_strided(rank_of(ctx, pe), d, s, dst, sst, n, BYTES); });                             \
    }
LOOM_SHMEM_SIZES(LOOM_DEFINE)
#undef LOOM_DEFINE

uint64_t shmem_signal_fetch(const uint64_t* sig) {
    return guarded([&] {
        state().world->progress();
        return __atomic_load_n(sig, __ATOMIC_ACQUIRE);
    });
}
uint64_t shmem_signal_wait_until(uint64_t* sig, int cmp, uint64_t value) {
    return guarded([&] {
        for (Poll poll;; poll.rest()) {
            const std::uint64_t now = __atomic_load_n(sig, __ATOMIC_ACQUIRE);
            if (compare(now, cmp, value)) return now;
        }
    });
}

#define LOOM_DEFINE_SWAPS(PREFIX, CTX, PE, NAME, TYPE)                                  \
    TYPE PREFIX##NAME##_atomic_fetch(CTX const TYPE* s, int pe) {                       \
        return guarded([&] { return update(PE, s, [](TYPE now) { return now; }); });    \
    }                                                                                   \
    void PREFIX##NAME##_atomic_set(CTX TYPE* d, TYPE value, int pe) {                   \
        guarded([&] { (void)update(PE, d, [&](TYPE) { return value; }); });             \
    }                                                                                   \
    TYPE PREFIX##NAME##_atomic_swap(CTX TYPE* d, TYPE value, int pe) {                  \
        return guarded([&] { return update(PE, d, [&](TYPE) { return value; }); });     \
    }                                                                                   \
    void PREFIX##NAME##_atomic_fetch_nbi(CTX TYPE* fetch, const TYPE* s, int pe) {      \
        guarded([&] { *fetch = update(PE, s, [](TYPE now) { return now; }); });         \
    }                                                                                   \
    void PREFIX##NAME##_atomic_swap_nbi(CTX TYPE* fetch, TYPE* d, TYPE value, int pe) { \
        guarded([&] { *fetch = update(PE, d, [&](TYPE) { return value; }); });          \
    }
#define LOOM_DEFINE(NAME, TYPE)                                     \
    LOOM_DEFINE_SWAPS(shmem_, LOOM_NO_CTX, rank_of(pe), NAME, TYPE) \
    LOOM_DEFINE_SWAPS(shmem_ctx_, LOOM_WITH_CTX, rank_of(ctx, pe), NAME, TYPE)
LOOM_SHMEM_AMO(LOOM_DEFINE)
LOOM_SHMEM_AMO_FLOATS(LOOM_DEFINE)
#undef LOOM_DEFINE

#define LOOM_SUM(A, B) static_cast<decltype(A)>((A) + (B))
#define LOOM_DEFINE_SUMS(PREFIX, CTX, PE, NAME, TYPE)                                                       \
    TYPE PREFIX##NAME##_atomic_compare_swap(CTX TYPE* d, TYPE cond, TYPE value, int pe) {                   \
        return guarded([&] { return update(PE, d, [&](TYPE now) { return now == cond ? value : now; }); }); \
    }                                                                                                       \
    TYPE PREFIX##NAME##_atomic_fetch_add(CTX TYPE* d, TYPE value, int pe) {                                 \
        return guarded([&] { return update(PE, d, [&](TYPE now) { return LOOM_SUM(now, value); }); });      \
    }                                                                                                       \
    TYPE PREFIX##NAME##_atomic_fetch_inc(CTX TYPE* d, int pe) {                                             \
        return guarded([&] { return update(PE, d, [](TYPE now) { return LOOM_SUM(now, 1); }); });           \
    }                                                                                                       \
    void PREFIX##NAME##_atomic_add(CTX TYPE* d, TYPE value, int pe) {                                       \
        guarded([&] { (void)update(PE, d, [&](TYPE now) { return LOOM_SUM(now, value); }); });              \
    }                                                                                                       \
    void PREFIX##NAME##_atomic_inc(CTX TYPE* d, int pe) {                                                   \
        guarded([&] { (void)update(PE, d, [](TYPE now) { return LOOM_SUM(now, 1); }); });                   \
    }
#define LOOM_DEFINE(NAME, TYPE)                                                                        \
    LOOM_DEFINE_SUMS(shmem_, LOOM_NO_CTX, rank_of(pe), NAME, TYPE)                                     \
    LOOM_DEFINE_SUMS(shmem_ctx_, LOOM_WITH_CTX, rank_of(ctx, pe), NAME, TYPE)                          \
    void shmem_##NAME##_atomic_compare_swap_nbi(TYPE* fetch, TYPE* d, TYPE cond, TYPE value, int pe) { \
        *fetch = shmem_##NAME##_atomic_compare_swap(d, cond, value, pe);                               \
    }                                                                                                  \
    void shmem_##NAME##_atomic_fetch_add_nbi(TYPE* fetch, TYPE* d, TYPE value, int pe) {               \
        *fetch = shmem_##NAME##_atomic_fetch_add(d, value, pe);                                        \
    }                                                                                                  \
    void shmem_##NAME##_atomic_fetch_inc_nbi(TYPE* fetch, TYPE* d, int pe) {                           \
        *fetch = shmem_##NAME##_atomic_fetch_inc(d, pe);                                               \
    }
LOOM_SHMEM_AMO(LOOM_DEFINE)
#undef LOOM_DEFINE

#define LOOM_DEFINE_BITS(NAME, TYPE, OP, SIGN)                                                                    \
    TYPE shmem_##NAME##_atomic_fetch_##OP(TYPE* d, TYPE value, int pe) {                                          \
        return guarded(                                                                                           \
            [&] { return update(rank_of(pe), d, [&](TYPE now) { return static_cast<TYPE>(now SIGN value); }); }); \
    }                                                                                                             \
    void shmem_##NAME##_atomic_##OP(TYPE* d, TYPE value, int pe) {                                                \
        (void)shmem_##NAME##_atomic_fetch_##OP(d, value, pe);                                                     \
    }                                                                                                             \
    void shmem_##NAME##_atomic_fetch_##OP##_nbi(TYPE* fetch, TYPE* d, TYPE value, int pe) {                       \
        *fetch = shmem_##NAME##_atomic_fetch_##OP(d, value, pe);                                                  \
    }
#define LOOM_DEFINE(NAME, TYPE) \
    LOOM_DEFINE_BITS(NAME, TYPE, and, &) LOOM_DEFINE_BITS(NAME, TYPE, or, |) LOOM_DEFINE_BITS(NAME, TYPE, xor, ^)
LOOM_SHMEM_BITWISE(LOOM_DEFINE)
#undef LOOM_DEFINE

#define LOOM_DEFINE_SEVERAL(NAME, TYPE, SUFFIX, VALUE, ADDRESS, STEP)                                                  \
    void shmem_##NAME##_wait_until_all##SUFFIX(TYPE* i, size_t n, const int* status, int cmp, VALUE v) {               \
        guarded([&] { wait_all(Several<TYPE>{i, n, status, cmp, ADDRESS, STEP}); });                                   \
    }                                                                                                                  \
    size_t shmem_##NAME##_wait_until_any##SUFFIX(TYPE* i, size_t n, const int* status, int cmp, VALUE v) {             \
        return guarded([&] { return wait_any(Several<TYPE>{i, n, status, cmp, ADDRESS, STEP}); });                     \
    }                                                                                                                  \
    size_t shmem_##NAME##_wait_until_some##SUFFIX(TYPE* i, size_t n, size_t* indices, const int* status, int cmp,      \
                                                  VALUE v) {                                                           \
        return guarded([&] { return wait_some(Several<TYPE>{i, n, status, cmp, ADDRESS, STEP}, indices); });           \
    }                                                                                                                  \
    int shmem_##NAME##_test_all##SUFFIX(TYPE* i, size_t n, const int* status, int cmp, VALUE v) {                      \
        return guarded([&] { return test_all(Several<TYPE>{i, n, status, cmp, ADDRESS, STEP}) ? 1 : 0; });             \
    }                                                                                                                  \
    size_t shmem_##NAME##_test_any##SUFFIX(TYPE* i, size_t n, const int* status, int cmp, VALUE v) {                   \
        return guarded([&] { return test_any(Several<TYPE>{i, n, status, cmp, ADDRESS, STEP}); });                     \
    }                                                                                                                  \
    size_t shmem_##NAME##_test_some##SUFFIX(TYPE* i, size_t n, size_t* indices, const int* status, int cmp, VALUE v) { \
        return guarded([&] { return test_some(Several<TYPE>{i, n, status, cmp, ADDRESS, STEP}, indices); });           \
    }
#define LOOM_DEFINE(NAME, TYPE)                                                                     \
    void shmem_##NAME##_wait_until(TYPE* i, int cmp, TYPE v) {                                      \
        guarded([&] { wait_all(Several<TYPE>{i, 1, nullptr, cmp, &v, 0}); });                       \
    }                                                                                               \
    int shmem_##NAME##_test(TYPE* i, int cmp, TYPE v) {                                             \
        return guarded([&] { return test_all(Several<TYPE>{i, 1, nullptr, cmp, &v, 0}) ? 1 : 0; }); \
    }                                                                                               \
    LOOM_DEFINE_SEVERAL(NAME, TYPE, , TYPE, &v, 0)                                                  \
    LOOM_DEFINE_SEVERAL(NAME, TYPE, _vector, TYPE*, v, 1)
LOOM_SHMEM_WAIT(LOOM_DEFINE)
#undef LOOM_DEFINE

void shmem_set_lock(long* lock) {
    guarded([&] {
        const long mine = shmem_my_pe() + 1;
        for (Poll poll; shmem_long_atomic_compare_swap(lock, 0, mine, 0) != 0; poll.rest()) {
        }
    });
}
void shmem_clear_lock(long* lock) {
    guarded([&] {
        quiet();
        shmem_long_atomic_set(lock, 0, 0);
    });
}
int shmem_test_lock(long* lock) {
    return shmem_long_atomic_compare_swap(lock, 0, shmem_my_pe() + 1, 0) == 0 ? 0 : 1;
}
}
