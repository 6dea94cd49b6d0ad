// A binary tree of ranks as a graph: each sends its number to its children, different amounts to each.
#include <cstdio>
#include <vector>

#include "loom/coll/typed.hpp"

int main() try {
    const auto world = loom::coll::World::open();
    const auto all = world->communicator();
    const std::uint32_t me = all.rank().value;

    loom::coll::Neighbours mine;
    if (me > 0) mine.sources = {loom::Rank{(me - 1) / 2}};
    for (const std::uint32_t child : {2 * me + 1, 2 * me + 2})
        if (child < all.size()) mine.destinations.push_back(loom::Rank{child});
    const auto tree = all.graph(mine);

    // The left child gets one number, the right one two.
    std::vector<std::size_t> sent, received;
    for (std::size_t i = 0; i < mine.destinations.size(); ++i) sent.push_back(i + 1);
    if (me > 0) received.push_back(me % 2 == 1 ? 1 : 2);
    const std::vector<std::uint32_t> out(3, me);
    std::vector<std::uint32_t> in(2, 99);
    tree.neighbour_alltoallv(out, sent, in, received);

    std::vector<std::uint32_t> everything(2 * all.size());
    all.gather(in, everything, loom::Rank{0});
    if (me == 0)
        for (std::uint32_t rank = 1; rank < all.size(); ++rank)
            std::printf("rank %u got %zu from rank %u\n", rank, rank % 2 == 1 ? std::size_t{1} : std::size_t{2},
                        everything[2 * rank]);
    world->close();
} catch (const loom::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
