// Lists of GUIDs, as OpenSM's root_guid_file and cn_guid_file: one "0x..." a line, anything after it is
// for people, '#' starts a comment.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "loom/base/ids.hpp"

namespace loom::fabric {

// In the file's order, doubles left out. Throws ParseError with the line for anything else, and when
// there is none.
[[nodiscard]] std::vector<Guid> parse_guids(std::string_view text, const std::string& file_name);
[[nodiscard]] std::vector<Guid> read_guids(const std::filesystem::path& path);

}  // namespace loom::fabric
