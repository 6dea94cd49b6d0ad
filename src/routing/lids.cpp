#include "loom/routing/lids.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "loom/base/error.hpp"
#include "loom/base/table.hpp"

namespace loom::routing {

void adopt_lids(fabric::Fabric& fabric, const TableFile& file) {
    std::unordered_map<Guid, PortIndex> by_guid;
    for (const fabric::Port& port : fabric.all_ports()) {
        if (port.lid != no_lid) return;
        if (port.guid != no_guid) by_guid.emplace(port.guid, fabric.port_index(port.node, port.number));
    }
    for (std::size_t lid = 1; lid < file.owners.size();) {
        std::size_t end = lid + 1;
        while (end < file.owners.size() && file.owners[end] == file.owners[lid]) ++end;
        if (const auto found = by_guid.find(file.owners[lid]); file.owners[lid] != no_guid && found != by_guid.end()) {
            fabric::Port& port = fabric.port(found->second);
            port.lid = Lid{static_cast<std::uint16_t>(lid)};
            port.lmc = static_cast<std::uint8_t>(std::min<std::size_t>(std::bit_width(end - lid) - 1, 7));
        }
        lid = end;
    }
}

std::vector<std::string> complete_lids(fabric::Fabric& fabric, unsigned lmc) {
    for (const fabric::Port& port : fabric.all_ports()) {
        if (lmc == 0 || port.lid == no_lid || port.lmc == lmc) continue;
        if (fabric.node(port.node).kind != fabric::NodeKind::host) continue;
        throw UsageError(fmt::format("an LMC of {} is for hosts without LIDs; {} has LID {} with LMC {} already", lmc,
                                     fabric::describe(fabric, port.node), port.lid.value, port.lmc));
    }
    const auto in_use = [&] {
        return std::ranges::count_if(fabric.all_ports(), [](const fabric::Port& port) { return port.lid != no_lid; });
    };
    const auto before = in_use();
    fabric.assign_lids(static_cast<std::uint8_t>(lmc));
    const auto added = in_use() - before;
    if (added == 0) return {};
    if (before != 0)
        return {added == 1 ? "1 port had no LID; Loomband chose one"
                           : grouped(static_cast<std::size_t>(added)) + " ports had no LID; Loomband chose them"};
    unsigned highest = 0;
    for (const fabric::Port& port : fabric.all_ports())
        if (port.lid != no_lid) highest = std::max(highest, port.lid.value + (1u << port.lmc) - 1);
    return {fmt::format("the fabric had no LIDs; Loomband's own were used, 1 to {}", grouped(highest))};
}

}  // namespace loom::routing
