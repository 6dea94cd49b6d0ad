#include "loom/report/ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "loom/base/table.hpp"
#include "loom/fabric/levels.hpp"
#include "loom/report/picture.hpp"
#include "report/html.hpp"

namespace loom::report {

namespace {

std::string_view level_words(sim::Level level) {
    switch (level) {
        case sim::Level::packet:
            return "every packet, credit and mark";
        case sim::Level::flow:
            return "fair rates on the routed links; buffers and credits are not seen";
        case sim::Level::message:
            return "LogGOPS, without the fabric";
    }
    return "";
}

std::string head(const RanksPlayed& played) {
    std::string text =
        fmt::format("<p>{} in virtual time, level <b>{}</b> ({}): ", counted(played.ranks.size(), "rank", "ranks"),
                    to_string(played.level), level_words(played.level));
    if (played.finish != never)
        text += fmt::format("finished after <strong>{}</strong>.", to_string(played.finish));
    else
        text += fmt::format("<span class=\"bad\">{}</span>.", to_string(played.state));
    if (!played.computation.empty()) text += fmt::format(" Computation: {}.", escaped(played.computation));
    return text + "</p>\n";
}

std::string share_of(Time part, Time whole) {
    return whole <= Time{} ? std::string("0.0")
                           : fmt::format("{:.1f}", 100 * static_cast<double>(part.ps) / static_cast<double>(whole.ps));
}

HtmlTable rank_columns(std::string_view first) {
    HtmlTable table;
    table.column(first, Cells::numbers)
        .column("host")
        .column("end", Cells::right)
        .column("computing %", Cells::numbers)
        .column("waiting %", Cells::numbers)
        .column("sending %", Cells::numbers)
        .column("other %", Cells::numbers)
        .column("messages", Cells::numbers)
        .column("sent", Cells::right);
    return table;
}

std::string rank_table(const RanksPlayed& played, std::size_t most) {
    const std::vector<std::size_t> shown = slowest_ranks(played.ranks, most);
    HtmlTable table = rank_columns("rank");
    for (const std::size_t i : shown) {
        const RankLine& rank = played.ranks[i];
        const Time whole = rank.computing + rank.waiting + rank.sending + rank.other;
        table.row({std::to_string(rank.rank), rank.host, rank.end == never ? "-" : to_string(rank.end),
                   share_of(rank.computing, whole), share_of(rank.waiting, whole), share_of(rank.sending, whole),
                   share_of(rank.other, whole), grouped(rank.messages), human_bytes(rank.bytes)});
    }
    std::string text = shown.size() < played.ranks.size() ? fmt::format("<h3>The slowest {} of {} ranks</h3>\n",
                                                                        shown.size(), grouped(played.ranks.size()))
                                                          : std::string("<h3>Ranks, the slowest first</h3>\n");
    return text + table.html();
}

// Of all ranks, where the table has not all of them.
std::string summary(const RanksPlayed& played) {
    HtmlTable table;
    table.column("of all ranks")
        .column("least", Cells::right)
        .column("mean", Cells::right)
        .column("most", Cells::right);
    const auto row = [&](const char* what, Time RankLine::*member) {
        const Spread spread = spread_of(played.ranks, member);
        if (spread.least == never) return;
        table.row({what, to_string(spread.least), to_string(spread.mean), to_string(spread.most)});
    };
    row("end", &RankLine::end);
    row("computing", &RankLine::computing);
    row("waiting", &RankLine::waiting);
    row("sending", &RankLine::sending);
    row("other", &RankLine::other);
    return table.html();
}

std::string link_table(const sim::LinkAnswers& links) {
    if (links.hottest.empty()) return {};
    HtmlTable table;
    table.column("from")
        .column("to")
        .column("sent", Cells::right)
        .column("busy %", Cells::numbers)
        .column("waited %", Cells::numbers);
    for (const sim::LinkUse& link : links.hottest)
        table.row({link.from, link.to, human_bytes(link.bytes), fmt::format("{:.1f}", 100 * link.busy),
                   fmt::format("{:.1f}", 100 * link.waited)});
    return "<h3>Hottest links</h3>\n" + table.html();
}

std::string jam_list(const sim::LinkAnswers& links) {
    if (links.jams.empty()) return {};
    std::vector<std::string> sentences;
    bool victims = false;
    for (const sim::Jam& jam : links.jams) {
        sentences.push_back(describe(jam));
        victims = victims || jam.cause == sim::Cause::behind;
    }
    return "<h3>Who waited behind whom</h3>\n" + bullet_list(sentences, victims ? "bad" : "note");
}

std::string picture(const RanksPlayed& played, const RanksOptions& options) {
    if (played.fabric == nullptr || played.links.busy.empty()) return {};
    std::vector<double> percent(played.links.busy.size());
    std::transform(played.links.busy.begin(), played.links.busy.end(), percent.begin(),
                   [](double share) { return 100 * share; });
    PictureOptions how;
    how.load_word = "% busy";
    how.most_switches = options.most_switches;
    return figure(draw_fabric(*played.fabric, fabric::find_levels(*played.fabric), how, percent),
                  "Colour: the share of the run in which the busiest direction of a cable was busy.");
}

}  // namespace

Spread spread_of(const std::vector<RankLine>& ranks, Time RankLine::*member) {
    const bool any = std::any_of(ranks.begin(), ranks.end(), [](const RankLine& rank) { return rank.end != never; });
    Spread spread;
    std::int64_t count = 0;
    double sum = 0;
    for (const RankLine& rank : ranks) {
        if (rank.*member == never || (any && rank.end == never)) continue;
        spread.least = std::min(spread.least, rank.*member);
        spread.most = std::max(spread.most, rank.*member);
        sum += static_cast<double>((rank.*member).ps);
        ++count;
    }
    if (count != 0) spread.mean = Time{static_cast<std::int64_t>(sum / static_cast<double>(count))};
    return spread;
}

std::vector<std::size_t> slowest_ranks(const std::vector<RankLine>& ranks, std::size_t most) {
    std::vector<std::size_t> result(ranks.size());
    std::iota(result.begin(), result.end(), std::size_t{0});
    std::stable_sort(result.begin(), result.end(),
                     [&](std::size_t a, std::size_t b) { return ranks[a].end > ranks[b].end; });
    if (result.size() > most) result.resize(most);
    return result;
}

Section ranks_section(const RanksPlayed& played, const RanksOptions& options) {
    Section section;
    section.place = Section::Place::first;
    section.heading = played.title.empty() ? "Ranks" : "Ranks: " + played.title;
    section.html = head(played);
    if (!played.trouble.empty()) section.html += bullet_list(played.trouble, "bad");
    if (played.timeline) section.html += figure(*played.timeline, "What each rank did. Point at a bar for its times.");
    if (played.ranks.size() > options.most_ranks) section.html += summary(played);
    section.html += rank_table(played, options.most_ranks);
    section.html += jam_list(played.links);
    section.html += link_table(played.links);
    section.html += picture(played, options);
    std::vector<std::string> remarks = played.remarks;
    remarks.insert(remarks.end(), played.links.remarks.begin(), played.links.remarks.end());
    if (!remarks.empty()) section.html += "<h3>Remarks</h3>\n" + bullet_list(remarks, "note");
    return section;
}

}  // namespace loom::report
