// opensm.fdbs and ibdiagnet2's .fdbs:
//   [osm_ucast_mgr_]dump_ucast_routes: Switch 0xGUID
//   LID    : Port : Hops : Optimal
//   0x0001 : 003  : 02   : yes            or: 0x0001 : UNREACHABLE
#include <fmt/format.h>

#include "loom/base/file.hpp"
#include "loom/base/text.hpp"
#include "routing/io/collector.hpp"

namespace loom::routing::io {
namespace {

constexpr std::string_view header_example = "dump_ucast_routes: Switch 0x0002c90200000001";
constexpr std::string_view header_mark = "dump_ucast_routes: Switch ";

class Reader {
public:
    Reader(std::string_view text, TableFile& file) : file_(&file), collector_(file, text.size()), lines_(text) {}

    void read() {
        std::string_view line;
        while (lines_.next(line)) {
            const std::string_view rest = trim(line);
            if (rest.starts_with("0x")) {
                if (!skipping_) entry(rest);
            } else if (const auto at = rest.find(header_mark); at != std::string_view::npos) {
                header(rest, rest.substr(at + header_mark.size()));
            } else {
                other(rest);
            }
        }
        begin_pending();
        collector_.finish(header_example);
        if (private_tables_ != 0)
            file_->remarks.push_back(fmt::format(
                "{}: {} private tables (PLFT_NUM above 0) were skipped; only the first of each switch is read",
                file_->file_name, private_tables_));
    }

private:
    struct Pending {
        std::size_t line;
        Guid guid;
    };

    void header(std::string_view line, std::string_view after) {
        Cursor cursor(after);
        const auto guid = cursor.take_hex();
        if (!after.starts_with("0x") || !guid || *guid == 0 || (!cursor.done() && !is_blank(cursor.peek())))
            collector_.fail(number(), fmt::format("expected \"{}\", found {}", header_example, excerpt(line)));
        begin_pending();
        pending_ = Pending{number(), Guid{*guid}};
        skipping_ = false;
    }

    // A switch begins with its first entry: a header may also open one of its private tables.
    void begin_pending() {
        if (pending_) collector_.begin_switch(pending_->line, pending_->guid, no_lid, {});
        pending_.reset();
    }

    void entry(std::string_view line) {
        begin_pending();
        if (!collector_.in_switch())
            collector_.fail(number(), fmt::format("an entry before any switch; expected \"{}\"", header_example));
        Cursor cursor(line);
        const auto lid = cursor.take_hex();
        if (!lid || !cursor.skip_blanks().take(':')) expected_entry(line);
        if (cursor.skip_blanks().take(std::string_view("UNREACHABLE"))) {
            collector_.entry(number(), *lid, no_route);
            return;
        }
        const auto port = cursor.take_decimal();
        if (!port || (!cursor.done() && !is_blank(cursor.peek()) && cursor.peek() != ':')) expected_entry(line);
        collector_.entry(number(), *lid, *port);
    }

    void other(std::string_view line) {
        if (line.empty() || line.front() == '#' || line.starts_with("LID")) return;
        if (constexpr std::string_view mark = "PLFT_NUM:"; line.starts_with(mark)) {
            const auto plane = Cursor(line.substr(mark.size())).skip_blanks().take_decimal();
            if (!plane) collector_.fail(number(), "expected \"PLFT_NUM: NUMBER\", found " + excerpt(line));
            skipping_ = *plane != 0;
            if (!skipping_) return;
            ++private_tables_;
            pending_.reset();
            return;
        }
        if (!collector_.in_switch() && !pending_) {
            collector_.skipped(number(), line);
            return;
        }
        collector_.fail(number(),
                        "expected \"0xLID : PORT : HOPS : OPTIMAL\" or \"dump_ucast_routes: Switch 0x...\", found " +
                            excerpt(line));
    }

    [[noreturn]] void expected_entry(std::string_view line) const {
        collector_.fail(
            number(), "expected \"0xLID : PORT : HOPS : OPTIMAL\" or \"0xLID : UNREACHABLE\", found " + excerpt(line));
    }
    [[nodiscard]] std::size_t number() const { return lines_.number(); }

    TableFile* file_;
    Collector collector_;
    Lines lines_;
    std::optional<Pending> pending_;
    bool skipping_ = false;
    std::size_t private_tables_ = 0;
};

}  // namespace

void parse_fdbs(std::string_view text, TableFile& file) {
    file.format = TableFormat::fdbs;
    Reader(text, file).read();
}

}  // namespace loom::routing::io
