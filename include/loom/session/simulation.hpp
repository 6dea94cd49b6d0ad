// Two ends of a session in virtual time, over wires that lose, repeat, overtake and delay by seed: the same code that
// runs over a network, and the same course of events for the same seed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "loom/base/time.hpp"
#include "loom/session/composition.hpp"
#include "loom/session/request.hpp"

namespace loom::session {

// One direction is as the other.
struct Wire {
    double loss = 0, duplicate = 0, reorder = 0;  // probabilities, for each segment
    Time delay = microseconds(50);
    Time reorder_delay = microseconds(300);
    double bits_per_second = 1e9;
    std::size_t queue_bytes = 256 * 1024;  // waiting for the rate; beyond it segments are dropped
    // The sender sees the queue and waits when it is half full, as with an interface of its own. Otherwise the queue is
    // somewhere on the way.
    bool sees_queue = true;
};

struct SimulationOptions {
    std::uint64_t seed = 1;
    Place place = Place::cluster;
    Settings settings;  // at the beginning
    Wire ethernet;
    bool has_infiniband = false;
    Wire infiniband;  // loses, if at all, what is asynchronous: the adapters repeat the rest
    Time control_delay = microseconds(60);
    Time settle = milliseconds(20);  // InfiniBand must be back that long
    std::string key;                 // for `settings.sealed`
    std::size_t segment_bytes = 1400;
};

enum class Side : std::uint8_t { opener, acceptor };

class Simulation {
public:
    explicit Simulation(const SimulationOptions& options);
    ~Simulation();
    Simulation(const Simulation&) = delete;
    Simulation& operator=(const Simulation&) = delete;

    [[nodiscard]] Request send(Side side, Bytes message);
    [[nodiscard]] Request receive(Side side);
    void set(Side side, Scheme scheme, const std::string& reason);
    void set(Side side, Controller controller, const std::string& reason);
    void prefer(Side side, Network network, const std::string& reason);
    void close(Side side, const std::string& reason);

    // Loses so much from now on, of both networks.
    void lose(double probability);
    // The adapters of both ends stop, or work again. What is under way is gone.
    void stop_infiniband();
    void return_infiniband();

    // The time of the session and of loom::now() in this thread.
    [[nodiscard]] Time now() const;
    void run_until(Time time);
    void run_for(Time duration) { run_until(now() + duration); }
    // At most until `limit`; false when it is not done then.
    bool run_until_done(const Request& request, Time limit);

    [[nodiscard]] const Composition& composition(Side side) const;
    [[nodiscard]] Scheme scheme(Side side) const;  // that a send would have now
    [[nodiscard]] const Counters& counters(Side side) const;
    [[nodiscard]] std::vector<Change> changes(Side side) const;
    [[nodiscard]] std::string ended(Side side) const;  // empty: it lives

private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace loom::session
