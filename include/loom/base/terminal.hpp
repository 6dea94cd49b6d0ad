// What the standard streams are connected to, and what may be written there.
#pragma once

#include <string>
#include <string_view>

namespace loom {

enum class Stream { out, err };

// True when a person is looking. Colour and progress are for terminals only.
[[nodiscard]] bool is_terminal(Stream stream);

// Terminal, TERM is not "dumb", and NO_COLOR is not set (no-color.org).
[[nodiscard]] bool wants_colour(Stream stream);

// Columns of the terminal; 80 when that is not known.
[[nodiscard]] unsigned terminal_width(Stream stream);

// Code points of a UTF-8 text, which is its width for all that Loomband prints.
[[nodiscard]] std::size_t display_width(std::string_view text);

enum class Colour { none, bold, dim, red, green, yellow, cyan };

// The text between the escape codes of a colour; the text itself when `enabled` is false or the
// colour is none.
[[nodiscard]] std::string paint(std::string_view text, Colour colour, bool enabled);

}  // namespace loom
