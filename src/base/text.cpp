#include "loom/base/text.hpp"

namespace loom {

std::string excerpt(std::string_view text) {
    constexpr std::size_t longest = 40;
    std::string result = "\"";
    for (const char c : text.substr(0, longest)) result += c >= ' ' && c <= '~' ? c : '?';
    result += text.size() > longest ? "...\"" : "\"";
    return result;
}

}  // namespace loom
