// All ranks of a run, between the simulation and their fibres.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "loom/sim/live.hpp"
#include "loom/sim/record.hpp"
#include "loom/twin/run.hpp"
#include "twin/endpoint.hpp"
#include "twin/faults.hpp"
#include "twin/notes.hpp"

namespace loom::twin {

// What coll chooses by.
[[nodiscard]] std::string parameters_text(const Options& options);

class Job final : public sim::Programs {
public:
    using Body = std::function<void(Endpoint&)>;
    Job(const Options& options, Body body);
    ~Job() override;

    // To the end, with or without losses.
    Result play();
    // What the first rank threw, if one did.
    void throw_first_loss() const;
    // Both.
    Result run();
    [[nodiscard]] sim::LiveSimulation& simulation() { return *simulation_; }

    // sim::Programs
    void start(Rank rank, Time now) override { endpoint(rank).start(now); }
    void sent(Rank rank, sim::Cookie send, Time now) override { endpoint(rank).sent(send, now); }
    [[nodiscard]] std::optional<sim::Cookie> arrived(Rank rank, Rank from, sim::LiveMessage message, sim::Cookie send,
                                                     Time now) override {
        return endpoint(rank).arrived(from, message, send, now);
    }
    void received(Rank rank, sim::Cookie receive, Time now) override { endpoint(rank).received(receive, now); }
    void woken(Rank rank, sim::Cookie what, Time now) override { endpoint(rank).woken(what, now); }

    // For endpoints.
    [[nodiscard]] Endpoint& endpoint(Rank rank) { return *endpoints_[rank.value]; }
    [[nodiscard]] const Options& options() const { return options_; }
    [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(endpoints_.size()); }
    [[nodiscard]] std::span<const std::uint32_t> hosts() const { return hosts_; }
    // What its computation is multiplied with.
    [[nodiscard]] double slowness(Rank rank) const { return slowness_[rank.value]; }
    [[nodiscard]] const std::string& parameters() const { return parameters_; }
    [[nodiscard]] Notes& notes() { return notes_; }
    // Of a timeline.
    [[nodiscard]] std::size_t events_of_each() const;
    // Plays on, faults and news of losses included; as Simulation::advance.
    sim::State advance(Time until);
    // A body threw, or without `why` a fault took the rank. The others hear of it later, all at one moment.
    void lose(Rank rank, Time when, std::exception_ptr why);
    // Known to everybody. Changes only while no rank runs.
    [[nodiscard]] bool is_lost(Rank rank) const { return lost_[rank.value] != 0; }
    [[nodiscard]] std::optional<Rank> first_lost() const { return first_lost_; }
    [[nodiscard]] std::string_view first_lost_why() const;

private:
    struct Loss {
        Time when;
        Rank rank;
        std::exception_ptr why;
    };

    void find_hosts();
    bool spread_losses();
    sim::State advance_and_tell(Time until);
    void tell_progress();
    [[nodiscard]] Timeline timeline(Time end);
    void control();
    void pass_time(Time until);
    [[nodiscard]] std::vector<std::string> trouble() const;
    void stop_all();

    Options options_;
    Body body_;
    std::vector<std::uint32_t> hosts_;
    std::vector<double> slowness_;  // by rank
    std::string parameters_;
    Notes notes_;
    std::vector<std::unique_ptr<Endpoint>> endpoints_;
    std::unique_ptr<sim::LiveSimulation> simulation_;
    std::optional<sim::Recorder> recorder_;
    std::optional<Faults> faults_;
    Time next_news_;  // when losses of before are known to all

    std::mutex mutex_;  // of the next
    std::vector<Loss> new_losses_;
    std::vector<Loss> losses_;        // known to all, in the order of time
    std::vector<std::uint8_t> lost_;  // by rank
    std::optional<Rank> first_lost_;
    std::chrono::steady_clock::time_point told_{};  // of progress
    Time step_ = nanoseconds(100);                  // of the simulation, between two looks at the machine's clock
};

}  // namespace loom::twin
