#pragma once

#include <cstdint>
#include <vector>

namespace loom::reproduce {

// Broadcasts of 2 bytes over the software HCA, whose datagrams are lost with probability `lost`, on `ranks` processes.
// By place in the chain: the mean number of hops for which a rank waited, which is how many in a row up to it had not
// gone on by the multicast alone while the chain was held back.
[[nodiscard]] std::vector<double> penalty_rounds(double lost, std::uint32_t ranks, std::uint32_t broadcasts);

}  // namespace loom::reproduce
