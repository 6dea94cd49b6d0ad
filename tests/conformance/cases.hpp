// The cases that every transport must pass, on any number of ranks. Each is collective.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "loom/transport/transport.hpp"

namespace loom::conformance {

struct Case {
    std::string name;
    void (*run)(transport::Transport&);  // throws when the transport is wrong
};

[[nodiscard]] const std::vector<Case>& cases();

// All of them, with a barrier after each; the name of the case stands before what it threw. `announce` (may be empty)
// is called before each.
void run_all(transport::Transport& transport, const std::function<void(const std::string&)>& announce = {});

}  // namespace loom::conformance
