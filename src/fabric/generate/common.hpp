// What the generators share: counting without overflow, names that sort as numbers.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "loom/fabric/fabric.hpp"

namespace loom::fabric::generate {

// More nodes than any generator makes: mistyped parameters are refused before memory is.
inline constexpr std::size_t max_nodes = std::size_t{1} << 22;

// a * b; throws UsageError beyond max_nodes.
[[nodiscard]] std::size_t times(std::size_t a, std::size_t b);

// Throws UsageError naming the value unless 1 <= value <= limit.
void require(std::string_view what, std::size_t value, std::size_t limit = max_nodes);

// A port count that InfiniBand can number. `radix` 0 stands for `used`. Throws UsageError.
[[nodiscard]] std::uint8_t switch_ports(std::string_view where, std::size_t used, unsigned radix);

// prefix and number, zero-padded to the width of the highest number, count - 1.
class Names {
public:
    Names(std::string prefix, std::size_t count);
    [[nodiscard]] std::string operator()(std::size_t number) const;

private:
    std::string prefix_;
    std::size_t width_;
};

[[nodiscard]] inline PortNum port_number(std::size_t number) {
    return PortNum{static_cast<std::uint8_t>(number)};
}

// Adds a one-sort row of nodes and gives the first one's position.
std::uint32_t add_nodes(Fabric& fabric, NodeKind kind, std::size_t count, std::uint8_t ports, std::string prefix);

}  // namespace loom::fabric::generate
