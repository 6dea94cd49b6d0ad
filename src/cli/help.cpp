// Help worth reading, and errors that suggest the way out.
#include <algorithm>

#include "cli/command.hpp"
#include "loom/base/error.hpp"

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
        {"Ranks: programs of many processes", {"run", "coll", "mpi"}},
        {"Measuring and predicting: what it costs", {"measure", "model"}},
        {"Show and prove", {"report", "reproduce"}},
        {"The shell", {"completion"}},
    };
    return all;
}

// Insertions, deletions, replacements and swaps of neighbours that turn a into b.
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
    for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i)
        for (std::size_t j = 1; j <= b.size(); ++j) {
            d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[a.size()][b.size()];
}

// The nearest name, or "" when none is near enough to be what was meant.
std::string nearest(const std::string& word, const std::vector<std::string>& names) {
    std::string best;
    std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
    for (const std::string& name : names) {
        const bool begins = word.size() >= 3 && name.starts_with(word);
        const std::size_t distance = begins ? 1 : edit_distance(word, name);
        if (distance < best_distance) {
            best_distance = distance;
            best = name;
        }
    }
    return best;
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
