// "Unicast lids ..." text: OpenSM's dump and what ibroute and dump_lfts print. One grammar reads both:
//   Unicast lids [RANGE] of switch (Lid N | DR path ... | nothing) guid 0xGUID (NAME):
//   0xLID PORT                            anything after the port but a port GUID is for people
#include <fmt/format.h>

#include "loom/base/file.hpp"
#include "routing/io/collector.hpp"
#include "routing/io/scan.hpp"

namespace loom::routing::io {
namespace {

constexpr std::string_view header_example = "Unicast lids [0-9] of switch Lid 1 guid 0x0002c90200000001 ('name'):";
constexpr std::string_view header_start = "Unicast lids ";
constexpr std::string_view guid_mark = " guid ";

// "(name):", "('name'):" or ":"; a name may hold any character, parentheses and quotes too.
std::string read_name(std::string_view rest) {
    rest = trimmed(rest);
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
            std::string_view rest = line;
            skip_space(rest);
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
        std::string_view rest = line;
        const auto lid = take_hex(rest);
        if (!lid || rest.empty() || (rest.front() != ' ' && rest.front() != '\t'))
            collector_.fail(number(), "expected \"0xLID PORT\" with a hexadecimal LID, found " + shown(line));
        skip_space(rest);
        auto port = take_number(rest, 10);
        if (!port || (!rest.empty() && rest.front() != ' ' && rest.front() != '\t'))
            collector_.fail(number(), "expected \"0xLID PORT\" with a decimal port, found " + shown(line));
        // `ibroute -a` shows what a switch drops: a port number that it does not have.
        if (*port != no_route && rest.size() > 14 && rest.find("illegal port)") != std::string_view::npos)
            port = no_route;
        collector_.entry(number(), *lid, *port);
        if (collector_.wants_owner(*lid)) owner(*lid, rest);
    }

    void owner(std::uint64_t lid, std::string_view comment) {
        constexpr std::string_view mark = " portguid ";
        const auto at = comment.find(mark);
        if (at == std::string_view::npos) return;
        comment.remove_prefix(at + mark.size());
        if (const auto guid = take_hex(comment); guid && *guid != 0) collector_.owner(lid, Guid{*guid});
    }

    void header(std::string_view line) {
        std::string_view rest = line.substr(header_start.size());
        range(line, rest);
        constexpr std::string_view of_switch = " of switch";
        if (!rest.starts_with(of_switch)) expected_header(line);
        rest.remove_prefix(of_switch.size());

        Lid lid;
        if (constexpr std::string_view mark = " Lid "; rest.starts_with(mark)) {
            std::string_view digits = rest.substr(mark.size());
            const auto value = take_number(digits, 10);
            if (!value || *value > 0xffff) expected_header(line);
            lid = Lid{static_cast<std::uint16_t>(*value)};
        }
        const auto at = rest.find(guid_mark);
        if (at == std::string_view::npos) {
            if (lid == no_lid) expected_header(line);
            collector_.begin_switch(number(), no_guid, lid, {});
            return;
        }
        rest.remove_prefix(at + guid_mark.size());
        const auto guid = take_hex(rest);
        if (!guid || *guid == 0 || (!rest.empty() && rest.front() != ' ' && rest.front() != ':')) expected_header(line);
        collector_.begin_switch(number(), Guid{*guid}, lid, read_name(rest));
    }

    // "[0-13]" or "[0x0-0xd]": checked, but what follows decides which LIDs there are.
    void range(std::string_view line, std::string_view& rest) {
        const auto bound = [](std::string_view& text) {
            return text.starts_with("0x") ? take_hex(text) : take_number(text, 10);
        };
        if (!rest.starts_with('[')) expected_header(line);
        rest.remove_prefix(1);
        if (!bound(rest) || !rest.starts_with('-')) expected_header(line);
        rest.remove_prefix(1);
        if (!bound(rest) || !rest.starts_with(']')) expected_header(line);
        rest.remove_prefix(1);
    }

    void other(std::string_view line) {
        line = trimmed(line);
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
                        "expected \"0xLID PORT\", \"Unicast lids ...\" or \"N lids dumped\", found " + shown(line));
    }

    // Messages of the tools that land in a redirected output, and shell prompts.
    static bool is_noise(std::string_view line) {
        for (const std::string_view start : {"ibwarn:", "ibroute:", "dump_fts:", "SubnGet", "src/"})
            if (line.starts_with(start)) return true;
        const auto user = line.find('@');
        return user != std::string_view::npos && line.find_first_of("#$>", user) != std::string_view::npos;
    }

    [[noreturn]] void expected_header(std::string_view line) const {
        collector_.fail(number(), fmt::format("expected \"{}\", found {}", header_example, shown(line)));
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
