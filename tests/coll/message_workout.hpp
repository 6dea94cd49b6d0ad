// Random messages between two ranks by seed, with collectives on the same communicators in flight beside them.
#pragma once

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "coll/workout.hpp"
#include "loom/coll/typed.hpp"

namespace loom::coll {

struct MessageWorkout {
    std::uint64_t seed = 1;
    std::uint32_t batches = 5;
    std::uint32_t messages = 60;                     // in flight at once, of all ranks
    std::uint64_t largest = std::uint64_t{1} << 20;  // bytes
};

namespace workout {

struct Letter {
    Rank from, to;
    std::uint32_t tag = 0, comm = 0, number = 0;
    std::size_t bytes = 0;

    [[nodiscard]] std::vector<std::uint8_t> content() const {
        std::vector<std::uint8_t> all(bytes);
        for (std::size_t i = 0; i < bytes; ++i) all[i] = static_cast<std::uint8_t>(i * 7 + i / 251 + number);
        return all;
    }
    [[nodiscard]] std::string describe() const {
        return "message " + std::to_string(number) + " of " + std::to_string(bytes) + " bytes from rank " +
               std::to_string(from.value) + " to rank " + std::to_string(to.value) + " with tag " + std::to_string(tag);
    }
};

inline Letter draw_letter(Random& random, std::uint32_t ranks, std::uint32_t number, std::uint64_t largest) {
    constexpr std::array<std::uint32_t, 4> tags{0, 1, 77, Communicator::tags - 1};
    Letter letter;
    letter.from = Rank{random.below(ranks)};
    letter.to = Rank{random.below(ranks)};
    letter.tag = tags[random.below(tags.size())];
    letter.comm = random.below(2);
    letter.number = number;
    letter.bytes = random.below(static_cast<std::uint32_t>(draw_size(random, largest)) + 1);
    return letter;
}

// This rank's end of a message.
struct End {
    const Letter* letter;
    bool sends;
    std::vector<std::uint8_t> data;
    Request request;
};

// In an order of this rank's own, but for messages that match by their order.
inline std::vector<End> ends_of(const std::vector<Letter>& letters, Rank me, Random& own) {
    std::vector<End> ends;
    for (const Letter& letter : letters) {
        if (letter.from == me) ends.push_back({&letter, true, letter.content(), {}});
        if (letter.to == me) ends.push_back({&letter, false, std::vector<std::uint8_t>(letter.bytes), {}});
    }
    own.shuffle(std::span(ends));
    // Of one kind they take the places of one kind, in their order.
    const auto kind = [](const End& end) {
        return std::tuple(end.sends, end.letter->from, end.letter->to, end.letter->tag, end.letter->comm);
    };
    for (std::size_t i = 0; i < ends.size(); ++i)
        for (std::size_t k = i + 1; k < ends.size(); ++k)
            if (kind(ends[i]) == kind(ends[k]) && ends[k].letter->number < ends[i].letter->number)
                std::swap(ends[i], ends[k]);
    return ends;
}

}  // namespace workout

// Collective: every rank of the world calls it with the same options. What was wrong at this rank, by line.
inline std::vector<std::string> exchange_messages(World& world, const MessageWorkout& how) {
    std::vector<std::string> troubles;
    const std::array<Communicator, 2> comms{world.communicator(), world.communicator().duplicate()};
    const Rank me = world.rank();
    const std::uint32_t ranks = world.size();
    Random common(how.seed);
    Random own = random_stream(how.seed, me.value);

    for (std::uint32_t batch = 0; batch < how.batches; ++batch) {
        std::vector<workout::Letter> letters;
        for (std::uint32_t i = 0; i < how.messages; ++i)
            letters.push_back(workout::draw_letter(common, ranks, batch * how.messages + i, how.largest));
        std::vector<workout::End> ends = workout::ends_of(letters, me, own);
        // Collectives begin among the messages: wherever this rank likes, but in the same order everywhere.
        constexpr std::size_t sums = 4;
        std::vector<std::uint64_t> in(how.largest / 64, me.value + batch);
        std::vector<std::vector<std::uint64_t>> out(sums, std::vector<std::uint64_t>(in.size()));
        std::vector<Request> sums_started;
        const auto start_sum = [&] {
            const std::size_t next = sums_started.size();
            sums_started.push_back(comms[next % 2].iallreduce(in, out[next], std::plus<>{}));
        };

        for (workout::End& end : ends) {
            if (sums_started.size() < sums && own.below(4) == 0) start_sum();
            const Communicator& comm = comms[end.letter->comm];
            end.request = end.sends ? comm.isend(end.data, end.letter->to, end.letter->tag)
                                    : comm.ireceive(end.data, end.letter->from, end.letter->tag);
            if (own.below(8) == 0) world.progress();
        }
        while (sums_started.size() < sums) start_sum();
        own.shuffle(std::span(ends));
        for (workout::End& end : ends) end.request.wait();
        for (Request& request : sums_started) request.wait();

        for (const workout::End& end : ends)
            if (end.data != end.letter->content())
                troubles.push_back(end.letter->describe() + (end.sends ? ": was changed" : ": is wrong"));
        const std::uint64_t sum = std::uint64_t{ranks} * (ranks - 1) / 2 + std::uint64_t{ranks} * batch;
        for (const auto& result : out)
            if (result != std::vector<std::uint64_t>(in.size(), sum))
                troubles.push_back("batch " + std::to_string(batch) + ": a sum beside messages is wrong");
    }
    return troubles;
}

}  // namespace loom::coll
