// opensm-subnet.lst, which OpenSM dumps and ibdmchk reads: a line for each end of each cable,
//   { CA Ports:02 SystemGUID:… NodeGUID:… PortGUID:… VenID:… DevID:… Rev:… {name} LID:0001 PN:01 } { SW … } PHY=4x
//   LOG=ACT SPD=10
// All numbers are hexadecimal. Nodes without a cable do not appear.
#include <fmt/format.h>

#include <array>
#include <unordered_map>
#include <utility>

#include "fabric/io/cabling.hpp"
#include "fabric/io/formats.hpp"
#include "fabric/io/output.hpp"
#include "fabric/io/words.hpp"
#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/base/text.hpp"

namespace loom::fabric::io {
namespace {

struct End {
    NodeKind kind = NodeKind::switch_;
    std::uint8_t ports = 0;
    std::uint8_t port = 0;
    std::uint64_t system_guid = 0, guid = 0, port_guid = 0;
    std::uint64_t vendor = 0, device = 0, lid = 0;
    std::string_view name;
};

struct Cable {
    NodeId a, b;
    std::uint8_t a_port, b_port;
    LinkRate rate;
    std::uint32_t line;
};

class SubnetReader {
public:
    SubnetReader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

    Reading read() {
        reading_.format = Format::subnet_lst;
        Lines lines(text_);
        std::string_view line;
        while (lines.next(line)) {
            line_ = lines.number();
            line = trim(line);
            if (!line.empty() && line.front() != '#') read_line(line);
        }
        if (cables_.empty())
            throw ParseError(file_, line_, "the file ends without a cable, expected lines such as: { CA Ports:02 ...");
        Cabling cabling(reading_.fabric, file_, Sides::both);
        for (const Cable& cable : cables_)
            cabling.state(cable.a, cable.a_port, cable.b, cable.b_port, cable.rate, cable.line);
        cabling.report(reading_.remarks);
        if (down_ != 0)
            reading_.remarks.push_back(fmt::format("{} cable end{} down (first on line {}); left out", down_,
                                                   down_ == 1 ? " is" : "s are", first_down_));
        return std::move(reading_);
    }

private:
    [[noreturn]] void fail(const std::string& message) const { throw ParseError(file_, line_, message); }

    void read_line(std::string_view line) {
        Cursor cursor(line);
        const End a = read_end(cursor);
        const End b = read_end(cursor);
        LinkRate rate;
        bool down = false;
        while (!cursor.skip_blanks().done()) {
            const std::string_view word = cursor.take_word();
            const auto equals = word.find('=');
            if (equals == std::string_view::npos)
                fail("expected PHY=, LOG= and SPD= at the end, found " + excerpt(word));
            const std::string_view key = word.substr(0, equals), value = word.substr(equals + 1);
            if (key == "PHY") rate.width = width(value);
            if (key == "SPD") rate.speed = speed(value);
            if (key == "LOG") down = value == "DWN";
        }
        const NodeId from = node_of(a), to = node_of(b);
        if (down) {
            if (++down_ == 1) first_down_ = line_;
            return;
        }
        cables_.push_back({from, to, a.port, b.port, rate, static_cast<std::uint32_t>(line_)});
    }

    Width width(std::string_view text) {
        if (text == "??") return Width::unknown;
        const auto rate = rate_in_word(std::string(text) + "?");
        if (!rate || rate->width == Width::unknown) fail("expected a width such as 4x, found " + excerpt(text));
        return rate->width;
    }
    Speed speed(std::string_view text) {
        if (text == "??") return Speed::unknown;
        const auto found = speed_from_gigabits(text);
        if (!found) fail("expected a lane's speed such as 10 or 25, found " + excerpt(text));
        return *found;
    }

    std::uint64_t field(Cursor& cursor, std::string_view key, std::uint64_t most = ~std::uint64_t{0}) {
        if (!cursor.skip_blanks().take(key))
            fail(fmt::format("expected {} and a hexadecimal number, found {}", key, excerpt(cursor.rest())));
        const auto value = cursor.take_hex();
        if (!value || *value > most)
            fail(fmt::format("expected {} and a hexadecimal number of at most {:X}, found {}", key, most,
                             excerpt(cursor.rest())));
        return *value;
    }

