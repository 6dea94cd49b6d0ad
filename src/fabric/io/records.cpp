// Node records: a header line ("Switch 36 "id" # …") followed by a line for each connected port. ibnetdiscover
// prints them, ibsim reads them and adds a few lines of its own. Two passes: the lines, then the cables, since
// a port line may name a node that comes later.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <deque>
#include <unordered_map>
#include <utility>

#include "fabric/io/cabling.hpp"
#include "fabric/io/formats.hpp"
#include "fabric/io/words.hpp"
#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/base/text.hpp"

namespace loom::fabric::io {
namespace {

struct PortLine {
    std::string_view remote;
    Guid own_guid, remote_guid;
    NodeId node;
    std::uint32_t line = 0;
    std::uint32_t own_lid = 0, remote_lid = 0;
    std::uint8_t port = 0, remote_port = 0;
    std::uint8_t lmc = 0;
    LinkRate rate;
};

// The LID of a port as the other end of its cable tells it.
struct ToldLid {
    PortIndex port;
    std::uint32_t lid = 0;
    std::uint32_t line = 0;
};

struct Alias {
    NodeId node;
    std::uint8_t port;
};

// What the lines before a header say about the node that follows.
struct Pending {
    std::optional<std::uint64_t> guid;
    std::uint64_t system_guid = 0;
    std::uint32_t vendor = 0, device = 0;
    std::uint16_t chassis = 0;
    std::string_view slot;
};

// ibsim's enabled masks and ibnetdiscover -f's active values use the same bits; the highest counts.
Width width_from_bits(std::uint64_t bits) {
    if (bits & 8) return Width::x12;
    if (bits & 4) return Width::x8;
    if (bits & 2) return Width::x4;
    if (bits & 16) return Width::x2;
    return bits & 1 ? Width::x1 : Width::unknown;
}
Speed speed_from_bits(std::uint64_t bits) {
    if (bits & 4) return Speed::qdr;
    if (bits & 2) return Speed::ddr;
    return bits & 1 ? Speed::sdr : Speed::unknown;
}
Speed speed_from_extended_bits(std::uint64_t bits) {
    if (bits & 8) return Speed::ndr;
    if (bits & 4) return Speed::hdr;
    if (bits & 2) return Speed::edr;
    return bits & 1 ? Speed::fdr : Speed::unknown;
}

class RecordReader {
public:
    RecordReader(std::string_view text, const std::string& file, Format format) : text_(text), file_(file) {
        reading_.format = format;
        if (format == Format::ibsim) default_rate_ = {Width::x4, Speed::sdr};  // what ibsim brings links up with
    }

    Reading read() {
        Lines lines(text_);
        std::string_view line;
        while (lines.next(line)) {
            line_ = lines.number();
            read_line(trim(line));
        }
        if (fabric().node_count() == 0)
            throw ParseError(file_, line_, "the file ends without a node, expected lines such as: Switch 36 \"S-...\"");
        join();
        finish_remarks();
        return std::move(reading_);
    }

private:
    Fabric& fabric() { return reading_.fabric; }

    [[noreturn]] void fail(const std::string& message) const { throw ParseError(file_, line_, message); }

    void read_line(std::string_view line) {
        if (line.empty() || line.front() == '#') return;
        if (line.front() == '[' && line.size() > 1 && is_digit(line[1])) return read_port(line);
        if (line.starts_with("@[")) return read_alias(line.substr(1));
        const auto word_end = std::min(line.find_first_of(" \t=+\""), line.size());
        const std::string_view word = line.substr(0, word_end);
        if (word == "Switch") return read_header(NodeKind::switch_, word, line.substr(word_end));
        if (word == "Ca" || word == "Hca") return read_header(NodeKind::host, word, line.substr(word_end));
        if (word == "Rt") return read_header(NodeKind::router, word, line.substr(word_end));
        if (word == "Chassis") return read_chassis(line.substr(word_end));
        if (word == "Non-Chassis") {
            group_chassis_ = 0;
            return;
        }
        if (word == "Hostname:") return;  // of the chassis above
        if (read_setting(word, trim(line.substr(word_end)))) return;
        if (fabric().node_count() != 0 && !is_tool_message(line))
            fail("expected a node (Switch, Ca, Hca or Rt), a port line ([1] ...) or a comment, found " + excerpt(line));
        if (++skipped_ == 1) first_skipped_ = line_;
    }

