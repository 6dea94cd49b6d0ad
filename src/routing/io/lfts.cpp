// "Unicast lids ..." text: OpenSM's dump and what ibroute and dump_lfts print. One grammar reads both:
//   Unicast lids [RANGE] of switch (Lid N | DR path ... | nothing) guid 0xGUID (NAME):
//   0xLID PORT                            anything after the port but a port GUID is for people
#include <fmt/format.h>

#include "loom/base/file.hpp"
#include "loom/base/text.hpp"
#include "routing/io/collector.hpp"

namespace loom::routing::io {
namespace {

constexpr std::string_view header_example = "Unicast lids [0-9] of switch Lid 1 guid 0x0002c90200000001 ('name'):";
constexpr std::string_view header_start = "Unicast lids ";
constexpr std::string_view guid_mark = " guid ";

// "(name):", "('name'):" or ":"; a name may hold any character, parentheses and quotes too.
std::string read_name(std::string_view rest) {
    rest = trim(rest);
    if (!rest.empty() && rest.back() == ':') rest.remove_suffix(1);
    if (rest.size() < 2 || rest.front() != '(' || rest.back() != ')') return {};
    rest = rest.substr(1, rest.size() - 2);
    if (rest.size() >= 2 && rest.front() == '\'' && rest.back() == '\'') rest = rest.substr(1, rest.size() - 2);
    return std::string(rest);
}

class Reader {
public:
    Reader(std::string_view text, TableFile& file) : file_(&file), collector_(file, text.size()), lines_(text) {}

    void read() {
        std::string_view line;
        while (lines_.next(line)) {
            const std::string_view rest = trim(line);
            if (rest.starts_with("0x"))
                entry(rest);
            else if (rest.starts_with(header_start))
                header(rest);
            else
                other(rest);
        }
        collector_.finish(header_example);
    }

private:
    void entry(std::string_view line) {
        if (!collector_.in_switch())
            collector_.fail(number(), "an entry before any switch; expected \"" + std::string(header_example) + "\"");
        Cursor cursor(line);
        const auto lid = cursor.take_hex();
        if (!lid || !is_blank(cursor.peek()))
            collector_.fail(number(), "expected \"0xLID PORT\" with a hexadecimal LID, found " + excerpt(line));
        auto port = cursor.skip_blanks().take_decimal();
        if (!port || (!cursor.done() && !is_blank(cursor.peek())))
            collector_.fail(number(), "expected \"0xLID PORT\" with a decimal port, found " + excerpt(line));
        const std::string_view comment = cursor.rest();
        // `ibroute -a` shows what a switch drops: a port number that it does not have.
        if (comment.ends_with("illegal port)")) port = no_route;
        collector_.entry(number(), *lid, *port);
        if (collector_.wants_owner(*lid)) owner(*lid, comment);
    }

    void owner(std::uint64_t lid, std::string_view comment) {
        constexpr std::string_view mark = " portguid 0x";
        const auto at = comment.find(mark);
        if (at == std::string_view::npos) return;
        if (const auto guid = Cursor(comment.substr(at + mark.size())).take_hex(); guid && *guid != 0)
            collector_.owner(lid, Guid{*guid});
    }

    void header(std::string_view line) {
        Cursor cursor(line.substr(header_start.size()));
        // The range is checked, but the entries decide which LIDs there are.
        if (!cursor.take('[') || !take_number(cursor) || !cursor.take('-') || !take_number(cursor) ||
            !cursor.take(std::string_view("] of switch")))
            expected_header(line);

        Lid lid;
        if (Cursor ahead = cursor; ahead.take(std::string_view(" Lid "))) {
            const auto value = ahead.take_decimal();
            if (!value || *value > 0xffff) expected_header(line);
            lid = Lid{static_cast<std::uint16_t>(*value)};
        }
        const auto at = cursor.rest().find(guid_mark);
        if (at == std::string_view::npos) {
            if (lid == no_lid) expected_header(line);
            collector_.begin_switch(number(), no_guid, lid, {});
            return;
        }
        Cursor after(cursor.rest().substr(at + guid_mark.size()));
        const auto guid = after.take_hex();
        if (!guid || *guid == 0 || !cursor.rest().substr(at + guid_mark.size()).starts_with("0x") ||
            (!after.done() && !is_blank(after.peek()) && after.peek() != ':'))
            expected_header(line);
        collector_.begin_switch(number(), Guid{*guid}, lid, read_name(after.rest()));
    }

    static bool take_number(Cursor& cursor) {
        return (cursor.rest().starts_with("0x") ? cursor.take_hex() : cursor.take_decimal()).has_value();
    }

    void other(std::string_view line) {
        if (line.empty() || line.front() == '#' || line.starts_with("***") || line.ends_with(" lids dumped") ||
            line.ends_with(" valid lids dumped"))
            return;
        if (line.starts_with("Lid ") && line.find("Out") != std::string_view::npos) {
            file_->format = TableFormat::dump_lfts;
            return;
        }
        if (line.starts_with("Port ") && line.ends_with("Info")) return;
        if (line.starts_with("Multicast mlids"))
            collector_.fail(number(), "a multicast table; expected unicast ones (dump_lfts, or dump_fts without -M)");
        if (!collector_.in_switch() || is_noise(line)) {
            collector_.skipped(number(), line);
            return;
        }
        collector_.fail(number(),
                        "expected \"0xLID PORT\", \"Unicast lids ...\" or \"N lids dumped\", found " + excerpt(line));
    }

    // Messages of the tools that land in a redirected output, and shell prompts.
    static bool is_noise(std::string_view line) {
        for (const std::string_view start : {"ibwarn:", "ibroute:", "dump_fts:", "SubnGet", "src/"})
            if (line.starts_with(start)) return true;
        const auto user = line.find('@');
        return user != std::string_view::npos && line.find_first_of("#$>", user) != std::string_view::npos;
    }

    [[noreturn]] void expected_header(std::string_view line) const {
        collector_.fail(number(), fmt::format("expected \"{}\", found {}", header_example, excerpt(line)));
    }
    [[nodiscard]] std::size_t number() const { return lines_.number(); }

    TableFile* file_;
    Collector collector_;
    Lines lines_;
};

}  // namespace

void parse_lfts(std::string_view text, TableFile& file) {
    file.format = TableFormat::opensm_lfts;
    Reader(text, file).read();
}

}  // namespace loom::routing::io
