#include "loom/sim/scenario.hpp"

#include "fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace loom;
    return fuzz::refuse_or_read(data, size, [](std::string_view text) {
        const sim::Scenario scenario = sim::parse_scenario(text, "input");
        for (const sim::FlowPlan& flow : scenario.flows) {
            fuzz::require(flow.message > 0 && flow.window > 0, "messages move something");
            fuzz::require(!flow.endless || scenario.until.has_value(), "what is endless ends with the scenario");
        }
        for (const sim::PortName& port : scenario.watch)
            fuzz::require(port.port >= 1 && port.port <= 254, "watched ports have a number");
    });
}
