// Pictures as SVG text.
#pragma once

#include <string>
#include <string_view>

namespace loom {

struct Point {
    double x = 0;
    double y = 0;
};

// A picture that grows shape by shape; later shapes lie on top. Attributes are SVG as written, e.g.
// `stroke="#c33" class="wire"`; `hover` is shown when the pointer rests on the shape. Text and hover
// are escaped here, attributes are not: pass what comes from a file through escaped().
//
// Text and axes use `currentColor`, dark on light or light on dark as the reader's system prefers, and
// the ground is left open, so that the picture suits any page. Coordinates are kept to a tenth.
class Svg {
public:
    Svg(double width, double height, std::string_view title);

    Svg& style(std::string_view css);  // added to the picture's own rules
    Svg& open(std::string_view attributes = {}, std::string_view hover = {});
    Svg& close();
    Svg& line(Point from, Point to, std::string_view attributes = {}, std::string_view hover = {});
    Svg& rect(Point corner, double width, double height, std::string_view attributes = {}, std::string_view hover = {});
    Svg& circle(Point centre, double radius, std::string_view attributes = {}, std::string_view hover = {});
    Svg& path(std::string_view d, std::string_view attributes = {}, std::string_view hover = {});
    Svg& text(Point at, std::string_view text, std::string_view attributes = {});

    [[nodiscard]] double width() const { return width_; }
    [[nodiscard]] double height() const { return height_; }

    // A file of its own.
    [[nodiscard]] std::string document() const;
    // For the inside of an HTML page, where it takes the page's colour and shrinks to its width.
    [[nodiscard]] std::string fragment() const;

    // With & < > " ' replaced and control characters dropped; valid UTF-8 out for any bytes in.
    [[nodiscard]] static std::string escaped(std::string_view text);
    // "12.3", "7", never "-0".
    [[nodiscard]] static std::string number(double value);

private:
    void shape(std::string_view begin, std::string_view attributes, std::string_view hover);

    double width_;
    double height_;
    std::string title_;
    std::string css_;
    std::string body_;
};

// Calm green at 0 over amber to red at 1, as "#rrggbb"; readable on light and dark ground.
[[nodiscard]] std::string heat_colour(double share);

}  // namespace loom
