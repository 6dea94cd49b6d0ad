// SequencedSegment, PositiveAck, Retransmit, RTTEstimation, ReliableFIFO, DuplicateAck and SelectiveAck, each alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loom/base/random.hpp"
#include "session/micro/duplicate_ack.hpp"
#include "session/micro/rtt_estimation.hpp"
#include "session/micro/selective_ack.hpp"
#include "session/micro_bed.hpp"

namespace loom::session {
namespace {

using test::Bed;
using testing::ElementsAre;
using testing::IsEmpty;

using Cut = Resize<Delivery::ordered>;

TEST(SequencedSegmentMicro, NumbersWhatThePeerMustGet) {
    Bed<Cut, SequencedSegment, TransportDrive> from(136), to(136);
    from.put(250);
    from.stack.pump();
    from.stack.send_bare();

    while (!from.wire.left.empty()) to.arrive(from.next());

    EXPECT_THAT(to.probe().arrived, ElementsAre(1u, 2u, 3u, 0u));
}

TEST(SequencedSegmentMicro, BeginsAnewWithTheEpoch) {
    Bed<SequencedSegment, TransportDrive> bed;
    bed.board.sent = 77;
    bed.stack.attach();
    EXPECT_EQ(bed.board.sent, 0u);
}

using Fifo = Bed<Cut, ReliableFifo, SequencedSegment, TransportDrive>;

TEST(ReliableFifoMicro, HandsUpInOrderAndOnce) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        Fifo from(136), to(136);
        from.put(100 * 30);
        from.stack.pump();
        std::vector<Bytes> packets;
        while (!from.wire.left.empty()) packets.push_back(from.next());
        packets.insert(packets.end(), packets.begin(), packets.begin() + 10);
        Random(seed).shuffle(std::span(packets));

        for (const Bytes& each : packets) to.arrive(each);

        ASSERT_EQ(to.probe().arrived.size(), 30u);
        for (std::size_t i = 0; i < 30; ++i) ASSERT_EQ(to.probe().arrived[i], i + 1);
        ASSERT_EQ(to.probe().message.size(), 3000u);
        ASSERT_EQ(to.board.counters.segments_dropped, 10u);
    }
}

TEST(ReliableFifoMicro, KeepsNoMoreThanItMay) {
    Fifo from(136), to(136);
    from.put(100 * 1100);
    from.stack.pump();
    (void)from.next();

    while (!from.wire.left.empty()) to.arrive(from.next());

    EXPECT_EQ(to.board.counters.segments_dropped, 1099u - 1023);
    EXPECT_THAT(to.stack.micro<ReliableFifo>().ranges(3),
                ElementsAre(std::pair(std::uint64_t{2}, std::uint64_t{1024})));
}

TEST(PositiveAckMicro, AcknowledgesWhatCameInOrder) {
    Bed<Cut, ReliableFifo, SequencedSegment, PositiveAck, TransportDrive> from(145), to(145);
    from.put(300);
    from.stack.pump();
    const Bytes first = from.next(), second = from.next(), third = from.next();

    to.arrive(first);
    to.arrive(third);
    to.stack.pump();
    ASSERT_EQ(to.wire.left.size(), 1u);
    from.arrive(to.next());
    to.arrive(second);
    to.stack.pump();
    from.arrive(to.next());

    EXPECT_THAT(from.probe().acks, ElementsAre(1u, 3u));
    to.stack.pump();
    EXPECT_TRUE(to.wire.left.empty()) << "nothing is owed any more";
}

TEST(PositiveAckMicro, OfWhatWasNotSentBreaksTheSession) {
    Bed<SequencedSegment, PositiveAck, TransportDrive> from, to;
    to.board.in_sequence = 1;
    to.stack.send_bare();

    from.arrive(to.next());

    EXPECT_STRNE(from.board.broken, "");
    EXPECT_THAT(from.probe().acks, IsEmpty());
}

TEST(RttEstimationMicro, FollowsRfc6298) {
    Bed<RttEstimation, TransportDrive> bed;
    bed.board.trip.least_timeout = Time{};
    EXPECT_EQ(bed.board.trip.timeout(), milliseconds(200));

    bed.raise(event::Acknowledged{1, milliseconds(80)});
    EXPECT_EQ(bed.board.trip.smoothed, milliseconds(80));
    EXPECT_EQ(bed.board.trip.timeout(), milliseconds(80 + 4 * 40));
    bed.raise(event::Acknowledged{1, milliseconds(40)});

    EXPECT_EQ(bed.board.trip.smoothed, milliseconds(75));
    EXPECT_EQ(bed.board.trip.deviation, milliseconds(40));
    EXPECT_EQ(bed.board.trip.least, milliseconds(40));
    bed.raise(event::TimedOut{});
    EXPECT_EQ(bed.board.trip.timeout(), milliseconds(2 * (75 + 160)));
    bed.raise(event::Acknowledged{1, Time{}});
    EXPECT_EQ(bed.board.trip.backoff, 1u) << "one that was sent twice tells nothing";
    for (int i = 0; i < 20; ++i) bed.raise(event::TimedOut{});
    EXPECT_EQ(bed.board.trip.timeout(), milliseconds(1000));
}

using Sender = Bed<Cut, SequencedSegment, Retransmit, TransportDrive>;

