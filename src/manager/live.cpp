#include "loom/manager/live.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <vector>

#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/base/parallel.hpp"
#include "loom/base/text.hpp"
#include "loom/manager/diags.hpp"
#include "manager/child.hpp"

namespace loom::manager {

using fabric::PortCounters;

namespace {

constexpr int discovery_commands = 12;  // as long as so many commands: it asks every node of the subnet
constexpr Time longest_command = seconds(100'000);
constexpr std::uint64_t full = UINT32_MAX;          // where 32-bit counters stand still
constexpr std::uint8_t last_known_port = 31;        // see marking_rate
constexpr const char* wait_reset_mask = "0x10000";  // PortCounters, CounterSelect bit 16: PortXmitWait alone

// A counter of 32 bits, in which resets of our own do not show.
struct Narrow {
    std::uint64_t shown = 0;         // when last read
    std::uint64_t before_reset = 0;  // what our resets took away
    bool reset = false;              // by us, since it was read

    // What it counted, when it now shows `now`. One that shows no less was not reset, whatever the switch said; one
    // that somebody else reset begins at 0 again, for all to see.
    std::uint64_t total(std::uint64_t now) {
        if (now < shown) before_reset = reset ? before_reset + shown : 0;
        reset = false;
        shown = now;
        return before_reset + now;
    }
};

enum class Tool : std::uint8_t { perfquery, ibccquery, ibccconfig, smpquery };

// The line in which the tool says what is wrong, without its own name in front. It prints that on standard output, and
// warnings on standard error.
std::string complaint(const ChildResult& result) {
    std::string_view last;
    const auto look = [&](std::string_view text, bool errors_only) {
        Lines lines(text);
        for (std::string_view line; lines.next(line);)
            if (!trim(line).empty() && (!errors_only || line.find("iberror") != std::string_view::npos))
                last = trim(line);
    };
    look(result.err, false);
    look(result.err, true);
    look(result.out, true);
    if (const auto at = last.find("failed: "); at != std::string_view::npos) last.remove_prefix(at + 8);
    std::string text(last.substr(0, 200));
    for (char& c : text)
        if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = '?';
    if (text.empty()) text = "it said nothing and ended with status " + std::to_string(result.status);
    if (result.err.find("UMAD") != std::string::npos)
        text += " (is there an adapter, is the module ib_umad loaded, and may you use it?)";
    return text;
}

std::vector<std::string> adapter_words(const LiveOptions& options) {
    std::vector<std::string> words;
    if (!options.adapter.empty()) words.insert(words.end(), {"-C", options.adapter});
    if (options.adapter_port != 0) words.insert(words.end(), {"-P", std::to_string(options.adapter_port)});
    return words;
}

std::string port_list(std::span<const PortNum> ports) {
    std::string text;
    for (const PortNum port : ports) text += (text.empty() ? "" : ",") + std::to_string(port.value);
    return text;
}

}  // namespace

struct LiveFabric::State {
    // What is known of a switch.
    struct Switch {
        bool identified = false;
        std::optional<bool> counts_congestion;
    };
    struct Found {
        CongestionSetting own;        // the port's, valid or not
        CongestionSetting effective;  // what counts: the port's, or its switch's
    };
    struct NarrowCounters {
        Narrow wait, congested;
    };

    const fabric::Fabric& fabric;
    LiveOptions options;
    std::map<Tool, std::string> paths;
    std::map<std::uint32_t, Switch> switches;        // by node
    std::map<std::uint32_t, Found> found;            // by port, when first asked
    std::map<std::uint32_t, std::uint16_t> would;    // by port, in a dry run
    std::map<std::uint32_t, NarrowCounters> narrow;  // by port
    std::set<std::string> told;
    std::atomic<std::uint64_t> processes{0};

