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

// What belongs together and where it is drawn is told by the times alone.
TEST(SchedulePicture, JoinsSendsAndReceivesInTheOrderOfBeginning) {
    traffic::ScheduleBuilder builder(2);
    for (int i = 0; i < 2; ++i) builder.send(Rank{0}, Rank{1}, 8);
    for (int i = 0; i < 2; ++i) builder.receive(Rank{1}, Rank{0}, 8);
    const traffic::Schedule schedule = builder.build();
    const auto span = [](std::int64_t begin, std::int64_t end) {
        return model::Span{microseconds(begin), microseconds(end)};
    };
    model::Prediction times;
    times.ends = {microseconds(11), microseconds(20)};
    times.ops = {span(0, 1), span(10, 11), span(5, 20), span(1, 6)};  // the second receive is the first to wait

    const std::string svg = draw_schedule(schedule, times, {.title = "two", .width = 1000}).document();

    EXPECT_THAT(svg, HasSubstr("8 B from 0 to 1, 0 s to 6 us"));
    EXPECT_THAT(svg, HasSubstr("8 B from 0 to 1, 10 us to 20 us"));
    EXPECT_THAT(svg,
                testing::ContainsRegex("<line x1=\"64\" y1=\"[0-9.]+\" x2=\"338.8\" y2=\"[0-9.]+\" class=\"message\""));
    EXPECT_THAT(svg,
                testing::ContainsRegex("<line x1=\"522\" y1=\"[0-9.]+\" x2=\"980\" y2=\"[0-9.]+\" class=\"message\""));
}

TEST(SchedulePicture, RefusesTimesOfAnother) {
    EXPECT_THROW((void)draw_schedule(ping_pong(), {}, {.title = "none"}), UsageError);
}

}  // namespace
}  // namespace loom::report
