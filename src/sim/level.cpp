#include "loom/sim/simulation.hpp"

namespace loom::sim {

std::string_view to_string(Level level) {
    switch (level) {
        case Level::packet:
            return "packet";
        case Level::flow:
            return "flow";
        case Level::message:
            return "message";
    }
    return "?";
}

std::string_view to_string(State state) {
    switch (state) {
        case State::running:
            return "running";
        case State::finished:
            return "finished";
        case State::deadlocked:
            return "deadlocked";
        case State::stuck:
            return "stuck";
    }
    return "?";
}

}  // namespace loom::sim
