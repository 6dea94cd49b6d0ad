#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "support/process.hpp"

namespace {

using loom::test::loom_program;
using loom::test::Outcome;
using loom::test::slurp;
using loom::test::TemporaryFolder;
using nlohmann::json;
using testing::HasSubstr;

TEST(ModelCommand, PredictsACollective) {
    const TemporaryFolder folder;
    const std::string picture = folder.file("linear.svg");
    const Outcome done = loom_program(
        "model predict --model loggp --coll broadcast:linear --ranks 3 --bytes 1 --parameters "
        "L=1us,o=100ns,g=0ns,G=0ps "
        "--json --draw " +
        picture);

    ASSERT_EQ(done.exit_code, 0) << done.err;
    const json object = json::parse(done.out);
    EXPECT_EQ(object["ranks"], 3);
    EXPECT_DOUBLE_EQ(object["finish_us"], 1.3);  // the second send begins after the first: o + o + L + o
    EXPECT_EQ(object["rank_ends_us"].size(), 3u);
    EXPECT_THAT(slurp(picture), HasSubstr("rank 2"));
}

TEST(ModelCommand, PredictsGoal) {
    const TemporaryFolder folder;
    const std::string file = folder.file("a.goal");
    std::ofstream(file)
        << ("num_ranks 2\nrank 0 {\nl1: send 10b to 1 tag 5\n}\nrank 1 {\nl1: recv 10b from 0 tag 5\n}\n");

    const Outcome done = loom_program("model predict --model loggops --goal " + file);

    EXPECT_EQ(done.exit_code, 0) << done.err;
    EXPECT_THAT(done.out, HasSubstr("the last rank ends after"));
}

TEST(ModelCommand, TellsTheFirstAndTheMiddleRankWhateverTheirNumbers) {
    const TemporaryFolder folder;
    const std::string file = folder.file("c.goal");
    std::ofstream(file) << "num_ranks 3\nrank 0 {\nl1: calc 5000\n}\nrank 1 {\nl1: calc 1000\n}\n"
                           "rank 2 {\nl1: calc 3000\n}\n";

    const Outcome done = loom_program("model predict --goal " + file);

    EXPECT_THAT(done.out, HasSubstr("the last rank ends after 5 us, the first after 1 us, half of them after 3 us"));
}

TEST(ModelCommand, SaysNoWhereSomethingWaitsForEver) {
    const TemporaryFolder folder;
    const std::string file = folder.file("b.goal");
    std::ofstream(file) << ("num_ranks 2\nrank 0 {\n}\nrank 1 {\nl1: recv 10b from 0 tag 5\n}\n");

    const Outcome done = loom_program("model predict --goal " + file);

    EXPECT_EQ(done.exit_code, 1);
    EXPECT_THAT(done.out, HasSubstr("for ever"));
}

TEST(ModelCommand, LogGopsObeysG) {
    const TemporaryFolder folder;
    const std::string file = folder.file("big.goal");
    std::ofstream(file)
        << ("num_ranks 2\nrank 0 {\nl1: send 100000b to 1 tag 5\n}\nrank 1 {\nl1: recv 100000b from 0 tag 5\n}\n");

    const Outcome model = loom_program("model predict --model loggops --parameters G=80ps --json --goal " + file);
    const Outcome sim = loom_program("sim --level message --loggops 'G 80' --json --goal " + file);

    ASSERT_EQ(model.exit_code, 0) << model.err;
    ASSERT_EQ(sim.exit_code, 0) << sim.err;
    EXPECT_DOUBLE_EQ(json::parse(model.out)["finish_us"].get<double>() * 1e-6,
                     json::parse(sim.out)["end_s"].get<double>());
}

TEST(ModelCommand, TellsItsParametersAndWhatIsOdd) {
    const TemporaryFolder folder;
    const std::string file = folder.file("odd.goal");
    std::ofstream(file)
        << ("num_ranks 2\nrank 0 {\nsend 8b to 1 tag 5\nsend 1b to 1 tag 6\n}\n"
            "rank 1 {\nrecv 4b from 0 tag 5\n}\n");

    const Outcome done = loom_program("model predict --model loggops --goal " + file);

    EXPECT_EQ(done.exit_code, 0);
    EXPECT_THAT(done.out, HasSubstr("6000 ps/B"));
    EXPECT_THAT(done.err, HasSubstr("1 message is larger than its receive"));
    EXPECT_THAT(done.err, HasSubstr("1 message arrived that no receive takes"));
}

TEST(ModelCommand, RefusesGoalWithoutRanksAndOptionsThatAGoalFileAnswers) {
    const TemporaryFolder folder;
    const std::string none = folder.file("none.goal"), one = folder.file("one.goal");
    std::ofstream(none) << "num_ranks 0\n";
    std::ofstream(one) << "num_ranks 1\nrank 0 {\n}\n";

    EXPECT_EQ(loom_program("model predict --goal " + none).exit_code, 2);
    EXPECT_EQ(loom_program("sim --level message --goal " + none).exit_code, 2);
    EXPECT_EQ(loom_program("model predict --ranks 7 --goal " + one).exit_code, 2);
    EXPECT_EQ(loom_program("model predict --bytes 7 --goal " + one).exit_code, 2);
    EXPECT_EQ(loom_program("model predict --goal " + one).exit_code, 0);
}

TEST(ModelCommand, RefusesWhatItCannotRead) {
    for (const char* words : {"model predict", "model predict --coll allreduce:best", "model predict --coll nothing",
                              "model predict --coll broadcast --bytes few",
                              "model predict --coll broadcast --parameters x=1", "model plot --coll neighbours"}) {
        const Outcome done = loom_program(words);

        EXPECT_EQ(done.exit_code, 2) << words;
        EXPECT_THAT(done.err, HasSubstr("loom: ")) << words;
    }
}

TEST(ModelCommand, PutsNeighboursOnAGrid) {
    const Outcome done = loom_program("model plot --coll neighbour_alltoall --ranks 16 --bytes 1KiB --json");

    ASSERT_EQ(done.exit_code, 0) << done.err;
    const json object = json::parse(done.out);
    ASSERT_GT(object["algorithms"].size(), 1u);
    for (const json& algorithm : object["algorithms"])
        EXPECT_GT(algorithm["points"].back()["us"].get<double>(), 0) << algorithm;
}

TEST(ModelCommand, PlotsAllAlgorithms) {
    const Outcome done = loom_program("model plot --coll allreduce --ranks 4 --bytes 4KiB --json");

    ASSERT_EQ(done.exit_code, 0) << done.err;
    const json object = json::parse(done.out);
    EXPECT_GT(object["algorithms"].size(), 4u);
    EXPECT_EQ(object["algorithms"][0]["points"].size(), 13u);
}

TEST(ModelCommand, PlotsOnlyWhatFits) {
    const auto algorithms = [](int ranks) {
        const Outcome done =
            loom_program("model plot --coll allgather --bytes 64 --json --ranks " + std::to_string(ranks));
        return json::parse(done.out)["algorithms"].size();
    };

    EXPECT_EQ(algorithms(4), algorithms(3) + 1);  // recursive doubling wants a power of two
}

TEST(ModelCommand, PlotsUpToTheLargestNumberThereIs) {
    const Outcome done = loom_program("model plot --coll barrier --ranks 2 --bytes 18446744073709551615 --json");

    ASSERT_EQ(done.exit_code, 0) << done.err;
    EXPECT_EQ(json::parse(done.out)["algorithms"][0]["points"].size(), 64u);
}

TEST(CollCommand, ExplainsOnRanksOfItsOwn) {
    const Outcome done = loom_program("coll explain allreduce --bytes 64KiB -n 3 --json");

    ASSERT_EQ(done.exit_code, 0) << done.err;
    const json object = json::parse(done.out);
    EXPECT_EQ(object["ranks"], 3);
    EXPECT_GT(object["candidates"].size(), 3u);
}

TEST(MeasureCommand, PrintsParameters) {
    const Outcome done = loom_program("measure loggp -n 2 --json");

    ASSERT_EQ(done.exit_code, 0) << done.err;
    const json object = json::parse(done.out);
    EXPECT_EQ(object["ranks"], 2);
    EXPECT_TRUE(object["parameters"]["near"].contains("small"));
    EXPECT_EQ(object["measured"], object["origin"].get<std::string>().starts_with("measured ")) << object["origin"];
}

}  // namespace
