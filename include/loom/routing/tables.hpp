// Linear forwarding tables: for each switch, the port that leads to each LID.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "loom/base/ids.hpp"
#include "loom/routing/switch_graph.hpp"

namespace loom::routing {

inline constexpr std::uint8_t no_route = 0xff;  // as in a real LFT: the packet is dropped

// One byte an entry, one row a switch: switch_count x (top_lid + 1) bytes, and the same again once
// lanes are used. Rows are in SwitchIndex order of the fabric the tables were made for.
class Tables {
public:
    Tables() = default;
    Tables(std::uint32_t switch_count, Lid top_lid);

    [[nodiscard]] std::uint32_t switch_count() const { return switches_; }
    [[nodiscard]] Lid top_lid() const { return Lid{static_cast<std::uint16_t>(width_ == 0 ? 0 : width_ - 1)}; }

    [[nodiscard]] std::span<std::uint8_t> row(SwitchIndex s) {
        return std::span(ports_).subspan(std::size_t{s} * width_, width_);
    }
    [[nodiscard]] std::span<const std::uint8_t> row(SwitchIndex s) const {
        return std::span(ports_).subspan(std::size_t{s} * width_, width_);
    }
    // no_route when the LID is beyond the table.
    [[nodiscard]] std::uint8_t port(SwitchIndex s, Lid lid) const {
        return lid.value < width_ ? ports_[std::size_t{s} * width_ + lid.value] : no_route;
    }
    void set(SwitchIndex s, Lid lid, std::uint8_t port) { ports_[std::size_t{s} * width_ + lid.value] = port; }

    // The virtual lane on which packets travel from hosts of switch s to the LID, all the way. All 0
    // until use_lanes() was called.
    [[nodiscard]] bool has_lanes() const { return !lanes_.empty(); }
    void use_lanes();
    [[nodiscard]] std::uint8_t lane(SwitchIndex s, Lid lid) const {
        return lanes_.empty() ? 0 : lanes_[std::size_t{s} * width_ + lid.value];
    }
    void set_lane(SwitchIndex s, Lid lid, std::uint8_t lane) { lanes_[std::size_t{s} * width_ + lid.value] = lane; }
    // Empty when there are no lanes.
    [[nodiscard]] std::span<const std::uint8_t> lane_row(SwitchIndex s) const {
        return lanes_.empty() ? std::span<const std::uint8_t>{}
                              : std::span(lanes_).subspan(std::size_t{s} * width_, width_);
    }
    // Highest lane in use plus one; 1 when there are no lanes. Cost: one pass over the lanes.
    [[nodiscard]] unsigned lane_count() const;

    [[nodiscard]] std::size_t bytes() const { return ports_.size() + lanes_.size(); }
    friend bool operator==(const Tables&, const Tables&) = default;

    std::string engine;  // who made them, for headers and reports

private:
    std::uint32_t switches_ = 0;
    std::size_t width_ = 0;
    std::vector<std::uint8_t> ports_;
    std::vector<std::uint8_t> lanes_;
};

}  // namespace loom::routing
