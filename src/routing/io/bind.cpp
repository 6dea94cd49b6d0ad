#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "loom/base/error.hpp"
#include "loom/routing/table_io.hpp"

namespace loom::routing {
namespace {

class Binder {
public:
    Binder(const TableFile& file, const SwitchGraph& graph, Fit fit) : file_(&file), graph_(&graph), fit_(fit) {
        const fabric::Fabric& fabric = graph.fabric();
        for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
            by_guid_.emplace(fabric.node(graph.node(s)).guid, s);
            if (const Lid lid = fabric.port(graph.node(s), PortNum{0}).lid; lid != no_lid) by_lid_.emplace(lid, s);
        }
        end_by_lid_.assign(std::size_t{graph.top_lid().value} + 1, no_port);
        for (const Destination& destination : graph.destinations())
            for (std::size_t lid = destination.lid.value; lid < destination.lid.value + destination.lid_count(); ++lid)
                if (lid < end_by_lid_.size()) end_by_lid_[lid] = destination.end;
    }

    Tables bind() {
        if (graph_->destinations().empty() && !file_->switches.empty())
            throw Error(file_->file_name +
                        ": the fabric has no LIDs, so its tables cannot be told apart; give it LIDs first");
        Tables tables(graph_->switch_count(), graph_->top_lid());
        tables.engine = file_->engine;
        std::vector<const SwitchTable*> filled(graph_->switch_count(), nullptr);
        for (const SwitchTable& table : file_->switches) {
            const SwitchIndex s = find(table);
            if (s == none) continue;
            if (filled[s] != nullptr)
                throw Error(fmt::format("{}: {} was given before, at line {}; expected each switch once", where(table),
                                        describe(table), filled[s]->line));
            filled[s] = &table;
            fill(table, s, tables);
        }
        report(filled);
        return tables;
    }

    std::vector<std::string> remarks;

private:
    [[nodiscard]] SwitchIndex find(const SwitchTable& table) {
        if (table.guid != no_guid) {
            if (const auto at = by_guid_.find(table.guid); at != by_guid_.end()) return at->second;
        } else if (const auto at = by_lid_.find(table.lid); at != by_lid_.end()) {
            return at->second;
        }
        if (fit_ == Fit::same) throw Error(fmt::format("{}: the fabric has no {}", where(table), describe(table)));
        if (gone_++ == 0) first_gone_ = describe(table);
        return none;
    }

    void fill(const SwitchTable& table, SwitchIndex s, Tables& tables) {
        const auto row = tables.row(s);
        const unsigned last_port = graph_->port_count(s);
        if (!table.lanes.empty()) tables.use_lanes();
        for (std::size_t lid = 1; lid < table.ports.size(); ++lid) {
            const std::uint8_t port = table.ports[lid];
            const bool known = lid < end_by_lid_.size() && end_by_lid_[lid] != no_port;
            if (known && !table.lanes.empty())
                tables.set_lane(s, Lid{static_cast<std::uint16_t>(lid)}, table.lanes[lid]);
            if (port == no_route) continue;
            if (port > last_port && beyond(table, lid, port, last_port)) continue;
            if (!known) {
                if (unknown_.size() <= lid) unknown_.resize(lid + 1, false);
                unknown_[lid] = true;
                continue;
            }
            row[lid] = port;
        }
    }

    // True when the entry is to be left out.
    bool beyond(const SwitchTable& table, std::size_t lid, unsigned port, unsigned last_port) {
        if (fit_ == Fit::same)
            throw Error(fmt::format("{}: {} sends LID {} to port {}, but has only {} ports in the fabric", where(table),
                                    describe(table), lid, port, last_port));
        if (beyond_++ == 0) first_beyond_ = fmt::format("{} port {}", describe(table), port);
        return true;
    }

