// IBDM's .topo for plain systems, one device each:
//   MTS2400 SW-1
//      P1 -4x-10G-> Cougar H-1 P1
// The type says how many ports there are. Systems made of boards (ports such as L1/P1) are not read.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "fabric/io/cabling.hpp"
#include "fabric/io/formats.hpp"
#include "fabric/io/output.hpp"
#include "fabric/io/words.hpp"
#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/base/table.hpp"
#include "loom/base/text.hpp"

namespace loom::fabric::io {
namespace {

struct SystemType {
    std::string_view name;
    NodeKind kind;
    std::uint8_t ports;
};

// The first of a kind and size is what the writer uses.
constexpr std::array known_types{
    SystemType{"MTS800", NodeKind::switch_, 8},    SystemType{"Buffalo", NodeKind::switch_, 8},
    SystemType{"MTS2400", NodeKind::switch_, 24},  SystemType{"MTS2400-24", NodeKind::switch_, 24},
    SystemType{"Reindeer", NodeKind::switch_, 24}, SystemType{"MTS3600", NodeKind::switch_, 36},
    SystemType{"Shark", NodeKind::switch_, 36},    SystemType{"IS4", NodeKind::switch_, 36},
    SystemType{"F464M", NodeKind::switch_, 36},    SystemType{"Cheetah", NodeKind::host, 1},
    SystemType{"MT25204", NodeKind::host, 1},      SystemType{"MHGS18-XT", NodeKind::host, 1},
    SystemType{"Cougar", NodeKind::host, 2},       SystemType{"MT23108", NodeKind::host, 2},
    SystemType{"Lion", NodeKind::host, 2},         SystemType{"MT25208", NodeKind::host, 2},
    SystemType{"LionMini", NodeKind::host, 2},     SystemType{"MT25218", NodeKind::host, 2},
    SystemType{"Eagle", NodeKind::host, 2},        SystemType{"MT25408", NodeKind::host, 2},
};

// Sizes that have no product: SW48, HCA4, RT2.
constexpr std::array generic_types{
    SystemType{"SW", NodeKind::switch_, 0},
    SystemType{"HCA", NodeKind::host, 0},
    SystemType{"RT", NodeKind::router, 0},
};

std::string type_of(const Node& node) {
    for (const SystemType& type : known_types)
        if (type.kind == node.kind && type.ports == node.ports) return std::string(type.name);
    for (const SystemType& type : generic_types)
        if (type.kind == node.kind) return fmt::format("{}{}", type.name, node.ports);
    return {};
}

struct System {
    std::string_view type, name;
    std::size_t line = 0;
    std::uint8_t highest = 0;  // port seen
    bool has_section = false;
    NodeId id = no_node;
};

struct Cable {
    std::uint32_t a, b;  // systems
    std::uint8_t a_port, b_port;
    LinkRate rate;
    std::uint32_t line;
};

class TopoReader {
public:
    TopoReader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

    Reading read() {
        reading_.format = Format::topo;
        Lines lines(text_);
        std::string_view line;
        while (lines.next(line)) {
            line_ = lines.number();
            const std::string_view content = trim(line.substr(0, line.find('#')));
            if (!content.empty()) read_line(content);
        }
        if (systems_.empty())
            throw ParseError(file_, line_, "the file ends without a system, expected lines such as: MTS2400 SW-1");
        for (System& system : systems_) add(system);
        Cabling cabling(reading_.fabric, file_, Sides::one);
        for (const Cable& cable : cables_)
            cabling.state(systems_[cable.a].id, cable.a_port, systems_[cable.b].id, cable.b_port, cable.rate,
                          cable.line);
        cabling.report(reading_.remarks);
        if (guessed_ != 0)
            reading_.remarks.push_back(
                fmt::format("the type {} says nothing of its ports (first on line {}); the highest port in use was "
                            "taken for the last, for {}",
                            first_guessed_, first_guessed_line_, counted(guessed_, "system", "systems")));
        return std::move(reading_);
    }

private:
    [[noreturn]] void fail(const std::string& message) const { throw ParseError(file_, line_, message); }

