// Heat on a ring of cells in two dimensions of ranks: the borders go to the neighbours by one operation that is kept
// and started in every step.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "loom/coll/typed.hpp"

namespace {

constexpr std::size_t side = 8;  // cells of a rank, in each direction

// Cells with a border of one around them.
struct Plate {
    std::vector<double> cells = std::vector<double>((side + 2) * (side + 2));
    double& at(std::size_t row, std::size_t column) { return cells[row * (side + 2) + column]; }
};

}  // namespace

int main() try {
    const auto world = loom::coll::World::open();
    const auto all = world->communicator();
    const std::uint32_t rows = all.size() % 2 == 0 ? 2 : 1;
    const auto grid = all.cartesian({rows, all.size() / rows}, {true, true});

    // Blocks in the order of neighbours: up, down, left, right.
    std::vector<double> out(4 * side), in(4 * side);
    auto halo = grid.persistent_neighbour_alltoall(out, in);

    Plate plate, next;
    if (grid.rank() == loom::Rank{0}) plate.at(1, 1) = 1000;
    for (int step = 0; step < 50; ++step) {
        for (std::size_t i = 0; i < side; ++i) {
            out[i] = plate.at(1, i + 1);
            out[side + i] = plate.at(side, i + 1);
            out[2 * side + i] = plate.at(i + 1, 1);
            out[3 * side + i] = plate.at(i + 1, side);
        }
        halo.start();
        const auto relax = [&](std::size_t row, std::size_t column) {
            next.at(row, column) =
                0.5 * plate.at(row, column) + 0.125 * (plate.at(row - 1, column) + plate.at(row + 1, column) +
                                                       plate.at(row, column - 1) + plate.at(row, column + 1));
        };
        for (std::size_t row = 2; row < side; ++row)  // the inner cells need nobody
            for (std::size_t column = 2; column < side; ++column) relax(row, column);
        halo.wait();
        for (std::size_t i = 0; i < side; ++i) {
            plate.at(0, i + 1) = in[i];
            plate.at(side + 1, i + 1) = in[side + i];
            plate.at(i + 1, 0) = in[2 * side + i];
            plate.at(i + 1, side + 1) = in[3 * side + i];
        }
        for (std::size_t i = 1; i <= side; ++i) {
            relax(1, i);
            relax(side, i);
            if (i == 1 || i == side) continue;
            relax(i, 1);
            relax(i, side);
        }
        std::swap(plate, next);
    }

    double heat[2] = {0, 0}, sum[2], most[2];  // all of it, and the hottest cell
    for (std::size_t row = 1; row <= side; ++row)
        for (std::size_t column = 1; column <= side; ++column) {
            heat[0] += plate.at(row, column);
            heat[1] = std::max(heat[1], plate.at(row, column));
        }
    all.allreduce(heat, sum, std::plus<>{});
    all.allreduce(heat, most, loom::coll::maximum);
    if (all.rank() == loom::Rank{0})
        std::printf("%ux%u ranks: %.3f of heat left, the hottest cell has %.3f\n", rows, all.size() / rows, sum[0],
                    most[1]);
    world->close();
} catch (const loom::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
