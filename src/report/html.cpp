#include "report/html.hpp"

#include <fmt/format.h>

namespace loom::report {

std::string escaped(std::string_view text) {
    return Svg::escaped(text);
}

HtmlTable& HtmlTable::column(std::string_view title, Cells cells) {
    kinds_.push_back(cells);
    head_ += fmt::format("<th{}{}>{}</th>", cells == Cells::words ? "" : " class=\"n\"",
                         cells == Cells::words     ? " data-sort=\"text\""
                         : cells == Cells::numbers ? " data-sort=\"number\""
                                                   : "",
                         escaped(title));
    return *this;
}

void HtmlTable::row(const std::vector<std::string>& cells) {
    body_ += "<tr>";
    for (std::size_t i = 0; i < cells.size(); ++i)
        body_ += fmt::format("<td{}>{}</td>", kinds_[i] == Cells::words ? "" : " class=\"n\"", escaped(cells[i]));
    body_ += "</tr>\n";
}

std::string HtmlTable::html() const {
    return fmt::format("<div class=\"scroll\"><table><thead><tr>{}</tr></thead><tbody>\n{}</tbody></table></div>\n",
                       head_, body_);
}

std::string figure(const Svg& picture, std::string_view caption) {
    return fmt::format("<figure>{}{}</figure>\n", picture.fragment(),
                       caption.empty() ? "" : fmt::format("<figcaption>{}</figcaption>", escaped(caption)));
}

std::string bullet_list(const std::vector<std::string>& sentences, std::string_view mood) {
    std::string out = fmt::format("<ul class=\"words{}{}\">\n", mood.empty() ? "" : " ", mood);
    for (const std::string& sentence : sentences) out += fmt::format("<li>{}</li>\n", escaped(sentence));
    return out + "</ul>\n";
}

}  // namespace loom::report
