// A timeline as a picture: a row for each rank, or for several.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "loom/base/plot.hpp"
#include "loom/base/table.hpp"
#include "loom/twin/timeline.hpp"

namespace loom::twin {

namespace {

using Kind = Span::Kind;
constexpr std::size_t kinds = 5;  // operations lie elsewhere
constexpr std::array<Kind, kinds> all_kinds{Kind::compute, Kind::copy, Kind::reduce, Kind::wait, Kind::send};
constexpr std::array<const char*, kinds> words{"computes", "copies", "reduces", "waits", "sends"};

// Beyond so many spans rows are drawn in columns, so many of them in all.
constexpr std::size_t most_spans = 6000, most_columns = 24'000, most_operations = 4000;

constexpr double left = 76, right = 24, top = 58, bottom = 52;

std::size_t index_of(Kind kind) {
    return static_cast<std::size_t>(kind);
}

struct Unit {
    const char* name;
    double picoseconds;
};
Unit unit_of(Time end) {
    if (end >= seconds(1)) return {"s", 1e12};
    if (end >= milliseconds(1)) return {"ms", 1e9};
    return end >= microseconds(1) ? Unit{"us", 1e6} : Unit{"ns", 1e3};
}

// Time of each kind, in a stretch of a row.
struct Mix {
    std::array<double, kinds> time{};
    [[nodiscard]] double sum() const {
        double all = 0;
        for (const double each : time) all += each;
        return all;
    }
    [[nodiscard]] std::size_t most() const {
        return static_cast<std::size_t>(std::max_element(time.begin(), time.end()) - time.begin());
    }
};

class Picture {
public:
    Picture(const Timeline& timeline, const TimelineFrame& frame)
        : timeline_(timeline),
          frame_(frame),
          ranks_(timeline.ranks.size()),
          each_((ranks_ + std::max<std::size_t>(frame.most_rows, 1) - 1) / std::max<std::size_t>(frame.most_rows, 1)),
          rows_(ranks_ == 0 ? 0 : (ranks_ + each_ - 1) / each_),
          lane_(rows_ <= 16   ? 34
                : rows_ <= 48 ? 20
                              : 10),
          end_(std::max<std::int64_t>(timeline.end.ps, 1)),
          scale_((frame.width - left - right) / static_cast<double>(end_)),
          column_(std::max(1.0, (frame.width - left - right) * static_cast<double>(rows_) / most_columns)),
          svg_(frame.width, top + lane_ * static_cast<double>(rows_) + bottom, frame.title) {}

    Svg draw() && {
        svg_.style(
            ".compute{fill:#2f9e6e}.copy{fill:#8a8f98}.reduce{fill:#c9832b}.wait{fill:#d4574e;fill-opacity:.38}"
            ".send{fill:#3f86d8;fill-opacity:.75}.operation{fill:currentColor;fill-opacity:.55}"
            ".lane{stroke:currentColor;stroke-opacity:.25}.message{stroke:#3f86d8;stroke-width:1;stroke-opacity:.6}"
            ".small{font-size:10px}");
        svg_.text({left, 20}, frame_.title, "font-weight=\"bold\"");
        legend();
        std::size_t spans = 0;
        for (const auto& rank : timeline_.ranks) spans += rank.size();
        const bool exact = each_ == 1 && spans <= most_spans;
        for (std::size_t row = 0; row < rows_; ++row) {
            label(row);
            if (exact)
                draw_rank(row);
            else
                draw_group(row);
        }
        messages();
        axis();
        return std::move(svg_);
    }

private:
    [[nodiscard]] double x(Time time) const { return left + static_cast<double>(std::min(time.ps, end_)) * scale_; }
    [[nodiscard]] double y(std::size_t row) const { return top + lane_ * static_cast<double>(row); }
    [[nodiscard]] double bar() const { return lane_ * 0.56; }
    [[nodiscard]] double bar_top(std::size_t row) const { return y(row) + lane_ * 0.34; }

    void legend() {
        double at = left;
        for (std::size_t kind = 0; kind < kinds; ++kind) {
            svg_.rect({at, 32}, 12, 12, fmt::format("class=\"{}\"", to_string(all_kinds[kind])));
            svg_.text({at + 17, 42}, words[kind], "font-size=\"12\"");
            at += 92;
        }
        std::string rest = each_ == 1 ? "thin lines: collective operations" : fmt::format("{} ranks a row", each_);
        if (timeline_.left_out != 0) rest += fmt::format("; {} events left out", grouped(timeline_.left_out));
        svg_.text({at + 6, 42}, rest, "font-size=\"12\"");
    }

    void label(std::size_t row) {
        const std::size_t step = lane_ >= 20 ? 1 : 4;
        if (row % step != 0) return;
        const std::string text = each_ == 1 ? fmt::format("rank {}", row) : fmt::format("{} ...", row * each_);
        svg_.text({left - 8, bar_top(row) + bar() / 2 + 4}, text, "text-anchor=\"end\" font-size=\"12\"");
    }

    void rect(std::size_t row, double from, double to, std::size_t kind, const std::string& hover) {
        svg_.rect({from, bar_top(row)}, std::max(to - from, 0.4), bar(),
                  fmt::format("class=\"{}\"", to_string(all_kinds[kind])), hover);
    }

    [[nodiscard]] std::string hover(const Span& span) const {
        std::string text{words[index_of(span.kind)]};
        if (span.kind == Kind::copy || span.kind == Kind::reduce) text += " " + human_bytes(span.bytes);
        if (span.peer != no_peer)
            text = fmt::format("{} {} {} rank {}", text, span.kind == Kind::wait ? "for" : "",
                               human_bytes(span.bytes) + (span.kind == Kind::wait ? " from" : " to"), span.peer.value);
        if (span.name != 0) text += " in " + timeline_.names[span.name];
        return fmt::format("{}, {} to {}", text, to_string(span.begin), to_string(span.end));
    }

