// A fabric reader: LOOM_FUZZ_FORMAT is a fabric::Format, or "any" where the content decides.
#include <algorithm>
#include <sstream>

#include "fuzz/fuzz.hpp"
#include "loom/fabric/io.hpp"
#include "loom/fabric/levels.hpp"

namespace {

using namespace loom::fabric;

std::string as_json(const Fabric& fabric) {
    std::ostringstream out;
    write_fabric(fabric, out, Format::json);
    return out.str();
}

// Every writer copes with whatever was read; it may refuse what its form cannot say. Forms that list every
// node read it back (those that list cables alone have nothing to say of a fabric without any).
void write_everything(const Fabric& fabric) {
    const bool plain =
        std::all_of(fabric.nodes().begin(), fabric.nodes().end(), [](const Node& n) { return n.ports != 0; });
    for (const FormatInfo& info : formats()) {
        std::ostringstream out;
        try {
            write_fabric(fabric, out, info.format);
        } catch (const loom::Error&) {
            continue;
        }
        const bool lists_nodes =
            info.format == Format::ibnetdiscover || info.format == Format::db_csv || info.format == Format::dot;
        if (!lists_nodes || !plain || fabric.node_count() == 0) continue;
        try {
            const auto nodes = parse_fabric(out.str(), "again", info.format).fabric.node_count();
            loom::fuzz::require(nodes == fabric.node_count(), "every node comes back");
        } catch (const loom::Error& error) {
            loom::fuzz::require(false, error.what());
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return loom::fuzz::refuse_or_read(data, size, [](std::string_view text) {
        const Reading reading = parse_fabric(text, "input", LOOM_FUZZ_FORMAT);
        for (const Port& port : reading.fabric.all_ports())
            if (port.connected())
                loom::fuzz::require(reading.fabric.port(reading.fabric.port(port.peer).peer).number == port.number,
                                    "a cable has two ends");
        const std::string json = as_json(reading.fabric);
        loom::fuzz::require(as_json(parse_fabric(json, "again", Format::json).fabric) == json,
                            "JSON loses nothing of what was read");
        (void)host_order(reading.fabric);
        write_everything(reading.fabric);
    });
}
