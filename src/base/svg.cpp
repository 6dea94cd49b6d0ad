#include "loom/base/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace loom {

namespace {

constexpr std::string_view base_css =
    "text{font:12px system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;fill:currentColor}"
    ".faint{opacity:.6}.axis{stroke:currentColor;stroke-opacity:.55}.grid{stroke:currentColor;stroke-opacity:.12}"
    ".head{font-weight:600;font-size:14px}";

// Length of the valid UTF-8 sequence at the front, 0 when there is none.
std::size_t sequence_length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = byte(0);
    const std::size_t length = lead < 0x80                   ? 1
                               : lead >= 0xc2 && lead < 0xe0 ? 2
                               : lead >= 0xe0 && lead < 0xf0 ? 3
                               : lead >= 0xf0 && lead < 0xf5 ? 4
                                                             : 0;
    if (length == 0 || length > text.size()) return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((byte(i) & 0xc0u) != 0x80u) return 0;
    if ((lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xed && byte(1) > 0x9f) || (lead == 0xf0 && byte(1) < 0x90) ||
        (lead == 0xf4 && byte(1) > 0x8f))
        return 0;  // too long a form, a surrogate, or beyond Unicode
    return length;
}

}  // namespace

Svg::Svg(double width, double height, std::string_view title) : width_(width), height_(height), title_(title) {}

Svg& Svg::style(std::string_view css) {
    css_ += css;
    return *this;
}

Svg& Svg::open(std::string_view attributes, std::string_view hover) {
    body_ += attributes.empty() ? "<g>" : fmt::format("<g {}>", attributes);
    if (!hover.empty()) body_ += fmt::format("<title>{}</title>", escaped(hover));
    return *this;
}

Svg& Svg::close() {
    body_ += "</g>\n";
    return *this;
}

void Svg::shape(std::string_view begin, std::string_view attributes, std::string_view hover) {
    body_ += begin;
    if (!attributes.empty()) body_ += fmt::format(" {}", attributes);
    const std::string_view name = begin.substr(1, begin.find(' ') - 1);
    body_ += hover.empty() ? "/>\n" : fmt::format("><title>{}</title></{}>\n", escaped(hover), name);
}

Svg& Svg::line(Point from, Point to, std::string_view attributes, std::string_view hover) {
    shape(fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"", number(from.x), number(from.y), number(to.x),
                      number(to.y)),
          attributes, hover);
    return *this;
}

Svg& Svg::rect(Point corner, double width, double height, std::string_view attributes, std::string_view hover) {
    shape(fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", number(corner.x), number(corner.y),
                      number(width), number(height)),
          attributes, hover);
    return *this;
}

Svg& Svg::circle(Point centre, double radius, std::string_view attributes, std::string_view hover) {
    shape(fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\"", number(centre.x), number(centre.y), number(radius)),
          attributes, hover);
    return *this;
}

Svg& Svg::path(std::string_view d, std::string_view attributes, std::string_view hover) {
    shape(fmt::format("<path d=\"{}\"", d), attributes, hover);
    return *this;
}

Svg& Svg::text(Point at, std::string_view text, std::string_view attributes) {
    body_ += fmt::format("<text x=\"{}\" y=\"{}\"{}{}>{}</text>\n", number(at.x), number(at.y),
                         attributes.empty() ? "" : " ", attributes, escaped(text));
    return *this;
}

std::string Svg::document() const {
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n"
        "<title>{2}</title>\n<style>svg{{color:#222}}@media(prefers-color-scheme:dark){{svg{{color:#ddd}}}}{3}{4}</"
        "style>\n{5}</svg>\n",
        number(width_), number(height_), escaped(title_), base_css, css_, body_);
}

std::string Svg::fragment() const {
    return fmt::format(
        "<svg viewBox=\"0 0 {0} {1}\" style=\"max-width:{0}px;width:100%\" role=\"img\" aria-label=\"{2}\">\n"
        "<style>{3}{4}</style>\n{5}</svg>\n",
        number(width_), number(height_), escaped(title_), base_css, css_, body_);
}

std::string Svg::escaped(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const std::size_t length = sequence_length(text);
        if (length == 0) {
            out += "\xef\xbf\xbd";  // the replacement character
            text.remove_prefix(1);
            continue;
        }
        const char c = text.front();
        if (length > 1)
            out += text.substr(0, length);
        else if (c == '&')
            out += "&amp;";
        else if (c == '<')
            out += "&lt;";
        else if (c == '>')
            out += "&gt;";
        else if (c == '"')
            out += "&quot;";
        else if (c == '\'')
            out += "&#39;";
        else if (c == '\n' || c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f))
            out += c;
        text.remove_prefix(length);
    }
    return out;
}

std::string Svg::number(double value) {
    const double tenth = std::round(value * 10) / 10;
    if (!std::isfinite(tenth)) return "0";
    return fmt::format("{}", tenth == 0 ? 0.0 : tenth);
}

std::string heat_colour(double share) {
    struct Rgb {
        double r, g, b;
    };
    static constexpr std::array<Rgb, 4> stops{{{42, 157, 143}, {120, 190, 90}, {240, 165, 50}, {214, 40, 57}}};
    const double at = (std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 1.0) * (stops.size() - 1);
    const auto index = std::min(static_cast<std::size_t>(at), stops.size() - 2);
    const double t = at - static_cast<double>(index);
    const auto mix = [t](double a, double b) { return static_cast<int>(std::lround(a + (b - a) * t)); };
    const Rgb &a = stops[index], &b = stops[index + 1];
    return fmt::format("#{:02x}{:02x}{:02x}", mix(a.r, b.r), mix(a.g, b.g), mix(a.b, b.b));
}

}  // namespace loom
