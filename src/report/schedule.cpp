#include "loom/report/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "loom/base/error.hpp"
#include "loom/base/plot.hpp"
#include "loom/base/table.hpp"

namespace loom::report {

namespace {

using traffic::Op;
using traffic::OpIndex;
using traffic::OpKind;

struct Arrow {
    OpIndex send, receive;
    std::uint32_t from;
};

// Sends and receives of the same ranks and tag belong together in the order of beginning.
std::vector<Arrow> pair_up(const traffic::Schedule& schedule, const model::Prediction& times,
                           const std::vector<std::uint32_t>& rank_of) {
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::vector<OpIndex>> sends, receives;
    for (OpIndex i = 0; i < schedule.size(); ++i) {
        const Op& op = schedule.op(i);
        if (times.ops[i].end == never) continue;
        if (op.kind == OpKind::send) sends[{rank_of[i], op.peer.value, op.tag}].push_back(i);
        if (op.kind == OpKind::receive) receives[{op.peer.value, rank_of[i], op.tag}].push_back(i);
    }
    const auto by_begin = [&](OpIndex a, OpIndex b) { return times.ops[a].begin < times.ops[b].begin; };
    std::vector<Arrow> arrows;
    for (auto& [key, from] : sends) {
        auto& to = receives[key];
        std::stable_sort(from.begin(), from.end(), by_begin);
        std::stable_sort(to.begin(), to.end(), by_begin);
        for (std::size_t i = 0; i < std::min(from.size(), to.size()); ++i)
            arrows.push_back({from[i], to[i], std::get<0>(key)});
    }
    std::stable_sort(arrows.begin(), arrows.end(),
                     [&](const Arrow& a, const Arrow& b) { return by_begin(a.send, b.send); });
    return arrows;
}

}  // namespace

Svg draw_schedule(const traffic::Schedule& schedule, const model::Prediction& times, const ScheduleFrame& frame) {
    if (times.ops.size() != schedule.size() || times.ends.size() != schedule.ranks())
        throw UsageError("the times are not those of this schedule");
    constexpr double left = 64, right = 20, top = 44, bottom = 48;
    const auto ranks = static_cast<double>(schedule.ranks());
    Svg svg(frame.width, top + frame.lane * ranks + bottom, frame.title);
    svg.style(
        ".lane{stroke:currentColor;stroke-opacity:.35}.message{stroke:#27c;stroke-width:1.2;fill:none}"
        ".send{stroke:#27c;stroke-width:6}.reduce{stroke:#c62;stroke-width:6}.copy{stroke:#888;stroke-width:6}"
        ".compute{stroke:#2a6;stroke-width:6}.head{fill:#27c;stroke:none}");
    Time last{1};
    std::vector<std::uint32_t> rank_of(schedule.size());
    for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank)
        for (std::size_t i = 0; i < schedule.ops(Rank{rank}).size(); ++i) {
            rank_of[schedule.first(Rank{rank}) + i] = rank;
            const Time end = times.ops[schedule.first(Rank{rank}) + i].end;
            if (end != never) last = std::max(last, end);
        }
    const double scale = (frame.width - left - right) / last.microseconds();
    const auto x = [&](Time time) { return left + time.microseconds() * scale; };
    const auto y = [&](std::uint32_t rank) { return top + frame.lane * (rank + 0.5); };

    svg.text({left, 20}, frame.title, "font-weight=\"bold\"");
    for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
        svg.text({left - 8, y(rank) + 4}, fmt::format("rank {}", rank), "text-anchor=\"end\"");
        svg.line({left, y(rank)}, {frame.width - right, y(rank)}, "class=\"lane\"");
    }
    const double foot = top + frame.lane * ranks;
    for (const double tick : axis_ticks(0, last.microseconds(), 8)) {
        if (tick > last.microseconds() * 1.0001) continue;
        const double at = left + tick * scale;
        svg.line({at, foot}, {at, foot + 5}, "class=\"lane\"");
        svg.text({at, foot + 18}, axis_number(tick), "text-anchor=\"middle\"");
    }
    svg.text({frame.width - right, foot + 36}, "us", "text-anchor=\"end\"");

    const std::vector<Arrow> arrows = pair_up(schedule, times, rank_of);
    for (std::size_t i = 0; i < std::min(arrows.size(), frame.most_messages); ++i) {
        const Arrow& arrow = arrows[i];
        const Op& op = schedule.op(arrow.send);
        const Point from{x(times.ops[arrow.send].begin), y(arrow.from)};
        const Point to{x(times.ops[arrow.receive].end), y(op.peer.value)};
        const std::string hover =
            fmt::format("{} from {} to {}, {} to {}", human_bytes(op.amount), arrow.from, op.peer.value,
                        to_string(times.ops[arrow.send].begin), to_string(times.ops[arrow.receive].end));
        svg.line(from, to, "class=\"message\"", hover);
        svg.circle(to, 2.5, "class=\"head\"", hover);
    }
    if (arrows.size() > frame.most_messages)
        svg.text({left, foot + 36},
                 fmt::format("{} of {} messages are drawn", grouped(frame.most_messages), grouped(arrows.size())));
    for (OpIndex i = 0; i < schedule.size(); ++i) {
        const Op& op = schedule.op(i);
        const model::Span& span = times.ops[i];
        if (op.kind == OpKind::send || op.kind == OpKind::receive || span.end == never || span.end == span.begin)
            continue;
        const char* const kind = op.kind == OpKind::reduce ? "reduce" : op.kind == OpKind::copy ? "copy" : "compute";
        const std::string what =
            op.kind == OpKind::compute ? "work" : fmt::format("{} {}", kind, human_bytes(op.amount));
        svg.line({x(span.begin), y(rank_of[i])}, {std::max(x(span.end), x(span.begin) + 1), y(rank_of[i])},
                 fmt::format("class=\"{}\"", kind),
                 fmt::format("{} at {}, {} to {}", what, rank_of[i], to_string(span.begin), to_string(span.end)));
    }
    return svg;
}

}  // namespace loom::report
