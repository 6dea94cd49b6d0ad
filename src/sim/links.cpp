#include "loom/sim/links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "loom/base/table.hpp"
#include "loom/sim/show.hpp"
#include "sim/detective.hpp"

namespace loom::sim {

namespace {

std::string name_of(const fabric::Fabric& fabric, PortIndex port) {
    if (port == no_port) return {};
    const fabric::Port& p = fabric.port(port);
    return fabric::describe(fabric, p.node, p.number);
}

std::vector<PairUse> largest(std::vector<std::size_t> flows, const std::vector<Flow>& all, std::size_t most) {
    std::stable_sort(flows.begin(), flows.end(),
                     [&](std::size_t a, std::size_t b) { return all[a].bytes > all[b].bytes; });
    std::vector<PairUse> result;
    for (std::size_t i = 0; i < std::min(most, flows.size()); ++i)
        result.push_back({all[flows[i]].from, all[flows[i]].to, all[flows[i]].bytes});
    return result;
}

std::vector<Jam> find_jams(const Network& network, const Options& options, const Simulation& simulation,
                           const std::vector<Flow>& flows, const LinkQuestion& question) {
    const fabric::Fabric& fabric = network.graph->fabric();
    const Detective detective(fabric, network, options.packet, simulation, flows, Detective::Measure::activity);
    struct Place {
        double share = 0;
        std::vector<std::size_t> victims;
    };
    std::map<std::tuple<PortIndex, PortIndex, Cause>, Place> places;
    for (std::size_t flow = 0; flow < flows.size(); ++flow) {
        const Detective::Finding found = detective.explain(flow);
        if (found.waits_at == no_port || found.full == no_port) continue;
        Place& place = places[{found.waits_at, found.full, found.cause}];
        place.share = found.waited;
        place.victims.push_back(flow);
    }
    std::vector<Jam> jams;
    for (auto& [where, place] : places) {
        Jam jam;
        std::tie(jam.waits_at, jam.full, jam.cause) = where;
        jam.waits_at_name = name_of(fabric, jam.waits_at);
        jam.full_name = name_of(fabric, jam.full);
        jam.waited = detective.waited(jam.waits_at);
        jam.share = place.share;
        jam.victim_count = place.victims.size();
        jam.victims = largest(place.victims, flows, question.most_named);
        std::vector<std::size_t> behind = detective.through(jam.waits_at, jam.full);
        std::erase_if(behind, [&](std::size_t flow) {
            return std::binary_search(place.victims.begin(), place.victims.end(), flow);
        });
        jam.behind_count = behind.size();
        jam.behind = largest(std::move(behind), flows, question.most_named);
        jams.push_back(std::move(jam));
    }
    std::stable_sort(jams.begin(), jams.end(), [](const Jam& a, const Jam& b) {
        return a.waited != b.waited ? a.waited > b.waited : a.victim_count > b.victim_count;
    });
    if (jams.size() > question.most_jams) jams.resize(question.most_jams);
    return jams;
}

std::string in_words(const std::vector<PairUse>& pairs, std::size_t count) {
    std::string text;
    for (const PairUse& each : pairs)
        text += fmt::format("{}{} -> {}", text.empty() ? "" : ", ", each.from.value, each.to.value);
    if (count > pairs.size()) text += fmt::format(" and {} more", grouped(count - pairs.size()));
    return text;
}

}  // namespace

LinkAnswers look_at_links(const Network& network, const Options& options, const Simulation& simulation,
                          const LinkQuestion& question) {
    LinkAnswers answers;
    if (simulation.level() == Level::message || network.graph == nullptr) return answers;
    const fabric::Fabric& fabric = network.graph->fabric();
    answers.busy.resize(fabric.port_count());
    for (const PortLoad& load : hottest_ports(fabric, simulation, options.packet.counter_tick, fabric.port_count())) {
        answers.busy[load.port.value] = load.used;
        if (answers.hottest.size() == question.most_links) continue;
        answers.hottest.push_back({load.port, name_of(fabric, load.port), name_of(fabric, fabric.port(load.port).peer),
                                   load.counters.xmit_data * 4, load.used, load.waited});
    }
    if (simulation.level() != Level::packet) {
        answers.remarks.emplace_back("the flow level has no buffers: who waits behind whom is not known");
        return answers;
    }
    std::vector<Flow> flows = simulation.flows();
    std::erase_if(flows, [](const Flow& flow) { return flow.begun == never; });
    if (flows.size() > question.most_pairs) {
        answers.remarks.push_back(
            fmt::format("of {} pairs of ranks only the {} with the most bytes were asked where "
                        "their messages waited",
                        grouped(flows.size()), grouped(question.most_pairs)));
        std::stable_sort(flows.begin(), flows.end(), [](const Flow& a, const Flow& b) { return a.bytes > b.bytes; });
        flows.resize(question.most_pairs);
    }
    if (options.packet.paths == PathChoice::adaptive)
        answers.remarks.emplace_back("with adaptive paths nobody knows who waited behind whom");
    else
        answers.jams = find_jams(network, options, simulation, flows, question);
    return answers;
}

std::string describe(const Jam& jam) {
    std::string text = fmt::format("packets at {} wait {} ({:.0f} % of the time that it has any) {} {}: {}",
                                   jam.waits_at_name, to_string(jam.waited), 100 * jam.share,
                                   jam.cause == Cause::behind ? "behind packets for" : "for their turn at",
                                   jam.full_name, in_words(jam.victims, jam.victim_count));
    if (jam.behind_count != 0) text += ", behind " + in_words(jam.behind, jam.behind_count);
    return text;
}

}  // namespace loom::sim
