#include "loom/report/page.hpp"

#include <fmt/format.h>

#include <cmath>

#include "loom/base/plot.hpp"
#include "loom/base/table.hpp"
#include "loom/report/picture.hpp"
#include "report/html.hpp"
#include "report/page_parts.hpp"

namespace loom::report {

namespace {

std::string card(std::string_view value, std::string_view label, std::string_view mood = {}) {
    return fmt::format("<div class=\"card\"><b{}>{}</b><span>{}</span></div>\n",
                       mood.empty() ? "" : fmt::format(" class=\"{}\"", mood), escaped(value), escaped(label));
}

std::string cards(const Findings& f) {
    std::size_t failed = 0;
    for (const Verdict& verdict : f.verdicts) failed += verdict.kind == Verdict::Kind::bad;
    std::string out = "<div class=\"cards\">\n";
    out +=
        card(grouped(f.hosts), f.ranks == f.hosts ? "hosts" : fmt::format("hosts, {} ports in use", grouped(f.ranks)));
    out += card(grouped(f.switches),
                f.levels.top > 0 ? fmt::format("switches on {} levels", f.levels.top + 1) : "switches");
    out += f.valid ? card("valid", "reachable, loop-free, deadlock-free", "good")
                   : card(failed == 1 ? "1 failure" : fmt::format("{} failures", failed), "in the checks below", "bad");
    if (f.ranks >= 2) {
        out += card(grouped(f.shift.worst),
                    fmt::format("flows share a link in the worst shift stage; {:.2f} on average", f.shift.mean),
                    f.shift.worst <= 1   ? "good"
                    : f.shift.worst <= 3 ? "note"
                                         : "bad");
        out += card(fmt::format("{:.1f} %", 100 * f.bisection.bandwidth.mean()), "effective bisection bandwidth");
    }
    return out + "</div>\n";
}

std::string levels_section(const Findings& f) {
    std::string out = "<h2>Levels</h2>\n";
    HtmlTable table;
    table.column("level")
        .column("switches", Cells::numbers)
        .column("host cables", Cells::numbers)
        .column("cables down", Cells::numbers)
        .column("cables up", Cells::numbers)
        .column("oversubscription", Cells::numbers);
    for (std::size_t level = f.level_lines.size(); level-- > 0;) {
        const LevelLine& line = f.level_lines[level];
        table.row({line.name, grouped(line.switches), grouped(line.hosts), grouped(line.down), grouped(line.up),
                   line.up == 0 ? "" : fmt::format("{:.3g}:1", line.oversubscription)});
    }
    out += table.html();
    if (f.deviations.empty())
        out += "<p>Nothing deviates from what its levels promise.</p>\n";
    else
        out += "<h3>What deviates</h3>\n" + bullet_list(f.deviations);
    return out;
}

std::string checks_section(const Findings& f, const std::string& file) {
    std::string out = "<h2>Checks</h2>\n";
    if (f.routed_here)
        out += fmt::format(
            "<p>No tables were given: Loomband routed the fabric with its <code>{}</code> engine, and everything "
            "below is about those tables.</p>\n",
            escaped(f.engine));
    else if (!f.engine.empty() || !file.empty())
        out += fmt::format(
            "<p>The tables were{}{}.</p>\n",
            f.engine.empty() ? "" : fmt::format(" made by <code>{}</code>", escaped(f.engine)),
            file.empty() ? ""
                         : fmt::format("{} read from <code>{}</code>", f.engine.empty() ? "" : " and", escaped(file)));
    out += "<ul class=\"plain\">\n";
    for (const Verdict& verdict : f.verdicts) {
        const bool good = verdict.kind == Verdict::Kind::good, note = verdict.kind == Verdict::Kind::note;
        out += fmt::format("<li><span class=\"{}\">{}</span><strong>{}</strong><span>{}</span></li>\n",
                           good   ? "good"
                           : note ? "note"
                                  : "bad",
                           good   ? "&#10003;"
                           : note ? "!"
                                  : "&#10007;",
                           escaped(verdict.question), escaped(verdict.answer));
    }
    out += "</ul>\n";
    if (!f.routing_remarks.empty()) out += "<h3>Remarks</h3>\n" + bullet_list(f.routing_remarks);
    return out;
}

std::string contention_section(const Findings& f) {
    std::string out = "<h2>Contention</h2>\n";
    if (f.ranks < 2) return out + "<p>Fewer than two hosts: nothing to share.</p>\n";
    const std::size_t stages = f.shift.per_stage.size();
    out += fmt::format(
        "<p>Every host sends to the host so many places after it, all at once, for {} distance: {} stages, {} "
        "messages. "
        "A stage takes as long as its most shared link. {}</p>\n",
        f.stage_step == 1 ? "each" : fmt::format("every {}th", f.stage_step), grouped(stages), grouped(f.shift.flows),
        f.shift.worst <= 1 ? "Here no link is ever shared: the whole exchange runs at full speed."
                           : fmt::format("In the worst, distance {}, {} flows share one; the exchange takes {:.2f} "
                                         "times as long as without sharing.",
                                         f.shift.worst_stage * f.stage_step + 1, f.shift.worst, f.shift.mean));
    if (std::abs(f.shift.weighted_mean - f.shift.mean) >= 0.005)
        out += fmt::format(
            "<p>With the rates of links and hosts taken into account (1 is a link that is just full) it takes {:.2f} "
            "times "
            "as long, {:.2f} times in the worst stage.</p>\n",
            f.shift.weighted_mean, f.shift.weighted_worst);
    if (f.shift.unrouted > 0)
        out += fmt::format("<p class=\"bad\">{} messages are lost by the tables and load no link.</p>\n",
                           grouped(f.shift.unrouted));
    Series line{"contention", {}};
    for (std::size_t i = 0; i < stages; ++i)
        line.points.emplace_back(static_cast<double>(i * f.stage_step + 1), f.shift.per_stage[i]);
    std::vector<Bar> bars;
    const auto histogram = f.shift.histogram();
    for (std::size_t flows = 1; flows < histogram.size(); ++flows)
        bars.push_back({axis_number(static_cast<double>(flows)), static_cast<double>(histogram[flows]),
                        heat_colour(std::log(static_cast<double>(flows)) /
                                    std::log(std::max(4.0, static_cast<double>(f.shift.worst))))});
    out += "<div class=\"pair\">\n";
    out += figure(line_plot({"Contention stage by stage", "distance", "flows on the most shared link"}, {line}));
    out += figure(bar_plot({"Stages by contention", "flows on the most shared link", "stages"}, bars));
    out += "</div>\n";
    if (!f.hottest.empty()) {
        out += fmt::format("<h3>Hottest links between switches</h3>\n");
        HtmlTable table;
        table.column("from and to")
            .column("flows at once", Cells::numbers)
            .column("flows of all stages", Cells::numbers);
        for (const HotLinkLine& hot : f.hottest) table.row({hot.name, grouped(hot.peak), grouped(hot.total)});
        out += table.html();
    }
    return out;
}

std::string bisection_section(const Findings& f) {
    if (!f.has_bisection) return {};
    const congestion::Bisection& b = f.bisection;
    std::string out = "<h2>Effective bisection bandwidth</h2>\n";
    out += fmt::format(
        "<p>A random half of the hosts sends to the other half, one to one. On average a pair gets <strong>{:.1f} "
        "%</strong> of a "
        "link's bandwidth (&#177; {:.2f} with 95 % confidence, {} patterns; best {:.1f} %, worst {:.1f} %).</p>\n",
        100 * b.bandwidth.mean(), 100 * b.half_width, grouped(static_cast<std::size_t>(b.bandwidth.count())),
        100 * b.bandwidth.max(), 100 * b.bandwidth.min());
    std::vector<Bar> patterns, pairs;
    std::size_t first = b.histogram.counts().size(), last = 0;
    for (std::size_t i = 0; i < b.histogram.counts().size(); ++i)
        if (b.histogram.counts()[i] > 0) {
            first = std::min(first, i);
            last = i;
        }
    const double step = (b.histogram.high() - b.histogram.low()) / static_cast<double>(b.histogram.counts().size());
    for (std::size_t i = first; i <= last && i < b.histogram.counts().size(); ++i)
        patterns.push_back({fmt::format("{:.0f} %", 100 * (b.histogram.low() + step * static_cast<double>(i))),
                            static_cast<double>(b.histogram.counts()[i]),
                            {}});
    double all = 0;
    for (const std::uint64_t count : b.by_congestion) all += static_cast<double>(count);
    for (std::size_t i = 0; i < b.by_congestion.size() && i <= 16; ++i)
        if (i > 0 || b.by_congestion[0] > 0)
            pairs.push_back({i == 0 ? "lost" : axis_number(static_cast<double>(i)),
                             std::round(1000 * static_cast<double>(b.by_congestion[i]) / all) / 10,
                             i == 0 ? "#8f9aa3" : heat_colour(std::log(static_cast<double>(i)) / std::log(8.0))});
    out += "<div class=\"pair\">\n" +
           figure(bar_plot({"Patterns by bandwidth", "bandwidth from", "patterns"}, patterns)) +
           figure(bar_plot({"Pairs by congestion", "flows on the most shared link of the way", "% of pairs"}, pairs)) +
           "</div>\n";
    return out;
}

std::string slow_section(const Findings& f) {
    if (f.slow.empty()) return {};
    std::string out = fmt::format(
        "<h2>Links below their ends' speed</h2>\n<p>{} of {} cables.{}</p>\n", grouped(f.slow_count), grouped(f.cables),
        f.slow.size() < f.slow_count ? fmt::format(" The first {} are listed.", grouped(f.slow.size())) : "");
    HtmlTable table;
    table.column("cable").column("runs at").column("could run at");
    for (const SlowLine& line : f.slow) table.row({line.name, line.rate, line.supported});
    return out + table.html();
}

std::string sections(const PageOptions& options, Section::Place place) {
    std::string out;
    for (const Section& section : options.sections)
        if (section.place == place) out += fmt::format("<h2>{}</h2>\n{}\n", escaped(section.heading), section.html);
    return out;
}

}  // namespace

std::string html_page(const fabric::Fabric& fabric, const Findings& f, const PageOptions& options) {
    const std::string heading = escaped(!options.heading.empty() ? options.heading
                                        : !f.title.empty()       ? f.title
                                                                 : "Fabric report");
    std::string out = fmt::format(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
        "content=\"width=device-width,initial-scale=1\">\n"
        "<title>{}</title>\n<style>{}</style></head>\n<body><main>\n<h1>{}</h1>\n",
        heading, page_css, heading);
    out +=
        fmt::format("<p class=\"soft\">{} hosts, {} switches{}{}, {} cables{}</p>\n", grouped(f.hosts),
                    grouped(f.switches), f.routers > 0 ? fmt::format(", {} routers", grouped(f.routers)) : "",
                    f.aggregation_nodes > 0 ? fmt::format(", {} aggregation nodes", grouped(f.aggregation_nodes)) : "",
                    grouped(f.cables), f.engine.empty() ? "" : fmt::format(", routed by {}", escaped(f.engine)));
    out += cards(f);
    out += sections(options, Section::Place::first);
    out += "<h2>Picture</h2>\n";
    PictureOptions picture;
    picture.load_word = "flows at once";
    out += figure(draw_fabric(fabric, f.levels, picture, f.load),
                  "Colour: the most flows that share a cable in any shift stage. Point at a switch for its cables, at "
                  "a cable for its load.");
    out += levels_section(f);
    out += checks_section(f, options.tables);
    out += contention_section(f);
    out += bisection_section(f);
    out += slow_section(f);
    out += sections(options, Section::Place::last);
    out += fmt::format(
        "<footer>Made by Loomband{}{}. This file needs nothing but "
        "itself.</footer>\n</main>\n<script>{}</script>\n</body></html>\n",
        options.version.empty() ? "" : " ", escaped(options.version), page_js);
    return out;
}

}  // namespace loom::report
