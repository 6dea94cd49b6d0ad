// Heat on 16 ranks in two dimensions, on hosts and switches that exist nowhere: borders go to the neighbours, and every
// step ends when all agree how much still changes. How long that takes there, and what computation has to do with it.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "loom/base/clock.hpp"
#include "loom/coll/typed.hpp"
#include "loom/fabric/generate.hpp"
#include "loom/fabric/placement.hpp"
#include "loom/routing/routed.hpp"
#include "loom/twin/run.hpp"

namespace {

using namespace loom;

constexpr std::size_t side = 32;  // cells of a rank, in each direction

// Cells with a border of one around them.
struct Plate {
    std::vector<double> cells = std::vector<double>((side + 2) * (side + 2));
    double& at(std::size_t row, std::size_t column) { return cells[row * (side + 2) + column]; }
};

// Borders in the order of neighbours: up, down, left, right.
void take_borders(Plate& plate, std::vector<double>& out) {
    for (std::size_t i = 0; i < side; ++i) {
        out[i] = plate.at(1, i + 1);
        out[side + i] = plate.at(side, i + 1);
        out[2 * side + i] = plate.at(i + 1, 1);
        out[3 * side + i] = plate.at(i + 1, side);
    }
}

void give_borders(Plate& plate, const std::vector<double>& in) {
    for (std::size_t i = 0; i < side; ++i) {
        plate.at(0, i + 1) = in[i];
        plate.at(side + 1, i + 1) = in[side + i];
        plate.at(i + 1, 0) = in[2 * side + i];
        plate.at(i + 1, side + 1) = in[3 * side + i];
    }
}

// The largest change of a cell.
double relax(Plate& plate, Plate& next) {
    double change = 0;
    for (std::size_t row = 1; row <= side; ++row)
        for (std::size_t column = 1; column <= side; ++column) {
            next.at(row, column) =
                0.5 * plate.at(row, column) + 0.125 * (plate.at(row - 1, column) + plate.at(row + 1, column) +
                                                       plate.at(row, column - 1) + plate.at(row, column + 1));
            change = std::max(change, std::abs(next.at(row, column) - plate.at(row, column)));
        }
    std::swap(plate, next);
    return change;
}

// As it would be on real ranks: how many steps depends on the data.
int spread_heat(transport::Transport& transport) {
    coll::World world(transport, nullptr);
    const auto all = world.communicator();
    const auto grid = all.cartesian({4, all.size() / 4}, {true, true});
    std::vector<double> out(4 * side), in(4 * side);
    Plate plate, next;
    if (world.rank() == Rank{0}) plate.at(1, 1) = 1000;
    double most = 1000;
    int steps = 0;
    for (; most > 5; ++steps) {
        take_borders(plate, out);
        auto halo = grid.ineighbour_alltoall(out, in);
        compute(nanoseconds(4 * side * side));  // 4 ns a cell on the target's cores
        halo.wait();
        give_borders(plate, in);
        const double mine = relax(plate, next);
        all.allreduce(mine, most, coll::maximum);
    }
    world.close();
    return steps;
}

}  // namespace

int main() try {
    routing::RoutedFabric tree;  // 16 hosts in two levels
    tree.fabric = fabric::pgft(fabric::kary_tree(4, 2));
    routing::open(tree, {.engine = &routing::find_engine("ftree"), .expects_lids = false});
    std::vector<std::string> odd;

    for (const char* computing : {"none", "declared", "noise 20%", "straggler 5 3"})
        for (const sim::Level level : {sim::Level::message, sim::Level::packet}) {
            twin::Options options;
            options.level = level;
            options.ranks = 16;
            if (level != sim::Level::message)
                options.network = {tree.graph.get(), &tree.tables, fabric::place_ranks(tree.fabric, {}, odd)};
            twin::set(options.computing, computing);
            int steps = 0;
            const twin::Result result = twin::run(options, [&](transport::Transport& transport) {
                const int mine = spread_heat(transport);
                if (transport.rank() == Rank{0}) steps = mine;
            });
            std::printf("%-7s  %d steps take %s, computation %s\n", sim::to_string(level).data(), steps,
                        to_string(result.finish).c_str(), result.computing.c_str());
        }
} catch (const loom::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
