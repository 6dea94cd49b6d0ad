// Loomband's own form, one node or cable a line:
//   {"loom":"fabric","version":1,"title":"...",
//    "nodes":[{"kind":"switch","ports":36,"name":"s1","guid":"0x..."}, ...],
//    "lids":[[node,port,lid,lmc], ...],  "port_guids":[[node,port,"0x..."], ...],
//    "links":[[node,port,node,port,rate(,rate at the second end,best of the first,best of the second)], ...],
//    "open_ports":[[node,port,rate,best], ...]}
// Nodes are numbered from 0 in order. What equals its default is left out: the system's GUID is the node's, a port's
// GUID follows Fabric::add_node. Text that is no UTF-8 is written in hexadecimal under KEY_hex.
#include <fmt/format.h>

#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "fabric/io/formats.hpp"
#include "loom/base/error.hpp"
#include "loom/base/text.hpp"

namespace loom::fabric::io {
namespace {

Guid default_port_guid(const Node& node, unsigned number) {
    if (node.kind == NodeKind::switch_) return number == 0 ? node.guid : no_guid;
    return Guid{node.guid.value + number};
}

std::string_view kind_name(NodeKind kind) {
    switch (kind) {
        case NodeKind::switch_:
            return "switch";
        case NodeKind::host:
            return "host";
        case NodeKind::router:
            break;
    }
    return "router";
}

bool is_utf8(std::string_view text) {
    for (std::size_t i = 0; i < text.size();) {
        const auto byte = [&](std::size_t at) { return at < text.size() ? static_cast<unsigned char>(text[at]) : 0u; };
        const unsigned first = byte(i);
        if (first < 0x80) {
            ++i;
            continue;
        }
        const unsigned length = first >= 0xc2 && first < 0xe0   ? 2
                                : (first & 0xf0) == 0xe0        ? 3
                                : first >= 0xf0 && first < 0xf5 ? 4
                                                                : 0;
        if (length == 0) return false;
        unsigned code = first & (0xffu >> (length + 1));
        for (unsigned k = 1; k < length; ++k) {
            if ((byte(i + k) & 0xc0) != 0x80) return false;
            code = code << 6 | (byte(i + k) & 0x3f);
        }
        if ((length == 3 && (code < 0x800 || (code >= 0xd800 && code < 0xe000))) ||
            (length == 4 && (code < 0x10000 || code > 0x10ffff)))
            return false;
        i += length;
    }
    return true;
}

using Buffer = fmt::memory_buffer;

void put_text(Buffer& out, std::string_view key, std::string_view text) {
    const auto to = std::back_inserter(out);
    if (!is_utf8(text)) {
        fmt::format_to(to, "\"{}_hex\":\"", key);
        for (const char c : text) fmt::format_to(to, "{:02x}", static_cast<unsigned char>(c));
        out.push_back('"');
        return;
    }
    fmt::format_to(to, "\"{}\":\"", key);
    for (const char c : text) {
        if (c == '"' || c == '\\') out.push_back('\\');
        if (static_cast<unsigned char>(c) < ' ')
            fmt::format_to(to, "\\u{:04x}", static_cast<unsigned>(c));
        else
            out.push_back(c);
    }
    out.push_back('"');
}

void put_node(Buffer& out, const Node& node) {
    const auto to = std::back_inserter(out);
    fmt::format_to(to, "{{\"kind\":\"{}\",\"ports\":{},", kind_name(node.kind), node.ports);
    put_text(out, "name", node.name);
    fmt::format_to(to, ",\"guid\":\"0x{:016x}\"", node.guid.value);
    if (node.system_guid != node.guid) fmt::format_to(to, ",\"system_guid\":\"0x{:016x}\"", node.system_guid.value);
    if (node.vendor != 0) fmt::format_to(to, ",\"vendor\":{}", node.vendor);
    if (node.device != 0) fmt::format_to(to, ",\"device\":{}", node.device);
    if (node.chassis != 0) fmt::format_to(to, ",\"chassis\":{}", node.chassis);
    if (!node.chassis_slot.empty()) {
        out.push_back(',');
        put_text(out, "chassis_slot", node.chassis_slot);
    }
    if (node.enhanced_port0) fmt::format_to(to, ",\"enhanced_port0\":true");
    out.push_back('}');
}

void put_link(Buffer& out, const Port& a, const Port& b) {
    const auto to = std::back_inserter(out);
    fmt::format_to(to, "[{},{},{},{},\"{}\"", a.node.value, a.number.value, b.node.value, b.number.value,
                   to_string(a.rate));
    if (b.rate != a.rate || a.supported != LinkRate{} || b.supported != LinkRate{})
        fmt::format_to(to, ",\"{}\",\"{}\",\"{}\"", to_string(b.rate), to_string(a.supported), to_string(b.supported));
    out.push_back(']');
}

// Writes `"key":[` and the items that `put` chooses to write, one a line.
template <class Put>
void put_section(std::ostream& out, std::string_view key, std::size_t count, Put&& put) {
    Buffer text;
    fmt::format_to(std::back_inserter(text), ",\n\"{}\":[", key);
    bool first = true;
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::size_t before = text.size();
        const std::string_view separator = first ? "\n" : ",\n";
        text.append(separator);
        if (put(text, i))
            first = false;
        else
            text.resize(before);
        if (text.size() > (1u << 20)) {
            out.write(text.data(), static_cast<std::streamsize>(text.size()));
            text.clear();
        }
    }
    text.push_back(']');
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
}

// Hands characters to the parser and counts how far it got: the events themselves carry no position.
struct CountingIterator {
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    const char* at = nullptr;
    const char** furthest = nullptr;

