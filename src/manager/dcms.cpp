#include "loom/manager/dcms.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "loom/base/error.hpp"
#include "loom/manager/growth.hpp"

namespace loom::manager {

using fabric::CongestionParameters;
using fabric::PortCounters;

namespace {

using Slot = std::uint32_t;  // position among the connected switch ports
constexpr Slot no_slot = 0xffffffffu;

// What a port counted in one sweep, scaled; `data_sure` unless the counter was reset.
struct Counted {
    std::uint64_t congested = 0;
    std::uint64_t waited = 0;
    std::uint64_t data = 0;
    bool data_sure = false;
};

struct Watched {
    PortIndex port;
    std::uint32_t owner = 0;  // its switch
    Slot opposite = no_slot;  // the port it is cabled to, where that is a switch's
    bool to_host = false;

    bool has_base = false;
    Time read;
    PortCounters base;
    std::uint64_t seen = 0;  // the sweep that `now` belongs to
    Counted now;
    Counted before;

    bool low = false;
    bool left_alone = false;           // told once for each congestion event
    std::vector<Slot> victims;         // in order
    std::uint32_t count = 0;           // sweeps since it was lowered, that one counted
    std::uint64_t lowered_in = 0;      // sweep
    std::uint64_t not_before = 0;      // sweep in which a refused or futile port is tried again
    std::uint32_t futile = 0;          // lowerings in a row that found no victim flow
    std::uint64_t last_congested = 0;  // sweep; 0 never
    std::uint16_t rate = 0;            // while low
    std::uint16_t normal = 0;          // to be restored
    double share = 0;                  // of packets that are marked
};

double marked_share(std::uint16_t rate) {
    return 1.0 / (rate + 1.0);
}

}  // namespace

struct Dcms::State {
    const fabric::Fabric& fabric;
    Settings settings;
    std::vector<Watched> ports;
    std::vector<Slot> slot_of;             // by PortIndex
    std::vector<std::vector<Slot>> faces;  // by switch: ports of other switches that lead to it
    std::vector<PortIndex> wanted;
    std::vector<Decision> early;  // told with the next judgement
    std::uint64_t sweep = 1;
    bool event = false;  // congestion in the sweep judged last
    Work work;

    State(const fabric::Fabric& f, const Settings& s);

    bool fresh(const Watched& port) const { return port.seen == sweep; }
    std::vector<Slot> waiting_around(const Watched& root) const;
    Decision about(const Watched& root, What what, Time time) const;
    bool set_rate(Watched& root, std::uint16_t rate, Decision& decision, CongestionParameters& parameters);
    void lower(Watched& root, Slot worst, Decision decision, CongestionParameters& parameters, const OnDecision& tell);
    void restore(Watched& root, Why why, Time now, CongestionParameters& parameters, const OnDecision& tell);
    double waiting_share(const Watched& victim) const;

