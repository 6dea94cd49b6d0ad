// What ibnetdiscover -p prints: a line for each port,
//   SW     2  4 0x0000000000200001 4x SDR - RT     0  2 0x0000000000000002 ( 'Switch2' - 'Rt1' )
//   SW     2  7 0x0000000000200001 4x SDR                                    'Switch2'
// (kind, LID, port number, port GUID, rate). Adapters have no node GUID here: the port's less its number is taken,
// which is how most count, and ports belong together when that and the name agree.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
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
    std::uint64_t lid = 0;
    std::uint8_t port = 0;
    Guid guid;
    std::string_view name;
};

struct PortLine {
    End here, there;
    std::string_view both_names;  // of a connected port, until they are told apart
    bool connected = false;
    LinkRate rate;
    std::uint32_t line = 0;
};

// Which node a port belongs to. Switches are known by their GUID alone.
struct NodeKey {
    std::uint64_t guid;
    std::string_view name;
    friend bool operator==(const NodeKey&, const NodeKey&) = default;
};
struct NodeKeyHash {
    std::size_t operator()(const NodeKey& key) const {
        return std::hash<std::uint64_t>{}(key.guid * 0x9e3779b97f4a7c15u) ^ std::hash<std::string_view>{}(key.name);
    }
};
NodeKey key_of(const End& end) {
    if (end.kind == NodeKind::switch_) return {end.guid.value, {}};
    return {end.guid.value - end.port, end.name};
}

struct Found {
    NodeKind kind;
    std::string_view name;
    std::uint64_t guid;
    std::uint8_t ports = 0;
    NodeId id = no_node;
};

constexpr std::string_view between_names = "' - '";

std::optional<NodeKind> kind_in_word(std::string_view word) {
    if (word == "SW") return NodeKind::switch_;
    if (word == "CA") return NodeKind::host;
    if (word == "RT") return NodeKind::router;
    return std::nullopt;
}

class PortReportReader {
public:
    PortReportReader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

    Reading read() {
        reading_.format = Format::ibnetdiscover;
        Lines lines(text_);
        std::string_view line;
        while (lines.next(line)) {
            line_ = lines.number();
            read_line(trim(line));
        }
        if (entries_.empty())
            throw ParseError(file_, line_, "the file ends without a port, expected lines such as: SW 2 4 0x... 4x SDR");
        build();
        if (skipped_ != 0)
            reading_.remarks.push_back(fmt::format("{} line{} no part of a topology (first: line {}); skipped",
                                                   skipped_, skipped_ == 1 ? " is" : "s are", first_skipped_));
        return std::move(reading_);
    }

private:
    [[noreturn]] void fail(const std::string& message) const { throw ParseError(file_, line_, message); }

    void read_line(std::string_view line) {
        if (line.empty() || line.front() == '#') return;
        Cursor cursor(line);
        if (!kind_in_word(Cursor(line).take_word())) {
            if (!entries_.empty() && line.find(".c:") == std::string_view::npos && !line.starts_with("ibwarn:") &&
                line.front() != '[')
                fail("expected a port's line, beginning with SW, CA or RT, found " + excerpt(line));
            if (++skipped_ == 1) first_skipped_ = line_;
            return;
        }
        PortLine entry;
        entry.line = static_cast<std::uint32_t>(line_);
        entry.here = read_end(cursor);
        std::string rate(cursor.skip_blanks().take_word());
        rate += cursor.skip_blanks().take_word();
        const auto parsed = rate_in_word(rate);
        if (!parsed) fail("expected a rate such as 4x QDR, found " + excerpt(rate));
        entry.rate = *parsed;
        if (cursor.skip_blanks().take('-')) {
            cursor.skip_blanks();
            entry.connected = true;
            entry.there = read_end(cursor);
            entry.both_names = names_in(trim(cursor.rest()));
        } else {
            const std::string_view name = trim(cursor.rest());
            if (name.size() < 2 || name.front() != '\'' || name.back() != '\'')
                fail("expected the node's name in single quotes, found " + excerpt(name));
            entry.here.name = name.substr(1, name.size() - 2);
        }
        entries_.push_back(entry);
    }

    End read_end(Cursor& cursor) {
        End end;
        const std::string_view word = cursor.take_word();
        const auto kind = kind_in_word(word);
        if (!kind) fail("expected SW, CA or RT, found " + excerpt(word));
        end.kind = *kind;
        const auto lid = cursor.skip_blanks().take_decimal();
        if (!lid) fail("expected a LID, found " + excerpt(cursor.rest()));
        end.lid = *lid;
        const auto port = cursor.skip_blanks().take_decimal();
        if (!port || *port == 0 || *port > 254)
            fail("expected a port number from 1 to 254, found " + excerpt(cursor.rest()));
        end.port = static_cast<std::uint8_t>(*port);
        const std::string_view digits = cursor.skip_blanks().take_word();
        const auto guid = digits.starts_with("0x") ? parse_hex(digits) : std::nullopt;
        if (!guid) fail("expected a port GUID such as 0x0002c90300071da9, found " + excerpt(digits));
        end.guid = Guid{*guid};
        return end;
    }

    // What stands between ( ' and ' ).
    std::string_view names_in(std::string_view text) {
        constexpr std::string_view open = "( '", close = "' )";
        if (!text.starts_with(open) || !text.ends_with(close) || text.size() < open.size() + close.size())
            fail("expected ( 'name' - 'name' ), found " + excerpt(text));
        text = text.substr(open.size(), text.size() - open.size() - close.size());
        if (text.find(between_names) == std::string_view::npos)
            fail("expected ( 'name' - 'name' ), found " + excerpt(text));
        return text;
    }