    // Lines that tools print to the terminal in between: warnings with their source line, shell prompts.
    static bool is_tool_message(std::string_view line) {
        return line.starts_with("ibwarn:") || line.starts_with("ibpanic:") || line.starts_with("ibnetdiscover:") ||
               line.starts_with("src/") || line.find(".c:") != std::string_view::npos ||
               (line.front() == '[' && line.find("]#") != std::string_view::npos) ||
               (line.front() == '[' && line.find("]$") != std::string_view::npos);
    }

    std::uint64_t number(std::string_view text, std::string_view what) {
        const auto value = parse_number(text);
        if (!value) fail(fmt::format("expected a number for {}, found {}", what, excerpt(text)));
        return *value;
    }

    bool read_setting(std::string_view word, std::string_view rest) {
        if (word == "include") fail("include is not followed, expected one file that is complete");
        if (word == "do") {  // an ibsim console command
            if (++commands_ == 1) first_command_ = line_;
            return true;
        }
        if (rest.empty() || (rest.front() != '=' && rest.front() != '+')) return false;
        const bool relative = rest.front() == '+';
        Cursor cursor(rest.substr(1));
        cursor.skip_blanks();
        const std::string_view value = cursor.take_until(" \t(#");
        const auto hash = cursor.rest().find('#');
        const std::string_view comment =
            hash == std::string_view::npos ? std::string_view{} : trim(cursor.rest().substr(hash + 1));

        if (word == "vendid")
            pending_.vendor = static_cast<std::uint32_t>(number(value, word));
        else if (word == "devid")
            pending_.device = static_cast<std::uint32_t>(number(value, word));
        else if (word == "sysimgguid") {
            pending_.system_guid = number(value, word);
            if (comment.starts_with("Chassis ")) pending_.chassis = chassis_number(comment.substr(8));
        } else if (word == "switchguid") {
            set_guid(NodeKind::switch_, number(value, word), relative);
            pending_.slot = comment;
        } else if (word == "caguid" || word == "hcaguid" || word == "hcaguids") {
            set_guid(NodeKind::host, number(value, word), relative);
        } else if (word == "rtguid")
            set_guid(NodeKind::router, number(value, word), relative);
        else if (word == "width")
            default_rate_.width = width_from_bits(number(value, word));
        else if (word == "speed")
            default_rate_.speed = speed_from_bits(number(value, word));
        else if (word == "extspeed") {
            if (const Speed speed = speed_from_extended_bits(number(value, word)); speed != Speed::unknown)
                default_rate_.speed = speed;
        } else if (word == "module") {
            Cursor quoted(trim(rest.substr(1)));
            const auto prefix = quoted.take_quoted();
            if (!prefix || prefix->size() > 20) fail("expected a module name of at most 20 characters in quotes");
            prefix_ = *prefix;
        } else {
            return word == "pdebug";
        }
        return true;
    }

    std::uint16_t chassis_number(std::string_view text) {
        const auto value = Cursor(trim(text)).take_decimal();
        if (!value || *value == 0 || *value > 0xffff) fail("expected a chassis number, found " + excerpt(text));
        return static_cast<std::uint16_t>(*value);
    }
    void read_chassis(std::string_view rest) { group_chassis_ = chassis_number(rest); }

    void set_guid(NodeKind kind, std::uint64_t value, bool relative) {
        auto& base = guid_base_[static_cast<std::size_t>(kind)];
        if (!relative) base = value;
        const std::uint64_t guid = relative ? base + value : value;
        guid_next_[static_cast<std::size_t>(kind)] = guid;
        pending_.guid = guid;
    }