    // Exactly where there is room; neighbours that are smaller than a pixel together.
    void draw_rank(std::size_t row) {
        Mix mix;
        double from = 0, to = 0;
        std::size_t count = 0;
        const auto flush = [&] {
            if (count != 0)
                rect(
                    row, from, to, mix.most(),
                    fmt::format("{}, most of it {}", counted(count, "short event", "short events"), words[mix.most()]));
            mix = {};
            count = 0;
        };
        for (const Span& span : timeline_.ranks[row]) {
            const double begin = x(span.begin), end = x(span.end);
            if (span.kind == Kind::operation) {
                operation(row, span, begin, end);
                continue;
            }
            if (count != 0 && (begin - to >= 1 || to - from >= 4)) flush();
            if (end - begin >= 1) {
                flush();
                rect(row, begin, end, index_of(span.kind), hover(span));
                continue;
            }
            if (count == 0) from = begin;
            to = std::max(end, from);
            ++count;
            mix.time[index_of(span.kind)] += end - begin;
        }
        flush();
    }

    void operation(std::size_t row, const Span& span, double begin, double end) {
        if (end - begin < 1 || ++operations_ > most_operations) return;
        const std::string& name = timeline_.names[span.name];
        const double high = y(row) + lane_ * 0.24;
        svg_.rect({begin, high}, end - begin - 0.5, 2, "class=\"operation\"",
                  fmt::format("{} of {}, {} to {}", name, human_bytes(span.bytes), to_string(span.begin),
                              to_string(span.end)));
        if (lane_ >= 30 && end - begin > 6.5 * static_cast<double>(name.size()))
            svg_.text({begin + 1, high - 2}, name, "class=\"small\"");
    }

    // By columns of a pixel or a few: what takes most of the ranks' time there.
    void draw_group(std::size_t row) {
        const auto columns = static_cast<std::size_t>(std::ceil((frame_.width - left - right) / column_));
        std::vector<Mix> mixes(columns);
        for (std::size_t rank = row * each_; rank < std::min(ranks_, (row + 1) * each_); ++rank)
            for (const Span& span : timeline_.ranks[rank]) {
                add_to_columns(span, mixes);
                if (each_ == 1 && span.kind == Kind::operation) operation(row, span, x(span.begin), x(span.end));
            }
        const double whole = static_cast<double>(std::min(each_, ranks_ - row * each_));
        for (std::size_t first = 0; first < columns;) {
            const bool drawn = mixes[first].sum() > whole / 2;
            const std::size_t kind = mixes[first].most();
            Mix all;
            std::size_t last = first;
            for (; last < columns && (mixes[last].sum() > whole / 2) == drawn && mixes[last].most() == kind; ++last)
                for (std::size_t k = 0; k < kinds; ++k) all.time[k] += mixes[last].time[k];
            if (drawn)
                rect(row, left + column_ * static_cast<double>(first),
                     std::min(left + column_ * static_cast<double>(last), frame_.width - right), kind,
                     fmt::format("{:.0f} % {}", 100 * all.time[kind] / (whole * static_cast<double>(last - first)),
                                 words[kind]));
            first = last;
        }
    }

    void add_to_columns(const Span& span, std::vector<Mix>& mixes) const {
        if (span.kind == Kind::operation) return;
        const double begin = (x(span.begin) - left) / column_, end = (x(span.end) - left) / column_;
        for (auto column = static_cast<std::size_t>(begin); column < mixes.size(); ++column) {
            const double low = static_cast<double>(column);
            if (low >= end) break;
            mixes[column].time[index_of(span.kind)] += std::min(end, low + 1) - std::max(begin, low);
        }
    }

    void messages() {
        const std::vector<Arrow>& all = timeline_.messages;
        if (each_ != 1 || ranks_ > frame_.most_with_messages || all.size() > frame_.most_messages) return;
        for (const Arrow& arrow : all) {
            const auto middle = [&](Rank rank) { return bar_top(rank.value) + bar() / 2; };
            svg_.line({x(arrow.sent), middle(arrow.from)}, {x(arrow.arrived), middle(arrow.to)}, "class=\"message\"",
                      fmt::format("{} from {} to {}, {} to {}", human_bytes(arrow.bytes), arrow.from.value,
                                  arrow.to.value, to_string(arrow.sent), to_string(arrow.arrived)));
        }
    }

    void axis() {
        const Unit unit = unit_of(Time{end_});
        const double foot = y(rows_) + 4, last = static_cast<double>(end_) / unit.picoseconds;
        svg_.line({left, foot}, {frame_.width - right, foot}, "class=\"lane\"");
        for (const double tick : axis_ticks(0, last, 10)) {
            if (tick > last * 1.0001) continue;
            const double at = left + tick * unit.picoseconds * scale_;
            svg_.line({at, foot}, {at, foot + 5}, "class=\"lane\"");
            svg_.text({at, foot + 18}, axis_number(tick), "text-anchor=\"middle\" font-size=\"12\"");
        }
        svg_.text({frame_.width - right, foot + 36}, unit.name, "text-anchor=\"end\" font-size=\"12\"");
    }

    const Timeline& timeline_;
    const TimelineFrame& frame_;
    std::size_t ranks_, each_, rows_;
    double lane_;
    std::int64_t end_;
    double scale_;
    double column_;  // its width, where there are any
    Svg svg_;
    std::size_t operations_ = 0;  // drawn
};

}  // namespace

Svg draw_timeline(const Timeline& timeline, const TimelineFrame& frame) {
    return Picture(timeline, frame).draw();
}

}  // namespace loom::twin
