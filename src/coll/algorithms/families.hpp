// The algorithms of each collective; a file each, or a family in one file.
#pragma once

#include <span>

#include "loom/coll/algorithm.hpp"

namespace loom::coll {

using Family = std::span<const Algorithm>;

Family barriers();
Family broadcasts();
Family gathers();
Family gathervs();
Family scatters();
Family scattervs();
Family allgathers();
Family allgathervs();
Family alltoalls();
Family alltoallvs();
Family reduces();
Family allreduces();
Family reduce_scatters();
Family reduce_scatter_blocks();
Family scans();
Family exscans();
Family neighbour_allgathers();
Family neighbour_allgathervs();
Family neighbour_alltoalls();
Family neighbour_alltoallvs();

}  // namespace loom::coll