    // Explicit, else what the id says, else what ibsim would give.
    Guid choose_guid(NodeKind kind, std::string_view id, unsigned ports) {
        auto& next = guid_next_[static_cast<std::size_t>(kind)];
        std::uint64_t guid = pending_.guid.value_or(0);
        if (!pending_.guid && reading_.format == Format::ibnetdiscover) guid = guid_in_id(id).value_or(no_guid).value;
        if (!pending_.guid && reading_.format == Format::ibsim) guid = next;
        next = guid + (kind == NodeKind::switch_ ? 1 : ports + 1);
        return Guid{guid};
    }

    void read_header(NodeKind kind, std::string_view word, std::string_view rest) {
        Cursor cursor(rest);
        cursor.skip_blanks();
        const auto ports = cursor.take_decimal();
        if (!ports || *ports == 0 || *ports > 254)
            fail(fmt::format("expected a number of ports from 1 to 254 after {}, found {}", word, excerpt(trim(rest))));
        cursor.skip_blanks();
        const auto quoted = cursor.take_quoted();
        if (!quoted || quoted->empty()) fail("expected the node's id in quotes, found " + excerpt(cursor.rest()));
        const std::string_view id = prefixed(*quoted);
        if (const auto found = ids_.find(id); found != ids_.end())
            fail(fmt::format("the node \"{}\" is already defined on line {}, expected an id of its own", id,
                             header_line_[found->second.value]));

        const Guid guid = choose_guid(kind, id, static_cast<unsigned>(*ports));
        if (guid != no_guid) {
            const auto [other, fresh] = guids_.try_emplace(guid, line_);
            if (!fresh)
                fail(fmt::format("GUID {} is already used by the node on line {}, expected one of its own",
                                 to_string(guid), other->second));
        }
        current_ = fabric().add_node(kind, static_cast<std::uint8_t>(*ports), {}, guid);
        ids_.emplace(id, current_);
        header_line_.push_back(line_);

        Node& node = fabric().node(current_);
        if (pending_.system_guid != 0) node.system_guid = Guid{pending_.system_guid};
        node.vendor = pending_.vendor;
        node.device = pending_.device;
        node.chassis = pending_.chassis != 0 ? pending_.chassis : group_chassis_;
        node.chassis_slot = pending_.slot;
        pending_ = {};
        if (!read_description(cursor.rest(), node) && !guid_in_id(id)) node.name = id;
    }

    // After '#': "name" spine 2 Chip 1 enhanced port 0 lid 6 lmc 0. False when there is no name.
    bool read_description(std::string_view rest, Node& node) {
        const auto hash = rest.find('#');
        if (hash == std::string_view::npos) return false;
        const std::string_view comment = trim(rest.substr(hash + 1));
        std::string_view tail = comment;
        bool named = false;
        if (comment.starts_with('"')) {
            // A name may hold quotes itself; nothing after it does.
            if (const auto end = comment.rfind('"'); end != 0) {
                node.name = comment.substr(1, end - 1);
                tail = comment.substr(end + 1);
                named = true;
            }
        }
        const auto kind =
            std::min({tail.find("enhanced port "), tail.find("base port "), tail.find("lid "), tail.size()});
        if (const std::string_view slot = trim(tail.substr(0, kind)); !slot.empty() && slot != "(scp)") {
            if (named) {
                node.chassis_slot = slot;
            } else {  // ibsim takes a name without quotes
                node.name = slot;
                named = true;
            }
        }
        node.enhanced_port0 = tail.find("enhanced port 0") != std::string_view::npos;
        if (node.kind != NodeKind::switch_) return named;
        Port& port0 = fabric().port(PortIndex{node.first_port});
        Cursor cursor(tail.substr(kind));
        while (!cursor.skip_blanks().done()) {
            const std::string_view word = cursor.take_word();
            cursor.skip_blanks();
            if (word == "lid") port0.lid = lid(cursor.take_decimal().value_or(0));
            if (word == "lmc") port0.lmc = lmc(cursor.take_decimal().value_or(0));
        }
        return named;
    }

