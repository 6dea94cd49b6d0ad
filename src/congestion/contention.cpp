#include "loom/congestion/contention.hpp"

#include <fmt/format.h>

#include <atomic>
#include <map>
#include <mutex>
#include <numeric>
#include <set>

#include "congestion/loads.hpp"
#include "loom/base/error.hpp"
#include "loom/base/parallel.hpp"

namespace loom::congestion {
namespace {

// What each host asks for and each link gives, in megabits a second; by host and by Counter.
struct Rates {
    std::vector<std::uint32_t> demand;
    std::vector<std::uint32_t> capacity;
    bool uniform = true;  // every flow counts 1 on every link
};

Rates find_rates(const Routes& routes) {
    const Routes::Data& data = routes.data();
    const std::size_t channels = data.graph->channel_count();
    const auto in_use = [&](LinkIndex link) {
        return link >= channels || routes.megabits(link) != 0 || routes.between_switches(link);
    };
    std::map<std::uint32_t, std::size_t> votes;
    for (LinkIndex link = 0; link < routes.link_count(); ++link)
        if (const std::uint32_t rate = routes.megabits(link); rate != 0) ++votes[rate];
    std::uint32_t common = 1;
    std::size_t most = 0;
    for (const auto& [rate, times] : votes)
        if (times > most) {
            most = times;
            common = rate;
        }
    Rates rates;
    rates.capacity.assign(data.counters(), common);
    for (LinkIndex link = 0; link < routes.link_count(); ++link)
        if (const std::uint32_t rate = routes.megabits(link); rate != 0) rates.capacity[first_link + link] = rate;
    for (std::uint32_t host = 0; host < data.hosts.size(); ++host)
        rates.demand.push_back(rates.capacity[data.into_switch(host)]);
    for (LinkIndex link = 0; link < routes.link_count(); ++link)
        rates.uniform = rates.uniform && (!in_use(link) || rates.capacity[first_link + link] == common);
    return rates;
}

// One thread's share of the result.
struct Share {
    std::vector<std::uint32_t> peak;
    std::vector<std::uint64_t> total;
    std::uint64_t flows = 0;
    std::uint64_t skipped = 0;
    std::uint64_t unrouted = 0;
};

double weighted_stage(const Routes::Data& data, const Rates& rates, HostLinks host_links, Loads& loads,
                      std::span<const traffic::Pair> pairs, std::vector<std::uint64_t>& demand) {
    std::fill(demand.begin(), demand.end(), 0u);
    loads.each(pairs, [&](const RankPlace& from, const RankPlace& to, const auto* path, auto length) {
        if (path[0] == lost) return;
        const std::uint32_t wanted = std::min(rates.demand[from.host], rates.demand[to.host]);
        for (std::size_t hop = 0; hop < length; ++hop) demand[path[hop]] += wanted;
        if (host_links == HostLinks::count) {
            demand[data.into_switch(from.host)] += wanted;
            demand[data.into_host(to.host)] += wanted;
        }
    });
    double largest = 0;
    for (std::size_t i = first_link; i < demand.size(); ++i)
        largest = std::max(largest, static_cast<double>(demand[i]) / rates.capacity[i]);
    return largest;
}

}  // namespace

void check_ranks(const Routes& routes, const traffic::Pattern& pattern) {
    if (pattern.ranks() != routes.ranks())
        throw Error(fmt::format("the pattern {} is for {} ranks, the placement has {}", pattern.name(), pattern.ranks(),
                                routes.ranks()));
}

std::vector<std::uint64_t> Contention::histogram() const {
    std::vector<std::uint64_t> result(std::size_t{worst} + 1, 0);
    for (const std::uint32_t c : per_stage) ++result[c];
    return result;
}

Contention contention(const Routes& routes, const traffic::Pattern& pattern, const ContentionOptions& options) {
    check_ranks(routes, pattern);
    const Routes::Data& data = routes.data();
    const Rates rates = find_rates(routes);
    const std::size_t links = routes.link_count();
    Contention result;
    result.pattern = pattern.name();
    result.ranks = pattern.ranks();
    result.per_stage.assign(pattern.stages(), 0);
    result.peak.assign(links, 0);
    result.total.assign(links, 0);
    std::vector<double> weighted(rates.uniform ? 0 : pattern.stages(), 0.0);

    std::mutex merging;
    std::atomic<std::size_t> done{0};
    const std::size_t piece = std::clamp<std::size_t>(pattern.stages() / 64, 1, 64);
    parallel_for(pattern.stages(), options.threads, piece, [&](std::size_t begin, std::size_t end) {
        Loads loads(data, options.host_links);
        Share share{std::vector<std::uint32_t>(links, 0), std::vector<std::uint64_t>(links, 0)};
        std::vector<traffic::Pair> pairs;
        std::vector<std::uint64_t> demand(rates.uniform ? 0 : data.counters());
        for (std::size_t stage = begin; stage < end; ++stage) {
            pattern.stage(stage, pairs);
            const std::size_t stay = loads.count(pairs);
            const auto flows = loads.flows().subspan(first_link);
            std::uint32_t largest = 0;
            for (std::size_t i = 0; i < links; ++i) {
                largest = std::max(largest, flows[i]);
                share.peak[i] = std::max(share.peak[i], flows[i]);
                share.total[i] += flows[i];
            }
            result.per_stage[stage] = largest;
            share.skipped += stay;
            share.unrouted += loads.lost_pairs();
            share.flows += pairs.size() - stay - loads.lost_pairs();
            if (!rates.uniform) weighted[stage] = weighted_stage(data, rates, options.host_links, loads, pairs, demand);
            const std::size_t finished = done.fetch_add(1) + 1;
            if (options.progress)
                options.progress(static_cast<double>(finished) / static_cast<double>(pattern.stages()));
        }
        const std::lock_guard lock(merging);
        for (std::size_t i = 0; i < links; ++i) {
            result.peak[i] = std::max(result.peak[i], share.peak[i]);
            result.total[i] += share.total[i];
        }
        result.flows += share.flows;
        result.skipped += share.skipped;
        result.unrouted += share.unrouted;
    });

    if (result.per_stage.empty()) return result;
    const auto worst = std::max_element(result.per_stage.begin(), result.per_stage.end());
    const auto stages = static_cast<double>(pattern.stages());
    result.worst = *worst;
    result.worst_stage = static_cast<std::size_t>(worst - result.per_stage.begin());
    result.mean = std::accumulate(result.per_stage.begin(), result.per_stage.end(), 0.0) / stages;
    result.weighted_worst = rates.uniform ? result.worst : *std::max_element(weighted.begin(), weighted.end());
    result.weighted_mean =
        rates.uniform ? result.mean : std::accumulate(weighted.begin(), weighted.end(), 0.0) / stages;
    return result;
}

std::vector<HotLink> hottest(const Routes& routes, const Contention& contention, std::size_t count,
                             HostLinks host_links) {
    std::vector<HotLink> all;
    for (LinkIndex link = 0; link < contention.peak.size(); ++link)
        if (contention.peak[link] != 0 && (host_links == HostLinks::count || routes.between_switches(link)))
            all.push_back({link, contention.peak[link], contention.total[link]});
    const auto hotter = [](const HotLink& a, const HotLink& b) {
        if (a.peak != b.peak) return a.peak > b.peak;
        return a.total != b.total ? a.total > b.total : a.link < b.link;
    };
    const std::size_t kept = std::min(count, all.size());
    std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(kept), all.end(), hotter);
    all.resize(kept);
    return all;
}

bool has_few_pairs(const traffic::Pattern& pattern, const fabric::Fabric& fabric, const fabric::Placement& placement) {
    std::set<std::uint32_t> leaves;
    for (const PortIndex host : placement.hosts)
        if (host != no_port) leaves.insert(fabric.port(fabric.port(host).peer).node.value);
    constexpr std::size_t dearer = 8;  // a walk is than its share of the pass that finds all
    const std::size_t most = leaves.size() * placement.ranks() / dearer;
    std::size_t pairs = 0;
    std::vector<traffic::Pair> stage;
    for (std::size_t i = 0; i < pattern.stages() && pairs <= most; ++i) {
        pattern.stage(i, stage);
        pairs += stage.size();
    }
    return pairs <= most;
}

}  // namespace loom::congestion
