#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "loom/coll/forecast.hpp"
#include "loom/fabric/io.hpp"
#include "loom/routing/engine.hpp"
#include "loom/routing/routed.hpp"
#include "loom/sim/simulation.hpp"
#include "loom/traffic/goal.hpp"
#include "support/process.hpp"

namespace {

using namespace loom;
using loom::test::loom_program;
using loom::test::Outcome;
using loom::test::slurp;
using loom::test::TemporaryFolder;
using nlohmann::json;
using testing::HasSubstr;

json answer_of(const std::string& arguments) {
    const Outcome done = loom_program("predict " + arguments + " --json");
    EXPECT_EQ(done.exit_code, 0) << done.err;
    return json::parse(done.out);
}

// A 4-ary 2-tree of 16 hosts on EDR and its tables.
class Predict : public testing::Test {
protected:
    void SetUp() override {
        ASSERT_EQ(loom_program("fabric new kary 4 2 --rate 4xEDR -q -o " + tree).exit_code, 0);
        ASSERT_EQ(loom_program("route " + tree + " --engine ftree -o " + tables).exit_code, 0);
    }
    [[nodiscard]] std::string on_tree() const { return " --fabric " + tree + " --tables " + tables; }

    TemporaryFolder folder;
    const std::string tree = folder.file("tree.json"), tables = folder.file("tree.lft"), goal = folder.file("c.goal");
};

Time played(sim::Level level, const std::string& tree, const traffic::Schedule& schedule) {
    routing::RoutedFabric routed;
    routed.fabric = fabric::read_fabric(tree).fabric;
    routing::Sources sources;
    sources.engine = &routing::find_engine("ftree");
    routing::open(routed, sources);
    const auto simulation = sim::make_simulation(
        level, {routed.graph.get(), &routed.tables, fabric::place_in_order(routed.fabric)}, schedule, {});
    EXPECT_EQ(simulation->advance(never), sim::State::finished);
    const std::vector<Time> ends = simulation->rank_ends();
    return *std::max_element(ends.begin(), ends.end());
}

TEST_F(Predict, TimesAreThoseOfADirectSimulation) {
    coll::UniformShape shape;
    shape.what = coll::Collective::allreduce;
    shape.ranks = 16;
    shape.bytes = 100'000;
    shape.per_host = 1;
    const coll::UniformCall call(shape);
    const coll::Parameters parameters = coll::imagined_parameters({.hosts = call.group().hosts, .link = model::Link{}});
    const coll::Forecast ring = coll::forecast(call, coll::plan_named(call, "ring", {}), parameters);

    const json object = answer_of("allreduce --bytes 100000 -a ring" + on_tree());

    EXPECT_EQ(object["ranks"], 16);
    EXPECT_EQ(object["rate_mbit_per_s"], 100'000);
    EXPECT_EQ(object["switches"], 3);
    const json& answer = object["answer"];
    EXPECT_DOUBLE_EQ(answer["model_s"], ring.time().seconds());
    EXPECT_DOUBLE_EQ(answer["flow_s"], played(sim::Level::flow, tree, ring.schedule).seconds());
    EXPECT_DOUBLE_EQ(answer["packet_s"], played(sim::Level::packet, tree, ring.schedule).seconds());
}

TEST_F(Predict, SaysWhatExportAndSimSay) {
    for (const std::string call : {"allreduce -n 16 -b 64KiB", "alltoall -n 16 -b 2KiB", "barrier -n 11"}) {
        ASSERT_EQ(loom_program("coll export " + call + " --goal " + goal).exit_code, 0);
        const json object = answer_of(call + on_tree());
        for (const std::string level : {"flow", "packet"}) {
            const Outcome sim =
                loom_program("sim --json --level " + level + " " + tree + " " + tables + " --goal " + goal);

            ASSERT_EQ(sim.exit_code, 0) << sim.err;
            EXPECT_DOUBLE_EQ(object["answer"][level + "_s"], json::parse(sim.out)["finish_s"]) << call << ' ' << level;
        }
        const std::string name = call.substr(0, call.find(' '));
        const std::string sizes =
            call.find("-b") == std::string::npos ? "" : " --bytes " + call.substr(call.find("-b") + 3);
        const Outcome model = loom_program("model predict --json --coll " + name + " --ranks " +
                                           std::to_string(object["ranks"].get<int>()) + sizes);
        ASSERT_EQ(model.exit_code, 0) << model.err;
        EXPECT_DOUBLE_EQ(object["answer"]["model_s"].get<double>() * 1e6, json::parse(model.out)["finish_us"]) << call;
    }
}

TEST_F(Predict, WritesTheScheduleItPredicted) {
    const json object = answer_of("allgather --bytes 4KiB --per-host 2 --level model --write-goal " + goal + on_tree());

    EXPECT_EQ(object["ranks"], 32);
    EXPECT_EQ(object["hosts"], 16);
    EXPECT_EQ(traffic::read_goal(slurp(goal), goal).size(), object["answer"]["operations"]);
    EXPECT_TRUE(object["answer"]["flow_s"].is_null());
}

TEST_F(Predict, ListsAllCandidatesTheQuickestFirst) {
    const json object = answer_of("allreduce --bytes 8KiB --all" + on_tree());

    const json& all = object["candidates"];
    ASSERT_GT(all.size(), 5u);
    for (std::size_t i = 1; i < all.size(); ++i)
        EXPECT_LE(all[i - 1]["packet_s"].get<double>(), all[i]["packet_s"].get<double>());
    EXPECT_EQ(object["answer"], all[0]);
}

TEST_F(Predict, StopsAtTheLevelAskedFor) {
    const json flow = answer_of("allreduce --bytes 8KiB --level flow" + on_tree());

    EXPECT_TRUE(flow["answer"]["flow_s"].is_number());
    EXPECT_TRUE(flow["answer"]["packet_s"].is_null());
}

TEST_F(Predict, LeavesOutTooManyPackets) {
    const Outcome done = loom_program("predict alltoall --bytes 128MiB -a linear" + on_tree());

    EXPECT_EQ(done.exit_code, 0);
    EXPECT_THAT(done.err, HasSubstr("the packet level is left out: 15,728,640 packets; --force plays them"));
    EXPECT_THAT(done.out, HasSubstr("  flow"));
    EXPECT_THAT(done.out, testing::Not(HasSubstr("  packet ")));
}

TEST_F(Predict, PlacesRanksAsSimDoes) {
    const std::string file = folder.file("places.txt");
    std::string names;
    for (int host = 15; host >= 8; --host)
        names += "host" + std::string(host < 10 ? "0" : "") + std::to_string(host) + "\n";
    std::ofstream(file) << names;
    ASSERT_EQ(loom_program("coll export allgather -n 8 -b 32KiB -a ring --goal " + goal).exit_code, 0);

    const json object = answer_of("allgather -b 32KiB -a ring --place " + file + on_tree());
    const Outcome sim = loom_program("sim --json --place " + file + " " + tree + " " + tables + " --goal " + goal);

    EXPECT_EQ(object["ranks"], 8);
    EXPECT_DOUBLE_EQ(object["answer"]["packet_s"], json::parse(sim.out)["finish_s"]);
}

TEST_F(Predict, RefusesWhatCannotBe) {
    const std::pair<std::string, std::string> cases[] = {
        {"alreduce" + on_tree(), "did you mean allreduce?"},
        {"allreduce -n 17" + on_tree(), "the fabric has places for 16"},
        {"allreduce --fabric " + tree, "expected either a TABLES file or --engine NAME"},
        {"allreduce --fabric " + tree + " --engine ftre", "ftree"},
        {"allreduce", "expected --ranks N, or --fabric FILE"},
        {"allreduce -n 4 --engine ftree", "need the --fabric"},
        {"allreduce -n 4 --place random", "need the --fabric"},
        {"allreduce --rate HDR" + on_tree(), "--rate is for predictions without a fabric"},
        {"allreduce -n 4 --rate fast", "expected SDR, DDR"},
        {"allreduce -n 4 -a rings", "allreduce has no algorithm 'rings'"},
        {"allreduce -n 4 --segment 4KiB", "belong to an --algorithm"},
        {"allreduce -n 4 --all -a ring", "--all lists all"},
        {"allreduce -n 4 --bytes few", "--bytes: expected a size"},
        {"allreduce -n 4 --parameters nothing", "expected a list such as"},
        {"broadcast -n 4 --root 4", "the root is rank 4"},
        {"allreduce --lid 1" + on_tree(), "--lid"},
    };
    for (const auto& [arguments, why] : cases) {
        const Outcome refused = loom_program("predict " + arguments);

        EXPECT_EQ(refused.exit_code, 2) << arguments;
        EXPECT_THAT(refused.err, HasSubstr(why)) << arguments;
        EXPECT_EQ(refused.out, "") << arguments;
    }
}

// A message of two ranks, 8 bytes: the rate is 7 bytes' worth of it.
TEST(PredictWithoutFabric, TakesTheRatesOfPresets) {
    const std::pair<const char*, int> rates[] = {
        {"SDR", 8'000},   {"ddr", 16'000},  {"QDR", 32'000},  {"FDR10", 40'000}, {"FDR", 54'544},    {"EDR", 100'000},
        {"HDR", 200'000}, {"NDR", 400'000}, {"XDR", 800'000}, {"1xHDR", 50'000}, {"12xEDR", 300'000}};
    double before = 1;
    for (const auto& [rate, megabits] : rates) {
        const json object = answer_of(std::string("broadcast -n 2 -b 1MiB -a linear --rate ") + rate);

        EXPECT_EQ(object["rate_mbit_per_s"], megabits) << rate;
        EXPECT_EQ(object["costs"]["G_ps_per_byte"], (8'000'000 + megabits / 2) / megabits) << rate;
        if (std::string(rate).find('x') == std::string::npos) {
            EXPECT_LT(object["answer"]["model_s"].get<double>(), before) << rate;
            before = object["answer"]["model_s"];
        }
    }
}

TEST(PredictWithoutFabric, SaysItsCostsInOneLineAsTheOthersDo) {
    const std::string line = "costs: copy 0.1 ns/B, reduce 0.2 ns/B, step 30 ns";
    const TemporaryFolder folder;
    const std::string goal = folder.file("a.goal");

    EXPECT_THAT(loom_program("predict allreduce -n 4").out,
                HasSubstr(line + ", o 120 ns, L 900 ns, g 0 s, G 0.08 ns/B (assumed)\n"));
    EXPECT_THAT(loom_program("model predict --coll allreduce --ranks 4").out,
                HasSubstr(line + ", o 120 ns, L 900 ns, g 0 s, G 0.08 ns/B (assumed)\n"));
    EXPECT_THAT(loom_program("coll export allreduce -n 4 --goal " + goal).out, HasSubstr(line + " (assumed)\n"));
    EXPECT_THAT(loom_program("sim --level message --goal " + goal).out, HasSubstr(line + " (assumed)\n"));
    EXPECT_THAT(loom_program("coll explain allreduce -n 5000").out, HasSubstr(line));
}

TEST(PredictWithoutFabric, TakesParametersFromAListAndFromFiles) {
    const TemporaryFolder folder;
    const std::string list = folder.file("list.txt"), object = folder.file("loggp.json"), odd = folder.file("odd.txt");
    std::ofstream(list) << "copy=50ps,reduce=70ps\n";
    std::ofstream(object) << R"({"origin": "measured 2026-11-16 10:00 UTC", "text": "copy=20ps,reduce=30ps,o=90ns"})";
    std::ofstream(odd) << "copy=50ps,what=70ps\n";

    const json given = answer_of("allreduce -n 4 --parameters copy=40ps");
    const json listed = answer_of("allreduce -n 4 --parameters " + list);
    const json measured = answer_of("allreduce -n 4 --parameters " + object);
    const Outcome refused = loom_program("predict allreduce -n 4 --parameters " + odd);

    EXPECT_EQ(given["costs"]["copy_ps_per_byte"], 40);
    EXPECT_EQ(given["costs"]["origin"], "copy=40ps over assumed");
    EXPECT_EQ(listed["costs"]["reduce_ps_per_byte"], 70);
    EXPECT_EQ(listed["costs"]["origin"], "from " + list);
    EXPECT_EQ(measured["costs"]["o_send_ps"], 90'000);
    EXPECT_EQ(measured["costs"]["G_ps_per_byte"], 80) << "the link's";
    EXPECT_EQ(measured["costs"]["origin"], "measured 2026-11-16 10:00 UTC, from " + object);
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_THAT(refused.err, HasSubstr("what=70ps"));
}

TEST(CollExplain, StartsNoMoreThanFourRanksForEachCore) {
    const Outcome text = loom_program("coll explain allreduce -n 5000 --bytes 4KiB");
    const Outcome object = loom_program("coll explain allreduce -n 5000 --bytes 4KiB --json");
    const Outcome few = loom_program("coll explain barrier -n 2 --json");

    EXPECT_EQ(text.exit_code, 0) << text.err;
    EXPECT_THAT(text.out, HasSubstr("no rank was started: 5000 are more than 4 for each of"));
    EXPECT_EQ(json::parse(object.out)["started_ranks"], 0);
    EXPECT_EQ(json::parse(object.out)["ranks"], 5000);
    EXPECT_EQ(json::parse(few.out)["started_ranks"], 2);
}

}  // namespace
