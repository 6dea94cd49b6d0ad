// A fabric reader: LOOM_FUZZ_FORMAT is a fabric::Format, or "any" where the content decides.
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
    });
}