    void report(const std::vector<const SwitchTable*>& filled) {
        const auto remark = [this](std::size_t count, const std::string& text) {
            if (count != 0) remarks.push_back(fmt::format("{}: {}", file_->file_name, text));
        };
        remark(gone_, fmt::format("{} of the tables {} not in the fabric any more, {} first", switches(gone_),
                                  gone_ == 1 ? "is" : "are", first_gone_));
        remark(beyond_, fmt::format("{} entries use ports that the fabric does not have any more, {} first", beyond_,
                                    first_beyond_));

        const auto missing = static_cast<std::size_t>(std::count(filled.begin(), filled.end(), nullptr));
        if (missing != 0) {
            const auto first =
                static_cast<SwitchIndex>(std::find(filled.begin(), filled.end(), nullptr) - filled.begin());
            remark(missing,
                   fmt::format("{} of the fabric {} no table, {} first", switches(missing),
                               missing == 1 ? "has" : "have", fabric::describe(graph_->fabric(), graph_->node(first))));
        }

        const auto unknown = static_cast<std::size_t>(std::count(unknown_.begin(), unknown_.end(), true));
        if (unknown != 0)
            remark(unknown, fmt::format("{} unknown to the fabric, {} first; their entries are left out",
                                        unknown == 1 ? "1 LID of the tables is"
                                                     : fmt::format("{} LIDs of the tables are", unknown),
                                        std::find(unknown_.begin(), unknown_.end(), true) - unknown_.begin()));
        report_owners();
    }

    // The same LID, another port: a dump of another day, or of another fabric.
    void report_owners() {
        const fabric::Fabric& fabric = graph_->fabric();
        std::size_t moved = 0;
        std::string first;
        for (std::size_t lid = 1; lid < std::min(file_->owners.size(), end_by_lid_.size()); ++lid) {
            if (file_->owners[lid] == no_guid || end_by_lid_[lid] == no_port) continue;
            const fabric::Port& port = fabric.port(end_by_lid_[lid]);
            const fabric::Node& node = fabric.node(port.node);
            if (port.guid == no_guid || port.guid == file_->owners[lid] || node.guid == file_->owners[lid]) continue;
            if (moved++ == 0)
                first =
                    fmt::format("LID {} is port {} there and {} ({}) here", lid, fabric::to_string(file_->owners[lid]),
                                fabric::describe(fabric, port.node), fabric::to_string(port.guid));
        }
        if (moved != 0)
            remarks.push_back(
                fmt::format("{}: {} LIDs belong to other ports than in the fabric, so the tables are of another time "
                            "or fabric: {}",
                            file_->file_name, moved, first));
    }

    [[nodiscard]] static std::string switches(std::size_t count) {
        return count == 1 ? std::string("1 switch") : fmt::format("{} switches", count);
    }
    [[nodiscard]] std::string where(const SwitchTable& table) const {
        return table.line == 0 ? file_->file_name : fmt::format("{}:{}", file_->file_name, table.line);
    }
    [[nodiscard]] static std::string describe(const SwitchTable& table) {
        const std::string id =
            table.guid != no_guid ? fabric::to_string(table.guid) : fmt::format("LID {}", table.lid.value);
        return table.name.empty() ? "switch " + id : fmt::format("switch {} ({})", id, table.name);
    }

    const TableFile* file_;
    const SwitchGraph* graph_;
    Fit fit_;
    std::unordered_map<Guid, SwitchIndex> by_guid_;
    std::unordered_map<Lid, SwitchIndex> by_lid_;
    std::vector<PortIndex> end_by_lid_;
    std::vector<bool> unknown_;
    std::size_t gone_ = 0;
    std::string first_gone_;
    std::size_t beyond_ = 0;
    std::string first_beyond_;
};

}  // namespace

Tables bind_tables(const TableFile& file, const SwitchGraph& graph, std::vector<std::string>* remarks, Fit fit) {
    Binder binder(file, graph, fit);
    Tables tables = binder.bind();
    if (remarks != nullptr) remarks->insert(remarks->end(), binder.remarks.begin(), binder.remarks.end());
    return tables;
}

}  // namespace loom::routing
