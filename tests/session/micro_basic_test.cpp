// TransportDrive, Resize, Synchronous and Asynchronous, each alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session/micro/asynchronous.hpp"
#include "session/micro_bed.hpp"

namespace loom::session {
namespace {

using test::Bed;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(TransportDriveMicro, AddsPortsAndEpoch) {
    Bed<TransportDrive> bed;
    bed.board.own_port = 0x0102;
    bed.board.peer_port = 0x0304;
    bed.board.epoch = 0x05060708;

    bed.stack.send_bare();

    const Bytes packet = bed.next();
    ASSERT_EQ(packet.size(), 8u);
    for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(packet[i], static_cast<std::byte>(i + 1));
}

TEST(TransportDriveMicro, DropsWhatIsOfAnotherSessionOrEpoch) {
    Bed<TransportDrive> bed;
    bed.stack.send_bare();
    const Bytes right = bed.next();

    bed.arrive(right);
    for (std::size_t i = 0; i < 8; ++i) {
        Bytes wrong = right;
        wrong[i] ^= std::byte{1};
        bed.arrive(wrong);
    }
    bed.arrive(Bytes(right.begin(), right.begin() + 7));
    bed.arrive({});

    EXPECT_EQ(bed.probe().arrived.size(), 1u);
    EXPECT_EQ(bed.board.counters.segments_dropped, 10u);
}

using OrderedBed = Bed<Resize<Delivery::ordered>, TransportDrive>;
using LooseBed = Bed<Resize<Delivery::best_effort>, TransportDrive>;

TEST(ResizeMicro, CutsIntoFullSegmentsAndARest) {
    OrderedBed bed(128);
    const std::size_t room = 128 - 20 - 8;

    bed.put(2 * room + 1);
    bed.stack.pump();

    ASSERT_EQ(bed.wire.left.size(), 3u);
    EXPECT_EQ(bed.wire.left[0].size(), 128u);
    EXPECT_EQ(bed.wire.left[1].size(), 128u);
    EXPECT_EQ(bed.wire.left[2].size(), 29u);
}

TEST(ResizeMicro, PutsMessagesOfAnySizeTogether) {
    for (const std::size_t size : {0, 1, 99, 100, 101, 200, 4096}) {
        OrderedBed from(128), to(128);
        from.put(size);
        from.stack.pump();
        const std::size_t segments = from.wire.left.size();
        while (!from.wire.left.empty()) to.arrive(from.next());

        EXPECT_EQ(segments, std::max<std::size_t>(1, (size + 99) / 100));
        ASSERT_THAT(to.probe().complete, ElementsAre(1u));
        ASSERT_EQ(to.probe().message.size(), size);
        for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(to.probe().message[i], static_cast<std::byte>(i));
    }
}

TEST(ResizeMicro, KeepsHowFarAMessageHasCome) {
    OrderedBed from(128), to(128);
    from.put(250);
    from.stack.pump();

    to.arrive(from.next());
    to.arrive(from.next());

    EXPECT_EQ(to.board.arrived, (Resume{1, 200, 0}));
    to.arrive(from.next());
    EXPECT_EQ(to.board.arrived, (Resume{2, 0, 0}));
}

TEST(ResizeMicro, OfAnOrderedChannelRefusesAGap) {
    OrderedBed from(128), to(128);
    from.put(250);
    from.stack.pump();
    (void)from.next();

    to.arrive(from.next());

    EXPECT_STRNE(to.board.broken, "");
}

TEST(ResizeMicro, RefusesPiecesThatFitNowhere) {
    const auto piece = [](std::uint64_t number, std::uint64_t offset, std::uint64_t total, std::size_t size) {
        OrderedBed helper(128);
        helper.stack.send_bare();
        Bytes packet = helper.next();
        PieceHeader{number, offset, total}.write(packet.data() + 8);
        packet.resize(28 + size);
        return packet;
    };
    struct Case {
        std::uint64_t offset, total;
        std::size_t size;
    };
    for (const Case& each : {Case{0, 10, 11}, Case{11, 10, 0}, Case{10, 10, 1}, Case{0, 2 << 20, 100}, Case{0, 10, 0},
                             Case{(std::uint64_t{1} << 48) - 1, 10, 5}}) {
        OrderedBed ordered(128);
        LooseBed loose(128);
        ordered.arrive(piece(1, each.offset, each.total, each.size));
        loose.arrive(piece(1, each.offset, each.total, each.size));

        EXPECT_STRNE(ordered.board.broken, "") << each.offset;
        EXPECT_STRNE(loose.board.broken, "") << each.offset;
        EXPECT_THAT(ordered.probe().complete, IsEmpty());
    }
}

TEST(ResizeMicro, OfAnUnreliableChannelTakesPiecesInAnyOrder) {
    LooseBed from(128), to(128);
    from.put(250, false);
    from.stack.pump();
    const Bytes first = from.next(), second = from.next(), third = from.next();

    for (const Bytes& each : {third, first, third, second, second}) to.arrive(each);

    EXPECT_THAT(to.probe().complete, ElementsAre(1u));
    ASSERT_EQ(to.probe().message.size(), 250u);
    EXPECT_EQ(to.probe().message[249], static_cast<std::byte>(249));
    EXPECT_EQ(to.board.counters.segments_dropped, 2u) << "what comes twice";
}

TEST(ResizeMicro, OfAnUnreliableChannelGivesUpWhatIsOld) {
    LooseBed from(128), to(128);
    for (int i = 0; i < 4; ++i) from.put(150, false);
    from.stack.pump();
    std::vector<Bytes> all;
    while (!from.wire.left.empty()) all.push_back(from.next());

    to.arrive(all[0]);  // the first half of each of the first three, then all of the rest
    to.arrive(all[2]);
    to.arrive(all[4]);
    to.arrive(all[1]);
    to.arrive(all[3]);
    to.arrive(all[5]);
    to.arrive(all[6]);
    to.arrive(all[7]);

    EXPECT_THAT(to.probe().complete, ElementsAre(2u, 3u, 4u)) << "two are kept open at a time";
}

using SynchronousBed = Bed<Synchronous, Resize<Delivery::ordered>, TransportDrive>;

TEST(SynchronousMicro, SendEndsWhenTheMessageHasBeenTaken) {
    SynchronousBed from, to;
    const auto request = std::make_shared<Pending>();
    from.board.outbox.add(Bytes(10), true, request);
    from.stack.pump();

    to.arrive(from.next());
    ASSERT_EQ(to.board.inbox.messages.size(), 1u);
    to.stack.pump();
    EXPECT_TRUE(to.wire.left.empty());
    (void)to.board.inbox.pop();
    to.board.owe_taken = true;
    to.stack.pump();
    EXPECT_FALSE(request->done());
    from.arrive(to.next());

    EXPECT_TRUE(request->done());
    EXPECT_TRUE(from.board.outbox.drained());
}

TEST(SynchronousMicro, SaysWhatWasTakenWithWhateverLeaves) {
    SynchronousBed bed;
    bed.board.inbox.taken = 9;
    bed.board.owe_taken = true;
    bed.put(10);

    bed.stack.pump();

    EXPECT_EQ(bed.wire.left.size(), 1u);
    EXPECT_EQ(get<8>(bed.wire.left.front().data() + 28), 9u);
}

TEST(SynchronousMicro, APeerThatSendsMoreThanItMayIsFound) {
    SynchronousBed from, to;
    for (int i = 0; i < 200; ++i) {
        from.put(1);
        from.stack.pump();
        from.board.outbox.take(static_cast<std::uint64_t>(i) + 1);  // as if it had been taken
    }
    EXPECT_EQ(from.wire.left.size(), 200u);

    while (!from.wire.left.empty()) to.arrive(from.next());

    EXPECT_STRNE(to.board.broken, "");
}

using AsynchronousBed = Bed<Asynchronous, Resize<Delivery::best_effort>, TransportDrive>;

TEST(AsynchronousMicro, KeepsTheNewestCompleteMessage) {
    AsynchronousBed from, to;
    for (int i = 0; i < 3; ++i) from.put(10, false);
    from.stack.pump();
    const Bytes first = from.next(), second = from.next(), third = from.next();

    to.arrive(first);
    to.arrive(third);
    to.arrive(second);

    ASSERT_EQ(to.board.inbox.messages.size(), 1u);
    EXPECT_EQ(to.board.inbox.messages.front().number, 3u);
    EXPECT_EQ(to.board.counters.messages_replaced, 1u);
}

TEST(AsynchronousMicro, ReplacesWhatHasNotBegunToLeave) {
    AsynchronousBed bed;
    bed.wire.room = 1;
    bed.put(250, false);
    bed.stack.pump();
    bed.put(10, false);
    EXPECT_EQ(bed.board.outbox.drop_waiting(), 1u);
    EXPECT_EQ(bed.board.outbox.waiting(), 1u) << "what has begun goes on";
}

}  // namespace
}  // namespace loom::session
