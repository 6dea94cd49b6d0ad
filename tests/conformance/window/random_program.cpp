// Random programs of puts and notifications, beside what a sequential walk through them says.
#include <algorithm>
#include <cstring>
#include <map>

#include "conformance/kit.hpp"
#include "conformance/window/cases.hpp"
#include "loom/base/random.hpp"

namespace loom::conformance {

namespace {

using namespace window;

constexpr std::uint32_t region = 96;  // bytes of each source in each target's memory

// One step of one rank.
struct Step {
    enum class Kind : std::uint8_t { put, put_value, put_notify, put_value_notify, notify, flush } kind = Kind::put;
    std::uint32_t target = 0;
    std::uint64_t offset = 0;  // in the region
    Bytes data = {};
    std::uint32_t tag = 0;
    bool second = false;  // which of two windows
};

// How a round's notifications of a tag are waited for.
enum class Way : std::uint8_t { by_source, by_tag, in_two, by_mask, one_by_one, of_the_world };

struct Round {
    std::vector<std::vector<Step>> steps;  // by rank
    Way way = Way::by_tag;
    bool barrier = true;
};

Step random_step(Random& random, std::uint32_t ranks) {
    using Kind = Step::Kind;
    Step step;
    step.kind = static_cast<Kind>(random.below(6));
    step.target = random.below(ranks);
    step.tag = random.below(4) * 64 + random.below(2);
    step.second = random.below(2) != 0;
    const bool value = step.kind == Kind::put_value || step.kind == Kind::put_value_notify;
    const std::uint32_t bytes = value ? 8 : random.below(region / 2);
    step.offset = random.below(region - bytes + 1);
    step.data = content(random.below(1u << 30), bytes);
    return step;
}

bool notifies(const Step& step) {
    return step.kind == Step::Kind::put_notify || step.kind == Step::Kind::put_value_notify ||
           step.kind == Step::Kind::notify;
}

// The last step of a rank towards each other one notifies: whoever has all notifications has all data.
Round random_round(Random& random, std::uint32_t ranks) {
    Round round;
    round.way = static_cast<Way>(random.below(6));
    round.barrier = random.below(3) != 0;
    round.steps.resize(ranks);
    for (std::vector<Step>& steps : round.steps) {
        for (std::uint32_t i = random.below(12); i != 0; --i) steps.push_back(random_step(random, ranks));
        for (std::uint32_t target = 0; target < ranks; ++target)
            steps.push_back({.kind = Step::Kind::notify, .target = target, .tag = 64u * 3 + 1});
    }
    return round;
}

// What a rank's windows hold, and what it was told in a round: by window, tag and source.
struct Model {
    Bytes memory[2];
    std::map<std::pair<bool, std::uint32_t>, std::map<std::uint32_t, std::uint64_t>> told;
};

void walk(const Round& round, std::uint32_t me, Model& model) {
    model.told.clear();
    for (std::uint32_t source = 0; source < round.steps.size(); ++source)
        for (const Step& step : round.steps[source]) {
            if (step.target != me || step.kind == Step::Kind::flush) continue;
            if (step.kind != Step::Kind::notify)
                std::copy(step.data.begin(), step.data.end(),
                          model.memory[step.second].begin() +
                              static_cast<std::ptrdiff_t>(std::uint64_t{source} * region + step.offset));
            if (notifies(step)) ++model.told[{step.second, step.tag}][source];
        }
}

void act(const Round& round, std::uint32_t me, const Window (&windows)[2]) {
    for (const Step& step : round.steps[me]) {
        const Window& window = windows[step.second];
        const Rank to{step.target};
        const std::uint64_t at = std::uint64_t{me} * region + step.offset;
        std::uint64_t word = 0;
        if (step.data.size() == 8) std::memcpy(&word, step.data.data(), 8);
        switch (step.kind) {
            case Step::Kind::put:
                window.put(to, at, step.data);
                break;
            case Step::Kind::put_value:
                window.put_value(to, at, word);
                break;
            case Step::Kind::put_notify:
                window.put_notify(to, at, step.data, window::Tag{step.tag});
                break;
            case Step::Kind::put_value_notify:
                window.put_value_notify(to, at, word, window::Tag{step.tag});
                break;
            case Step::Kind::notify:
                window.notify(to, window::Tag{step.tag});
                break;
            case Step::Kind::flush:
                window.flush(to);
                break;
        }
    }
}

std::uint64_t sum_of(const std::map<std::uint32_t, std::uint64_t>& by_source) {
    std::uint64_t sum = 0;
    for (const auto& [source, count] : by_source) sum += count;
    return sum;
}

void wait_for_all(World& world, const Round& round, const Model& model, const Window (&windows)[2]) {
    std::map<std::pair<bool, std::uint32_t>, std::uint64_t> by_class;  // of tags, as a mask has them
    std::map<std::uint32_t, std::uint64_t> by_tag;
    for (const auto& [which, sources] : model.told) {
        const Window& window = windows[which.first];
        const window::Tag tag{which.second};
        by_class[{which.first, which.second & 0xc0}] += sum_of(sources);
        by_tag[which.second] += sum_of(sources);
        if (round.way == Way::by_source)
            for (const auto& [source, count] : sources) window.wait({tag, Rank{source}}, count);
        if (round.way == Way::by_tag) window.wait(tag, sum_of(sources));
        if (round.way == Way::in_two) {
            window.wait(tag, sum_of(sources) / 2);
            window.wait(tag, sum_of(sources) - sum_of(sources) / 2);
        }
        if (round.way == Way::one_by_one)
            for (std::uint64_t i = sum_of(sources); i != 0; --i) window.wait(tag);
    }
    if (round.way == Way::by_mask)
        for (const auto& [which, count] : by_class) windows[which.first].wait({window::Tag{which.second}, 0xc0}, count);
    if (round.way == Way::of_the_world)
        for (const auto& [tag, count] : by_tag) wait(world, window::Tag{tag}, count);
}

}  // namespace

void random_program(World& world, std::uint64_t seed, std::uint32_t rounds) {
    const Team team = world.team();
    const std::uint32_t ranks = team.size(), me = team.rank().value;
    Random random(seed);
    Bytes ordinary(region * ranks);
    const std::span<std::byte> shared = world.allocate(region * ranks);
    {
        const Window windows[2] = {team.create(ordinary), team.create(shared, {.tags = 256})};
        Model model{{Bytes(region * ranks), Bytes(region * ranks)}, {}};
        std::vector<Round> all;  // their data must stay until it is flushed
        for (std::uint32_t i = 0; i < rounds; ++i) {
            all.push_back(random_round(random, ranks));
            // A rank that is ahead has sent what another way of waiting would take for this round's.
            if (i != 0 && !all[i - 1].barrier) all[i].way = all[i - 1].way;
        }
        for (std::uint32_t i = 0; i < rounds; ++i) {
            const Round& round = all[i];
            walk(round, me, model);
            act(round, me, windows);
            wait_for_all(world, round, model, windows);
            // Without a barrier others may be a round ahead.
            if (!round.barrier && i + 1 < rounds) continue;
            const std::string where = "seed " + std::to_string(seed) + ", round " + std::to_string(i) + ": ";
            team.barrier();
            require(Bytes(ordinary) == model.memory[0], where + "ordinary memory holds something else");
            require(std::equal(shared.begin(), shared.end(), model.memory[1].begin()),
                    where + "shared memory holds something else");
            require(!test(world, Match::any()), where + "there is a notification too many");
            team.barrier();
        }
        for (Window window : windows) window.free();
    }
    world.release(shared);
}

}  // namespace loom::conformance
