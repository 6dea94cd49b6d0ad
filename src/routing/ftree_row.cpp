#include "routing/ftree_row.hpp"

#include <algorithm>

namespace loom::routing {

FtreeRow::FtreeRow(const Tree& tree, const Targets& targets, const Trunks& trunks, const Reach& above,
                   const Reach& below, const TreeHops& hops)
    : tree_(tree),
      targets_(targets),
      trunks_(trunks),
      above_(above),
      below_(below),
      hops_(hops),
      entries_(tree.graph().switch_count() + 1),
      blocks_of_(tree.graph().switch_count()),
      common_(tree.top() + 1) {
    for (std::uint32_t b = 0; b + 1 < targets.blocks().size(); ++b) {
        const SwitchIndex sw = targets.all()[targets.blocks()[b]].sw;
        blocks_of_[sw].push_back(b);
        if (tree.level(sw) != 0) high_blocks_.push_back(b);
    }
}

FtreeRow::Filled FtreeRow::fill(SwitchIndex s, std::span<std::uint8_t> row) {
    filled_ = Filled::all;
    build(s);
    if (hops_.empty())
        fill_complete(s, row);
    else
        for (std::uint32_t b = 0; b + 1 < targets_.blocks().size(); ++b) fill_block(s, b, row);
    forget(s);
    return filled_;
}

void FtreeRow::fill_complete(SwitchIndex s, std::span<std::uint8_t> row) {
    if (!tree_.up(s).empty()) {
        const std::vector<std::uint8_t>& climbs = common(s, row.size()).row;
        std::copy(climbs.begin(), climbs.end(), row.begin());
    }
    for (const std::uint32_t b : blocks_of_[s]) fill_block(s, b, row);
    for (const Reached& x : below_.of(s))
        if (tree_.level(x.sw) == 0)
            for (const std::uint32_t b : blocks_of_[x.sw]) fill_block(s, b, row);
    for (const std::uint32_t b : high_blocks_) fill_block(s, b, row);
}

const FtreeRow::Common& FtreeRow::common(SwitchIndex s, std::size_t width) {
    Common& known = common_[tree_.level(s)];
    const auto up = tree_.up(s);
    const bool same = std::equal(known.port_in_slot.begin(), known.port_in_slot.end(), up.begin(), up.end(),
                                 [](std::uint8_t port, const Cable& cable) { return port == cable.port; });
    if (same) return known;
    known.port_in_slot.clear();
    for (const Cable& cable : up) known.port_in_slot.push_back(cable.port);  // complete: slot i is cable i
    known.row.assign(width, no_route);
    const auto slots = trunks_.slots(tree_.level(s));
    for (std::size_t i = 0; i < targets_.all().size(); ++i)
        if (const Target& target = targets_.all()[i]; tree_.level(target.sw) == 0)
            known.row[target.lid.value] = known.port_in_slot[slots[i]];
    return known;
}

void FtreeRow::build(SwitchIndex s) {
    sets_.clear();
    joined_.clear();
    use_.fill(0);
    entries_[s].way = Way::self;
    const auto spread = [&](std::span<const Cable> cables, const Reach& beyond, Way way) {
        for (const Cable& first : cables) {
            if (first.number != 0) continue;
            const auto set = static_cast<std::uint32_t>(sets_.size());
            sets_.emplace_back();
            for (const Cable& cable : cables)
                if (cable.other == first.other) sets_.back().push_back(cable.port);
            meet(first.other, 1, way, set);
            for (const Reached& x : beyond.of(first.other)) meet(x.sw, x.hops + 1, way, set);
        }
    };
    spread(tree_.up(s), above_, Way::up);
    spread(tree_.down(s), below_, Way::down);
    const auto resolve = [&](std::span<const Reached> list) {
        for (const Reached& x : list) {
            const auto& ports = sets_[entries_[x.sw].set];
            entries_[x.sw].port = ports.size() == 1 ? ports.front() : std::uint8_t{0};
        }
    };
    resolve(above_.of(s));
    resolve(below_.of(s));
}

void FtreeRow::forget(SwitchIndex s) {
    entries_[s] = {};
    for (const Reached& x : above_.of(s)) entries_[x.sw] = {};
    for (const Reached& x : below_.of(s)) entries_[x.sw] = {};
}

void FtreeRow::meet(SwitchIndex x, std::uint32_t hops, Way way, std::uint32_t set) {
    Entry& entry = entries_[x];
    const auto short_hops = static_cast<std::uint8_t>(std::min<std::uint32_t>(hops, unreachable - 1));
    if (entry.way == Way::no || short_hops < entry.hops)
        entry = {way, short_hops, 0, set};
    else if (short_hops == entry.hops)
        entry.set = join(entry.set, set);
}

std::uint32_t FtreeRow::join(std::uint32_t a, std::uint32_t b) {
    const auto [found, fresh] = joined_.try_emplace({a, b}, static_cast<std::uint32_t>(sets_.size()));
    if (fresh) {
        std::vector<std::uint8_t> ports = sets_[a];
        ports.insert(ports.end(), sets_[b].begin(), sets_[b].end());
        sets_.push_back(std::move(ports));
    }
    return found->second;
}

void FtreeRow::fill_block(SwitchIndex s, std::uint32_t block, std::span<std::uint8_t> row) {
    const auto targets = targets_.all();
    const std::uint32_t begin = targets_.blocks()[block], end = targets_.blocks()[block + 1];
    const Entry& entry = entries_[targets[begin].sw];
    switch (entry.way) {
        case Way::self:
            for (std::uint32_t i = begin; i < end; ++i) row[targets[i].lid.value] = targets[i].port;
            return;
        case Way::up:
            for (std::uint32_t i = begin; i < end; ++i) row[targets[i].lid.value] = choose_up(s, sets_[entry.set], i);
            return;
        case Way::down:
            if (hops_.empty() && entry.port != 0) {  // in a complete tree the trunk can only be on the one way down
                for (std::uint32_t i = begin; i < end; ++i) row[targets[i].lid.value] = entry.port;
                return;
            }
            for (std::uint32_t i = begin; i < end; ++i) row[targets[i].lid.value] = choose_down(s, entry, i);
            return;
        case Way::no:
            climb(s, begin, end, row);
            return;
    }
}

void FtreeRow::climb(SwitchIndex s, std::uint32_t begin, std::uint32_t end, std::span<std::uint8_t> row) {
    const auto targets = targets_.all();
    const unsigned shortest = hops_.empty() ? unreachable : hops_[targets[begin].sw][s];
    if (shortest == unreachable && !hops_.empty()) {
        miss(begin);
        return;
    }
    for (std::uint32_t i = begin; i < end; ++i) {
        std::uint8_t port = no_route;
        for (unsigned t = 0; t < trunks_.steps(); ++t) {
            const Entry& entry = entries_[trunks_.switches(t)[i]];
            if (entry.way != Way::up) continue;
            if (entry.hops + t + 1 <= shortest) {
                if (entry.port != 0)
                    ++use_[port = entry.port];
                else
                    port = choose_up(s, sets_[entry.set], i);
            }
            break;
        }
        if (port == no_route) {
            if (hops_.empty())
                miss(i);  // a switch above the leaves: complete() has filled all else
            else
                port = climb_aside(s, i);
        }
        row[targets[i].lid.value] = port;
    }
}

void FtreeRow::miss(std::uint32_t target) {
    filled_ = std::max(filled_, target < targets_.hosts() ? Filled::all_but_end_ports : Filled::all_but_switches);
}

std::uint8_t FtreeRow::climb_aside(SwitchIndex s, std::uint32_t target) {
    const std::vector<std::uint8_t>& hops = hops_[targets_.all()[target].sw];
    aside_.clear();
    for (const Cable& cable : tree_.up(s))
        if (hops[cable.other] + 1 == hops[s]) aside_.push_back(cable.port);
    return choose_up(s, aside_, target);
}

std::uint8_t FtreeRow::choose_up(SwitchIndex s, std::span<const std::uint8_t> ports, std::uint32_t target) {
    std::uint8_t port = 0;
    const unsigned own_level = tree_.level(targets_.all()[target].sw);
    if (const unsigned step = tree_.level(s) - own_level; tree_.level(s) >= own_level && step < trunks_.steps() &&
                                                          trunks_.switches(step)[target] < tree_.graph().switch_count())
        if (const unsigned slot = trunks_.slot(step, target); slot < tree_.slot_count(s))
            if (const std::uint32_t position = tree_.cable_in_slot(s, slot); position != none)
                if (const std::uint8_t wanted = tree_.up(s)[position].port;
                    std::find(ports.begin(), ports.end(), wanted) != ports.end())
                    port = wanted;
    if (port == 0) port = least_used(ports, targets_.all()[target].index);
    ++use_[port];
    return port;
}

std::uint8_t FtreeRow::choose_down(SwitchIndex s, const Entry& entry, std::uint32_t target) const {
    const SwitchIndex ended = tree_.graph().switch_count();
    for (unsigned t = 0; t < trunks_.steps(); ++t)
        if (trunks_.switches(t)[target] == s) return trunks_.port(t, target);
    if (entry.port != 0) return entry.port;
    const std::vector<std::uint8_t>& ports = sets_[entry.set];
    for (unsigned t = 0; t < trunks_.steps() && trunks_.switches(t)[target] != ended; ++t)
        for (const std::uint8_t port : ports)  // back to the trunk where it can be met
            if (tree_.graph().next(tree_.graph().channel(s, port)) == trunks_.switches(t)[target]) return port;
    return ports[targets_.all()[target].index % ports.size()];
}

std::uint8_t FtreeRow::least_used(std::span<const std::uint8_t> ports, std::uint32_t start) const {
    std::uint8_t best = ports[start % ports.size()];
    for (std::size_t k = 1; k < ports.size(); ++k)
        if (const std::uint8_t port = ports[(start + k) % ports.size()]; use_[port] < use_[best]) best = port;
    return best;
}

}  // namespace loom::routing
