// What a scenario can set about the simulated fabric.
#include <fmt/format.h>

#include <array>

#include "loom/base/text.hpp"
#include "sim/scenario_words.hpp"

namespace loom::sim {
namespace {

using Choices = std::array<std::string_view, 2>;

template <class Enum>
void choose(Enum& value, Words& words, const Choices& choices) {
    value = static_cast<Enum>(words.one_of(choices));
}

template <class Number>
void set_number(Number& value, Words& words, std::string_view what, std::uint64_t least, std::uint64_t most) {
    value = static_cast<Number>(words.number(what, least, most));
}

// "VL:WEIGHT ..."
void take_weights(std::vector<LaneWeight>& table, Words& words) {
    table.clear();
    while (!words.done()) {
        const std::string word = words.text("LANE:WEIGHT");
        const auto colon = word.find(':');
        const auto lane = parse_decimal(word.substr(0, colon));
        const auto weight = colon == std::string::npos ? std::nullopt : parse_decimal(word.substr(colon + 1));
        if (!lane || !weight || *lane >= max_lanes || *weight > 255)
            words.refuse(fmt::format("expected LANE:WEIGHT with a lane from 0 to {} and a weight from 0 to 255, got {}",
                                     max_lanes - 1, excerpt(word)));
        if (table.size() == 64) words.refuse("expected at most 64 entries of an arbitration table");
        table.push_back({static_cast<std::uint8_t>(*lane), static_cast<std::uint8_t>(*weight)});
    }
    if (table.empty()) words.expected("LANE:WEIGHT");
}

void take_arbitration(LaneArbitration& arbitration, Words& words) {
    if (words.take("high"))
        take_weights(arbitration.high, words);
    else if (words.take("low"))
        take_weights(arbitration.low, words);
    else if (words.take("limit"))
        set_number(arbitration.high_limit, words, "a limit", 0, 255);
    else
        words.expected("high, low or limit");
}

// `congestion ccti_timer 150` for all service levels, `congestion ccti_timer 150 sl 3` for one.
template <class Member>
void set_host(CongestionControl& control, Member HostControl::*member, Words& words, std::string_view what,
              std::uint64_t most) {
    Member value{};
    set_number(value, words, what, 0, most);
    if (!words.take("sl")) {
        for (HostControl& host : control.hosts) host.*member = value;
        return;
    }
    control.hosts[words.number("a service level", 0, service_levels - 1)].*member = value;
}

// `cct 0 1 2.5` entry by entry; `cct halving 6`: 0, 1, 3, 7, 15, 31; `cct linear 128 0.5`: 128 entries, 0, 0.5, 1 ...
void take_table(std::vector<double>& table, Words& words) {
    constexpr double most_delay = 1e6;
    table.clear();
    if (words.take("halving")) {
        table = words.done() ? halving_table()
                             : halving_table(static_cast<unsigned>(words.number("a number of entries", 1, 15)));
        return;
    }
    if (words.take("linear")) {
        const std::uint64_t entries = words.number("a number of entries", 1, 256);
        const double step = words.real("a step", 0, most_delay / 256);
        for (std::uint64_t i = 0; i < entries; ++i) table.push_back(static_cast<double>(i) * step);
        return;
    }
    while (!words.done()) {
        if (table.size() == 256) words.refuse("expected at most 256 entries of the congestion control table");
        table.push_back(words.real("an injection delay in packet times", 0, most_delay));
    }
    if (table.empty()) words.expected("halving, linear, or injection delays in packet times");
}

void take_congestion(CongestionControl& control, Words& words) {
    if (words.take("threshold"))
        set_number(control.switches.threshold, words, "a threshold", 0, 15);
    else if (words.take("marking_rate"))
        set_number(control.switches.marking_rate, words, "a marking rate", 0, 65535);
    else if (words.take("packet_size"))
        set_number(control.switches.packet_size, words, "a packet size in 64 bytes", 0, 255);
    else if (words.take("victim_mask"))
        control.switches.victim_mask = words.on_off("a victim mask");
    else if (words.take("ccti_timer"))
        set_host(control, &HostControl::ccti_timer, words, "a timer in 1.024 us", 65535);
    else if (words.take("ccti_increase"))
        set_host(control, &HostControl::ccti_increase, words, "an increase", 255);
    else if (words.take("ccti_limit"))
        set_host(control, &HostControl::ccti_limit, words, "a limit", 255);
    else if (words.take("ccti_min"))
        set_host(control, &HostControl::ccti_min, words, "a minimum", 255);
    else if (words.take("cct"))
        take_table(control.table, words);
    else if (words.take("jitter"))
        control.jitter = words.real("a share of the injection delay", 0, 1);
    else if (words.take("notify"))
        choose(control.notify, words, {"cnp", "ack"});
    else if (words.take("scope"))
        choose(control.scope, words, {"queue_pair", "service_level"});
    else
        words.expected(
            "threshold, marking_rate, packet_size, victim_mask, ccti_timer, ccti_increase, ccti_limit, ccti_min, cct, "
            "jitter, notify or scope");
}

// Picoseconds, or a time with its unit.
std::int64_t take_per_byte(Words& words) {
    constexpr std::uint64_t most = 1'000'000'000;
    const std::string word = words.text("picoseconds a byte");
    const auto time = parse_time(word);
    const auto value = time ? std::optional(static_cast<std::uint64_t>(time->ps)) : parse_decimal(word);
    if (!value || *value > most)
        words.refuse(fmt::format("expected picoseconds a byte from 0 to {}, got {}", most, excerpt(word)));
    return static_cast<std::int64_t>(*value);
}

// `loggops L 2.5us o 1us G 400`: any of the six.
void take_loggops(model::LogGops& parameters, Words& words) {
    do {
        if (words.take("L"))
            parameters.L = words.time("a latency");
        else if (words.take("o"))
            parameters.o = words.time("an overhead");
        else if (words.take("g"))
            parameters.g = words.time("a gap");
        else if (words.take("G"))
            parameters.G = take_per_byte(words);
        else if (words.take("O"))
            parameters.O = take_per_byte(words);
        else if (words.take("S"))
            parameters.S = words.bytes("a number of bytes");
        else
            words.expected("L, o, g, G, O or S");
    } while (!words.done());
}

void take_mtu(std::uint32_t& mtu, Words& words) {
    static constexpr std::array<std::string_view, 5> sizes{"256", "512", "1024", "2048", "4096"};
    mtu = 256u << words.one_of(sizes);
}

// One delay for packet and flow level alike.
void set_delay(Time& packet, Time& flow, Words& words) {
    packet = flow = words.time("a delay");
}

}  // namespace

bool take_setting(Scenario& scenario, std::string_view word, Words& words) {
    Options& options = scenario.options;
    PacketOptions& packet = options.packet;
    if (word == "mtu") {
        take_mtu(packet.mtu, words);
    } else if (word == "buffer") {
        packet.buffer_bytes = static_cast<std::uint32_t>(words.bytes("the bytes of a buffer", 512, 1u << 30));
    } else if (word == "cable-delay") {
        set_delay(packet.cable_delay, options.flow.cable_delay, words);
    } else if (word == "switch-delay") {
        set_delay(packet.switch_delay, options.flow.switch_delay, words);
    } else if (word == "host-delay") {
        set_delay(packet.host_delay, options.flow.host_delay, words);
    } else if (word == "counter-tick") {
        packet.counter_tick = words.time("a time");
        if (packet.counter_tick.ps == 0) words.refuse("expected a tick above 0");
    } else if (word == "lanes") {
        set_number(packet.lanes, words, "a number of lanes", 1, max_lanes);
    } else if (word == "sl-to-vl") {
        const std::uint64_t sl = words.number("a service level", 0, service_levels - 1);
        set_number(packet.sl_to_vl[sl], words, "a lane", 0, max_lanes - 1);
    } else if (word == "table-lanes") {
        packet.use_table_lanes = words.on_off("the tables' lanes");
    } else if (word == "arbitration") {
        take_arbitration(packet.arbitration, words);
    } else if (word == "lids") {
        choose(packet.lids, words, {"first", "spread"});
        options.flow.lids = packet.lids;
    } else if (word == "paths") {
        choose(packet.paths, words, {"tables", "adaptive"});
    } else if (word == "flow-control") {
        choose(packet.flow_control, words, {"credits", "infinite"});
    } else if (word == "buffer-use") {
        choose(packet.buffer_use, words, {"shared", "per-output"});
    } else if (word == "host-turns") {
        choose(packet.host_turns, words, {"packet", "message"});
    } else if (word == "congestion") {
        take_congestion(packet.congestion, words);
    } else if (word == "loggops") {
        take_loggops(options.message.parameters, words);
    } else if (word == "local-copy") {
        set_number(options.local.copy, words, "picoseconds a byte", 0, 1'000'000'000);
    } else if (word == "local-reduce") {
        set_number(options.local.reduce, words, "picoseconds a byte", 0, 1'000'000'000);
    } else if (word == "local-step") {
        options.local.step = words.time("what any copy or reduction costs");
    } else if (word == "handshake") {
        options.message.handshake = words.on_off("a handshake");
    } else {
        return false;
    }
    return true;
}

}  // namespace loom::sim
