#include "loom/base/plot.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <regex>
#include <set>

#include <regex>
#include <set>

namespace {

using namespace loom;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::size_t count(const std::string& text, const std::string& what) {
    const std::regex pattern(what);
    return static_cast<std::size_t>(std::distance(std::sregex_iterator(text.begin(), text.end(), pattern), {}));
}

TEST(Svg, EscapesWhatComesFromOutside) {
    EXPECT_EQ(Svg::escaped("a<b> & \"c\" 'd'"), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
    EXPECT_EQ(Svg::escaped(std::string("a\x01\x7f\tb", 5)), "a\tb");
    EXPECT_EQ(Svg::escaped("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
    EXPECT_EQ(Svg::escaped("\xff|\xc0\xaf|\xed\xa0\x80|\xe2\x82").find('\xff'), std::string::npos);
    EXPECT_EQ(Svg::escaped("\xff"), "\xef\xbf\xbd");
}

TEST(Svg, ReplacesEveryByteOfWhatIsNoUnicode) {
    const std::string gap = "\xef\xbf\xbd";

    EXPECT_EQ(Svg::escaped("\xed\xa0\x80"), gap + gap + gap);  // the first surrogate
    EXPECT_EQ(Svg::escaped("\xed\xbf\xbf"), gap + gap + gap);  // the last
    EXPECT_EQ(Svg::escaped("\xc1\xbf"), gap + gap);            // too long a form
    EXPECT_EQ(Svg::escaped("\xe0\x9f\xbf"), gap + gap + gap);  // the same
    EXPECT_EQ(Svg::escaped("\xf0\x8f\xbf\xbf"), gap + gap + gap + gap);
    EXPECT_EQ(Svg::escaped("\xf4\x90\x80\x80"), gap + gap + gap + gap);  // beyond Unicode
    for (const char* good : {"\xed\x9f\xbf", "\xee\x80\x80", "\xe0\xa0\x80", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
        EXPECT_EQ(Svg::escaped(good), good);
}

TEST(Svg, KeepsNumbersShort) {
    EXPECT_EQ(Svg::number(1.0), "1");
    EXPECT_EQ(Svg::number(1.26), "1.3");
    EXPECT_EQ(Svg::number(-0.01), "0");
    EXPECT_EQ(Svg::number(1.0 / 0.0), "0");
}

TEST(Svg, GivesADocumentAndAFragment) {
    Svg svg(100, 50, "a < b");

    svg.open("class=\"g\"").line({0, 0}, {10, 10}, "stroke=\"red\"", "host <1>").close();

    EXPECT_THAT(svg.document(), HasSubstr("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100\" height=\"50\""));
    EXPECT_THAT(svg.document(), HasSubstr("<title>a &lt; b</title>"));
    EXPECT_THAT(
        svg.fragment(),
        HasSubstr("<line x1=\"0\" y1=\"0\" x2=\"10\" y2=\"10\" stroke=\"red\"><title>host &lt;1&gt;</title></line>"));
    EXPECT_THAT(svg.fragment(), Not(HasSubstr("xmlns")));
}

TEST(HeatColour, GoesFromGreenToRed) {
    EXPECT_EQ(heat_colour(0), "#2a9d8f");
    EXPECT_EQ(heat_colour(1), "#d62839");
    EXPECT_EQ(heat_colour(-1), heat_colour(0));
    EXPECT_EQ(heat_colour(0.0 / 0.0), heat_colour(1));
}

TEST(AxisTicks, AreRoundAndCoverTheRange) {
    EXPECT_THAT(axis_ticks(0, 12, 5), ElementsAre(0, 5, 10, 15));
    EXPECT_THAT(axis_ticks(0, 1, 5), ElementsAre(0, testing::DoubleNear(0.2, 1e-12), testing::DoubleNear(0.4, 1e-12),
                                                 testing::DoubleNear(0.6, 1e-12), testing::DoubleNear(0.8, 1e-12), 1));
    EXPECT_THAT(axis_ticks(0, 0, 5), Not(testing::SizeIs(testing::Lt(2u))));
    EXPECT_THAT(axis_ticks(-3, 4, 4), ElementsAre(-4, -2, 0, 2, 4));
}

TEST(AxisNumber, IsForPeople) {
    EXPECT_EQ(axis_number(0), "0");
    EXPECT_EQ(axis_number(1500), "1,500");
    EXPECT_EQ(axis_number(-2), "-2");
    EXPECT_EQ(axis_number(0.25), "0.25");
    EXPECT_EQ(axis_number(2.5e9), "2.5e+09");
}

TEST(Histogram, HasOneBarForEachWholeNumber) {
    const std::string picture = histogram({"load", "flows", "links"}, {1, 1, 2, 4}).document();

    EXPECT_EQ(count(picture, "<rect "), 4u);
    EXPECT_THAT(picture, HasSubstr("<title>1: 2</title>"));
    EXPECT_THAT(picture, HasSubstr("<title>3: 0</title>"));
}

TEST(Histogram, NeverHasMoreBarsThanAskedFor) {
    EXPECT_EQ(count(histogram({}, {0, 4}, 5).document(), "<rect "), 5u);
    EXPECT_EQ(count(histogram({}, {0, 5}, 5).document(), "<rect "), 5u);
}

TEST(Histogram, UsesIntervalsForOtherSamples) {
    std::vector<double> samples;
    for (int i = 0; i < 1000; ++i) samples.push_back(i / 7.0);

    const std::string picture = histogram({}, samples, 10).document();

    EXPECT_EQ(count(picture, "<rect "), 10u);
    EXPECT_THAT(picture, HasSubstr(": 100</title>"));
}

TEST(Histogram, SurvivesNoSamplesAndEqualSamples) {
    EXPECT_EQ(count(histogram({}, {}).document(), "<rect "), 0u);
    EXPECT_EQ(count(histogram({}, {7, 7}).document(), "<rect "), 1u);
    EXPECT_EQ(count(histogram({}, {0.5, 0.5}, 3).document(), "<rect "), 3u);
}

TEST(LinePlot, ThinsManyPointsToTheExtremes) {
    Series wave{"wave", {}};
    for (int i = 0; i < 100000; ++i) wave.points.emplace_back(i, i == 77777 ? 50 : i % 3);

    const std::string picture = line_plot({"many", "x", "y"}, {wave}).document();

    EXPECT_LT(picture.size(), 40000u);
    EXPECT_THAT(picture, HasSubstr("50</text>"));
}

TEST(LinePlot, GoesFromLeftToRightHoweverManyPointsThereAre) {
    Series saw{"saw", {}};
    for (int i = 0; i < 100000; ++i) saw.points.emplace_back(i, i % 300 < 150 ? 300 - i % 300 : i % 300);

    const std::string picture = line_plot({"many", "x", "y"}, {saw}).document();

    const std::regex place("[ML]([0-9.]+) ");
    const std::string line = picture.substr(picture.find("<path d="));
    double last = 0;
    for (std::sregex_iterator at(line.begin(), line.end(), place), end; at != end; ++at) {
        EXPECT_GE(std::stod((*at)[1]), last);
        last = std::stod((*at)[1]);
    }
    EXPECT_GT(last, 600);
}

// Where the texts of the legend begin.
std::vector<std::pair<double, double>> places(const std::string& picture, const std::string& name) {
    std::vector<std::pair<double, double>> found;
    const std::regex text("<text x=\"([0-9.-]+)\" y=\"([0-9.-]+)\"[^>]*>" + name + "[0-9]</text>");
    for (std::sregex_iterator at(picture.begin(), picture.end(), text), end; at != end; ++at)
        found.emplace_back(std::stod((*at)[1]), std::stod((*at)[2]));
    return found;
}

TEST(LinePlot, FindsRoomAndColoursForManyNames) {
    std::vector<Series> series;
    for (int i = 0; i < 8; ++i) series.push_back({"a rather long name " + std::to_string(i), {{0, 1}, {1, 2}}});

    const std::string picture = line_plot({"many", "x", "y"}, series).document();

    const auto at = places(picture, "a rather long name ");
    ASSERT_EQ(at.size(), 8u);
    std::set<std::string> colours;
    const std::regex stroke("<path[^>]*stroke=\"(#[0-9a-f]+)\"");
    for (std::sregex_iterator path(picture.begin(), picture.end(), stroke), end; path != end; ++path)
        colours.insert((*path)[1]);
    EXPECT_EQ(colours.size(), 8u);
    for (std::size_t i = 0; i < at.size(); ++i) {
        EXPECT_GE(at[i].first, 0);
        EXPECT_LT(at[i].first + 20 * 6, 640);
        for (std::size_t j = 0; j < i; ++j)
            EXPECT_TRUE(at[i].second != at[j].second || std::abs(at[i].first - at[j].first) > 20 * 6) << i << j;
    }
}

TEST(LinePlot, NamesItsSeriesWhenThereAreSeveral) {
    const std::string picture = line_plot({}, {{"minhop", {{0, 1}, {1, 2}}}, {"ftree", {{0, 1}, {1, 1}}}}).document();

    EXPECT_THAT(picture, HasSubstr(">minhop</text>"));
    EXPECT_THAT(picture, HasSubstr(">ftree</text>"));
    EXPECT_EQ(count(line_plot({}, {}).document(), "<path"), 0u);
}

}  // namespace
