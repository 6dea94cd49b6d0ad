#include <algorithm>
#include <numeric>
#include <utility>

#include "twin_mpi/answers/cases.hpp"

namespace answers {
namespace {

using Ints = std::vector<int>;

Ints filled(int count, int value) {
    return Ints(static_cast<std::size_t>(count), value);
}

// What rank `from` has for rank `to`.
int value(int from, int to) {
    return 1000 * from + to;
}

// Runs the blocking form, then the other one.
template <class Blocking, class Starting>
void both(Blocking blocking, Starting starting) {
    blocking();
    MPI_Request request;
    starting(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

void barrier() {
    both([] { MPI_Barrier(MPI_COMM_WORLD); }, [](MPI_Request* r) { MPI_Ibarrier(MPI_COMM_WORLD, r); });
}

void bcast() {
    for (int root = 0; root < size(); ++root) {
        Ints data;
        const auto fill = [&] { data = filled(10, rank() == root ? 7 + root : -1); };
        both(
            [&] {
                fill();
                MPI_Bcast(data.data(), 10, MPI_INT, root, MPI_COMM_WORLD);
                same(data[9], 7 + root, "the last");
                fill();
            },
            [&](MPI_Request* r) { MPI_Ibcast(data.data(), 10, MPI_INT, root, MPI_COMM_WORLD, r); });
        same(data[9], 7 + root, "the last");
    }
}

void gather() {
    const int root = size() - 1;
    const int mine[2] = {value(rank(), 0), value(rank(), 1)};
    for (const bool starts : {false, true}) {
        Ints all = filled(2 * size(), -1);
        MPI_Request request = MPI_REQUEST_NULL;
        if (starts)
            MPI_Igather(mine, 2, MPI_INT, all.data(), 2, MPI_INT, root, MPI_COMM_WORLD, &request);
        else
            MPI_Gather(mine, 2, MPI_INT, all.data(), 2, MPI_INT, root, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (rank() != root) continue;
        for (int i = 0; i < 2 * size(); ++i) same(all[static_cast<std::size_t>(i)], value(i / 2, i % 2), "a block");
    }
    Ints all = filled(size(), -1);
    all[static_cast<std::size_t>(rank())] = rank();
    MPI_Gather(rank() == root ? MPI_IN_PLACE : &mine[0], 1, MPI_INT, all.data(), 1, MPI_INT, root, MPI_COMM_WORLD);
    if (rank() == root)
        for (int i = 0; i < root; ++i) same(all[static_cast<std::size_t>(i)], value(i, 0), "a block beside mine");
}

// Rank i has i + 1 elements, with a gap before each block.
struct Uneven {
    Ints counts, at;
    int all = 0;
    Uneven() {
        for (int i = 0; i < size(); ++i) {
            counts.push_back(i + 1);
            at.push_back(++all);
            all += i + 1;
        }
    }
    [[nodiscard]] std::size_t place(int block, int i) const {
        return static_cast<std::size_t>(at[static_cast<std::size_t>(block)] + i);
    }
};

void gatherv_and_scatterv() {
    const Uneven uneven;
    Ints mine = filled(rank() + 1, 0), all = filled(uneven.all, -1), back = filled(rank() + 1, -1);
    for (int i = 0; i <= rank(); ++i) mine[static_cast<std::size_t>(i)] = value(rank(), i);
    both(
        [&] {
            MPI_Gatherv(mine.data(), rank() + 1, MPI_INT, all.data(), uneven.counts.data(), uneven.at.data(), MPI_INT,
                        0, MPI_COMM_WORLD);
        },
        [&](MPI_Request* r) {
            MPI_Igatherv(mine.data(), rank() + 1, MPI_INT, all.data(), uneven.counts.data(), uneven.at.data(), MPI_INT,
                         0, MPI_COMM_WORLD, r);
        });
    if (rank() == 0)
        for (int block = 0; block < size(); ++block) {
            same(all[uneven.place(block, -1)], -1, "a gap");
            for (int i = 0; i <= block; ++i) same(all[uneven.place(block, i)], value(block, i), "an element");
        }
    both(
        [&] {
            MPI_Scatterv(all.data(), uneven.counts.data(), uneven.at.data(), MPI_INT, back.data(), rank() + 1, MPI_INT,
                         0, MPI_COMM_WORLD);
        },
        [&](MPI_Request* r) {
            MPI_Iscatterv(all.data(), uneven.counts.data(), uneven.at.data(), MPI_INT, back.data(), rank() + 1, MPI_INT,
                          0, MPI_COMM_WORLD, r);
        });
    same(back == mine, true, "that each has its own again");
}

void scatter() {
    Ints all = filled(3 * size(), -1);
    if (rank() == 0) std::iota(all.begin(), all.end(), 0);
    Ints mine = filled(3, -1);
    both([&] { MPI_Scatter(all.data(), 3, MPI_INT, mine.data(), 3, MPI_INT, 0, MPI_COMM_WORLD); },
         [&](MPI_Request* r) { MPI_Iscatter(all.data(), 3, MPI_INT, mine.data(), 3, MPI_INT, 0, MPI_COMM_WORLD, r); });
    for (int i = 0; i < 3; ++i) same(mine[static_cast<std::size_t>(i)], 3 * rank() + i, "an element");
}

void allgather() {
    const int mine = value(rank(), 3);
    Ints all = filled(size(), -1);
    both([&] { MPI_Allgather(&mine, 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD); },
         [&](MPI_Request* r) { MPI_Iallgather(&mine, 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD, r); });
    for (int i = 0; i < size(); ++i) same(all[static_cast<std::size_t>(i)], value(i, 3), "a block");
    all = filled(size(), -1);
    all[static_cast<std::size_t>(rank())] = mine;
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.data(), 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size(); ++i) same(all[static_cast<std::size_t>(i)], value(i, 3), "a block in place");
}

void allgatherv() {
    const Uneven uneven;
    const Ints mine = filled(rank() + 1, rank());
    Ints all = filled(uneven.all, -1);
    both(
        [&] {
            MPI_Allgatherv(mine.data(), rank() + 1, MPI_INT, all.data(), uneven.counts.data(), uneven.at.data(),
                           MPI_INT, MPI_COMM_WORLD);
        },
        [&](MPI_Request* r) {
            MPI_Iallgatherv(mine.data(), rank() + 1, MPI_INT, all.data(), uneven.counts.data(), uneven.at.data(),
                            MPI_INT, MPI_COMM_WORLD, r);
        });
    for (int block = 0; block < size(); ++block)
        for (int i = 0; i <= block; ++i) same(all[uneven.place(block, i)], block, "an element");
}

void alltoall() {
    Ints mine, all = filled(size(), -1);
    for (int to = 0; to < size(); ++to) mine.push_back(value(rank(), to));
    both([&] { MPI_Alltoall(mine.data(), 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD); },
         [&](MPI_Request* r) { MPI_Ialltoall(mine.data(), 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD, r); });
    for (int from = 0; from < size(); ++from) same(all[static_cast<std::size_t>(from)], value(from, rank()), "a block");
}

// Rank i sends i + j + 1 elements to rank j.
void alltoallv_and_alltoallw() {
    Ints sends, receives, at, bytes_at, mine;
    for (int i = 0; i < size(); ++i) {
        sends.push_back(rank() + i + 1);
        at.push_back(static_cast<int>(mine.size()));
        bytes_at.push_back(static_cast<int>(mine.size() * sizeof(int)));
        mine.resize(mine.size() + static_cast<std::size_t>(rank() + i + 1), value(rank(), i));
    }
    receives = sends;
    const auto check = [&](const Ints& all) {
        for (int from = 0; from < size(); ++from)
            for (int i = 0; i < receives[static_cast<std::size_t>(from)]; ++i)
                same(all[static_cast<std::size_t>(at[static_cast<std::size_t>(from)] + i)], value(from, rank()),
                     "an element");
    };
    Ints all(mine.size(), -1);
    both(
        [&] {
            MPI_Alltoallv(mine.data(), sends.data(), at.data(), MPI_INT, all.data(), receives.data(), at.data(),
                          MPI_INT, MPI_COMM_WORLD);
        },
        [&](MPI_Request* r) {
            MPI_Ialltoallv(mine.data(), sends.data(), at.data(), MPI_INT, all.data(), receives.data(), at.data(),
                           MPI_INT, MPI_COMM_WORLD, r);
        });
    check(all);
    const std::vector<MPI_Datatype> types(static_cast<std::size_t>(size()), MPI_INT);
    std::fill(all.begin(), all.end(), -1);
    both(
        [&] {
            MPI_Alltoallw(mine.data(), sends.data(), bytes_at.data(), types.data(), all.data(), receives.data(),
                          bytes_at.data(), types.data(), MPI_COMM_WORLD);
        },
        [&](MPI_Request* r) {
            MPI_Ialltoallw(mine.data(), sends.data(), bytes_at.data(), types.data(), all.data(), receives.data(),
                           bytes_at.data(), types.data(), MPI_COMM_WORLD, r);
        });
    check(all);
}

int sum_of_ranks() {
    return size() * (size() - 1) / 2;
}

void reduce() {
    const int root = size() / 2;
    const int mine[2] = {rank(), 1};
    int got[2] = {-1, -1};
    both([&] { MPI_Reduce(mine, got, 2, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD); },
         [&](MPI_Request* r) { MPI_Ireduce(mine, got, 2, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD, r); });
    same(got[0], rank() == root ? sum_of_ranks() : -1, "the sum");
    same(got[1], rank() == root ? size() : -1, "the number of ranks");
    got[0] = rank();
    MPI_Reduce(rank() == root ? MPI_IN_PLACE : &mine[0], got, 1, MPI_INT, MPI_MAX, root, MPI_COMM_WORLD);
    if (rank() == root) same(got[0], size() - 1, "the highest");
}

void allreduce() {
    const double mine = rank() + 1;
    double least = 0, product = 0;
    both([&] { MPI_Allreduce(&mine, &product, 1, MPI_DOUBLE, MPI_PROD, MPI_COMM_WORLD); },
         [&](MPI_Request* r) { MPI_Iallreduce(&mine, &least, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD, r); });
    double wanted = 1;
    for (int i = 1; i <= size(); ++i) wanted *= i;
    same(product, wanted, "the product");
    same(least, 1.0, "the least");
    struct {
        double value;
        int index;
    } place{-mine, rank()}, got{};
    MPI_Allreduce(&place, &got, 1, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD);
    same(got.index, size() - 1, "who has the least");
    int bits = 1 << rank();
    MPI_Allreduce(MPI_IN_PLACE, &bits, 1, MPI_INT, MPI_BOR, MPI_COMM_WORLD);
    same(bits, (1 << size()) - 1, "all bits");
}

void reduce_scatter() {
    Ints counts, mine;
    for (int i = 0; i < size(); ++i) {
        counts.push_back(i + 1);
        mine.resize(mine.size() + static_cast<std::size_t>(i + 1), rank() + i);
    }
    Ints got = filled(rank() + 1, -1);
    both([&] { MPI_Reduce_scatter(mine.data(), got.data(), counts.data(), MPI_INT, MPI_SUM, MPI_COMM_WORLD); },
         [&](MPI_Request* r) {
             MPI_Ireduce_scatter(mine.data(), got.data(), counts.data(), MPI_INT, MPI_SUM, MPI_COMM_WORLD, r);
         });
    for (const int each : got) same(each, sum_of_ranks() + size() * rank(), "a sum");
    const Ints blocks = filled(2 * size(), rank());
    int block[2] = {-1, -1};
    both([&] { MPI_Reduce_scatter_block(blocks.data(), block, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD); },
         [&](MPI_Request* r) {
             MPI_Ireduce_scatter_block(blocks.data(), block, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD, r);
         });
    same(block[1], sum_of_ranks(), "the sum of a block");
    Ints in_place = filled(2 * size(), rank());
    MPI_Reduce_scatter_block(MPI_IN_PLACE, in_place.data(), 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    same(in_place[1], sum_of_ranks(), "the sum in place");
}

void scans() {
    const int mine = rank() + 1;
    int upto = -1, before = -1;
    both([&] { MPI_Scan(&mine, &upto, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); },
         [&](MPI_Request* r) { MPI_Iscan(&mine, &upto, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, r); });
    same(upto, mine * (mine + 1) / 2, "the sum up to mine");
    both([&] { MPI_Exscan(&mine, &before, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); },
         [&](MPI_Request* r) { MPI_Iexscan(&mine, &before, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, r); });
    same(before, rank() == 0 ? -1 : mine * (mine - 1) / 2, "the sum before mine");
}

void many_at_once() {
    constexpr int many = 20;
    std::vector<MPI_Request> requests(2 * many);
    std::vector<std::vector<int>> data(many, filled(5, rank())), sums(many, filled(5, -1));
    for (int i = 0; i < many; ++i) {
        const auto at = static_cast<std::size_t>(i);
        MPI_Iallreduce(data[at].data(), sums[at].data(), 5, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[2 * at]);
        MPI_Ibarrier(MPI_COMM_WORLD, &requests[2 * at + 1]);
    }
    std::reverse(requests.begin(), requests.end());
    MPI_Waitall(2 * many, requests.data(), MPI_STATUSES_IGNORE);
    for (const Ints& each : sums) same(each[4], sum_of_ranks(), "a sum");
}

}  // namespace

std::vector<Case> collective_cases() {
    return {{"barrier", barrier},
            {"bcast", bcast},
            {"gather", gather},
            {"gatherv_and_scatterv", gatherv_and_scatterv},
            {"scatter", scatter},
            {"allgather", allgather},
            {"allgatherv", allgatherv},
            {"alltoall", alltoall},
            {"alltoallv_and_alltoallw", alltoallv_and_alltoallw},
            {"reduce", reduce},
            {"allreduce", allreduce},
            {"reduce_scatter", reduce_scatter},
            {"scans", scans},
            {"many_at_once", many_at_once}};
}

}  // namespace answers
