// WindCongCtrl, TCPNewRenoCA, CubicCA, DelayBasedCA, DCCPAck, DCCPWindCCtrl and TCPCongAvoid, each alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session/micro/cubic.hpp"
#include "session/micro/dccp_ack.hpp"
#include "session/micro/dccp_window.hpp"
#include "session/micro/delay_based.hpp"
#include "session/micro/tcp_avoidance.hpp"
#include "session/micro/tcp_new_reno.hpp"
#include "session/micro/window_control.hpp"
#include "session/micro_bed.hpp"

namespace loom::session {
namespace {

using test::Bed;
using testing::ElementsAre;

TEST(WindowControlMicro, HoldsBackWhatTheWindowDoesNotHold) {
    Bed<Resize<Delivery::ordered>, SequencedSegment, Retransmit, WindowControl, TransportDrive> bed(136);
    bed.board.window.size = 4.9;
    bed.put(1000);

    bed.stack.pump();
    EXPECT_EQ(bed.wire.left.size(), 4u);
    bed.raise(event::AckArrived{2});
    bed.stack.pump();

    EXPECT_EQ(bed.wire.left.size(), 6u);
}

TEST(NewRenoMicro, StartsSlowlyThenAvoids) {
    Bed<TcpNewReno, TransportDrive> bed;
    EXPECT_EQ(bed.board.window.size, 10);
    bed.raise(event::Acknowledged{10});
    EXPECT_EQ(bed.board.window.size, 20) << "twice as much in a round trip";

    bed.board.window.threshold = 20;
    bed.raise(event::Acknowledged{20});

    EXPECT_EQ(bed.board.window.size, 21) << "one more in a round trip";
}

TEST(NewRenoMicro, HalvesOnceForAWindowOfLosses) {
    Bed<TcpNewReno, TransportDrive> bed;
    bed.board.window.size = 40;
    bed.board.flight = 40;
    bed.board.sent = 100;
    bed.board.acknowledged = 60;

    bed.raise(event::Lost{61});
    EXPECT_EQ(bed.board.window.threshold, 20);
    EXPECT_EQ(bed.board.window.size, 23) << "three have left";
    bed.raise(event::Lost{65});
    EXPECT_EQ(bed.board.window.threshold, 20);
    bed.raise(event::Repeated{});
    EXPECT_EQ(bed.board.window.size, 24);
    bed.board.acknowledged = 100;
    bed.raise(event::Acknowledged{40});

    EXPECT_EQ(bed.board.window.size, 20);
}

TEST(NewRenoMicro, BeginsWithOneAfterATimeout) {
    Bed<TcpNewReno, TransportDrive> bed;
    bed.board.flight = 30;
    bed.raise(event::TimedOut{});
    EXPECT_EQ(bed.board.window.size, 1);
    EXPECT_EQ(bed.board.window.threshold, 15);
}

TEST(CubicMicro, ComesBackToWhereItLostAndBeyond) {
    Bed<Cubic, TransportDrive> bed;
    bed.board.trip.sample(milliseconds(200));
    bed.board.window.size = 100;
    bed.board.window.threshold = 50;
    bed.board.sent = 100;

    bed.raise(event::Lost{1});
    EXPECT_DOUBLE_EQ(bed.board.window.size, 70);
    bed.board.acknowledged = 100;
    bed.raise(event::Acknowledged{70});  // the losses are mended; the cubic begins
    const Cubic& cubic = bed.stack.micro<Cubic>();
    EXPECT_NEAR(cubic.at(0), 70, 1e-9);
    EXPECT_NEAR(cubic.at(std::cbrt(100 * 0.3 / 0.4)), 100, 1e-9);
    std::vector<double> sizes;
    for (int trip = 0; trip < 40; ++trip) {
        bed.board.now += milliseconds(200);
        bed.raise(event::Acknowledged{static_cast<std::uint64_t>(bed.board.window.size)});
        sizes.push_back(bed.board.window.size);
    }

    EXPECT_NEAR(sizes[20], 100, 2) << "4.2 s: the plateau";
    EXPECT_LT(sizes[21] - sizes[19], sizes[4] - sizes[2]) << "slower near it";
    EXPECT_GT(sizes.back(), 115);
}

TEST(CubicMicro, LeavesRoomForOthersWhenItLosesEarlier) {
    Bed<Cubic, TransportDrive> bed;
    bed.board.window.size = 100;
    bed.raise(event::TimedOut{});
    EXPECT_EQ(bed.board.window.size, 1);
    bed.board.window.size = 50;
    bed.raise(event::TimedOut{});
    EXPECT_NEAR(bed.stack.micro<Cubic>().at(std::cbrt(42.5 * 0.3 / 0.4)), 42.5, 1e-9);
}

TEST(DelayBasedMicro, KeepsAFewSegmentsInTheQueue) {
    Bed<DelayBased, TransportDrive> bed;
    bed.board.trip.sample(milliseconds(10));
    bed.board.window.threshold = 1;

    // A bottleneck of 20 segments in 10 ms: what is beyond 20 waits.
    for (int trip = 0; trip < 200; ++trip) {
        const double size = bed.board.window.size;
        const Time taken = seconds(std::max(0.010, size * 0.0005));
        for (int i = 0; i < 20; ++i) bed.board.trip.sample(taken);
        bed.raise(event::Acknowledged{static_cast<std::uint64_t>(size)});
    }

    EXPECT_GE(bed.board.window.size, 21);
    EXPECT_LE(bed.board.window.size, 26);
}

TEST(DelayBasedMicro, LeavesTheWindowAloneWhenTheWireLoses) {
    Bed<DelayBased, TransportDrive> bed;
    bed.board.trip.sample(milliseconds(10));
    bed.board.window.size = 50;
    bed.raise(event::Lost{1});
    EXPECT_EQ(bed.board.window.size, 50);

    Bed<DelayBased, TransportDrive> queued;
    queued.board.trip.sample(milliseconds(10));
    for (int i = 0; i < 50; ++i) queued.board.trip.sample(milliseconds(20));
    queued.board.window.size = 50;
    queued.raise(event::Lost{1});
    EXPECT_EQ(queued.board.window.size, 35);
}

using Dccp = Bed<Resize<Delivery::best_effort>, DccpAck, TransportDrive>;

TEST(DccpAckMicro, ToldByAVectorWhatCame) {
    Dccp from(152), to(152);
    from.put(1000, false);
    from.stack.pump();
    EXPECT_EQ(from.board.flight, 10u);
    for (std::uint64_t i = 1; !from.wire.left.empty(); ++i) {
        const Bytes packet = from.next();
        if (i != 3 && i != 9) to.arrive(packet);
    }

    to.stack.pump();
    from.board.now += milliseconds(2);
    from.arrive(to.next());

    EXPECT_EQ(from.probe().acknowledged, 8u);
    EXPECT_EQ(from.probe().trip, milliseconds(2));
    EXPECT_THAT(from.probe().lost, ElementsAre(3u));
    EXPECT_EQ(from.board.flight, 1u) << "the ninth may still come";
    EXPECT_EQ(from.board.counters.segments_again, 0u) << "what is lost stays lost";
}

TEST(DccpAckMicro, OfWhatWasNotSentBreaksTheSession) {
    Dccp from(152), to(152);
    from.put(100, false);
    from.stack.pump();
    to.arrive(from.next());
    to.stack.pump();

    Dccp other(152);
    other.arrive(to.next());

    EXPECT_STRNE(other.board.broken, "");
}

using DccpStack = Bed<Resize<Delivery::best_effort>, DccpWindow, TcpAvoidance, DccpAck, TransportDrive>;

TEST(DccpWindowMicro, CountsSegmentsAndWaitsForATimeout) {
    DccpStack bed(152);
    bed.put(3000, false);
    bed.stack.pump();
    EXPECT_EQ(bed.wire.left.size(), 10u);
    EXPECT_EQ(bed.stack.wake(), bed.board.now + milliseconds(200));

    bed.pass(milliseconds(200));

    EXPECT_EQ(bed.probe().timeouts, 1u);
    EXPECT_EQ(bed.wire.left.size(), 11u) << "a window of one after a timeout";
    EXPECT_EQ(bed.board.flight, 1u);
}

TEST(TcpAvoidanceMicro, GrowsAndHalves) {
    Bed<TcpAvoidance, TransportDrive> bed;
    bed.board.sent = 50;
    bed.raise(event::Acknowledged{10});
    EXPECT_EQ(bed.board.window.size, 20);

    bed.raise(event::Lost{45});
    bed.raise(event::Lost{47});
    EXPECT_EQ(bed.board.window.size, 10) << "once for what left before";
    bed.raise(event::Acknowledged{10});
    EXPECT_EQ(bed.board.window.size, 11);
    bed.board.sent = 80;
    bed.raise(event::Lost{60});

    EXPECT_EQ(bed.board.window.size, 5.5);
}

}  // namespace
}  // namespace loom::session
