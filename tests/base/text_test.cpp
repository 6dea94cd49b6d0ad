#include "loom/base/text.hpp"

#include <gtest/gtest.h>

namespace loom {
namespace {

TEST(Text, TrimTakesBothEnds) {
    EXPECT_EQ(trim(" \ta b\r"), "a b");
    EXPECT_EQ(trim(" \t "), "");
    EXPECT_EQ(trim(""), "");
}

TEST(Text, NumbersAreWholeAndFit) {
    EXPECT_EQ(parse_decimal("18446744073709551615"), ~std::uint64_t{0});
    EXPECT_EQ(parse_decimal("18446744073709551616"), std::nullopt);
    EXPECT_EQ(parse_decimal("12 "), std::nullopt);
    EXPECT_EQ(parse_decimal("-1"), std::nullopt);
    EXPECT_EQ(parse_decimal(""), std::nullopt);
    EXPECT_EQ(parse_hex("0xffffffffffffffff"), ~std::uint64_t{0});
    EXPECT_EQ(parse_hex("fF"), 255u);
    EXPECT_EQ(parse_hex("0x"), std::nullopt);
    EXPECT_EQ(parse_hex("10000000000000000"), std::nullopt);
    EXPECT_EQ(parse_number("0x10"), 16u);
    EXPECT_EQ(parse_number("10"), 10u);
}

TEST(Text, CursorTakesInOrder) {
    Cursor cursor("[12]  \"a b\"(0x1F) rest of it");

    EXPECT_TRUE(cursor.take('['));
    EXPECT_EQ(cursor.take_decimal(), 12u);
    EXPECT_TRUE(cursor.take(']'));
    EXPECT_EQ(cursor.skip_blanks().take_quoted(), "a b");
    EXPECT_TRUE(cursor.take('('));
    EXPECT_EQ(cursor.take_hex(), 31u);
    EXPECT_EQ(cursor.take_until(" "), ")");
    EXPECT_EQ(cursor.skip_blanks().take_word(), "rest");
    EXPECT_EQ(cursor.rest(), " of it");
}

TEST(Text, CursorStaysWhenThereIsNothing) {
    Cursor cursor("\"open");

    EXPECT_FALSE(cursor.take_quoted());
    EXPECT_FALSE(cursor.take_decimal());
    EXPECT_FALSE(cursor.take('x'));
    EXPECT_FALSE(cursor.take(std::string_view("xy")));
    EXPECT_EQ(cursor.rest(), "\"open");
    EXPECT_EQ(Cursor("").peek(), '\0');
    Cursor no_digits("0xg");
    EXPECT_FALSE(no_digits.take_hex());
    EXPECT_EQ(no_digits.rest(), "0xg");
}

TEST(Text, ExcerptIsShortAndPrintable) {
    EXPECT_EQ(excerpt("a\nb"), "\"a?b\"");
    EXPECT_EQ(excerpt(std::string(50, 'x')), "\"" + std::string(40, 'x') + "...\"");
}

}  // namespace
}  // namespace loom
