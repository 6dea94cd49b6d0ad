/* OpenSHMEM's type-generic names: selections of C11, overloads of C++. For shmem.h alone. */
#pragma once

#ifdef __cplusplus

#define LOOM_SHMEM_GENERIC(NAME, TYPE)                                    \
    inline void shmem_put(TYPE* d, const TYPE* s, size_t n, int pe) {     \
        shmem_##NAME##_put(d, s, n, pe);                                  \
    }                                                                     \
    inline void shmem_get(TYPE* d, const TYPE* s, size_t n, int pe) {     \
        shmem_##NAME##_get(d, s, n, pe);                                  \
    }                                                                     \
    inline void shmem_put_nbi(TYPE* d, const TYPE* s, size_t n, int pe) { \
        shmem_##NAME##_put_nbi(d, s, n, pe);                              \
    }                                                                     \
    inline void shmem_get_nbi(TYPE* d, const TYPE* s, size_t n, int pe) { \
        shmem_##NAME##_get_nbi(d, s, n, pe);                              \
    }                                                                     \
    inline void shmem_p(TYPE* d, TYPE v, int pe) {                        \
        shmem_##NAME##_p(d, v, pe);                                       \
    }                                                                     \
    inline TYPE shmem_g(const TYPE* s, int pe) {                          \
        return shmem_##NAME##_g(s, pe);                                   \
    }
LOOM_SHMEM_RMA_DISTINCT(LOOM_SHMEM_GENERIC)
#undef LOOM_SHMEM_GENERIC

#define LOOM_SHMEM_GENERIC(NAME, TYPE)                       \
    inline TYPE shmem_atomic_fetch(const TYPE* s, int pe) {  \
        return shmem_##NAME##_atomic_fetch(s, pe);           \
    }                                                        \
    inline void shmem_atomic_set(TYPE* d, TYPE v, int pe) {  \
        shmem_##NAME##_atomic_set(d, v, pe);                 \
    }                                                        \
    inline TYPE shmem_atomic_swap(TYPE* d, TYPE v, int pe) { \
        return shmem_##NAME##_atomic_swap(d, v, pe);         \
    }
LOOM_SHMEM_AMO_DISTINCT(LOOM_SHMEM_GENERIC)
LOOM_SHMEM_AMO_FLOATS(LOOM_SHMEM_GENERIC)
#undef LOOM_SHMEM_GENERIC

#define LOOM_SHMEM_GENERIC(NAME, TYPE)                                       \
    inline TYPE shmem_atomic_compare_swap(TYPE* d, TYPE c, TYPE v, int pe) { \
        return shmem_##NAME##_atomic_compare_swap(d, c, v, pe);              \
    }                                                                        \
    inline TYPE shmem_atomic_fetch_add(TYPE* d, TYPE v, int pe) {            \
        return shmem_##NAME##_atomic_fetch_add(d, v, pe);                    \
    }                                                                        \
    inline TYPE shmem_atomic_fetch_inc(TYPE* d, int pe) {                    \
        return shmem_##NAME##_atomic_fetch_inc(d, pe);                       \
    }                                                                        \
    inline void shmem_atomic_add(TYPE* d, TYPE v, int pe) {                  \
        shmem_##NAME##_atomic_add(d, v, pe);                                 \
    }                                                                        \
    inline void shmem_atomic_inc(TYPE* d, int pe) {                          \
        shmem_##NAME##_atomic_inc(d, pe);                                    \
    }
LOOM_SHMEM_AMO_DISTINCT(LOOM_SHMEM_GENERIC)
#undef LOOM_SHMEM_GENERIC

#define LOOM_SHMEM_GENERIC(NAME, TYPE)                       \
    inline void shmem_wait_until(TYPE* i, int cmp, TYPE v) { \
        shmem_##NAME##_wait_until(i, cmp, v);                \
    }                                                        \
    inline int shmem_test(TYPE* i, int cmp, TYPE v) {        \
        return shmem_##NAME##_test(i, cmp, v);               \
    }
