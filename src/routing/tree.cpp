#include "loom/routing/tree.hpp"

#include <algorithm>
#include <compare>
#include <map>
#include <numeric>

#include "loom/base/overlap.hpp"
#include "loom/base/table.hpp"

namespace loom::routing {
namespace {

// What makes the up cables of two switches of a plane correspond.
struct SlotKey {
    std::uint8_t number;    // first one cable to each parent, then the second ones
    std::uint32_t plane;    // of the parent
    std::uint32_t ordinal;  // among the parents in that plane
    friend auto operator<=>(const SlotKey&, const SlotKey&) = default;
};

// Sizes of the port groups towards `cables`, each group the cables to one switch: "18 groups of 1 port".
std::map<std::size_t, std::size_t> group_sizes(std::span<const Cable> cables) {
    std::map<SwitchIndex, std::size_t> groups;
    for (const Cable& cable : cables) ++groups[cable.other];
    std::map<std::size_t, std::size_t> sizes;
    for (const auto& [other, size] : groups) ++sizes[size];
    return sizes;
}

std::string in_words(const std::map<std::size_t, std::size_t>& sizes, const char* direction) {
    if (sizes.empty()) return std::string("no ") + direction + " ports";
    std::string text;
    for (const auto& [size, count] : sizes) {
        if (!text.empty()) text += " and ";
        text += counted(count, std::string(direction) + " group of ", std::string(direction) + " groups of ") +
                counted(size, "port", "ports");
    }
    return text;
}

}  // namespace

Tree::Tree(const SwitchGraph& graph, const fabric::Levels& levels) : graph_(&graph), level_(graph.switch_count()) {
    for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
        const std::uint8_t level = levels.level[graph.node(s).value];
        level_[s] = level == fabric::no_level ? std::uint8_t{0} : level;
        top_ = std::max<unsigned>(top_, level_[s]);
    }
    top_down_.resize(graph.switch_count());
    std::iota(top_down_.begin(), top_down_.end(), 0u);
    std::stable_sort(top_down_.begin(), top_down_.end(),
                     [&](SwitchIndex a, SwitchIndex b) { return level_[a] > level_[b]; });
    split_cables();
    find_planes();
    number_slots();
    find_asymmetry(levels);
}

void Tree::split_cables() {
    std::vector<std::uint8_t> numbers(graph_->switch_count(), 0);
    for (SwitchIndex s = 0; s < graph_->switch_count(); ++s) {
        up_first_.push_back(static_cast<std::uint32_t>(up_.size()));
        down_first_.push_back(static_cast<std::uint32_t>(down_.size()));
        for (ChannelIndex c = graph_->channel(s, 1); c < graph_->base()[s + 1]; ++c) {
            const SwitchIndex other = graph_->next(c);
            if (other == none || other == s) continue;
            const bool higher = level_[other] > level_[s] || (level_[other] == level_[s] && other < s);
            (higher ? up_ : down_)
                .push_back({other, static_cast<std::uint8_t>(graph_->port(c)),
                            static_cast<std::uint8_t>(graph_->port(graph_->reverse(c))), 0});
        }
        // Parallel cables are numbered by the port on the upper side, so that both ends agree.
        const auto number = [&](std::vector<Cable>& all, std::uint32_t first, auto upper_port) {
            const auto begin = all.begin() + first;
            std::sort(begin, all.end(), [&](const Cable& a, const Cable& b) {
                return std::pair(a.other, upper_port(a)) < std::pair(b.other, upper_port(b));
            });
            for (auto cable = begin; cable != all.end(); ++cable) cable->number = numbers[cable->other]++;
            for (auto cable = begin; cable != all.end(); ++cable) numbers[cable->other] = 0;
        };
        number(up_, up_first_.back(), [](const Cable& c) { return c.other_port; });
        number(down_, down_first_.back(), [](const Cable& c) { return c.port; });
    }
    up_first_.push_back(static_cast<std::uint32_t>(up_.size()));
    down_first_.push_back(static_cast<std::uint32_t>(down_.size()));
}

void Tree::find_planes() {
    plane_.assign(graph_->switch_count(), none);
    std::uint32_t planes = 0;
    for (unsigned level = top_ + 1; level-- > 0;) {
        std::vector<SwitchIndex> members;
        std::vector<std::vector<std::uint32_t>> led_to;
        for (SwitchIndex s = 0; s < graph_->switch_count(); ++s) {
            if (level_[s] != level) continue;
            std::vector<std::uint32_t> above;
            for (const Cable& cable : up(s))
                if (level_[cable.other] > level) above.push_back(plane_[cable.other]);
            std::sort(above.begin(), above.end());
            above.erase(std::unique(above.begin(), above.end()), above.end());
            members.push_back(s);
            led_to.push_back(std::move(above));
        }
        const std::vector<std::uint32_t> group = group_by_overlap(led_to, planes);
        std::uint32_t count = 0;
        for (std::size_t i = 0; i < members.size(); ++i) {
            plane_[members[i]] = planes + group[i];
            count = std::max(count, group[i] + 1);
        }
        planes += count;
    }
    slots_.assign(planes, 0);
    parents_.assign(planes, 0);
}

