// The cases that windows must pass over every transport, on any number of ranks. Each is collective.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "loom/window/window.hpp"

namespace loom::conformance {

struct WindowCase {
    std::string name;
    void (*run)(window::World&);  // throws when windows are wrong
};

[[nodiscard]] const std::vector<WindowCase>& window_cases();

// All of them, with a barrier after each; the name of the case stands before what it threw.
void run_window_cases(window::World& world, const std::function<void(const std::string&)>& announce = {});

// Random programs of `rounds` rounds of puts and notifications, from a seed that all ranks share: memory and counts are
// what a sequential walk through the program says.
void random_program(window::World& world, std::uint64_t seed, std::uint32_t rounds);

}  // namespace loom::conformance
