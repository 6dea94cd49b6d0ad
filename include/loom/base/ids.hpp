// Strong identifiers: values of the same width that must never be swapped.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace loom {

// An opaque number with a meaning. Costs what its representation costs.
template <class Tag, class Rep>
struct Id {
    using rep = Rep;
    Rep value{};

    constexpr Id() = default;
    constexpr explicit Id(Rep v) : value(v) {}
    friend constexpr auto operator<=>(const Id&, const Id&) = default;
};

using NodeId = Id<struct NodeIdTag, std::uint32_t>;        // position of a node in its Fabric
using PortIndex = Id<struct PortIndexTag, std::uint32_t>;  // position of a port in its Fabric
using PortNum = Id<struct PortNumTag, std::uint8_t>;       // 1..254 on the faceplate, 0 the switch itself
using Lid = Id<struct LidTag, std::uint16_t>;              // 0 means "none yet"
using Guid = Id<struct GuidTag, std::uint64_t>;            // 0 means "unknown"
using Rank = Id<struct RankTag, std::uint32_t>;            // process number of a job

inline constexpr Lid no_lid{0};
inline constexpr Guid no_guid{0};
inline constexpr NodeId no_node{0xffffffffu};
inline constexpr PortIndex no_port{0xffffffffu};
inline constexpr std::uint16_t max_unicast_lid = 0xbfff;  // 49,151: all a subnet can name

}  // namespace loom

template <class Tag, class Rep>
struct std::hash<loom::Id<Tag, Rep>> {
    std::size_t operator()(const loom::Id<Tag, Rep>& id) const noexcept { return std::hash<Rep>{}(id.value); }
};