void Tree::number_slots() {
    std::vector<std::vector<SlotKey>> keys(graph_->switch_count());
    std::vector<std::map<SlotKey, std::uint32_t>> holders(slots_.size());
    std::vector<std::uint32_t> members(slots_.size(), 0);
    for (SwitchIndex s = 0; s < graph_->switch_count(); ++s) {
        const auto begin = up_.begin() + up_first_[s], end = up_.begin() + up_first_[s + 1];
        std::sort(begin, end, [&](const Cable& a, const Cable& b) {
            return std::tuple(plane_[a.other], a.other, a.number) < std::tuple(plane_[b.other], b.other, b.number);
        });
        std::vector<std::pair<SlotKey, Cable>> keyed;
        std::uint32_t ordinal = 0;
        for (auto cable = begin; cable != end; ++cable) {
            if (cable == begin || plane_[cable[-1].other] != plane_[cable->other])
                ordinal = 0;
            else if (cable[-1].other != cable->other)
                ++ordinal;
            keyed.push_back({{cable->number, plane_[cable->other], ordinal}, *cable});
        }
        std::sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        for (std::size_t i = 0; i < keyed.size(); ++i) {
            begin[static_cast<std::ptrdiff_t>(i)] = keyed[i].second;
            keys[s].push_back(keyed[i].first);
            ++holders[plane_[s]][keyed[i].first];
        }
        ++members[plane_[s]];
    }

    std::vector<std::vector<SlotKey>> natural(slots_.size());
    for (std::size_t plane = 0; plane < slots_.size(); ++plane) {
        for (const auto& [key, count] : holders[plane]) {
            if (2 * count < members[plane]) continue;
            natural[plane].push_back(key);
            parents_[plane] += key.number == 0;
        }
        slots_[plane] = static_cast<unsigned>(natural[plane].size());
    }
    for (SwitchIndex s = 0; s < graph_->switch_count(); ++s) {
        slot_first_.push_back(static_cast<std::uint32_t>(slot_cable_.size()));
        std::size_t at = 0;
        for (const SlotKey& key : natural[plane_[s]]) {
            while (at < keys[s].size() && keys[s][at] < key) ++at;
            const bool has = at < keys[s].size() && keys[s][at] == key;
            slot_cable_.push_back(has ? static_cast<std::uint32_t>(at) : none);
            complete_ = complete_ && has;
        }
        complete_ = complete_ && keys[s].size() == natural[plane_[s]].size();
    }
    slot_first_.push_back(static_cast<std::uint32_t>(slot_cable_.size()));
}

void Tree::find_asymmetry(const fabric::Levels& levels) {
    // What most switches of the level have is the rule; the first that differs is named.
    using Shape = std::pair<std::map<std::size_t, std::size_t>, std::map<std::size_t, std::size_t>>;
    std::vector<Shape> shape(graph_->switch_count());
    std::vector<std::map<Shape, std::size_t>> votes(top_ + 1);
    for (SwitchIndex s = 0; s < graph_->switch_count(); ++s) {
        shape[s] = {group_sizes(up(s)), group_sizes(down(s))};
        ++votes[level_[s]][shape[s]];
    }
    // Of two shapes that equally many have, the one with more cables is the rule: cables go missing.
    const auto cables_of = [](const Shape& shape_of_one) {
        std::size_t cables = 0;
        for (const auto& sizes : {shape_of_one.first, shape_of_one.second})
            for (const auto& [size, count] : sizes) cables += size * count;
        return cables;
    };
    const auto fewer_votes = [&](const auto& a, const auto& b) {
        return std::pair(a.second, cables_of(a.first)) < std::pair(b.second, cables_of(b.first));
    };
    for (SwitchIndex s = 0; s < graph_->switch_count() && asymmetry_.empty(); ++s) {
        const Shape& rule = std::max_element(votes[level_[s]].begin(), votes[level_[s]].end(), fewer_votes)->first;
        if (shape[s] == rule) continue;
        const bool up_differs = shape[s].first != rule.first;
        const char* direction = up_differs ? "up-going" : "down-going";
        asymmetry_ = "switch " + describe(graph_->fabric(), graph_->node(s)) + " of level " +
                     std::to_string(level_[s]) + " has " +
                     in_words(up_differs ? shape[s].first : shape[s].second, direction) +
                     " where its level should have " + in_words(up_differs ? rule.first : rule.second, direction);
    }
    if (asymmetry_.empty() && levels.inside_links != 0)
        asymmetry_ = std::to_string(levels.inside_links) + " cables join switches of one level";
    if (asymmetry_.empty() && levels.skipping_links != 0)
        asymmetry_ = std::to_string(levels.skipping_links) + " cables skip a level";
    complete_ = complete_ && asymmetry_.empty();
}

}  // namespace loom::routing
