// What a file is, from its content alone: so that a wrong argument gets a helpful answer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace loom::routing {

enum class ContentKind : std::uint8_t { fabric, tables, host_order, unknown };

struct Content {
    ContentKind kind = ContentKind::unknown;
    std::string_view format;  // as --format spells it; empty when there is only one
};

// Cost: the lines up to the first telling one; a JSON text is searched for its mark.
[[nodiscard]] Content identify(std::string_view text);

// "a fabric (ibnetdiscover)", "forwarding tables (opensm)", "a host order", "in no known form".
[[nodiscard]] std::string describe(const Content& content);

}  // namespace loom::routing