TEST(RetransmitMicro, SendsAgainWhenTheTimeIsOver) {
    Sender bed(136);
    bed.put(250);
    bed.stack.pump();
    const Bytes first = bed.next();
    bed.wire.left.clear();

    bed.pass(milliseconds(199));
    EXPECT_TRUE(bed.wire.left.empty());
    EXPECT_EQ(bed.stack.wake(), milliseconds(201));
    bed.pass(milliseconds(1));

    EXPECT_EQ(bed.probe().timeouts, 1u);
    ASSERT_EQ(bed.wire.left.size(), 1u) << "the first alone: what follows may be there";
    EXPECT_EQ(bed.next(), first);
    EXPECT_EQ(bed.board.counters.segments_again, 1u);
}

TEST(RetransmitMicro, MendsOneGapAfterAnother) {
    Sender bed(136);
    bed.put(500);
    bed.stack.pump();
    bed.wire.left.clear();
    bed.pass(milliseconds(200));
    bed.wire.left.clear();

    bed.raise(event::AckArrived{2});
    bed.stack.pump();

    ASSERT_EQ(bed.wire.left.size(), 1u);
    EXPECT_EQ(get<8>(bed.wire.left.front().data() + 8), 3u) << "the one behind what is acknowledged";
    EXPECT_EQ(bed.probe().acknowledged, 2u);
}

TEST(RetransmitMicro, MeasuresOnlyWhatWentOnce) {
    Sender bed(136);
    bed.put(100);
    bed.stack.pump();
    bed.board.now += milliseconds(3);
    bed.raise(event::AckArrived{1});
    EXPECT_EQ(bed.probe().trip, milliseconds(3));

    bed.probe().trip = Time{};
    bed.put(100);
    bed.stack.pump();
    bed.raise(event::Lost{2});
    bed.pass(milliseconds(5));
    bed.raise(event::AckArrived{2});

    EXPECT_EQ(bed.probe().acknowledged, 2u);
    EXPECT_EQ(bed.probe().trip, Time{});
    EXPECT_EQ(bed.stack.wake(), never);
}

TEST(RetransmitMicro, SendsAnEmptySegmentForWhatHasBeenTaken) {
    Sender bed(136);
    bed.put(100);
    bed.stack.pump();
    bed.wire.left.clear();
    bed.board.outbox.take(1);

    bed.raise(event::Lost{1});
    bed.stack.pump();

    ASSERT_EQ(bed.wire.left.size(), 1u);
    EXPECT_EQ(bed.wire.left.front().size(), Sender::Of::header_bytes);
}

TEST(RetransmitMicro, FindsGapsInSelectiveAcknowledgements) {
    Sender bed(136);
    bed.put(1000);
    bed.stack.pump();
    bed.wire.left.clear();
    EXPECT_EQ(bed.board.flight, 10u);

    bed.raise(event::Selected{3, 4});
    EXPECT_THAT(bed.probe().lost, ElementsAre(1u)) << "three behind";
    bed.raise(event::Selected{6, 6});
    bed.stack.pump();

    EXPECT_THAT(bed.probe().lost, ElementsAre(1u, 2u));
    EXPECT_EQ(bed.wire.left.size(), 2u);
    EXPECT_EQ(bed.board.flight, 7u);
    bed.raise(event::AckArrived{6});
    EXPECT_EQ(bed.probe().acknowledged, 6u) << "each once";
    EXPECT_EQ(bed.board.flight, 4u);
}

TEST(DuplicateAckMicro, ThreeAreALoss) {
    Bed<DuplicateAck, TransportDrive> bed;
    bed.board.sent = 9;

    for (int i = 0; i < 4; ++i) bed.raise(event::AckArrived{4, true});

    EXPECT_THAT(bed.probe().lost, ElementsAre(5u));
    EXPECT_EQ(bed.probe().repeated, 3u);
    bed.raise(event::AckArrived{5, false});
    bed.raise(event::AckArrived{5, true});
    EXPECT_EQ(bed.probe().lost.size(), 1u) << "counted from one that says something new";
    for (int i = 0; i < 9; ++i) bed.raise(event::AckArrived{9, true});
    EXPECT_EQ(bed.probe().lost.size(), 1u) << "nothing is under way";
}

TEST(DuplicateAckMicro, AcknowledgesAtOnceWhatIsOutOfOrder) {
    Bed<DuplicateAck, TransportDrive> bed;
    bed.raise(event::OutOfOrder{});
    EXPECT_EQ(bed.wire.left.size(), 1u);
}

TEST(SelectiveAckMicro, SaysWhatIsBeyondTheGap) {
    using Both = Bed<Cut, ReliableFifo, SequencedSegment, Retransmit, SelectiveAck, PositiveAck, TransportDrive>;
    Both from(165), to(165);
    from.put(1000);
    from.stack.pump();
    for (std::uint64_t i = 1; from.wire.left.size() > 0; ++i) {
        const Bytes packet = from.next();
        if (i != 2 && i != 5) to.arrive(packet);
    }

    to.stack.pump();
    from.arrive(to.next());
    from.stack.pump();

    EXPECT_THAT(from.probe().lost, ElementsAre(2u, 5u));
    ASSERT_EQ(from.wire.left.size(), 2u) << "the gaps and no more";
    while (!from.wire.left.empty()) to.arrive(from.next());
    EXPECT_THAT(to.probe().complete, ElementsAre(1u));
}

}  // namespace
}  // namespace loom::session