    Lid lid(std::uint64_t value) {
        if (value <= max_unicast_lid) return Lid{static_cast<std::uint16_t>(value)};
        if (++bad_lids_ == 1) first_bad_lid_ = line_;
        return no_lid;
    }
    std::uint8_t lmc(std::uint64_t value) {
        if (value > 7) fail(fmt::format("expected an LMC from 0 to 7, found {}", value));
        return static_cast<std::uint8_t>(value);
    }

    std::string_view prefixed(std::string_view id) {
        if (prefix_.empty() || id.find('#') != std::string_view::npos) return id;
        return owned_.emplace_back(fmt::format("{}#{}", prefix_, id));
    }

    std::uint8_t own_port(Cursor& cursor) {
        if (current_ == no_node) fail("expected a node (Switch, Ca, Hca or Rt) before its first port line");
        (void)cursor.take('[');
        const auto port = cursor.take_decimal();
        const unsigned count = fabric().node(current_).ports;
        if (!port || !cursor.take(']')) fail("expected a port number in brackets, found " + excerpt(cursor.rest()));
        if (*port == 0 || *port > count)
            fail(fmt::format("{} has no port {}, expected 1 to {}", describe(fabric(), current_), *port, count));
        return static_cast<std::uint8_t>(*port);
    }

    // "@[1] "name"": a port that other modules refer to as "@name" or "module@name".
    void read_alias(std::string_view line) {
        Cursor cursor(line);
        const std::uint8_t port = own_port(cursor);
        const auto name = cursor.skip_blanks().take_quoted();
        if (!name) fail("expected the alias in quotes, found " + excerpt(cursor.rest()));
        const std::string_view full = owned_.emplace_back(fmt::format("{}@{}", prefix_, *name));
        if (!aliases_.try_emplace(full, Alias{current_, port}).second)
            fail(fmt::format("the alias \"{}\" is already defined, expected one of its own", full));
    }

    // The port number that other equipment prints on the faceplate: passed over.
    static void skip_external_port(Cursor& cursor) {
        if (cursor.take(std::string_view("[ext"))) {
            (void)cursor.take_until("]");
            (void)cursor.take(']');
        }
    }
    Guid take_guid(Cursor& cursor) {
        if (!cursor.skip_blanks().take('(')) return no_guid;
        const auto guid = cursor.take_hex();
        if (!guid || !cursor.take(')')) fail("expected a port GUID in parentheses, found " + excerpt(cursor.rest()));
        return Guid{*guid};
    }

    void read_port(std::string_view line) {
        PortLine entry;
        Cursor cursor(line);
        entry.port = own_port(cursor);
        entry.node = current_;
        entry.line = static_cast<std::uint32_t>(line_);
        skip_external_port(cursor);
        entry.own_guid = take_guid(cursor);
        const auto remote = cursor.skip_blanks().take_quoted();
        if (!remote) fail("expected the other end's id in quotes, found " + excerpt(cursor.rest()));
        if (remote->starts_with('@') && !prefix_.empty())
            entry.remote = owned_.emplace_back(fmt::format("{}{}", prefix_, *remote));
        else
            entry.remote = remote->find('@') != std::string_view::npos ? *remote : prefixed(*remote);
        entry.remote_port = 1;  // ibsim's default
        cursor.skip_blanks();
        if (cursor.take('[')) {
            const auto port = cursor.take_decimal();
            if (!port || *port == 0 || *port > 254 || !cursor.take(']'))
                fail("expected a port number from 1 to 254 in brackets, found " + excerpt(cursor.rest()));
            entry.remote_port = static_cast<std::uint8_t>(*port);
        }
        skip_external_port(cursor);
        entry.remote_guid = take_guid(cursor);
        read_port_remark(cursor.rest(), entry);
        port_lines_.push_back(entry);
    }

