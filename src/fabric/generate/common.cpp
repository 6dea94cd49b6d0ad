#include "fabric/generate/common.hpp"

#include <fmt/format.h>

#include "loom/base/error.hpp"

namespace loom::fabric::generate {

std::size_t times(std::size_t a, std::size_t b) {
    if (b != 0 && a > max_nodes / b)
        throw UsageError(fmt::format("these parameters make a fabric of more than {} nodes", max_nodes));
    return a * b;
}

void require(std::string_view what, std::size_t value, std::size_t limit) {
    if (value < 1 || value > limit)
        throw UsageError(fmt::format("{} must be from 1 to {}, got {}", what, limit, value));
}

std::uint8_t switch_ports(std::string_view where, std::size_t used, unsigned radix) {
    const std::size_t ports = radix == 0 ? used : radix;
    if (used > ports) throw UsageError(fmt::format("{} needs {} ports, but its switches have {}", where, used, ports));
    if (ports > 254) throw UsageError(fmt::format("{} needs {} ports, but a switch has at most 254", where, ports));
    return static_cast<std::uint8_t>(ports);
}

Names::Names(std::string prefix, std::size_t count)
    : prefix_(std::move(prefix)), width_(std::to_string(count == 0 ? 0 : count - 1).size()) {}

std::string Names::operator()(std::size_t number) const {
    return fmt::format("{}{:0{}}", prefix_, number, width_);
}

std::uint32_t add_nodes(Fabric& fabric, NodeKind kind, std::size_t count, std::uint8_t ports, std::string prefix) {
    const auto first = static_cast<std::uint32_t>(fabric.node_count());
    const Names name(std::move(prefix), count);
    for (std::size_t i = 0; i < count; ++i) fabric.add_node(kind, ports, name(i));
    return first;
}

}  // namespace loom::fabric::generate
