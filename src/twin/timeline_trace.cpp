// A timeline as JSON in Chrome's trace event format.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <ostream>

#include "loom/base/file.hpp"
#include "loom/base/table.hpp"
#include "loom/twin/timeline.hpp"

namespace loom::twin {

namespace {

// Whatever bytes a name from a file has.
std::string json_text(std::string_view text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string microseconds_text(Time time) {
    return fmt::format("{}.{:06}", time.ps / 1'000'000, time.ps % 1'000'000);
}

class Trace {
public:
    Trace(const Timeline& timeline, std::ostream& out) : timeline_(timeline), out_(out) {
        for (const std::string& name : timeline.names) names_.push_back(json_text(name));
    }

    void write() {
        out_ << "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"made_by\":\"loom twin\",\"events_left_out\":"
             << timeline_.left_out << "},\"traceEvents\":[";
        names_of_rows();
        for (std::uint32_t rank = 0; rank < timeline_.ranks.size(); ++rank) spans_of(rank);
        for (std::size_t i = 0; i < timeline_.messages.size(); ++i) message(timeline_.messages[i], i);
        out_ << "\n]}\n";
    }

private:
    void event(const std::string& text) {
        out_ << (first_ ? "\n" : ",\n") << text;
        first_ = false;
    }
    // {"pid":..,"tid":..: to be completed.
    [[nodiscard]] std::string row(std::uint32_t rank) const {
        return fmt::format("{{\"pid\":{},\"tid\":{}", timeline_.hosts[rank], rank);
    }

    void names_of_rows() {
        for (std::size_t host = 0; host < timeline_.host_names.size(); ++host)
            event(fmt::format(R"({{"pid":{},"ph":"M","name":"process_name","args":{{"name":{}}}}})", host,
                              json_text(timeline_.host_names[host])));
        for (std::uint32_t rank = 0; rank < timeline_.ranks.size(); ++rank) {
            event(row(rank) + fmt::format(R"(,"ph":"M","name":"thread_name","args":{{"name":"rank {}"}}}})", rank));
            event(row(rank) +
                  fmt::format(R"(,"ph":"M","name":"thread_sort_index","args":{{"sort_index":{}}}}})", rank));
        }
    }

    // Slices of one row must lie one inside the other: operations that do not get a row of their own.
    [[nodiscard]] static std::vector<bool> overlapping(const std::vector<Span>& spans) {
        std::vector<bool> result(spans.size());
        std::vector<std::size_t> open;
        for (std::size_t i = 0; i < spans.size(); ++i) {
            while (!open.empty() && spans[open.back()].end <= spans[i].begin) open.pop_back();
            while (!open.empty() && spans[open.back()].end < spans[i].end) {
                const std::size_t outer = spans[open.back()].kind == Span::Kind::operation ? open.back() : i;
                result[outer] = true;
                if (outer == i) break;
                open.pop_back();
            }
            if (!result[i]) open.push_back(i);
        }
        return result;
    }

    void spans_of(std::uint32_t rank) {
        const std::vector<Span>& spans = timeline_.ranks[rank];
        const std::vector<bool> apart = overlapping(spans);
        for (std::size_t i = 0; i < spans.size(); ++i) {
            const std::string head =
                row(rank) + fmt::format(R"(,"name":{},"cat":"{}","ts":{})", name_of(spans[i]), to_string(spans[i].kind),
                                        microseconds_text(spans[i].begin));
            if (!apart[i]) {
                event(head + fmt::format(R"(,"ph":"X","dur":{},"args":{}}})",
                                         microseconds_text(spans[i].end - spans[i].begin), arguments_of(spans[i])));
                continue;
            }
            const std::string id = fmt::format(R"(,"id":"{}.{}")", rank, i);
            event(head + id + fmt::format(R"(,"ph":"b","args":{}}})", arguments_of(spans[i])));
            event(row(rank) +
                  fmt::format(R"(,"name":{},"cat":"{}","ts":{})", name_of(spans[i]), to_string(spans[i].kind),
                              microseconds_text(spans[i].end)) +
                  id + R"(,"ph":"e"})");
        }
    }

    [[nodiscard]] std::string name_of(const Span& span) const {
        if (span.kind == Span::Kind::operation) return names_[span.name];
        if (span.kind == Span::Kind::wait && span.peer != no_peer)
            return fmt::format("\"wait for {}\"", span.peer.value);
        if (span.kind == Span::Kind::send && span.peer != no_peer)
            return fmt::format("\"send to {}\"", span.peer.value);
        return fmt::format("\"{}\"", to_string(span.kind));
    }

    [[nodiscard]] std::string arguments_of(const Span& span) const {
        std::string text;
        if (span.kind != Span::Kind::compute) text += fmt::format(",\"bytes\":{}", span.bytes);
        if (span.peer != no_peer) text += fmt::format(R"(,"rank":{},"tag":"{:#x}")", span.peer.value, span.tag.value);
        if (span.group != 0) text += fmt::format(",\"communicator\":{}", span.group);
        if (span.name != 0 && span.kind != Span::Kind::operation) text += ",\"in\":" + names_[span.name];
        return "{" + (text.empty() ? text : text.substr(1)) + "}";
    }

    // An arrow needs a slice at both ends: they take no time.
    void message(const Arrow& arrow, std::size_t number) {
        const std::string bytes = human_bytes(arrow.bytes);
        const auto end = [&](Rank rank, Time time, const std::string& name, const char* kind) {
            const std::string ts = fmt::format(",\"ts\":{}", microseconds_text(time));
            event(row(rank.value) + ts +
                  fmt::format(R"(,"ph":"X","dur":0,"name":"{}","cat":"message","args":{{"bytes":{},"tag":"{:#x}"}}}})",
                              name, arrow.bytes, arrow.tag.value));
            event(row(rank.value) + ts +
                  fmt::format(R"(,"ph":{},"id":{},"name":"message","cat":"message"}})", kind, number));
        };
        end(arrow.from, arrow.sent, fmt::format("{} to {}", bytes, arrow.to.value), "\"s\"");
        end(arrow.to, arrow.arrived, fmt::format("{} from {}", bytes, arrow.from.value), R"("f","bp":"e")");
    }

    const Timeline& timeline_;
    std::ostream& out_;
    std::vector<std::string> names_;
    bool first_ = true;
};

}  // namespace

std::string_view to_string(Span::Kind kind) {
    switch (kind) {
        case Span::Kind::compute:
            return "compute";
        case Span::Kind::copy:
            return "copy";
        case Span::Kind::reduce:
            return "reduce";
        case Span::Kind::wait:
            return "wait";
        case Span::Kind::send:
            return "send";
        case Span::Kind::operation:
            return "operation";
    }
    return "?";
}

std::string Timeline::remark() const {
    if (left_out == 0) return {};
    return fmt::format("{} more {} not in the timeline: it keeps the first ones of each rank",
                       counted(left_out, "event", "events"), left_out == 1 ? "is" : "are");
}

void write_chrome_trace(const Timeline& timeline, std::ostream& out) {
    Trace(timeline, out).write();
}

void write_chrome_trace(const Timeline& timeline, const std::filesystem::path& path) {
    write_file(path, [&](std::ostream& out) { write_chrome_trace(timeline, out); });
}

}  // namespace loom::twin
