// Where the time goes, who waits for whom and in what, and the timeline: runs whose times can be worked out by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <sstream>

#include "loom/base/clock.hpp"
#include "loom/base/error.hpp"
#include "loom/base/random.hpp"
#include "loom/coll/communicator.hpp"
#include "loom/coll/operations.hpp"
#include "loom/coll/world.hpp"
#include "loom/sim/links.hpp"
#include "loom/twin/run.hpp"
#include "virtual/tree.hpp"

namespace loom::twin {
namespace {

using testing::Contains;
using testing::HasSubstr;
using transport::Message;
using transport::Tag;
using transport::Transport;

// L 1 us, o 100 ns, g 200 ns, 1 GB/s, nothing else.
Options by_hand(std::uint32_t ranks) {
    Options options;
    options.ranks = ranks;
    options.simulation.message.parameters = {
        .L = microseconds(1), .o = nanoseconds(100), .g = nanoseconds(200), .G = 1000};
    options.timeline_events = 100'000;
    return options;
}

// One operation, waited for without a look in vain.
struct Waited {
    Message message;
    bool over = false;
    Waited() {
        message.owner = this;
        message.finished = [](Message& each) { static_cast<Waited*>(each.owner)->over = true; };
    }
    void wait(Transport& transport) {
        while (!over)
            if (!transport.progress()) transport.rest();
    }
};

void send(Transport& transport, std::uint32_t to, std::uint64_t tag, std::span<const std::byte> data) {
    Waited one;
    one.over = transport.send(Rank{to}, Tag{tag}, data, one.message);
    one.wait(transport);
}

void receive(Transport& transport, std::uint32_t from, std::uint64_t tag, std::span<std::byte> data) {
    Waited one;
    one.over = transport.receive(Rank{from}, Tag{tag}, data, one.message);
    one.wait(transport);
}

Time sum(const RankTimes& times) {
    return times.computing + times.waiting + times.sending + times.other;
}

// 0 computes 5 us, sends 8 bytes (its core is busy for o), sleeps 1 us. 1 waits from the beginning until it has them:
// o + L + o, and 7 bytes at 1 ns.
TEST(Answers, ComputingWaitingAndSendingAreToldApart) {
    std::array<std::byte, 8> data{};

    const Result result = run(by_hand(2), [&](Transport& transport) {
        if (transport.rank().value == 1) return receive(transport, 0, 7, data);
        compute(microseconds(5));
        send(transport, 1, 7, data);
        sleep_for(microseconds(1));
    });

    const RankTimes& first = result.ranks[0];
    EXPECT_EQ(first.end, nanoseconds(6100));
    EXPECT_EQ(first.computing, microseconds(5));
    EXPECT_EQ(first.sending, nanoseconds(100));
    EXPECT_EQ(first.waiting, Time{});
    EXPECT_EQ(first.other, microseconds(1));
    const RankTimes& second = result.ranks[1];
    EXPECT_EQ(second.end, nanoseconds(6207));
    EXPECT_EQ(second.waiting, second.end);
    EXPECT_EQ(second.computing + second.sending + second.other, Time{});
}

// A reduction that goes on while the rank rests is computing, what remains of the rest is waiting.
TEST(Answers, WorkDuringARestIsComputing) {
    std::array<std::byte, 8> data{};

    const Result result = run(by_hand(2), [&](Transport& transport) {
        if (transport.rank().value == 0) {
            compute(microseconds(5));
            return send(transport, 1, 7, data);
        }
        Waited work, message;
        message.over = transport.receive(Rank{0}, Tag{7}, data, message.message);
        work.over = transport.work(transport::LocalWork::reduce, 10'000, work.message);  // 2 us at 200 ps a byte
        message.wait(transport);
        EXPECT_TRUE(work.over);
    });

    const RankTimes& second = result.ranks[1];
    EXPECT_EQ(second.computing, microseconds(2));
    EXPECT_EQ(second.waiting, second.end - microseconds(2));
    EXPECT_EQ(sum(second), second.end);
    EXPECT_THAT(
        result.timeline.ranks[1],
        testing::ElementsAre(Span{.kind = Span::Kind::reduce, .begin = Time{}, .end = microseconds(2), .bytes = 10'000},
                             Span{.kind = Span::Kind::wait,
                                  .begin = microseconds(2),
                                  .end = second.end,
                                  .peer = Rank{0},
                                  .bytes = 8,
                                  .tag = Tag{7}}));
}

// Programs of collectives and computation at random, at every level: the parts are the whole, and no two spans overlap.
TEST(Answers, ThePartsAddUpToTheEnd) {
    const Tree tree(8, 2);
    for (const sim::Level level : {sim::Level::message, sim::Level::flow, sim::Level::packet})
        for (std::uint64_t seed = 1; seed <= 5; ++seed) {
            Options options = by_hand(level == sim::Level::message ? 8 : 0);
            options.level = level;
            if (level != sim::Level::message) options.network = tree.network();

            const Result result = run(options, [&](Transport& transport) {
                coll::World world(transport, nullptr);
                const coll::Communicator all = world.communicator();
                Random random(seed);
                for (int round = 0; round < 10; ++round) {
                    std::vector<double> mine(1 + random.below(3000), 1.0), together(mine.size());
                    const auto late = static_cast<std::int64_t>(random.below(8));
                    if (transport.rank().value == late) compute(microseconds(1 + late));
                    coll::Call call;
                    call.what = round % 2 == 0 ? coll::Collective::allreduce : coll::Collective::broadcast;
                    call.bytes = mine.size() * sizeof(double);
                    call.element = sizeof(double);
                    const coll::Reduction reduction = coll::builtin(coll::Operator::sum, coll::Number::f64);
                    all.start(
                           call,
                           {std::as_bytes(std::span(mine)).data(), std::as_writable_bytes(std::span(together)).data()},
                           &reduction)
                        .wait();
                }
                world.close();
            });

            ASSERT_EQ(result.state, sim::State::finished);
            for (std::size_t rank = 0; rank < result.ranks.size(); ++rank) {
                const RankTimes& times = result.ranks[rank];
                EXPECT_EQ(sum(times), times.end);
                EXPECT_GE(times.other, Time{});
                Time counted[5]{}, last{};
                for (const Span& span : result.timeline.ranks[rank]) {
                    if (span.kind == Span::Kind::operation) continue;
                    EXPECT_GE(span.begin, last);
                    last = span.end;
                    counted[static_cast<std::size_t>(span.kind)] += span.end - span.begin;
                }
                EXPECT_EQ(counted[0] + counted[1] + counted[2], times.computing);
                EXPECT_EQ(counted[3], times.waiting);
                EXPECT_EQ(counted[4], times.sending);
            }
            EXPECT_EQ(result.timeline.left_out, 0u);
        }
}

// The root of a broadcast waits for a message of the program instead, which rank 0 would send afterwards.
TEST(Answers, ADeadlockNamesTheOperation) {
    const Result result = run(by_hand(2), [](Transport& transport) {
        coll::World world(transport, nullptr);
        const std::uint32_t me = transport.rank().value;
        std::uint64_t value = 0;
        std::byte* const bytes = reinterpret_cast<std::byte*>(&value);
        compute(microseconds(1 + me));
        if (me == 1) world.communicator().start_receive({bytes, 1}, Rank{0}, 0x2a).wait();
        coll::Call call;
        call.what = coll::Collective::broadcast;
        call.root = Rank{1};
        call.bytes = 8;
        world.communicator().start(call, {nullptr, bytes}).wait();
    });

    EXPECT_EQ(result.state, sim::State::stuck);
    ASSERT_GE(result.trouble.size(), 3u);
    EXPECT_EQ(result.trouble[0], "ranks wait for each other in a circle: 0 for 1 for 0");
    EXPECT_EQ(result.trouble[1], "rank 0 waits in broadcast for a message of 8 bytes from rank 1, tag 0x0");
    EXPECT_EQ(result.trouble[2], "rank 1 waits for a message of 1 byte from rank 0, tag 0x2a");
    EXPECT_EQ(result.ranks[0].end, never);
    EXPECT_EQ(result.ranks[0].waiting, microseconds(1));  // nothing happens any more when rank 1 waits too
    EXPECT_EQ(sum(result.ranks[0]), microseconds(2));
    ASSERT_FALSE(result.timeline.ranks[0].empty());
    const Span& last = result.timeline.ranks[0].back();
    EXPECT_EQ(last.kind, Span::Kind::wait);
    EXPECT_EQ(last.peer, Rank{1});
    EXPECT_EQ(result.timeline.names.at(last.name), "broadcast");
}

TEST(Answers, AMessageOfTheProgramHasItsTag) {
    const Result result = run(by_hand(2), [](Transport& transport) {
        coll::World world(transport, nullptr);
        const std::optional<coll::Communicator> half = world.communicator().split(0, 0);
        std::byte mine{};
        half->start_receive({&mine, 1}, Rank{1 - transport.rank().value}, 0x2a).wait();
    });

    EXPECT_THAT(result.trouble,
                Contains(testing::MatchesRegex(
                    "rank 0 waits on communicator [0-9]+ for a message of 1 byte from rank 1, tag 0x2a")));
    EXPECT_THAT(result.trouble, Contains("ranks wait for each other in a circle: 0 for 1 for 0"));
}

// All send to rank 0: its cable is the hottest, and it is full, so that messages wait for it on their way.
TEST(Answers, AnIncastHasAHotLinkAndAJam) {
    const Tree tree(16);
    Options options = by_hand(0);
    options.level = sim::Level::packet;
    options.network = tree.network();
    constexpr std::size_t bytes = 256 << 10;
    sim::LinkAnswers links;

    (void)run(
        options,
        [](Transport& transport) {
            std::vector<std::byte> data(bytes);
            if (transport.rank().value != 0) return send(transport, 0, 1, data);
            for (std::uint32_t from = 1; from < transport.size(); ++from) receive(transport, from, 1, data);
        },
        [&](sim::Simulation& simulation) {
            links = sim::look_at_links(options.network, options.simulation, simulation);
        });

    const fabric::Port& host = tree.fabric.port(tree.placement.hosts[0]);
    ASSERT_FALSE(links.hottest.empty());
    EXPECT_EQ(links.hottest[0].to, fabric::describe(tree.fabric, host.node, host.number));
    EXPECT_GE(links.hottest[0].bytes, 15 * bytes);
    EXPECT_GT(links.hottest[0].busy, 0.8);
    ASSERT_FALSE(links.jams.empty());
    EXPECT_EQ(links.jams[0].full_name, links.hottest[0].from);
    EXPECT_EQ(links.jams[0].cause, sim::Cause::turns);  // all are bound for the same port: nobody is a victim
    EXPECT_EQ(links.jams[0].victims[0].to, Rank{0});
}

TEST(Answers, ProgressIsToldWhileItRuns) {
    Options options = by_hand(2);
    std::vector<Progress> heard;
    options.progress_interval = std::chrono::milliseconds(0);
    options.progress = [&](const Progress& progress) { heard.push_back(progress); };
    const auto body = [](Transport& transport) {
        std::array<std::byte, 8> data{};
        for (int i = 0; i < 50; ++i)
            if (transport.rank().value == 0)
                send(transport, 1, 1, data);
            else
                receive(transport, 0, 1, data);
    };

    const Result with = run(options, body);
    options.progress = {};
    const Result without = run(options, body);

    ASSERT_FALSE(heard.empty());
    EXPECT_TRUE(std::is_sorted(heard.begin(), heard.end(),
                               [](const Progress& a, const Progress& b) { return a.reached < b.reached; }));
    EXPECT_EQ(heard.back().messages, 50u);
    EXPECT_EQ(heard.back().bytes, 400u);
    EXPECT_EQ(heard.back().ended, 2u);
    EXPECT_EQ(with.ranks, without.ranks);
}

// ---- the timeline

TEST(Timeline, IsKeptWhereItIsAskedFor) {
    Options options = by_hand(1);
    options.timeline_events = 0;

    EXPECT_TRUE(run(options, [](Transport&) { compute(microseconds(1)); }).timeline.empty());
}

TEST(Timeline, HasTheMessageFromItsStartToItsArrival) {
    std::array<std::byte, 8> data{};

    const Timeline timeline = run(by_hand(2), [&](Transport& transport) {
                                  if (transport.rank().value == 1) return receive(transport, 0, 7, data);
                                  compute(microseconds(5));
                                  send(transport, 1, 7, data);
                              }).timeline;

    ASSERT_EQ(timeline.messages.size(), 1u);
    const Arrow& arrow = timeline.messages.front();
    EXPECT_EQ(arrow.from, Rank{0});
    EXPECT_EQ(arrow.to, Rank{1});
    EXPECT_EQ(arrow.sent, microseconds(5));
    EXPECT_GE(arrow.arrived, nanoseconds(6100));
    EXPECT_LE(arrow.arrived, nanoseconds(6207));
    EXPECT_EQ(arrow.bytes, 8u);
    EXPECT_THAT(timeline.host_names, testing::ElementsAre("host 0", "host 1"));
}

TEST(Timeline, KeepsTheFirstEventsAndSaysHowManyWereMore) {
    Options options = by_hand(2);
    options.timeline_events = 6;

    const Timeline timeline = run(options, [](Transport&) {
                                  for (int i = 0; i < 5; ++i) {
                                      compute(microseconds(1));
                                      sleep_for(microseconds(1));
                                  }
                              }).timeline;

    EXPECT_EQ(timeline.ranks[0].size(), 3u);
    EXPECT_EQ(timeline.ranks[1].size(), 3u);
    EXPECT_EQ(timeline.left_out, 4u);
    EXPECT_THAT(timeline.remark(), HasSubstr("4 events more are not in the timeline"));
}

// Allreduces at the packet level, where threads share the ranks among them.
TEST(Timeline, IsTheSameForAnyNumberOfThreads) {
    const Tree tree(16, 1);
    std::string first;
    for (const unsigned threads : {1u, 2u, 4u}) {
        Options options = by_hand(0);
        options.level = sim::Level::packet;
        options.network = tree.network();
        options.simulation.threads = threads;
        const Result result = run(options, [](Transport& transport) {
            coll::World world(transport, nullptr);
            std::vector<double> mine(5000, 1.0), together(5000);
            coll::Call call;
            call.what = coll::Collective::allreduce;
            call.bytes = mine.size() * sizeof(double);
            call.element = sizeof(double);
            const coll::Reduction reduction = coll::builtin(coll::Operator::sum, coll::Number::f64);
            for (int i = 0; i < 3; ++i)
                world.communicator()
                    .start(call,
                           {std::as_bytes(std::span(mine)).data(), std::as_writable_bytes(std::span(together)).data()},
                           &reduction)
                    .wait();
        });

        std::ostringstream out;
        write_chrome_trace(result.timeline, out);

        if (threads == 1) first = out.str();
        EXPECT_TRUE(out.str() == first) << threads;
        EXPECT_THAT(result.timeline.names, Contains("allreduce"));
    }
}

// Two ranks on one host: an operation around a wait, an operation that overlaps it, one message.
Timeline small() {
    Timeline timeline;
    timeline.end = microseconds(10);
    timeline.hosts = {0, 0};
    timeline.host_names = {"a \"host\"\xff"};
    timeline.names = {"", "allreduce", "barrier"};
    timeline.ranks.resize(2);
    timeline.ranks[0] = {
        {.kind = Span::Kind::operation, .begin = Time{1}, .end = microseconds(4), .bytes = 8, .name = 1},
        {.kind = Span::Kind::wait,
         .begin = microseconds(2),
         .end = microseconds(3),
         .peer = Rank{1},
         .bytes = 8,
         .tag = Tag{0x2a},
         .name = 1},
        {.kind = Span::Kind::operation, .begin = microseconds(3), .end = microseconds(5), .name = 2, .group = 6}};
    timeline.ranks[1] = {{.kind = Span::Kind::compute, .begin = Time{}, .end = Time{1'000'001}}};
    timeline.messages = {{Rank{1}, Rank{0}, Time{1'000'001}, microseconds(3), 8, Tag{0x2a}}};
    return timeline;
}

nlohmann::json trace_of(const Timeline& timeline) {
    std::ostringstream out;
    write_chrome_trace(timeline, out);
    return nlohmann::json::parse(out.str());
}

// The file's text has every picosecond, which a number read back as a double has too at these sizes.
TEST(ChromeTrace, HasEveryEventInItsPlace) {
    const nlohmann::json trace = trace_of(small());

    std::map<std::string, std::vector<nlohmann::json>> by_phase;
    for (const auto& event : trace.at("traceEvents")) by_phase[event.at("ph")].push_back(event);
    EXPECT_EQ(trace["otherData"]["events_left_out"], 0);
    EXPECT_EQ(by_phase["M"].size(), 5u);  // a process, and two of each thread
    EXPECT_THAT(by_phase["M"][0]["args"]["name"].get<std::string>(), HasSubstr("a \"host\""));
    ASSERT_EQ(by_phase["X"].size(), 5u);
    EXPECT_EQ(by_phase["X"][0]["name"], "wait for 1");
    EXPECT_EQ(by_phase["X"][0]["ts"], 2.0);
    EXPECT_EQ(by_phase["X"][0]["dur"], 1.0);
    EXPECT_EQ(by_phase["X"][0]["tid"], 0);
    EXPECT_EQ(by_phase["X"][0]["args"]["tag"], "0x2a");
    EXPECT_EQ(by_phase["X"][0]["args"]["in"], "allreduce");
    EXPECT_EQ(by_phase["X"][1]["name"], "barrier");
    EXPECT_EQ(by_phase["X"][1]["args"]["communicator"], 6);
    EXPECT_EQ(by_phase["X"][2]["dur"], 1.000001);
    ASSERT_EQ(by_phase["b"].size(), 1u);  // it overlaps the barrier
    ASSERT_EQ(by_phase["e"].size(), 1u);
    EXPECT_EQ(by_phase["b"][0]["name"], "allreduce");
    EXPECT_EQ(by_phase["b"][0]["ts"], 0.000001);
    EXPECT_EQ(by_phase["e"][0]["id"], by_phase["b"][0]["id"]);
    ASSERT_EQ(by_phase["s"].size(), 1u);
    ASSERT_EQ(by_phase["f"].size(), 1u);
    EXPECT_EQ(by_phase["s"][0]["tid"], 1);
    EXPECT_EQ(by_phase["f"][0]["ts"], 3.0);
    EXPECT_EQ(by_phase["f"][0]["bp"], "e");
    EXPECT_EQ(by_phase["f"][0]["id"], by_phase["s"][0]["id"]);
}

TEST(ChromeTrace, IsWrittenWholeOrNotAtAll) {
    EXPECT_THROW(write_chrome_trace(small(), "/nowhere/that/is/trace.json"), IoError);
}

std::size_t count(const std::string& text, std::string_view what) {
    std::size_t n = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
    return n;
}

TEST(TimelinePicture, HasARowForEachRank) {
    const std::string svg = draw_timeline(small(), {.title = "a & b", .width = 1100}).document();

    EXPECT_THAT(svg, HasSubstr("a &amp; b"));
    EXPECT_THAT(svg, HasSubstr("rank 1"));
    EXPECT_THAT(svg, HasSubstr("waits for 8 B from rank 1 in allreduce, 2 us to 3 us"));
    EXPECT_EQ(count(svg, "class=\"wait\""), 2u);  // one of them in the legend
    EXPECT_EQ(count(svg, "class=\"operation\""), 2u);
    EXPECT_EQ(count(svg, "class=\"message\""), 1u);
    // A tenth of the width that is left for 10 us.
    EXPECT_THAT(svg, testing::ContainsRegex("<rect x=\"276\" y=\"[0-9.]+\" width=\"100\" [^>]*class=\"wait\""));
}

TEST(TimelinePicture, MergesWhatIsSmallerThanAPixel) {
    Timeline timeline = small();
    timeline.ranks[0].clear();
    for (int i = 0; i < 100'000; ++i)
        timeline.ranks[0].push_back({.kind = i % 2 == 0 ? Span::Kind::compute : Span::Kind::wait,
                                     .begin = Time{i * 100},
                                     .end = Time{i * 100 + (i % 2 == 0 ? 90 : 10)}});

    const std::string svg = draw_timeline(timeline, {.title = "many"}).document();

    EXPECT_LT(svg.size(), 60'000u);
}

TEST(TimelinePicture, PutsManyRanksInOneRow) {
    Timeline timeline;
    timeline.end = microseconds(10);
    timeline.ranks.resize(1000);
    timeline.hosts.resize(1000);
    timeline.host_names = {"all"};
    for (auto& rank : timeline.ranks)
        rank = {{.kind = Span::Kind::compute, .begin = Time{}, .end = microseconds(5)},
                {.kind = Span::Kind::wait, .begin = microseconds(5), .end = microseconds(10)}};

    const std::string svg = draw_timeline(timeline, {.title = "many", .most_rows = 100}).document();

    EXPECT_EQ(count(svg, "class=\"compute\""), 101u);
    EXPECT_EQ(count(svg, "100 % waits"), 100u);
    EXPECT_THAT(svg, HasSubstr("10 ranks a row"));
}

}  // namespace
}  // namespace loom::twin
