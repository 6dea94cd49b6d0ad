#include "loom/sim/play.hpp"

namespace loom::sim {

Recording play(Simulation& simulation, const PlayOptions& options) {
    Recorder recorder(simulation, options.record);
    fabric::CongestionParameters* const parameters = simulation.congestion_parameters();
    if (options.control && parameters != nullptr) {
        (void)recorder.advance(options.control_from);
        RecordedFabric living(recorder, options.until);
        options.control(living, *parameters, living);
    }
    (void)recorder.advance(options.until.value_or(never));
    return recorder.recording();
}

}  // namespace loom::sim
