#include "loom/base/table.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace {

using namespace loom;

TEST(Table, AlignsColumnsWithoutTrailingBlanks) {
    Table table({{"engine"}, {"worst", Align::right}, {"remark"}});

    table.row({"minhop", "12", "uneven"}).row({"ftree", "1"});

    EXPECT_EQ(table.text(),
              "engine  worst  remark\n"
              "minhop     12  uneven\n"
              "ftree       1\n");
}

TEST(Table, MeasuresCodePointsNotBytes) {
    Table table({{"name"}, {"value"}});

    table.row({"Größe", "1"}).row({"plain", "2"});

    EXPECT_EQ(table.text(),
              "name   value\n"
              "Größe  1\n"
              "plain  2\n");
}

TEST(Table, ColoursOnlyWhenAsked) {
    Table table({{"a"}});

    table.row({Cell("no", Colour::red)});

    EXPECT_EQ(table.text(false), "a\nno\n");
    EXPECT_EQ(table.text(true), "\033[1ma\033[0m\n\033[31mno\033[0m\n");
}

TEST(Table, RefusesARowThatIsTooLong) {
    Table table({{"a"}});

    EXPECT_THROW(table.row({"1", "2"}), std::logic_error);
}

TEST(Grouped, SeparatesThousands) {
    EXPECT_EQ(grouped(0), "0");
    EXPECT_EQ(grouped(999), "999");
    EXPECT_EQ(grouped(1728), "1,728");
    EXPECT_EQ(grouped(2980000), "2,980,000");
}

TEST(Counted, TakesTheSingularForOneAlone) {
    EXPECT_EQ(counted(0, "switch", "switches"), "0 switches");
    EXPECT_EQ(counted(1, "switch", "switches"), "1 switch");
    EXPECT_EQ(counted(1728, "host", "hosts"), "1,728 hosts");
}

TEST(HumanSeconds, KeepsThreeDigits) {
    EXPECT_EQ(human_seconds(0), "0 us");
    EXPECT_EQ(human_seconds(12.34e-6), "12.3 us");
    EXPECT_EQ(human_seconds(0.0123), "12.3 ms");
    EXPECT_EQ(human_seconds(1.2345), "1.23 s");
    EXPECT_EQ(human_seconds(125), "2 min 5 s");
}

TEST(HumanBytes, ChoosesTheUnit) {
    EXPECT_EQ(human_bytes(512), "512 B");
    EXPECT_EQ(human_bytes(1536), "1.5 KiB");
    EXPECT_EQ(human_bytes(std::size_t{3} << 30), "3.0 GiB");
    EXPECT_EQ(human_bytes(std::size_t{300} << 20), "300 MiB");
}

TEST(HumanBytes, RoundsUpIntoTheNextUnit) {
    EXPECT_EQ(human_bytes(1023), "1023 B");
    EXPECT_EQ(human_bytes(1024), "1.0 KiB");
    EXPECT_EQ(human_bytes((std::size_t{1} << 20) - 1000), "1023 KiB");
    EXPECT_EQ(human_bytes((std::size_t{1} << 20) - 1), "1.0 MiB");
}

}  // namespace
