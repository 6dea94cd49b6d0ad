#include "device/check/shadow.hpp"

namespace loom::device {

std::optional<std::uint32_t> Shadow::touch(std::uint64_t address, std::uint64_t bytes, const Touch& touch,
                                           const VectorClock& seen) {
    const std::uint64_t end = address + bytes;
    for (std::uint64_t at = address; at < end;) {
        const std::uint64_t cell = at / 8, next = std::min(end, (cell + 1) * 8);
        const auto mask = static_cast<std::uint8_t>(((1u << (next - at)) - 1) << at % 8);
        std::vector<Record>& records = cells_[cell];
        for (const Record& each : records) {
            const bool conflict = (each.mask & mask) != 0 && (each.touch.write || touch.write);
            const bool ordered =
                each.touch.component == touch.component || each.touch.clock <= seen[each.touch.component];
            if (conflict && !ordered) return each.touch.site;
        }
        // What happened before this and on no other bytes cannot race with anything that does not race with this too.
        std::erase_if(records, [&](const Record& each) {
            const bool ordered =
                each.touch.component == touch.component || each.touch.clock <= seen[each.touch.component];
            return ordered && (each.mask & ~mask) == 0 && (touch.write || !each.touch.write);
        });
        records.push_back({touch, mask});
        at = next;
    }
    return {};
}

}  // namespace loom::device
