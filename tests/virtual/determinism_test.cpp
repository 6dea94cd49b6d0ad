// The same run gives the same answer, bit by bit, as often as it is made and with any number of threads.
#include <gtest/gtest.h>

#include "conformance/kit.hpp"
#include "loom/base/clock.hpp"
#include "loom/base/random.hpp"
#include "loom/twin/run.hpp"
#include "reference/live_player.hpp"
#include "reference/random_schedules.hpp"
#include "virtual/schedule_player.hpp"
#include "virtual/tree.hpp"

namespace loom::twin {
namespace {

// Two threads at the packet level: with fewer ranks it takes one.
constexpr std::uint32_t ranks = 128;

struct Heard {
    Time at;
    std::uint32_t from;
    std::uint32_t value;
    friend bool operator==(const Heard&, const Heard&) = default;
};

// All there is to see of a run.
struct Seen {
    Result result;
    std::vector<std::uint64_t> numbers;     // flows and counters
    std::vector<std::vector<Heard>> heard;  // by rank
    std::vector<std::vector<SchedulePlayer::Event>> events;

    explicit Seen(std::size_t size) : heard(size), events(size) {}
    void look_at(const Options& options, const sim::Simulation& simulation) {
        for (const sim::Flow& flow : simulation.flows())
            numbers.insert(numbers.end(),
                           {flow.from.value, flow.to.value, flow.bytes, flow.delivered,
                            static_cast<std::uint64_t>(flow.begun.ps), static_cast<std::uint64_t>(flow.ended.ps)});
        if (options.level == sim::Level::message) return;
        for (std::uint32_t port = 0; port < options.network.graph->fabric().port_count(); ++port) {
            const fabric::PortCounters c = simulation.counters(PortIndex{port});
            numbers.insert(numbers.end(), {c.xmit_data, c.rcv_data, c.xmit_pkts, c.rcv_pkts, c.xmit_wait,
                                           c.xmit_cong_time, c.marked_fecn, c.rcv_fecn, c.rcv_becn});
        }
    }
};

void expect_same(const Seen& have, const Seen& want) {
    ASSERT_EQ(have.result.state, want.result.state);
    ASSERT_EQ(have.result.finish, want.result.finish);
    ASSERT_EQ(have.result.ranks, want.result.ranks);
    ASSERT_EQ(have.result.trouble, want.result.trouble);
    ASSERT_EQ(have.result.work.events, want.result.work.events);
    ASSERT_EQ(have.result.work.packets, want.result.work.packets);
    ASSERT_EQ(have.result.work.bytes, want.result.work.bytes);
    ASSERT_EQ(have.numbers, want.numbers);
    ASSERT_EQ(have.heard, want.heard);
    ASSERT_EQ(have.events, want.events);
}

// Tokens go from rank to rank: what a rank does with one depends on all that came to it before, in which order. Those
// that have gone far enough go to rank 0, which then lets everybody go home.
class Tokens {
public:
    Tokens(transport::Transport& transport, std::vector<transport::RemoteMemory>& all, std::vector<Heard>& heard)
        : transport_(transport), all_(all), heard_(heard), me_(transport.rank().value), size_(transport.size()) {}

    void play() {
        std::vector<std::byte> memory(most_bytes);
        all_[me_] = transport_.expose(memory);
        conformance::barrier(transport_);
        throw_to(state_ % size_, hops);
        while (!over_)
            if (const auto notification = transport_.next_notification())
                take(*notification);
            else if (!transport_.progress())
                transport_.rest();
        conformance::drive(transport_, [&] { return open_ == 0; });
        conformance::barrier(transport_);
    }

private:
    static constexpr std::uint32_t hops = 6, home = 0xffff, stop = 0xfffe;
    static constexpr std::size_t most_bytes = 9'000;

    struct Put {
        Tokens* owner;
        transport::Message message;
    };
    void take(const transport::Notification& notification) {
        const auto value = static_cast<std::uint32_t>(notification.value);
        heard_.push_back({now(), notification.from.value, value});
        if (notification.value == stop) {
            over_ = true;
            return;
        }
        if (notification.value == home) {
            if (++arrived_home_ < size_) return;
            for (std::uint32_t rank = 0; rank < size_; ++rank) put(rank, 0, stop);
            return;
        }
        state_ = (state_ ^ notification.from.value) * 2'654'435'761u + value;
        if (state_ % 5 == 0) compute(nanoseconds(state_ % 1000));
        if (notification.value == 0)
            put(0, 1, home);
        else
            throw_to(state_ >> 8, value - 1);
    }
    void throw_to(std::uint32_t where, std::uint32_t value) { put(where % size_, state_ % most_bytes, value); }
    void put(std::uint32_t to, std::size_t bytes, std::uint32_t value) {
        Put& mine = puts_.emplace_back();
        mine.owner = this;
        mine.message.owner = this;
        mine.message.finished = [](transport::Message& message) { --static_cast<Tokens*>(message.owner)->open_; };
        ++open_;
        if (transport_.put_notify(Rank{to}, all_[to], 0, std::span(data_).first(bytes), value, mine.message)) --open_;
    }

