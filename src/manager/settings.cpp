#include "loom/manager/settings.hpp"

#include <array>

#include "loom/base/error.hpp"

namespace loom::manager {

std::string to_string(const Policy& policy) {
    std::string text;
    const auto add = [&](bool chosen, const char* word) {
        if (!chosen) return;
        if (!text.empty()) text += '+';
        text += word;
    };
    add(policy.sweeping == Sweeping::two_step, "two-step");
    add(policy.attention == Attention::history, "history");
    add(policy.marking == Marking::proportional, "proportional");
    return text.empty() ? "paper" : text;
}

std::optional<Policy> parse_policy(std::string_view text) {
    Policy policy;
    if (text == "paper") return policy;
    for (;;) {
        const std::string_view word = text.substr(0, text.find('+'));
        if (word == "two-step")
            policy.sweeping = Sweeping::two_step;
        else if (word == "history")
            policy.attention = Attention::history;
        else if (word == "proportional")
            policy.marking = Marking::proportional;
        else
            return std::nullopt;
        if (word.size() == text.size()) return policy;
        text.remove_prefix(word.size() + 1);
    }
}

void check(const Settings& settings) {
    const auto require = [](bool holds, const char* what) {
        if (!holds) throw UsageError(what);
    };
    require(settings.sweep > Time{}, "the sweep interval must be longer than 0");
    require(settings.intervals >= 1, "the low marking rate must last at least 1 sweep");
    require(!settings.normal || *settings.normal >= settings.low,
            "the low marking rate must not exceed the default one (lower rates mark more packets)");
    require(settings.policy.sweeping != Sweeping::two_step || settings.calm_sweep >= settings.sweep,
            "the sweep interval of calm times must not be shorter than the other");
    require(settings.policy.attention != Attention::history || (settings.survey >= 1 && settings.memory >= 1),
            "the history policy must survey all ports and remember for at least 1 sweep");
    require(settings.policy.marking != Marking::proportional || settings.tick > Time{},
            "the tick of the wait counter must be longer than 0");
}

}  // namespace loom::manager
