#include "loom/fabric/host_order_io.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <ostream>
#include <unordered_map>

#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/base/text.hpp"

namespace loom::fabric {
namespace {

constexpr std::string_view keeper_name = "DUMMY";
constexpr std::uint64_t keeper_lid = 0xffff;

struct Line {
    std::uint64_t lid;
    std::string_view name;
};

// "0xLID", white space, a name that may hold anything.
std::optional<Line> read_line(std::string_view line) {
    if (!line.starts_with("0x")) return std::nullopt;
    Cursor cursor(line);
    const auto lid = cursor.take_hex();
    if (!lid || (!cursor.done() && !is_blank(cursor.peek()))) return std::nullopt;
    return Line{*lid, cursor.skip_blanks().rest()};
}

bool says_something(std::string_view line) {
    return !line.empty() && line.front() != '#';
}

}  // namespace

bool is_host_order(std::string_view text) {
    Lines lines(text);
    std::string_view line;
    while (lines.next(line)) {
        const std::string_view content = trim(line);
        if (!says_something(content)) continue;
        line.remove_prefix(static_cast<std::size_t>(content.data() - line.data()));
        const auto tab = line.find_first_of(" \t");  // before an empty name it ends the line
        return read_line(content) && tab != std::string_view::npos && line[tab] == '\t';
    }
    return false;
}

std::vector<RankedHost> parse_host_order(std::string_view text, const std::string& file_name) {
    std::vector<RankedHost> order;
    std::unordered_map<std::uint64_t, std::size_t> line_of;
    Lines lines(text);
    std::string_view line;
    while (lines.next(line)) {
        line = trim(line);
        if (!says_something(line)) continue;
        const auto entry = read_line(line);
        if (!entry) throw ParseError(file_name, lines.number(), "expected \"0xLID NAME\", found " + excerpt(line));
        if (entry->lid == keeper_lid && entry->name == keeper_name) {
            order.push_back({no_lid, std::string(keeper_name), lines.number()});
            continue;
        }
        if (entry->lid == 0 || entry->lid > max_unicast_lid)
            throw ParseError(
                file_name, lines.number(),
                fmt::format("LID {:#x} is no unicast LID; expected 0x1 to 0xbfff, or \"0xFFFF DUMMY\"", entry->lid));
        std::size_t& seen = line_of[entry->lid];
        if (seen != 0)
            throw ParseError(
                file_name, lines.number(),
                fmt::format("LID {:#06x} was given before, at line {}; expected each host once", entry->lid, seen));
        seen = lines.number();
        order.push_back({Lid{static_cast<std::uint16_t>(entry->lid)}, std::string(entry->name), lines.number()});
    }
    if (order.empty()) throw ParseError(file_name, 0, "no host in it; expected lines like \"0x0002<TAB>NAME\"");
    return order;
}

std::vector<HostPort> bind_host_order(const std::vector<RankedHost>& order, const Fabric& fabric,
                                      const std::string& file_name, PlaceKeepers keepers) {
    std::vector<PortIndex> by_lid(std::size_t{max_unicast_lid} + 1, no_port);
    for (std::uint32_t i = 0; i < fabric.port_count(); ++i) {
        const Port& port = fabric.port(PortIndex{i});
        if (port.lid == no_lid || !port.connected() || fabric.node(port.node).kind == NodeKind::switch_ ||
            fabric.node(fabric.port(port.peer).node).kind != NodeKind::switch_)
            continue;
        const std::size_t end = std::min<std::size_t>(std::size_t{port.lid.value} + (1u << port.lmc), by_lid.size());
        for (std::size_t lid = port.lid.value; lid < end; ++lid) by_lid[lid] = PortIndex{i};
    }

    std::vector<HostPort> hosts;
    hosts.reserve(order.size());
    for (const RankedHost& host : order) {
        if (host.lid == no_lid) {
            if (keepers == PlaceKeepers::keep) hosts.push_back({no_port, no_port});
            continue;
        }
        const PortIndex port = by_lid[host.lid.value];
        if (port == no_port)
            throw ParseError(
                file_name, host.line,
                fmt::format("LID {} ({}) is no host port behind a switch of the fabric", host.lid.value, host.name));
        hosts.push_back({port, fabric.port(port).peer});
    }
    return hosts;
}

void write_host_order(const Fabric& fabric, std::span<const HostPort> order, std::ostream& out, PlaceKeepers keepers) {
    const auto leaf = [&fabric](const HostPort& host) { return fabric.port(host.switch_port).node; };
    const auto leaf_end = [&](auto begin) {
        return std::find_if(begin, order.end(), [&](const HostPort& host) { return leaf(host) != leaf(*begin); });
    };
    std::ptrdiff_t most = 0;
    for (auto begin = order.begin(); begin != order.end(); begin = leaf_end(begin))
        most = std::max(most, leaf_end(begin) - begin);

    fmt::memory_buffer text;
    const auto to = std::back_inserter(text);
    for (auto begin = order.begin(); begin != order.end();) {
        const auto end = leaf_end(begin);
        const std::ptrdiff_t missing = keepers == PlaceKeepers::keep ? most - (end - begin) : 0;
        for (; begin != end; ++begin) {
            const Port& port = fabric.port(begin->port);
            if (port.lid == no_lid)
                throw Error(describe(fabric, port.node, port.number) + " has no LID, which the host order needs");
            std::string name = fabric.node(port.node).name;
            std::replace_if(
                name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
            fmt::format_to(to, "{:#06x}\t{}\n", port.lid.value, name);
        }
        for (std::ptrdiff_t i = 0; i < missing; ++i) fmt::format_to(to, "0xFFFF\t{}\n", keeper_name);
    }
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
}

}  // namespace loom::fabric