    reference operator*() const { return *at; }
    CountingIterator& operator++() {
        *furthest = ++at;
        return *this;
    }
    bool operator==(const CountingIterator& other) const { return at == other.at; }
    bool operator!=(const CountingIterator& other) const { return at != other.at; }
};

enum class Section : std::uint8_t { none, nodes, lids, port_guids, links, open_ports };

struct Row {
    Section section = Section::none;
    std::uint8_t count = 0;
    std::size_t line = 0;
    std::array<std::uint64_t, 8> cells{};
};

std::uint64_t pack(LinkRate rate) {
    return static_cast<std::uint64_t>(rate.width) << 8 | static_cast<std::uint64_t>(rate.speed);
}
LinkRate unpack_rate(std::uint64_t cell) {
    return {static_cast<Width>(cell >> 8 & 0xff), static_cast<Speed>(cell & 0xff)};
}

class JsonReader : public nlohmann::json_sax<nlohmann::json> {
public:
    JsonReader(std::string_view text, const std::string& file)
        : text_(text), file_(file), furthest_(text.data()), counted_(text.data()) {}

    Reading read() {
        const char* const end = text_.data() + text_.size();
        nlohmann::json::sax_parse(CountingIterator{text_.data(), &furthest_}, CountingIterator{end, &furthest_}, this);
        if (!marked_) throw ParseError(file_, 0, "expected \"loom\":\"fabric\" among the top level's keys");
        for (const Row& row : rows_) apply(row);
        return std::move(reading_);
    }

    bool null() override { fail("null is not used, expected a number, a text, true or false"); }
    bool boolean(bool value) override {
        if (level_ != 3 || section_ != Section::nodes || key_ != "enhanced_port0") unexpected("true or false");
        node_.enhanced_port0 = value;
        return true;
    }
    bool number_integer(number_integer_t) override { fail("expected a number that is not negative"); }
    bool number_float(number_float_t, const string_t& text) override {
        fail("expected a whole number that fits, found " + excerpt(text));
    }
    bool number_unsigned(number_unsigned_t value) override {
        if (level_ == 1) {
            if (key_ == "version" && value != 1)
                fail(fmt::format("version {} of the format is not known, expected 1", value));
            if (key_ != "version") unexpected("a number");
        } else if (level_ == 3 && section_ == Section::nodes) {
            node_number(value);
        } else if (level_ == 3) {
            cell(value);
        } else {
            unexpected("a number");
        }
        return true;
    }
    bool string(string_t& value) override {
        if (level_ == 1) {
            if (key_ == "loom") {
                if (value != "fabric") fail("expected \"loom\":\"fabric\", found " + excerpt(value));
                marked_ = true;
            } else if (key_ == "title") {
                reading_.fabric.title = std::move(value);
            } else if (key_ == "title_hex") {
                reading_.fabric.title = from_hex(value);
            } else {
                unexpected("a text");
            }
        } else if (level_ == 3 && section_ == Section::nodes) {
            node_text(value);
        } else if (level_ == 3) {
            text_cell(value);
        } else {
            unexpected("a text");
        }
        return true;
    }
    bool binary(binary_t&) override { fail("expected JSON text"); }