    State(const fabric::Fabric& f, LiveOptions o) : fabric(f), options(std::move(o)) {
        paths[Tool::perfquery] = find_tool("perfquery");
        paths[Tool::ibccquery] = find_tool("ibccquery");
        paths[Tool::ibccconfig] = find_tool("ibccconfig");
        paths[Tool::smpquery] = find_tool("smpquery");
    }

    void remark(const std::string& text) {
        if (options.remark && told.insert(text).second) options.remark(text);
    }

    struct Call {
        std::vector<std::string> arguments;
        std::string shown;  // without the key
    };
    Call call(Tool tool, const std::vector<std::string>& words) const {
        Call result;
        result.arguments = {paths.at(tool)};
        std::vector<std::string> shown{paths.at(tool).substr(paths.at(tool).rfind('/') + 1)};
        const auto add = [&](const std::string& word, const std::string& as) {
            result.arguments.push_back(word);
            shown.push_back(as);
        };
        for (const std::string& word : adapter_words(options)) add(word, word);
        if (options.cc_key && (tool == Tool::ibccquery || tool == Tool::ibccconfig)) {
            add("-c", "-c");
            add(std::to_string(*options.cc_key), "KEY");
        }
        for (const std::string& word : words) add(word, word);
        result.shown = command_line(shown);
        return result;
    }
    ChildResult start(const Call& what) {
        ++processes;
        return run_child(what.arguments, options.limit);
    }
    // Standard output of a tool that succeeded.
    std::string run(const Call& what) {
        ChildResult result = start(what);
        if (result.status != 0) throw Error(what.shown + ": " + complaint(result));
        return std::move(result.out);
    }

