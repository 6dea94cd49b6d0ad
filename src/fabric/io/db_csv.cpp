// ibdiagnet2's .db_csv: tables between START_NAME and END_NAME, the first line of each naming its columns. Of the
// dozens there are, NODES, PORTS, LINKS and SWITCHES describe the fabric; columns are found by name.
#include <fmt/format.h>

#include <algorithm>
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

// Speeds as ibdiagnet2 numbers them: the old ones from bit 0, extended ones from bit 8, FDR10 at bit 16.
struct SpeedBit {
    Speed speed;
    std::uint32_t bit;
};
constexpr std::array speed_table{
    SpeedBit{Speed::xdr, 1u << 12}, SpeedBit{Speed::ndr, 1u << 11}, SpeedBit{Speed::hdr, 1u << 10},
    SpeedBit{Speed::edr, 1u << 9},  SpeedBit{Speed::fdr, 1u << 8},  SpeedBit{Speed::fdr10, 1u << 16},
    SpeedBit{Speed::qdr, 1u << 2},  SpeedBit{Speed::ddr, 1u << 1},  SpeedBit{Speed::sdr, 1u << 0},
};
struct WidthBit {
    Width width;
    std::uint32_t bit;
};
constexpr std::array width_table{
    WidthBit{Width::x12, 8}, WidthBit{Width::x8, 4}, WidthBit{Width::x4, 2},
    WidthBit{Width::x2, 16}, WidthBit{Width::x1, 1},
};

// The best of a mask; an active value is a mask of one.
Speed best_speed(std::uint64_t bits) {
    for (const auto& [speed, bit] : speed_table)
        if (bits & bit) return speed;
    return Speed::unknown;
}
Width best_width(std::uint64_t bits) {
    for (const auto& [width, bit] : width_table)
        if (bits & bit) return width;
    return Width::unknown;
}
std::uint32_t bit_of(Speed speed) {
    for (const auto& [known, bit] : speed_table)
        if (known == speed) return bit;
    return 0;
}
// That speed and what every port of its kind can do below it.
std::uint32_t mask_up_to(Speed speed) {
    std::uint32_t mask = bit_of(speed);
    for (const auto& [known, bit] : speed_table)
        if (known < speed && known != Speed::fdr10) mask |= bit;
    return mask;
}

struct Section {
    std::string_view text;  // header line and rows
    std::size_t line = 0;   // of the header line
    bool found = false;
};

class DbCsvReader {
public:
    DbCsvReader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

    Reading read() {
        reading_.format = Format::db_csv;
        split();
        if (!nodes_.found)
            throw ParseError(file_, line_, "the file ends without nodes, expected START_NODES and END_NODES");
        read_nodes();
        if (switches_.found) read_switches();
        if (ports_.found)
            read_ports();
        else
            reading_.remarks.push_back("there is no PORTS section; LIDs and rates are not known");
        if (links_.found)
            read_links();
        else
            reading_.remarks.push_back("there is no LINKS section; nothing is connected");
        return std::move(reading_);
    }

private:
    [[noreturn]] void fail(const std::string& message) const { throw ParseError(file_, line_, message); }
    Fabric& fabric() { return reading_.fabric; }

    void split() {
        std::string_view inside;  // the section's name
        const char* begin = nullptr;
        std::size_t begin_line = 0;
        Lines lines(text_);
        std::string_view line;
        while (lines.next(line)) {
            line_ = lines.number();
            const std::string_view word =
                line.starts_with("START_") || line.starts_with("END_") ? trim(line) : std::string_view{};
            if (word.starts_with("START_")) {
                if (!inside.empty()) fail(fmt::format("expected END_{} before the next section", inside));
                inside = word.substr(6);
                if (inside.empty()) fail("expected a section's name after START_");
                begin = line.data() + line.size();
                begin_line = line_ + 1;
            } else if (word.starts_with("END_")) {
                if (inside != word.substr(4))
                    fail(fmt::format("{} ends no open section, expected {}", excerpt(word),
                                     inside.empty() ? "START_..." : fmt::format("END_{}", inside)));
                Section* const section = wanted(inside);
                if (section != nullptr) {
                    if (section->found) fail(fmt::format("the section {} is there twice, expected it once", inside));
                    std::string_view body(begin, static_cast<std::size_t>(line.data() - begin));
                    body.remove_prefix(std::min(body.find('\n') + 1, body.size()));
                    *section = {body, begin_line, true};
                }
                inside = {};
            }
        }
        if (!inside.empty()) fail(fmt::format("the file ends inside a section, expected END_{}", inside));
    }
    Section* wanted(std::string_view name) {
        if (name == "NODES") return &nodes_;
        if (name == "PORTS") return &ports_;
        if (name == "LINKS") return &links_;
        if (name == "SWITCHES") return &switches_;
        return nullptr;
    }

