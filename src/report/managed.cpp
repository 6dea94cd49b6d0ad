#include "loom/report/managed.hpp"

#include "loom/base/error.hpp"

namespace loom::report {

manager::Settings scenario_settings(const sim::Setup& setup) {
    manager::Settings settings;
    settings.tick = setup.options.packet.counter_tick;
    for (const sim::Setting& line : setup.manager) try {
            set(settings, line.key, line.value);
        } catch (const UsageError& error) {
            throw ParseError(line.source.file, line.source.line, error.what());
        }
    return settings;
}

bool ManagedRun::failed() const {
    return recording.state == sim::State::deadlocked || recording.state == sim::State::stuck;
}

ManagedRun play_managed(const sim::Setup& setup, const std::optional<manager::Settings>& settings,
                        const sim::RecordOptions& how, const manager::OnDecision& decided) {
    ManagedRun run;
    run.policy = settings ? to_string(settings->policy) : "none";
    run.simulation = setup.start();
    sim::PlayOptions play{.record = how, .until = setup.until};
    if (settings)
        play.control = [&](fabric::CounterSource& counters, fabric::CongestionParameters& parameters,
                           fabric::Clock& clock) {
            run.work = run_manager(setup.fabric, counters, parameters, clock, *settings,
                                   [&](const manager::Decision& decision) {
                                       run.decisions.push_back(decision);
                                       if (decided) decided(decision);
                                   });
        };
    run.recording = sim::play(*run.simulation, play);
    return run;
}

}  // namespace loom::report
