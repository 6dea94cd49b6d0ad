#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

#include "support/process.hpp"

namespace {

using loom::test::loom_program;
using loom::test::Outcome;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Command {
    std::string path;  // "fabric new"
    bool has_children = false;
    std::string options;
};

// All commands, as the completion script lists them.
std::vector<Command> all_commands() {
    const Outcome script = loom_program("completion bash");
    std::vector<Command> commands;
    const std::regex entry(R"(^ *'loom ?([^']*)'\) commands='([^']*)' options='([^']*)')");
    std::istringstream lines(script.out);
    for (std::string line; std::getline(lines, line);) {
        std::smatch match;
        if (std::regex_search(line, match, entry)) commands.push_back({match[1], match[2].length() > 0, match[3]});
    }
    return commands;
}

TEST(Commands, AnswerHelp) {
    std::vector<std::string> silent;

    const auto commands = all_commands();
    for (const Command& command : commands) {
        const Outcome outcome = loom_program(command.path + " --help");
        if (outcome.exit_code != 0 || outcome.out.size() < 100 || !outcome.err.empty()) silent.push_back(command.path);
    }

    EXPECT_GE(commands.size(), 2u);
    EXPECT_THAT(silent, IsEmpty());
}

// What to ask each command for: something small, in a folder with a tree and its tables.
const std::map<std::string, std::string> small_questions{
    {"twin run", "-n 2 true"},
    {"twin cc", "-c prog.c"},
    {"demo", "demo"},
    {"fabric new kary", "4 2 -o a.json"},
    {"fabric new pgft", "-m 4,4 -w 1,2 -o b.json"},
    {"fabric new clos", "-c 8 -o c.json"},
    {"fabric new torus", "3x3 -o d.json"},
    {"fabric new dragonfly", "-a 4 -p 2 -g 2 -o e.json"},
    {"fabric new rail", "--servers-per-unit 4 --rails 2 --spines 2 -o f.json"},
    {"fabric show", "tree.json"},
    {"fabric convert", "tree.json tree.topo"},
    {"fabric damage", "tree.json --remove-links 1 -o damaged.json"},
    {"fabric order", "tree.json -o order.txt"},
    {"fabric draw", "tree.json -o tree.svg"},
    {"route", "tree.json -o other.lft"},
    {"check", "tree.json tree.lft"},
    {"congestion", "tree.json tree.lft -p ring"},
    {"bisection", "tree.json tree.lft"},
    {"map", "tree.json tree.lft -p ring --moves 100"},
    {"sim", "tree.json tree.lft -p ring --bytes 4KiB"},
    {"manage", "-s testbed.scn"},
    {"verbs run", "-- true"},
    {"verbs devices", ""},
    {"verbs counters", ""},
    {"verbs bench", ""},
    {"mpi run", "--mpi openmpi -- true"},
    {"mpi env", "--mpi openmpi -- true"},
    {"run", "-n 2 true"},
    {"coll list", ""},
    {"coll show", "barrier -n 4"},
    {"coll export", "barrier -n 4 --goal barrier.goal"},
    {"coll explain", "barrier -n 2"},
    {"session table", ""},
    {"session watch", "."},
    {"session bench", "--rounds 20 --messages 10 --bytes 10000"},
    {"predict", "barrier --fabric tree.json --tables tree.lft"},
    {"measure loggp", "-n 2"},
    {"measure coll", "-n 2 --only barrier --rounds 3"},
    {"model predict", "--coll barrier --ranks 4"},
    {"model plot", "--coll barrier --ranks 4 -o barrier.svg"},
    {"report", "tree.json tree.lft -o page.html"},
    {"reproduce", "hoefler-remap --quick"},
    {"settings", ""},
    {"completion", "bash"},
};

TEST(Commands, AnswerInOneJsonObject) {
    const loom::test::TemporaryFolder folder;
    const auto inside = [&](const std::string& arguments) {
        return loom::test::shell("cd '" + folder.path().string() + "' && '" LOOM_PROGRAM "' " + arguments);
    };
    ASSERT_EQ(inside("fabric new kary 4 2 -o tree.json").exit_code, 0);
    ASSERT_EQ(inside("route tree.json -o tree.lft").exit_code, 0);
    std::filesystem::copy(LOOM_SOURCE_DIR "/examples/scenarios/testbed.scn", folder.path());

    for (const Command& command : all_commands()) {
        if (command.has_children) continue;
        const auto question = small_questions.find(command.path);
        ASSERT_NE(question, small_questions.end()) << "no small question for loom " << command.path;

        const Outcome outcome = inside(command.path + " --json " + question->second);

        EXPECT_EQ(outcome.exit_code, 0) << command.path << ": " << outcome.err;
        EXPECT_TRUE(nlohmann::json::parse(outcome.out, nullptr, false).is_object())
            << command.path << ": " << outcome.out;
    }
}

TEST(Commands, AreSuggestedWhenMisspelled) {
    const Outcome outcome = loom_program("completoin");

    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err, "loom: no such command: loom completoin; did you mean loom completion?\n");
}

