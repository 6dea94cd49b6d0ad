#include "reproduce/victims.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "loom/base/error.hpp"
#include "loom/base/parallel.hpp"
#include "loom/congestion/routes.hpp"
#include "loom/sim/play.hpp"
#include "loom/sim/setup.hpp"
#include "reproduce/testbed.hpp"

namespace loom::reproduce {

namespace {

constexpr unsigned arity = 12;
constexpr unsigned senders = 24;
constexpr unsigned bystanders = 8;
constexpr std::uint64_t mebibyte = 1 << 20;
constexpr std::uint64_t contributor_bytes = 8 * mebibyte;
constexpr std::uint64_t other_bytes = 96 * mebibyte;
constexpr double contributors_begin = 2;  // s
constexpr std::uint64_t message_bytes = 512 * 1024;
constexpr std::uint32_t window = 2;
constexpr std::uint16_t ccti_timer = 75;  // as in Experiment II

struct Chosen {
    Rank from;
    Rank to;
    Role role;
};

// Looks for flows by the links that they cross.
class Chooser {
public:
    explicit Chooser(const congestion::Routes& routes) : routes_(routes), taken_(routes.ranks()) {}

    void contributor(Rank from, Rank to) {
        for (const congestion::LinkIndex link : path(from, to)) contributed_.insert(link);
        add({from, to, Role::contributor});
    }
    // The first destination, from `from` on, whose way shares the first link with contributors and no other with
    // anybody.
    void victim(Rank from) {
        look(from, Role::victim, [&](const std::vector<congestion::LinkIndex>& links) {
            return contributed_.contains(links[0]) && free_of(links, 1, contributed_) && free_of(links, 0, used_);
        });
    }
    void bystander(Rank from) {
        look(from, Role::bystander, [&](const std::vector<congestion::LinkIndex>& links) {
            return free_of(links, 0, contributed_) && free_of(links, 0, used_);
        });
    }
    [[nodiscard]] std::vector<Chosen> take() { return std::move(chosen_); }

private:
    using Links = std::vector<congestion::LinkIndex>;

    Links path(Rank from, Rank to) const {
        Links links;
        if (routes_.path(from, to, links) != congestion::Fate::arrives) links.clear();
        return links;
    }
    static bool free_of(const Links& links, std::size_t first, const std::set<congestion::LinkIndex>& others) {
        return std::none_of(links.begin() + static_cast<std::ptrdiff_t>(first), links.end(),
                            [&](congestion::LinkIndex link) { return others.contains(link); });
    }
    template <class Suits>
    void look(Rank from, Role role, Suits&& suits) {
        const auto ranks = static_cast<std::uint32_t>(routes_.ranks());
        for (std::uint32_t step = 1; step < ranks; ++step) {
            const Rank to{(from.value + step) % ranks};
            if (taken_[to.value]) continue;
            const Links links = path(from, to);
            if (links.size() < 4 || !suits(links)) continue;  // through a root: up twice, down twice
            used_.insert(links.begin(), links.end());
            add({from, to, role});
            return;
        }
        throw Error("there is no such flow: the routing leaves no room for victims and bystanders");
    }
    void add(const Chosen& flow) {
        taken_[flow.from.value] = taken_[flow.to.value] = true;
        chosen_.push_back(flow);
    }

