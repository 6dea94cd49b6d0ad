#include <sstream>

#include "fuzz/fuzz.hpp"
#include "loom/fabric/host_order_io.hpp"

namespace {

using namespace loom;
using namespace loom::fabric;

Fabric six_hosts() {
    Fabric fabric;
    const NodeId sw = fabric.add_node(NodeKind::switch_, 8, "switch");
    for (std::uint8_t i = 1; i <= 6; ++i)
        fabric.connect(sw, PortNum{i}, fabric.add_node(NodeKind::host, 1, "host"), PortNum{1});
    fabric.assign_lids(1);
    return fabric;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const Fabric fabric = six_hosts();
    return fuzz::refuse_or_read(data, size, [](std::string_view text) {
        (void)is_host_order(text);
        const auto hosts = bind_host_order(parse_host_order(text, "input"), fabric, "input");
        std::ostringstream out;
        write_host_order(fabric, hosts, out);
        const auto back = parse_host_order(out.str(), "again");
        fuzz::require(back.size() >= hosts.size(), "an order comes back as long as it was written");
    });
}
