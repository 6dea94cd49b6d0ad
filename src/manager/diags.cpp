#include "loom/manager/diags.hpp"

#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/base/text.hpp"

namespace loom::manager {

namespace {

constexpr std::uint64_t counts_waiting = 0x1000;  // CapMask bit 12: PortCounters has PortXmitWait

// What stands after '#' in the first line of a block.
DiagBlock parse_heading(std::string_view line, std::size_t number, const std::string& source) {
    const auto wrong = [&](const std::string& what) {
        return ParseError(source, number, "expected '# TITLE: Lid NUMBER [port NUMBER]', " + what);
    };
    DiagBlock block;
    block.source = source;
    block.line = number;
    Cursor cursor(line);
    cursor.take('#');
    cursor.skip_blanks();
    block.title = trim(cursor.take_until(":"));
    if (block.title.empty() || !cursor.take(':')) throw wrong("found " + excerpt(line));
    cursor.skip_blanks();
    if (!cursor.take("Lid ")) throw wrong("found " + excerpt(cursor.rest()) + " instead of the LID");
    const auto lid = cursor.take_decimal();
    if (!lid || *lid == 0 || *lid > max_unicast_lid) throw wrong("but the LID is no unicast LID");
    block.lid = Lid{static_cast<std::uint16_t>(*lid)};
    cursor.skip_blanks();
    if (cursor.take("port ")) {
        const auto port = cursor.take_decimal();
        if (!port || *port > 255) throw wrong("but the port is no number up to 255");
        block.port = PortNum{static_cast<std::uint8_t>(*port)};
        cursor.skip_blanks();
    }
    if (cursor.take("(CapMask: ")) {
        block.capabilities = cursor.take_hex();
        if (!block.capabilities) throw wrong("but the CapMask is no hexadecimal number");
    }
    return block;
}

// "PortXmitData:....................1080". Names have no colon; dots fill up to the value.
DiagBlock::Field parse_field(std::string_view line, std::size_t number, const std::string& source) {
    Cursor cursor(line);
    DiagBlock::Field field;
    field.line = number;
    field.name = trim(cursor.take_until(":"));
    if (field.name.empty() || !cursor.take(':'))
        throw ParseError(source, number, "expected 'NAME:.....VALUE', found " + excerpt(line));
    while (cursor.take('.')) {
    }
    field.value = trim(cursor.rest());
    return field;
}

std::vector<DiagBlock> blocks_about(std::string_view text, const std::string& source, std::string_view title, Lid lid,
                                    std::span<const PortNum> ports) {
    std::vector<DiagBlock> blocks = parse_diags(text, source);
    const std::size_t expected = std::max<std::size_t>(1, ports.size());
    if (blocks.size() != expected)
        throw ParseError(source, 0,
                         "expected " + std::to_string(expected) + " blocks '# " + std::string(title) + "', found " +
                             std::to_string(blocks.size()));
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        const DiagBlock& block = blocks[i];
        if (block.title != title)
            throw ParseError(source, block.line,
                             "expected '# " + std::string(title) + "', found " + excerpt(block.title));
        if (block.lid != lid)
            throw ParseError(
                source, block.line,
                "expected LID " + std::to_string(lid.value) + ", found " + std::to_string(block.lid.value));
        if (!ports.empty() && (!block.port || *block.port != ports[i]))
            throw ParseError(source, block.line, "expected port " + std::to_string(ports[i].value));
        if (!ports.empty() && block.number("PortSelect", 255) != ports[i].value)
            throw ParseError(source, block.line, "PortSelect is not the port that was asked for");
    }
    return blocks;
}

DiagBlock block_about(std::string_view text, const std::string& source, std::string_view title, Lid lid) {
    return std::move(blocks_about(text, source, title, lid, {}).front());
}

}  // namespace

std::uint64_t DiagBlock::number(std::string_view name, std::uint64_t most) const {
    const Field* found = nullptr;
    for (const Field& field : fields) {
        if (field.name != name) continue;
        if (found != nullptr) throw ParseError(source, field.line, std::string(name) + " is there twice");
        found = &field;
    }
    if (found == nullptr)
        throw ParseError(source, line,
                         "expected a field " + std::string(name) + " under '# " + std::string(title) + "'");
    const auto value = parse_number(found->value);
    if (!value || *value > most)
        throw ParseError(source, found->line,
                         "expected a number up to " + std::to_string(most) + " for " + std::string(name) + ", found " +
                             excerpt(found->value));
    return *value;
}

