#include "window.hpp"

#include <cstdlib>
#include <string_view>

#include "verbs_programs.hpp"

namespace loom::bench {

namespace {

using Words = std::vector<std::string>;

// Two processes, each on a core of its own.
Program launched(Words command) {
    Program program;
    program.client = std::move(command);
    program.alone = true;
    program.read = [](const std::string& output) -> std::optional<double> {
        char* end = nullptr;
        const double value = std::strtod(output.c_str(), &end);
        return end == output.c_str() || value <= 0 ? std::nullopt : std::optional(value);
    };
    return program;
}

Program ours(Words arguments) {
    Words command{LOOM_PROGRAM, "run", "-n", "2", "--bind", LOOM_WINDOW_OURS};
    command.insert(command.end(), arguments.begin(), arguments.end());
    Program program = launched(std::move(command));
    program.environment = {{"LOOM_HCA", "soft"}};
    return program;
}

// Open MPI. With MPICH 4.0.2 both ranks wait in MPI_Win_sync for ever, and MPI_Iprobe between does not help.
Program mpi(Words arguments) {
    Words command{"mpirun.openmpi", "--allow-run-as-root", "--bind-to", "core", "-n", "2", LOOM_WINDOW_OPENMPI};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return launched(std::move(command));
}

struct Case {
    const char* what;
    const char* unit;
    Better better;
    double bound;
    const char* peer;
    Program ours, theirs;
};

std::vector<Case> cases(bool quick) {
    const std::string rounds = quick ? "1000" : "200000", many = quick ? "10000" : "10000000";
    std::vector<Case> all;
    all.push_back({"put_notify", "us", Better::less, 1.0, "UCX put_lat", ours({"latency", "8", rounds}),
                   ucx({"-t", "ucp_put_lat", "-s", "8", "-n", rounds}, Column::latency)});
    all.push_back({"put_notify", "us", Better::less, 0.5, "Open MPI put, flush, flag", ours({"latency", "8", rounds}),
                   mpi({"latency", "8", rounds})});
    all.push_back({"put_notify rate", "M/s", Better::more, 1.0, "UCX put_bw", ours({"rate", "8", many}),
                   ucx({"-t", "ucp_put_bw", "-s", "8", "-n", many}, Column::rate)});
    all.push_back({"put_notify, own memory", "us", Better::less, 1.0, "Open MPI put, flush, flag",
                   ours({"latency", "8", rounds, "ordinary"}), mpi({"latency", "8", rounds})});
    return all;
}

}  // namespace

void measure_window(const Plan& plan, const VerbsSink& sink) {
    for (const Case& c : cases(plan.quick)) {
        if (std::string_view(c.what).find(plan.match) == std::string_view::npos) continue;
        VerbsLine line{c.what, "8", c.unit, c.better, c.bound, c.peer, {}, {}, {}, true, {}};
        const auto run = [&](const Program& program, std::vector<double>& into) {
            const Measurement measured = measure(program, nullptr);
            if (measured.value) return into.push_back(*measured.value);
            line.ok = false;
            line.notes = measured.notes;
        };
        for (unsigned repetition = 0; repetition < (plan.quick ? 1 : 7) && line.ok; ++repetition) {
            if (plan.peers != Peers::none) run(c.theirs, line.theirs);
            if (line.ok) run(c.ours, line.ours);
        }
        sink(line);
    }
}

}  // namespace loom::bench
