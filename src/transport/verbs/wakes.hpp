// Sleeping instead of polling, and what ends it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>

#include "transport/verbs/device.hpp"

namespace loom::transport {

// Takes the completions of the shared receive queue, and owns those that are more than bells; and interrupt()'s
// eventfd.
class Wakes {
public:
    explicit Wakes(const Device& device);
    ~Wakes();
    Wakes(const Wakes&) = delete;
    Wakes& operator=(const Wakes&) = delete;

    // An immediate that is more than a bell.
    struct Arrival {
        std::uint32_t qp;
        std::uint32_t immediate;
    };

    void turn(bool on);
    [[nodiscard]] bool on() const { return on_; }
    // Whether more than bells may come.
    void expect_notifications(bool may_come);
    // Whether every look of the transport is at what has come, not one in many.
    [[nodiscard]] bool watched() const { return watched_; }
    // Notes what has come, and puts as many receive requests back: without room a peer could not go on.
    int drain();
    // What was noted and is no bell, in order.
    [[nodiscard]] std::optional<Arrival> next();
    // The same, and asks to be woken again: after that, whatever comes next is an event. True: nothing was asked for
    // before, so that everything must be looked at once more before a sleep.
    bool take();
    void sleep(std::chrono::microseconds most);
    void interrupt();  // from any thread

private:
    void quieten_bell() const;

    const Device& device_;
    bool on_ = false;
    bool expecting_ = false;
    bool watched_ = false;  // one of the two
    std::deque<Arrival> arrived_;
    bool armed_ = false;               // the next arrival is an event
    std::atomic<bool> fired_ = false;  // there was one since
    int bell_;                         // eventfd of interrupt()
};

}  // namespace loom::transport
