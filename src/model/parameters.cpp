#include "loom/model/parameters.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "loom/base/error.hpp"

namespace loom::model {

namespace {

struct MessageField {
    std::string_view name;
    Time MessageCosts::*time = nullptr;
    std::int64_t MessageCosts::*byte = nullptr;
};
constexpr MessageField message_fields[] = {{"L", &MessageCosts::latency, nullptr},
                                           {"o_send", &MessageCosts::send, nullptr},
                                           {"o_first", &MessageCosts::send_first, nullptr},
                                           {"o_receive", &MessageCosts::take, nullptr},
                                           {"g", &MessageCosts::gap, nullptr},
                                           {"O_send", nullptr, &MessageCosts::send_byte},
                                           {"O_receive", nullptr, &MessageCosts::take_byte},
                                           {"G", nullptr, &MessageCosts::gap_byte}};

// What a text has said so far.
struct Text {
    std::vector<std::string_view> names;
    // As LogGOPS has it: a receiver's core costs the larger of O and G a byte, unless the text says what it costs.
    bool takes_the_larger = false;
};

constexpr std::string_view large_names[] = {"nothing", "match", "ready"};

[[noreturn]] void refuse(std::string_view entry, const std::string& why) {
    throw UsageError("parameter '" + std::string(entry) + "': " + why);
}

Time time_of(std::string_view entry, std::string_view value) {
    const std::optional<Time> time = parse_time(value);
    if (!time) refuse(entry, "expected a time with its unit, such as 250ns or 1.5us");
    return *time;
}

// A byte's: picoseconds where it has no unit.
std::int64_t byte_of(std::string_view entry, std::string_view value) {
    std::int64_t ps = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), ps);
    if (error == std::errc{} && end == value.data() + value.size() && ps >= 0) return ps;
    const std::optional<Time> time = parse_time(value);
    if (!time) refuse(entry, "expected a time such as 80ps, or picoseconds");
    return time->ps;
}

std::uint64_t number_of(std::string_view entry, std::string_view value, std::uint64_t least, std::uint64_t most) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc{} || end != value.data() + value.size() || number < least || number > most)
        refuse(entry, "expected a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    return number;
}

bool take_prefix(std::string_view& name, std::string_view prefix) {
    if (!name.starts_with(prefix)) return false;
    name.remove_prefix(prefix.size());
    return true;
}

bool set_message(MessageCosts& costs, const Text& text, std::string_view entry, std::string_view name,
                 std::string_view value) {
    if (name == "o") {
        costs.send = costs.take = time_of(entry, value);
        return true;
    }
    if (name == "O") {
        costs.send_byte = costs.take_byte = byte_of(entry, value);
        if (text.takes_the_larger) costs.take_byte = std::max(costs.send_byte, costs.gap_byte);
        return true;
    }
    for (const MessageField& field : message_fields) {
        if (field.name != name) continue;
        if (field.time)
            costs.*field.time = time_of(entry, value);
        else
            costs.*field.byte = byte_of(entry, value);
        const bool of_both = field.byte == &MessageCosts::send_byte || field.byte == &MessageCosts::gap_byte;
        if (of_both && text.takes_the_larger) costs.take_byte = std::max(costs.send_byte, costs.gap_byte);
        return true;
    }
    return false;
}

bool set_way(WayCosts& way, const Text& text, std::string_view entry, std::string_view name, std::string_view value) {
    if (name == "ready") {
        way.ready = time_of(entry, value);
        return true;
    }
    if (name == "shared" || name == "alone") {
        (name == "alone" ? way.alone_byte : way.shared_byte) = byte_of(entry, value);
        return true;
    }
    if (name == "copying") {
        if (value != "costs" && value != "fewer") refuse(entry, "expected costs or fewer");
        way.copying = value == "costs" ? Copying::by_costs : Copying::by_fewer;
        return true;
    }
    if (name == "limit" || name == "S" || name == "advance") {
        const std::optional<std::uint64_t> bytes = parse_bytes(value);
        if (!bytes) refuse(entry, "expected bytes, such as 4096 or 8KiB");
        (name == "advance" ? way.advance : way.limit) = *bytes;
        return true;
    }
    const bool small = take_prefix(name, "small.");
    const bool large = !small && take_prefix(name, "large.");
    bool known = false;
    if (!large) known |= set_message(way.small, text, entry, name, value);
    if (!small) known |= set_message(way.large, text, entry, name, value);
    return known;
}

