#include <fmt/format.h>

#include <vector>

#include "routing/io/writer.hpp"

namespace loom::routing::io {
namespace {

// The line of a LID is the same on every switch but for the port, so each is made once and its three
// digits are filled in.
class LinePatterns {
public:
    LinePatterns(const SwitchGraph& graph, Lid top, TableFormat format) : start_(std::size_t{top.value} + 2, 0) {
        std::vector<const Destination*> owner(std::size_t{top.value} + 1, nullptr);
        for (const Destination& destination : graph.destinations())
            for (std::size_t lid = destination.lid.value; lid < destination.lid.value + destination.lid_count(); ++lid)
                if (lid < owner.size()) owner[lid] = &destination;
        for (std::size_t lid = 0; lid < owner.size(); ++lid) {
            start_[lid] = text_.size();
            fmt::format_to(std::back_inserter(text_), "{:#06x} 000 ", lid);
            if (format == TableFormat::opensm_lfts)
                opensm_comment(graph.fabric(), owner[lid]);
            else
                ibroute_comment(graph.fabric(), owner[lid], lid);
            text_ += '\n';
        }
        start_[owner.size()] = text_.size();
    }

    [[nodiscard]] std::string_view line(std::size_t lid) const {
        return std::string_view(text_).substr(start_[lid], start_[lid + 1] - start_[lid]);
    }
    static constexpr std::size_t port_offset = 7;

private:
    void opensm_comment(const fabric::Fabric& fabric, const Destination* owner) {
        text_ += "# ";
        if (owner == nullptr)
            text_ += "unknown node and type";
        else
            node(fabric, *owner);
    }

    void ibroute_comment(const fabric::Fabric& fabric, const Destination* owner, std::size_t lid) {
        if (owner == nullptr) {
            text_ += ": (unknown node and type)";
        } else if (lid == owner->lid.value) {
            text_ += ": (";
            node(fabric, *owner);
            text_ += ')';
        } else {
            fmt::format_to(std::back_inserter(text_), ": (path #{} out of {}: portguid {})", lid - owner->lid.value + 1,
                           owner->lid_count(), fabric::to_string(guid(fabric, *owner)));
        }
    }

    // OpenSM finds a destination by this GUID when its LID has changed since.
    void node(const fabric::Fabric& fabric, const Destination& owner) {
        const fabric::Node& at = fabric.node(fabric.port(owner.end).node);
        const char* kind = at.kind == fabric::NodeKind::switch_ ? "Switch"
                           : at.kind == fabric::NodeKind::host  ? "Channel Adapter"
                                                                : "Router";
        fmt::format_to(std::back_inserter(text_), "{} portguid {}: '{}'", kind, fabric::to_string(guid(fabric, owner)),
                       plain_name(at.name));
    }

    static Guid guid(const fabric::Fabric& fabric, const Destination& owner) {
        const fabric::Port& port = fabric.port(owner.end);
        return port.guid != no_guid ? port.guid : fabric.node(port.node).guid;
    }

    std::string text_;
    std::vector<std::size_t> start_;
};

}  // namespace

void write_lfts(const Tables& tables, const SwitchGraph& graph, std::ostream& out, TableFormat format) {
    const fabric::Fabric& fabric = graph.fabric();
    const LinePatterns patterns(graph, tables.top_lid(), format);
    const bool opensm = format == TableFormat::opensm_lfts;
    const unsigned top = tables.top_lid().value;
    Sink sink(out);
    for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
        const fabric::Node& node = fabric.node(graph.node(s));
        const unsigned lid = fabric.port(graph.node(s), PortNum{0}).lid.value;
        const std::string guid = fabric::to_string(node.guid);
        if (opensm)
            sink.add(fmt::format("Unicast lids [0-{}] of switch Lid {} guid {} ('{}'):\n", top, lid, guid,
                                 plain_name(node.name)));
        else
            sink.add(
                fmt::format("Unicast lids [0x0-{:#x}] of switch Lid {} guid {} ({}):\n  Lid  Out   Destination\n       "
                            "Port     Info \n",
                            top, lid, guid, plain_name(node.name)));
        const auto row = tables.row(s);
        std::size_t entries = 0;
        for (std::size_t l = 0; l < row.size(); ++l) {
            if (row[l] == no_route) continue;
            const std::string_view line = patterns.line(l);
            char* to = sink.take(line.size());
            std::memcpy(to, line.data(), line.size());
            put_port(to + LinePatterns::port_offset, row[l]);
            ++entries;
        }
        sink.add(opensm ? fmt::format("{} lids dumped\n", top) : fmt::format("{} valid lids dumped \n", entries));
    }
    sink.flush();
}

}  // namespace loom::routing::io
