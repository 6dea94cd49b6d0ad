#include "loom/reproduce/reproduction.hpp"

#include <array>
#include <string>

#include "loom/base/error.hpp"

namespace loom::reproduce {

std::span<const Reproduction> reproductions() {
    static constexpr std::array all{
        Reproduction{"zahavi-table-1", "Zahavi et al. 2009, Table I",
                     "shift contention of 21 trees under fat-tree and minimum-hop routing", zahavi_table_1},
        Reproduction{"zahavi-figure-6", "Zahavi et al. 2009, Figure 6",
                     "all-to-all latency on a 32-host tree under fat-tree and minimum-hop routing, SDR and DDR links",
                     zahavi_figure_6},
        Reproduction{"dcms-experiment-1", "Mizero et al. 2016, Experiment I",
                     "a victim flow and three contributors under marking rates 0 to 2048 and three timers",
                     dcms_experiment_1},
        Reproduction{"dcms-experiment-2", "Mizero et al. 2016, Experiment II",
                     "the dynamic congestion manager at work, low-marking duration 12 and 6", dcms_experiment_2},
        Reproduction{"hoefler-remap", "Hoefler 2008, II.6.1",
                     "a 16-node Bruck pattern before and after rank remapping, three metrics", hoefler_remap},
        Reproduction{"hoefler-fat-trees", "Hoefler 2008, Fig. II.24",
                     "cost, forwarding index and effective bisection bandwidth of 48 recursive fat trees",
                     hoefler_fat_trees},
        Reproduction{"hoefler-barrier", "Hoefler 2008, II.3.1 and II.3.2",
                     "n-way dissemination barriers by LogfP; penalty rounds of the multicast broadcast, datagrams lost",
                     hoefler_barrier},
#ifdef WITH_DCUDA
        Reproduction{"dcuda-5.1", "Kuster 2017, Table 5.1",
                     "notified access and notifications on a device, to a peer, to another node, two managers",
                     dcuda_5_1},
        Reproduction{"dcuda-5.2", "Kuster 2017, Table 5.2", "where flags and queues between host and device belong",
                     dcuda_5_2},
        Reproduction{"dcuda-5.3", "Kuster 2017, Table 5.3", "the network alone, host and device memory, two managers",
                     dcuda_5_3},
        Reproduction{"dcuda-5.4", "Kuster 2017, Table 5.4",
                     "bandwidth on a device and beyond it, GPUDirect against staging", dcuda_5_4},
#endif
        Reproduction{"victim-flows", "no paper's",
                     "victims of an incast on 1,728 hosts: no congestion control, default parameters, DCMS",
                     victim_flows},
        Reproduction{"manager-policies", "no paper's",
                     "policies of the congestion manager on the testbed and on 1,728 hosts", manager_policies},
    };
    return all;
}

const Reproduction& find_reproduction(std::string_view name) {
    std::string names;
    for (const Reproduction& reproduction : reproductions()) {
        if (reproduction.name == name) return reproduction;
        names += (names.empty() ? "" : ", ") + std::string(reproduction.name);
    }
    throw UsageError("there is no reproduction called " + std::string(name) + "; there are: " + names);
}

}  // namespace loom::reproduce
