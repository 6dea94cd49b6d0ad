// The mark that some editors put in front of UTF-8.
#pragma once

#include <string_view>

namespace loom {

[[nodiscard]] constexpr std::string_view without_byte_order_mark(std::string_view text) {
    return text.starts_with("\xef\xbb\xbf") ? text.substr(3) : text;
}

}  // namespace loom
