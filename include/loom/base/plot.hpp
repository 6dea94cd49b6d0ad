// Histograms, bars and lines with axes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "loom/base/svg.hpp"

namespace loom {

struct PlotFrame {
    std::string title;
    std::string x_label;
    std::string y_label;
    double width = 640;
    double height = 320;
};

struct Bar {
    std::string label;
    double value = 0;    // not negative
    std::string colour;  // "#rrggbb", or empty for the plot's own
};

struct Series {
    std::string name;
    std::vector<std::pair<double, double>> points;  // x ascending
};

// Round numbers (1, 2 or 5 times a power of ten) from at or below `low` to at or above `high`, about
// `wanted` of them, at least two.
[[nodiscard]] std::vector<double> axis_ticks(double low, double high, unsigned wanted);

// "1,500", "0.25", "2.5e+09".
[[nodiscard]] std::string axis_number(double value);

// Bars side by side from zero, one for each value in order; values are written above the bars while there
// is room, labels are thinned out where there is none.
[[nodiscard]] Svg bar_plot(const PlotFrame& frame, const std::vector<Bar>& bars);

// Counts of samples in equal intervals, `bins` of them, or one for each whole number where all samples
// are whole and span no more than that. An empty histogram when there are no samples.
[[nodiscard]] Svg histogram(const PlotFrame& frame, const std::vector<double>& samples, unsigned bins = 24);

// One line for each series, with a legend when there are several. The y axis begins at zero unless a
// value is below. Thousands of points are thinned to the extremes of each pixel column.
[[nodiscard]] Svg line_plot(const PlotFrame& frame, const std::vector<Series>& series);

}  // namespace loom
