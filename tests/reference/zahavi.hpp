// Algorithms 2, 3 and 4 of Zahavi 2009 as printed: recursive, with a usage counter on every port. For whole
// trees whose switches are numbered level by level from the leaves (as the generator does).
#pragma once

#include <cstdint>
#include <vector>

#include "loom/fabric/levels.hpp"
#include "loom/routing/tables.hpp"

namespace loom::reference {

class Zahavi {
public:
    Zahavi(const routing::SwitchGraph& graph, const fabric::Levels& levels)
        : graph_(graph),
          levels_(levels),
          usage_(graph.channel_count(), 0),
          tables_(graph.switch_count(), graph.top_lid()) {}

    // Algorithm 2.
    routing::Tables run() {
        for (const routing::Destination& host : graph_.host_destinations()) {
            tables_.set(host.sw, host.lid, host.port);
            ascend(host.sw, host.lid);
        }
        return tables_;
    }

private:
    [[nodiscard]] unsigned level(routing::SwitchIndex s) const { return levels_.level[graph_.node(s).value]; }

    // Algorithm 4: the least used down-going port of all parents leads to s; then on from that parent.
    void ascend(routing::SwitchIndex s, Lid lid) {
        routing::ChannelIndex best = routing::none;
        for (const routing::ChannelIndex up : ports(s, level(s) + 1)) {
            const routing::ChannelIndex down = graph_.reverse(up);
            if (best == routing::none || usage_[down] < usage_[best]) best = down;
        }
        descend(s, lid);
        if (best == routing::none) return;
        const routing::SwitchIndex parent = graph_.owner(best);
        tables_.set(parent, lid, static_cast<std::uint8_t>(graph_.port(best)));
        ++usage_[best];
        ascend(parent, lid);
    }

    // Algorithm 3: every switch below s that has no route yet climbs to s by the least used cable.
    void descend(routing::SwitchIndex s, Lid lid) {
        if (level(s) == 0) return;
        std::vector<routing::SwitchIndex> children;
        for (const routing::ChannelIndex down : ports(s, level(s) - 1)) {
            const routing::SwitchIndex child = graph_.next(down);
            if (tables_.port(child, lid) != routing::no_route) continue;
            routing::ChannelIndex best = routing::none;
            for (const routing::ChannelIndex up : ports(child, level(s)))
                if (graph_.next(up) == s && (best == routing::none || usage_[up] < usage_[best])) best = up;
            tables_.set(child, lid, static_cast<std::uint8_t>(graph_.port(best)));
            ++usage_[best];
            children.push_back(child);
        }
        for (const routing::SwitchIndex child : children) descend(child, lid);
    }

    // Channels from s to switches of a level, parent by parent in order of their numbers.
    [[nodiscard]] std::vector<routing::ChannelIndex> ports(routing::SwitchIndex s, unsigned to_level) const {
        std::vector<routing::ChannelIndex> result;
        for (routing::SwitchIndex other = 0; other < graph_.switch_count(); ++other)
            for (routing::ChannelIndex c = graph_.base()[s]; c < graph_.base()[s + 1]; ++c)
                if (graph_.next(c) == other && level(other) == to_level) result.push_back(c);
        return result;
    }

    const routing::SwitchGraph& graph_;
    const fabric::Levels& levels_;
    std::vector<unsigned> usage_;
    routing::Tables tables_;
};

}  // namespace loom::reference
