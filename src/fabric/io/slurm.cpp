// Slurm's topology.conf (topology/tree): which nodes are under which leaf, which switches under which switch.
//   SwitchName=leaf1 Nodes=node[001-018]
//   SwitchName=spine Switches=leaf[1-4]
// It knows neither ports nor cables: reading makes one cable for each relation.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <deque>
#include <set>
#include <unordered_map>
#include <utility>

#include "fabric/io/formats.hpp"
#include "fabric/io/output.hpp"
#include "fabric/io/words.hpp"
#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/base/host_list.hpp"
#include "loom/base/text.hpp"
#include "loom/fabric/levels.hpp"

namespace loom::fabric::io {
namespace {

constexpr std::size_t most_names = 400'000;  // in all lists of one file together

bool same_key(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

struct Member {
    std::string name;
    NodeKind kind = NodeKind::switch_;
    std::size_t line = 0;       // of the definition; 0 for a switch that is only mentioned so far
    std::size_t mentioned = 0;  // first line that names it
    unsigned ports = 0;
    NodeId id = no_node;
};

struct Relation {
    std::size_t parent, child;
    std::size_t line;
};

class SlurmReader {
public:
    SlurmReader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

    Reading read() {
        reading_.format = Format::slurm;
        Lines lines(text_);
        std::string_view line;
        std::string joined;
        while (lines.next(line)) {
            if (joined.empty()) line_ = lines.number();
            line = trim(line.substr(0, line.find('#')));
            if (line.ends_with('\\')) {
                joined.append(line.substr(0, line.size() - 1)).push_back(' ');
                continue;
            }
            if (joined.empty()) {
                read_line(line);
            } else {
                joined.append(line);
                read_line(std::exchange(joined, {}));
            }
        }
        if (!joined.empty()) read_line(joined);
        build();
        return std::move(reading_);
    }

private:
    [[noreturn]] void fail(const std::string& message) const { throw ParseError(file_, line_, message); }

    void read_line(std::string_view line) {
        Cursor cursor(line);
        std::size_t current = none;
        while (!cursor.skip_blanks().done()) {
            const std::string_view word = cursor.take_word();
            const auto equals = word.find('=');
            if (equals == std::string_view::npos) fail("expected KEY=VALUE, found " + excerpt(word));
            const std::string_view key = word.substr(0, equals), value = word.substr(equals + 1);
            if (same_key(key, "SwitchName")) {
                if (current != none) fail("expected one SwitchName a line");
                current = member(std::string(value), NodeKind::switch_);
                if (members_[current].line != 0)
                    fail(fmt::format("the switch {} is already defined on line {}, expected it once", excerpt(value),
                                     members_[current].line));
                members_[current].line = line_;
            } else if (same_key(key, "Nodes") || same_key(key, "Switches")) {
                if (current == none) fail("expected SwitchName= at the start of the line");
                relate(current, value, same_key(key, "Nodes") ? NodeKind::host : NodeKind::switch_);
            } else if (!same_key(key, "LinkSpeed")) {
                fail("expected SwitchName=, Nodes=, Switches= or LinkSpeed=, found " + excerpt(word));
            }
        }
    }

    void relate(std::size_t parent, std::string_view list, NodeKind kind) {
        std::vector<std::string> names;
        try {
            names = expand_host_list(list, most_names - names_);
        } catch (const Error& error) {
            fail(error.what());
        }
        names_ += names.size();
        for (std::string& name : names) {
            const std::size_t child = member(std::move(name), kind);
            if (child == parent)
                fail(fmt::format("the switch {} is under itself, expected another", excerpt(members_[parent].name)));
            relations_.push_back({parent, child, line_});
        }
    }

    std::size_t member(std::string name, NodeKind kind) {
        if (name.empty()) fail("expected a name after =");
        auto& names = kind == NodeKind::switch_ ? switches_ : hosts_;
        if (const auto found = names.find(name); found != names.end()) return found->second;
        const std::size_t index = members_.size();
        Member& added = members_.emplace_back();
        added.name = std::move(name);
        added.kind = kind;
        added.mentioned = line_;
        names.emplace(added.name, index);
        return index;
    }

    void build() {
        if (members_.empty())
            throw ParseError(
                file_, line_,
                "the file ends without a switch, expected lines such as: SwitchName=leaf1 Nodes=node[1-18]");
        for (const Member& m : members_)
            if (m.kind == NodeKind::switch_ && m.line == 0)
                throw ParseError(file_, m.mentioned,
                                 fmt::format("the switch {} has no line of its own, expected SwitchName={}",
                                             excerpt(m.name), m.name));
        std::set<std::pair<std::size_t, std::size_t>> seen;
        std::size_t repeated = 0;
        std::vector<Relation> cables;
        for (const Relation& relation : relations_) {
            if (!seen.insert(std::minmax(relation.parent, relation.child)).second) {
                ++repeated;
                continue;
            }
            for (const std::size_t index : {relation.parent, relation.child})
                if (++members_[index].ports > 254)
                    throw ParseError(file_, relation.line,
                                     fmt::format("{} would need more than 254 ports, expected fewer neighbours",
                                                 excerpt(members_[index].name)));
            cables.push_back(relation);
        }
        Fabric& fabric = reading_.fabric;
        std::vector<std::uint8_t> next(members_.size(), 1);
        for (Member& m : members_)
            m.id = fabric.add_node(m.kind, static_cast<std::uint8_t>(std::max(m.ports, 1u)), m.name);
        for (const Relation& cable : cables)
            fabric.connect(members_[cable.parent].id, PortNum{next[cable.parent]++}, members_[cable.child].id,
                           PortNum{next[cable.child]++}, LinkRate{});
        reading_.remarks.push_back(
            "a Slurm topology has no ports and no rates; one cable was assumed for each relation");
        if (repeated != 0)
            reading_.remarks.push_back(fmt::format("{} relation{} stated more than once; counted once", repeated,
                                                   repeated == 1 ? " is" : "s are"));
    }

    static constexpr std::size_t none = ~std::size_t{0};

    std::string_view text_;
    const std::string& file_;
    Reading reading_;
    std::size_t line_ = 0;
    std::size_t names_ = 0;
    std::deque<Member> members_;  // names are keys of the maps: they must not move
    std::unordered_map<std::string_view, std::size_t> switches_, hosts_;
    std::vector<Relation> relations_;
};

// Slurm's names hold letters, digits and a few signs. A host is known by the first word of its description.
std::string word_of(const Node& node) {
    std::string word = node.kind == NodeKind::switch_ ? node.name : node.name.substr(0, node.name.find(' '));
    for (char& c : word)
        if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_' && c != '.') c = '_';
    return word.empty() ? id_of(node) : word;
}

// "MT25408 ConnectX ..." is what an adapter is called before anybody gave it a host's name.
bool is_device_word(std::string_view word) {
    return word.size() > 2 && word.starts_with("MT") && is_digit(word[2]);
}

// Two adapters of one server share the first word and are one node. Those called exactly alike, or by their
// device, are one node only if they are one system: else the GUID tells them apart. Two switches are always two.
std::vector<std::string> choose_names(const Fabric& fabric) {
    std::unordered_map<std::string, unsigned> uses;
    std::unordered_map<std::string_view, unsigned> same;  // hosts by description
    std::vector<std::string> names;
    names.reserve(fabric.node_count());
    for (const Node& node : fabric.nodes()) {
        names.push_back(word_of(node));
        ++(node.kind == NodeKind::switch_ ? uses[names.back()] : same[node.name]);
    }
    for (std::uint32_t n = 0; n < names.size(); ++n) {
        const Node& node = fabric.node(NodeId{n});
        if (node.kind == NodeKind::switch_) {
            if (uses[names[n]] > 1) names[n] += "-" + id_of(node);
        } else if (same[node.name] > 1 || is_device_word(names[n])) {
            names[n] += fmt::format("-{:016x}", (node.system_guid == no_guid ? node.guid : node.system_guid).value);
        }
    }
    return names;
}

}  // namespace

Reading read_slurm(std::string_view text, const std::string& file) {
    return SlurmReader(text, file).read();
}

void write_slurm(const Fabric& fabric, std::ostream& out) {
    const Levels levels = find_levels(fabric);
    const std::vector<std::string> names = choose_names(fabric);
    std::vector<NodeId> switches = fabric.nodes_of(NodeKind::switch_);
    std::stable_sort(switches.begin(), switches.end(),
                     [&](NodeId a, NodeId b) { return levels.level[a.value] < levels.level[b.value]; });
    const auto is_above =
        [&](NodeId a,
            NodeId b) {  // a cable inside a level has no lower end: the earlier switch counts as the upper one
            return std::pair(levels.level[b.value], a.value) < std::pair(levels.level[a.value], b.value);
        };
    std::vector<std::string> lines(
        fabric.node_count());  // empty for a switch with nothing below it, which Slurm does not take
    std::vector<NodeId> upwards = switches;
    std::stable_sort(upwards.begin(), upwards.end(), [&](NodeId a, NodeId b) { return is_above(b, a); });
    for (const NodeId id : upwards) {
        std::vector<std::string> hosts, below;
        for (const Port& port : fabric.ports(id)) {
            if (!port.connected()) continue;
            const NodeId other = fabric.port(port.peer).node;
            if (is_aggregation_node(fabric.node(other))) continue;  // no job runs there
            if (fabric.node(other).kind != NodeKind::switch_)
                hosts.push_back(names[other.value]);
            else if (is_above(id, other) && !lines[other.value].empty())
                below.push_back(names[other.value]);
        }
        std::string& line = lines[id.value];
        if (!hosts.empty()) {  // Slurm wants hosts or switches: hosts of an upper switch get a leaf of their own
            const std::string leaf = below.empty() ? names[id.value] : names[id.value] + "-hosts";
            line = fmt::format("SwitchName={} Nodes={}\n", leaf, compress_host_list(hosts));
            if (!below.empty()) below.push_back(leaf);
        }
        if (!below.empty())
            line += fmt::format("SwitchName={} Switches={}\n", names[id.value], compress_host_list(below));
    }
    Output text(out);
    text.put("# {}\n", printable(fabric.title));
    for (const NodeId id : switches) text.raw(lines[id.value]);
}

}  // namespace loom::fabric::io
