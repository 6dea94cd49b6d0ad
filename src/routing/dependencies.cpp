#include "routing/dependencies.hpp"

#include <algorithm>

namespace loom::routing {

std::vector<ChannelIndex> Dependencies::find_cycle(const SwitchGraph& graph) const {
    enum class State : std::uint8_t { fresh, open, done };
    struct Frame {
        ChannelIndex channel;
        unsigned next_port;
    };
    std::vector<State> state(graph.channel_count(), State::fresh);
    std::vector<Frame> path;
    for (ChannelIndex start = 0; start < graph.channel_count(); ++start) {
        if (state[start] != State::fresh || graph.next(start) == none) continue;
        path.push_back({start, 0});
        state[start] = State::open;
        while (!path.empty()) {
            Frame& top = path.back();
            const SwitchIndex at = graph.next(top.channel);
            ChannelIndex found = none;
            for (; top.next_port <= graph.port_count(at) && found == none; ++top.next_port)
                if (has(top.channel, top.next_port)) found = graph.channel(at, top.next_port);
            if (found == none) {
                state[top.channel] = State::done;
                path.pop_back();
            } else if (state[found] == State::open) {
                std::vector<ChannelIndex> cycle;
                for (std::size_t i = path.size(); i-- > 0;) {
                    cycle.push_back(path[i].channel);
                    if (path[i].channel == found) break;
                }
                std::reverse(cycle.begin(), cycle.end());
                return cycle;
            } else if (state[found] == State::fresh && graph.next(found) != none) {
                state[found] = State::open;
                path.push_back({found, 0});
            }
        }
    }
    return {};
}

}  // namespace loom::routing
