/* OpenSHMEM's functions from a C program: every PE checks what it sees; the first prints how many there were. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <shmem.h>

#define REQUIRE(CONDITION)                                                                \
    do {                                                                                  \
        if (!(CONDITION)) {                                                               \
            fprintf(stderr, "PE %d, line %d: %s\n", shmem_my_pe(), __LINE__, #CONDITION); \
            shmem_global_exit(1);                                                         \
        }                                                                                 \
    } while (0)

static long variable[64];
static int small_word[2];
static double real_number;
static uint64_t signal_word;
static long lock_word;

static void puts_and_gets(int me, int pes, long* heap) {
    const int right = (me + 1) % pes, left = (me + pes - 1) % pes;
    long data[64];
    for (int i = 0; i < 64; ++i) data[i] = 1000 * me + i;
    shmem_long_put(heap, data, 64, right);
    shmem_put(variable, data, 64, right);
    shmem_p(&real_number, me + 0.5, right);
    shmem_barrier_all();
    for (int i = 0; i < 64; ++i) REQUIRE(heap[i] == 1000 * left + i && variable[i] == heap[i]);
    REQUIRE(real_number == left + 0.5 && shmem_g(&real_number, left) == (left + pes - 1) % pes + 0.5);
    memset(data, 0, sizeof data);
    shmem_get_nbi(data, variable, 64, right);
    shmem_quiet();
    REQUIRE(data[63] == 1000 * me + 63);
    shmem_barrier_all();
    shmem_iput(heap, data, 2, 1, 8, right);
    shmem_barrier_all();
    for (int i = 0; i < 8; ++i) REQUIRE(heap[2 * i] == 1000 * left + i && heap[2 * i + 1] == 1000 * left + 2 * i + 1);
    shmem_iget(data, heap, 1, 2, 8, right);
    for (int i = 0; i < 8; ++i) REQUIRE(data[i] == 1000 * me + i);
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;
    REQUIRE(shmem_ctx_create(0, &ctx) == 0);
    shmem_put(ctx, heap, data, 1, right);
    shmem_ctx_quiet(ctx);
    shmem_ctx_destroy(ctx);
    shmem_barrier_all();
}

static void signals(int me, int pes, long* heap) {
    const int right = (me + 1) % pes, left = (me + pes - 1) % pes;
    for (uint64_t round = 1; round <= 200; ++round) {
        const long value = (long)round * 7 + me;
        shmem_long_put_signal(heap, &value, 1, &signal_word, round, SHMEM_SIGNAL_SET, right);
        REQUIRE(shmem_signal_wait_until(&signal_word, SHMEM_CMP_GE, round) >= round);
        REQUIRE(heap[0] >= (long)round * 7 + left);
        shmem_barrier_all();
    }
    shmem_barrier_all();
    const long one = 1;
    shmem_long_put_signal(heap, &one, 1, &signal_word, 5, SHMEM_SIGNAL_ADD, right);
    shmem_uint64_wait_until(&signal_word, SHMEM_CMP_EQ, 205);
    REQUIRE(shmem_signal_fetch(&signal_word) == 205 && heap[0] == 1);
    shmem_barrier_all();
}

static void atomics(int me, int pes, long* heap) {
    memset(heap, 0, 4 * sizeof *heap);
    shmem_barrier_all();
    for (int i = 0; i < 100; ++i) {
        shmem_atomic_inc(&heap[0], i % pes);
        shmem_int_atomic_add(&small_word[1], 2, i % pes);
        (void)shmem_atomic_fetch_add(&variable[7], 1L, 0);
    }
    (void)shmem_uint64_atomic_fetch_or((uint64_t*)&heap[1], (uint64_t)1 << me, 0);
    shmem_barrier_all();
    long sum = 0;
    int sum_of_small = 0;
    for (int pe = 0; pe < pes; ++pe) {
        sum += shmem_atomic_fetch(&heap[0], pe);
        sum_of_small += shmem_atomic_fetch(&small_word[1], pe);
    }
    REQUIRE(sum == 100 * pes && sum_of_small == 200 * pes && small_word[0] == 0);
    REQUIRE(shmem_atomic_fetch(&heap[1], 0) == (1L << pes) - 1);
    const float f = shmem_float_atomic_swap((float*)&heap[2], (float)me, me);
    (void)f;
    REQUIRE(shmem_float_atomic_fetch((float*)&heap[2], me) == (float)me);
    for (int i = 0; i < 20; ++i) {
        shmem_set_lock(&lock_word);
        const long now = shmem_g(&heap[3], 0);
        shmem_p(&heap[3], now + 1, 0);
        shmem_clear_lock(&lock_word);
    }
    shmem_barrier_all();
    REQUIRE(shmem_g(&heap[3], 0) == 20 * pes);
    shmem_barrier_all();
}

static void together(int me, int pes, long* heap) {
    for (int i = 0; i < 4; ++i) heap[i] = me + i;
    REQUIRE(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, heap + 8, heap, 4) == 0);
    for (int i = 0; i < 4; ++i) REQUIRE(heap[8 + i] == (long)pes * (pes - 1) / 2 + (long)pes * i);
    REQUIRE(shmem_long_max_reduce(SHMEM_TEAM_WORLD, heap, heap, 1) == 0 && heap[0] == pes - 1);
    heap[16] = me == pes - 1 ? 77 : 0;
    shmem_long_broadcast(SHMEM_TEAM_WORLD, heap + 17, heap + 16, 1, pes - 1);
    REQUIRE(heap[17] == 77);
    heap[0] = 10 * me;
    shmem_long_fcollect(SHMEM_TEAM_WORLD, heap + 20, heap, 1);
    for (int pe = 0; pe < pes; ++pe) REQUIRE(heap[20 + pe] == 10 * pe);
    shmem_team_t half = SHMEM_TEAM_INVALID;
    REQUIRE(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (pes + 1) / 2, NULL, 0, &half) == 0);
    REQUIRE((half != SHMEM_TEAM_INVALID) == (me % 2 == 0));
    if (half != SHMEM_TEAM_INVALID) {
        REQUIRE(shmem_team_n_pes(half) == (pes + 1) / 2 && shmem_team_my_pe(half) == me / 2);
        REQUIRE(shmem_team_translate_pe(half, me / 2, SHMEM_TEAM_WORLD) == me);
        long psync[1] = {SHMEM_SYNC_VALUE};
        shmem_sync(0, 1, (pes + 1) / 2, psync);
        shmem_sync(half);
        shmem_team_destroy(half);
    }
    shmem_barrier_all();
}

int main(void) {
    shmem_init();
    const int me = shmem_my_pe(), pes = shmem_n_pes();
    long* const heap = shmem_calloc(64 + (size_t)pes, sizeof *heap);
    REQUIRE(heap != NULL && heap[64] == 0);
    puts_and_gets(me, pes, heap);
    signals(me, pes, heap);
    memset(variable, 0, sizeof variable);
    shmem_barrier_all();
    atomics(me, pes, heap);
    together(me, pes, heap);
    REQUIRE(shmem_addr_accessible(heap, me) && shmem_addr_accessible(variable, 0) && !shmem_addr_accessible(&me, 0));
    char* const more = shmem_align(4096, 100);
    REQUIRE((uintptr_t)more % 4096 == 0);
    char* const again = shmem_realloc(more, 5000);
    REQUIRE(again != NULL);
    shmem_free(again);
    REQUIRE(shmem_malloc(1UL << 40) == NULL);
    shmem_free(heap);
    if (me == 0) printf("%d PEs: all right\n", pes);
    shmem_finalize();
    return 0;
}
