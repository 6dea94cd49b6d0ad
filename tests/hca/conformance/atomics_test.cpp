// Compare-and-swap and fetch-and-add.
#include <cstring>
#include <numeric>
#include <thread>

#include "hca/conformance/bed.hpp"

namespace loom::conformance {
namespace {

class Atomics : public Bed {
protected:
    Atomics() : a(node()), b(node()) { connect(a, b); }

    // The word that is aligned whatever the buffer's address.
    static std::size_t aligned(const Buffer& memory) { return (8 - memory.address() % 8) % 8; }
    static std::uint64_t word(const Buffer& memory) {
        std::uint64_t value = 0;
        std::memcpy(&value, memory.bytes.data() + aligned(memory), 8);
        return value;
    }
    static void set(Buffer& memory, std::uint64_t value) {
        std::memcpy(memory.bytes.data() + aligned(memory), &value, 8);
    }
    ibv_wc perform(Node& by, ibv_wr_opcode opcode, const Buffer& result, const Buffer& target, std::uint64_t first,
                   std::uint64_t second = 0) {
        EXPECT_EQ(Work(opcode, 1, {result.piece(aligned(result), 8)})
                      .atomic(target.address(aligned(target)), target.mr->rkey, first, second)
                      .post(by),
                  0);
        return next(by.send_cq);
    }

    Node a, b;
};

TEST_F(Atomics, FetchAndAddAddsAndTellsWhatWasThere) {
    Buffer result = buffer(32), target = buffer(32);
    set(target, 40);

    const ibv_wc wc = perform(a, IBV_WR_ATOMIC_FETCH_AND_ADD, result, target, 2);

    EXPECT_STATUS(wc, IBV_WC_SUCCESS);
    EXPECT_EQ(wc.opcode, IBV_WC_FETCH_ADD);
    EXPECT_EQ(word(target), 42u);
    EXPECT_EQ(word(result), 40u);
}

TEST_F(Atomics, FetchAndAddWrapsAround) {
    Buffer result = buffer(32), target = buffer(32);
    set(target, 5);

    EXPECT_STATUS(perform(a, IBV_WR_ATOMIC_FETCH_AND_ADD, result, target, ~std::uint64_t{0}), IBV_WC_SUCCESS);

    EXPECT_EQ(word(target), 4u);
}

TEST_F(Atomics, CompareAndSwapSwapsWhatIsEqual) {
    Buffer result = buffer(32), target = buffer(32);
    set(target, 40);

    const ibv_wc wc = perform(a, IBV_WR_ATOMIC_CMP_AND_SWP, result, target, 40, 99);

    EXPECT_STATUS(wc, IBV_WC_SUCCESS);
    EXPECT_EQ(wc.opcode, IBV_WC_COMP_SWAP);
    EXPECT_EQ(word(target), 99u);
    EXPECT_EQ(word(result), 40u);
}

TEST_F(Atomics, CompareAndSwapLeavesWhatDiffersAndTellsIt) {
    Buffer result = buffer(32), target = buffer(32);
    set(target, 40);

    EXPECT_STATUS(perform(a, IBV_WR_ATOMIC_CMP_AND_SWP, result, target, 41, 99), IBV_WC_SUCCESS);

    EXPECT_EQ(word(target), 40u);
    EXPECT_EQ(word(result), 40u);
}

TEST_F(Atomics, TouchTheirEightBytesAlone) {
    Buffer result = buffer(32, 7), target = buffer(32, 7);
    set(target, 0);

    EXPECT_STATUS(perform(a, IBV_WR_ATOMIC_FETCH_AND_ADD, result, target, ~std::uint64_t{0}), IBV_WC_SUCCESS);

    for (std::size_t i = 0; i < 32; ++i)
        if (i < aligned(target) || i >= aligned(target) + 8) {
            EXPECT_EQ(target.bytes[i], 7) << i;
        }
    for (std::size_t i = 0; i < 32; ++i)
        if (i < aligned(result) || i >= aligned(result) + 8) {
            EXPECT_EQ(result.bytes[i], 7) << i;
        }
}

TEST_F(Atomics, ManyUnderWayKeepTheirOrder) {
    NodeOptions options;
    options.send_wr = 64;
    Node c = node(options);
    Node d = node(options);
    connect(c, d);
    Buffer results = buffer(64 * 8 + 8), target = buffer(32);
    const std::size_t at = aligned(results);

    for (std::uint64_t i = 0; i < 64; ++i)
        ASSERT_EQ(Work(IBV_WR_ATOMIC_FETCH_AND_ADD, i, {results.piece(at + i * 8, 8)})
                      .atomic(target.address(aligned(target)), target.mr->rkey, i)
                      .post(c),
                  0);

    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < 64; ++i) {
        ASSERT_EQ(next(c.send_cq).wr_id, i);
        std::uint64_t before = 0;
        std::memcpy(&before, results.bytes.data() + at + i * 8, 8);
        EXPECT_EQ(before, sum);
        sum += i;
    }
    EXPECT_EQ(word(target), sum);
}

TEST_F(Atomics, OfSeveralThreadsAndQueuePairsLoseNothing) {
    constexpr std::uint64_t rounds = 500;
    Buffer target = buffer(32);
    struct Worker {
        Node near, far;
        Buffer result;
    };
    std::vector<Worker> workers;
    for (int i = 0; i < 3; ++i) {
        workers.push_back({node(), node(), buffer(32)});
        connect(workers.back().near, workers.back().far);
    }
    std::vector<std::thread> threads;

    for (Worker& worker : workers)
        threads.emplace_back([&] {
            for (std::uint64_t i = 0; i < rounds; ++i)
                EXPECT_STATUS(perform(worker.near, IBV_WR_ATOMIC_FETCH_AND_ADD, worker.result, target, 1),
                              IBV_WC_SUCCESS);
        });
    for (std::thread& thread : threads) thread.join();

    EXPECT_EQ(word(target), rounds * workers.size());
}

TEST_F(Atomics, AreAnnouncedByTheDevice) {
    EXPECT_NE(device.atomic_cap, IBV_ATOMIC_NONE);
}

TEST_F(Atomics, OfTheWrongLengthFail) {
    for (const std::size_t length : {4u, 16u}) {
        Node here = node(), there = node();
        connect(here, there);
        const Buffer result = buffer(32, 1), target = buffer(32, 2);
        Work work(IBV_WR_ATOMIC_FETCH_AND_ADD, 1, {result.piece(aligned(result), length)});

        const int refused = work.atomic(target.address(aligned(target)), target.mr->rkey, 1).post(here);

        if (refused == 0) {
            const ibv_wc wc = next(here.send_cq);
            EXPECT_TRUE(wc.status == IBV_WC_LOC_LEN_ERR || wc.status == IBV_WC_LOC_QP_OP_ERR ||
                        wc.status == IBV_WC_LOC_PROT_ERR)
                << ibv_wc_status_str(wc.status);
        } else {
            EXPECT_EQ(refused, EINVAL);
        }
        EXPECT_EQ(result.bytes, std::vector<std::uint8_t>(32, 1));
        EXPECT_EQ(target.bytes, std::vector<std::uint8_t>(32, 2));
    }
}

}  // namespace
}  // namespace loom::conformance