    // Options (w=2 s=4), then after '#': [lid 16 lmc 1] "name of the other end" lid 3 4xSDR [s=1 w=2 v=4].
    void read_port_remark(std::string_view rest, PortLine& entry) {
        LinkRate in_bits;
        const auto hash = rest.find('#');
        read_options(rest.substr(0, hash), in_bits);
        if (hash != std::string_view::npos) {
            const std::string_view comment = rest.substr(hash + 1);
            const auto open = comment.find('"');
            const auto close = comment.rfind('"');
            if (open != std::string_view::npos && close != open) {
                read_words(comment.substr(0, open), entry, in_bits);
                read_words(comment.substr(close + 1), entry, in_bits);
            } else {
                read_words(comment, entry, in_bits);
            }
        }
        if (entry.rate.width == Width::unknown) entry.rate.width = in_bits.width;
        if (entry.rate.speed == Speed::unknown) entry.rate.speed = in_bits.speed;
    }
    void read_options(std::string_view text, LinkRate& in_bits) {
        Cursor cursor(text);
        while (!cursor.skip_blanks().done()) read_option(cursor.take_word(), in_bits);
    }
    void read_option(std::string_view word, LinkRate& in_bits) {
        if (word.size() < 3 || word[1] != '=') return;
        const auto value = parse_number(word.substr(2));
        if (!value || *value > 255) fail("expected a small number after '=', found " + excerpt(word));
        if (word[0] == 'w') in_bits.width = width_from_bits(*value);
        if (word[0] == 's') in_bits.speed = std::max(in_bits.speed, speed_from_bits(*value));
        if (word[0] == 'e') in_bits.speed = std::max(in_bits.speed, speed_from_extended_bits(*value));
    }
    void read_words(std::string_view text, PortLine& entry, LinkRate& in_bits) {
        Cursor cursor(text);
        std::uint32_t last_lid = 0;
        while (!cursor.skip_blanks().done()) {
            const std::string_view word = cursor.take_word();
            if (word == "lid" || word == "lmc") {
                cursor.skip_blanks();
                const auto value = cursor.take_decimal();
                if (!value) fail(fmt::format("expected a number after {}, found {}", word, excerpt(cursor.rest())));
                if (word == "lid") {
                    last_lid = lid(*value).value;
                    entry.remote_lid = last_lid;
                } else {  // only the port's own LID has an LMC beside it
                    entry.own_lid = last_lid;
                    entry.remote_lid = 0;
                    entry.lmc = lmc(*value);
                }
            } else if (const auto rate = rate_in_word(word)) {
                entry.rate = *rate;
            } else {
                read_option(word, in_bits);
            }
        }
    }

    void join() {
        Cabling cabling(fabric(), file_, Sides::both);
        for (const PortLine& entry : port_lines_) {
            line_ = entry.line;
            NodeId remote = no_node;
            std::uint8_t remote_port = entry.remote_port;
            if (const auto node = ids_.find(entry.remote); node != ids_.end()) {
                remote = node->second;
            } else if (const auto alias = aliases_.find(entry.remote); alias != aliases_.end()) {
                remote = alias->second.node;
                remote_port = alias->second.port;
            } else {
                fail(fmt::format("no node of this file has the id {}, expected one that has a record",
                                 excerpt(entry.remote)));
            }
            cabling.state(entry.node, entry.port, remote, remote_port, entry.rate, line_);
            give_numbers(entry, remote, remote_port);
        }
        if (default_rate_ != LinkRate{})
            for (std::uint32_t i = 0; i < fabric().port_count(); ++i)
                if (Port& port = fabric().port(PortIndex{i}); port.connected()) {
                    if (port.rate.width == Width::unknown) port.rate.width = default_rate_.width;
                    if (port.rate.speed == Speed::unknown) port.rate.speed = default_rate_.speed;
                }
        cabling.report(reading_.remarks);
    }