    transport::Transport& transport_;
    std::vector<transport::RemoteMemory>& all_;
    std::vector<Heard>& heard_;
    std::uint32_t me_, size_;
    std::uint32_t state_ = me_ * 40'503u + 7;
    std::uint32_t arrived_home_ = 0;
    bool over_ = false;
    std::size_t open_ = 0;
    std::vector<std::byte> data_ = std::vector<std::byte>(most_bytes, std::byte{1});
    std::deque<Put> puts_;
};

Seen play_tokens(const Options& options) {
    const std::size_t size = options.level == sim::Level::message ? options.ranks : ranks;
    Seen seen(size);
    std::vector<transport::RemoteMemory> all(size);
    seen.result = run(
        options,
        [&](transport::Transport& transport) { Tokens(transport, all, seen.heard[transport.rank().value]).play(); },
        [&](sim::Simulation& simulation) { seen.look_at(options, simulation); });
    return seen;
}

// Small buffers and marks: throttled adapters draw random numbers.
Options on(const Tree& tree, sim::Level level) {
    Options options;
    options.level = level;
    options.network = tree.network();
    sim::PacketOptions& packet = options.simulation.packet;
    packet.buffer_bytes = 4 * (packet.mtu + 64);
    packet.congestion.switches.threshold = 15;
    packet.congestion.table = sim::halving_table();
    return options;
}

TEST(Determinism, AProgramThatDependsOnItsDataEndsAlikeAHundredTimes) {
    const Tree tree(ranks, 2);
    Options by_model;
    by_model.ranks = ranks;
    by_model.simulation.message.flows = true;
    for (const Options& options : {by_model, on(tree, sim::Level::packet), on(tree, sim::Level::flow)}) {
        SCOPED_TRACE(sim::to_string(options.level));
        const Seen first = play_tokens(options);
        ASSERT_EQ(first.result.state, sim::State::finished) << testing::PrintToString(first.result.trouble);
        for (unsigned round = 1; round < 100; ++round)
            ASSERT_NO_FATAL_FAILURE(expect_same(play_tokens(options), first)) << "round " << round;
    }
}

TEST(Determinism, TwoThreadsAnswerAsOneDoes) {
    const Tree tree(ranks, 2);
    Options options = on(tree, sim::Level::packet);
    const Seen one = play_tokens(options);
    options.simulation.threads = 2;
    for (unsigned round = 0; round < 5; ++round) ASSERT_NO_FATAL_FAILURE(expect_same(play_tokens(options), one));
    options.simulation.seed = 2;

    const Seen other = play_tokens(options);

    EXPECT_NE(other.numbers, one.numbers) << "another seed, other delays of throttled adapters";
}

Seen play(const traffic::Schedule& schedule, const Options& options) {
    Seen seen(schedule.ranks());
    seen.result = run(
        options,
        [&](transport::Transport& transport) {
            SchedulePlayer player(schedule, transport);
            player.play();
            seen.events[transport.rank().value] = player.trace();
        },
        [&](sim::Simulation& simulation) { seen.look_at(options, simulation); });
    return seen;
}

TEST(Determinism, SchedulesEndAlikeWithTwoThreads) {
    const Tree tree(ranks, 2);
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        const traffic::Schedule schedule = sim::only_what_runs(reference::make_random(
            {.ranks = ranks, .messages = 1'500, .most_bytes = 20, .most_work = 500, .local = true}, seed));
        Options options = on(tree, sim::Level::packet);
        options.early_bytes = Options::no_bound;
        const Seen one = play(schedule, options);
        options.simulation.threads = 2;

        ASSERT_NO_FATAL_FAILURE(expect_same(play(schedule, options), one)) << seed;

        const auto alone = sim::make_simulation(options.level, options.network, schedule, options.simulation);
        (void)alone->advance(never);
        std::vector<Time> ends;
        for (const RankTimes& each : one.result.ranks) ends.push_back(each.end);
        EXPECT_EQ(ends, alone->rank_ends()) << seed;
    }
}

}  // namespace
}  // namespace loom::twin
