// Sleeping instead of polling, and what ends it.
#pragma once

#include <atomic>
#include <chrono>

#include "transport/verbs/device.hpp"

namespace loom::transport {

class Wakes {
public:
    explicit Wakes(const Device& device);
    ~Wakes();
    Wakes(const Wakes&) = delete;
    Wakes& operator=(const Wakes&) = delete;

    void turn(bool on);
    [[nodiscard]] bool on() const { return on_; }
    // Takes out what woke us, and puts as much back for the next time: without room a peer could not go on.
    int drain();
    // The same, and asks to be woken again: after that, whatever comes next is an event. True: nothing was asked for
    // before, so that everything must be looked at once more before a sleep.
    bool take();
    void sleep(std::chrono::microseconds most);
    void interrupt();  // from any thread

private:
    void quieten_bell() const;

    const Device& device_;
    bool on_ = false;
    bool armed_ = false;               // the next arrival is an event
    std::atomic<bool> fired_ = false;  // there was one since
    int bell_;                         // eventfd of interrupt()
};

}  // namespace loom::transport
