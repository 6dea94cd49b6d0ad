#include "session/agreement.hpp"

#include <gtest/gtest.h>

#include <deque>

#include "loom/base/random.hpp"

namespace loom::session {
namespace {

constexpr Resume nothing{};

// Two ends with a queue in either direction; messages are delivered one by one, in any interleaving.
class Pair {
public:
    explicit Pair(const Settings& settings) : ends_{Agreement(true, 7, settings), Agreement(false, 7, settings)} {}

    Agreement& end(int i) { return ends_[i]; }
    void drained(int i, bool yes) { drained_[i] = yes; }

    void speak(int i) {
        if (const auto turn = ends_[i].due(drained_[i])) {
            to_[1 - i].push_back(Ready{ends_[i].epoch() + 1, turn->settings, nothing});
            ends_[i].changed(turn->settings);
        }
        if (const auto proposal = ends_[i].next(drained_[i], nothing)) to_[1 - i].push_back(*proposal);
    }
    bool deliver(int i) {
        if (to_[i].empty()) return false;
        const ControlMessage message = to_[i].front();
        to_[i].pop_front();
        if (const auto* proposal = std::get_if<Propose>(&message)) ends_[i].hear(*proposal);
        if (const auto* ready = std::get_if<Ready>(&message))
            if (const auto turn = ends_[i].hear(*ready)) ends_[i].changed(turn->settings);
        speak(i);
        return true;
    }
    void settle() {
        for (bool moved = true; moved;) {
            for (const int i : {0, 1}) speak(i);
            moved = deliver(0);
            moved = deliver(1) || moved;
        }
    }

private:
    Agreement ends_[2];
    bool drained_[2] = {true, true};
    std::deque<ControlMessage> to_[2];
};

TEST(Agreement, ReachesBothEnds) {
    Pair pair{Settings{}};

    pair.end(1).wish(Controller::cubic, "test");
    pair.settle();

    EXPECT_EQ(pair.end(0).settings().controller, Controller::cubic);
    EXPECT_TRUE(pair.end(0).settings() == pair.end(1).settings());
    EXPECT_EQ(pair.end(0).epoch(), 8u);
}

TEST(Agreement, TwoWishesAtATimeAreBothGranted) {
    Pair pair{Settings{}};

    pair.end(0).wish(Controller::cubic, "test");
    pair.end(1).wish(Network::infiniband, "test");
    pair.settle();

    for (const int i : {0, 1}) {
        EXPECT_EQ(pair.end(i).settings().controller, Controller::cubic);
        EXPECT_EQ(pair.end(i).settings().network, Network::infiniband);
    }
}

TEST(Agreement, AsynchronousWaitsUntilBothAreDrained) {
    Pair pair{Settings{}};
    pair.drained(0, false);

    pair.end(1).wish(Scheme::asynchronous, "test");
    pair.settle();
    EXPECT_EQ(pair.end(1).settings().scheme, Scheme::synchronous);
    EXPECT_FALSE(pair.end(1).frozen()) << "what is owed can still be taken";
    EXPECT_EQ(pair.end(0).scheme_of_sends(), Scheme::asynchronous) << "new messages are not owed";
    pair.drained(0, true);
    pair.settle();

    EXPECT_EQ(pair.end(0).settings().scheme, Scheme::asynchronous);
    EXPECT_EQ(pair.end(1).settings().scheme, Scheme::asynchronous);
}

TEST(Agreement, ANetworkThatDiesDoesNotWaitForWhatIsOwed) {
    for (const int dies : {0, 1}) {
        Settings settings;
        settings.network = Network::infiniband;
        Pair pair{settings};
        for (const int i : {0, 1}) pair.drained(i, false);
        pair.end(0).wish(Scheme::asynchronous, "test");
        pair.end(1).wish(Scheme::asynchronous, "test");
        pair.settle();

        pair.end(dies).wish(Network::ethernet, "it died");
        pair.settle();
        EXPECT_EQ(pair.end(0).settings().network, Network::ethernet);
        EXPECT_EQ(pair.end(1).settings().scheme, Scheme::synchronous);
        for (const int i : {0, 1}) pair.drained(i, true);
        pair.settle();

        EXPECT_EQ(pair.end(1).settings().scheme, Scheme::asynchronous);
        EXPECT_TRUE(pair.end(0).settings() == pair.end(1).settings());
    }
}

TEST(Agreement, IsReachedInAnyInterleaving) {
    for (std::uint64_t seed = 0; seed < 5000; ++seed) {
        Random random(seed);
        Pair pair{Settings{}};
        for (int step = 0; step < 60; ++step) {
            const int i = static_cast<int>(random.below(2));
            switch (random.below(8)) {
                case 0:
                    pair.end(i).wish(static_cast<Scheme>(random.below(2)), "test");
                    break;
                case 1:
                    pair.end(i).wish(static_cast<Controller>(random.below(3)), "test");
                    break;
                case 2:
                    pair.end(i).wish(static_cast<Network>(random.below(2)), "test");
                    break;
                case 3:
                    pair.drained(i, random.below(2) == 0);
                    break;
                case 4:
                    pair.speak(i);
                    break;
                default:
                    (void)pair.deliver(i);
            }
            ASSERT_LE(pair.end(0).epoch() - pair.end(1).epoch() + 1, 2u) << "never more than one apart";
        }
        for (const int i : {0, 1}) pair.drained(i, true);

        pair.settle();

        ASSERT_TRUE(pair.end(0).settings() == pair.end(1).settings()) << seed;
        ASSERT_EQ(pair.end(0).epoch(), pair.end(1).epoch()) << seed;
        ASSERT_FALSE(pair.end(0).proposing() || pair.end(1).proposing()) << seed;
        for (const int i : {0, 1}) ASSERT_TRUE(pair.end(i).target() == pair.end(i).settings()) << seed;
    }
}

}  // namespace
}  // namespace loom::session