    std::string name(PortIndex port) const {
        return fabric::describe(fabric, fabric.port(port).node, fabric.port(port).number);
    }
    Lid identified(NodeId node);
    void read_switch(NodeId node, std::span<const PortIndex> ports, std::span<PortCounters> counters);
    void read_congested(NodeId node, Lid lid, std::span<const PortNum> ports, std::span<PortCounters> counters);
    void mind_limits(Lid lid, PortIndex port, PortCounters& counters, bool narrow_wait);
    CongestionSetting own_setting(Lid lid, PortNum port);
    const Found& setting(PortIndex port);
};

// The LID of a switch, once the switch that answers there is known to be the right one.
Lid LiveFabric::State::identified(NodeId node) {
    const Lid lid = fabric.port(node, PortNum{0}).lid;
    if (lid == no_lid)
        throw Error(fabric::describe(fabric, node) +
                    " has no LID in this fabric file; one from ibnetdiscover has them");
    Switch& known = switches[node.value];
    if (known.identified) return lid;
    const Call ask = call(Tool::smpquery, {"nodeinfo", std::to_string(lid.value)});
    const Guid guid = parse_node_guid(run(ask), ask.shown, lid);
    if (guid != fabric.node(node).guid)
        throw Error("LID " + std::to_string(lid.value) + " belongs to " + fabric::to_string(guid) + ", not to " +
                    fabric::describe(fabric, node) + " (" + fabric::to_string(fabric.node(node).guid) +
                    "): the fabric file is out of date");
    known.identified = true;
    return lid;
}

void LiveFabric::State::read_congested(NodeId node, Lid lid, std::span<const PortNum> ports,
                                       std::span<PortCounters> counters) {
    Switch& known = switches[node.value];
    if (known.counts_congestion == false) return;
    const auto read_one = [&](std::size_t i) {
        const Call ask = call(Tool::perfquery, {"--xmitcc", std::to_string(lid.value), std::to_string(ports[i].value)});
        counters[i].xmit_cong_time = parse_congested_time(run(ask), ask.shown, lid, ports[i]);
    };
    std::size_t begin = 0;
    if (!known.counts_congestion) {  // try one before all
        try {
            read_one(begin++);
            known.counts_congestion = true;
        } catch (const ParseError&) {
            throw;
        } catch (const Error& error) {
            known.counts_congestion = false;
            remark(fabric::describe(fabric, node) +
                   " answers no congestion counters, so only its ports that lead to hosts can be found congested (" +
                   error.what() + ")");
            return;
        }
    }
    parallel_for(ports.size() - begin, options.jobs, 1, [&](std::size_t from, std::size_t to) {
        for (std::size_t i = from; i < to; ++i) read_one(begin + i);
    });
}

// Narrow counters stand still at their end: they are reset before that, where this is asked for, and summed up.
void LiveFabric::State::mind_limits(Lid lid, PortIndex port, PortCounters& counters, bool narrow_wait) {
    const std::string lid_text = std::to_string(lid.value), port_text = std::to_string(fabric.port(port).number.value);
    const auto mind = [&](const char* counter, std::uint64_t& value, Narrow& kept, const Call& reset) {
        const std::uint64_t shown = value;
        value = kept.total(shown);
        if (options.reset_counters && shown > full / 2) {
            if (options.command) options.command(reset.shown);
            if (options.apply == Apply::dry_run) return;
            (void)run(reset);
            kept.reset = true;
        } else if (shown == full) {
            remark(std::string(counter) + " of " + name(port) +
                   " is full and counts no more until someone resets it: " + reset.shown);
        }
    };
    NarrowCounters& kept = narrow[port.value];
    if (narrow_wait)
        mind("PortXmitWait", counters.xmit_wait, kept.wait,
             call(Tool::perfquery, {"-R", lid_text, port_text, wait_reset_mask}));
    mind("PortXmitTimeCong", counters.xmit_cong_time, kept.congested,
         call(Tool::perfquery, {"-R", "--xmitcc", lid_text, port_text}));
}

void LiveFabric::State::read_switch(NodeId node, std::span<const PortIndex> ports, std::span<PortCounters> counters) {
    const Lid lid = identified(node);
    std::vector<PortNum> numbers;
    for (const PortIndex port : ports) numbers.push_back(fabric.port(port).number);
    // -l prints each port on its own; a single port needs and takes no list.
    const auto listed = [&](std::vector<std::string> words) {
        if (numbers.size() > 1) words.emplace_back("-l");
        words.push_back(std::to_string(lid.value));
        words.push_back(port_list(numbers));
        return call(Tool::perfquery, words);
    };
    const Call extended = listed({"-x"});
    const std::vector<PortReading> readings = parse_extended(run(extended), extended.shown, lid, numbers);
    const bool narrow_wait =
        std::any_of(readings.begin(), readings.end(), [](const PortReading& one) { return !one.xmit_wait; });
    std::vector<std::uint64_t> waits(ports.size());
    if (narrow_wait) {
        const Call basic = listed({});
        waits = parse_waits(run(basic), basic.shown, lid, numbers);
    }
    for (std::size_t i = 0; i < ports.size(); ++i) {
        counters[i] = {};
        counters[i].xmit_data = readings[i].xmit_data;
        counters[i].rcv_data = readings[i].rcv_data;
        counters[i].xmit_pkts = readings[i].xmit_pkts;
        counters[i].rcv_pkts = readings[i].rcv_pkts;
        counters[i].xmit_wait = narrow_wait ? waits[i] : *readings[i].xmit_wait;
    }
    read_congested(node, lid, numbers, counters);
    for (std::size_t i = 0; i < ports.size(); ++i) mind_limits(lid, ports[i], counters[i], narrow_wait);
}

CongestionSetting LiveFabric::State::own_setting(Lid lid, PortNum port) {
    const Call ask =
        call(Tool::ibccquery, {"SwitchPortCongestionSetting", std::to_string(lid.value), std::to_string(port.value)});
    return parse_port_setting(run(ask), ask.shown, lid);
}

const LiveFabric::State::Found& LiveFabric::State::setting(PortIndex port) {
    if (const auto known = found.find(port.value); known != found.end()) return known->second;
    const NodeId node = fabric.port(port).node;
    if (fabric.port(port).number.value > last_known_port)
        throw Error(name(port) +
                    ": ibccquery and ibccconfig can only be trusted with ports up to 31: beyond, they disagree about "
                    "how many settings a block has, and other ports would change");
    const Lid lid = identified(node);
    Found now;
    now.own = now.effective = own_setting(lid, fabric.port(port).number);
    if (!now.own.valid) {
        const Call ask = call(Tool::ibccquery, {"SwitchCongestionSetting", std::to_string(lid.value)});
        now.effective = parse_switch_setting(run(ask), ask.shown, lid);
    }
    if (now.effective.credit_starved)
        throw Error(name(port) + " is set to control by credit starvation (Control_Type 1): it has no marking rate");
    if (now.effective.threshold == 0)
        remark(name(port) +
               " has congestion threshold 0: it marks nothing, whatever its marking rate (see ibccconfig "
               "SwitchCongestionSetting)");
    return found.emplace(port.value, now).first->second;
}

LiveFabric::LiveFabric(const fabric::Fabric& fabric, LiveOptions options)
    : state_(std::make_unique<State>(fabric, std::move(options))) {}
LiveFabric::~LiveFabric() = default;

void LiveFabric::read(std::span<const PortIndex> ports, std::span<PortCounters> counters) {
    for (std::size_t begin = 0, end; begin < ports.size(); begin = end) {
        const NodeId node = state_->fabric.port(ports[begin]).node;
        for (end = begin; end < ports.size() && state_->fabric.port(ports[end]).node == node;) ++end;
        state_->read_switch(node, ports.subspan(begin, end - begin), counters.subspan(begin, end - begin));
    }
}

std::uint16_t LiveFabric::marking_rate(PortIndex switch_port) {
    if (const auto pretended = state_->would.find(switch_port.value); pretended != state_->would.end())
        return pretended->second;
    const State::Found& first = state_->setting(switch_port);
    if (state_->options.apply == Apply::dry_run) return first.effective.marking_rate;
    const fabric::Port& port = state_->fabric.port(switch_port);
    const CongestionSetting now = state_->own_setting(state_->identified(port.node), port.number);
    return now.valid ? now.marking_rate : first.effective.marking_rate;
}

void LiveFabric::set_marking_rate(PortIndex switch_port, std::uint16_t rate) {
    State& state = *state_;
    const fabric::Port& port = state.fabric.port(switch_port);
    const State::Found& first = state.setting(switch_port);
    CongestionSetting wanted = first.own;
    if (rate != first.effective.marking_rate) {
        wanted = first.effective;
        wanted.valid = true;
        wanted.marking_rate = rate;
    }
    const Lid lid = state.identified(port.node);
    const auto text = [](unsigned number) { return std::to_string(number); };
    const State::Call change =
        state.call(Tool::ibccconfig, {"SwitchPortCongestionSetting", text(lid.value), text(port.number.value),
                                      text(wanted.valid ? 1 : 0), text(wanted.credit_starved ? 1 : 0),
                                      text(wanted.threshold), text(wanted.packet_size), text(wanted.marking_rate)});
    if (state.options.command) state.options.command(change.shown);
    if (state.options.apply == Apply::dry_run) {
        state.would[switch_port.value] = rate;
        return;
    }
    (void)state.run(change);
    if (const CongestionSetting now = state.own_setting(lid, port.number); now != wanted)
        throw Error(change.shown + ": accepted, but the port now has marking rate " + text(now.marking_rate) +
                    " and threshold " + text(now.threshold));
}

std::uint64_t LiveFabric::processes() const {
    return state_->processes;
}

std::string discover(const LiveOptions& options) {
    std::vector<std::string> words{find_tool("ibnetdiscover")};
    for (const std::string& word : adapter_words(options)) words.push_back(word);
    ChildResult result = run_child(words, std::min(options.limit, longest_command) * discovery_commands);
    if (result.status != 0) throw Error("ibnetdiscover: " + complaint(result));
    return std::move(result.out);
}

}  // namespace loom::manager
