// A session in virtual time that changes its protocol while it runs: synchronous between time steps, asynchronous
// within, away from InfiniBand when the device stops and back when it has settled. What is printed is the same on every
// machine.
#include <cstdio>
#include <loom/session/simulation.hpp>
#include <span>
#include <string>

using namespace loom::session;

namespace {

Bytes text(const std::string& words) {
    const auto bytes = std::as_bytes(std::span(words));
    return {bytes.begin(), bytes.end()};
}

void take(Simulation& simulation, const char* what) {
    const Request request = simulation.receive(Side::acceptor);
    if (!simulation.run_until_done(request, simulation.now() + loom::milliseconds(100)) || !request->has_message()) {
        std::printf("%s: nothing new\n", what);
        return;
    }
    const Bytes& message = request->message();
    std::printf("%s: %.*s\n", what, static_cast<int>(message.size()), reinterpret_cast<const char*>(message.data()));
}

}  // namespace

int main() {
    SimulationOptions options;
    options.has_infiniband = true;
    options.settings.network = Network::infiniband;
    Simulation simulation(options);

    const Request sent = simulation.send(Side::opener, text("boundary values of step 1"));
    std::printf("before the receive the send is %s\n", sent->done() ? "done" : "under way");
    take(simulation, "synchronous");
    simulation.run_for(loom::milliseconds(1));
    std::printf("after it the send is %s\n", sent->done() ? "done" : "under way");

    simulation.set(Side::opener, Scheme::asynchronous, "inside a time step");
    for (int i = 1; i <= 5; ++i) {
        (void)simulation.send(Side::opener, text("iterate " + std::to_string(i)));
        simulation.run_for(loom::milliseconds(1));
    }
    take(simulation, "asynchronous");
    take(simulation, "asynchronous");

    simulation.stop_infiniband();
    simulation.run_for(loom::milliseconds(2));
    simulation.set(Side::acceptor, Scheme::synchronous, "the end of a time step");
    simulation.run_for(loom::milliseconds(1));
    (void)simulation.send(Side::opener, text("boundary values of step 2"));
    simulation.run_for(loom::milliseconds(2));
    take(simulation, "synchronous");
    simulation.return_infiniband();
    simulation.run_for(loom::milliseconds(50));

    for (const Change& change : simulation.changes(Side::opener))
        std::printf("%s\n  because: %s\n", to_string(change.now).c_str(), change.reason.c_str());
    return 0;
}
