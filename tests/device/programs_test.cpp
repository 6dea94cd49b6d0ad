// Random programs: correct ones raise no alarm and no rank ever hangs, and a planted fault is named.
#include <gmock/gmock.h>

#include <map>

#include "device/programs.hpp"
#include "loom/base/settings.hpp"

namespace loom::device {
namespace {

using test::options_of;
using test::play;
using test::Program;
using test::random_program;
using test::Sent;
using test::Step;
using testing::HasSubstr;

std::uint64_t cases(std::uint64_t otherwise) {
    const auto asked = settings::read(Setting::test_cases);
    return asked ? otherwise * std::stoull(*asked) : otherwise;
}

TEST(Programs, correct_ones_raise_no_alarm_and_have_the_right_bytes_in_every_order_of_turns) {
    for (std::uint64_t seed = 0; seed < cases(10'000); ++seed) {
        const Program program = random_program(seed);

        EXPECT_EQ(play(program, options_of(program, seed, true)), 0u) << "seed " << seed;
    }
}

TEST(Programs, correct_ones_have_the_right_bytes_with_threads_for_each_role) {
    for (std::uint64_t seed = 0; seed < cases(10'000) / 100; ++seed) {
        const Program program = random_program(seed);
        Options options = options_of(program, seed, false);
        options.seed.reset();
        options.roles = Roles::apart;

        EXPECT_EQ(play(program, options), 0u) << "seed " << seed;
    }
}

enum class Fault {
    read_too_early,
    buffer_reused,
    two_writers,
    lost_notification,
    wrong_tag,
    wrong_rank,
    no_such_rank,
    out_of_bounds,
    too_many_blocks,
    circular_wait,
};
constexpr int faults = 10;

struct Planted {
    Program program;
    Sent message;  // the one with the fault
    bool possible = true;
};

void insert(std::vector<Step>& script, std::size_t at, Step step) {
    script.insert(script.begin() + static_cast<std::ptrdiff_t>(at), step);
}

void wait_before_notifying(Program& program, std::uint32_t rank, std::uint32_t other) {
    auto& script = program.scripts[rank];
    insert(script, 0, {Step::Do::notify, other, 200 + rank, 0, 0, 0, 0, 0});
    insert(script, 0, {Step::Do::wait, 0, 200 + other, 1, 0, 0, 0, 0});
}

Planted plant(Fault fault, std::uint64_t seed) {
    Random random(seed ^ 0x5eed);
    Planted planted{random_program(seed), {}, true};
    Program& program = planted.program;
    if (program.sent.empty()) return {program, {}, false};
    const Sent message = planted.message = program.sent[random.below(static_cast<std::uint32_t>(program.sent.size()))];
    auto& sender = program.scripts[message.from];
    auto& target = program.scripts[message.to];
    Step& send = sender[message.send_step];
    const bool one = send.what == Step::Do::put_notify;
    switch (fault) {
        case Fault::read_too_early:
            insert(target, message.phase_step, Step(target[message.read_step]));
            break;
        case Fault::buffer_reused:
            planted.possible = program.remote(message);  // inside a device a put is done when it returns
            insert(sender, message.send_step + (one ? 1 : 2),
                   {Step::Do::write, 0, 0, 0, message.source, 0, message.bytes, 0});
            break;
        case Fault::two_writers:
            insert(target, message.phase_step, {Step::Do::write, 0, 0, 0, message.place, 0, message.bytes, 1});
            break;
        case Fault::lost_notification:
            if (one)
                send.what = Step::Do::put;
            else
                sender.erase(sender.begin() + static_cast<std::ptrdiff_t>(message.send_step) + 1);
            break;
        case Fault::wrong_tag:
            (one ? send : sender[message.send_step + 1]).tag = 250;
            break;
        case Fault::wrong_rank: {
            const std::uint32_t other = (message.to + 1) % program.ranks();
            for (const Sent& each : program.sent)  // whose wait would use it up
                planted.possible &= each.to != other || each.tag != message.tag;
            if (one) {
                send.what = Step::Do::put;
                insert(sender, message.send_step + 1, {Step::Do::notify, other, message.tag, 0, 0, 0, 0, 0});
            } else {
                sender[message.send_step + 1].rank = other;
            }
            break;
        }
        case Fault::no_such_rank:
            send.rank = program.ranks();
            break;
        case Fault::out_of_bounds:
            send.to = program.window - message.bytes + 1;
            break;
        case Fault::too_many_blocks:
            break;
        case Fault::circular_wait:
            wait_before_notifying(program, message.from, message.to);
            wait_before_notifying(program, message.to, message.from);
            break;
    }
    return planted;
}

// What it says, or nothing: the program was played to its end.
std::string said(const Planted& planted, Fault fault, std::uint64_t seed) {
    Options options = options_of(planted.program, seed, true);
    if (fault == Fault::too_many_blocks) options.ranks = options.occupancy.resident(1) + 1;
    try {
        (void)play(planted.program, options);
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

std::string rank(std::uint32_t number) {
    return "rank " + std::to_string(number);
}

// The words with which the fault must be named.
std::vector<std::string> names(Fault fault, const Planted& planted) {
    const Sent& message = planted.message;
    switch (fault) {
        case Fault::read_too_early:
            return {"race at byte", rank(message.to) + ": read of", rank(message.from) + ": dcuda_put"};
        case Fault::buffer_reused:
            return {"race at byte", rank(message.from) + ": write of", rank(message.from) + ": dcuda_put",
                    "reading its buffer"};
        case Fault::two_writers:
            return {"race at byte", rank(message.to) + ": write of", rank(message.from) + ": dcuda_put"};
        case Fault::lost_notification:
            return {"no rank sends tag " + std::to_string(message.tag) + " to " + rank(message.to) + ";"};
        case Fault::wrong_tag:
            return {"no rank sends tag " + std::to_string(message.tag) + " to " + rank(message.to) + ",",
                    "tag 250 to " + rank(message.to) + " was sent and never used"};
        case Fault::wrong_rank:
            return {"no rank sends tag " + std::to_string(message.tag) + " to " + rank(message.to) + ",",
                    "tag " + std::to_string(message.tag) + " to " + rank((message.to + 1) % planted.program.ranks()) +
                        " was sent and never used"};
        case Fault::no_such_rank:
            return {rank(message.from) + ": dcuda_put", "there is no " + rank(planted.program.ranks())};
        case Fault::out_of_bounds:
            return {rank(message.from) + ": dcuda_put", "exceed the " + std::to_string(planted.program.window)};
        case Fault::too_many_blocks:
            return {"a device holds 208 blocks of 1 threads at once, not 209"};
        case Fault::circular_wait:
            return {
                "ranks wait for each other",
                rank(message.from) + " waits for tag " + std::to_string(200 + message.to) + " of " + rank(message.to),
                rank(message.to) + " waits for tag " + std::to_string(200 + message.from) + " of " +
                    rank(message.from)};
    }
    return {};
}

TEST(Programs, two_hundred_planted_faults_are_named_and_replayed_from_their_seed) {
    int planted_faults = 0;
    std::map<int, int> kinds;
    for (std::uint64_t seed = 0; planted_faults < 200; ++seed) {
        const int kind = static_cast<int>(seed % faults);
        const auto fault = static_cast<Fault>(kind);
        const Planted planted = plant(fault, seed);
        if (!planted.possible) continue;
        ++planted_faults;
        ++kinds[kind];

        const std::string what = said(planted, fault, seed);

        for (const std::string& name : names(fault, planted))
            EXPECT_THAT(what, HasSubstr(name)) << "seed " << seed << ", fault " << kind;
        EXPECT_EQ(said(planted, fault, seed), what) << "seed " << seed;
    }
    EXPECT_EQ(kinds.size(), faults);
}

}  // namespace
}  // namespace loom::device