    // Splits at commas; a field in quotes goes on to the line's last quote, since names may hold both.
    void split_row(std::string_view line) {
        fields_.clear();
        while (true) {
            if (line.starts_with('"')) {
                const auto close = line.rfind('"');
                if (close == 0) fail("expected a closing quote");
                fields_.push_back(line.substr(1, close - 1));
                line.remove_prefix(close + 1);
                if (!line.empty() && line.front() != ',')
                    fail("expected a comma after the closing quote, found " + excerpt(line));
            } else {
                const auto comma = line.find(',');
                fields_.push_back(trim(line.substr(0, comma)));
                line.remove_prefix(std::min(comma, line.size()));
            }
            if (line.empty()) return;
            line.remove_prefix(1);
        }
    }

    // Calls row() for each row with line_ and fields_ set. Columns that must be there are looked up first.
    template <std::size_t N, class Row>
    void each_row(const Section& section, std::string_view section_name, const std::array<std::string_view, N>& names,
                  std::size_t required, Row&& row) {
        Lines lines(section.text);
        std::string_view line;
        line_ = section.line;
        if (!lines.next(line))
            fail(fmt::format("the section {} is empty, expected a line that names its columns", section_name));
        split_row(line);
        std::array<std::size_t, N> column;
        for (std::size_t i = 0; i < N; ++i) {
            column[i] = static_cast<std::size_t>(std::find(fields_.begin(), fields_.end(), names[i]) - fields_.begin());
            if (column[i] == fields_.size()) {
                if (i < required)
                    fail(fmt::format("the section {} has no column {}, expected one", section_name, names[i]));
                column[i] = no_column;
            }
        }
        const std::size_t width = fields_.size();
        while (lines.next(line)) {
            line_ = section.line + lines.number() - 1;
            if (trim(line).empty()) continue;
            split_row(line);
            if (fields_.size() != width)
                fail(fmt::format("expected {} fields as in the header, found {}", width, fields_.size()));
            row(column);
        }
    }

    std::uint64_t number(std::size_t column, std::uint64_t most, std::string_view what) {
        if (column == no_column) return 0;
        const std::string_view text = fields_[column];
        if (text == "N/A" || text.empty()) return 0;
        const auto value = parse_number(text);
        if (!value || *value > most)
            fail(fmt::format("expected a number of at most {} for {}, found {}", most, what, excerpt(text)));
        return *value;
    }
    std::uint64_t guid(std::size_t column, std::string_view what) { return number(column, ~std::uint64_t{0}, what); }

    NodeId node_by_guid(std::size_t column, std::string_view what) {
        const auto found = by_guid_.find(guid(column, what));
        if (found == by_guid_.end())
            fail(fmt::format("no node of the section NODES has the GUID {}, expected one that has",
                             excerpt(fields_[column])));
        return found->second.id;
    }

