// Early messages are bounded without a deadlock: every order of events of a small model of the verbs transport's rule,
// on two and three ranks. A rank whose peer keeps too much sends word of where a message is instead of the message, and
// word always passes. The rule that suggests itself, to leave in the ring what would be too much, is in the model as
// well, and does deadlock.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <string>
#include <unordered_set>
#include <vector>

#include "loom/base/random.hpp"

namespace loom::transport {
namespace {

struct Sent {
    int from, to;
};

// What ranks do: begin messages (of which each is the sender or the receiver) and wait for them.
struct Action {
    int message;
    bool waits;
};
struct Script {
    int ranks;
    std::vector<Sent> messages;
    std::vector<std::vector<Action>> of;  // by rank
};

// Messages are waited for in one order on all ranks, so that a transport that keeps nothing at all is enough; they
// begin at any time before.
Script random_script(int ranks, int messages, Random& random) {
    Script script{ranks, {}, std::vector<std::vector<Action>>(static_cast<std::size_t>(ranks))};
    for (int m = 0; m < messages; ++m) {
        const int from = static_cast<int>(random.below(static_cast<std::uint32_t>(ranks)));
        const int step = 1 + static_cast<int>(random.below(static_cast<std::uint32_t>(ranks - 1)));
        script.messages.push_back({from, (from + step) % ranks});
        for (const int rank : {from, (from + step) % ranks}) {
            auto& actions = script.of[static_cast<std::size_t>(rank)];
            const auto at = static_cast<std::ptrdiff_t>(random.below(static_cast<std::uint32_t>(actions.size() + 1)));
            actions.insert(actions.begin() + at, {m, false});
            actions.push_back({m, true});
        }
    }
    return script;
}

enum class Rule { sender_keeps, ring_keeps };

struct Limits {
    std::size_t ring, early;  // frames
    Rule rule;
};

class Model {
public:
    Model(const Script& script, const Limits& limits)
        : script_(script),
          limits_(limits),
          at_(script.of.size()),
          pairs_(static_cast<std::size_t>(script.ranks * script.ranks)),
          sent_(script.messages.size(), 'u'),
          received_(script.messages.size(), 'u') {}

    [[nodiscard]] bool over() const {
        for (std::size_t rank = 0; rank < at_.size(); ++rank)
            if (at_[rank] != script_.of[rank].size()) return false;
        return true;
    }
    [[nodiscard]] std::size_t most_kept() const {
        std::size_t most = 0;
        for (const Pair& pair : pairs_) most = std::max(most, kept(pair));
        return most;
    }
    [[nodiscard]] std::string key() const {
        std::string text = sent_ + received_;
        for (const std::size_t at : at_) text += static_cast<char>('0' + at);
        for (const Pair& pair : pairs_) {
            for (const auto* list : {&pair.ring, &pair.waiting, &pair.early}) {
                for (const Frame& frame : *list) text += {frame.kind, static_cast<char>('0' + frame.message)};
                text += '|';
            }
            text += {pair.full ? 'f' : '-', pair.known_full ? 'f' : '-'};
        }
        return text;
    }
    // Every state that is one event away.
    [[nodiscard]] std::vector<Model> next() const {
        std::vector<Model> all;
        const auto try_event = [&](auto&& event) {
            Model copy = *this;
            if (event(copy)) all.push_back(std::move(copy));
        };
        for (std::size_t rank = 0; rank < at_.size(); ++rank) try_event([=](Model& m) { return m.act(rank); });
        for (std::size_t pair = 0; pair < pairs_.size(); ++pair) {
            try_event([=](Model& m) { return m.take(pair); });
            try_event([=](Model& m) { return m.send_waiting(m.pairs_[pair]); });
            try_event([=](Model& m) {
                return std::exchange(m.pairs_[pair].known_full, m.pairs_[pair].full) != m.pairs_[pair].full;
            });
        }
        return all;
    }

private:
    struct Frame {
        char kind;  // 'e' a message, 'a' word of where one is, 't' word that it was taken
        int message;
    };
    // From one rank to another: the ring in the receiver's memory, what waits for room there, what the receiver keeps
    // of messages that nobody has asked for, and whether it wants no more of them.
    struct Pair {
        std::deque<Frame> ring, waiting, early;
        bool full = false, known_full = false;
    };

    [[nodiscard]] static std::size_t kept(const Pair& pair) {
        return static_cast<std::size_t>(
            std::count_if(pair.early.begin(), pair.early.end(), [](const Frame& f) { return f.kind == 'e'; }));
    }
    [[nodiscard]] std::size_t number(int from, int to) const {
        return static_cast<std::size_t>(from * script_.ranks + to);
    }
    [[nodiscard]] bool has_room(const Pair& pair) const { return pair.ring.size() < limits_.ring; }

    void send(Pair& pair, Frame frame) {
        if (pair.waiting.empty() && has_room(pair))
            put(pair, frame);
        else
            pair.waiting.push_back(frame);
    }
    void put(Pair& pair, Frame frame) {
        pair.ring.push_back(frame);
        if (frame.kind == 'e') sent_[static_cast<std::size_t>(frame.message)] = 'd';
    }

