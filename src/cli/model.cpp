// loom model: how long a schedule should take, by LogGP, LogfP or LogGOPS.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/charges_output.hpp"
#include "cli/collective.hpp"
#include "cli/command.hpp"
#include "cli/costs.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/base/plot.hpp"
#include "loom/base/table.hpp"
#include "loom/model/parameters.hpp"
#include "loom/report/schedule.hpp"
#include "loom/traffic/goal.hpp"
#include "loom/traffic/matching.hpp"

namespace loom::cli {

using nlohmann::ordered_json;

namespace {

struct Options {
    Common common;
    std::string goal;
    CollectiveOptions collective;
    std::string model = "link";
    CostOptions costs;
    std::string bytes = "8";
    std::string draw;
    std::string output;
};

std::uint64_t bytes_of(const std::string& text) {
    const auto bytes = parse_bytes(text);
    if (!bytes) throw UsageError("--bytes " + text + ": expected a number of bytes, such as 4096 or 64KiB");
    return *bytes;
}

// Of ranks on hosts of their own. A paper's model has its messages; local costs are the same for all.
coll::Parameters parameters_of(const Options& options, std::size_t ranks) {
    const std::vector<std::uint32_t> hosts = own_hosts(ranks);
    if (options.model == "link") return costs_of(options.costs, hosts);
    if (!options.costs.rate.empty())
        throw UsageError("--rate is for --model link; G of " + options.model + " is a parameter: --parameters G=80ps");
    coll::Parameters result;
    result.charges = options.model == "logfp"     ? model::charges(model::LogfP{})
                     : options.model == "loggops" ? model::charges(model::LogGops{})
                                                  : model::charges(model::LogGp{});
    result.charges.local = model::assumed_local();
    if (options.costs.parameters.empty()) return result;
    return coll::read_parameters(options.costs.parameters, result);
}

struct Walked {
    coll::Parameters parameters;
    std::string what;
    traffic::Schedule schedule;
    model::Prediction prediction;
};

Walked walk(const Options& options) {
    if (options.goal.empty()) {
        coll::Parameters parameters = parameters_of(options, options.collective.ranks);
        coll::Forecast f = collective_forecast(options.collective, bytes_of(options.bytes), parameters);
        std::string what = coll::describe(f.planned.algorithm->name, f.planned.tuning);
        return {std::move(parameters), std::move(what), std::move(f.schedule), std::move(f.prediction)};
    }
    traffic::Schedule schedule = traffic::read_goal(read_file(options.goal), options.goal);
    coll::Parameters parameters = parameters_of(options, schedule.ranks());
    model::Prediction prediction = model::walk(schedule, parameters.charges, own_hosts(schedule.ranks()));
    return {std::move(parameters), options.goal, std::move(schedule), std::move(prediction)};
}

int predict(const Options& options) {
    check_outputs({{"--draw", options.draw}}, options.common);
    check_ending({"--draw", options.draw}, "a picture", {".svg"});
    if (options.goal.empty() == options.collective.name.empty())
        throw UsageError("expected either --goal FILE or --coll NAME:ALGORITHM");
    const Walked walked = walk(options);
    const traffic::Schedule& schedule = walked.schedule;
    const model::Prediction& prediction = walked.prediction;
    const model::Charges& charges = walked.parameters.charges;
    std::vector<std::string> remarks = model::trouble(schedule, prediction);
    if (!options.goal.empty())
        if (const auto odd = traffic::find_truncations(schedule); odd.count != 0)
            remarks.push_back(traffic::truncation_text(schedule, odd));
    if (!options.draw.empty()) {
        report::ScheduleFrame frame;
        frame.title = options.goal.empty() ? options.collective.name : options.goal;
        write_file(options.draw, report::draw_schedule(schedule, prediction, frame).document());
    }
    std::vector<Time> ends = prediction.ends;
    std::sort(ends.begin(), ends.end());
    if (options.common.json) {
        ordered_json by_rank = ordered_json::array();
        for (const Time end : prediction.ends)
            by_rank.push_back(end == never ? ordered_json() : ordered_json(end.microseconds()));
        ordered_json object{{"ranks", schedule.ranks()},
                            {"operations", schedule.size()},
                            {"model", options.model},
                            {"what", walked.what},
                            {"parameters", model::to_text(charges)},
                            {"costs", costs_json(walked.parameters)},
                            {"finished", prediction.finished}};
        object["finish_us"] = prediction.finished ? ordered_json(prediction.finish().microseconds()) : ordered_json();
        object["rank_ends_us"] = std::move(by_rank);
        object["remarks"] = remarks;
        print_json(object);
        return prediction.finished ? 0 : 1;
    }
    fmt::print("{}: {} ranks, {} operations, {}\n", walked.what, grouped(schedule.ranks()), grouped(schedule.size()),
               options.model);
    fmt::print("{}\n\n", model::costs_line(charges, coll::origin_of(walked.parameters)));
    print_charges(charges);
    fmt::print("\n");
    if (!prediction.finished) {
        fmt::print("some operations wait for ever:\n");
        for (const std::string& line : remarks) fmt::print("  {}\n", line);
        return 1;
    }
    print_remarks(remarks, options.common);
    fmt::print("the last rank ends after {}, the first after {}, half of them after {}\n",
               to_string(prediction.finish()), to_string(ends.front()), to_string(ends[ends.size() / 2]));
    if (!options.draw.empty() && options.draw != "-") fmt::print("drawn in {}\n", options.draw);
    return 0;
}

int plot(const Options& options) {
    check_outputs({{"-o", options.output}}, options.common);
    check_ending({"-o", options.output}, "a picture", {".svg"});
    if (options.collective.name.empty()) throw UsageError("expected --coll NAME: a collective");
    const std::uint64_t most = std::max<std::uint64_t>(bytes_of(options.bytes), 2);
    const coll::Parameters parameters = parameters_of(options, options.collective.ranks);
    std::vector<Series> series;
    ordered_json list = ordered_json::array();
    for (const CollectiveOptions& each : algorithms_of(options.collective, most)) {
        Series line{each.name.substr(each.name.find(':') + 1), {}};
        ordered_json points = ordered_json::array();
        for (unsigned power = 0; power < 64 && most >> power != 0; ++power) {
            const std::uint64_t bytes = std::uint64_t{1} << power;
            const Time time = collective_forecast(each, bytes, parameters).time();
            line.points.emplace_back(power, std::log10(std::max(time.microseconds(), 1e-3)));
            points.push_back({{"bytes", bytes}, {"us", time.microseconds()}});
        }
        list.push_back({{"algorithm", line.name}, {"points", std::move(points)}});
        series.push_back(std::move(line));
    }
    const PlotFrame frame{
        fmt::format("{} on {} ranks by {}", options.collective.name, options.collective.ranks, options.model),
        "2^n bytes", "log10 of microseconds", 760, 420};
    if (!options.output.empty()) write_file(options.output, line_plot(frame, series).document());
    if (options.common.json) {
        print_json({{"collective", options.collective.name},
                    {"ranks", options.collective.ranks},
                    {"model", options.model},
                    {"parameters", model::to_text(parameters.charges)},
                    {"costs", costs_json(parameters)},
                    {"algorithms", std::move(list)}});
        return 0;
    }
    Table table({{"algorithm"}, {"1 B", Align::right}, {human_bytes(std::bit_floor(most)), Align::right}});
    const auto time = [](double log10_us) {
        return to_string(Time{static_cast<std::int64_t>(std::pow(10, log10_us) * 1e6)});
    };
    for (const Series& line : series)
        table.row({line.name, time(line.points.front().second), time(line.points.back().second)});
    table.print();
    fmt::print("\nby {}, {}\n\n", options.model, model::costs_line(parameters.charges, coll::origin_of(parameters)));
    print_charges(parameters.charges);
    if (!options.output.empty() && options.output != "-") fmt::print("\ncurves in {}\n", options.output);
    return 0;
}

void add_model_options(CLI::App& app, Options& options) {
    app.add_option("--model", options.model,
                   "link: hosts of one rank each and links of --rate, as loom predict has them; or with a paper's "
                   "messages: loggp, logfp, loggops")
        ->check(one_of({"link", "loggp", "logfp", "loggops"}))
        ->type_name("NAME")
        ->capture_default_str();
    options.costs.add_to(app);
    app.add_option("--ranks", options.collective.ranks, "Of the collective")
        ->check(whole_number(1, 4096))
        ->type_name("N")
        ->capture_default_str();
    add_common(app, options.common);
}

}  // namespace

void add_model(CLI::App& program, int& exit_code) {
    CLI::App* app = program.add_subcommand("model", "Predict how long a schedule takes, by LogGP, LogfP or LogGOPS");
    app->require_subcommand(1);
    const auto options = std::make_shared<Options>();
    CLI::App* one = app->add_subcommand("predict", "A schedule's end, rank by rank");
    one->add_option("--goal", options->goal, "A schedule as GOAL text; - is standard input")->type_name("FILE");
    one->add_option("--coll", options->collective.name,
                    "Or a collective: allreduce:ring, broadcast:binomial:65536 (segment)")
        ->type_name("NAME:ALGORITHM");
    one->add_option("--bytes", options->bytes, "Of its message or of one block")
        ->type_name("BYTES")
        ->capture_default_str();
    one->add_option("--draw", options->draw, "Ranks as lines, messages as arrows, as SVG")->type_name("FILE");
    add_model_options(*one, *options);
    one->footer(
        "Walks the schedule that ranks would run, operation by operation. Messages of loggp, logfp and loggops cost "
        "what\n"
        "the papers' programs assume: G is 6000 ps a byte with LogGOPS, 1000 with the others. Parameters: " +
        model::parameter_help() +
        ".\n\n"
        "  loom model predict --coll allreduce:ring --ranks 8 --bytes 1MiB --parameters L=1us,o=200ns,G=100ps\n"
        "  loom model predict --goal trace.goal --model loggops --json");
    one->callback([one, options, &exit_code] {
        if (!options->goal.empty() && one->count("--ranks") + one->count("--bytes") != 0)
            throw UsageError(
                "--ranks and --bytes are for --coll: a GOAL file says itself how many ranks there are and "
                "how large messages are");
        exit_code = predict(*options);
    });

    const auto plots = std::make_shared<Options>();
    plots->bytes = "1MiB";
    CLI::App* all = app->add_subcommand("plot", "All algorithms of a collective over message sizes");
    all->add_option("--coll", plots->collective.name, "A collective: allreduce")->type_name("NAME")->required();
    all->add_option("--bytes", plots->bytes, "The largest size")->type_name("BYTES")->capture_default_str();
    all->add_option("-o,--output", plots->output, "Curves as SVG")->type_name("FILE");
    add_model_options(*all, *plots);
    all->footer("  loom model plot --coll broadcast --ranks 16 --bytes 256KiB --model logfp -o broadcast.svg");
    all->callback([plots, &exit_code] { exit_code = plot(*plots); });
}

}  // namespace loom::cli
