// What computation takes: every way to say it, noise, stragglers, and files of charges.
#include "loom/twin/computing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <time.h>

#include <filesystem>

#include "conformance/kit.hpp"
#include "loom/base/clock.hpp"
#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/twin/run.hpp"
#include "virtual/tree.hpp"

namespace loom::twin {
namespace {

using testing::Each;
using testing::ElementsAre;
using transport::Transport;

Options with(std::uint32_t ranks, std::initializer_list<const char*> words) {
    Options options;
    options.ranks = ranks;
    for (const char* each : words) set(options.computing, each);
    return options;
}

// Ends of ranks that compute 10 us so often.
std::vector<Time> ends(const Options& options, unsigned times = 3) {
    std::vector<Time> result;
    const Result played = run(options, [&](Transport&) {
        for (unsigned i = 0; i < times; ++i) compute(microseconds(10));
    });
    for (const RankTimes& each : played.ranks) {
        EXPECT_EQ(each.computing, each.end);
        result.push_back(each.end);
    }
    return result;
}

TEST(Computing, TakesWhatIsSaid) {
    EXPECT_THAT(ends(with(2, {})), Each(microseconds(30)));
    EXPECT_THAT(ends(with(2, {"none"})), Each(Time{}));
    EXPECT_THAT(ends(with(2, {"declared 2.5"})), Each(microseconds(75)));
    EXPECT_THAT(ends(with(3, {"straggler 1 2", "straggler 2 0.5"})),
                ElementsAre(microseconds(30), microseconds(60), microseconds(15)));
}

TEST(Computing, ChargesReplaceWhatIsDeclared) {
    Options options = with(4, {});
    options.computing.how = Computing::How::charged;
    options.computing.charges = parse_charges("0: 1us 2us\n2-3: 4us*3 # all alike\n", "charges");

    EXPECT_THAT(ends(options),
                ElementsAre(microseconds(1 + 2 + 1), microseconds(30), microseconds(12), microseconds(12)));
    options.computing.charges = parse_charges("*: 5us\r\n\n  1 : 7ns", "charges");
    EXPECT_THAT(ends(options), ElementsAre(microseconds(15), nanoseconds(21), microseconds(15), microseconds(15)));
}

void burn(Time processor_time) {
    const auto used = [] {
        timespec now{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return nanoseconds(now.tv_sec * 1'000'000'000 + now.tv_nsec);
    };
    for (const Time begin = used(); used() - begin < processor_time;) {
    }
}

TEST(Computing, MeasuresWhatARankComputesAndNotItsWaiting) {
    const Result result = run(with(2, {"measured 10"}), [](Transport& transport) {
        if (transport.rank().value == 0) burn(milliseconds(3));
        conformance::barrier(transport);
    });

    EXPECT_EQ(result.state, sim::State::finished);
    EXPECT_GE(result.ranks[0].computing, milliseconds(30));
    EXPECT_LT(result.ranks[1].computing, result.ranks[0].computing);
    EXPECT_GE(result.ranks[1].end, milliseconds(30));  // it has waited for the other
    EXPECT_EQ(result.computing, "measured (differs from run to run), times 10");
}

TEST(Computing, NoiseIsDrawnFromTheSeed) {
    Options options = with(8, {"noise 20%"});
    const std::vector<Time> first = ends(options, 50);

    EXPECT_EQ(ends(options, 50), first);
    EXPECT_THAT(first, Each(testing::AllOf(testing::Ge(microseconds(400)), testing::Le(microseconds(600)))));
    EXPECT_NE(first[0], first[1]);
    options.simulation.seed = 2;
    EXPECT_NE(ends(options, 50), first);
}

TEST(Computing, NoiseDoesNotDependOnThreads) {
    const Tree tree(16);
    Options options = with(0, {"noise 5%", "stragglers 2 3"});
    options.level = sim::Level::packet;
    options.network = tree.network();
    const auto body = [](Transport& transport) {
        for (int i = 0; i < 5; ++i) {
            compute(microseconds(3));
            conformance::barrier(transport);
        }
    };
    options.simulation.threads = 1;
    const Result one = run(options, body);
    options.simulation.threads = 2;

    EXPECT_EQ(run(options, body).ranks, one.ranks);
}

TEST(Computing, StragglersAreDrawnFromTheSeed) {
    Options options = with(10, {"stragglers 3 4"});
    std::vector<Time> first = ends(options);

    EXPECT_EQ(ends(options), first);
    EXPECT_EQ(std::count(first.begin(), first.end(), microseconds(120)), 3);
    EXPECT_EQ(std::count(first.begin(), first.end(), microseconds(30)), 7);
    std::size_t others = 0;
    for (options.simulation.seed = 2; options.simulation.seed < 12; ++options.simulation.seed)
        others += ends(options) != first ? 1 : 0;
    EXPECT_GT(others, 5u);
}

TEST(Computing, SaysWhatItWas) {
    EXPECT_EQ(run(with(2, {}), [](Transport&) {}).computing, "declared");
    EXPECT_EQ(to_string(with(9, {"declared 2", "noise 5 %", "straggler 3 1.5", "stragglers 2 4"}).computing),
              "declared, times 2, noise 5 %, rank 3 times 1.5, 2 ranks drawn by the seed times 4");
    EXPECT_EQ(to_string(with(9, {"none", "noise 5%"}).computing), "none");
}

TEST(Computing, ReadsAFileOfCharges) {
    const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "loom_charges_of_ranks";
    write_file(file, "0: 2us\n");

    Options options = with(2, {});
    set(options.computing, "charged " + file.string());

    EXPECT_THAT(ends(options), ElementsAre(microseconds(6), microseconds(30)));
    EXPECT_EQ(to_string(options.computing), "charged");
    std::filesystem::remove(file);
    EXPECT_THROW(set(options.computing, "charged " + file.string()), IoError);
}

TEST(Computing, BadChargesAreNamedByLine) {
    const auto complaint = [](const char* text) -> std::string {
        try {
            (void)parse_charges(text, "f");
        } catch (const ParseError& error) {
            return error.what();
        }
        return "none";
    };

    EXPECT_EQ(complaint("0: 5us\nx: 5us\n"), "f:2: expected a rank below 16777216, or '*', found \"x: 5us\"");
    EXPECT_EQ(complaint("3-1: 5us"), "f:1: expected a rank from 3 on, found \": 5us\"");
    EXPECT_EQ(complaint("0 5us"), "f:1: expected ':' behind the rank, found \"5us\"");
    EXPECT_EQ(complaint("0:"), "f:1: expected a time like 5us, found \"\"");
    EXPECT_EQ(complaint("0: 5us 5"), "f:1: expected a time like 5us, found \"5\"");
    EXPECT_EQ(complaint("0: 5us*0"), "f:1: expected a count from 1 to 16777216 behind '*', found \"5us*0\"");
    EXPECT_EQ(complaint("0: 5us*99999999"),
              "f:1: expected a count from 1 to 16777216 behind '*', found \"5us*99999999\"");
    EXPECT_EQ(complaint("0-2: 5us\n1: 6us"), "f:2: expected one line for each rank: this one has charges already");
    EXPECT_EQ(complaint("99999999999: 5us"), "f:1: expected a rank below 16777216, or '*', found \"99999999999: 5us\"");
    EXPECT_EQ(complaint("# nothing\n\n"), "none");
}

TEST(Computing, WordsThatMakeNoSenseAreRefused) {
    for (const char* words :
         {"", "guessed", "declared x", "declared -1", "declared 1 2", "none 1", "noise", "noise 5", "noise 101%",
          "noise nan%", "straggler 1", "straggler x 2", "stragglers 2", "charged", "declared 1e9"}) {
        Computing computing;
        EXPECT_THROW(set(computing, words), UsageError) << words;
    }
    const auto nothing = [](Transport&) {};
    EXPECT_THROW(run(with(2, {"straggler 2 3"}), nothing), UsageError);
    Options options = with(2, {});
    options.computing.noise = 2;
    EXPECT_THROW(run(options, nothing), UsageError);
    options = with(2, {});
    options.computing.charges = parse_charges("2: 1us", "f");
    EXPECT_THROW(run(options, nothing), UsageError);
}

}  // namespace
}  // namespace loom::twin
