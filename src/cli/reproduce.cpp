// loom reproduce: a paper's table beside ours, and whether it holds.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/options.hpp"
#include "loom/base/csv.hpp"
#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/base/progress.hpp"
#include "loom/base/table.hpp"
#include "loom/reproduce/reproduction.hpp"

namespace loom::cli {

namespace {

using namespace loom::reproduce;

struct Options {
    Common common;
    std::vector<std::string> names;
    bool list = false;
    bool all = false;
    bool quick = false;
    std::string plot, csv;
    unsigned threads = 0;
};

// What JSON cannot say (infinity, not-a-number) becomes null.
nlohmann::json number(double value) {
    return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json();
}

// Whether the paper has a number for this row that a rule compares with ours.
bool judged(const Result& result, const Row& row) {
    for (std::size_t i = 0; i < row.values.size(); ++i)
        if (row.values[i].expected() && result.columns[i].rule.kind != Rule::Kind::shown) return true;
    return false;
}

nlohmann::json to_json(const Result& result, double seconds, Scope scope) {
    nlohmann::json out{{"name", result.name},
                       {"title", result.title},
                       {"holds", result.holds()},
                       {"quick", scope == Scope::quick},
                       {"seconds", seconds},
                       {"corrections", result.corrections},
                       {"remarks", result.remarks},
                       {"columns", nlohmann::json::array()},
                       {"rows", nlohmann::json::array()},
                       {"claims", nlohmann::json::array()}};
    for (const reproduce::Column& column : result.columns)
        out["columns"].push_back({{"name", column.name}, {"rule", column.rule.text()}});
    for (const Row& row : result.rows) {
        nlohmann::json values = nlohmann::json::object();
        for (std::size_t i = 0; i < row.values.size(); ++i) {
            const Value& value = row.values[i];
            nlohmann::json cell{{"ours", number(value.ours)}, {"paper", nullptr}};
            if (value.paper) cell["paper"] = *value.paper;
            if (value.corrected) cell["corrected"] = *value.corrected;
            values[result.columns[i].name] = std::move(cell);
        }
        out["rows"].push_back({{"name", row.name},
                               {"values", std::move(values)},
                               {"judged", judged(result, row)},
                               {"holds", result.holds(row)}});
    }
    for (const Claim& claim : result.claims) out["claims"].push_back({{"text", claim.text}, {"holds", claim.holds}});
    return out;
}

// A line for each value; what the paper does not have is empty.
std::string csv_lines(const Result& result) {
    const auto number_or_nothing = [](const std::optional<double>& value) {
        return value ? fmt::format("{}", *value) : std::string();
    };
    std::string lines;
    for (const Row& row : result.rows)
        for (std::size_t i = 0; i < row.values.size(); ++i) {
            const Value& value = row.values[i];
            const reproduce::Column& column = result.columns[i];
            const auto expected = value.expected();
            const bool is_judged = expected && column.rule.kind != Rule::Kind::shown;
            lines += fmt::format("{},{},{},{},{},{},{}\n", csv_field(result.name), csv_field(row.name),
                                 csv_field(column.name), number_or_nothing(value.paper),
                                 number_or_nothing(value.corrected), value.ours,
                                 !is_judged                                  ? "shown"
                                 : column.rule.agrees(*expected, value.ours) ? "holds"
                                                                             : "does not hold");
        }
    return lines;
}

Cell verdict(const Result& result, const Row& row) {
    const bool holds = result.holds(row);
    if (holds && !judged(result, row)) return Cell{"shown"};
    return holds ? Cell{"holds", Colour::green} : Cell{"does not hold", Colour::red};
}

void print(const Reproduction& reproduction, const Result& result, double seconds, Scope scope) {
    fmt::print("{}: {}\n{}\n\n", result.name, reproduction.paper, result.title);
    std::vector<loom::Column> columns{{"", Align::left}};
    std::vector<bool> in_paper;  // by column; the others have no place for the paper's value
    for (std::size_t i = 0; i < result.columns.size(); ++i) {
        in_paper.push_back(std::any_of(result.rows.begin(), result.rows.end(), [i](const Row& row) {
            return row.values[i].paper.has_value() || row.values[i].corrected.has_value();
        }));
        columns.push_back({result.columns[i].name, Align::right});
        if (in_paper[i]) columns.push_back({"ours", Align::right});
    }
    columns.push_back({"verdict", Align::left});
    loom::Table table(columns);
    for (const Row& row : result.rows) {
        std::vector<Cell> cells{row.name};
        for (std::size_t i = 0; i < row.values.size(); ++i) {
            const Value& value = row.values[i];
            const reproduce::Column& column = result.columns[i];
            const auto expected = value.expected();
            const bool agrees = !expected || column.rule.agrees(*expected, value.ours);
            if (in_paper[i])
                cells.emplace_back((value.paper ? fmt::format("{:.{}f}", *value.paper, column.decimals) : "-") +
                                   (value.corrected ? "*" : ""));
            cells.emplace_back(fmt::format("{:.{}f}", value.ours, column.decimals),
                               agrees ? Colour::none : Colour::red);
        }
        cells.push_back(verdict(result, row));
        table.row(std::move(cells));
    }
    table.print();
    fmt::print("\nRules, the same for every row:");
    for (const reproduce::Column& column : result.columns) fmt::print(" {}: {};", column.name, column.rule.text());
    fmt::print("\n");
    for (const std::string& correction : result.corrections) fmt::print("* {}\n", correction);
    for (const std::string& remark : result.remarks) fmt::print("- {}\n", remark);
    for (const Claim& claim : result.claims)
        fmt::print("{}: {}\n", claim.holds ? "holds" : "DOES NOT HOLD", claim.text);
    fmt::print("\n{} {}{} ({})\n", result.name, result.holds() ? "holds" : "DOES NOT HOLD",
               scope == Scope::quick ? " as far as --quick goes: rows that take longer were left out" : "",
               human_seconds(seconds));
}

void list(bool json) {
    if (json) {
        nlohmann::json out{{"reproductions", nlohmann::json::array()}};
        for (const Reproduction& one : reproductions())
            out["reproductions"].push_back({{"name", one.name}, {"paper", one.paper}, {"summary", one.summary}});
        fmt::print("{}\n", out.dump());
        return;
    }
    loom::Table table({{"name"}, {"paper"}, {"what"}});
    for (const Reproduction& one : reproductions())
        table.row({std::string(one.name), std::string(one.paper), std::string(one.summary)});
    table.print();
}

int run(const Options& options) {
    if (options.list) {
        list(options.common.json);
        return 0;
    }
    std::vector<const Reproduction*> chosen;
    for (const std::string& name : options.names) chosen.push_back(&find_reproduction(name));
    if (options.all) {
        chosen.clear();
        for (const Reproduction& one : reproductions()) chosen.push_back(&one);
    }
    if (chosen.empty()) throw UsageError("reproduce what? a name, --all, or --list to see the names");
    if (!options.plot.empty() && chosen.size() != 1) throw UsageError("--plot draws one reproduction");

    check_outputs({{"--plot", options.plot}, {"--csv", options.csv}}, options.common);

    bool all_hold = true;
    const bool to_stdout = options.plot == "-" || options.csv == "-";
    std::string csv = "reproduction,row,column,paper,corrected,ours,verdict\n";
    nlohmann::json results = nlohmann::json::array();
    for (const Reproduction* reproduction : chosen) {
        Progress progress(std::string(reproduction->name), options.common.quiet ? Show::nothing : Show::automatic);
        RunOptions run_options{options.quick ? Scope::quick : Scope::full, options.threads, progress.callback()};
        const auto begin = std::chrono::steady_clock::now();
        const Result result = reproduction->run(standard_parts(), run_options);
        const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        progress.finish();
        all_hold = all_hold && result.holds();
        if (!options.plot.empty()) {
            if (!result.picture) throw UsageError(result.name + " has no picture");
            write_file(options.plot, result.picture->document());
        }
        csv += csv_lines(result);
        if (options.common.json) {
            results.push_back(to_json(result, seconds, run_options.scope));
        } else if (!to_stdout) {
            if (reproduction != chosen.front()) fmt::print("\n\n");
            print(*reproduction, result, seconds, run_options.scope);
        }
    }
    if (!options.csv.empty()) write_file(options.csv, csv);
    if (options.common.json) fmt::print("{}\n", nlohmann::json{{"holds", all_hold}, {"reproductions", results}}.dump());
    return all_hold ? 0 : 1;
}

}  // namespace

void add_reproduce(CLI::App& program, int& exit_code) {
    const auto options = std::make_shared<Options>();
    CLI::App* app = program.add_subcommand("reproduce", "Re-run a table or figure of a paper and set it beside ours");
    app->add_option("NAME", options->names, "Which ones (see --list)");
    app->add_flag("--list", options->list, "List what can be reproduced");
    app->add_flag("--all", options->all, "All of them");
    app->add_flag("--quick", options->quick, "Only the rows that take seconds; same rules");
    app->add_option("--plot", options->plot, "Draw the figure, where the reproduction has one")->type_name("FILE.svg");
    app->add_option("--csv", options->csv,
                    "Write every value beside the paper's, a line each: reproduction, row, column, the paper's number, "
                    "the one it is corrected to, ours, verdict")
        ->type_name("FILE");
    app->add_option("-j,--threads", options->threads, "Threads to use; 0: as many as the machine has")
        ->check(thread_count())
        ->capture_default_str();
    add_common(*app, options->common);
    app->footer(
        "Every number is computed anew from one configuration; the rule by which it is compared with the\n"
        "paper's is printed below the table; a row without a number of the paper's is shown, not judged. Exit status 1 "
        "when something does not hold.\n\n"
        "  loom reproduce zahavi-table-1\n"
        "  loom reproduce zahavi-figure-6 --plot figure-6.svg\n"
        "  loom reproduce hoefler-remap --csv rows.csv\n"
        "  loom reproduce --all --json");
    app->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace loom::cli
