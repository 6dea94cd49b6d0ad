#include "loom/routing/content.hpp"

#include "loom/fabric/host_order_io.hpp"
#include "loom/fabric/io.hpp"
#include "loom/routing/table_io.hpp"

namespace loom::routing {

Content identify(std::string_view text) {
    if (const auto tables = detect_tables(text)) return {ContentKind::tables, name(*tables)};
    if (const auto found = fabric::format_from_content(text)) return {ContentKind::fabric, fabric::name(*found)};
    if (fabric::is_host_order(text)) return {ContentKind::host_order, {}};
    return {};
}

std::string describe(const Content& content) {
    const std::string format = content.format.empty() ? "" : " (" + std::string(content.format) + ")";
    switch (content.kind) {
        case ContentKind::fabric:
            return "a fabric" + format;
        case ContentKind::tables:
            return "forwarding tables" + format;
        case ContentKind::host_order:
            return "a host order";
        case ContentKind::unknown:
            break;
    }
    return "in no known form";
}

}  // namespace loom::routing