    End read_end(Cursor& cursor) {
        End end;
        if (!cursor.skip_blanks().take('{'))
            fail("expected { and the description of an end, found " + excerpt(cursor.rest()));
        std::string_view kind = cursor.skip_blanks().take_word();
        if (kind.ends_with("-SM")) kind.remove_suffix(3);
        if (kind == "SW")
            end.kind = NodeKind::switch_;
        else if (kind == "CA")
            end.kind = NodeKind::host;
        else if (kind == "Rt" || kind == "RT")
            end.kind = NodeKind::router;
        else
            fail("expected SW, CA or Rt, found " + excerpt(kind));
        end.ports = static_cast<std::uint8_t>(field(cursor, "Ports:", 254));
        end.system_guid = field(cursor, "SystemGUID:");
        end.guid = field(cursor, "NodeGUID:");
        end.port_guid = field(cursor, "PortGUID:");
        end.vendor = field(cursor, "VenID:", 0xffffffff);
        end.device = field(cursor, "DevID:", 0xffffffff);
        if ((end.device & 0xffff) == 0) end.device >>= 16;  // OpenSM shifts the second end's by a slip of its own
        (void)field(cursor, "Rev:");
        if (!cursor.skip_blanks().take('{'))
            fail("expected the node's name in braces, found " + excerpt(cursor.rest()));
        constexpr std::string_view after_name = "} LID:";
        const auto close = cursor.rest().find(after_name);
        if (close == std::string_view::npos)
            fail("expected } and LID: after the name, found " + excerpt(cursor.rest()));
        end.name = cursor.rest().substr(0, close);
        cursor = Cursor(cursor.rest().substr(close + 2));
        end.lid = field(cursor, "LID:", max_unicast_lid);
        end.port = static_cast<std::uint8_t>(field(cursor, "PN:", 254));
        if (!cursor.skip_blanks().take('}')) fail("expected } after the port number, found " + excerpt(cursor.rest()));
        return end;
    }

    NodeId node_of(const End& end) {
        if (end.guid == 0) fail("expected a node GUID that is not zero");
        Fabric& fabric = reading_.fabric;
        const auto [at, fresh] = nodes_.try_emplace(end.guid, no_node);
        if (fresh) {
            at->second = fabric.add_node(end.kind, end.ports, std::string(end.name), Guid{end.guid});
            Node& node = fabric.node(at->second);
            if (end.system_guid != 0) node.system_guid = Guid{end.system_guid};
            node.vendor = static_cast<std::uint32_t>(end.vendor);
            node.device = static_cast<std::uint32_t>(end.device);
            first_line_.push_back(line_);
        }
        const NodeId id = at->second;
        const Node& node = fabric.node(id);
        if (node.kind != end.kind || node.ports != end.ports)
            fail(fmt::format("the node {} has another kind or number of ports on line {}, expected the same",
                             to_string(node.guid), first_line_[id.value]));
        if (end.port == 0 || end.port > end.ports)
            fail(fmt::format("{} has no port {}, expected 1 to {}", describe(fabric, id), end.port, end.ports));
        const bool is_switch = end.kind == NodeKind::switch_;
        Port& port = fabric.port(id, PortNum{is_switch ? std::uint8_t{0} : end.port});
        if (end.lid != 0) port.lid = Lid{static_cast<std::uint16_t>(end.lid)};
        if (end.port_guid != 0) port.guid = Guid{end.port_guid};
        return id;
    }

    std::string_view text_;
    const std::string& file_;
    Reading reading_;
    std::size_t line_ = 0;
    std::unordered_map<std::uint64_t, NodeId> nodes_;
    std::vector<std::size_t> first_line_;  // by NodeId
    std::vector<Cable> cables_;
    std::size_t down_ = 0, first_down_ = 0;
};

}  // namespace

Reading read_subnet_lst(std::string_view text, const std::string& file) {
    return SubnetReader(text, file).read();
}

void write_subnet_lst(const Fabric& fabric, std::ostream& out) {
    Output text(out);
    const auto put_end = [&](const Port& port) {
        const Node& node = fabric.node(port.node);
        const bool is_switch = node.kind == NodeKind::switch_;
        const Port& numbered = is_switch ? fabric.port(port.node, PortNum{0}) : port;
        text.put(
            "{{ {} Ports:{:02X} SystemGUID:{:016x} NodeGUID:{:016x} PortGUID:{:016x} VenID:{:06X} DevID:{:04X} "
            "Rev:{:08X} {{{}}} LID:{:04X} PN:{:02X} }} ",
            is_switch                     ? "SW"
            : node.kind == NodeKind::host ? "CA"
                                          : "Rt",
            node.ports, node.system_guid.value, node.guid.value, numbered.guid.value, node.vendor, node.device, 0,
            printable(node.name), numbered.lid.value, port.number.value);
    };
    for (const Port& port : fabric.all_ports()) {
        if (!port.connected()) continue;
        put_end(port);
        put_end(fabric.port(port.peer));
        text.put("PHY={} LOG=ACT SPD={}\n", width_word(port.rate.width), gigabits_word(port.rate.speed));
    }
}

}  // namespace loom::fabric::io
