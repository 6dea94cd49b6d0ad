// LogfP, with G: LogGP for adapters that work on several small messages at once (Hoefler 2008, II.2.3).
#pragma once

#include <cstdint>

#include "loom/base/time.hpp"
#include "loom/model/loggp.hpp"

namespace loom::model {

// P messages sent together cost the core P * o(P) with o(P) = o_min + o_max / P: o_max once, when the sends begin, and
// o_min for each. The adapter has room for f messages, each of which takes it g (and G a byte): the first f of a burst
// leave as fast as the core posts them, number f + i no sooner than i * g after the first. f = 1 is LogGP.
//
// The paper's chapter III counts in f only those beyond the first: its f is this one less 1.
struct LogfP {
    Time L = nanoseconds(2500);
    Time o_min = nanoseconds(180);
    Time o_max = nanoseconds(1600);
    Time o_receive{};  // an RDMA write costs its target's core nothing
    Time g = nanoseconds(1000);
    std::uint32_t f = 10;    // at least 1
    std::int64_t G = 1'000;  // ps a byte
    LocalCosts local{};
    friend bool operator==(const LogfP&, const LogfP&) = default;
};

}  // namespace loom::model
