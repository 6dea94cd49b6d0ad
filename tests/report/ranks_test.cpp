#include "loom/report/ranks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loom/fabric/generate.hpp"

namespace loom::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

RanksPlayed two_ranks() {
    RanksPlayed played;
    played.title = "halo <x>";
    played.level = sim::Level::packet;
    played.finish = microseconds(10);
    played.computation = "declared";
    played.ranks = {{.rank = 0,
                     .host = "a",
                     .end = microseconds(8),
                     .computing = microseconds(2),
                     .waiting = microseconds(4),
                     .sending = microseconds(1),
                     .other = microseconds(1),
                     .messages = 1500,
                     .bytes = 2048},
                    {.rank = 1, .host = "b", .end = microseconds(10), .computing = microseconds(10)}};
    return played;
}

TEST(RanksSection, TellsWhereTheTimeWentTheSlowestFirst) {
    const Section section = ranks_section(two_ranks());

    EXPECT_EQ(section.heading, "Ranks: halo <x>");
    EXPECT_THAT(section.html, HasSubstr("2 ranks in virtual time, level <b>packet</b>"));
    EXPECT_THAT(section.html, HasSubstr("finished after <strong>10 us</strong>. Computation: declared."));
    EXPECT_THAT(section.html,
                HasSubstr("<td class=\"n\">0</td><td>a</td><td class=\"n\">8 us</td><td class=\"n\">25.0</td>"
                          "<td class=\"n\">50.0</td><td class=\"n\">12.5</td><td class=\"n\">12.5</td>"
                          "<td class=\"n\">1,500</td><td class=\"n\">2.0 KiB</td>"));
    EXPECT_LT(section.html.find("<td>b</td>"), section.html.find("<td>a</td>"));
    EXPECT_THAT(section.html, Not(HasSubstr("of all ranks")));
}

TEST(RanksSection, SumsManyRanksUp) {
    RanksPlayed played;
    played.finish = microseconds(200);
    for (std::uint32_t rank = 0; rank < 200; ++rank)
        played.ranks.push_back(
            {.rank = rank, .host = "h", .end = microseconds(1 + rank), .waiting = microseconds(rank)});

    const std::string html = ranks_section(played).html;

    EXPECT_THAT(html, HasSubstr("The slowest 50 of 200 ranks"));
    EXPECT_THAT(
        html, HasSubstr("<td>end</td><td class=\"n\">1 us</td><td class=\"n\">100 us</td><td class=\"n\">200 us</td>"));
    EXPECT_THAT(html, HasSubstr("<td>waiting</td><td class=\"n\">0 s</td>"));
    EXPECT_THAT(html, HasSubstr("<td class=\"n\">199</td><td>h</td>"));
    EXPECT_THAT(html, HasSubstr("<td class=\"n\">150</td><td>h</td>"));
    EXPECT_THAT(html, Not(HasSubstr("<td class=\"n\">149</td><td>h</td>")));
}

TEST(RanksSection, ARankWithoutAnEndIsTheSlowest) {
    RanksPlayed played = two_ranks();
    played.ranks[0].end = never;
    played.finish = never;
    played.state = sim::State::stuck;
    played.trouble = {"rank 0 waits in <allreduce> for a message"};

    const std::string html = ranks_section(played).html;

    EXPECT_THAT(html, HasSubstr("<span class=\"bad\">stuck</span>"));
    EXPECT_THAT(html, HasSubstr("<li>rank 0 waits in &lt;allreduce&gt; for a message</li>"));
    EXPECT_THAT(slowest_ranks(played.ranks, 2), ElementsAre(0u, 1u));
    EXPECT_EQ(spread_of(played.ranks, &RankLine::end).most, microseconds(10));
    EXPECT_EQ(spread_of(played.ranks, &RankLine::computing).least, microseconds(10));  // of the one that ended
}

TEST(RanksSection, ShowsLinksJamsPictureAndTimeline) {
    const fabric::Fabric tree = fabric::pgft(fabric::kary_tree(2, 2));
    RanksPlayed played = two_ranks();
    played.fabric = &tree;
    played.links.busy.assign(tree.port_count(), 0.25);
    played.links.hottest = {{PortIndex{1}, "S<1> port 3", "h port 1", 4096, 0.5, 0.125}};
    sim::Jam jam;
    jam.waits_at_name = "S1 port 15";
    jam.full_name = "S2 port 23";
    jam.waited = microseconds(3);
    jam.share = 0.5;
    jam.victims = {{Rank{6}, Rank{7}, 8}};
    jam.victim_count = 2;
    jam.behind = {{Rank{0}, Rank{1}, 8}};
    jam.behind_count = 1;
    played.links.jams = {jam};
    played.links.remarks = {"something & more"};
    played.timeline = Svg(10, 10, "when");

    const std::string html = ranks_section(played).html;

    EXPECT_THAT(html, HasSubstr("<td>S&lt;1&gt; port 3</td><td>h port 1</td><td class=\"n\">4.0 KiB</td>"
                                "<td class=\"n\">50.0</td><td class=\"n\">12.5</td>"));
    EXPECT_THAT(html, HasSubstr("packets at S1 port 15 wait 3 us (50 % of the time that it has any) behind packets for "
                                "S2 port 23: 6 -&gt; 7 and 1 more, behind 0 -&gt; 1"));
    EXPECT_THAT(html, HasSubstr("% busy"));
    EXPECT_THAT(html, HasSubstr("something &amp; more"));
    EXPECT_THAT(html, HasSubstr("What each rank did"));
    EXPECT_THAT(html, HasSubstr("data-ends"));
}

}  // namespace
}  // namespace loom::report
