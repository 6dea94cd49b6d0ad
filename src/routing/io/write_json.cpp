#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "routing/io/base64.hpp"
#include "routing/io/writer.hpp"

namespace loom::routing::io {
namespace {

// A node description is any bytes; what is no UTF-8 becomes U+FFFD. Names only serve people here.
std::string json_string(const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

void write_json(const Tables& tables, const SwitchGraph& graph, std::ostream& out) {
    const fabric::Fabric& fabric = graph.fabric();
    Sink sink(out);
    sink.add(fmt::format("{{\"loom\": \"tables\", \"version\": 1, \"engine\": {},\n\"destinations\": [",
                         json_string(tables.engine)));
    const char* separator = "\n";
    for (const Destination& destination : graph.destinations()) {
        const fabric::Port& port = fabric.port(destination.end);
        const Guid guid = port.guid != no_guid ? port.guid : fabric.node(port.node).guid;
        sink.add(fmt::format("{}[{}, {}, \"{}\"]", separator, destination.lid.value, destination.lid_count(),
                             fabric::to_string(guid)));
        separator = ",\n";
    }
    sink.add("],\n\"switches\": [");
    separator = "\n";
    std::string line;
    for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
        const fabric::Node& node = fabric.node(graph.node(s));
        line = fmt::format("{}{{\"guid\": \"{}\", \"lid\": {}, \"name\": {}, \"ports\": \"", separator,
                           fabric::to_string(node.guid), fabric.port(graph.node(s), PortNum{0}).lid.value,
                           json_string(node.name));
        append_base64(line, tables.row(s));
        if (tables.has_lanes()) {
            line += "\", \"lanes\": \"";
            append_base64(line, tables.lane_row(s));
        }
        line += "\"}";
        sink.add(line);
        separator = ",\n";
    }
    sink.add("]}\n");
    sink.flush();
}

}  // namespace loom::routing::io
