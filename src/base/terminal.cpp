#include "loom/base/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <string>

#include "loom/base/settings.hpp"

namespace loom {

namespace {

int descriptor(Stream stream) {
    return stream == Stream::out ? STDOUT_FILENO : STDERR_FILENO;
}

const char* code(Colour colour) {
    switch (colour) {
        case Colour::bold:
            return "1";
        case Colour::dim:
            return "2";
        case Colour::red:
            return "31";
        case Colour::green:
            return "32";
        case Colour::yellow:
            return "33";
        case Colour::cyan:
            return "36";
        case Colour::none:
            break;
    }
    return "0";
}

}  // namespace

bool is_terminal(Stream stream) {
    return isatty(descriptor(stream)) == 1;
}

bool wants_colour(Stream stream) {
    return settings::variable("NO_COLOR").value_or("").empty() &&
           settings::variable("TERM").value_or("dumb") != "dumb" && is_terminal(stream);
}

unsigned terminal_width(Stream stream) {
    winsize size{};
    if (ioctl(descriptor(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    return 80;
}

std::size_t display_width(std::string_view text) {
    std::size_t width = 0;
    for (const char c : text) width += (static_cast<unsigned char>(c) & 0xc0u) != 0x80u;
    return width;
}

std::string paint(std::string_view text, Colour colour, bool enabled) {
    if (!enabled || colour == Colour::none) return std::string(text);
    return std::string("\033[") + code(colour) + 'm' + std::string(text) + "\033[0m";
}

}  // namespace loom
