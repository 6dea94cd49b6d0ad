// Schedules that no one would write: everything there is, at random. Not all of them end.
#pragma once

#include <algorithm>
#include <vector>

#include "loom/base/random.hpp"
#include "loom/traffic/schedule.hpp"

namespace loom::reference {

struct RandomSchedule {
    std::uint32_t ranks = 4;
    std::uint32_t messages = 40;
    std::uint32_t most_bytes = 40;
    std::uint32_t tags = 3;
    std::uint32_t cores = 1;
    std::uint32_t adapters = 1;
    std::uint32_t most_work = 20;  // nanoseconds; 0 is drawn, too
    bool wild = false;             // receives that take anything
    bool narrow = false;           // most messages go to rank 0
    bool local = false;            // copies and reductions, too
};

inline traffic::Schedule make_random(const RandomSchedule& shape, std::uint64_t seed) {
    Random random(seed);
    traffic::ScheduleBuilder builder(shape.ranks);
    const auto place = [&](traffic::Op op) {
        op.cpu = static_cast<std::uint8_t>(random.below(shape.cores));
        op.nic = static_cast<std::uint8_t>(random.below(shape.adapters));
        return op;
    };
    const auto add = [&](std::uint32_t rank, const traffic::Op& op) {
        const std::uint32_t number = builder.add(Rank{rank}, place(op));
        for (std::uint32_t tries = random.below(3); tries > 0 && number > 0; --tries)
            builder.require(Rank{rank}, number, number - 1 - random.below(std::min(number, 5u)), random.below(3) == 0);
    };
    for (std::uint32_t message = 0; message < shape.messages; ++message) {
        const std::uint32_t from = random.below(shape.ranks);
        const std::uint32_t to = shape.narrow && random.below(4) != 0 ? 0 : random.below(shape.ranks);
        const std::uint32_t tag = random.below(shape.tags);
        // By the tag, so that a message is as long as its receive says, whichever of several that is.
        const std::uint64_t bytes = (tag * 7 + 3) % shape.most_bytes + 1;
        if (random.below(2) == 0)
            add(random.below(shape.ranks),
                {.amount = random.below(shape.most_work + 1) * 1000u, .peer = {}, .kind = traffic::OpKind::compute});
        if (shape.local)
            add(random.below(shape.ranks),
                {.amount = random.below(shape.most_bytes + 1),
                 .peer = {},
                 .kind = random.below(2) == 0 ? traffic::OpKind::copy : traffic::OpKind::reduce});
        add(from, {.amount = bytes, .peer = Rank{to}, .tag = tag, .kind = traffic::OpKind::send});
        traffic::Op receive{.amount = bytes, .peer = Rank{from}, .tag = tag, .kind = traffic::OpKind::receive};
        if (shape.wild && random.below(4) == 0) receive.peer = traffic::any_rank;
        if (shape.wild && random.below(4) == 0) receive.tag = traffic::any_tag;
        add(to, receive);
    }
    return builder.build();
}

}  // namespace loom::reference
