// Pieces of HTML that the page's sections are made of. All text is escaped here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "loom/base/svg.hpp"

namespace loom::report {

[[nodiscard]] std::string escaped(std::string_view text);

enum class Cells {
    words,    // sort as text
    numbers,  // align right, sort as numbers
    right,    // align right and do not sort: times and sizes with their units
};

class HtmlTable {
public:
    HtmlTable& column(std::string_view title, Cells cells = Cells::words);
    // As many cells as there are columns.
    void row(const std::vector<std::string>& cells);
    [[nodiscard]] std::string html() const;

private:
    std::vector<Cells> kinds_;
    std::string head_;
    std::string body_;
};

[[nodiscard]] std::string figure(const Svg& picture, std::string_view caption = {});
// `mood`: "", "good", "note" or "bad".
[[nodiscard]] std::string bullet_list(const std::vector<std::string>& sentences, std::string_view mood = {});

}  // namespace loom::report