    // Names may hold quotes and dashes themselves: then the split that gives names known from elsewhere is taken.
    void split_names() {
        std::unordered_set<std::string_view> known;
        const auto split_at = [](PortLine& entry, std::size_t at) {
            entry.here.name = entry.both_names.substr(0, at);
            entry.there.name = entry.both_names.substr(at + between_names.size());
        };
        std::vector<PortLine*> open;
        for (PortLine& entry : entries_) {
            if (!entry.connected) {
                known.insert(entry.here.name);
                continue;
            }
            const auto first = entry.both_names.find(between_names);
            split_at(entry, first);
            if (entry.both_names.find(between_names, first + 1) == std::string_view::npos)
                known.insert({entry.here.name, entry.there.name});
            else
                open.push_back(&entry);
        }
        for (PortLine* entry : open) {
            std::size_t best = 0, best_known = 0, candidates = 0;
            for (auto at = entry->both_names.find(between_names); at != std::string_view::npos && candidates < 64;
                 at = entry->both_names.find(between_names, at + 1), ++candidates) {
                split_at(*entry, at);
                const std::size_t count = known.count(entry->here.name) + known.count(entry->there.name) + 1;
                if (count > best_known) {
                    best_known = count;
                    best = at;
                }
            }
            split_at(*entry, best);
        }
    }

    Found& node_of(const End& end) {
        const auto [at, fresh] = index_.try_emplace(key_of(end), nodes_.size());
        if (fresh) nodes_.push_back({end.kind, end.name, key_of(end).guid});
        Found& node = nodes_[at->second];
        if (node.kind != end.kind)
            fail(fmt::format("the port GUID {} belongs to a node of another kind above, expected one of its own",
                             to_string(end.guid)));
        return node;
    }

    void build() {
        split_names();
        for (const PortLine& entry : entries_) {
            line_ = entry.line;
            Found& here = node_of(entry.here);
            here.ports = std::max(here.ports, entry.here.port);
            if (!entry.connected) continue;
            Found& there = node_of(entry.there);
            there.ports = std::max(there.ports, entry.there.port);
        }
        Fabric& fabric = reading_.fabric;
        std::unordered_set<std::uint64_t> taken;
        bool adapters = false;
        for (Found& node : nodes_) {
            const bool free = taken.insert(node.guid).second;
            node.id = fabric.add_node(node.kind, node.ports, std::string(node.name), free ? Guid{node.guid} : no_guid);
            adapters = adapters || node.kind != NodeKind::switch_;
        }
        Cabling cabling(fabric, file_, Sides::both);
        for (const PortLine& entry : entries_) {
            line_ = entry.line;
            const NodeId here = node_of(entry.here).id;
            give_numbers(here, entry.here);
            if (!entry.connected) continue;
            const NodeId there = node_of(entry.there).id;
            give_numbers(there, entry.there);
            cabling.state(here, entry.here.port, there, entry.there.port, entry.rate, line_);
        }
        if (adapters)
            reading_.remarks.push_back(
                "a port report has no node GUIDs of adapters; each was taken as its port's GUID less the port number");
        cabling.report(reading_.remarks);
    }

    void give_numbers(NodeId id, const End& end) {
        if (end.lid > max_unicast_lid) fail(fmt::format("expected a LID of at most 49151, found {}", end.lid));
        const bool is_switch = end.kind == NodeKind::switch_;
        Port& port = reading_.fabric.port(id, PortNum{is_switch ? std::uint8_t{0} : end.port});
        port.lid = Lid{static_cast<std::uint16_t>(end.lid)};
        port.guid = end.guid;
    }

    std::string_view text_;
    const std::string& file_;
    Reading reading_;
    std::size_t line_ = 0;
    std::vector<PortLine> entries_;
    std::vector<Found> nodes_;
    std::unordered_map<NodeKey, std::size_t, NodeKeyHash> index_;  // into nodes_
    std::size_t skipped_ = 0, first_skipped_ = 0;
};

}  // namespace

Reading read_port_report(std::string_view text, const std::string& file) {
    return PortReportReader(text, file).read();
}

void write_port_report(const Fabric& fabric, std::ostream& out) {
    Output text(out);
    const auto put_end = [&](const Port& port) {
        const Node& node = fabric.node(port.node);
        const bool is_switch = node.kind == NodeKind::switch_;
        const Port& numbered = is_switch ? fabric.port(port.node, PortNum{0}) : port;
        text.put("{} {:>5} {:>2} 0x{:016x}",
                 is_switch                     ? "SW"
                 : node.kind == NodeKind::host ? "CA"
                                               : "RT",
                 numbered.lid.value, port.number.value, numbered.guid.value);
    };
    for (std::uint32_t n = 0; n < fabric.node_count(); ++n) {
        const Node& node = fabric.node(NodeId{n});
        for (unsigned p = node.ports; p > 0; --p) {
            const Port& port = fabric.port(NodeId{n}, PortNum{static_cast<std::uint8_t>(p)});
            put_end(port);
            const LinkRate rate =
                port.connected() ? port.rate : LinkRate{Width::x4, Speed::sdr};  // as a port without a cable reports
            text.put(" {} {}", width_word(rate.width), speed_word(rate.speed));
            if (port.connected()) {
                const Port& peer = fabric.port(port.peer);
                text.put(" - ");
                put_end(peer);
                text.put(" ( '{}' - '{}' )\n", printable(node.name), printable(fabric.node(peer.node).name));
            } else {
                text.put("{:36}'{}'\n", "", printable(node.name));
            }
        }
    }
}

}  // namespace loom::fabric::io