    bool start_object(std::size_t) override {
        if (level_ == 0) {
            level_ = 1;
        } else if (level_ == 2 && section_ == Section::nodes) {
            level_ = 3;
            node_ = {};
            seen_ = {};
        } else {
            unexpected("an object");
        }
        return true;
    }
    bool key(string_t& value) override {
        key_ = std::move(value);
        return true;
    }
    bool end_object() override {
        if (level_ == 3) add_node();
        level_ = level_ == 3 ? 2 : 0;
        return true;
    }
    bool start_array(std::size_t) override {
        if (level_ == 1) {
            section_ = key_ == "nodes"        ? Section::nodes
                       : key_ == "lids"       ? Section::lids
                       : key_ == "port_guids" ? Section::port_guids
                       : key_ == "links"      ? Section::links
                       : key_ == "open_ports" ? Section::open_ports
                                              : Section::none;
            if (section_ == Section::none) unexpected("a list");
            level_ = 2;
        } else if (level_ == 2 && section_ != Section::nodes) {
            level_ = 3;
            row_ = Row{};
            row_.section = section_;
            row_.line = line();
        } else {
            unexpected("a list");
        }
        return true;
    }
    bool end_array() override {
        if (level_ == 3) {
            check_row();
            rows_.push_back(row_);
            level_ = 2;
        } else {
            level_ = 1;
        }
        return true;
    }
    bool parse_error(std::size_t position, const std::string& token, const nlohmann::json::exception&) override {
        if (position > text_.size())
            fail("this is not JSON as a whole: the file ends early, expected the rest of the fabric");
        fail("this is not JSON, unexpected " + excerpt(token));
    }

private:
    struct Seen {
        bool kind = false, ports = false, guid = false, system_guid = false;
    };

    // Lines are counted on from the last question, so all questions together cost one pass.
    std::size_t line() {
        for (; counted_ < furthest_; ++counted_) line_ += *counted_ == '\n';
        return line_;
    }
    [[noreturn]] void fail(const std::string& message) { throw ParseError(file_, line(), message); }
    [[noreturn]] void unexpected(std::string_view what) {
        if (level_ == 0) fail(fmt::format("expected an object with the key \"loom\", found {}", what));
        fail(fmt::format("{} is not expected under the key {}", what, excerpt(key_)));
    }

    std::string from_hex(std::string_view digits) {
        std::string bytes;
        if (digits.size() % 2 != 0) fail("expected an even number of hexadecimal digits");
        for (std::size_t i = 0; i < digits.size(); i += 2) {
            const auto byte = parse_hex(digits.substr(i, 2));
            if (!byte) fail("expected hexadecimal digits, found " + excerpt(digits));
            bytes += static_cast<char>(*byte);
        }
        return bytes;
    }
    Guid guid(std::string_view text) {
        const auto value = text.starts_with("0x") ? parse_hex(text) : std::nullopt;
        if (!value) fail("expected a GUID such as \"0x0002c90300071da8\", found " + excerpt(text));
        return Guid{*value};
    }

