#include "loom/routing/routed.hpp"

#include <iterator>
#include <optional>
#include <stdexcept>

#include "loom/routing/lids.hpp"

namespace loom::routing {
namespace {

void append(std::vector<std::string>& all, std::vector<std::string> more) {
    all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

void open(RoutedFabric& routed, const Sources& sources) {
    if (!sources.tables.empty() && sources.engine != nullptr) throw std::logic_error("tables and an engine");
    std::optional<TableFile> file;
    if (!sources.tables.empty()) file = read_tables(sources.tables);
    if (file) adopt_lids(routed.fabric, *file);
    std::vector<std::string> invented = complete_lids(routed.fabric, sources.lmc);
    if (sources.expects_lids) append(routed.remarks, std::move(invented));
    routed.graph = std::make_unique<SwitchGraph>(routed.fabric);
    if (file) {
        append(routed.remarks, std::move(file->remarks));
        routed.tables = bind_tables(*file, *routed.graph, &routed.remarks, sources.fit);
    } else if (sources.engine != nullptr) {
        Routing made = sources.engine->route(*routed.graph, sources.route);
        routed.tables = std::move(made.tables);
        if (routed.tables.engine.empty()) routed.tables.engine = sources.engine->name;
        append(routed.remarks, std::move(made.remarks));
    }
}

}  // namespace loom::routing
