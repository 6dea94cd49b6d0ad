#include "fuzz/fuzz.hpp"
#include "loom/manager/diags.hpp"

namespace {

// Each reader may refuse on its own.
template <class Read>
void attempt(Read&& read) {
    try {
        read();
    } catch (const loom::Error&) {
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace loom::manager;
    return loom::fuzz::refuse_or_read(data, size, [](std::string_view text) {
        const auto blocks = parse_diags(text, "input");
        if (blocks.empty()) return;
        const loom::Lid lid = blocks.front().lid;
        std::vector<loom::PortNum> ports;
        for (const DiagBlock& block : blocks) ports.push_back(block.port.value_or(loom::PortNum{1}));
        attempt([&] {
            loom::fuzz::require(parse_extended(text, "input", lid, ports).size() == ports.size(), "a reading a port");
        });
        attempt([&] {
            for (const std::uint64_t wait : parse_waits(text, "input", lid, ports))
                loom::fuzz::require(wait <= UINT32_MAX, "basic counters have 32 bits");
        });
        attempt([&] { (void)parse_congested_time(text, "input", lid, ports.front()); });
        attempt([&] {
            loom::fuzz::require(parse_port_setting(text, "input", lid).threshold <= 15, "thresholds have 4 bits");
        });
        attempt([&] { (void)parse_switch_setting(text, "input", lid); });
        attempt([&] { (void)parse_node_guid(text, "input", lid); });
    });
}
