// Algorithms 1 to 3 of Mizero 2016, line by line, on sets of (switch, port) pairs; slow and obvious. Each of the three
// corrections can be had as printed.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "loom/fabric/fabric.hpp"
#include "loom/manager/settings.hpp"

namespace loom::reference {

class Dcms {
public:
    using Pair = std::pair<std::uint32_t, std::uint32_t>;  // (s, p): switch and port number

    // What one port counted in this sweep. `known`: it was read now and once before; `data_sure`: not reset between.
    struct Delta {
        bool known = false;
        bool data_sure = true;
        std::uint64_t c = 0, w = 0, d = 0;
    };

    // What happened: "victim (r,q) of (s,p)", "low (s,p)", ... in one form that can be compared.
    using Event = std::vector<std::uint64_t>;
    enum Kind : std::uint64_t { added, dropped, lowered, restored };

    Dcms(const fabric::Fabric& fabric, const manager::Settings& settings) : fabric_(fabric), settings_(settings) {
        for (std::uint32_t s = 0; s < fabric.node_count(); ++s) {
            if (fabric.node(NodeId{s}).kind != fabric::NodeKind::switch_) continue;
            for (std::uint32_t p = 1; p <= fabric.node(NodeId{s}).ports; ++p) ports_.push_back({s, p});
        }
    }

    std::set<Event> sweep(const std::map<Pair, Delta>& deltas) {
        events_.clear();
        just_lowered_.clear();
        for (const auto& [pair, delta] : deltas)
            if (delta.known) {
                before_[pair] = now_[pair];
                now_[pair] = delta;
            }
        deltas_ = deltas;
        algorithm_2();
        algorithm_3();
        return events_;
    }

    std::map<Pair, std::uint64_t> m;  // marking rate; a port that is not here has never been set
    std::map<Pair, std::set<Pair>> v;
    std::map<Pair, std::uint64_t> i;

private:
    bool is_switch(std::uint32_t node) const { return fabric_.node(NodeId{node}).kind == fabric::NodeKind::switch_; }
    // N(s, p); false when nothing is connected.
    bool neighbour(Pair pair, Pair& other) const {
        const fabric::Port& port = fabric_.port(NodeId{pair.first}, PortNum{static_cast<std::uint8_t>(pair.second)});
        if (!port.connected()) return false;
        other = {fabric_.port(port.peer).node.value, fabric_.port(port.peer).number.value};
        return true;
    }

    void algorithm_2() {
        for (const Pair& sp : ports_) {
            if (!deltas_[sp].known) continue;
            Pair n;
            const bool host = neighbour(sp, n) && !is_switch(n.first);
            if (deltas_[sp].c > settings_.congestion || (host && deltas_[sp].w > settings_.wait)) {
                for (const Pair& rq : ports_) {
                    Pair faced;
                    if (!neighbour(rq, faced)) continue;
                    const bool faces =
                        settings_.readings.victim == manager::Reading::literal ? faced == sp : faced.first == sp.first;
                    if (!faces || v[sp].contains(rq)) continue;
                    if (deltas_[rq].known && deltas_[rq].w > settings_.wait) {
                        v[sp].insert(rq);
                        events_.insert({added, sp.first, sp.second, rq.first, rq.second});
                        if (!low_mr_[sp]) {
                            m[sp] = settings_.low;
                            low_mr_[sp] = true;
                            i[sp] = 1;
                            just_lowered_.insert(sp);
                            events_.insert({lowered, sp.first, sp.second});
                        }
                    }
                }
            }
        }
    }

    void algorithm_3() {
        for (const Pair& sp : ports_) {
            if (v[sp].empty()) continue;
            if (settings_.readings.count == manager::Reading::literal) {
                if (i[sp] == 1) continue;
            } else if (just_lowered_.contains(sp)) {
                continue;
            }
            i[sp] += 1;
            if (i[sp] <= settings_.intervals) {
                const std::set<Pair> victims = v[sp];
                for (const Pair& rq : victims) {
                    if (!deltas_[rq].known || !now_[rq].data_sure || !before_[rq].known || !before_[rq].data_sure)
                        continue;
                    if (static_cast<std::int64_t>(before_[rq].d) - static_cast<std::int64_t>(now_[rq].d) >
                        static_cast<std::int64_t>(settings_.data)) {
                        v[sp].erase(rq);
                        events_.insert({dropped, sp.first, sp.second, rq.first, rq.second});
                    }
                }
            }
            const bool literal = settings_.readings.restore == manager::Reading::literal;
            const bool over = literal ? i[sp] == settings_.intervals : i[sp] >= settings_.intervals;
            if (v[sp].empty() || over) {
                m[sp] = *settings_.normal;
                if (low_mr_[sp]) events_.insert({restored, sp.first, sp.second, i[sp]});
                low_mr_[sp] = false;
                if (!literal) {
                    v[sp].clear();
                    i[sp] = 0;
                }
            }
        }
    }

    const fabric::Fabric& fabric_;
    manager::Settings settings_;
    std::vector<Pair> ports_;
    std::map<Pair, bool> low_mr_;
    std::map<Pair, Delta> deltas_, now_, before_;
    std::set<Pair> just_lowered_;
    std::set<Event> events_;
};

}  // namespace loom::reference
