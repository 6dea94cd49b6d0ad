// What is measured.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "measure.hpp"
#include "sizes.hpp"

namespace loom::bench {

enum class Peers { none, some, full };

struct Plan {
    std::vector<Size> sizes;
    std::size_t least_hosts = 0;
    std::size_t most_hosts = 0;  // 0: no limit
    std::vector<std::string> engines;
    std::vector<unsigned> threads;
    Peers peers = Peers::some;
    bool quick = false;
    std::string match;  // lines of verbs: only those whose name contains it; collectives likewise, or this one alone
    std::string loggopsim;  // folder of LogGOPSim and txt2bin; empty: it is not run
    std::string libnbc;     // folder of LibNBC's sources; empty: nbc.h is measured alone

    // Of the collectives; empty: each group has its own.
    std::vector<std::uint32_t> ranks;
    std::vector<std::uint64_t> bytes;
    bool bound = false;   // everybody's ranks to cores, also where there are fewer
    unsigned rounds = 9;  // in which everybody has a turn

    [[nodiscard]] std::vector<std::uint32_t> ranks_or(std::vector<std::uint32_t> others) const {
        return !ranks.empty() ? ranks : quick ? std::vector<std::uint32_t>{2} : others;
    }
    [[nodiscard]] std::vector<std::uint64_t> bytes_or(std::vector<std::uint64_t> others) const {
        return !bytes.empty() ? bytes : quick ? std::vector<std::uint64_t>{64} : others;
    }
    [[nodiscard]] bool takes_operation(const std::string& name) const;
    [[nodiscard]] bool takes(const Size& size) const {
        const std::size_t hosts = std::stoul(size.name);
        return hosts >= least_hosts && (most_hosts == 0 || hosts <= most_hosts);
    }
};

using Sink = std::function<void(const Line&)>;

// From the fabric in memory to full tables, switch LIDs included, beside OpenSM on the same fabric.
void measure_routing(const Plan& plan, const Sink& sink);
// Checks beside ibdmchk, random bisect patterns, all shift stages of the 12-ary-3-tree.
void measure_analysis(const Plan& plan, const Sink& sink);

// One allocation and all events of the flow level, packets and events of the others, from 64 to 11,664 hosts.
void measure_sim(const Plan& plan, const Sink& sink);

// Events of the message level on schedules of up to 262,144 ranks, beside LogGOPSim where a folder is given; the times
// of both must be the same.
void measure_message(const Plan& plan, const Sink& sink);

}  // namespace loom::bench
