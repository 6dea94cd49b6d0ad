#include "support/relay/faults.hpp"

#include <charconv>
#include <string>

#include "loom/base/error.hpp"

namespace loom::test {
namespace {

double number(std::string_view text, std::string_view part, std::string_view& rest) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    rest = text.substr(static_cast<std::size_t>(end - text.data()));
    if (error != std::errc{} || !(value >= 0)) throw Error("expected a number in '" + std::string(part) + "'");
    return value;
}

double plain(std::string_view text, std::string_view part) {
    std::string_view rest;
    const double value = number(text, part, rest);
    if (!rest.empty()) throw Error("expected a number and nothing after it in '" + std::string(part) + "'");
    return value;
}

double probability(std::string_view text, std::string_view part) {
    const double value = plain(text, part);
    if (value > 1) throw Error("expected a probability in '" + std::string(part) + "'");
    return value;
}

std::chrono::nanoseconds duration(std::string_view text, std::string_view part) {
    std::string_view unit;
    const double value = number(text, part, unit);
    const double scale = unit == "ns" ? 1 : unit == "us" ? 1e3 : unit == "ms" ? 1e6 : unit == "s" ? 1e9 : 0;
    if (scale == 0 || value * scale > 1e12)
        throw Error("expected a time in ns, us, ms or s, at most 1000 s, in '" + std::string(part) + "'");
    return std::chrono::nanoseconds(static_cast<std::int64_t>(value * scale));
}

}  // namespace

Faults parse_faults(std::string_view text) {
    Faults faults;
    while (!text.empty()) {
        const std::string_view part = text.substr(0, text.find(','));
        text.remove_prefix(std::min(text.size(), part.size() + 1));
        const std::size_t equals = std::min(part.find('='), part.size());
        const std::string_view name = part.substr(0, equals);
        const std::string_view value = part.substr(std::min(part.size(), equals + 1));
        if (name == "seed")
            faults.seed = static_cast<std::uint64_t>(plain(value, part));
        else if (name == "loss")
            faults.loss = probability(value, part);
        else if (name == "duplicate")
            faults.duplicate = probability(value, part);
        else if (name == "reorder")
            faults.reorder = probability(value, part);
        else if (name == "delay")
            faults.delay = duration(value, part);
        else if (name == "jitter")
            faults.jitter = duration(value, part);
        else if (name == "reorder-delay")
            faults.reorder_delay = duration(value, part);
        else if (name == "rate")
            faults.bits_per_second = plain(value, part);
        else if (name == "queue")
            faults.queue_bytes = static_cast<std::size_t>(plain(value, part));
        else if (name == "port")
            faults.only_udp_port = static_cast<std::uint16_t>(plain(value, part));
        else
            throw Error("unknown fault '" + std::string(part) +
                        "'; there are seed, loss, duplicate, reorder, delay, jitter, reorder-delay, rate, queue, port");
    }
    return faults;
}

Fate Dice::next() {
    // Always four numbers, so that one kind of fault does not shift the others.
    Fate fate;
    fate.lost = random_.unit() < faults_.loss;
    fate.duplicated = random_.unit() < faults_.duplicate;
    fate.reordered = random_.unit() < faults_.reorder;
    fate.jitter = std::chrono::nanoseconds(
        static_cast<std::int64_t>(random_.unit() * static_cast<double>(faults_.jitter.count() + 1)));
    return fate;
}

std::optional<std::uint16_t> udp_port(std::span<const std::uint8_t> frame) {
    constexpr std::size_t ethernet = 14;
    constexpr std::uint8_t udp = 17;
    const auto word = [&](std::size_t at) { return static_cast<std::uint16_t>(frame[at] << 8 | frame[at + 1]); };
    if (frame.size() < ethernet + 20) return {};
    std::size_t header = 0;
    if (word(12) == 0x0800) {
        header = static_cast<std::size_t>(frame[ethernet] & 0x0f) * 4;
        const bool fragment = (word(ethernet + 6) & 0x3fff) != 0;
        if (header < 20 || fragment || frame[ethernet + 9] != udp) return {};
    } else if (word(12) == 0x86dd) {
        header = 40;
        if (frame.size() < ethernet + header || frame[ethernet + 6] != udp) return {};
    } else {
        return {};
    }
    if (frame.size() < ethernet + header + 8) return {};
    return word(ethernet + header + 2);
}

}  // namespace loom::test
