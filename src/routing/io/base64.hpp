// Base64 (RFC 4648, with padding), a row of bytes at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace loom::routing::io {

void append_base64(std::string& out, std::span<const std::uint8_t> bytes);
// Nothing when the text is not what append_base64 writes.
[[nodiscard]] std::optional<std::vector<std::uint8_t>> decode_base64(std::string_view text);

}  // namespace loom::routing::io
