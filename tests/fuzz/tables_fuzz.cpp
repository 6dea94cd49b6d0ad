// A table reader: LOOM_FUZZ_FORMAT is a routing::TableFormat. What was read is bound to a small fabric,
// written in every form and read back.
#include <sstream>

#include "fuzz/fuzz.hpp"
#include "loom/routing/table_io.hpp"

namespace {

using namespace loom;
using namespace loom::routing;

fabric::Fabric small_fabric() {
    fabric::Fabric fabric;
    const NodeId left = fabric.add_node(fabric::NodeKind::switch_, 4, "left", Guid{0x1});
    const NodeId right = fabric.add_node(fabric::NodeKind::switch_, 36, "right", Guid{0x2});
    const NodeId host = fabric.add_node(fabric::NodeKind::host, 2, "host", Guid{0x10});
    fabric.connect(left, PortNum{1}, right, PortNum{36});
    fabric.connect(left, PortNum{2}, host, PortNum{1});
    fabric.connect(right, PortNum{3}, host, PortNum{2});
    fabric.assign_lids(1);
    return fabric;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const fabric::Fabric fabric = small_fabric();
    static const SwitchGraph graph(fabric);
    return fuzz::refuse_or_read(data, size, [](std::string_view text) {
        const TableFile file = parse_tables(text, "input", LOOM_FUZZ_FORMAT);
        std::vector<std::string> remarks;
        const Tables tables = bind_tables(file, graph, &remarks, Fit::changed);
        for (const TableFormat format :
             {TableFormat::opensm_lfts, TableFormat::dump_lfts, TableFormat::fdbs, TableFormat::json}) {
            std::ostringstream out;
            write_tables(tables, graph, out, format, {.force = true});
            const Tables back = bind_tables(parse_tables(out.str(), "again"), graph);
            bool same = true;
            for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
                same = same && std::equal(back.row(s).begin(), back.row(s).end(), tables.row(s).begin());
            fuzz::require(same, "a table comes back as it was written");
            if (format == TableFormat::json) fuzz::require(back == tables, "JSON loses nothing");
        }
        (void)bind_tables(file, graph);
    });
}