TEST(Commands, SuggestOptions) {
    const Outcome outcome = loom_program("completion bash --jason");

    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.err, "loom: no such option: --jason; did you mean --json? (see loom completion --help)\n");
}

TEST(Commands, ReportBadUsageInOneLine) {
    for (const char* arguments :
         {"completion", "completion tcsh", "completion bash extra", "--nothing", "frobnicate"}) {
        const Outcome outcome = loom_program(arguments);

        EXPECT_EQ(outcome.exit_code, 2) << arguments;
        EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
        EXPECT_TRUE(outcome.err.starts_with("loom: ")) << outcome.err;
    }
}

TEST(Commands, AreListedWhenNoneIsGiven) {
    const Outcome outcome = loom_program("");

    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("completion"));
}

TEST(Commands, TellTheirVersion) {
    const Outcome outcome = loom_program("--version");

    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_TRUE(outcome.out.starts_with("loom ")) << outcome.out;
}

TEST(Commands, NoticeAFullDisk) {
    const Outcome outcome = loom::test::shell("'" LOOM_PROGRAM "' completion bash >/dev/full");

    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("standard output"));
}

// Completes as a person pressing tab would, in a real shell.
std::vector<std::string> complete(const std::string& line) {
    const Outcome outcome =
        loom::test::shell("bash -c 'source <(\"" LOOM_PROGRAM "\" completion bash); read -ra COMP_WORDS <<< \"" + line +
                          "\"; [[ \"" + line +
                          "\" == *\" \" ]] && COMP_WORDS+=(\"\"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _loom; "
                          "printf \"%s\\n\" \"${COMPREPLY[@]}\"'");
    EXPECT_EQ(outcome.err, "");
    std::vector<std::string> words;
    std::istringstream in(outcome.out);
    for (std::string word; std::getline(in, word);) words.push_back(word);
    return words;
}

TEST(Completion, CompletesCommandsAndOptionsInBash) {
    EXPECT_THAT(complete("loom compl"), ElementsAre("completion"));
    EXPECT_THAT(complete("loom completion --js"), ElementsAre("--json"));
    EXPECT_THAT(complete("loom "), Contains("completion"));
}

TEST(Completion, OffersTheWordsThatAnOptionTakes) {
    EXPECT_THAT(complete("loom route tree.json --engine dfs"), ElementsAre("dfsssp"));
    EXPECT_THAT(complete("loom congestion tree.json -p recursive"), Contains("recursive-doubling"));
    EXPECT_THAT(complete("loom map tree.json --duplex "), ElementsAre("full", "half"));
    EXPECT_THAT(complete("loom fabric convert --to db"), ElementsAre("db_csv"));
    EXPECT_THAT(complete("loom fabric order --to "), ElementsAre("opensm", "hosts"));
    EXPECT_THAT(complete("loom route --format dump"), ElementsAre("dump_lfts"));
    EXPECT_THAT(complete("loom reproduce zahavi"), Contains("zahavi-table-1"));
    EXPECT_THAT(complete("loom manage --policy prop"), ElementsAre("proportional"));
    EXPECT_THAT(complete("loom sim --stages "), ElementsAre("own", "barrier", "together"));
    EXPECT_THAT(complete("loom completion "), ElementsAre("bash", "zsh", "fish"));
}

}  // namespace
