// Random changes of scheme, controller, network and loss in numbered streams, in virtual time: thousands of seeds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <deque>

#include "loom/base/random.hpp"
#include "loom/session/simulation.hpp"
#include "session/streams.hpp"

namespace loom::session {
namespace {

using test::intact;
using test::number_of;
using test::numbered;

constexpr std::array<double, 3> losses{0, 0.01, 0.05};

// A stream in one direction. Each message is sent under the scheme of its moment.
class Stream {
public:
    Stream(Simulation& simulation, Side from) : simulation_(simulation), from_(from) {}

    void send(Scheme scheme, std::size_t size) {
        const std::uint64_t number = ++sent_;
        const Request request = simulation_.send(from_, numbered(number, size));
        if (scheme == Scheme::synchronous) {
            owed_.push_back(number);
            requests_.push_back(request);
        } else {
            EXPECT_TRUE(request->done()) << "an asynchronous send waited";
        }
    }

    // Takes what is there. Synchronous messages: each, once, in order. All: intact, and newer than those before.
    void take(bool wait) {
        const Side to = from_ == Side::opener ? Side::acceptor : Side::opener;
        for (;;) {
            if (!pending_) pending_ = simulation_.receive(to);
            if (wait && !pending_->done())
                (void)simulation_.run_until_done(pending_, simulation_.now() + milliseconds(1));
            if (!pending_->done()) return;
            const Request done = std::exchange(pending_, nullptr);
            ASSERT_FALSE(done->failed()) << simulation_.ended(to);
            if (!done->has_message()) return;
            check(done->message());
        }
    }

    [[nodiscard]] bool complete() const { return owed_.empty(); }
    [[nodiscard]] std::uint64_t newest() const { return newest_; }
    [[nodiscard]] std::uint64_t sent() const { return sent_; }
    [[nodiscard]] std::size_t taken() const { return taken_; }
    [[nodiscard]] bool all_answered() const {
        return std::all_of(requests_.begin(), requests_.end(),
                           [](const Request& each) { return each->done() && !each->failed(); });
    }

private:
    void check(const Bytes& message) {
        const std::uint64_t number = number_of(message);
        ASSERT_TRUE(intact(message)) << number;
        ASSERT_GT(number, newest_) << "repeated, or older than one before";
        ASSERT_TRUE(owed_.empty() || owed_.front() >= number) << owed_.front() << " is lost";
        if (!owed_.empty() && owed_.front() == number) owed_.pop_front();
        newest_ = number;
        ++taken_;
    }