bool set_cold(Charges& charges, std::string_view entry, std::string_view name, std::string_view value) {
    if (!charges.cold) charges.cold.emplace();
    ColdCosts& cold = *charges.cold;
    if (name == "fits" || name == "spills") {
        const std::optional<std::uint64_t> bytes = parse_bytes(value);
        if (!bytes) refuse(entry, "expected bytes, such as 4096 or 8KiB");
        (name == "fits" ? cold.fits : cold.spills) = *bytes;
        return true;
    }
    for (const auto& [known, field] :
         {std::pair{"copy", &ColdCosts::copy}, std::pair{"reduce", &ColdCosts::reduce},
          std::pair{"large", &ColdCosts::large_byte}, std::pair{"shared", &ColdCosts::shared_byte}})
        if (name == known) {
            cold.*field = byte_of(entry, value);
            return true;
        }
    return false;
}

// "at.65536.copy": a byte where a core works on so many; kept in their order.
bool set_sized(Charges& charges, std::string_view entry, std::string_view name, std::string_view value) {
    const std::size_t dot = name.find('.');
    if (dot == std::string_view::npos) return false;
    const std::uint64_t bytes = number_of(entry, name.substr(0, dot), 1, UINT64_MAX);
    name.remove_prefix(dot + 1);
    auto at = std::find_if(charges.sized.begin(), charges.sized.end(),
                           [&](const SizedCosts& each) { return each.bytes >= bytes; });
    if (at == charges.sized.end() || at->bytes != bytes)
        at = charges.sized.insert(
            at, SizedCosts{bytes, charges.local.copy, charges.local.reduce, charges.way.large.send_byte,
                           charges.way.shared_byte, charges.way.alone_byte});
    for (const auto& [known, field] :
         {std::pair{"copy", &SizedCosts::copy}, std::pair{"reduce", &SizedCosts::reduce},
          std::pair{"large", &SizedCosts::large_byte}, std::pair{"shared", &SizedCosts::shared_byte},
          std::pair{"alone", &SizedCosts::alone_byte}})
        if (name == known) {
            (*at).*field = byte_of(entry, value);
            return true;
        }
    return false;
}

bool set_other(Charges& charges, std::string_view entry, std::string_view name, std::string_view value) {
    if (name == "f") {
        charges.free = static_cast<std::uint32_t>(number_of(entry, value, 1, 1'000'000));
    } else if (name == "cores") {
        charges.host_cores = static_cast<std::uint32_t>(number_of(entry, value, 0, 1'000'000));
    } else if (name == "copy") {
        charges.local.copy = byte_of(entry, value);
    } else if (name == "reduce") {
        charges.local.reduce = byte_of(entry, value);
    } else if (name == "step") {
        charges.local.step = time_of(entry, value);
    } else if (name == "call") {
        charges.call = time_of(entry, value);
    } else if (name == "turn") {
        charges.turn = time_of(entry, value);
    } else if (name == "large") {
        for (std::size_t i = 0; i < std::size(large_names); ++i) {
            if (large_names[i] != value) continue;
            charges.waits_for = static_cast<Large>(i);
            return true;
        }
        refuse(entry, "expected nothing, match or ready");
    } else if (name == "taking") {
        if (value != "after" && value != "during") refuse(entry, "expected after or during");
        charges.taking = value == "after" ? Taking::after_arrival : Taking::during_arrival;
    } else {
        return false;
    }
    return true;
}

void set(Charges& charges, Text& text, std::string_view entry) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) refuse(entry, "expected NAME=VALUE");
    std::string_view name = entry.substr(0, equals);
    const std::string_view value = entry.substr(equals + 1);
    if (std::find(text.names.begin(), text.names.end(), name) != text.names.end())
        refuse(entry, "given twice in one list");
    text.names.push_back(name);
    if (set_other(charges, entry, name, value)) return;
    if (take_prefix(name, "cold.")) {
        if (!set_cold(charges, entry, name, value))
            refuse(entry, "there is no such parameter; there are " + parameter_help());
        return;
    }
    if (take_prefix(name, "at.")) {
        if (!set_sized(charges, entry, name, value))
            refuse(entry, "there is no such parameter; there are " + parameter_help());
        return;
    }
    const bool near = take_prefix(name, "near.");
    const bool far = !near && take_prefix(name, "far.");
    if (far && !charges.far) charges.far = charges.way;
    bool known = false;
    if (!far) known |= set_way(charges.way, text, entry, name, value);
    if (!near && charges.far) known |= set_way(*charges.far, text, entry, name, value);
    if (!known) refuse(entry, "there is no such parameter; there are " + parameter_help());
}

