#include "session/control/opening.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loom/base/error.hpp"

namespace loom::session {
namespace {

using testing::HasSubstr;

struct Greetings {
    Hello opener, acceptor;
    Greetings() {
        for (Hello* each : {&opener, &acceptor}) {
            each->host = "here";
            each->process = 1;
            each->port = 10;
            each->segment_bytes = 1472;
            each->most_message = 1000;
            each->has_infiniband = true;
            each->queue_pairs.block_bytes = 8128;
        }
        acceptor.port = 11;
        opener.epoch = 5;
        acceptor.epoch = 6;
    }
    Start left() const { return decide(true, opener, acceptor); }
    Start right() const { return decide(false, acceptor, opener); }
};

void expect_alike(const Start& left, const Start& right) {
    EXPECT_TRUE(left.settings == right.settings);
    EXPECT_EQ(left.place, right.place);
    EXPECT_EQ(left.epoch, right.epoch);
    EXPECT_EQ(left.own_port, right.peer_port);
    EXPECT_EQ(left.peer_port, right.own_port);
    EXPECT_EQ(left.ethernet_bytes, right.ethernet_bytes);
    EXPECT_EQ(left.infiniband_bytes, right.infiniband_bytes);
    EXPECT_EQ(left.most_message, right.most_message);
}

TEST(Opening, FindsWhereThePeerIs) {
    Greetings greetings;
    EXPECT_EQ(greetings.left().place, Place::process);
    greetings.acceptor.process = 2;
    EXPECT_EQ(greetings.left().place, Place::host);
    greetings.acceptor.host = "there";
    EXPECT_EQ(greetings.left().place, Place::cluster);
    greetings.acceptor.cluster = "south";
    EXPECT_EQ(greetings.left().place, Place::elsewhere);
    greetings.opener.cluster = "south";
    EXPECT_EQ(greetings.left().place, Place::cluster);
    EXPECT_THAT(greetings.left().why, HasSubstr("cluster south"));
}

TEST(Opening, FindsWhatNetworkLiesBetweenAndSaysWhy) {
    Greetings greetings;
    EXPECT_EQ(greetings.left().settings.network, Network::infiniband);
    greetings.acceptor.has_infiniband = false;
    EXPECT_EQ(greetings.left().settings.network, Network::ethernet);
    EXPECT_THAT(greetings.left().why, HasSubstr("only one end has InfiniBand"));
    greetings.opener.has_infiniband = false;
    EXPECT_THAT(greetings.left().why, HasSubstr("neither end has InfiniBand"));

    greetings = Greetings();
    greetings.opener.queue_pairs.link = greetings.acceptor.queue_pairs.link = Link::host;
    EXPECT_EQ(greetings.left().settings.network, Network::infiniband);
    greetings.acceptor.host = "there";
    EXPECT_EQ(greetings.left().settings.network, Network::ethernet);
    EXPECT_THAT(greetings.left().why, HasSubstr("RoCE"));
    greetings.acceptor.queue_pairs.link = Link::ethernet;
    EXPECT_THAT(greetings.left().why, HasSubstr("different links"));

    greetings = Greetings();
    greetings.acceptor.queue_pairs.gid[3] = std::byte{1};
    EXPECT_THAT(greetings.left().why, HasSubstr("subnets"));
}

TEST(Opening, ReachesEachOfTheEightContextsAlikeAtBothEnds) {
    for (const Context& context : contexts) {
        Greetings greetings;
        greetings.opener.scheme = greetings.acceptor.scheme = context.scheme;
        if (context.reach == Reach::inter) greetings.acceptor.cluster = "south";
        greetings.acceptor.has_infiniband = context.network == Network::infiniband;

        const Start left = greetings.left(), right = greetings.right();

        EXPECT_EQ(left.settings.scheme, context.scheme);
        EXPECT_EQ(reach_of(left.place), context.reach);
        EXPECT_EQ(left.settings.network, context.network);
        expect_alike(left, right);
    }
}

TEST(Opening, TakesTheOpenersWordAndTheLesserOfLimits) {
    Greetings greetings;
    greetings.opener.scheme = Scheme::asynchronous;
    greetings.opener.controller = Controller::cubic;
    greetings.acceptor.segment_bytes = 1000;
    greetings.acceptor.most_message = 10;
    greetings.opener.selective = true;

    const Start left = greetings.left();

    EXPECT_EQ(left.settings.scheme, Scheme::asynchronous);
    EXPECT_EQ(left.settings.controller, Controller::cubic);
    EXPECT_FALSE(left.settings.selective) << "one end does not want it";
    EXPECT_EQ(left.ethernet_bytes, 1000u);
    EXPECT_EQ(left.most_message, 10u);
    EXPECT_EQ(left.epoch, 11u);
    EXPECT_THAT(left.why, HasSubstr("opener's holds"));
    expect_alike(left, greetings.right());
}

TEST(Opening, SealsBetweenClustersWhereBothHaveAKey) {
    Greetings greetings;
    greetings.opener.has_key = greetings.acceptor.has_key = true;
    EXPECT_FALSE(greetings.left().settings.sealed);
    greetings.acceptor.cluster = "south";
    EXPECT_TRUE(greetings.left().settings.sealed);
    EXPECT_TRUE(greetings.right().settings.sealed);
}

}  // namespace
}  // namespace loom::session