bool DiagBlock::has(std::string_view name) const {
    for (const Field& field : fields)
        if (field.name == name) return true;
    return false;
}

std::vector<DiagBlock> parse_diags(std::string_view text, const std::string& source) {
    std::vector<DiagBlock> blocks;
    Lines lines(text);
    for (std::string_view line; lines.next(line);) {
        if (trim(line).empty()) continue;
        if (line.starts_with('#')) {
            blocks.push_back(parse_heading(line, lines.number(), source));
            continue;
        }
        if (blocks.empty())
            throw ParseError(source, lines.number(), "expected a line that begins with '#', found " + excerpt(line));
        blocks.back().fields.push_back(parse_field(line, lines.number(), source));
    }
    return blocks;
}

std::vector<PortReading> parse_extended(std::string_view text, const std::string& source, Lid lid,
                                        std::span<const PortNum> ports) {
    std::vector<PortReading> readings;
    for (const DiagBlock& block : blocks_about(text, source, "Port extended counters", lid, ports)) {
        PortReading& reading = readings.emplace_back();
        reading.xmit_data = block.number("PortXmitData");
        reading.rcv_data = block.number("PortRcvData");
        reading.xmit_pkts = block.number("PortXmitPkts");
        reading.rcv_pkts = block.number("PortRcvPkts");
        if (block.has("PortXmitWait")) reading.xmit_wait = block.number("PortXmitWait");
    }
    return readings;
}

std::vector<std::uint64_t> parse_waits(std::string_view text, const std::string& source, Lid lid,
                                       std::span<const PortNum> ports) {
    std::vector<std::uint64_t> waits;
    for (const DiagBlock& block : blocks_about(text, source, "Port counters", lid, ports)) {
        if (!block.capabilities)
            throw ParseError(source, block.line, "expected the CapMask, which says whether PortXmitWait is counted");
        if ((*block.capabilities & counts_waiting) == 0)
            throw ParseError(source, block.line, "this switch does not count PortXmitWait (its CapMask says so)");
        waits.push_back(block.number("PortXmitWait", UINT32_MAX));
    }
    return waits;
}

std::uint64_t parse_congested_time(std::string_view text, const std::string& source, Lid lid, PortNum port) {
    const std::span<const PortNum> ports(&port, 1);
    return blocks_about(text, source, "PortXmitConCtrl counters", lid, ports)
        .front()
        .number("PortXmitTimeCong", UINT32_MAX);
}

CongestionSetting parse_port_setting(std::string_view text, const std::string& source, Lid lid) {
    const DiagBlock block = block_about(text, source, "SwitchPortCongestionSetting", lid);
    CongestionSetting setting;
    setting.valid = block.number("Valid", 1) == 1;
    setting.credit_starved = block.number("Control_Type", 1) == 1;
    setting.threshold = static_cast<std::uint8_t>(block.number("Threshold", 15));
    setting.packet_size = static_cast<std::uint8_t>(block.number("Packet_Size", 255));
    setting.marking_rate = static_cast<std::uint16_t>(block.number("Cong_Parm_Marking_Rate", 65535));
    return setting;
}

CongestionSetting parse_switch_setting(std::string_view text, const std::string& source, Lid lid) {
    const DiagBlock block = block_about(text, source, "SwitchCongestionSetting", lid);
    CongestionSetting setting;
    setting.threshold = static_cast<std::uint8_t>(block.number("Threshold", 15));
    setting.packet_size = static_cast<std::uint8_t>(block.number("Packet_Size", 255));
    setting.marking_rate = static_cast<std::uint16_t>(block.number("Marking_Rate", 65535));
    return setting;
}

Guid parse_node_guid(std::string_view text, const std::string& source, Lid lid) {
    return Guid{block_about(text, source, "Node info", lid).number("Guid")};
}

}  // namespace loom::manager
