#include "loom/fabric/placement.hpp"

#include "fuzz/fuzz.hpp"

namespace {

using namespace loom;
using namespace loom::fabric;

Fabric six_hosts() {
    Fabric fabric;
    const NodeId sw = fabric.add_node(NodeKind::switch_, 12, "switch", Guid{0x100});
    for (std::uint8_t i = 1; i <= 6; ++i) {
        const NodeId host = fabric.add_node(NodeKind::host, 2, "n0" + std::to_string(i) + " HCA-1", Guid{0x1000u * i});
        fabric.connect(sw, PortNum{i}, host, PortNum{1});
        if (i > 3) fabric.connect(sw, PortNum{static_cast<std::uint8_t>(i + 6)}, host, PortNum{2});
    }
    fabric.assign_lids();
    return fabric;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const Fabric fabric = six_hosts();
    return fuzz::refuse_or_read(data, size, [](std::string_view text) {
        const Placement placement = read_placement(fabric, text, "input");
        for (const PortIndex port : placement.hosts)
            fuzz::require(port == no_port || fabric.port(port).connected(), "ranks sit on connected ports");
        fuzz::require(read_placement(fabric, to_text(fabric, placement), "again").ranks() == placement.ranks(),
                      "a placement comes back as long as it was written");
    });
}
