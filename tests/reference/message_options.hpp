// Settings of the message level, drawn at random.
#pragma once

#include "loom/base/random.hpp"
#include "loom/sim/options.hpp"

namespace loom::sim {

// All parameters are small multiples of one number, some of them 0: many events come at one moment.
inline Options round_options(std::uint64_t seed, std::int64_t unit) {
    Random random(seed);
    Options options;
    options.message.flows = random.below(2) == 0;
    options.message.parameters = {.L = Time{unit * random.below(4)},
                                  .o = Time{unit * random.below(3)},
                                  .g = Time{unit * random.below(4)},
                                  .G = random.below(2) == 0 ? 0 : unit * random.below(2),
                                  .O = random.below(3) == 0 ? unit : 0,
                                  .S = random.below(3) * 10};
    options.local = {.copy = unit * random.below(2), .reduce = unit * random.below(3)};
    return options;
}

inline Options any_options(std::uint64_t seed) {
    Random random(seed);
    Options options;
    options.message.flows = true;
    options.message.parameters = {.L = Time{random.below(9000)},
                                  .o = Time{random.below(5000)},
                                  .g = Time{random.below(5000)},
                                  .G = random.below(900),
                                  .O = random.below(300),
                                  .S = random.below(40)};
    options.local = {.copy = random.below(300), .reduce = random.below(500)};
    return options;
}

}  // namespace loom::sim
