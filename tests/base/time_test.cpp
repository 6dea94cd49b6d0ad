#include "loom/base/time.hpp"

#include <gtest/gtest.h>

namespace loom {
namespace {

TEST(Time, PrintsThreeDigitsInTheUnitThatSuits) {
    EXPECT_EQ(to_string(Time{0}), "0 s");
    EXPECT_EQ(to_string(picoseconds(7)), "7 ps");
    EXPECT_EQ(to_string(nanoseconds(250)), "250 ns");
    EXPECT_EQ(to_string(microseconds(1500)), "1.5 ms");
    EXPECT_EQ(to_string(seconds(2)), "2 s");
    EXPECT_EQ(to_string(picoseconds(1234567)), "1.23 us");
    EXPECT_EQ(to_string(picoseconds(-1500)), "-1.5 ns");
    EXPECT_EQ(to_string(seconds(86400)), "86400 s");
    EXPECT_EQ(to_string(never), "never");
}

TEST(Time, RoundsUpIntoTheNextUnit) {
    EXPECT_EQ(to_string(picoseconds(999)), "999 ps");
    EXPECT_EQ(to_string(picoseconds(999'400)), "999 ns");
    EXPECT_EQ(to_string(picoseconds(999'600)), "1 us");
}

TEST(Time, ReadsNumbersWithUnits) {
    EXPECT_EQ(parse_time("250ns"), nanoseconds(250));
    EXPECT_EQ(parse_time("1.5 ms"), microseconds(1500));
    EXPECT_EQ(parse_time(" 2s "), seconds(2));
    EXPECT_EQ(parse_time("7ps"), picoseconds(7));
    EXPECT_EQ(parse_time("0.25us"), nanoseconds(250));
    EXPECT_EQ(parse_time("0"), Time{0});
    EXPECT_EQ(parse_time("0s"), Time{0});
}

TEST(Time, RoundsToThePicosecond) {
    EXPECT_EQ(parse_time("1.2344ns"), picoseconds(1234));
    EXPECT_EQ(parse_time("1.2345ns"), picoseconds(1235));
    EXPECT_EQ(parse_time("0.3333333333333333333333s"), picoseconds(333'333'333'333));
}

TEST(Time, RefusesWhatIsNoTime) {
    for (const char* text : {"", "5", "0.5", "ns", "-1s", "1.s", ".5s", "1 h", "1e3s", "1ns2", "1 0ns", "1,5ms",
                             "9300000s", "99999999999999999999s"})
        EXPECT_EQ(parse_time(text), std::nullopt) << text;
}

TEST(Bytes, ReadsNumbersWithAndWithoutUnits) {
    EXPECT_EQ(parse_bytes("4096"), 4096u);
    EXPECT_EQ(parse_bytes("4KiB"), 4096u);
    EXPECT_EQ(parse_bytes("128 MiB"), 134'217'728u);
    EXPECT_EQ(parse_bytes("1GB"), 1'000'000'000u);
    EXPECT_EQ(parse_bytes("2k"), 2048u);
    EXPECT_EQ(parse_bytes("1.5KiB"), 1536u);
    EXPECT_EQ(parse_bytes("10B"), 10u);
    EXPECT_EQ(parse_bytes("18446744073709551615"), 18'446'744'073'709'551'615u);
}

TEST(Bytes, RefusesWhatIsNoNumberOfBytes) {
    for (const char* text :
         {"", "-1", "1.5", "1.3KiB", "0.5B", "4 kb", "KiB", "1TiBs", "18446744073709551616", "99999999TiB"})
        EXPECT_EQ(parse_bytes(text), std::nullopt) << text;
}

}  // namespace
}  // namespace loom
