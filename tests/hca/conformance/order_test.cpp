// What may be relied on to happen before what, and messages of every length.
#include <cstring>

#include "hca/conformance/bed.hpp"
#include "hca/kit/pattern.hpp"

namespace loom::conformance {
namespace {

using kit::Pattern;

class Order : public Bed {
protected:
    Order() : a(node(options())), b(node(options())) { connect(a, b); }

    static NodeOptions options() {
        NodeOptions result;
        result.send_wr = 128;
        result.recv_wr = 128;
        result.cqe = 256;
        return result;
    }

    Node a, b;
};

TEST_F(Order, AWriteIsThereWhenTheSendBehindItArrives) {
    for (const std::size_t size : {std::size_t{1}, std::size_t{8}, std::size_t{1000}, std::size_t{100'000}}) {
        Buffer source = buffer(size);
        Buffer target = buffer(size);
        for (std::uint64_t round = 0; round < 20; ++round) {
            Pattern(1, round).fill(source.bytes, 0);
            ASSERT_EQ(post_receive(b, round, {}), 0);

            ASSERT_EQ(Work(IBV_WR_RDMA_WRITE, 1, {source.all()}).to(target).flags(0).post(a), 0);
            ASSERT_EQ(Work(IBV_WR_SEND, 2).post(a), 0);

            ASSERT_EQ(next(b.recv_cq).wr_id, round);
            EXPECT_EQ(Pattern(1, round).differs(target.bytes, 0), size) << round;
            ASSERT_EQ(next(a.send_cq).wr_id, 2u);
        }
    }
}

TEST_F(Order, AReadSeesTheWriteBeforeIt) {
    Buffer source = buffer(5000);
    Buffer target = buffer(5000);
    Buffer back = buffer(5000);
    for (std::uint64_t round = 0; round < 50; ++round) {
        Pattern(2, round).fill(source.bytes, 0);

        ASSERT_EQ(Work(IBV_WR_RDMA_WRITE, 1, {source.all()}).to(target).flags(0).post(a), 0);
        ASSERT_EQ(Work(IBV_WR_RDMA_READ, 2, {back.all()}).to(target).post(a), 0);

        ASSERT_EQ(next(a.send_cq).wr_id, 2u);
        EXPECT_EQ(Pattern(2, round).differs(back.bytes, 0), back.bytes.size()) << round;
    }
}

TEST_F(Order, TheLaterOfTwoWritesStays) {
    const Buffer first = buffer(3000, 1);
    const Buffer second = buffer(3000, 2);
    const Buffer target = buffer(3000);

    for (int round = 0; round < 50; ++round) {
        ASSERT_EQ(Work(IBV_WR_RDMA_WRITE, 1, {first.all()}).to(target).flags(0).post(a), 0);
        ASSERT_EQ(Work(IBV_WR_RDMA_WRITE, 2, {second.all()}).to(target).post(a), 0);
        ASSERT_EQ(next(a.send_cq).wr_id, 2u);
        EXPECT_EQ(target.bytes, second.bytes);
    }
}

TEST_F(Order, AFencedSendCarriesWhatTheReadBeforeItFetched) {
    Buffer target = buffer(20'000);
    Buffer through = buffer(20'000);
    Buffer received = buffer(20'000);
    for (std::uint64_t round = 0; round < 20; ++round) {
        Pattern(3, round).fill(target.bytes, 0);
        ASSERT_EQ(post_receive(b, round, {received.all()}), 0);

        ASSERT_EQ(Work(IBV_WR_RDMA_READ, 1, {through.all()}).to(target).flags(0).post(a), 0);
        ASSERT_EQ(Work(IBV_WR_SEND, 2, {through.all()}).flags(IBV_SEND_FENCE | IBV_SEND_SIGNALED).post(a), 0);

        ASSERT_EQ(next(b.recv_cq).wr_id, round);
        EXPECT_EQ(Pattern(3, round).differs(received.bytes, 0), received.bytes.size()) << round;
        ASSERT_EQ(next(a.send_cq).wr_id, 2u);
    }
}

TEST_F(Order, OfCompletionsIsThatOfPostingWhateverTheOperations) {
    const Buffer source = buffer(100'000, 1);
    const Buffer target = buffer(100'000);
    const std::size_t sizes[] = {1, 90'000, 8, 30'000, 0, 5000};
    for (std::uint64_t id = 0; id < 60; ++id) ASSERT_EQ(post_receive(b, id, {target.all()}), 0);

    for (std::uint64_t id = 0; id < 60; ++id) {
        const std::size_t size = sizes[id % 6];
        const ibv_wr_opcode opcode = id % 4 == 0   ? IBV_WR_RDMA_READ
                                     : id % 4 == 1 ? IBV_WR_SEND
                                     : id % 4 == 2 ? IBV_WR_RDMA_WRITE
                                                   : IBV_WR_RDMA_WRITE_WITH_IMM;
        ASSERT_EQ(Work(opcode, id, {source.piece(0, size)}).to(target).post(a), 0);
    }

    for (std::uint64_t id = 0; id < 60; ++id) ASSERT_EQ(next(a.send_cq).wr_id, id);
    for (std::uint64_t id = 0; id < 30; ++id) ASSERT_EQ(next(b.recv_cq).wr_id, id);
}

TEST_F(Order, ReceivesAreUsedInTheOrderOfPosting) {
    Buffer target = buffer(64);
    Buffer source = buffer(64);
    for (std::uint64_t id = 0; id < 64; ++id) {
        source.bytes[id] = static_cast<std::uint8_t>(id + 1);
        ASSERT_EQ(post_receive(b, id, {target.piece(63 - id, 1)}), 0);
    }

    for (std::uint64_t id = 0; id < 64; ++id)
        ASSERT_EQ(Work(IBV_WR_SEND, id, {source.piece(id, 1)}).flags(id == 63 ? IBV_SEND_SIGNALED : 0).post(a), 0);

    ASSERT_EQ(next(a.send_cq).wr_id, 63u);
    for (std::uint64_t id = 0; id < 64; ++id) {
        ASSERT_EQ(next(b.recv_cq).wr_id, id);
        EXPECT_EQ(target.bytes[63 - id], id + 1);
    }
}

TEST_F(Order, BothDirectionsDoNotDisturbEachOther) {
    Buffer from_a = buffer(64 * 1000), from_b = buffer(64 * 1000), at_a = buffer(64 * 1000), at_b = buffer(64 * 1000);
    Pattern(4, 0).fill(from_a.bytes, 0);
    Pattern(5, 0).fill(from_b.bytes, 0);
    for (std::uint64_t id = 0; id < 64; ++id) {
        ASSERT_EQ(post_receive(a, id, {at_a.piece(id * 1000, 1000)}), 0);
        ASSERT_EQ(post_receive(b, id, {at_b.piece(id * 1000, 1000)}), 0);
    }

    for (std::uint64_t id = 0; id < 64; ++id) {
        ASSERT_EQ(Work(IBV_WR_SEND, id, {from_a.piece(id * 1000, 1000)}).post(a), 0);
        ASSERT_EQ(Work(IBV_WR_SEND, id, {from_b.piece(id * 1000, 1000)}).post(b), 0);
    }

    for (std::uint64_t id = 0; id < 64; ++id)
        for (const Node* node : {&a, &b}) {
            ASSERT_EQ(next(node->send_cq).wr_id, id);
            ASSERT_EQ(next(node->recv_cq).wr_id, id);
        }
    EXPECT_EQ(at_b.bytes, from_a.bytes);
    EXPECT_EQ(at_a.bytes, from_b.bytes);
}

TEST_F(Order, EmptyMessagesArriveEmpty) {
    ASSERT_EQ(post_receive(b, 1, {}), 0);
    const Buffer memory = buffer(16, 7);
    ASSERT_EQ(post_receive(b, 2, {memory.all()}), 0);

    ASSERT_EQ(Work(IBV_WR_SEND, 1).post(a), 0);
    ASSERT_EQ(Work(IBV_WR_SEND_WITH_IMM, 2, {memory.piece(0, 0)}).immediate(5).post(a), 0);

    EXPECT_EQ(next(b.recv_cq).byte_len, 0u);
    const ibv_wc second = next(b.recv_cq);
    EXPECT_EQ(second.byte_len, 0u);
    EXPECT_EQ(be32toh(second.imm_data), 5u);
    EXPECT_EQ(memory.bytes, std::vector<std::uint8_t>(16, 7));
}

// Around the length of a packet, and of whatever a device has thresholds at.
TEST_F(Order, EveryLengthArrivesWhole) {
    std::vector<std::size_t> sizes;
    for (std::size_t power = 1; power <= (8u << 20); power *= 2)
        for (const std::size_t size : {power - 1, power, power + 1}) sizes.push_back(size);
    Buffer source = buffer((8u << 20) + 1);
    Buffer target = buffer((8u << 20) + 1 + 16);
    Pattern(6, 0).fill(source.bytes, 0);
    for (const std::size_t size : sizes) {
        std::memset(target.bytes.data(), 0x77, size + 16);
        ASSERT_EQ(post_receive(b, size, {target.piece(0, size + 8)}), 0);

        ASSERT_EQ(Work(IBV_WR_SEND, size, {source.piece(0, size)}).post(a), 0);

        ASSERT_EQ(next(a.send_cq).wr_id, size);
        EXPECT_EQ(next(b.recv_cq).byte_len, size);
        ASSERT_EQ(std::memcmp(source.bytes.data(), target.bytes.data(), size), 0) << size;
        for (std::size_t i = size; i < size + 16; ++i) ASSERT_EQ(target.bytes[i], 0x77) << size << " " << i;
    }
}

TEST_F(Order, PiecesAreGatheredAndScatteredAsTheyAreListed) {
    Buffer source = buffer(10'000);
    Buffer target = buffer(10'000);
    Pattern(7, 0).fill(source.bytes, 0);
    ASSERT_EQ(post_receive(
                  b, 1, {target.piece(5000, 3), target.piece(100, 0), target.piece(9, 2991), target.piece(6000, 3000)}),
              0);

    ASSERT_EQ(Work(IBV_WR_SEND, 1,
                   {source.piece(9000, 1), source.piece(0, 2000), source.piece(4000, 0), source.piece(3000, 3000)})
                  .post(a),
              0);

    EXPECT_EQ(next(b.recv_cq).byte_len, 5001u);
    ASSERT_EQ(next(a.send_cq).wr_id, 1u);
    std::vector<std::uint8_t> sent, received;
    const auto take = [](std::vector<std::uint8_t>& into, const Buffer& from, std::size_t offset, std::size_t length) {
        into.insert(into.end(), from.bytes.begin() + static_cast<std::ptrdiff_t>(offset),
                    from.bytes.begin() + static_cast<std::ptrdiff_t>(offset + length));
    };
    take(sent, source, 9000, 1);
    take(sent, source, 0, 2000);
    take(sent, source, 3000, 3000);
    take(received, target, 5000, 3);
    take(received, target, 9, 2991);
    take(received, target, 6000, 2007);
    EXPECT_EQ(sent, received);
}

TEST_F(Order, AQueuePairMayBeItsOwnPeer) {
    Node own = node(options());
    connect(own, own);
    const Buffer source = buffer(3000, 4);
    const Buffer target = buffer(3000);
    ASSERT_EQ(post_receive(own, 1, {target.all()}), 0);

    ASSERT_EQ(Work(IBV_WR_SEND, 2, {source.all()}).post(own), 0);

    EXPECT_STATUS(next(own.send_cq), IBV_WC_SUCCESS);
    EXPECT_STATUS(next(own.recv_cq), IBV_WC_SUCCESS);
    EXPECT_EQ(target.bytes, source.bytes);
}

// Programs poll the last byte of a message to know that all of it has come.
TEST_F(Order, TheLastByteOfAWriteLandsLast) {
    Buffer source = buffer(1024);
    Buffer target = buffer(1024);
    for (int round = 1; round <= 200; ++round) {
        const auto mark = static_cast<std::uint8_t>(round);
        std::memset(source.bytes.data(), mark, 1024);
        ASSERT_EQ(Work(IBV_WR_RDMA_WRITE, 1, {source.all()}).to(target).post(a), 0);
        const volatile std::uint8_t* last = &target.bytes[1023];
        ibv_wc wc{};
        bool done = false;

        while (*last != mark && !done) done = poll(a.send_cq, wc);

        EXPECT_EQ(target.bytes, source.bytes);
        if (!done) wc = next(a.send_cq);
        EXPECT_STATUS(wc, IBV_WC_SUCCESS);
    }
}

}  // namespace
}  // namespace loom::conformance
