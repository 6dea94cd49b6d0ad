// One measurement in a process of its own, so that its peak memory is its own.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "loom/fabric/fabric.hpp"

namespace loom::bench {

// What the child hands back. `notes` must not contain a newline.
struct Measured {
    double seconds = 0;  // wall time of the fastest repetition: what the machine can do undisturbed
    double median = 0;   // of all repetitions
    double cpu = 0;      // processor time of the cheapest repetition, all threads together
    unsigned repetitions = 0;
    std::size_t bytes = 0;  // of the result (tables, ...)
    double amount = 0;      // work done in one repetition, for rates
    std::size_t hosts = 0;
    std::size_t switches = 0;
    long peak_kilobytes = 0;  // largest resident set of the child
    std::string notes;
    bool ok = true;

    void count(const fabric::Fabric& fabric);
};

// Repeats `work` until two seconds are spent or `most` times, and times it.
void repeat(Measured& measured, unsigned most, const std::function<void()>& work);

// Calls `work` in a forked child and waits for it. A child that throws gives ok = false and the message in notes.
[[nodiscard]] Measured in_child(const std::function<void(Measured&)>& work);

// One printed line.
struct Line {
    std::string group;  // "routing", "check", ...
    std::string size;   // "3-level 24-port tree"
    std::string what;   // engine or analysis
    unsigned threads = 1;
    Measured measured;
    std::string rate;         // "5,120 patterns/s", empty when there is none
    double peer_seconds = 0;  // 0: the peer was not run
    long peer_kilobytes = 0;
    std::string peer;  // who

    [[nodiscard]] double ratio() const { return measured.seconds > 0 ? peer_seconds / measured.seconds : 0; }
};

void print_header();
void print(const Line& line);
// The same as JSON, with the machine and the time.
[[nodiscard]] std::string to_json(const std::vector<Line>& lines);

}  // namespace loom::bench
