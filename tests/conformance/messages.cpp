// Sends and receives.
#include "conformance/messages.hpp"

#include <algorithm>
#include <map>

#include "conformance/kit.hpp"
#include "loom/base/random.hpp"

namespace loom::conformance {

namespace {

struct Ring {
    Rank left, right;
    explicit Ring(const Transport& transport)
        : left((transport.rank().value + transport.size() - 1) % transport.size()),
          right((transport.rank().value + 1) % transport.size()) {}
};

constexpr std::uint64_t rounds_of_balls = 50;

std::uint64_t seed_of(Rank from, Rank to, std::uint64_t number) {
    return std::uint64_t{from.value} << 48 | std::uint64_t{to.value} << 32 | number;
}

// Around every power of two, where thresholds are, up to 8 MiB.
std::vector<std::size_t> sizes() {
    std::vector<std::size_t> all{0, 1, 2, 3, 7};
    for (std::size_t power = 8; power <= (std::size_t{1} << 20); power *= 2)
        all.insert(all.end(), {power - 1, power, power + 1});
    for (const std::size_t header : {16, 24, 32, 40, 48})
        for (const std::size_t power : {4096, 8192, 16384, 65536}) all.push_back(power - header);
    all.push_back((std::size_t{8} << 20) - 3);
    all.push_back(std::size_t{8} << 20);
    return all;
}

}  // namespace

void order_of_one_tag(Transport& transport) {
    constexpr std::size_t number = 200;
    const Ring ring(transport);
    Operations operations(transport);
    std::vector<Operation*> receives;
    for (std::size_t i = 0; i < number; ++i) {
        const std::size_t bytes = i % 7 == 3 ? 70'000 : i % 50;
        operations.send(ring.right, 5, content(seed_of(transport.rank(), ring.right, i), bytes));
        receives.push_back(&operations.receive(ring.left, 5, bytes));
    }
    operations.wait_and_check();

    for (std::size_t i = 0; i < number; ++i)
        require(receives[i]->data == content(seed_of(ring.left, transport.rank(), i), receives[i]->data.size()),
                "message " + std::to_string(i) + " is another one");
}

void tags_in_reverse(Transport& transport) {
    constexpr std::uint64_t number = 60;
    const Ring ring(transport);
    const auto tag = [](std::uint64_t i) { return (i % 2 == 0 ? i : ~std::uint64_t{0} << 40) + (i << 41) + i; };
    Operations operations(transport);
    std::vector<Operation*> receives;
    for (std::uint64_t i = 0; i < number; ++i)
        operations.send(ring.right, tag(i), content(seed_of(transport.rank(), ring.right, i), 100 * i * (i % 4)));
    barrier(transport);  // what could be delivered was, unexpected
    for (std::uint64_t i = number; i-- > 0;)
        receives.push_back(&operations.receive(ring.left, tag(i), 100 * i * (i % 4)));
    operations.wait_and_check();

    for (std::uint64_t i = 0; i < number; ++i) {
        const Bytes& data = receives[number - 1 - i]->data;
        require(data == content(seed_of(ring.left, transport.rank(), i), data.size()), "tags are mixed up");
    }
}

void every_size(Transport& transport) {
    const Ring ring(transport);
    for (const std::size_t bytes : sizes()) {
        if (bytes > 66'000 && bytes != (1u << 20) && transport.size() > 3) continue;  // for the time it takes
        for (const bool expected : {true, false}) {
            Operations operations(transport);
            Operation* receive = nullptr;
            const Bytes wanted = content(seed_of(ring.left, transport.rank(), bytes), bytes);
            if (expected) receive = &operations.receive(ring.left, bytes, bytes);
            operations.send(ring.right, bytes, content(seed_of(transport.rank(), ring.right, bytes), bytes));
            transport.progress();
            if (!expected) receive = &operations.receive(ring.left, bytes, bytes);
            operations.wait_and_check();
            require(receive->data == wanted, std::to_string(bytes) + " bytes came out different");
        }
    }
}

void to_itself(Transport& transport) {
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{100}, std::size_t{100'000}, std::size_t{1} << 20})
        for (const bool expected : {true, false}) {
            Operations operations(transport);
            Operation* receive = expected ? &operations.receive(transport.rank(), 3, bytes) : nullptr;
            operations.send(transport.rank(), 3, content(bytes, bytes));
            if (!expected) receive = &operations.receive(transport.rank(), 3, bytes);
            operations.wait_and_check();
            require(receive->data == content(bytes, bytes), "a message to itself came out different");
        }
}

void many_in_flight(Transport& transport) {
    const std::uint32_t ranks = transport.size();
    const std::uint64_t number = std::max<std::uint64_t>(40, 600 / ranks);
    const auto length = [](std::uint64_t i) { return i % 10 == 0 ? std::size_t{20'000} : static_cast<std::size_t>(i); };
    Operations operations(transport);
    std::vector<std::pair<Operation*, Bytes>> receives;
    for (std::uint64_t i = 0; i < number; ++i)
        for (std::uint32_t peer = 0; peer < ranks; ++peer)
            operations.send(Rank{peer}, i % 4, content(seed_of(transport.rank(), Rank{peer}, i), length(i)));
    for (std::uint64_t i = 0; i < number; ++i)
        for (std::uint32_t peer = 0; peer < ranks; ++peer)
            receives.emplace_back(&operations.receive(Rank{peer}, i % 4, length(i)),
                                  content(seed_of(Rank{peer}, transport.rank(), i), length(i)));
    operations.wait_and_check();

    for (const auto& [receive, wanted] : receives) require(receive->data == wanted, "a message is another one");
}

// The receiver learns that its memory has another length than the message; the transport goes on working.
void other_lengths(Transport& transport) {
    const Ring ring(transport);
    const std::vector<std::pair<std::size_t, std::size_t>> pairs{
        {10, 11}, {11, 10}, {0, 1}, {1, 0}, {500'000, 400'000}, {400'000, 500'000}, {10, 500'000}, {500'000, 10}};
    for (const bool expected : {true, false}) {
        for (const auto& [sent, wanted] : pairs) {
            Operations operations(transport);
            Operation* receive = expected ? &operations.receive(ring.left, 9, wanted) : nullptr;
            operations.send(ring.right, 9, Bytes(sent));
            if (!expected) receive = &operations.receive(ring.left, 9, wanted);
            operations.wait();
            receive->check(Outcome::mismatched);
            barrier(transport);
        }
    }
}

// An operation that is started where another is told to be finished: balls that go round by themselves.
void started_inside_finished(Transport& transport) {
    struct Player {
        Transport& transport;
        Ring ring;
        std::uint64_t caught = 0, thrown = 0;
        std::vector<std::uint64_t> in = {0}, out = {0};
        std::vector<std::uint64_t> in_hand = {0};
        bool throwing = false;
        Message send = {}, receive = {};

        void catch_next() {
            receive.owner = this;
            receive.finished = [](Message& message) { static_cast<Player*>(message.owner)->on_caught(); };
            if (transport.receive(ring.left, Tag{1}, std::as_writable_bytes(std::span(in)), receive)) on_caught();
        }
        void on_caught() {
            require(in[0] == caught, "a ball has another number than it should");
            if (++caught == rounds_of_balls) return;
            in_hand.push_back(in[0] + 1);
            catch_next();
            throw_next();
        }
        void throw_next() {
            if (throwing || in_hand.empty()) return;
            throwing = true;
            out[0] = in_hand.front();
            in_hand.erase(in_hand.begin());
            send.owner = this;
            send.finished = [](Message& message) { static_cast<Player*>(message.owner)->on_thrown(); };
            if (transport.send(ring.right, Tag{1}, std::as_bytes(std::span(out)), send)) on_thrown();
        }
        void on_thrown() {
            throwing = false;
            ++thrown;
            throw_next();
        }
    };
    Player player{.transport = transport, .ring = Ring(transport)};
    player.catch_next();
    player.throw_next();
    drive(transport, [&] { return player.caught == rounds_of_balls && player.thrown == rounds_of_balls; });

    require(player.in_hand.empty(), "a ball is left over");
}

// Any traffic at all, the same plan at every rank.
void random_traffic(Transport& transport) {
    struct Planned {
        Rank from, to;
        std::uint64_t tag;
        std::size_t bytes;
    };
    const std::uint32_t ranks = transport.size(), me = transport.rank().value;
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        Random random(seed * 1000 + ranks);
        std::vector<Planned> plan;
        for (unsigned i = 0; i < 60 * ranks; ++i) {
            const std::uint32_t shape = random.below(10);
            const std::size_t bytes = shape < 5   ? random.below(200)
                                      : shape < 8 ? random.below(20'000)
                                      : shape < 9 ? random.below(200'000)
                                                  : 0;
            plan.push_back({Rank{random.below(ranks)}, Rank{random.below(ranks)}, random.below(5), bytes});
        }
        // Sends and receives mixed as each rank likes, those of one pair and tag in the order of the plan.
        Random own(seed * 77 + me);
        std::vector<std::pair<std::size_t, bool>> steps;
        for (std::size_t i = 0; i < plan.size(); ++i) {
            if (plan[i].from.value == me) steps.emplace_back(i, true);
            if (plan[i].to.value == me) steps.emplace_back(i, false);
        }
        own.shuffle(std::span(steps));
        const auto kind = [&](const std::pair<std::size_t, bool>& step) {
            const Planned& planned = plan[step.first];
            return std::tuple(step.second, step.second ? planned.to : planned.from, planned.tag);
        };
        std::map<std::tuple<bool, Rank, std::uint64_t>, std::vector<std::size_t>> places;
        for (std::size_t i = 0; i < steps.size(); ++i) places[kind(steps[i])].push_back(i);
        for (const auto& [key, where] : places) {
            std::vector<std::pair<std::size_t, bool>> ordered;
            for (const std::size_t i : where) ordered.push_back(steps[i]);
            std::sort(ordered.begin(), ordered.end());
            for (std::size_t i = 0; i < where.size(); ++i) steps[where[i]] = ordered[i];
        }

        Operations operations(transport);
        std::vector<std::pair<std::size_t, Operation*>> receives;
        for (const auto& [i, is_send] : steps) {
            const Planned& planned = plan[i];
            if (is_send)
                operations.send(planned.to, planned.tag, content(seed * 100'000 + i, planned.bytes));
            else
                receives.emplace_back(i, &operations.receive(planned.from, planned.tag, planned.bytes));
            if (own.below(4) == 0) transport.progress();
        }
        operations.wait_and_check();

        for (const auto& [i, receive] : receives)
            require(receive->data == content(seed * 100'000 + i, plan[i].bytes),
                    "seed " + std::to_string(seed) + ": message " + std::to_string(i) + " is another one");
    }
}

// Messages that nobody has asked for yet stay with their sender beyond a bound. What comes behind them passes all the
// same, and all of them can be had in any order.
void early_messages_are_bounded(Transport& transport) {
    if (transport.size() == 1) return;  // what a rank sends to itself is kept nowhere
    constexpr std::uint64_t number = 3000;
    constexpr std::size_t most_early = 2 << 20;
    const auto bytes_of = [](std::uint64_t i) { return i % 5 == 0 ? i % 9 : 4000 + i % 9; };
    const Ring ring(transport);
    Operations operations(transport);
    std::vector<Operation*> sends;
    for (std::uint64_t i = 0; i < number; ++i)
        sends.push_back(
            &operations.send(ring.right, i, content(seed_of(transport.rank(), ring.right, i), bytes_of(i))));
    operations.send(ring.right, number, {});
    const Operation& last = operations.receive(ring.left, number, 0);
    drive(transport, [&] { return last.finished(); });
    Operations answers(transport);
    answers.send(ring.left, number + 1, {});
    const Operation& answer = answers.receive(ring.right, number + 1, 0);
    drive(transport, [&] { return answer.finished(); });  // the right one has seen all that there is to see

    std::size_t early = 0;
    for (const Operation* send : sends) early += send->finished() ? send->data.size() : 0;
    require(early < most_early, std::to_string(early) + " bytes were taken before anybody asked for them");
    barrier(transport);  // nobody asks for them before everybody has counted

    std::vector<Operation*> receives(number);
    for (std::uint64_t i = number; i-- > number / 2;) receives[i] = &operations.receive(ring.left, i, bytes_of(i));
    for (std::uint64_t i = 0; i < number / 2; ++i) receives[i] = &operations.receive(ring.left, i, bytes_of(i));
    operations.wait_and_check();
    answers.wait_and_check();
    for (std::uint64_t i = 0; i < number; ++i)
        require(receives[i]->data == content(seed_of(ring.left, transport.rank(), i), bytes_of(i)),
                "early message " + std::to_string(i) + " is another one");
}

}  // namespace loom::conformance
