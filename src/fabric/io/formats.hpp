// What each format's file offers to io.cpp. `remarks` of the Reading are filled, the title is not.
#pragma once

#include <ostream>
#include <string>
#include <string_view>

#include "loom/fabric/io.hpp"

namespace loom::fabric::io {

[[nodiscard]] Reading read_json(std::string_view text, const std::string& file);
void write_json(const Fabric& fabric, std::ostream& out);

// Node records: what ibnetdiscover prints (but for -p) and what ibsim reads.
[[nodiscard]] Reading read_records(std::string_view text, const std::string& file, Format format);
void write_ibsim(const Fabric& fabric, std::ostream& out);

}  // namespace loom::fabric::io
