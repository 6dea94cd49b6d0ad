#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(Commands, TakeJson) {
    std::vector<std::string> without;

    for (const Command& command : all_commands())
        if (!command.has_children && command.options.find("--json") == std::string::npos)
            without.push_back(command.path);

    EXPECT_THAT(without, IsEmpty());
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
