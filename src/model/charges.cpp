#include <algorithm>

#include "loom/model/walk.hpp"

namespace loom::model {

Charges charges(const LogGp& p) {
    Charges c;
    c.way.small = {.send = p.o, .gap = p.g, .gap_byte = p.G, .latency = p.L, .take = p.o};
    c.way.large = c.way.small;
    c.local = p.local;
    return c;
}

Charges charges(const LogfP& p) {
    Charges c;
    c.way.small = {
        .send = p.o_min, .send_first = p.o_max, .gap = p.g, .gap_byte = p.G, .latency = p.L, .take = p.o_receive};
    c.way.large = c.way.small;
    c.free = p.f;
    c.local = p.local;
    return c;
}

Charges charges(const LogGops& p, const LocalCosts& local) {
    Charges c;
    c.way.small = {.send = p.o,

                   .send_byte = p.O,
                   .gap = p.g,
                   .gap_byte = p.G,
                   .latency = p.L,
                   .take = p.o,
                   .take_byte = std::max(p.O, p.G)};
    c.way.large = c.way.small;
    c.way.limit = p.S;
    c.waits_for = Large::match;
    c.taking = Taking::during_arrival;
    c.local = local;
    return c;
}

Time Prediction::finish() const {
    Time last{};
    for (const Time end : ends) last = std::max(last, end);
    return last;
}

}  // namespace loom::model