    void read_nodes() {
        constexpr std::array<std::string_view, 7> names{"NodeGUID",        "NumPorts", "NodeType", "NodeDesc",
                                                        "SystemImageGUID", "DeviceID", "VendorID"};
        each_row(nodes_, "NODES", names, 3, [&](const auto& column) {
            const std::uint64_t value = guid(column[0], names[0]);
            if (value == 0) fail("expected a node GUID that is not zero");
            const std::uint64_t type = number(column[2], 3, names[2]);
            if (type == 0) fail("expected a NodeType of 1 (host), 2 (switch) or 3 (router)");
            const NodeKind kind = type == 2 ? NodeKind::switch_ : type == 1 ? NodeKind::host : NodeKind::router;
            const auto [other, fresh] = by_guid_.try_emplace(value, Known{no_node, line_});
            if (!fresh)
                fail(fmt::format("the node GUID {} is already used on line {}, expected one of its own",
                                 to_string(Guid{value}), other->second.line));
            const auto ports = static_cast<std::uint8_t>(number(column[1], 254, names[1]));
            const NodeId id = other->second.id = fabric().add_node(
                kind, ports, std::string(column[3] == no_column ? std::string_view{} : fields_[column[3]]),
                Guid{value});
            Node& node = fabric().node(id);
            if (const std::uint64_t system = guid(column[4], names[4]); system != 0) node.system_guid = Guid{system};
            node.device = static_cast<std::uint32_t>(number(column[5], 0xffffffff, names[5]));
            node.vendor = static_cast<std::uint32_t>(number(column[6], 0xffffffff, names[6]));
        });
    }

    void read_switches() {
        constexpr std::array<std::string_view, 2> names{"NodeGUID", "ENP0"};
        each_row(switches_, "SWITCHES", names, 1, [&](const auto& column) {
            fabric().node(node_by_guid(column[0], names[0])).enhanced_port0 = number(column[1], 1, names[1]) == 1;
        });
    }

    void read_ports() {
        constexpr std::array<std::string_view, 9> names{"NodeGuid",      "PortNum",      "PortGuid",
                                                        "LID",           "LMC",          "LinkWidthActv",
                                                        "LinkSpeedActv", "LinkWidthSup", "LinkSpeedSup"};
        std::size_t bad_lids = 0, first_bad = 0;
        each_row(ports_, "PORTS", names, 2, [&](const auto& column) {
            const NodeId id = node_by_guid(column[0], names[0]);
            const Node& node = fabric().node(id);
            const std::uint64_t number_of_port = number(column[1], 255, names[1]);
            if (number_of_port > node.ports)
                fail(fmt::format("{} has no port {}, expected 0 to {}", describe(fabric(), id), number_of_port,
                                 node.ports));
            Port& port = fabric().port(id, PortNum{static_cast<std::uint8_t>(number_of_port)});
            constexpr std::uint64_t bits = 0xffffffff;
            port.rate = {best_width(number(column[5], bits, names[5])), best_speed(number(column[6], bits, names[6]))};
            port.supported = {best_width(number(column[7], bits, names[7])),
                              best_speed(number(column[8], bits, names[8]))};
            if ((node.kind == NodeKind::switch_) != (number_of_port == 0)) return;  // LIDs live on end ports
            if (const std::uint64_t port_guid = guid(column[2], names[2]); port_guid != 0) port.guid = Guid{port_guid};
            const std::uint64_t lid = number(column[3], 0xffff, names[3]);
            port.lmc = static_cast<std::uint8_t>(number(column[4], 7, names[4]));
            if (lid <= max_unicast_lid)
                port.lid = Lid{static_cast<std::uint16_t>(lid)};
            else if (++bad_lids == 1)
                first_bad = line_;
        });
        if (bad_lids != 0)
            reading_.remarks.push_back(
                fmt::format("{} LID{} beyond 49,151, the last of a subnet (first on line {}); left out", bad_lids,
                            bad_lids == 1 ? " is" : "s are", first_bad));
    }

    void read_links() {
        constexpr std::array<std::string_view, 4> names{"NodeGuid1", "PortNum1", "NodeGuid2", "PortNum2"};
        Cabling cabling(fabric(), file_, Sides::one);
        each_row(links_, "LINKS", names, 4, [&](const auto& column) {
            const NodeId a = node_by_guid(column[0], names[0]), b = node_by_guid(column[2], names[2]);
            const std::uint64_t a_port = number(column[1], 255, names[1]), b_port = number(column[3], 255, names[3]);
            const auto known = [&](NodeId id, std::uint64_t port) {
                return port <= fabric().node(id).ports ? fabric().port(id, PortNum{static_cast<std::uint8_t>(port)})
                                                       : Port{};
            };
            const Port first = known(a, a_port), second = known(b, b_port);
            cabling.state(a, a_port, b, b_port, slower(first.rate, second.rate), line_);
            const LinkRate best = slower(first.supported, second.supported);
            fabric().port(a, PortNum{static_cast<std::uint8_t>(a_port)}).supported = best;
            fabric().port(b, PortNum{static_cast<std::uint8_t>(b_port)}).supported = best;
        });
        cabling.report(reading_.remarks);
        for (std::uint32_t i = 0; i < fabric().port_count();
             ++i)  // what a port without a cable says of its rate means nothing
            if (Port& port = fabric().port(PortIndex{i}); !port.connected()) port.rate = port.supported = LinkRate{};
    }