    void read_line(std::string_view line) {
        std::array<std::string_view, 6> word;
        std::size_t count = 0;
        Cursor cursor(line);
        while (!cursor.skip_blanks().done() && count < word.size()) word[count++] = cursor.take_word();
        if (count >= 2 && word[1].starts_with('-') && word[1].ends_with('>')) {
            if (current_ == none) fail("expected a system (type and name) before its first port");
            if (count != 5) fail("expected PORT -> TYPE NAME PORT, found " + excerpt(line));
            const std::uint8_t port = port_number(word[0]);
            const LinkRate rate = read_arrow(word[1]);
            const std::uint32_t other = system(word[2], word[3]);
            const std::uint8_t other_port = port_number(word[4]);
            systems_[current_].highest = std::max(systems_[current_].highest, port);
            systems_[other].highest = std::max(systems_[other].highest, other_port);
            cables_.push_back({current_, other, port, other_port, rate, static_cast<std::uint32_t>(line_)});
            return;
        }
        if (count > 2 && word[2].starts_with("CFG:"))
            fail("systems with boards (CFG:) are not read, expected TYPE NAME");
        if (count != 2)
            fail("expected a system (TYPE NAME) or a cable (PORT -> TYPE NAME PORT), found " + excerpt(line));
        current_ = system(word[0], word[1]);
        if (systems_[current_].has_section)
            fail(fmt::format("the system {} already has a section, expected one", excerpt(word[1])));
        systems_[current_].has_section = true;
    }

    std::uint8_t port_number(std::string_view word) {
        const auto number = word.starts_with('P') ? parse_decimal(word.substr(1)) : std::nullopt;
        if (!number || *number == 0 || *number > 254)
            fail(fmt::format("expected a port of a plain system, P1 to P254, found {}{}", excerpt(word),
                             word.find('/') != std::string_view::npos ? " (boards are not read)" : ""));
        return static_cast<std::uint8_t>(*number);
    }

    // -> or -4x-> or -10G-> or -4x-10G->
    LinkRate read_arrow(std::string_view arrow) {
        LinkRate rate;
        std::string_view rest = arrow.substr(1);
        while (rest != ">") {
            const auto dash = rest.find('-');
            if (dash == std::string_view::npos) fail("expected an arrow such as -4x-10G->, found " + excerpt(arrow));
            std::string_view part = rest.substr(0, dash);
            rest.remove_prefix(dash + 1);
            if (part.ends_with('x') || part.ends_with('X')) {
                const auto width = rate_in_word(fmt::format("{}x?", part.substr(0, part.size() - 1)));
                if (!width) fail("expected a width such as 4x, found " + excerpt(part));
                rate.width = width->width;
                continue;
            }
            if (part.ends_with('G')) part.remove_suffix(1);
            const auto speed = speed_from_gigabits(part);
            if (!speed) fail("expected a lane's speed such as 10G, found " + excerpt(part));
            rate.speed = *speed;
        }
        return rate;
    }

    std::uint32_t system(std::string_view type, std::string_view name) {
        const auto [at, fresh] = by_name_.try_emplace(name, static_cast<std::uint32_t>(systems_.size()));
        if (fresh)
            systems_.push_back({type, name, line_});
        else if (systems_[at->second].type != type)
            fail(fmt::format("the system {} is of type {} here but of type {} on line {}, expected one type",
                             excerpt(name), excerpt(type), excerpt(systems_[at->second].type),
                             systems_[at->second].line));
        return at->second;
    }

    SystemType type_for(const System& system) {
        for (const SystemType& type : known_types)
            if (type.name == system.type) return type;
        for (SystemType type : generic_types)
            if (system.type.starts_with(type.name))
                if (const auto ports = parse_decimal(system.type.substr(type.name.size()));
                    ports && *ports >= 1 && *ports <= 254) {
                    type.ports = static_cast<std::uint8_t>(*ports);
                    return type;
                }
        if (++guessed_ == 1) {
            first_guessed_ = excerpt(system.type);
            first_guessed_line_ = system.line;
        }
        const bool adapter = system.type.starts_with("MT2") || system.type.starts_with("MH") ||
                             system.type.starts_with("HCA") || system.type.starts_with("MCX");
        const bool host = adapter || (!system.has_section && system.highest <= 2);
        return {system.type, host ? NodeKind::host : NodeKind::switch_, std::max(system.highest, std::uint8_t{1})};
    }