    Simulation& simulation_;
    Side from_;
    std::uint64_t sent_ = 0, newest_ = 0;
    std::size_t taken_ = 0;
    std::deque<std::uint64_t> owed_;
    std::vector<Request> requests_;
    Request pending_;
};

struct Tally {
    std::uint64_t changes = 0, owed = 0, newest = 0, again = 0;
};

SimulationOptions drawn(std::uint64_t seed, Random& random) {
    SimulationOptions options;
    options.seed = seed;
    options.place = random.below(2) == 0 ? Place::cluster : Place::elsewhere;
    options.settings.scheme = random.below(2) == 0 ? Scheme::synchronous : Scheme::asynchronous;
    options.settings.controller = static_cast<Controller>(random.below(3));
    options.settings.selective = random.below(2) == 0;
    options.has_infiniband = random.below(4) != 0;
    if (options.has_infiniband && random.below(2) == 0) options.settings.network = Network::infiniband;
    options.ethernet.loss = options.infiniband.loss = losses[random.below(3)];
    options.ethernet.duplicate = random.below(2) == 0 ? 0.01 : 0;
    options.ethernet.reorder = random.below(2) == 0 ? 0.02 : 0;
    options.ethernet.bits_per_second = random.below(2) == 0 ? 1e9 : 1e10;
    options.ethernet.sees_queue = random.below(2) == 0;
    options.settle = milliseconds(2);
    return options;
}

// One of the switches, at a side by chance.
void change_something(Simulation& simulation, const SimulationOptions& options, Random& random) {
    const auto side = static_cast<Side>(random.below(2));
    switch (random.below(6)) {
        case 0:
        case 1:
            simulation.set(side, static_cast<Scheme>(random.below(2)), "test");
            break;
        case 2:
            simulation.set(side, static_cast<Controller>(random.below(3)), "test");
            break;
        case 3:
            simulation.prefer(side, static_cast<Network>(random.below(2)), "test");
            break;
        case 4:
            simulation.lose(losses[random.below(3)]);
            break;
        case 5:
            if (!options.has_infiniband) break;
            simulation.stop_infiniband();
            simulation.run_for(microseconds(random.below(3000)));
            simulation.return_infiniband();
            break;
    }
}

void play(std::uint64_t seed, Tally& tally) {
    Random random = random_stream(seed, 77);
    const SimulationOptions options = drawn(seed, random);
    Simulation simulation(options);
    std::array<Stream, 2> streams{Stream(simulation, Side::opener), Stream(simulation, Side::acceptor)};

    for (int step = 0; step < 40; ++step) {
        const std::size_t from = random.below(2);
        // What this end's program believes to run is what holds for what it sends.
        streams[from].send(simulation.scheme(static_cast<Side>(from)),
                           8 + random.below(random.below(4) == 0 ? 40'000 : 2'000));
        if (random.below(3) == 0) change_something(simulation, options, random);
        simulation.run_for(microseconds(random.below(400)));
        if (random.below(2) == 0) streams[random.below(2)].take(false);
        if (testing::Test::HasFatalFailure()) return;
    }
    // All that is owed arrives.
    for (int turn = 0; turn < 20'000 && !(streams[0].complete() && streams[1].complete()); ++turn) {
        simulation.run_for(microseconds(200));  // an asynchronous receive does not wait
        for (Stream& stream : streams) stream.take(true);
    }
    ASSERT_EQ(simulation.ended(Side::opener), "");
    ASSERT_TRUE(streams[0].complete() && streams[1].complete())
        << "a synchronous message is lost; " << to_string(simulation.composition(Side::opener)) << "; "
        << to_string(simulation.composition(Side::acceptor));
    simulation.run_for(milliseconds(2000));
    for (Stream& stream : streams) {
        stream.take(false);
        ASSERT_TRUE(stream.all_answered()) << "a send has not ended though all is taken";
        tally.newest += stream.newest();
    }
    for (const Side side : {Side::opener, Side::acceptor}) {
        tally.changes += simulation.counters(side).changes;
        tally.again += simulation.counters(side).segments_again;
    }
    const Settings &left = simulation.composition(Side::opener).settings,
                   &right = simulation.composition(Side::acceptor).settings;
    ASSERT_TRUE(left == right) << "both ends run the same in the end";
}

class Switches : public testing::TestWithParam<unsigned> {};

TEST_P(Switches, LoseAndRepeatNothing) {
    constexpr std::uint64_t seeds = 400;
    Tally tally;

    for (std::uint64_t seed = GetParam() * seeds; seed < (GetParam() + 1) * seeds; ++seed) {
        SCOPED_TRACE(seed);
        play(seed, tally);
        if (HasFatalFailure()) return;
    }

    EXPECT_GT(tally.changes, seeds * 4) << "changes did happen";
    EXPECT_GT(tally.again, seeds) << "so did losses";
}

INSTANTIATE_TEST_SUITE_P(Seeds, Switches, testing::Range(0u, 8u));

// The last asynchronous message gets through in the end when nothing is lost, however often the channel changes.
TEST(Newest, ArrivesWhateverChanges) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        Random random = random_stream(seed, 5);
        SimulationOptions options;
        options.seed = seed;
        options.has_infiniband = true;
        options.settings.scheme = Scheme::asynchronous;
        options.settings.network = static_cast<Network>(random.below(2));
        Simulation simulation(options);

        for (std::uint64_t i = 1; i <= 30; ++i) {
            (void)simulation.send(Side::opener, numbered(i, 30'000));
            simulation.prefer(static_cast<Side>(random.below(2)), static_cast<Network>(random.below(2)), "test");
            simulation.run_for(microseconds(random.below(500)));
        }
        simulation.run_for(milliseconds(100));
        std::uint64_t newest = 0;
        for (Request taken = simulation.receive(Side::acceptor); taken->has_message();
             taken = simulation.receive(Side::acceptor))
            newest = number_of(taken->message());

        EXPECT_EQ(newest, 30u) << "seed " << seed;
    }
}

// From the moment of a change until the next segment arrives: one round trip of the control channel and 1 ms at most,
// for 99 of 100.
TEST(Stall, OfAChangeIsBounded) {
    std::vector<double> stalls;
    SimulationOptions options;
    options.has_infiniband = true;
    options.settings.network = Network::infiniband;
    options.settings.selective = true;
    options.ethernet.loss = 0.01;
    const Time round_trip = 2 * options.control_delay;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        options.seed = seed;
        Random random = random_stream(seed, 6);
        Simulation simulation(options);
        for (std::uint64_t i = 1; i <= 400; ++i) (void)simulation.send(Side::opener, numbered(i, 8000));
        simulation.run_for(microseconds(200 + random.below(200)));
        simulation.prefer(Side::opener, Network::ethernet, "test");
        const Time begin = simulation.now();
        std::uint64_t before = simulation.counters(Side::acceptor).segments_received;

        // What was under way arrives before; the stall ends with the first segment of the new epoch.
        while (simulation.composition(Side::acceptor).settings.network == Network::infiniband)
            simulation.run_for(microseconds(10));
        before = simulation.counters(Side::acceptor).segments_received;
        while (simulation.counters(Side::acceptor).segments_received == before &&
               simulation.now() - begin < milliseconds(500))
            simulation.run_for(microseconds(10));

        stalls.push_back((simulation.now() - begin).seconds());
    }

    std::sort(stalls.begin(), stalls.end());
    EXPECT_LE(stalls[stalls.size() * 99 / 100], (round_trip + milliseconds(1)).seconds());
}

}  // namespace
}  // namespace loom::session
