// Any number of threads gives the same numbers; books that do not balance are noticed; the calendar keeps what is far.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "reference/packet_cases.hpp"
#include "sim/packet/engine.hpp"
#include "sim/packet_bed.hpp"

namespace loom::sim::packet {

struct EngineAccess {
    static Ports& ports(Engine& engine) { return engine.ports_; }
    static std::size_t workers(const Engine& engine) { return engine.workers_.size(); }
};

}  // namespace loom::sim::packet

namespace {

using namespace loom;
using namespace loom::sim;
using packet::EngineAccess;
using testing::HasSubstr;

// All there is to see of a run, as numbers.
std::vector<std::uint64_t> everything(const PacketCase& made, const packet::Engine& engine) {
    std::vector<std::uint64_t> all;
    for (const Flow& f : engine.flows())
        all.insert(all.end(),
                   {f.delivered, static_cast<std::uint64_t>(f.begun.ps), static_cast<std::uint64_t>(f.ended.ps)});
    for (const Time end : engine.rank_ends()) all.push_back(static_cast<std::uint64_t>(end.ps));
    for (std::uint32_t p = 0; p < made.fabric.port_count(); ++p) {
        const fabric::PortCounters c = engine.counters(PortIndex{p});
        all.insert(all.end(), {c.xmit_data, c.rcv_data, c.xmit_pkts, c.rcv_pkts, c.xmit_wait, c.xmit_cong_time,
                               c.marked_fecn, c.rcv_fecn, c.rcv_becn});
    }
    const Simulation::Work work = engine.work();
    all.insert(all.end(), {work.events, work.packets, work.bytes, static_cast<std::uint64_t>(engine.now().ps)});
    return all;
}

void expect_same_for_all_threads(PacketCase& made, Time step) {
    std::vector<std::unique_ptr<packet::Engine>> engines;
    for (const unsigned threads : {1u, 2u, 3u, 5u}) {
        made.options.threads = threads;
        engines.push_back(std::make_unique<packet::Engine>(made.network, made.schedule, made.options));
        EXPECT_LE(EngineAccess::workers(*engines.back()), threads);
    }
    EXPECT_GT(EngineAccess::workers(*engines[1]), 1u);
    State state = State::running;
    for (unsigned number = 1; state == State::running; ++number) {
        const Time until = number < 5 ? step * number : never;
        state = engines[0]->advance(until);
        const auto wanted = everything(made, *engines[0]);
        for (std::size_t i = 1; i < engines.size(); ++i) {
            ASSERT_EQ(engines[i]->advance(until), state);
            ASSERT_EQ(everything(made, *engines[i]), wanted);
            ASSERT_EQ(engines[i]->trouble(), engines[0]->trouble());
        }
    }
}

class PacketThreads : public testing::TestWithParam<std::uint64_t> {};

TEST_P(PacketThreads, NumbersDoNotDependOnThem) {
    const auto made = draw_case(GetParam());

    expect_same_for_all_threads(*made, microseconds(7));
}

INSTANTIATE_TEST_SUITE_P(Drawn, PacketThreads, testing::Range<std::uint64_t>(500, 510));

// Cables of 5 ms and computations of tens of milliseconds: beyond the ring of windows, so in the heap.
TEST(PacketThreads, NorDoFarEvents) {
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
        const auto made = draw_case(seed);
        made->options.packet.cable_delay = seed % 2 == 0 ? milliseconds(5) : microseconds(100);
        Random random(seed);
        const auto ranks = static_cast<std::uint32_t>(made->schedule.ranks());
        traffic::ScheduleBuilder builder(ranks);
        for (unsigned i = 0; i < 20; ++i) {
            const Rank from{random.below(ranks)};
            const std::uint32_t pause = builder.compute(from, microseconds(random.below(40'000)));
            const std::uint32_t send = builder.send(from, Rank{random.below(ranks)}, random.below(100'000));
            builder.require(from, send, pause);
        }
        made->schedule = builder.build();

        expect_same_for_all_threads(*made, milliseconds(8));
    }
}

TEST(PacketThreads, MoreThanThereIsToDo) {
    const Bed bed(star + "flow f from A to B bytes 100000\n");
    bed.setup->options.threads = 64;
    const auto engine = bed.start();

    EXPECT_EQ(engine->advance(never), State::finished);
    EXPECT_EQ(EngineAccess::workers(*engine), 3u);  // a switch and the two hosts that have ranks
}

// ---- audits
TEST(PacketAudit, NoticesCreditsOutOfNowhere) {
    const Bed bed(star + "flow f from A to B bytes 64MiB message 64MiB\n");
    const auto engine = bed.start();
    (void)engine->advance(microseconds(10));
    ASSERT_EQ(engine->audit(), "");

    EngineAccess::ports(*engine).credits[1] += 1;

    EXPECT_THAT(engine->audit(), HasSubstr("S port 1 has"));
    EXPECT_THAT(engine->audit(), HasSubstr("of a buffer of 512"));
}

TEST(PacketAudit, NoticesCreditsBelowZero) {
    const Bed bed(star + "flow f from A to B bytes 64MiB message 64MiB\n");
    const auto engine = bed.start();

    EngineAccess::ports(*engine).credits[2] = -1;

    EXPECT_THAT(engine->audit(), HasSubstr("S port 2 has -1 credits"));
}

// Builds with assertions look by themselves, whatever the number of threads.
TEST(PacketAudit, RunsByItselfWhereAssertionsDo) {
    for (const unsigned threads : {1u, 3u}) {
        const Bed bed(star + "flow f from A to B bytes 64MiB message 64MiB\n");
        bed.setup->options.threads = threads;
        const auto engine = bed.start();
        EngineAccess::ports(*engine).credits[5] += 1;
#ifdef NDEBUG
        EXPECT_EQ(engine->advance(microseconds(100)), State::running);
#else
        EXPECT_THROW((void)engine->advance(microseconds(100)), Error);
#endif
        EXPECT_NE(engine->audit(), "");
    }
}

// ---- the calendar
struct Played {
    std::map<packet::Window, std::size_t> events;
    std::map<packet::Window, std::int32_t> credits;
};
Played play(packet::Calendar& calendar, packet::Window from) {
    Played played;
    for (packet::Window window = calendar.next(from); window != packet::no_window; window = calendar.next(window)) {
        calendar.bring_near(window);
        calendar.enter(window);
        packet::Calendar::Slot& slot = calendar.slot(0, window);
        if (!slot.events.empty()) played.events[window] += slot.events.size();
        for (const packet::Credit& credit : slot.credits) played.credits[window] += credit.blocks;
        slot.events.clear();
        slot.credits.clear();
    }
    return played;
}

TEST(PacketCalendar, GivesBackEverythingInItsWindow) {
    constexpr unsigned shift = 10;
    Random random(7);
    packet::Calendar calendar;
    calendar.prepare(1, shift);
    std::map<packet::Window, std::size_t> wanted;
    for (unsigned i = 0; i < 500; ++i) {
        const std::int64_t moment = (1 << shift) + random.below(i % 2 == 0 ? 1 << 18 : 1 << 28);
        ++wanted[moment >> shift];
        calendar.push(0, 0, moment, packet::Event::pack(packet::What::work, 3), {});
    }

    const Played played = play(calendar, 0);

    EXPECT_EQ(played.events, wanted);
    EXPECT_TRUE(calendar.empty());
}

// Near or far, on the first line of the grid at or after the moment; and never in the window that is being played.
TEST(PacketCalendar, ReadsCreditsOnTheGrid) {
    packet::Calendar calendar;
    calendar.prepare(1, 10);
    calendar.push_credit(0, 4, 4 * 1024, {0, 1}, 0);
    calendar.push_credit(0, 4, 4 * 1024 + 1, {0, 2}, 0);
    calendar.push_credit(0, 4, 6 * 1024, {0, 4}, 0);
    calendar.push_credit(0, 4, 1'000'000 * std::int64_t{1024} - 1, {0, 8}, 0);

    const Played played = play(calendar, 4);

    EXPECT_EQ(played.credits, (std::map<packet::Window, std::int32_t>{{5, 3}, {6, 4}, {1'000'000, 8}}));
    EXPECT_TRUE(played.events.empty());
}

}  // namespace
