// Every option does something: the same command with and without it gives different answers.
#include <gtest/gtest.h>

#include <regex>

#include "support/process.hpp"

namespace {

using loom::test::Outcome;
using loom::test::TemporaryFolder;

struct Pair {
    const char* command;
    const char* option;
};

// Names are files of the folder that prepare() fills.
constexpr Pair pairs[] = {
    {"fabric new kary 4 2 -o -", "--remove-links 3"},
    {"fabric new kary 4 2 -o -", "--remove-switches 1"},
    {"fabric new kary 4 2 -o -", "--remove-hosts 2"},
    {"fabric new kary 4 2 -o -", "--slow-links 3"},
    {"fabric new kary 4 2 -o - --remove-links 60%", "--take-last-cables"},
    {"fabric new kary 4 2 -o - --remove-links 3", "--seed 2"},
    {"fabric new kary 4 2 -o -", "--remove host03"},
    {"fabric new kary 4 2 -o -", "--cut L0-0:5"},
    {"fabric new kary 4 2 -o -", "--aggregation-nodes"},
    {"fabric new kary 4 2 -o -", "--shuffle nodes"},
    {"fabric new kary 4 2 -o -", "--shuffle ports"},
    {"fabric new kary 4 2 -o -", "--lmc 1"},
    {"fabric new kary 4 2 -o -", "--no-lids"},
    {"fabric new kary 4 2 -o -", "--rate 4xEDR"},
    {"fabric new pgft -m 4,4 -w 1,2 --radix 16 -o -", "--management-hosts 2"},
    {"fabric new pgft -m 4,4 -w 1,2 -p 1,2 -o -", "--adjacent"},
    {"fabric new pgft -m 4,4 -w 1,2 -o -", "--hosts-per-leaf 2"},
    {"fabric new clos -c 8 -r 1:3 -d 2 -o -", "--by-leaf"},
    {"fabric new clos -c 8 -o -", "--ports 20"},
    {"fabric new dragonfly -a 4 -p 2 -g 2 -o -", "--absolute"},
    {"fabric new dragonfly -a 4 -p 2 -g 2 -o -", "--groups 5"},
    {"fabric new rail --servers-per-unit 4 --rails 2 --spines 2 -o -", "--rail-only"},
    {"fabric new rail --servers-per-unit 4 --rails 2 --spines 2 -o -", "--parallel 2"},
    {"fabric new torus 3x3 -o -", "--mesh"},
    {"bisection tree.json random.lft --json", "--confidence 0.8"},
    {"bisection tree.json random.lft --json", "--seed 3"},
    {"bisection tree.json random.lft --json", "--precision 0.05"},
    {"congestion tree.json ftree.lft -p gather --json", "--fabric-only"},
    {"congestion tree.json random.lft -p shift --json", "--place random"},
    {"congestion tree.json random.lft -p shift --json", "--hosts host00,host05,host09"},
    {"map tree.json ftree.lft -p bruck --place random --moves 2000 --json", "--restarts 7"},
    {"map tree.json ftree.lft -p bruck --place random --moves 2000 --json", "--metric 3"},
    {"map tree.json ftree.lft -p bruck --place random --moves 2000 --json", "--duplex half"},
    {"map tree.json ftree.lft -p bruck --place random --json", "--moves 10"},
    {"report tree.json ftree.lft -o -", "--title Hello"},
    {"sim -s incast.scn --json", "--marking-rate 200"},
    {"sim -s incast.scn --json", "--ccti-timer 500"},
    {"sim -s incast.scn --json", "--threshold 0"},
    {"sim -s incast.scn --json", "--cct 'halving 2'"},
    {"sim -s incast.scn --json", "--mtu 512"},
    {"sim -s incast.scn --json", "--level flow"},
    {"sim tree.json random.lft -p shift --bytes 64KiB", "--slow 1"},
    {"sim tree.json random.lft -p shift:5 --bytes 64KiB --json", "--paths adaptive"},
    {"sim tree.json random.lft -p shift --bytes 64KiB --json", "--stages together"},
    {"sim --level message --schedule ring --ranks 8 --bytes 64KiB --json", "--loggops 'G 80'"},
    {"coll show reduce_scatter -n 8 -b 64 --json", "--in-place"},
    {"coll show allreduce -n 8 -b 64 -a hierarchical --json", "--per-host 4"},
    {"coll show barrier -a dissemination -n 8 --json", "--ways 3"},
    {"coll show broadcast -a chain -n 8 -b 64KiB --json", "--segment 4KiB"},
    {"coll show reduce -n 8 -b 64 -a binomial -r 0", "--root 3"},
    {"coll show reduce -n 8 -b 64 -a binomial --root 3 --all", "--ordered"},
    {"coll show neighbour_allgather -n 8 -r 0", "--grid 1x8"},
    {"coll export reduce -n 4 -b 1KiB --goal -", "--reduce 2"},
    {"coll export allgather -n 4 -b 1KiB --goal -", "--copy 2"},
    {"model predict --coll allreduce:ring --ranks 8 --bytes 1MiB --json", "--parameters L=1us"},
    {"reproduce zahavi-table-1", "--quick"},
};

class Options : public testing::Test {
protected:
    // In the folder, without what a clock said.
    [[nodiscard]] Outcome run(const std::string& arguments) const {
        Outcome outcome = loom::test::shell("cd '" + folder.path().string() + "' && '" LOOM_PROGRAM "' " + arguments);
        outcome.out =
            std::regex_replace(outcome.out, std::regex(R"([^\n]*("wall_s"|"seconds"| played in )[^\n]*\n)"), "");
        return outcome;
    }
    void SetUp() override {
        const Outcome made =
            run("fabric new kary 4 2 -o tree.json && '" LOOM_PROGRAM
                "' route tree.json --engine ftree -o ftree.lft && "
                "'" LOOM_PROGRAM
                "' route tree.json --engine random -o random.lft && printf '%s\\n' 'switch S 8' 'host A' "
                "'host B' 'host C' 'link A S:1 4xSDR' 'link B S:2 4xSDR' 'link C S:3 4xSDR' 'flow A-C from A to C "
                "bytes 2MB' "
                "'flow B-C from B to C bytes 2MB' 'congestion threshold 15' 'congestion marking_rate 0' "
                "'congestion ccti_timer 75' >incast.scn");
        ASSERT_EQ(made.exit_code, 0) << made.err;
    }
    TemporaryFolder folder;
};

TEST_F(Options, ChangeTheAnswer) {
    for (const auto& [command, option] : pairs) {
        const Outcome without = run(command);
        const Outcome with = run(std::string(command) + " " + option);

        EXPECT_EQ(with.exit_code, 0) << with.err;
        EXPECT_NE(with.out, without.out) << command << " " << option;
    }
}

TEST_F(Options, SetWhatTheirScenarioLinesSet) {
    for (const auto& [option, line] : {std::pair{"--marking-rate 40", "congestion marking_rate 40"},
                                       {"--ccti-timer 40", "congestion ccti_timer 40"},
                                       {"--threshold 3", "congestion threshold 3"},
                                       {"--mtu 1024", "mtu 1024"}}) {
        const Outcome by_option = run(std::string("sim -s incast.scn --json ") + option);
        const Outcome by_line = run(std::string("sim -s incast.scn --json --set '") + line + "'");

        EXPECT_EQ(by_option.exit_code, 0) << by_option.err;
        EXPECT_EQ(by_option.out, by_line.out) << option;
    }
}

}  // namespace
