// Measured parameters of this machine, kept for the next job.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "loom/coll/parameters.hpp"

namespace loom::coll {

// What they hold for: host, processor, transport, and how many ranks share a core.
[[nodiscard]] std::string parameter_key(const transport::Transport& transport);

// Nothing when there shall be none, or no place for it.
[[nodiscard]] std::optional<std::filesystem::path> parameter_file(const std::string& key);

// How the origin of parameters ends that were measured while others were running: they are kept for ten minutes only.
inline constexpr std::string_view busy_words = ", while others were running";

// Nothing when there is no such file, or it is not what was written for this key, or no longer good; a word about these
// on standard error with LOOM_VERBOSE.
[[nodiscard]] std::optional<Parameters> load_parameters(const std::filesystem::path& file, const std::string& key);

// Of any machine, transport and age; nothing when the file is no such file. Throws ParseError for a damaged one.
[[nodiscard]] std::optional<Parameters> read_kept_parameters(const std::filesystem::path& file);

// Whole or not at all. A folder that cannot be written to is no error.
void keep_parameters(const std::filesystem::path& file, const std::string& key, const Parameters& parameters);

// FNV-1a: of what a file is for, and its check sum.
[[nodiscard]] std::uint64_t digest(std::string_view text);

// "2026-11-15 13:50 UTC".
[[nodiscard]] std::string time_of_day();

}  // namespace loom::coll
