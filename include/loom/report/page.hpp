// One HTML file that shows a fabric, its tables and their congestion.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "loom/base/svg.hpp"
#include "loom/report/findings.hpp"

namespace loom::report {

// A further section: text as HTML, pictures as they are.
struct Section {
    enum class Place { first, last };  // before the picture of the fabric, or between the findings and the colophon

    std::string heading;
    std::string html;
    Place place = Place::last;
};

struct PageOptions {
    std::string heading = {};  // empty: the fabric's title
    std::string version = {};  // of the program, for the last line
    std::string tables = {};   // the file that the tables came from, if any
    std::vector<Section> sections = {};
};

// Self-contained: style, script and pictures are inside, nothing is fetched; light or dark as the
// reader's system prefers; readable without scripts and on paper. All names from the fabric are escaped.
[[nodiscard]] std::string html_page(const fabric::Fabric& fabric, const Findings& findings,
                                    const PageOptions& options = {});

}  // namespace loom::report
