#include "cli/twin_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "loom/base/table.hpp"

namespace loom::cli {
namespace {

using nlohmann::ordered_json;
using report::RankLine;

constexpr std::size_t few_ranks = 16;  // all of them are shown
constexpr std::size_t few_links = 10;

std::string host_of(const twin::Options& options, std::size_t rank) {
    if (options.level == sim::Level::message || options.network.graph == nullptr)
        return fmt::format("host {}", options.hosts.empty() ? rank : options.hosts[rank]);
    const fabric::Fabric& fabric = options.network.graph->fabric();
    return fabric::describe(fabric, fabric.port(options.network.placement.hosts[rank]).node);
}

std::string time_text(Time time) {
    return time == never ? "-" : to_string(time);
}

std::string percent(Time part, Time whole) {
    return whole <= Time{}
               ? std::string("-")
               : fmt::format("{:.1f} %", 100 * static_cast<double>(part.ps) / static_cast<double>(whole.ps));
}

Time whole_of(const RankLine& rank) {
    return rank.computing + rank.waiting + rank.sending + rank.other;
}

void print_ranks(std::FILE* to, const std::vector<RankLine>& ranks) {
    const std::vector<std::size_t> shown = report::slowest_ranks(ranks, few_ranks);
    const bool all = shown.size() == ranks.size();
    fmt::print(to, "\n");
    Table table({{all ? "rank" : "slowest ranks"},
                 {"host"},
                 {"end", Align::right},
                 {"computing", Align::right},
                 {"waiting", Align::right},
                 {"sending", Align::right},
                 {"other", Align::right},
                 {"messages", Align::right},
                 {"sent", Align::right}});
    for (const std::size_t i : shown) {
        const RankLine& rank = ranks[i];
        const Time whole = whole_of(rank);
        table.row({std::to_string(rank.rank), rank.host, time_text(rank.end), percent(rank.computing, whole),
                   percent(rank.waiting, whole), percent(rank.sending, whole), percent(rank.other, whole),
                   grouped(rank.messages), human_bytes(rank.bytes)});
    }
    fmt::print(to, "{}", table.text());
    if (all) return;
    fmt::print(to, "\n");
    Table summary({{fmt::format("of all {} ranks", grouped(ranks.size()))},
                   {"least", Align::right},
                   {"mean", Align::right},
                   {"most", Align::right}});
    const auto row = [&](const char* what, Time RankLine::*member) {
        const report::Spread spread = report::spread_of(ranks, member);
        if (spread.least != never)
            summary.row({what, to_string(spread.least), to_string(spread.mean), to_string(spread.most)});
    };
    row("end", &RankLine::end);
    row("computing", &RankLine::computing);
    row("waiting", &RankLine::waiting);
    row("sending", &RankLine::sending);
    row("other", &RankLine::other);
    fmt::print(to, "{}", summary.text());
}

void print_links(std::FILE* to, const sim::LinkAnswers& links) {
    if (!links.hottest.empty()) {
        fmt::print(to, "\n");
        Table table(
            {{"hottest links"}, {"to"}, {"sent", Align::right}, {"busy", Align::right}, {"waited", Align::right}});
        for (std::size_t i = 0; i < std::min(links.hottest.size(), few_links); ++i) {
            const sim::LinkUse& link = links.hottest[i];
            table.row({link.from, link.to, human_bytes(link.bytes), fmt::format("{:.1f} %", 100 * link.busy),
                       fmt::format("{:.1f} %", 100 * link.waited)});
        }
        fmt::print(to, "{}", table.text());
    }
    if (links.jams.empty()) return;
    fmt::print(to, "\nwho waited behind whom, as pairs of ranks:\n");
    for (const sim::Jam& jam : links.jams) fmt::print(to, "  {}\n", describe(jam));
}

ordered_json picoseconds(Time time) {
    return time == never ? ordered_json() : ordered_json(time.ps);
}

ordered_json pairs_json(const std::vector<sim::PairUse>& pairs) {
    ordered_json out = ordered_json::array();
    for (const sim::PairUse& each : pairs)
        out.push_back({{"from", each.from.value}, {"to", each.to.value}, {"bytes", each.bytes}});
    return out;
}

ordered_json links_json(const sim::LinkAnswers& links) {
    ordered_json out{{"hottest", ordered_json::array()}, {"jams", ordered_json::array()}};
    for (const sim::LinkUse& link : links.hottest)
        out["hottest"].push_back({{"from", link.from},
                                  {"to", link.to},
                                  {"bytes", link.bytes},
                                  {"busy_share", link.busy},
                                  {"waited_share", link.waited}});
    for (const sim::Jam& jam : links.jams)
        out["jams"].push_back({{"waits_at", jam.waits_at_name},
                               {"full_port", jam.full_name},
                               {"cause", to_string(jam.cause)},
                               {"waited_ps", jam.waited.ps},
                               {"waited_share", jam.share},
                               {"victims", pairs_json(jam.victims)},
                               {"victim_count", jam.victim_count},
                               {"behind", pairs_json(jam.behind)},
                               {"behind_count", jam.behind_count}});
    return out;
}

ordered_json ranks_json(const std::vector<RankLine>& ranks) {
    ordered_json out = ordered_json::array();
    for (const RankLine& rank : ranks)
        out.push_back({{"rank", rank.rank},
                       {"host", rank.host},
                       {"end_ps", picoseconds(rank.end)},
                       {"computing_ps", rank.computing.ps},
                       {"waiting_ps", rank.waiting.ps},
                       {"sending_ps", rank.sending.ps},
                       {"other_ps", rank.other.ps},
                       {"messages", rank.messages},
                       {"bytes", rank.bytes}});
    return out;
}

}  // namespace

report::RanksPlayed ranks_played(const TwinAnswers& answers) {
    const twin::Result& result = answers.result;
    report::RanksPlayed played;
    played.title = answers.title;
    played.level = answers.options.level;
    played.state = result.state;
    played.finish = result.finish;
    played.computation = answers.computation;
    played.trouble = result.trouble;
    played.remarks = answers.remarks;
    if (const std::string left_out = result.timeline.remark(); !left_out.empty()) played.remarks.push_back(left_out);
    played.links = answers.links;
    if (answers.options.network.graph != nullptr) played.fabric = &answers.options.network.graph->fabric();
    for (std::size_t rank = 0; rank < result.ranks.size(); ++rank) {
        const twin::RankTimes& times = result.ranks[rank];
        played.ranks.push_back({static_cast<std::uint32_t>(rank), host_of(answers.options, rank), times.end,
                                times.computing, times.waiting, times.sending, times.other, times.messages,
                                times.bytes});
    }
    return played;
}

void print_twin(const TwinAnswers& answers, std::FILE* to) {
    const report::RanksPlayed played = ranks_played(answers);
    if (!played.title.empty()) fmt::print(to, "{}\n", played.title);
    fmt::print(to, "level {}: {}", to_string(played.level), counted(played.ranks.size(), "rank", "ranks"));
    if (!played.computation.empty()) fmt::print(to, ", computation {}", played.computation);
    std::uint64_t messages = 0, bytes = 0;
    for (const RankLine& rank : played.ranks) {
        messages += rank.messages;
        bytes += rank.bytes;
    }
    if (played.finish != never)
        fmt::print(to, "\nfinished after {}: ", to_string(played.finish));
    else
        fmt::print(to, "\n{}: ", to_string(played.state));
    fmt::print(to, "{}, {}", counted(messages, "message", "messages"), human_bytes(bytes));
    if (answers.wall_seconds > 0) fmt::print(to, "; simulated in {}", human_seconds(answers.wall_seconds));
    fmt::print(to, "\n");
    for (const std::string& line : played.trouble) fmt::print(to, "  {}\n", line);
    for (const std::string& line : played.remarks) fmt::print(to, "{}\n", line);
    print_ranks(to, played.ranks);
    print_links(to, played.links);
}

ordered_json twin_json(const TwinAnswers& answers) {
    const report::RanksPlayed played = ranks_played(answers);
    std::vector<std::string> remarks = played.remarks;
    remarks.insert(remarks.end(), played.links.remarks.begin(), played.links.remarks.end());
    return {{"program", played.title},
            {"level", to_string(played.level)},
            {"state", to_string(played.state)},
            {"finish_ps", picoseconds(played.finish)},
            {"computation", played.computation.empty() ? ordered_json() : ordered_json(played.computation)},
            {"ranks", ranks_json(played.ranks)},
            {"links", links_json(played.links)},
            {"trouble", played.trouble},
            {"remarks", remarks},
            {"events", answers.result.work.events},
            {"packets", answers.result.work.packets},
            {"delivered_bytes", answers.result.work.bytes},
            {"seconds", answers.wall_seconds}};
}

std::string twin_progress(const twin::Progress& progress, std::size_t ranks) {
    return fmt::format("{}, {} of {} ranks have ended, {} ({})", to_string(progress.reached), grouped(progress.ended),
                       grouped(ranks), counted(progress.messages, "message", "messages"), human_bytes(progress.bytes));
}

}  // namespace loom::cli
