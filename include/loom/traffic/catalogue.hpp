// Patterns by name: what --pattern understands.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "loom/traffic/pattern.hpp"

namespace loom::traffic {

struct PatternKind {
    std::string_view name;
    std::string_view argument;  // what may follow a colon, e.g. "[:DISTANCE]"; empty when nothing may
    std::string_view summary;   // one line for --help
};

// Every pattern there is, in the order in which help lists them.
[[nodiscard]] std::span<const PatternKind> pattern_kinds();
// The same as text, a line each, for --help.
[[nodiscard]] std::string pattern_help();

// Makes a pattern over ranks 0..ranks-1 from "NAME" or "NAME:ARGUMENT", for example "shift",
// "shift:5", "neighbor3d:8x8x8", "bisect:1000", "pairs:FILE". No pair sends to itself. `seed` decides
// what random patterns draw: a stage's pairs depend on (seed, stage) only. Throws UsageError for an
// unknown name or a bad argument, ParseError and IoError for a file of pairs.
[[nodiscard]] PatternPtr make_pattern(std::string_view spec, std::size_t ranks, std::uint64_t seed = 1);

// Pairs from text: "FROM TO" on a line (spaces or a comma between), blank lines part stages, '#'
// starts a comment. Throws ParseError with `file` and the line for anything else and for a rank that
// is not below `ranks`.
[[nodiscard]] PatternPtr read_pairs(std::string_view text, const std::string& file, std::size_t ranks);

// The text that read_pairs reads back; a comment numbers each stage.
[[nodiscard]] std::string pairs_text(const Pattern& pattern);

// Factors of `ranks`, largest first, whose product is `ranks` and which are as close to each other as
// can be: near_square(12, 2) is {4, 3}. A prime count gives {prime, 1}.
[[nodiscard]] std::vector<std::size_t> near_square(std::size_t ranks, std::size_t dimensions);

}  // namespace loom::traffic
