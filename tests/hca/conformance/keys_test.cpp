// Keys: who may touch which bytes.
#include <sys/mman.h>

#include "hca/conformance/bed.hpp"

namespace loom::conformance {
namespace {

class Keys : public Bed {
protected:
    Keys() : a(node()), b(node()) { connect(a, b); }

    // A one-sided operation that must be refused by the target, which must keep its bytes.
    void expect_remote_refusal(Work work, const Buffer& target, ibv_wc_status status = IBV_WC_REM_ACCESS_ERR) {
        const std::vector<std::uint8_t> before = target.bytes;
        ASSERT_EQ(work.post(a), 0);
        const ibv_wc wc = next(a.send_cq);
        EXPECT_STATUS(wc, status);
        EXPECT_EQ(wc.wr_id, work.request.wr_id);
        EXPECT_EQ(target.bytes, before);
        EXPECT_EQ(a.state(), IBV_QPS_ERR);
    }

    void expect_local_refusal(Work work) {
        ASSERT_EQ(work.post(a), 0);
        const ibv_wc wc = next(a.send_cq);
        EXPECT_STATUS(wc, IBV_WC_LOC_PROT_ERR);
        EXPECT_EQ(wc.wr_id, work.request.wr_id);
        EXPECT_EQ(a.state(), IBV_QPS_ERR);
    }