    bool act(std::size_t rank) {
        if (at_[rank] == script_.of[rank].size()) return false;
        const Action action = script_.of[rank][at_[rank]];
        const auto index = static_cast<std::size_t>(action.message);
        const Sent& message = script_.messages[index];
        const bool sends = message.from == static_cast<int>(rank);
        if (action.waits) {
            if ((sends ? sent_ : received_)[index] != 'd') return false;
        } else {
            (sends ? sent_ : received_)[index] = 'p';
            Pair& pair = pairs_[number(message.from, message.to)];
            if (sends)
                send(pair, {limits_.rule == Rule::sender_keeps && pair.known_full ? 'a' : 'e', action.message});
            else
                match(pair, action.message);
        }
        ++at_[rank];
        return true;
    }

    // A receive begins: its message may have come already.
    void match(Pair& pair, int message) {
        const auto early = std::find_if(pair.early.begin(), pair.early.end(),
                                        [&](const Frame& frame) { return frame.message == message; });
        if (early == pair.early.end()) return;
        const Frame frame = *early;
        pair.early.erase(early);
        if (kept(pair) <= limits_.early / 2) pair.full = false;
        deliver(frame);
    }
    void deliver(const Frame& frame) {
        const auto index = static_cast<std::size_t>(frame.message);
        received_[index] = 'd';
        const Sent& message = script_.messages[index];
        if (frame.kind == 'a') send(pairs_[number(message.to, message.from)], {'t', frame.message});
    }

    bool take(std::size_t which) {
        Pair& pair = pairs_[which];
        if (pair.ring.empty()) return false;
        const Frame frame = pair.ring.front();
        const auto index = static_cast<std::size_t>(frame.message);
        const bool expected = received_[index] == 'p';
        const bool is_too_much = frame.kind == 'e' && !expected && kept(pair) >= limits_.early;
        if (limits_.rule == Rule::ring_keeps && is_too_much) return false;
        pair.ring.pop_front();
        if (frame.kind == 't') {
            sent_[index] = 'd';
        } else if (expected) {
            deliver(frame);
        } else {
            pair.early.push_back(frame);
            if (kept(pair) > limits_.early) pair.full = true;
        }
        // Word that it is full travels before the credit for what was taken.
        if (pair.full) pair.known_full = true;
        return true;
    }

    bool send_waiting(Pair& pair) {
        if (pair.waiting.empty() || !has_room(pair)) return false;
        Frame frame = pair.waiting.front();
        pair.waiting.pop_front();
        if (limits_.rule == Rule::sender_keeps && frame.kind == 'e' && pair.known_full) frame.kind = 'a';
        put(pair, frame);
        return true;
    }

    const Script& script_;
    Limits limits_;
    std::vector<std::size_t> at_;
    std::vector<Pair> pairs_;
    std::string sent_, received_;  // by message: unknown, pending, done
};

struct Verdict {
    bool deadlocks = false;
    std::size_t most_kept = 0;
    std::size_t states = 0;
};

Verdict explore(const Script& script, const Limits& limits) {
    Verdict verdict;
    std::unordered_set<std::string> known;
    std::vector<Model> open{Model(script, limits)};
    known.insert(open.back().key());
    while (!open.empty()) {
        const Model state = std::move(open.back());
        open.pop_back();
        verdict.most_kept = std::max(verdict.most_kept, state.most_kept());
        bool moves = false;
        for (Model& next : state.next()) {
            moves = true;
            if (known.insert(next.key()).second) open.push_back(std::move(next));
        }
        if (!moves && !state.over()) verdict.deadlocks = true;
    }
    verdict.states = known.size();
    return verdict;
}

class EarlyModel : public testing::TestWithParam<int> {};

// What is in the ring when the sender hears that enough is kept is kept as well.
TEST_P(EarlyModel, EveryOrderOfEventsComesToItsEndWithinTheBound) {
    const int ranks = GetParam();
    Random random(static_cast<std::uint64_t>(ranks));
    std::size_t states = 0;
    for (int i = 0; i < 60; ++i) {
        const Script script = random_script(ranks, ranks == 2 ? 5 : 4, random);
        const Limits limits{1 + random.below(2), random.below(2), Rule::sender_keeps};

        const Verdict verdict = explore(script, limits);

        ASSERT_FALSE(verdict.deadlocks) << "script " << i;
        ASSERT_LE(verdict.most_kept, limits.early + limits.ring) << "script " << i;
        states += verdict.states;
    }
    EXPECT_GT(states, 10'000u);
}

TEST_P(EarlyModel, LeavingThemInTheRingDeadlocks) {
    const int ranks = GetParam();
    Random random(static_cast<std::uint64_t>(ranks));
    bool deadlocks = false;
    for (int i = 0; i < 150 && !deadlocks; ++i) {
        const Script script = random_script(ranks, ranks == 2 ? 6 : 5, random);
        deadlocks = explore(script, {1, 0, Rule::ring_keeps}).deadlocks;
    }
    EXPECT_TRUE(deadlocks);
}

INSTANTIATE_TEST_SUITE_P(Ranks, EarlyModel, testing::Values(2, 3));

}  // namespace
}  // namespace loom::transport