std::string ps(std::int64_t picoseconds) {
    return std::to_string(picoseconds) + "ps";
}

void add(std::string& text, const std::string& prefix, const MessageCosts& costs) {
    for (const MessageField& field : message_fields)
        text +=
            prefix + std::string(field.name) + "=" + ps(field.time ? (costs.*field.time).ps : costs.*field.byte) + ",";
}

void add(std::string& text, const std::string& prefix, const WayCosts& way) {
    add(text, prefix + "small.", way.small);
    add(text, prefix + "large.", way.large);
    text += prefix + "limit=" + std::to_string(way.limit) + "," + prefix + "advance=" + std::to_string(way.advance) +
            "," + prefix + "ready=" + ps(way.ready.ps) + "," + prefix + "shared=" + ps(way.shared_byte) + "," + prefix +
            "alone=" + ps(way.alone_byte) + "," + prefix +
            "copying=" + (way.copying == Copying::by_costs ? "costs" : "fewer") + ",";
}

}  // namespace

std::string parameter_help() {
    return "L, o (o_send, o_first, o_receive), g, O (O_send, O_receive), G, limit or S, advance, ready, shared and "
           "copying "
           "(each "
           "with near. or far. and small. or large. before it if wanted), f, cores, turn, call, copy, reduce, step, "
           "taking, "
           "large, cold.fits, cold.spills, cold.copy, cold.reduce, cold.large and cold.shared, and at.BYTES.copy, "
           "at.BYTES.reduce, at.BYTES.large, at.BYTES.shared and at.BYTES.alone";
}

Charges parse_charges(std::string_view text, Charges base) {
    Text said{{}, base.taking == Taking::during_arrival};
    // What O_receive says holds whatever stands after it.
    std::vector<std::string_view> last;
    while (!text.empty()) {
        const std::size_t comma = text.find(',');
        const std::string_view entry = text.substr(0, comma);
        if (entry.substr(0, entry.find('=')).ends_with("O_receive"))
            last.push_back(entry);
        else if (!entry.empty())
            set(base, said, entry);
        text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
    }
    for (const std::string_view entry : last) set(base, said, entry);
    return base;
}

std::string to_text(const Charges& charges) {
    std::string text;
    add(text, "near.", charges.way);
    if (charges.far) add(text, "far.", *charges.far);
    text += "f=" + std::to_string(charges.free) + ",cores=" + std::to_string(charges.host_cores) +
            ",copy=" + ps(charges.local.copy) + ",reduce=" + ps(charges.local.reduce) +
            ",step=" + ps(charges.local.step.ps) + ",turn=" + ps(charges.turn.ps) + ",call=" + ps(charges.call.ps) +
            ",taking=" + (charges.taking == Taking::after_arrival ? "after" : "during") +
            ",large=" + std::string(large_names[static_cast<std::size_t>(charges.waits_for)]);
    if (charges.cold)
        text += ",cold.fits=" + std::to_string(charges.cold->fits) +
                ",cold.spills=" + std::to_string(charges.cold->spills) + ",cold.copy=" + ps(charges.cold->copy) +
                ",cold.reduce=" + ps(charges.cold->reduce) + ",cold.large=" + ps(charges.cold->large_byte) +
                ",cold.shared=" + ps(charges.cold->shared_byte);
    for (const SizedCosts& each : charges.sized) {
        const std::string at = ",at." + std::to_string(each.bytes) + ".";
        text += at + "copy=" + ps(each.copy) + at + "reduce=" + ps(each.reduce) + at + "large=" + ps(each.large_byte) +
                at + "shared=" + ps(each.shared_byte) + at + "alone=" + ps(each.alone_byte);
    }
    return text;
}

}  // namespace loom::model