    const congestion::Routes& routes_;
    std::vector<bool> taken_;  // by rank
    std::set<congestion::LinkIndex> contributed_;
    std::set<congestion::LinkIndex> used_;
    std::vector<Chosen> chosen_;
};

Rank at(unsigned leaf, unsigned place) {
    return Rank{leaf * arity + place};
}

std::vector<Chosen> choose(const congestion::Routes& routes) {
    constexpr unsigned leaves = arity * arity - arity;  // of the other pods
    Chooser chooser(routes);
    std::vector<unsigned> used;
    for (unsigned i = 0; i < senders; ++i) used.push_back(arity + i * leaves / senders);
    for (const unsigned leaf : used) chooser.contributor(at(leaf, 0), Rank{0});
    for (const unsigned leaf : used) chooser.victim(at(leaf, 1));
    for (unsigned i = 0; i < bystanders; ++i) chooser.bystander(at(used[i * senders / bystanders] + 1, 2));
    return chooser.take();
}

sim::FlowPlan plan_of(const Chosen& flow, const fabric::Fabric& fabric, const fabric::Placement& placement) {
    const auto name = [&](Rank rank) { return fabric.node(fabric.port(placement.hosts[rank.value]).node).name; };
    sim::FlowPlan plan;
    plan.from = name(flow.from);
    plan.to = name(flow.to);
    plan.name = plan.from + "-" + plan.to;
    plan.bytes = flow.role == Role::contributor ? contributor_bytes : other_bytes;
    plan.message = message_bytes;
    plan.window = window;
    if (flow.role == Role::contributor) plan.start = scaled_down(contributors_begin);
    return plan;
}

Outcome summary(const Case& played, const sim::Simulation& simulation, sim::State state) {
    Outcome outcome;
    if (state != sim::State::finished) {
        outcome.fared.fill({NAN, NAN, NAN});
        return outcome;
    }
    const std::vector<sim::Flow> flows = simulation.flows();
    std::array<double, role_count> counts{};
    double bits = 0;
    Time begun = never, ended;
    for (std::size_t i = 0, next = 0; i < played.roles.size(); ++i) {
        if (!played.roles[i]) continue;
        const sim::Flow& flow = flows.at(next++);
        const auto role = static_cast<std::size_t>(*played.roles[i]);
        Fared& fared = outcome.fared[role];
        const double rate = sim::gigabits(flow, simulation.now());
        fared.slowest = counts[role] == 0 ? rate : std::min(fared.slowest, rate);
        fared.gigabits += rate;
        fared.finish = std::max(fared.finish, paper_seconds(flow.ended));
        ++counts[role];
        if (played.roles[i] != Role::contributor) continue;
        bits += 8 * static_cast<double>(flow.bytes);
        begun = std::min(begun, flow.begun);
        ended = std::max(ended, flow.ended);
    }
    for (std::size_t role = 0; role < role_count; ++role)
        if (counts[role] != 0) outcome.fared[role].gigabits /= counts[role];
    if (bits != 0)
        outcome.fared[static_cast<std::size_t>(Role::contributor)].gigabits = bits * 1e-9 / (ended - begun).seconds();
    return outcome;
}

sim::Options options_of(std::optional<std::uint16_t> marking_rate) {
    sim::Options options = marking_rate ? testbed_options(ccti_timer, *marking_rate) : sim::Options{};
    return options;
}

// Starts in s, in the testbed's order of flows.
Case two_switches(const Parts& parts, Contributors contributors, std::array<double, 4> starts) {
    std::array<Testbed::Start, 4> plan;
    for (std::size_t i = 0; i < plan.size(); ++i)
        plan[i] = {starts[i], i == Testbed::xy || contributors == Contributors::present};
    const auto made = std::make_shared<const Testbed>(parts, plan, testbed_gigabits);
    Case result;
    result.fabric = &made->fabric;
    result.schedule = &made->schedule;
    result.network = made->network();
    result.owner = made;
    for (std::size_t i = 0; i < plan.size(); ++i)
        result.roles.push_back(!plan[i].sends     ? std::optional<Role>{}
                               : i == Testbed::xy ? Role::victim
                                                  : Role::contributor);
    return result;
}

}  // namespace

Case incast(const Parts& parts, Contributors contributors) {
    fabric::Pgft tree = fabric::kary_tree(arity, 3);
    tree.radix = 2 * arity;
    sim::Scenario scenario;
    scenario.engine = "ftree";
    scenario.fabric = parts.pgft(tree);
    scenario.fabric.assign_lids();
    const routing::SwitchGraph graph(scenario.fabric);
    const routing::Tables tables = parts.route(scenario.engine, graph, {}).tables;
    const fabric::Placement placement = fabric::place_in_order(scenario.fabric);

    Case result;
    for (const Chosen& flow : choose(congestion::Routes(graph, tables, placement))) {
        if (flow.role == Role::contributor && contributors == Contributors::absent) continue;
        result.roles.emplace_back(flow.role);
        scenario.flows.push_back(plan_of(flow, scenario.fabric, placement));
    }
    const std::shared_ptr<const sim::Setup> setup = sim::set_up(std::move(scenario));
    result.fabric = &setup->fabric;
    result.schedule = &setup->schedule;
    result.network = setup->network();
    result.owner = setup;
    return result;
}

Case testbed(const Parts& parts, Contributors contributors) {
    return two_switches(parts, contributors, {2, 7, 0, 5});
}

Case late_testbed(const Parts& parts, Contributors contributors) {
    return two_switches(parts, contributors, {25, 0, 0, 0});
}

Outcome play(const Parts& parts, const Case& played, std::optional<std::uint16_t> marking_rate) {
    const auto simulation =
        parts.simulation(sim::Level::packet, played.network, *played.schedule, options_of(marking_rate));
    const sim::State state = simulation->advance(never);
    return summary(played, *simulation, state);
}

// Runs side by side gain more than threads inside one.
Outcome managed_mean(const Parts& parts, const Case& played, const manager::Settings& settings,
                     const RunOptions& options) {
    const std::size_t runs = options.scope == Scope::quick ? 1 : 4;
    std::vector<Outcome> outcomes(runs);
    parallel_for(runs, options.threads, 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t run = begin; run < end; ++run) {
            const auto simulation = parts.simulation(sim::Level::packet, played.network, *played.schedule,
                                                     options_of(default_marking_rate));
            manager::Work work;
            sim::PlayOptions play{.record = {.sample = Time{}}};
            play.control_from =
                Time{settings.sweep.ps * static_cast<std::int64_t>(run) / static_cast<std::int64_t>(runs)};
            play.control = [&](fabric::CounterSource& counters, fabric::CongestionParameters& parameters,
                               fabric::Clock& clock) {
                work = parts.manage(*played.fabric, counters, parameters, clock, settings, {});
            };
            const sim::Recording recording = sim::play(*simulation, play);
            outcomes[run] = summary(played, *simulation, recording.state);
            outcomes[run].reads = static_cast<double>(work.reads);
            outcomes[run].writes = static_cast<double>(work.writes);
        }
    });
    Outcome mean;
    const auto share = static_cast<double>(runs);
    for (const Outcome& one : outcomes) {
        for (std::size_t role = 0; role < role_count; ++role) {
            mean.fared[role].gigabits += one.fared[role].gigabits / share;
            mean.fared[role].slowest += one.fared[role].slowest / share;
            mean.fared[role].finish += one.fared[role].finish / share;
        }
        mean.reads += one.reads / share;
        mean.writes += one.writes / share;
    }
    return mean;
}

manager::Settings small_settings(const manager::Policy& policy) {
    manager::Settings settings = testbed_settings(8);
    settings.policy = policy;
    settings.calm_sweep = settings.sweep * 4;
    return settings;
}

manager::Settings with_sweep(manager::Settings settings, double times) {
    const auto scale = [times](auto& number) {
        number =
            static_cast<std::remove_reference_t<decltype(number)>>(std::llround(times * static_cast<double>(number)));
    };
    scale(settings.sweep.ps);
    scale(settings.calm_sweep.ps);
    scale(settings.congestion);
    scale(settings.wait);
    scale(settings.data);
    settings.intervals = static_cast<std::uint32_t>(std::lround(settings.intervals / times));
    return settings;
}

}  // namespace loom::reproduce
