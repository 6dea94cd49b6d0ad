#include "loom/manager/policy.hpp"

#include <array>

namespace loom::manager {
namespace {

// A choice that differs from the paper's.
struct Choice {
    std::string_view name;
    void (*take)(Policy&);
    bool (*taken)(const Policy&);
};

constexpr std::string_view paper = "paper";
constexpr std::array choices{
    Choice{"two-step", [](Policy& p) { p.sweeping = Sweeping::two_step; },
           [](const Policy& p) { return p.sweeping == Sweeping::two_step; }},
    Choice{"history", [](Policy& p) { p.attention = Attention::history; },
           [](const Policy& p) { return p.attention == Attention::history; }},
    Choice{"proportional", [](Policy& p) { p.marking = Marking::proportional; },
           [](const Policy& p) { return p.marking == Marking::proportional; }},
    Choice{"backoff", [](Policy& p) { p.patience = Patience::backoff; },
           [](const Policy& p) { return p.patience == Patience::backoff; }},
};

}  // namespace

std::string to_string(const Policy& policy) {
    std::string text;
    for (const Choice& choice : choices)
        if (choice.taken(policy)) text += (text.empty() ? "" : "+") + std::string(choice.name);
    return text.empty() ? std::string(paper) : text;
}

std::optional<Policy> parse_policy(std::string_view text) {
    Policy policy;
    if (text == paper) return policy;
    for (;;) {
        const std::string_view word = text.substr(0, text.find('+'));
        const Choice* found = nullptr;
        for (const Choice& choice : choices)
            if (choice.name == word) found = &choice;
        if (found == nullptr) return std::nullopt;
        found->take(policy);
        if (word.size() == text.size()) return policy;
        text.remove_prefix(word.size() + 1);
    }
}

std::span<const std::string_view> policy_names() {
    static constexpr auto names = [] {
        std::array<std::string_view, choices.size() + 1> all{paper};
        for (std::size_t i = 0; i < choices.size(); ++i) all[i + 1] = choices[i].name;
        return all;
    }();
    return names;
}

}  // namespace loom::manager