    void add(System& system) {
        const SystemType type = type_for(system);
        system.id = reading_.fabric.add_node(type.kind, type.ports, std::string(system.name));
    }

    static constexpr std::uint32_t none = 0xffffffff;

    std::string_view text_;
    const std::string& file_;
    Reading reading_;
    std::size_t line_ = 0;
    std::uint32_t current_ = none;
    std::vector<System> systems_;
    std::vector<Cable> cables_;
    std::unordered_map<std::string_view, std::uint32_t> by_name_;
    std::size_t guessed_ = 0, first_guessed_line_ = 0;
    std::string first_guessed_;
};

std::string arrow(LinkRate rate) {
    std::string text = "-";
    if (rate.width != Width::unknown) text += width_word(rate.width) + "-";
    if (rate.speed == Speed::fdr10)
        text += "FDR10-";
    else if (rate.speed != Speed::unknown)
        text += fmt::format("{}G-", gigabits_word(rate.speed));
    return text + ">";
}

// Words without blanks, '/' and '#', each system its own.
std::vector<std::string> choose_names(const Fabric& fabric) {
    std::unordered_set<std::string> taken;
    std::vector<std::string> names;
    names.reserve(fabric.node_count());
    for (const Node& node : fabric.nodes()) {
        std::string name = node.name;
        for (char& c : name)
            if (c <= ' ' || c > '~' || c == '/' || c == '#') c = '_';
        if (name.empty() || name.starts_with('-') || taken.contains(name))
            name = name.empty() ? id_of(node) : name + "_" + id_of(node);
        taken.insert(name);
        names.push_back(std::move(name));
    }
    return names;
}

}  // namespace

Reading read_topo(std::string_view text, const std::string& file) {
    return TopoReader(text, file).read();
}

void write_topo(const Fabric& fabric, std::ostream& out) {
    Output text(out);
    const std::vector<std::string> names = choose_names(fabric);
    text.put("# {}\n", printable(fabric.title));
    const auto put_system = [&](std::uint32_t n) {
        const Node& node = fabric.node(NodeId{n});
        text.put("\n{} {}\n", type_of(node), names[n]);
        for (const Port& port : fabric.ports(NodeId{n})) {
            if (!port.connected()) continue;
            const Port& peer = fabric.port(port.peer);
            const Node& other = fabric.node(peer.node);
            // Each cable once: in the section of its switch, of the first where there are two.
            const bool other_first = (other.kind == NodeKind::switch_) != (node.kind == NodeKind::switch_)
                                         ? other.kind == NodeKind::switch_
                                         : port.peer < fabric.port_index(NodeId{n}, port.number);
            if (!other_first)
                text.put("   P{} {} {} {} P{}\n", port.number.value, arrow(port.rate), type_of(other),
                         names[peer.node.value], peer.number.value);
        }
    };
    for (std::uint32_t n = 0; n < fabric.node_count(); ++n)
        if (fabric.node(NodeId{n}).kind == NodeKind::switch_) put_system(n);
    for (std::uint32_t n = 0; n < fabric.node_count(); ++n) {
        const Node& node = fabric.node(NodeId{n});
        if (node.kind == NodeKind::switch_) continue;
        bool named = false;  // by the section of a switch
        bool alone = false;
        for (const Port& port : fabric.ports(NodeId{n})) {
            const bool to_switch =
                port.connected() && fabric.node(fabric.port(port.peer).node).kind == NodeKind::switch_;
            named = named || to_switch;
            alone = alone || (port.connected() && !to_switch);
        }
        if (!named || alone) put_system(n);
    }
}

}  // namespace loom::fabric::io
