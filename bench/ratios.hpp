// Every ratio of a run beside its peer, in one table: what was measured, to whom, of which version, and what was
// promised.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "coll.hpp"
#include "early.hpp"
#include "nbc.hpp"
#include "overlap.hpp"
#include "verbs.hpp"

namespace loom::bench {

struct Ratio {
    std::string group;  // "routing", "verbs", ...
    std::string what;   // "ftree", "ib_send_lat"
    std::string size;   // "11664 hosts, 1 thread", "8 bytes"
    std::string peer;
    double value = 0;                // ours to the peer's
    Better better = Better::less;    // less of times, more of rates
    std::optional<double> promised;  // at most, or at least where more is better
    std::string remark;              // "14 of 22 operations meet it"

    [[nodiscard]] bool met() const;  // the promise, or nothing was promised
};

struct Peer {
    std::string name;     // as in Ratio::peer
    std::string version;  // by its own word or its package's; empty: unknown
};

// Those of `lines` that had a peer, all of `verbs`, means over operations of the collectives, nbc.h beside LibNBC,
// early messages beside Open MPI, and the shares that the wire left free (to the whole: there is no peer).
[[nodiscard]] std::vector<Ratio> ratios(const std::vector<Line>& lines, const std::vector<VerbsLine>& verbs,
                                        const std::optional<CollResults>& collectives,
                                        const std::optional<NbcResults>& nbc,
                                        const std::optional<std::vector<EarlyCell>>& early,
                                        const std::optional<OverlapResults>& overlap);

// Of the peers in `ratios`. Asks each program; about a second in all.
[[nodiscard]] std::vector<Peer> peers_of(const std::vector<Ratio>& ratios);

void print(const std::vector<Ratio>& ratios, const std::vector<Peer>& peers);
[[nodiscard]] std::string to_json(const std::vector<Ratio>& ratios, const std::vector<Peer>& peers);

}  // namespace loom::bench