    void node_number(std::uint64_t value) {
        const auto limit = [&](std::uint64_t most) {
            if (value > most) fail(fmt::format("expected {} to be at most {}, found {}", key_, most, value));
        };
        if (key_ == "ports") {
            limit(254);
            node_.ports = static_cast<std::uint8_t>(value);
            seen_.ports = true;
        } else if (key_ == "vendor" || key_ == "device") {
            limit(0xffffffff);
            (key_ == "vendor" ? node_.vendor : node_.device) = static_cast<std::uint32_t>(value);
        } else if (key_ == "chassis") {
            limit(0xffff);
            node_.chassis = static_cast<std::uint16_t>(value);
        } else {
            unexpected("a number");
        }
    }
    void node_text(std::string& value) {
        if (key_ == "kind") {
            if (value == "switch")
                node_.kind = NodeKind::switch_;
            else if (value == "host")
                node_.kind = NodeKind::host;
            else if (value == "router")
                node_.kind = NodeKind::router;
            else
                fail("expected a kind of switch, host or router, found " + excerpt(value));
            seen_.kind = true;
        } else if (key_ == "name") {
            node_.name = std::move(value);
        } else if (key_ == "name_hex") {
            node_.name = from_hex(value);
        } else if (key_ == "chassis_slot") {
            node_.chassis_slot = std::move(value);
        } else if (key_ == "chassis_slot_hex") {
            node_.chassis_slot = from_hex(value);
        } else if (key_ == "guid") {
            node_.guid = guid(value);
            seen_.guid = true;
        } else if (key_ == "system_guid") {
            node_.system_guid = guid(value);
            seen_.system_guid = true;
        } else {
            unexpected("a text");
        }
    }
    void add_node() {
        if (!seen_.kind || !seen_.ports || !seen_.guid) fail("expected each node to have a kind, ports and a guid");
        if (node_.guid == no_guid) fail("expected a GUID that is not zero");
        try {
            const NodeId id = reading_.fabric.add_node(node_.kind, node_.ports, std::move(node_.name), node_.guid);
            Node& node = reading_.fabric.node(id);
            if (seen_.system_guid) node.system_guid = node_.system_guid;
            node.vendor = node_.vendor;
            node.device = node_.device;
            node.chassis = node_.chassis;
            node.chassis_slot = std::move(node_.chassis_slot);
            node.enhanced_port0 = node_.enhanced_port0;
        } catch (const ParseError&) {
            throw;
        } catch (const Error& error) {
            fail(std::string(error.what()) + ", expected each to have its own");
        }
    }

    void cell(std::uint64_t value) {
        if (row_.count == row_.cells.size()) fail("the list is too long");
        const bool is_rate =
            (section_ == Section::links && row_.count >= 4) || (section_ == Section::open_ports && row_.count >= 2);
        if (is_rate) fail(fmt::format("expected a rate such as \"4xQDR\", found {}", value));
        row_.cells[row_.count++] = value;
    }
    void text_cell(std::string_view value) {
        if (row_.count == row_.cells.size()) fail("the list is too long");
        if (section_ == Section::port_guids && row_.count == 2) {
            row_.cells[row_.count++] = guid(value).value;
            return;
        }
        const auto rate = parse_rate(value);
        const bool is_rate =
            (section_ == Section::links && row_.count >= 4) || (section_ == Section::open_ports && row_.count >= 2);
        if (!is_rate || !rate)
            fail(fmt::format("expected a {}, found {}", is_rate ? "rate such as \"4xQDR\"" : "number", excerpt(value)));
        row_.cells[row_.count++] = pack(*rate);
    }
    void check_row() {
        const unsigned count = row_.count;
        const auto need = [&](bool right, std::string_view what) {
            if (!right) fail(fmt::format("expected {}, found {} items", what, count));
        };
        switch (section_) {
            case Section::lids:
                return need(count == 4, "[node, port, lid, lmc]");
            case Section::port_guids:
                return need(count == 3, "[node, port, guid]");
            case Section::links:
                return need(count == 5 || count == 8, "[node, port, node, port, rate] or three more rates");
            case Section::open_ports:
                return need(count == 4, "[node, port, rate, best rate]");
            case Section::none:
            case Section::nodes:
                break;
        }
    }

    Port& port(const Row& row, unsigned first) {
        const std::uint64_t node = row.cells[first];
        const std::uint64_t number = row.cells[first + 1];
        if (node >= reading_.fabric.node_count())
            throw ParseError(file_, row.line,
                             fmt::format("there is no node {}, expected 0 to {}", node,
                                         static_cast<std::int64_t>(reading_.fabric.node_count()) - 1));
        const NodeId id{static_cast<std::uint32_t>(node)};
        if (number > reading_.fabric.node(id).ports)
            throw ParseError(file_, row.line,
                             fmt::format("node {} has no port {}, expected at most {}", node, number,
                                         reading_.fabric.node(id).ports));
        return reading_.fabric.port(id, PortNum{static_cast<std::uint8_t>(number)});
    }