    struct Known {
        NodeId id;
        std::size_t line;
    };
    static constexpr std::size_t no_column = ~std::size_t{0};

    std::string_view text_;
    const std::string& file_;
    Reading reading_;
    std::size_t line_ = 0;
    Section nodes_, ports_, links_, switches_;
    std::vector<std::string_view> fields_;
    std::unordered_map<std::uint64_t, Known> by_guid_;
};

}  // namespace

Reading read_db_csv(std::string_view text, const std::string& file) {
    return DbCsvReader(text, file).read();
}

void write_db_csv(const Fabric& fabric, std::ostream& out) {
    Output text(out);
    text.put(
        "# "
        "{}\n\nSTART_NODES\nNodeDesc,NumPorts,NodeType,ClassVersion,BaseVersion,SystemImageGUID,NodeGUID,PortGUID,"
        "DeviceID,PartitionCap,revision,VendorID,LocalPortNum\n",
        printable(fabric.title));
    for (const Node& node : fabric.nodes()) {
        const bool is_switch = node.kind == NodeKind::switch_;
        const Port& first = fabric.port(PortIndex{node.first_port + (is_switch || node.ports == 0 ? 0u : 1u)});
        text.put(
            "\"{}\",{},{},1,1,0x{:016x},0x{:016x},0x{:016x},{},0,0x0,0x{:x},{}\n", printable(node.name), node.ports,
            is_switch                     ? 2
            : node.kind == NodeKind::host ? 1
                                          : 3,
            node.system_guid.value, node.guid.value, first.guid.value, node.device, node.vendor, first.number.value);
    }
    text.put(
        "END_NODES\n\nSTART_PORTS\nNodeGuid,PortGuid,PortNum,LID,LinkWidthActv,LinkWidthSup,LinkSpeedActv,LMC,"
        "PortPhyState,PortState,LinkSpeedSup\n");
    for (const Port& port : fabric.all_ports()) {
        const Node& node = fabric.node(port.node);
        const bool is_switch = node.kind == NodeKind::switch_;
        if (!is_switch && port.number.value == 0) continue;
        const Port& numbered = is_switch ? fabric.port(PortIndex{node.first_port}) : port;
        const bool up = port.connected() || port.number.value == 0;
        const std::uint32_t widths = width_bits(port.supported.width);
        text.put("0x{:016x},0x{:016x},{},{},{},{},{},{},{},{},{}\n", node.guid.value, numbered.guid.value,
                 port.number.value, numbered.lid.value, width_bits(port.rate.width), widths == 0 ? 0 : widths | 1u,
                 bit_of(port.rate.speed), numbered.lmc, up ? 5 : 2, up ? 4 : 1, mask_up_to(port.supported.speed));
    }
    text.put("END_PORTS\n\nSTART_SWITCHES\nNodeGUID,ENP0\n");
    for (const Node& node : fabric.nodes())
        if (node.kind == NodeKind::switch_) text.put("0x{:016x},{}\n", node.guid.value, node.enhanced_port0 ? 1 : 0);
    text.put("END_SWITCHES\n\nSTART_LINKS\nNodeGuid1,PortNum1,NodeGuid2,PortNum2\n");
    for (std::uint32_t i = 0; i < fabric.port_count(); ++i) {
        const Port& port = fabric.port(PortIndex{i});
        if (!port.connected() || port.peer.value < i) continue;
        const Port& peer = fabric.port(port.peer);
        text.put("0x{:016x},{},0x{:016x},{}\n", fabric.node(port.node).guid.value, port.number.value,
                 fabric.node(peer.node).guid.value, peer.number.value);
    }
    text.put("END_LINKS\n");
}

}  // namespace loom::fabric::io