LOOM_SHMEM_WAIT_DISTINCT(LOOM_SHMEM_GENERIC)
#undef LOOM_SHMEM_GENERIC

#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L

/* Of (ctx, dest, ...) or (dest, ...): what the first or, behind a context, the second points to. */
#define LOOM_SHMEM_FIRST(A, ...) A
#define LOOM_SHMEM_SECOND(A, B, ...) B
#define LOOM_SHMEM_PLAIN(OP, A, CASES, ...) _Generic((A), CASES(OP, shmem_))
#define LOOM_SHMEM_CASES_OF(OP, P, NAME, TYPE) \
    TYPE* : P##NAME##OP, const TYPE* : P##NAME##OP, volatile TYPE* : P##NAME##OP
#define LOOM_SHMEM_CASES_AMO(OP, P)                                                                      \
    LOOM_SHMEM_CASES_OF(OP, P, int, int), LOOM_SHMEM_CASES_OF(OP, P, long, long),                        \
        LOOM_SHMEM_CASES_OF(OP, P, longlong, long long), LOOM_SHMEM_CASES_OF(OP, P, uint, unsigned int), \
        LOOM_SHMEM_CASES_OF(OP, P, ulong, unsigned long), LOOM_SHMEM_CASES_OF(OP, P, ulonglong, unsigned long long)
#define LOOM_SHMEM_CASES_AMO_AND_FLOATS(OP, P) \
    LOOM_SHMEM_CASES_AMO(OP, P), LOOM_SHMEM_CASES_OF(OP, P, float, float), LOOM_SHMEM_CASES_OF(OP, P, double, double)
#define LOOM_SHMEM_CASES_BITS(OP, P)                                                                           \
    LOOM_SHMEM_CASES_OF(OP, P, uint, unsigned int), LOOM_SHMEM_CASES_OF(OP, P, ulong, unsigned long),          \
        LOOM_SHMEM_CASES_OF(OP, P, ulonglong, unsigned long long), LOOM_SHMEM_CASES_OF(OP, P, int32, int32_t), \
        LOOM_SHMEM_CASES_OF(OP, P, int64, int64_t)
#define LOOM_SHMEM_CASES_WAIT(OP, P)                                       \
    LOOM_SHMEM_CASES_AMO(OP, P), LOOM_SHMEM_CASES_OF(OP, P, short, short), \
        LOOM_SHMEM_CASES_OF(OP, P, ushort, unsigned short)
#define LOOM_SHMEM_CASES_RMA(OP, P)                                                                      \
    LOOM_SHMEM_CASES_WAIT(OP, P), LOOM_SHMEM_CASES_OF(OP, P, float, float),                              \
        LOOM_SHMEM_CASES_OF(OP, P, double, double), LOOM_SHMEM_CASES_OF(OP, P, longdouble, long double), \
        LOOM_SHMEM_CASES_OF(OP, P, char, char), LOOM_SHMEM_CASES_OF(OP, P, schar, signed char),          \
        LOOM_SHMEM_CASES_OF(OP, P, uchar, unsigned char)

/* The inner selection of a branch that is not taken must be right as well: there it looks at an int pointer. */
#define LOOM_SHMEM_WITH(OP, CASES, ...)                                                                                \
    _Generic((LOOM_SHMEM_FIRST(__VA_ARGS__, 0)), shmem_ctx_t                                                           \
             : _Generic((LOOM_SHMEM_AS_POINTER(LOOM_SHMEM_SECOND(__VA_ARGS__, 0, 0))), CASES(OP, shmem_ctx_)), default \
             : _Generic((LOOM_SHMEM_AS_NO_CTX(LOOM_SHMEM_FIRST(__VA_ARGS__, 0))), CASES(OP, shmem_)))(__VA_ARGS__)
