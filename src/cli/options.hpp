// What options may be, and the one plain line that says so when they are something else.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/command.hpp"

namespace loom::cli {

// Digits only; the library would take -1 for the largest number there is.
[[nodiscard]] CLI::Validator whole_number(std::uint64_t least = 0,
                                          std::uint64_t most = std::numeric_limits<std::uint32_t>::max());
// As many as 64 bits hold.
[[nodiscard]] CLI::Validator any_seed();
[[nodiscard]] CLI::Validator thread_count();
// A finite number.
[[nodiscard]] CLI::Validator real_number(double least, double most = std::numeric_limits<double>::infinity());
[[nodiscard]] CLI::Validator one_of(std::vector<std::string> words);
[[nodiscard]] CLI::Validator not_empty(std::string what);

// An option or argument and the file it names; empty when it was not given.
using NamedFile = std::pair<std::string_view, std::string_view>;

// Throws UsageError when two of them are standard input.
void check_inputs(std::initializer_list<NamedFile> files);

// Throws UsageError when two of them are standard output, or one is and --json needs it.
void check_outputs(std::initializer_list<NamedFile> files, const Common& common);

// Throws UsageError when the ending of a name is known to belong to another kind of file. `what` is "a fabric",
// `own` the endings that suit it: {".html"}. Endings that nobody knows are anybody's.
void check_ending(NamedFile file, std::string_view what, std::initializer_list<std::string_view> own);

}  // namespace loom::cli