    Node a, b;
};

TEST_F(Keys, ALocalKeyOfNobodyIsALocalProtectionError) {
    const Buffer memory = buffer(64);
    expect_local_refusal(Work(IBV_WR_SEND, 1, {{memory.address(), 8, memory.mr->lkey ^ 0x3300}}));
}

// Its place in the table is taken, but by another registration than it names: as after many registrations.
TEST_F(Keys, AKeyOfAnotherRegistrationInItsPlaceIsALocalProtectionError) {
    const Buffer memory = buffer(64);
    expect_local_refusal(Work(IBV_WR_SEND, 1, {{memory.address(), 8, memory.mr->lkey ^ 1}}));
}

TEST_F(Keys, OneByteBehindTheRegionIsALocalProtectionError) {
    const Buffer memory = buffer(64);
    expect_local_refusal(Work(IBV_WR_SEND, 1, {{memory.address(), 65, memory.mr->lkey}}));
}

TEST_F(Keys, OneByteBeforeTheRegionIsALocalProtectionError) {
    const Buffer memory = buffer(64);
    expect_local_refusal(Work(IBV_WR_SEND, 1, {{memory.address() - 1, 8, memory.mr->lkey}}));
}

TEST_F(Keys, AnAddressThatWrapsAroundIsALocalProtectionError) {
    const Buffer memory = buffer(64);
    expect_local_refusal(Work(IBV_WR_SEND, 1, {{~std::uint64_t{0} - 3, 64, memory.mr->lkey}}));
}

TEST_F(Keys, AnyOfSeveralPiecesCanBeTheWrongOne) {
    const Buffer memory = buffer(64);
    expect_local_refusal(
        Work(IBV_WR_SEND, 1, {memory.piece(0, 8), memory.piece(8, 8), {memory.address(60), 5, memory.mr->lkey}}));
}

TEST_F(Keys, AnotherProtectionDomainsKeyIsALocalProtectionError) {
    const Pd other(ibv_alloc_pd(context.get()));
    const Buffer memory = buffer(64, 0, every_access, other.get());
    expect_local_refusal(Work(IBV_WR_SEND, 1, {memory.piece(0, 8)}));
}

TEST_F(Keys, ADeregisteredLocalKeyIsALocalProtectionError) {
    Buffer memory = buffer(64);
    Work work(IBV_WR_SEND, 1, {memory.piece(0, 8)});
    memory.mr.reset();
    expect_local_refusal(work);
}

TEST_F(Keys, ReadingIntoMemoryThatMayNotBeWrittenIsALocalProtectionError) {
    const Buffer read_only = buffer(64, 1, 0);
    const Buffer target = buffer(64, 2);
    expect_local_refusal(Work(IBV_WR_RDMA_READ, 1, {read_only.piece(0, 8)}).to(target));
    EXPECT_EQ(read_only.bytes[0], 1);
}

TEST_F(Keys, SendingFromMemoryThatMayOnlyBeReadIsFine) {
    const Buffer read_only = buffer(64, 1, 0);
    const Buffer target = buffer(64, 2);
    ASSERT_EQ(post_receive(b, 1, {target.all()}), 0);

    ASSERT_EQ(Work(IBV_WR_SEND, 1, {read_only.all()}).post(a), 0);

    EXPECT_STATUS(next(a.send_cq), IBV_WC_SUCCESS);
    EXPECT_EQ(target.bytes, read_only.bytes);
}

TEST_F(Keys, AReceiveIntoMemoryThatMayNotBeWrittenFailsBothSides) {
    const Buffer read_only = buffer(64, 1, 0);
    const Buffer source = buffer(64, 2);
    ASSERT_EQ(post_receive(b, 1, {read_only.all()}), 0);

    ASSERT_EQ(Work(IBV_WR_SEND, 2, {source.all()}).post(a), 0);

    EXPECT_STATUS(next(b.recv_cq), IBV_WC_LOC_PROT_ERR);
    EXPECT_STATUS(next(a.send_cq), IBV_WC_REM_OP_ERR);
    EXPECT_EQ(read_only.bytes[0], 1);
    EXPECT_EQ(b.state(), IBV_QPS_ERR);
    EXPECT_EQ(a.state(), IBV_QPS_ERR);
}

TEST_F(Keys, AReceiveWithAWrongKeyFailsBothSides) {
    const Buffer memory = buffer(64);
    ASSERT_EQ(post_receive(b, 1, {{memory.address(), 64, memory.mr->lkey ^ 0x7700}}), 0);

    ASSERT_EQ(Work(IBV_WR_SEND, 2, {memory.piece(0, 8)}).post(a), 0);

    EXPECT_STATUS(next(b.recv_cq), IBV_WC_LOC_PROT_ERR);
    EXPECT_STATUS(next(a.send_cq), IBV_WC_REM_OP_ERR);
}

TEST_F(Keys, ARemoteKeyOfNobodyIsARemoteAccessError) {
    const Buffer source = buffer(64, 1);
    const Buffer target = buffer(64, 2);
    expect_remote_refusal(
        Work(IBV_WR_RDMA_WRITE, 1, {source.piece(0, 8)}).to(target.address(), target.mr->rkey ^ 0x4400), target);
}

TEST_F(Keys, WritingOneByteBehindTheRegionIsARemoteAccessError) {
    const Buffer source = buffer(64, 1);
    const Buffer target = buffer(64, 2);
    expect_remote_refusal(Work(IBV_WR_RDMA_WRITE, 1, {source.piece(0, 33)}).to(target, 32), target);
}

TEST_F(Keys, WritingOneByteBeforeTheRegionIsARemoteAccessError) {
    const Buffer source = buffer(64, 1);
    const Buffer target = buffer(64, 2);
    expect_remote_refusal(Work(IBV_WR_RDMA_WRITE, 1, {source.piece(0, 33)}).to(target.address() - 1, target.mr->rkey),
                          target);
}

TEST_F(Keys, ALongWriteThatEndsOneByteTooFarIsARemoteAccessError) {
    const Buffer source = buffer(1 << 20, 1);
    const Buffer target = buffer(1 << 20, 2);
    expect_remote_refusal(Work(IBV_WR_RDMA_WRITE, 1, {source.all()}).to(target, 1), target);
}

TEST_F(Keys, ReadingOneByteBehindTheRegionIsARemoteAccessError) {
    const Buffer source = buffer(64, 1);
    const Buffer target = buffer(64, 2);
    expect_remote_refusal(Work(IBV_WR_RDMA_READ, 1, {source.piece(0, 33)}).to(target, 32), target);
    EXPECT_EQ(source.bytes[0], 1);
}

TEST_F(Keys, AnAtomicBehindTheRegionIsARemoteAccessError) {
    const Buffer source = buffer(64, 1);
    const Buffer target = buffer(64, 2);
    expect_remote_refusal(
        Work(IBV_WR_ATOMIC_FETCH_AND_ADD, 1, {source.piece(0, 8)}).atomic(target.address(64), target.mr->rkey, 1),
        target);
}

TEST_F(Keys, AWriteNeedsTheRegionsPermission) {
    const Buffer source = buffer(64, 1);
    const Buffer target = buffer(64, 2, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
    expect_remote_refusal(Work(IBV_WR_RDMA_WRITE, 1, {source.piece(0, 8)}).to(target), target);
}

TEST_F(Keys, AReadNeedsTheRegionsPermission) {
    const Buffer source = buffer(64, 1);
    const Buffer target = buffer(64, 2, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
    expect_remote_refusal(Work(IBV_WR_RDMA_READ, 1, {source.piece(0, 8)}).to(target), target);
    EXPECT_EQ(source.bytes[0], 1);
}

TEST_F(Keys, AnAtomicNeedsTheRegionsPermission) {
    const Buffer source = buffer(64, 1);
    const Buffer target = buffer(64, 2, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
    expect_remote_refusal(
        Work(IBV_WR_ATOMIC_FETCH_AND_ADD, 1, {source.piece(0, 8)}).atomic(target.address(), target.mr->rkey, 1),
        target);
}

TEST_F(Keys, ARemoteKeyOfAnotherProtectionDomainIsARemoteAccessError) {
    const Pd other(ibv_alloc_pd(context.get()));
    const Buffer source = buffer(64, 1);
    const Buffer target = buffer(64, 2, every_access, other.get());
    expect_remote_refusal(Work(IBV_WR_RDMA_WRITE, 1, {source.piece(0, 8)}).to(target), target);
}

TEST_F(Keys, ADeregisteredRemoteKeyIsARemoteAccessError) {
    const Buffer source = buffer(64, 1);
    Buffer target = buffer(64, 2);
    Work work(IBV_WR_RDMA_WRITE, 1, {source.piece(0, 8)});
    work.to(target);
    target.mr.reset();
    expect_remote_refusal(work, target);
}

TEST_F(Keys, WorkThatWaitsIsLookedAtAgainWhenItsMemoryWasDeregistered) {
    Node from = node(), to = node();
    Tuning patient;
    patient.rnr_timer = 10;  // about a millisecond; no receive is posted
    connect(from, to, patient);
    Buffer source = buffer(64, 1);
    ASSERT_EQ(Work(IBV_WR_SEND, 1, {source.piece(0, 8)}).post(from), 0);

    source.mr.reset();

    EXPECT_STATUS(next(from.send_cq), IBV_WC_LOC_PROT_ERR);
    EXPECT_EQ(from.state(), IBV_QPS_ERR);
}

TEST_F(Keys, ARefusedAccessTakesTheTargetsQueuePairDownToo) {
    const Buffer source = buffer(64, 1);
    const Buffer target = buffer(64, 2);
    ASSERT_EQ(post_receive(b, 5, {target.all()}), 0);
    expect_remote_refusal(
        Work(IBV_WR_RDMA_WRITE, 1, {source.piece(0, 8)}).to(target.address(), target.mr->rkey ^ 0x4400), target);

    const ibv_wc flushed = next(b.recv_cq);

    EXPECT_STATUS(flushed, IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(flushed.wr_id, 5u);
    EXPECT_EQ(b.state(), IBV_QPS_ERR);
}

struct MissingRight {
    const char* name;
    unsigned right;
    ibv_wr_opcode opcode;
};

class QueuePairRights : public Bed, public testing::WithParamInterface<MissingRight> {};

TEST_P(QueuePairRights, AreNeededBesideThoseOfTheRegion) {
    Node a = node();
    Node b = node();
    Tuning tuning;
    tuning.access &= ~GetParam().right;
    connect(a, b, tuning);
    const Buffer source = buffer(64, 1);
    const Buffer target = buffer(64, 2);
    Work work(GetParam().opcode, 1, {source.piece(0, 8)});
    if (GetParam().right == IBV_ACCESS_REMOTE_ATOMIC)
        work.atomic(target.address(), target.mr->rkey, 1);
    else
        work.to(target);

    ASSERT_EQ(work.post(a), 0);

    const ibv_wc wc = next(a.send_cq);
    EXPECT_TRUE(wc.status == IBV_WC_REM_ACCESS_ERR || wc.status == IBV_WC_REM_INV_REQ_ERR)
        << ibv_wc_status_str(wc.status);
    EXPECT_EQ(target.bytes, std::vector<std::uint8_t>(64, 2));
}

INSTANTIATE_TEST_SUITE_P(Each, QueuePairRights,
                         testing::Values(MissingRight{"Write", IBV_ACCESS_REMOTE_WRITE, IBV_WR_RDMA_WRITE},
                                         MissingRight{"Read", IBV_ACCESS_REMOTE_READ, IBV_WR_RDMA_READ},
                                         MissingRight{"Atomic", IBV_ACCESS_REMOTE_ATOMIC, IBV_WR_ATOMIC_FETCH_AND_ADD}),
                         [](const auto& tested) { return tested.param.name; });

TEST_F(Keys, NothingIsCheckedForAnEmptyWriteOrRead) {
    ASSERT_EQ(Work(IBV_WR_RDMA_WRITE, 1).to(0, 0x12345).post(a), 0);
    ASSERT_EQ(Work(IBV_WR_RDMA_READ, 2).to(0, 0x12345).post(a), 0);

    EXPECT_STATUS(next(a.send_cq), IBV_WC_SUCCESS);
    EXPECT_STATUS(next(a.send_cq), IBV_WC_SUCCESS);
}

TEST_F(Keys, TheWholeRegionMayBeWrittenAndRead) {
    const Buffer source = buffer(5000, 1);
    const Buffer target = buffer(5000, 2);

    ASSERT_EQ(Work(IBV_WR_RDMA_WRITE, 1, {source.all()}).to(target).post(a), 0);
    ASSERT_EQ(Work(IBV_WR_RDMA_READ, 2, {source.piece(0, 1)}).to(target, 4999).post(a), 0);

    EXPECT_STATUS(next(a.send_cq), IBV_WC_SUCCESS);
    EXPECT_STATUS(next(a.send_cq), IBV_WC_SUCCESS);
    EXPECT_EQ(target.bytes, std::vector<std::uint8_t>(5000, 1));
}

TEST_F(Keys, OfARegionWithItsOwnAddressesCountFromThere) {
    std::vector<std::uint8_t> bytes(64, 2);
    const Mr mr(ibv_reg_mr_iova(pd.get(), bytes.data(), bytes.size(), 0x1000, every_access));
    ASSERT_NE(mr, nullptr);
    const Buffer source = buffer(64, 1);

    ASSERT_EQ(Work(IBV_WR_RDMA_WRITE, 1, {source.piece(0, 8)}).to(0x1000 + 8, mr->rkey).post(a), 0);

    EXPECT_STATUS(next(a.send_cq), IBV_WC_SUCCESS);
    EXPECT_EQ(bytes[7], 2);
    EXPECT_EQ(bytes[8], 1);
    EXPECT_EQ(bytes[15], 1);
    EXPECT_EQ(bytes[16], 2);
}

TEST_F(Keys, OfAZeroBasedRegionCountFromItsBeginning) {
    std::vector<std::uint8_t> bytes(64, 2);
    const Mr mr(ibv_reg_mr(pd.get(), bytes.data(), bytes.size(), every_access | IBV_ACCESS_ZERO_BASED));
    ASSERT_NE(mr, nullptr);
    const Buffer source = buffer(64, 1);

    ASSERT_EQ(Work(IBV_WR_RDMA_WRITE, 1, {source.piece(0, 8)}).to(8, mr->rkey).post(a), 0);

    EXPECT_STATUS(next(a.send_cq), IBV_WC_SUCCESS);
    EXPECT_EQ(bytes[7], 2);
    EXPECT_EQ(bytes[8], 1);
    EXPECT_EQ(bytes[16], 2);
}

TEST_F(Keys, RemoteWritingIsOnlyGivenWithLocalWriting) {
    std::vector<std::uint8_t> bytes(64);

    for (const int access : {IBV_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_ATOMIC}) {
        errno = 0;
        EXPECT_EQ(ibv_reg_mr(pd.get(), bytes.data(), bytes.size(), access), nullptr);
        EXPECT_EQ(errno, EINVAL);
    }
}

TEST_F(Keys, MemoryThatIsNotThereCannotBeRegistered) {
    void* hole = mmap(nullptr, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(hole, MAP_FAILED);
    munmap(hole, 8192);

    errno = 0;
    EXPECT_EQ(ibv_reg_mr(pd.get(), hole, 8192, every_access), nullptr);
    EXPECT_EQ(errno, EFAULT);
}

TEST_F(Keys, AreAllDifferentWhileTheyLive) {
    std::vector<Buffer> buffers;
    std::vector<std::uint32_t> keys;
    for (int i = 0; i < 200; ++i) {
        buffers.push_back(buffer(16));
        keys.push_back(buffers.back().mr->rkey);
    }

    std::sort(keys.begin(), keys.end());

    EXPECT_EQ(std::adjacent_find(keys.begin(), keys.end()), keys.end());
}

// A key that a program kept after deregistering must not open the next region, not even one at the same address.
TEST_F(Keys, AreNotGivenAgainAtOnce) {
    std::vector<std::uint8_t> bytes(64);
    Mr mr(ibv_reg_mr(pd.get(), bytes.data(), bytes.size(), every_access));
    const std::uint32_t old = mr->rkey;

    mr.reset();
    mr.reset(ibv_reg_mr(pd.get(), bytes.data(), bytes.size(), every_access));

    EXPECT_NE(mr->rkey, old);
}

}  // namespace
}  // namespace loom::conformance
