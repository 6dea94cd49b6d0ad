#include "loom/base/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "loom/base/table.hpp"

namespace loom {

namespace {

constexpr std::array<const char*, 8> palette{"#4c8ed9", "#e8853b", "#3fa66b", "#c65bb0",
                                             "#8f7be0", "#b59a3a", "#d9534f", "#3aa9b5"};

// The drawing area and how values map into it.
struct Area {
    double left = 62, right, top, bottom;
    double x_low = 0, x_high = 1, y_low = 0, y_high = 1;

    [[nodiscard]] double x(double value) const { return left + (value - x_low) / (x_high - x_low) * (right - left); }
    [[nodiscard]] double y(double value) const { return bottom - (value - y_low) / (y_high - y_low) * (bottom - top); }
};

Area area_of(const PlotFrame& frame) {
    Area area;
    area.right = frame.width - 16;
    area.top = frame.title.empty() ? 22 : 42;
    area.bottom = frame.height - (frame.x_label.empty() ? 28 : 46);
    return area;
}

void draw_frame(Svg& svg, const PlotFrame& frame, const Area& area, const std::vector<double>& y_ticks) {
    if (!frame.title.empty()) svg.text({area.left, 18}, frame.title, "class=\"head\"");
    for (const double tick : y_ticks) {
        svg.line({area.left, area.y(tick)}, {area.right, area.y(tick)}, "class=\"grid\"");
        svg.text({area.left - 6, area.y(tick) + 4}, axis_number(tick), "text-anchor=\"end\"");
    }
    svg.line({area.left, area.bottom}, {area.right, area.bottom}, "class=\"axis\"");
    if (!frame.x_label.empty())
        svg.text({(area.left + area.right) / 2, frame.height - 10}, frame.x_label,
                 "text-anchor=\"middle\" class=\"faint\"");
    if (!frame.y_label.empty()) {
        const double middle = (area.top + area.bottom) / 2;
        svg.text(
            {14, middle}, frame.y_label,
            fmt::format("text-anchor=\"middle\" class=\"faint\" transform=\"rotate(-90 14 {})\"", Svg::number(middle)));
    }
}

// The extremes of each pixel column stand for all of its points.
std::vector<std::pair<double, double>> thinned(const std::vector<std::pair<double, double>>& points, const Area& area) {
    const auto columns = static_cast<std::size_t>(area.right - area.left);
    if (points.size() <= 2 * columns) return points;
    std::vector<std::pair<double, double>> out;
    for (std::size_t begin = 0; begin < points.size();) {
        const double column = std::floor(area.x(points[begin].first));
        std::size_t end = begin;
        while (end < points.size() && std::floor(area.x(points[end].first)) == column) ++end;
        const auto [low, high] = std::minmax_element(points.begin() + static_cast<std::ptrdiff_t>(begin),
                                                     points.begin() + static_cast<std::ptrdiff_t>(end),
                                                     [](const auto& a, const auto& b) { return a.second < b.second; });
        out.push_back(low < high ? *low : *high);
        if (low != high) out.push_back(low < high ? *high : *low);
        begin = end;
    }
    return out;
}

}  // namespace

std::vector<double> axis_ticks(double low, double high, unsigned wanted) {
    if (!std::isfinite(low) || !std::isfinite(high)) return {0, 1};
    if (high < low) std::swap(low, high);
    if (high == low) high = low + (low == 0 ? 1 : std::abs(low));
    const double raw = (high - low) / std::max(1u, wanted);
    const double power = std::pow(10, std::floor(std::log10(raw)));
    const double factor = raw / power;
    const double step = power * (factor <= 1 ? 1 : factor <= 2 ? 2 : factor <= 5 ? 5 : 10);
    std::vector<double> ticks;
    const double first = std::floor(low / step + 1e-9), last = std::ceil(high / step - 1e-9);
    for (double i = first; i <= last; ++i) ticks.push_back(i * step);
    return ticks;
}

std::string axis_number(double value) {
    const double size = std::abs(value);
    if (size != 0 && (size >= 1e7 || size < 1e-4)) return fmt::format("{:.3g}", value);
    if (size == std::floor(size))
        return fmt::format("{}{}", value < 0 ? "-" : "", grouped(static_cast<std::size_t>(size)));
    return fmt::format("{:.4g}", value);
}

Svg bar_plot(const PlotFrame& frame, const std::vector<Bar>& bars) {
    Svg svg(frame.width, frame.height, frame.title);
    Area area = area_of(frame);
    double highest = 0;
    for (const Bar& bar : bars) highest = std::max(highest, bar.value);
    const std::vector<double> ticks = axis_ticks(0, highest, 5);
    area.y_high = ticks.back();
    draw_frame(svg, frame, area, ticks);
    if (bars.empty()) return svg;

    const double pitch = (area.right - area.left) / static_cast<double>(bars.size());
    const double gap = pitch > 6 ? pitch * 0.18 : 0;
    std::size_t longest = 1;
    for (const Bar& bar : bars) longest = std::max(longest, display_width(bar.label));
    const double label_width = 7.0 * static_cast<double>(longest) + 6;
    const auto every = static_cast<std::size_t>(std::ceil(label_width / pitch));
    for (std::size_t i = 0; i < bars.size(); ++i) {
        const Bar& bar = bars[i];
        const double left = area.left + pitch * static_cast<double>(i);
        const double top = area.y(bar.value);
        svg.rect({left + gap / 2, top}, pitch - gap, area.bottom - top,
                 fmt::format("fill=\"{}\"", bar.colour.empty() ? palette[0] : bar.colour.c_str()),
                 fmt::format("{}: {}", bar.label, axis_number(bar.value)));
        if (pitch >= 40 && bar.value > 0)
            svg.text({left + pitch / 2, top - 5}, axis_number(bar.value), "text-anchor=\"middle\"");
        if (i % every == 0) svg.text({left + pitch / 2, area.bottom + 16}, bar.label, "text-anchor=\"middle\"");
    }
    return svg;
}

Svg histogram(const PlotFrame& frame, const std::vector<double>& samples, unsigned bins) {
    if (samples.empty()) return bar_plot(frame, {});
    const auto [low_at, high_at] = std::minmax_element(samples.begin(), samples.end());
    const double low = *low_at, high = *high_at;
    bins = std::max(1u, bins);
    const bool whole = std::all_of(samples.begin(), samples.end(), [](double v) { return v == std::floor(v); });
    std::vector<Bar> bars;
    if (whole && high - low < bins) {
        bars.resize(static_cast<std::size_t>(high - low) + 1);
        for (std::size_t i = 0; i < bars.size(); ++i) bars[i].label = axis_number(low + static_cast<double>(i));
        for (const double sample : samples) ++bars[static_cast<std::size_t>(sample - low)].value;
    } else {
        const double width = high > low ? (high - low) / bins : 1;
        bars.resize(bins);
        for (std::size_t i = 0; i < bars.size(); ++i) {
            const double begin = low + static_cast<double>(i) * width;
            bars[i].label = fmt::format("{:.3g}", begin + width / 2);
        }
        for (const double sample : samples)
            ++bars[std::min<std::size_t>(static_cast<std::size_t>((sample - low) / width), bins - 1)].value;
    }
    return bar_plot(frame, bars);
}

namespace {

// Names of series under the title, in as many rows as they need; the first row has its place in every frame.
class Legend {
public:
    Legend(const std::vector<Series>& series, double left, double right) {
        double x = left;
        for (const Series& one : series) {
            const double width = 24 + 6.8 * static_cast<double>(display_width(one.name)) + 16;
            if (x > left && x + width > right) {
                x = left;
                ++rows_;
            }
            places_.push_back({x, row_height * static_cast<double>(rows_)});
            x += width;
        }
    }
    [[nodiscard]] double extra_height() const { return row_height * static_cast<double>(rows_); }
    void draw(Svg& svg, std::size_t index, double top, const char* colour, const std::string& name) const {
        const Point at{places_[index].x, top + places_[index].y};
        svg.line(at, {at.x + 18, at.y}, fmt::format("stroke=\"{}\" stroke-width=\"3\"", colour));
        svg.text({at.x + 24, at.y + 4}, name);
    }

private:
    static constexpr double row_height = 16;
    std::vector<Point> places_;
    std::size_t rows_ = 0;  // beyond the first
};

}  // namespace

Svg line_plot(const PlotFrame& frame, const std::vector<Series>& series) {
    Svg svg(frame.width, frame.height, frame.title);
    Area area = area_of(frame);
    const Legend legend(series, area.left, area.right);
    const double legend_top = area.top - 14;
    if (series.size() > 1) area.top += legend.extra_height();
    double x_low = std::numeric_limits<double>::infinity(), x_high = -x_low, y_low = 0, y_high = 0;
    for (const Series& one : series)
        for (const auto& [x, y] : one.points) {
            x_low = std::min(x_low, x);
            x_high = std::max(x_high, x);
            y_low = std::min(y_low, y);
            y_high = std::max(y_high, y);
        }
    const std::vector<double> y_ticks = axis_ticks(y_low, y_high, 5);
    area.y_low = y_ticks.front();
    area.y_high = y_ticks.back();
    if (x_low > x_high) {
        draw_frame(svg, frame, area, y_ticks);
        return svg;
    }
    if (x_low == x_high) x_high = x_low + 1;
    area.x_low = x_low;
    area.x_high = x_high;
    draw_frame(svg, frame, area, y_ticks);
    for (const double tick : axis_ticks(x_low, x_high, 8))
        if (tick >= x_low && tick <= x_high)
            svg.text({area.x(tick), area.bottom + 16}, axis_number(tick), "text-anchor=\"middle\"");
    for (std::size_t i = 0; i < series.size(); ++i) {
        const char* colour = palette[i % palette.size()];
        std::string d;
        for (const auto& [x, y] : thinned(series[i].points, area))
            d += fmt::format("{}{} {}", d.empty() ? "M" : "L", Svg::number(area.x(x)), Svg::number(area.y(y)));
        svg.path(d, fmt::format("fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\" stroke-linejoin=\"round\"", colour),
                 series[i].name);
        if (series.size() > 1) legend.draw(svg, i, legend_top, colour, series[i].name);
    }
    return svg;
}

}  // namespace loom
