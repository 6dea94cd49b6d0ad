// Help worth reading, and errors that suggest the way out.
#include <algorithm>

#include "cli/command.hpp"
#include "loom/base/error.hpp"
#include "loom/base/nearest.hpp"

namespace loom::cli {

namespace {

struct Heading {
    const char* title;
    std::vector<std::string> commands;
};

const std::vector<Heading>& headings() {
    static const std::vector<Heading> all{
        {"Start here", {"demo"}},
        {"Fabric: what is connected to what", {"fabric"}},
        {"Routing: which port leads where", {"route", "check"}},
        {"Congestion: which links are shared, and what it costs", {"congestion", "bisection", "map"}},
        {"Simulation: what happens, when", {"sim"}},
        {"Management: what to change while it runs", {"manage"}},
        {"Verbs: programs without an adapter", {"verbs"}},
        {"Ranks: programs of many processes", {"run", "coll", "mpi", "twin"}},
        {"Sessions: a protocol that suits two processes", {"session"}},
        {"Measuring and predicting: what it costs", {"predict", "measure", "model"}},
        {"Show and prove", {"report", "reproduce"}},
        {"The shell", {"settings", "completion"}},
    };
    return all;
}

std::vector<std::string> command_names(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
        names.push_back(command->get_name());
    return names;
}

std::vector<std::string> option_names(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options())
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    return names;
}

std::string path_of(const CLI::App& app) {
    return app.get_parent() == nullptr ? app.get_name() : path_of(*app.get_parent()) + ' ' + app.get_name();
}

// How far the leading words name subcommands.
const CLI::App* command_of(const CLI::App& program, const std::vector<std::string>& words, std::size_t& used) {
    const CLI::App* app = &program;
    for (used = 0; used < words.size(); ++used) {
        const CLI::App* next = nullptr;
        for (const CLI::App* command : app->get_subcommands([](const CLI::App*) { return true; }))
            if (command->get_name() == words[used]) next = command;
        if (next == nullptr) break;
        app = next;
    }
    return app;
}

}  // namespace

void arrange_help(CLI::App& program) {
    program.get_formatter()->column_width(36);
    for (CLI::App* command : program.get_subcommands([](CLI::App*) { return true; }))
        for (const Heading& heading : headings())
            if (std::find(heading.commands.begin(), heading.commands.end(), command->get_name()) !=
                heading.commands.end())
                command->group(heading.title);
    program.footer(
        "A FABRIC or TABLES argument may be in any format that is read; the kind is found from its content, and\n"
        "\"-\" is standard input. Exit codes: 0 done, 1 the answer is no (a check failed), 2 bad usage or input.\n"
        "\n"
        "  loom fabric new kary 12 3 -o tree.json            a 12-ary 3-tree: 1,728 hosts\n"
        "  loom route tree.json --engine ftree -o tree.lft   tables that OpenSM loads with -R file -U\n"
        "  loom check tree.json tree.lft                     reachable, loop-free, deadlock-free, balanced\n"
        "  loom congestion tree.json tree.lft --pattern shift\n"
        "  loom sim tree.json tree.lft --flow host0000:host1727 --bytes 10MB\n"
        "  loom report tree.json tree.lft -o tree.html       all of it on one page\n"
        "  loom verbs run -- ibv_devinfo                     a verbs program on a software adapter\n"
        "\n"
        "Scenario files hold a fabric, its traffic and what manages it; loom sim, loom manage and loom report play "
        "them.\n"
        "\n"
        "`loom COMMAND --help` tells more.");
}

void check_command_words(const CLI::App& program, const std::vector<std::string>& words) {
    std::size_t used = 0;
    const CLI::App* app = command_of(program, words, used);
    const std::vector<std::string> names = command_names(*app);
    if (names.empty() || used == words.size() || words[used].starts_with('-')) return;
    const std::string guess = nearest(words[used], names);
    std::string message = "no such command: " + path_of(*app) + ' ' + words[used];
    if (!guess.empty())
        message += "; did you mean " + path_of(*app) + ' ' + guess + '?';
    else {
        message += names.size() == 1 ? "; there is " : "; there are ";
        for (std::size_t i = 0; i < names.size(); ++i)
            message += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
    }
    throw UsageError(message);
}

std::string explain(const CLI::App& program, const CLI::ParseError& error, const std::vector<std::string>& words) {
    std::size_t used = 0;
    const CLI::App* app = command_of(program, words, used);
    std::string message = error.what();
    std::replace(message.begin(), message.end(), '\n', ' ');
    if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
        const std::vector<std::string> known = option_names(*app);
        for (std::size_t i = used; i < words.size(); ++i) {
            // "--report FILE --", where FILE was taken for the program.
            if (words[i] == "--" && i >= used + 2 &&
                std::find(known.begin(), known.end(), words[i - 2]) != known.end()) {
                message = words[i - 2] + " takes a value as " + words[i - 2] + '=' + words[i - 1];
                break;
            }
            const std::string word = words[i].substr(0, words[i].find('='));
            if (!word.starts_with("--") || std::find(known.begin(), known.end(), word) != known.end()) continue;
            message = "no such option: " + word;
            const std::string guess = nearest(word, known);
            if (!guess.empty()) message += "; did you mean " + guess + '?';
            break;
        }
    }
    if (message.ends_with('.')) message.pop_back();
    return message + " (see " + path_of(*app) + " --help)";
}

}  // namespace loom::cli