#define LOOM_SHMEM_ALONE(OP, CASES, ...) _Generic((LOOM_SHMEM_FIRST(__VA_ARGS__, 0)), CASES(OP, shmem_))(__VA_ARGS__)
#define LOOM_SHMEM_AS_NO_CTX(A) _Generic((A), shmem_ctx_t : (int*)0, default : (A))
#define LOOM_SHMEM_AS_POINTER(A)           \
    _Generic((A), char                     \
             : (int*)0, signed char        \
             : (int*)0, short              \
             : (int*)0, int                \
             : (int*)0, long               \
             : (int*)0, long long          \
             : (int*)0, unsigned char      \
             : (int*)0, unsigned short     \
             : (int*)0, unsigned int       \
             : (int*)0, unsigned long      \
             : (int*)0, unsigned long long \
             : (int*)0, float              \
             : (int*)0, double             \
             : (int*)0, long double        \
             : (int*)0, default            \
             : (A))

#define shmem_put(...) LOOM_SHMEM_WITH(_put, LOOM_SHMEM_CASES_RMA, __VA_ARGS__)
#define shmem_get(...) LOOM_SHMEM_WITH(_get, LOOM_SHMEM_CASES_RMA, __VA_ARGS__)
#define shmem_put_nbi(...) LOOM_SHMEM_WITH(_put_nbi, LOOM_SHMEM_CASES_RMA, __VA_ARGS__)
#define shmem_get_nbi(...) LOOM_SHMEM_WITH(_get_nbi, LOOM_SHMEM_CASES_RMA, __VA_ARGS__)
#define shmem_p(...) LOOM_SHMEM_WITH(_p, LOOM_SHMEM_CASES_RMA, __VA_ARGS__)
#define shmem_g(...) LOOM_SHMEM_WITH(_g, LOOM_SHMEM_CASES_RMA, __VA_ARGS__)
#define shmem_iput(...) LOOM_SHMEM_WITH(_iput, LOOM_SHMEM_CASES_RMA, __VA_ARGS__)
#define shmem_iget(...) LOOM_SHMEM_WITH(_iget, LOOM_SHMEM_CASES_RMA, __VA_ARGS__)
#define shmem_put_signal(...) LOOM_SHMEM_WITH(_put_signal, LOOM_SHMEM_CASES_RMA, __VA_ARGS__)
#define shmem_put_signal_nbi(...) LOOM_SHMEM_WITH(_put_signal_nbi, LOOM_SHMEM_CASES_RMA, __VA_ARGS__)
#define shmem_atomic_fetch(...) LOOM_SHMEM_WITH(_atomic_fetch, LOOM_SHMEM_CASES_AMO_AND_FLOATS, __VA_ARGS__)
#define shmem_atomic_set(...) LOOM_SHMEM_WITH(_atomic_set, LOOM_SHMEM_CASES_AMO_AND_FLOATS, __VA_ARGS__)
#define shmem_atomic_swap(...) LOOM_SHMEM_WITH(_atomic_swap, LOOM_SHMEM_CASES_AMO_AND_FLOATS, __VA_ARGS__)
#define shmem_atomic_fetch_nbi(...) LOOM_SHMEM_WITH(_atomic_fetch_nbi, LOOM_SHMEM_CASES_AMO_AND_FLOATS, __VA_ARGS__)
#define shmem_atomic_swap_nbi(...) LOOM_SHMEM_WITH(_atomic_swap_nbi, LOOM_SHMEM_CASES_AMO_AND_FLOATS, __VA_ARGS__)
#define shmem_atomic_compare_swap(...) LOOM_SHMEM_WITH(_atomic_compare_swap, LOOM_SHMEM_CASES_AMO, __VA_ARGS__)
#define shmem_atomic_fetch_add(...) LOOM_SHMEM_WITH(_atomic_fetch_add, LOOM_SHMEM_CASES_AMO, __VA_ARGS__)
#define shmem_atomic_fetch_inc(...) LOOM_SHMEM_WITH(_atomic_fetch_inc, LOOM_SHMEM_CASES_AMO, __VA_ARGS__)
#define shmem_atomic_add(...) LOOM_SHMEM_WITH(_atomic_add, LOOM_SHMEM_CASES_AMO, __VA_ARGS__)
#define shmem_atomic_inc(...) LOOM_SHMEM_WITH(_atomic_inc, LOOM_SHMEM_CASES_AMO, __VA_ARGS__)
#define shmem_atomic_compare_swap_nbi(...) LOOM_SHMEM_ALONE(_atomic_compare_swap_nbi, LOOM_SHMEM_CASES_AMO, __VA_ARGS__)
#define shmem_atomic_fetch_add_nbi(...) LOOM_SHMEM_ALONE(_atomic_fetch_add_nbi, LOOM_SHMEM_CASES_AMO, __VA_ARGS__)
#define shmem_atomic_fetch_inc_nbi(...) LOOM_SHMEM_ALONE(_atomic_fetch_inc_nbi, LOOM_SHMEM_CASES_AMO, __VA_ARGS__)
#define shmem_atomic_and(...) LOOM_SHMEM_ALONE(_atomic_and, LOOM_SHMEM_CASES_BITS, __VA_ARGS__)
#define shmem_atomic_or(...) LOOM_SHMEM_ALONE(_atomic_or, LOOM_SHMEM_CASES_BITS, __VA_ARGS__)
#define shmem_atomic_xor(...) LOOM_SHMEM_ALONE(_atomic_xor, LOOM_SHMEM_CASES_BITS, __VA_ARGS__)
#define shmem_atomic_fetch_and(...) LOOM_SHMEM_ALONE(_atomic_fetch_and, LOOM_SHMEM_CASES_BITS, __VA_ARGS__)
#define shmem_atomic_fetch_or(...) LOOM_SHMEM_ALONE(_atomic_fetch_or, LOOM_SHMEM_CASES_BITS, __VA_ARGS__)
#define shmem_atomic_fetch_xor(...) LOOM_SHMEM_ALONE(_atomic_fetch_xor, LOOM_SHMEM_CASES_BITS, __VA_ARGS__)
#define shmem_wait_until(...) LOOM_SHMEM_ALONE(_wait_until, LOOM_SHMEM_CASES_WAIT, __VA_ARGS__)
#define shmem_test(...) LOOM_SHMEM_ALONE(_test, LOOM_SHMEM_CASES_WAIT, __VA_ARGS__)
#define shmem_wait_until_all(...) LOOM_SHMEM_ALONE(_wait_until_all, LOOM_SHMEM_CASES_WAIT, __VA_ARGS__)
#define shmem_wait_until_any(...) LOOM_SHMEM_ALONE(_wait_until_any, LOOM_SHMEM_CASES_WAIT, __VA_ARGS__)
#define shmem_wait_until_some(...) LOOM_SHMEM_ALONE(_wait_until_some, LOOM_SHMEM_CASES_WAIT, __VA_ARGS__)
#define shmem_test_all(...) LOOM_SHMEM_ALONE(_test_all, LOOM_SHMEM_CASES_WAIT, __VA_ARGS__)
#define shmem_test_any(...) LOOM_SHMEM_ALONE(_test_any, LOOM_SHMEM_CASES_WAIT, __VA_ARGS__)
#define shmem_test_some(...) LOOM_SHMEM_ALONE(_test_some, LOOM_SHMEM_CASES_WAIT, __VA_ARGS__)

#endif

/* A team's function has one argument, an active set's four. */
#ifdef __cplusplus
extern "C++" {
inline int shmem_sync(shmem_team_t team) {
    return shmem_team_sync(team);
}
inline void shmem_sync(int start, int stride, int size, long* psync) {
    shmem_sync_active_set(start, stride, size, psync);
}
}
#else
#define LOOM_SHMEM_SYNC_OF(A, B, C, D, NAME, ...) NAME
#define shmem_sync(...) LOOM_SHMEM_SYNC_OF(__VA_ARGS__, shmem_sync_active_set, 0, 0, shmem_team_sync, 0)(__VA_ARGS__)
#endif
