#include "loom/report/schedule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loom/base/error.hpp"

namespace loom::report {
namespace {

using testing::HasSubstr;

traffic::Schedule ping_pong() {
    traffic::ScheduleBuilder builder(2);
    builder.send(Rank{0}, Rank{1}, 100);
    const std::uint32_t got = builder.receive(Rank{1}, Rank{0}, 100);
    const std::uint32_t reduce = builder.add(Rank{1}, {.amount = 100, .peer = {}, .kind = traffic::OpKind::reduce});
    builder.require(Rank{1}, reduce, got);
    builder.require(Rank{1}, builder.send(Rank{1}, Rank{0}, 200), reduce);
    builder.receive(Rank{0}, Rank{1}, 200);
    return builder.build();
}

std::size_t count(const std::string& text, std::string_view what) {
    std::size_t n = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
    return n;
}

TEST(SchedulePicture, HasALineForEachRankAndAnArrowForEachMessage) {
    const traffic::Schedule schedule = ping_pong();
    const model::Prediction times = model::walk(schedule, model::charges(model::LogGp{}));

    const std::string svg = draw_schedule(schedule, times, {.title = "a & b"}).document();

    EXPECT_EQ(count(svg, "class=\"message\""), 2u);
    EXPECT_EQ(count(svg, "class=\"reduce\""), 1u);
    EXPECT_THAT(svg, HasSubstr("rank 1"));
    EXPECT_THAT(svg, HasSubstr("a &amp; b"));
    EXPECT_THAT(svg, HasSubstr("100 B from 0 to 1"));
}

TEST(SchedulePicture, SaysWhatItLeavesOut) {
    const traffic::Schedule schedule = ping_pong();
    const model::Prediction times = model::walk(schedule, model::charges(model::LogGp{}));

    const std::string svg = draw_schedule(schedule, times, {.title = "few", .most_messages = 1}).document();

    EXPECT_EQ(count(svg, "class=\"message\""), 1u);
    EXPECT_THAT(svg, HasSubstr("1 of 2 messages"));
}

TEST(SchedulePicture, LeavesOutWhatNeverEnded) {
    traffic::ScheduleBuilder builder(2);
    builder.receive(Rank{0}, Rank{1}, 8);
    const traffic::Schedule schedule = builder.build();

    const std::string svg =
        draw_schedule(schedule, model::walk(schedule, model::charges(model::LogGp{})), {.title = "stuck"}).document();

    EXPECT_EQ(count(svg, "class=\"message\""), 0u);
}

TEST(SchedulePicture, RefusesTimesOfAnother) {
    EXPECT_THROW((void)draw_schedule(ping_pong(), {}, {.title = "none"}), UsageError);
}

}  // namespace
}  // namespace loom::report