    // A host's own line is believed first; the line at the other end fills what is missing.
    void give_numbers(const PortLine& entry, NodeId remote, std::uint8_t remote_port) {
        if (fabric().node(entry.node).kind != NodeKind::switch_) {
            Port& port = fabric().port(entry.node, PortNum{entry.port});
            if (entry.own_guid != no_guid) port.guid = entry.own_guid;
            if (entry.own_lid != 0) {
                port.lid = Lid{static_cast<std::uint16_t>(entry.own_lid)};
                port.lmc = entry.lmc;
            }
        }
        const bool is_switch = fabric().node(remote).kind == NodeKind::switch_;
        const PortIndex index = fabric().port_index(remote, PortNum{is_switch ? std::uint8_t{0} : remote_port});
        Port& port = fabric().port(index);
        if (port.lid == no_lid) port.lid = Lid{static_cast<std::uint16_t>(entry.remote_lid)};
        if (entry.remote_lid != 0) told_lids_.push_back({index, entry.remote_lid, entry.line});
        if (!is_switch && entry.remote_guid != no_guid &&
            port.guid.value == fabric().node(remote).guid.value + remote_port)
            port.guid = entry.remote_guid;
    }

    void finish_remarks() {
        auto& remarks = reading_.remarks;
        std::size_t other_lids = 0, first_other_lid = 0;
        for (const ToldLid& told : told_lids_)
            if (fabric().port(told.port).lid.value != told.lid && ++other_lids == 1) first_other_lid = told.line;
        if (other_lids != 0)
            remarks.push_back(
                fmt::format("{} line{} another LID than the node itself (first: line {}); the node's own "
                            "was taken",
                            other_lids, other_lids == 1 ? " tells" : "s tell", first_other_lid));
        if (skipped_ != 0)
            remarks.push_back(fmt::format("{} line{} no part of a topology (first: line {}); skipped", skipped_,
                                          skipped_ == 1 ? " is" : "s are", first_skipped_));
        if (commands_ != 0)
            remarks.push_back(fmt::format("{} simulator command{} (first on line {}) not carried out", commands_,
                                          commands_ == 1 ? " was" : "s were", first_command_));
        if (bad_lids_ != 0)
            remarks.push_back(fmt::format("{} LID{} beyond 49,151, the last of a subnet (first on line {}); left out",
                                          bad_lids_, bad_lids_ == 1 ? " is" : "s are", first_bad_lid_));
    }

    std::string_view text_;
    const std::string& file_;
    Reading reading_;
    std::size_t line_ = 0;
    NodeId current_ = no_node;
    Pending pending_;
    std::uint16_t group_chassis_ = 0;
    std::string_view prefix_;
    LinkRate default_rate_;
    std::array<std::uint64_t, 3> guid_base_{0x200000, 0x100000, 0};  // by NodeKind, as ibsim starts
    std::array<std::uint64_t, 3> guid_next_{0x200000, 0x100000, 0};
    std::vector<PortLine> port_lines_;
    std::vector<ToldLid> told_lids_;
    std::vector<std::size_t> header_line_;  // by NodeId
    std::deque<std::string> owned_;         // ids that had to be put together
    std::unordered_map<std::string_view, NodeId> ids_;
    std::unordered_map<std::string_view, Alias> aliases_;
    std::unordered_map<Guid, std::size_t> guids_;  // to the line of the header
    std::size_t skipped_ = 0, first_skipped_ = 0;
    std::size_t commands_ = 0, first_command_ = 0;
    std::size_t bad_lids_ = 0, first_bad_lid_ = 0;
};

}  // namespace

Reading read_records(std::string_view text, const std::string& file, Format format) {
    return RecordReader(text, file, format).read();
}

}  // namespace loom::fabric::io