    void find_new(Time now, CongestionParameters& parameters, const OnDecision& tell);       // Algorithm 2
    void watch_ongoing(Time now, CongestionParameters& parameters, const OnDecision& tell);  // Algorithm 3
    void mark_more(Watched& root, Time now, CongestionParameters& parameters, const OnDecision& tell);
    void choose_wanted();
};

Dcms::State::State(const fabric::Fabric& f, const Settings& s) : fabric(f), settings(s) {
    check(settings);
    slot_of.assign(fabric.port_count(), no_slot);
    const std::vector<NodeId> switches = fabric.nodes_of(fabric::NodeKind::switch_);
    for (std::uint32_t owner = 0; owner < switches.size(); ++owner) {
        const NodeId node = switches[owner];
        for (const fabric::Port& port : fabric.ports(node)) {
            if (!port.connected()) continue;
            Watched watched;
            watched.port = fabric.port_index(node, port.number);
            watched.owner = owner;
            watched.to_host = fabric.node(fabric.port(port.peer).node).kind != fabric::NodeKind::switch_;
            slot_of[watched.port.value] = static_cast<Slot>(ports.size());
            ports.push_back(std::move(watched));
        }
    }
    faces.resize(switches.size());
    for (Slot i = 0; i < ports.size(); ++i) {
        const Slot opposite = slot_of[fabric.port(ports[i].port).peer.value];
        ports[i].opposite = opposite;
        if (opposite != no_slot) faces[ports[opposite].owner].push_back(i);
    }
    choose_wanted();
}

// Ports that may suffer from `root` and waited longer than they may, known victims included.
std::vector<Slot> Dcms::State::waiting_around(const Watched& root) const {
    std::vector<Slot> result;
    const auto look = [&](Slot slot) {
        if (fresh(ports[slot]) && ports[slot].now.waited > settings.wait) result.push_back(slot);
    };
    if (settings.readings.victim == Reading::literal) {
        if (root.opposite != no_slot) look(root.opposite);
    } else {
        for (const Slot slot : faces[root.owner]) look(slot);
    }
    return result;
}

Decision Dcms::State::about(const Watched& root, What what, Time time) const {
    Decision decision;
    decision.time = time;
    decision.sweep = sweep;
    decision.what = what;
    decision.port = root.port;
    if (fresh(root)) {
        decision.congested = root.now.congested;
        decision.waited = root.now.waited;
    }
    decision.intervals = root.count;
    decision.victims = static_cast<std::uint32_t>(root.victims.size());
    decision.old_rate = decision.new_rate = root.rate;
    return decision;
}

// False when the fabric refuses; the decision then says so.
bool Dcms::State::set_rate(Watched& root, std::uint16_t rate, Decision& decision, CongestionParameters& parameters) {
    decision.old_rate = root.rate;
    decision.new_rate = rate;
    if (rate == root.rate) return true;
    try {
        parameters.set_marking_rate(root.port, rate);
    } catch (const Error& error) {
        decision.what = What::refused;
        decision.error = error.what();
        return false;
    }
    ++work.writes;
    root.rate = rate;
    return true;
}

double Dcms::State::waiting_share(const Watched& victim) const {
    const double ticks = static_cast<double>(victim.now.waited);
    return std::min(1.0, ticks * static_cast<double>(settings.tick.ps) / static_cast<double>(settings.sweep.ps));
}

void Dcms::State::lower(Watched& root, Slot worst, Decision decision, CongestionParameters& parameters,
                        const OnDecision& tell) {
    decision.what = What::lower;
    decision.victim = ports[worst].port;
    decision.victim_waited = ports[worst].now.waited;
    bool accepted = true;
    try {
        root.rate = parameters.marking_rate(root.port);
        ++work.rate_reads;
    } catch (const Error& error) {
        decision.what = What::refused;
        decision.error = error.what();
        decision.old_rate = decision.new_rate = 0;
        accepted = false;
    }
    if (accepted) {
        root.normal = settings.normal.value_or(root.rate);
        std::uint16_t rate = settings.low;
        if (settings.policy.marking == Marking::proportional) {
            const double least = marked_share(root.normal), most = std::max(least, marked_share(settings.low));
            root.share = least + settings.gain * waiting_share(ports[worst]) * (most - least);
            rate = static_cast<std::uint16_t>(std::lround(1.0 / root.share - 1.0));
        }
        accepted = set_rate(root, std::min(rate, root.rate), decision, parameters);  // never marks less than before
    }
    if (accepted) {
        root.low = true;
        root.left_alone = false;
        root.count = 1;
        root.lowered_in = sweep;
        ++work.lowered;
    } else {
        root.victims.clear();
        root.not_before = sweep + settings.intervals;
    }
    decision.intervals = root.count;
    decision.victims = static_cast<std::uint32_t>(root.victims.size());
    tell(decision);
}

void Dcms::State::find_new(Time now, CongestionParameters& parameters, const OnDecision& tell) {
    event = false;
    for (Watched& root : ports) {
        if (!fresh(root)) continue;
        const bool congested = root.now.congested > settings.congestion;
        if (!congested && !(root.to_host && root.now.waited > settings.wait)) {
            root.left_alone = false;
            continue;
        }
        event = true;
        root.last_congested = sweep;
        if (sweep < root.not_before) continue;
        const std::vector<Slot> waiting = waiting_around(root);
        std::vector<Slot> added;
        std::set_difference(waiting.begin(), waiting.end(), root.victims.begin(), root.victims.end(),
                            std::back_inserter(added));
        Decision decision = about(root, What::leave, now);
        decision.why = congested ? Why::congested : Why::host_waits;
        if (waiting.empty() && !root.low && !root.left_alone) {
            root.left_alone = true;
            ++work.left;
            if (settings.normal) decision.old_rate = decision.new_rate = *settings.normal;
            tell(decision);
        }
        if (added.empty()) continue;
        const auto longest = [&](Slot a, Slot b) { return ports[a].now.waited < ports[b].now.waited; };
        if (!root.low) {  // the one that waited longest is named, and with it all others
            const auto worst = std::max_element(added.begin(), added.end(), longest);
            std::rotate(added.begin(), worst, worst + 1);
        }
        for (const Slot slot : added) {
            root.victims.insert(std::lower_bound(root.victims.begin(), root.victims.end(), slot), slot);
            if (!root.low) {
                lower(root, slot, decision, parameters, tell);
                if (!root.low) break;
                continue;
            }
            Decision more = about(root, What::add_victim, now);
            more.why = decision.why;
            more.victim = ports[slot].port;
            more.victim_waited = ports[slot].now.waited;
            tell(more);
        }
    }
}

void Dcms::State::restore(Watched& root, Why why, Time now, CongestionParameters& parameters, const OnDecision& tell) {
    Decision decision = about(root, What::restore, now);
    decision.why = why;
    const bool accepted = set_rate(root, root.normal, decision, parameters);
    tell(decision);
    if (!accepted) return;
    ++work.restored;
    root.low = false;
    // Relieved in the first sweep after it was lowered: nothing but contributors went through the victim ports.
    root.futile = why == Why::no_victims && root.count == 2 ? std::min(root.futile + 1, 31u) : 0;
    if (settings.policy.patience == Patience::backoff && root.futile != 0)
        root.not_before = sweep + 1 + std::min(settings.longest_backoff, 1u << root.futile);
    if (settings.readings.restore == Reading::literal) return;
    root.victims.clear();
    root.count = 0;
}

void Dcms::State::mark_more(Watched& root, Time now, CongestionParameters& parameters, const OnDecision& tell) {
    const Watched* worst = nullptr;
    for (const Slot slot : root.victims) {
        const Watched& victim = ports[slot];
        if (!fresh(victim) || victim.now.waited <= settings.wait) continue;
        if (worst == nullptr || victim.now.waited > worst->now.waited) worst = &victim;
    }
    if (worst == nullptr) return;
    const double least = marked_share(root.normal), most = std::max(least, marked_share(settings.low));
    root.share = std::min(most, root.share + settings.gain * waiting_share(*worst) * (most - least));
    const auto rate = static_cast<std::uint16_t>(std::lround(1.0 / root.share - 1.0));
    if (rate == root.rate) return;
    Decision decision = about(root, What::mark_more, now);
    decision.victim = worst->port;
    decision.victim_waited = worst->now.waited;
    (void)set_rate(root, rate, decision, parameters);
    tell(decision);
}

void Dcms::State::watch_ongoing(Time now, CongestionParameters& parameters, const OnDecision& tell) {
    const bool literal_restore = settings.readings.restore == Reading::literal;
    for (Watched& root : ports) {
        if (root.victims.empty() && !root.low) continue;
        const bool passed_over =
            settings.readings.count == Reading::literal ? root.count == 1 : root.lowered_in == sweep;
        if (passed_over) continue;
        ++root.count;
        if (root.count <= settings.intervals)
            std::erase_if(root.victims, [&](Slot slot) {
                const Watched& victim = ports[slot];
                const bool slack = fresh(victim) && victim.now.data_sure && victim.before.data_sure &&
                                   victim.before.data > victim.now.data &&
                                   victim.before.data - victim.now.data > settings.data;
                if (!slack) return false;
                Decision decision = about(root, What::drop_victim, now);
                decision.victim = victim.port;
                decision.victim_waited = victim.now.waited;
                decision.data_before = victim.before.data;
                decision.data_now = victim.now.data;
                early.push_back(decision);
                return true;
            });
        std::uint32_t left = static_cast<std::uint32_t>(root.victims.size() + early.size());
        for (Decision& decision : early) {
            decision.victims = --left;
            tell(decision);
        }
        early.clear();
        if (!root.low) continue;
        const bool over = literal_restore ? root.count == settings.intervals : root.count >= settings.intervals;
        if (root.victims.empty())
            restore(root, Why::no_victims, now, parameters, tell);
        else if (over)
            restore(root, Why::duration, now, parameters, tell);
        else if (settings.policy.marking == Marking::proportional)
            mark_more(root, now, parameters, tell);
    }
}

void Dcms::State::choose_wanted() {
    wanted.clear();
    const bool all = settings.policy.attention == Attention::all || sweep <= 2 || sweep % settings.survey == 0;
    std::vector<bool> chosen(ports.size(), all);
    if (!all)
        for (Slot i = 0; i < ports.size(); ++i) {
            const Watched& root = ports[i];
            const bool remembered = root.last_congested != 0 && sweep - root.last_congested <= settings.memory;
            if (!remembered && !root.low && root.victims.empty()) continue;
            chosen[i] = true;
            for (const Slot slot : faces[root.owner]) chosen[slot] = true;
        }
    for (Slot i = 0; i < ports.size(); ++i)
        if (chosen[i]) wanted.push_back(ports[i].port);
}

Dcms::Dcms(const fabric::Fabric& fabric, const Settings& settings)
    : state_(std::make_unique<State>(fabric, settings)) {}
Dcms::Dcms(Dcms&&) noexcept = default;
Dcms::~Dcms() = default;

std::span<const PortIndex> Dcms::wanted() const {
    return state_->wanted;
}

void Dcms::observe(PortIndex port, Time when, const PortCounters& counters) {
    State& state = *state_;
    const Slot slot = port.value < state.slot_of.size() ? state.slot_of[port.value] : no_slot;
    if (slot == no_slot) throw Error("the manager watches connected switch ports only");
    Watched& watched = state.ports[slot];
    ++state.work.reads;
    const bool comparable = watched.has_base && when > watched.read;
    if (comparable) {
        const Growth congested = growth(watched.base.xmit_cong_time, counters.xmit_cong_time);
        const Growth waited = growth(watched.base.xmit_wait, counters.xmit_wait);
        const Growth data = growth(watched.base.xmit_data, counters.xmit_data);
        const Time elapsed = when - watched.read;
        const Time sweep = state.settings.sweep;
        watched.before = watched.now;
        watched.now = {scaled(congested.count, elapsed, sweep), scaled(waited.count, elapsed, sweep),
                       scaled(data.count, elapsed, sweep), data.kind != Growth::Kind::at_least};
        watched.seen = state.sweep;
        for (const Growth& one : {congested, waited, data})
            if (one.kind == Growth::Kind::at_least) {
                state.early.push_back(state.about(watched, What::reset, when));
                break;
            }
    }
    if (comparable || !watched.has_base) {
        watched.base = counters;
        watched.read = when;
        watched.has_base = true;
    }
}

void Dcms::unreadable(std::span<const PortIndex> ports, Time when, const std::string& error) {
    State& state = *state_;
    state.work.missed += ports.size();
    if (ports.empty()) return;
    Decision decision = state.about(state.ports[state.slot_of[ports.front().value]], What::unreadable, when);
    decision.error = error;
    state.early.push_back(std::move(decision));
}

void Dcms::judge(Time now, CongestionParameters& parameters, const OnDecision& decided) {
    State& state = *state_;
    const OnDecision tell = [&](const Decision& decision) {
        if (decided) decided(decision);
    };
    for (const Decision& decision : state.early) tell(decision);
    state.early.clear();
    state.find_new(now, parameters, tell);
    state.watch_ongoing(now, parameters, tell);
    state.work.sweeps = state.sweep++;
    state.choose_wanted();
}

Time Dcms::interval() const {
    const State& state = *state_;
    if (state.settings.policy.sweeping == Sweeping::steady || state.event) return state.settings.sweep;
    const bool low = std::any_of(state.ports.begin(), state.ports.end(), [](const Watched& port) { return port.low; });
    return low ? state.settings.sweep : state.settings.calm_sweep;
}

void Dcms::stop(Time now, CongestionParameters& parameters, const OnDecision& decided) {
    State& state = *state_;
    const OnDecision tell = [&](const Decision& decision) {
        if (decided) decided(decision);
    };
    state.sweep = std::max<std::uint64_t>(1, state.work.sweeps);
    for (Watched& root : state.ports)
        if (root.low) state.restore(root, Why::stopped, now, parameters, tell);
    ++state.sweep;
}

const Work& Dcms::work() const {
    return state_->work;
}

}  // namespace loom::manager
