// Tables for other programs: fields with commas between them (RFC 4180).
#pragma once

#include <string>
#include <string_view>

namespace loom {

// With quotes where commas, quotes or line ends demand them.
[[nodiscard]] std::string csv_field(std::string_view text);

}  // namespace loom