    void apply(const Row& row) {
        Port& first = port(row, 0);
        switch (row.section) {
            case Section::lids:
                if (row.cells[2] > 0xffff || row.cells[3] > 7)
                    throw ParseError(file_, row.line, "expected a LID of at most 65535 and an LMC of at most 7");
                first.lid = Lid{static_cast<std::uint16_t>(row.cells[2])};
                first.lmc = static_cast<std::uint8_t>(row.cells[3]);
                return;
            case Section::port_guids:
                first.guid = Guid{row.cells[2]};
                return;
            case Section::open_ports:
                first.rate = unpack_rate(row.cells[2]);
                first.supported = unpack_rate(row.cells[3]);
                return;
            case Section::links:
                return apply_link(row, first, port(row, 2));
            case Section::none:
            case Section::nodes:
                return;
        }
    }
    void apply_link(const Row& row, Port& a, Port& b) {
        try {
            reading_.fabric.connect(a.node, a.number, b.node, b.number, unpack_rate(row.cells[4]));
        } catch (const Error& error) {
            throw ParseError(file_, row.line, error.what());
        }
        if (row.count != 8) return;
        b.rate = unpack_rate(row.cells[5]);
        a.supported = unpack_rate(row.cells[6]);
        b.supported = unpack_rate(row.cells[7]);
    }

    std::string_view text_;
    const std::string& file_;
    const char* furthest_;
    const char* counted_;
    std::size_t line_ = 1;
    Reading reading_;
    bool marked_ = false;
    unsigned level_ = 0;  // 1 in the top object, 2 in a section's list, 3 in one of its items
    Section section_ = Section::none;
    std::string key_;
    Node node_;
    Seen seen_;
    Row row_;
    std::vector<Row> rows_;  // applied at the end: keys may come in any order
};

}  // namespace

Reading read_json(std::string_view text, const std::string& file) {
    return JsonReader(text, file).read();
}

void write_json(const Fabric& fabric, std::ostream& out) {
    Buffer head;
    fmt::format_to(std::back_inserter(head), "{{\"loom\":\"fabric\",\"version\":1,");
    put_text(head, "title", fabric.title);
    out.write(head.data(), static_cast<std::streamsize>(head.size()));
    const auto all_ports = fabric.all_ports();
    put_section(out, "nodes", fabric.node_count(), [&](Buffer& text, std::uint32_t i) {
        put_node(text, fabric.node(NodeId{i}));
        return true;
    });
    put_section(out, "lids", all_ports.size(), [&](Buffer& text, std::uint32_t i) {
        const Port& port = all_ports[i];
        fmt::format_to(std::back_inserter(text), "[{},{},{},{}]", port.node.value, port.number.value, port.lid.value,
                       port.lmc);
        return port.lid != no_lid || port.lmc != 0;
    });
    put_section(out, "port_guids", all_ports.size(), [&](Buffer& text, std::uint32_t i) {
        const Port& port = all_ports[i];
        fmt::format_to(std::back_inserter(text), "[{},{},\"0x{:016x}\"]", port.node.value, port.number.value,
                       port.guid.value);
        return port.guid != default_port_guid(fabric.node(port.node), port.number.value);
    });
    put_section(out, "links", all_ports.size(), [&](Buffer& text, std::uint32_t i) {
        if (!all_ports[i].connected() || all_ports[i].peer.value < i) return false;
        put_link(text, all_ports[i], fabric.port(all_ports[i].peer));
        return true;
    });
    put_section(out, "open_ports", all_ports.size(), [&](Buffer& text, std::uint32_t i) {
        const Port& port = all_ports[i];
        if (port.connected() || (port.rate == LinkRate{} && port.supported == LinkRate{})) return false;
        fmt::format_to(std::back_inserter(text), "[{},{},\"{}\",\"{}\"]", port.node.value, port.number.value,
                       to_string(port.rate), to_string(port.supported));
        return true;
    });
    out << "}\n";
}

}  // namespace loom::fabric::io
