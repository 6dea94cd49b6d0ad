// Completion scripts, made from the same description of the commands that parses them.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/options.hpp"
#include "loom/fabric/io.hpp"
#include "loom/manager/policy.hpp"
#include "loom/reproduce/reproduction.hpp"
#include "loom/routing/engine.hpp"
#include "loom/routing/table_io.hpp"
#include "loom/traffic/catalogue.hpp"
#include "loom/traffic/schedules.hpp"

namespace loom::cli {

namespace {

struct Entry {
    std::string path;                                           // "loom fabric new"
    std::vector<std::pair<std::string, std::string>> commands;  // name, one-line description
    std::vector<std::pair<std::string, std::string>> options;
};

std::string first_line(std::string text) {
    text = text.substr(0, text.find('\n'));
    std::string safe;
    for (const char c : text)
        if (c != '\'' && c != '"' && c != '`' && c != '\\' && c != '$' && c != ':' && c != '[' && c != ']') safe += c;
    return safe;
}

void collect(const CLI::App& app, const std::string& path, std::vector<Entry>& out) {
    Entry entry{path, {}, {}};
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
        entry.commands.emplace_back(command->get_name(), first_line(command->get_description()));
    for (const CLI::Option* option : app.get_options()) {
        for (const std::string& name : option->get_lnames())
            entry.options.emplace_back("--" + name, first_line(option->get_description()));
        for (const std::string& name : option->get_snames())
            entry.options.emplace_back("-" + name, first_line(option->get_description()));
    }
    out.push_back(std::move(entry));
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
        collect(*command, path + ' ' + command->get_name(), out);
}

std::string names(const std::vector<std::pair<std::string, std::string>>& entries) {
    std::string out;
    for (const auto& [name, description] : entries) out += (out.empty() ? "" : " ") + name;
    return out;
}

template <class Range>
std::string names_in(const Range& range) {
    std::string out;
    for (const auto& one : range) out += (out.empty() ? "" : " ") + std::string(one.name);
    return out;
}

// The words an option or argument of a command may be: "path option", or "path" alone for its argument. First match.
struct Words {
    std::string where;  // a pattern of bash's case
    std::string words;
};

std::vector<Words> fixed_words() {
    using routing::TableFormat;
    std::string tables;
    for (const TableFormat format :
         {TableFormat::opensm_lfts, TableFormat::dump_lfts, TableFormat::fdbs, TableFormat::json})
        tables += (tables.empty() ? "" : " ") + std::string(routing::name(format));
    std::string policies;
    for (const std::string_view name : manager::policy_names())
        policies += (policies.empty() ? "" : " ") + std::string(name);
    return {{"*' --engine'", names_in(routing::engines())},
            {"*' --pattern'|'loom congestion -p'|'loom map -p'|'loom sim -p'", names_in(traffic::pattern_kinds())},
            {"*' --schedule'", names_in(traffic::schedule_kinds())},
            {"*' --level'", "packet flow message"},
            {"*' --stages'", "own barrier together"},
            {"*' --paths'", "tables adaptive"},
            {"*' --lid'", "0 spread"},
            {"*' --policy'", policies},
            {"*' --compare'", "none " + policies},
            {"*' --as-printed'", "victim count restore all nothing"},
            {"'loom fabric order --to'", "opensm hosts"},
            {"*' --to'|*' --from'", names_in(fabric::formats())},
            {"*' --format'", tables},
            {"*' --as'", "plain full grouped ports"},
            {"*' --metric'", "maxima routes traversals"},
            {"*' --duplex'", "full half"},
            {"*' --place'", "order keepers random"},
            {"*' --shuffle'", "nodes ports"},
            {"'loom reproduce '*", names_in(reproduce::reproductions())},
            {"'loom completion '*", "bash zsh fish"}};
}

std::string bash_script(const std::vector<Entry>& entries) {
    std::string out =
        "# Completion for loom. To use it now: source <(loom completion bash)\n"
        "_loom() {\n"
        "    local current=${COMP_WORDS[COMP_CWORD]} path=loom word commands options words\n"
        "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
        "        case \"$path $word\" in\n";
    for (const Entry& entry : entries)
        if (entry.path != "loom") out += fmt::format("            '{}') path=\"$path $word\" ;;\n", entry.path);
    out += "        esac\n    done\n    case $path in\n";
    for (const Entry& entry : entries)
        out += fmt::format("        '{}') commands='{}' options='{}' ;;\n", entry.path, names(entry.commands),
                           names(entry.options));
    out += "    esac\n    case \"$path ${COMP_WORDS[COMP_CWORD-1]}\" in\n";
    for (const Words& one : fixed_words()) out += fmt::format("        {}) words='{}' ;;\n", one.where, one.words);
    out +=
        "    esac\n"
        "    if [[ $current == -* ]]; then\n"
        "        COMPREPLY=($(compgen -W \"$options\" -- \"$current\"))\n"
        "    elif [[ -n $commands ]]; then\n"
        "        COMPREPLY=($(compgen -W \"$commands\" -- \"$current\"))\n"
        "    else\n"
        "        COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
        "        [[ ${#COMPREPLY[@]} -gt 0 ]] || COMPREPLY=($(compgen -f -- \"$current\"))\n"
        "    fi\n"
        "}\n"
        "complete -o filenames -o bashdefault -F _loom loom ./loom\n";
    return out;
}

std::string zsh_script(const std::vector<Entry>& entries) {
    std::string out =
        "#compdef loom\n"
        "# Completion for loom. Save it as _loom in a folder of $fpath, or: source <(loom completion zsh)\n"
        "_loom() {\n"
        "    local path_so_far=loom word\n"
        "    local -a commands options\n"
        "    for word in ${words[2,CURRENT-1]}; do\n"
        "        case \"$path_so_far $word\" in\n";
    for (const Entry& entry : entries)
        if (entry.path != "loom")
            out += fmt::format("            '{}') path_so_far=\"$path_so_far $word\" ;;\n", entry.path);
    out += "        esac\n    done\n    case $path_so_far in\n";
    const auto quoted = [](const std::vector<std::pair<std::string, std::string>>& list) {
        std::string text;
        for (const auto& [name, description] : list) text += fmt::format(" '{}:{}'", name, description);
        return text;
    };
    for (const Entry& entry : entries)
        out += fmt::format("        '{}') commands=({} ) options=({} ) ;;\n", entry.path, quoted(entry.commands),
                           quoted(entry.options));
    out +=
        "    esac\n"
        "    if [[ $PREFIX == -* ]]; then\n"
        "        _describe option options\n"
        "    elif (( $#commands )); then\n"
        "        _describe command commands\n"
        "    else\n"
        "        _files\n"
        "    fi\n"
        "}\n"
        "if [[ $funcstack[1] == _loom ]]; then _loom \"$@\"; else compdef _loom loom; fi\n";
    return out;
}

std::string fish_script(const std::vector<Entry>& entries) {
    std::string out =
        "# Completion for loom. To use it now: loom completion fish | source\n"
        "function __loom_at\n"
        "    set -l path loom\n"
        "    for word in (commandline -opc)[2..-1]\n"
        "        switch \"$path $word\"\n";
    for (const Entry& entry : entries)
        if (entry.path != "loom")
            out += fmt::format("            case '{}'\n                set path \"$path $word\"\n", entry.path);
    out += "        end\n    end\n    test \"$path\" = \"$argv\"\nend\n";
    for (const Entry& entry : entries) {
        const char* files = entry.commands.empty() ? "" : " -f";
        for (const auto& [name, description] : entry.commands)
            out += fmt::format("complete -c loom{} -n '__loom_at {}' -a {} -d '{}'\n", files, entry.path, name,
                               description);
        for (const auto& [name, description] : entry.options)
            out += fmt::format("complete -c loom -n '__loom_at {}' {} {} -d '{}'\n", entry.path,
                               name.starts_with("--") ? "-l" : "-s", name.substr(name.starts_with("--") ? 2 : 1),
                               description);
    }
    return out;
}

}  // namespace

void add_completion(CLI::App& program, int&) {
    struct Options {
        Common common;
        std::string shell;
    };
    const auto options = std::make_shared<Options>();
    CLI::App* app = program.add_subcommand("completion", "Print a completion script for bash, zsh or fish");
    app->add_option("SHELL", options->shell, "bash, zsh or fish")->required()->check(one_of({"bash", "zsh", "fish"}));
    add_common(*app, options->common);
    app->footer(
        "  source <(loom completion bash)      in ~/.bashrc\n"
        "  loom completion fish | source       in ~/.config/fish/config.fish");
    app->callback([&program, options] {
        const std::string& shell = options->shell;
        std::vector<Entry> entries;
        collect(program, "loom", entries);
        const std::string script = shell == "bash"  ? bash_script(entries)
                                   : shell == "zsh" ? zsh_script(entries)
                                                    : fish_script(entries);
        if (options->common.json)
            fmt::print("{}\n", nlohmann::json{{"shell", shell}, {"script", script}}.dump());
        else
            fmt::print("{}", script);
    });
}

}  // namespace loom::cli
