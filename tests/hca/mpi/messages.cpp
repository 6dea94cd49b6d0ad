#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "hca/mpi/workout.hpp"
#include "loom/base/error.hpp"
#include "loom/base/random.hpp"

namespace loom::workout {
namespace {

struct World {
    int rank = 0, ranks = 0;
    World() {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    }
    [[nodiscard]] int beside(int step) const { return (rank + step % ranks + ranks) % ranks; }
};

// A byte that depends on who sent it, on which message it is part of and where it lies.
unsigned char pattern(std::uint64_t seed, int sender, int tag, std::size_t at) {
    const std::uint64_t mixed = (seed * 0x9e3779b97f4a7c15ull) ^ (static_cast<std::uint64_t>(sender) << 40) ^
                                (static_cast<std::uint64_t>(tag) << 24) ^ at;
    return static_cast<unsigned char>((mixed * 0xbf58476d1ce4e5b9ull) >> 56);
}

void fill(std::vector<unsigned char>& data, std::uint64_t seed, int sender, int tag) {
    for (std::size_t at = 0; at < data.size(); ++at) data[at] = pattern(seed, sender, tag, at);
}

void check(const std::vector<unsigned char>& data, std::uint64_t seed, int sender, int tag) {
    for (std::size_t at = 0; at < data.size(); ++at)
        if (data[at] != pattern(seed, sender, tag, at))
            throw Error(
                fmt::format("message {} of {} bytes from rank {} differs at byte {}", tag, data.size(), sender, at));
}

}  // namespace

std::uint64_t ring(std::uint64_t seed) {
    const World world;
    const int to = world.beside(1), from = world.beside(-1);
    std::uint64_t received = 0;
    std::vector<std::size_t> sizes{0, 1, 7, 64, 1000, 4096, 8192, 8193, 65536, 262144, 1u << 20, 4u << 20};
    int tag = 0;
    for (const std::size_t size : sizes) {  // one at a time
        std::vector<unsigned char> out(size), in(size, 0xee);
        fill(out, seed, world.rank, ++tag);
        MPI_Status status;
        MPI_Sendrecv(out.data(), static_cast<int>(size), MPI_BYTE, to, tag, in.data(), static_cast<int>(size), MPI_BYTE,
                     from, tag, MPI_COMM_WORLD, &status);
        int count = -1;
        MPI_Get_count(&status, MPI_BYTE, &count);
        if (count != static_cast<int>(size)) throw Error(fmt::format("{} bytes came for {}", count, size));
        check(in, seed, from, tag);
        received += size;
    }
    // All at once, received in the other order: some arrive before they are expected.
    std::vector<std::vector<unsigned char>> outs, ins;
    std::vector<MPI_Request> requests;
    for (const std::size_t size : sizes) {
        outs.emplace_back(size);
        ins.emplace_back(size, 0xee);
        fill(outs.back(), seed, world.rank, 100 + static_cast<int>(outs.size()));
    }
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        requests.emplace_back();
        MPI_Isend(outs[i].data(), static_cast<int>(sizes[i]), MPI_BYTE, to, 101 + static_cast<int>(i), MPI_COMM_WORLD,
                  &requests.back());
    }
    for (std::size_t i = sizes.size(); i-- > 0;) {
        requests.emplace_back();
        MPI_Irecv(ins[i].data(), static_cast<int>(sizes[i]), MPI_BYTE, from, 101 + static_cast<int>(i), MPI_COMM_WORLD,
                  &requests.back());
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        check(ins[i], seed, from, 101 + static_cast<int>(i));
        received += sizes[i];
    }
    // Many small ones: more than fit into any queue.
    constexpr int many = 3000;
    std::vector<std::uint64_t> out(many), in(many, 0);
    for (int i = 0; i < many; ++i)
        out[static_cast<std::size_t>(i)] = seed + static_cast<std::uint64_t>(world.rank * many + i);
    std::vector<MPI_Request> small(2 * many);
    for (int i = 0; i < many; ++i)
        MPI_Isend(&out[static_cast<std::size_t>(i)], 1, MPI_UINT64_T, to, 7, MPI_COMM_WORLD,
                  &small[static_cast<std::size_t>(i)]);
    for (int i = 0; i < many; ++i)
        MPI_Irecv(&in[static_cast<std::size_t>(i)], 1, MPI_UINT64_T, from, 7, MPI_COMM_WORLD,
                  &small[static_cast<std::size_t>(many + i)]);
    MPI_Waitall(2 * many, small.data(), MPI_STATUSES_IGNORE);
    for (int i = 0; i < many; ++i)
        if (in[static_cast<std::size_t>(i)] != seed + static_cast<std::uint64_t>(from * many + i))
            throw Error(fmt::format("small message {} of {} came out of order", i, many));
    return received + many * sizeof(std::uint64_t);
}

std::size_t sample_sort(std::size_t count, std::uint64_t seed) {
    const World world;
    const auto ranks = static_cast<std::size_t>(world.ranks);
    Random random(seed + static_cast<std::uint64_t>(world.rank) * 1000);
    std::vector<std::uint64_t> values(count);
    for (auto& value : values) value = random() >> 24;
    std::sort(values.begin(), values.end());
    const auto total = [](std::uint64_t here) {
        std::uint64_t all = 0;
        MPI_Allreduce(&here, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        return all;
    };
    const auto sum_of = [](const std::vector<std::uint64_t>& v) {
        return std::accumulate(v.begin(), v.end(), std::uint64_t{0});
    };
    const std::uint64_t sum_before = total(sum_of(values)), count_before = total(values.size());

    // Splitters from everybody's regular samples.
    std::vector<std::uint64_t> samples, all(ranks * ranks);
    for (std::size_t i = 0; i < ranks; ++i) samples.push_back(values[i * values.size() / ranks]);
    MPI_Allgather(samples.data(), world.ranks, MPI_UINT64_T, all.data(), world.ranks, MPI_UINT64_T, MPI_COMM_WORLD);
    std::sort(all.begin(), all.end());
    std::vector<int> lengths(ranks), starts(ranks), lengths_in(ranks), starts_in(ranks);
    std::size_t at = 0;
    for (std::size_t i = 0; i < ranks; ++i) {
        const auto end =
            i + 1 == ranks ? values.end() : std::lower_bound(values.begin(), values.end(), all[(i + 1) * ranks]);
        const auto stop = static_cast<std::size_t>(end - values.begin());
        starts[i] = static_cast<int>(at);
        lengths[i] = static_cast<int>(stop - at);
        at = stop;
    }
    MPI_Alltoall(lengths.data(), 1, MPI_INT, lengths_in.data(), 1, MPI_INT, MPI_COMM_WORLD);
    std::exclusive_scan(lengths_in.begin(), lengths_in.end(), starts_in.begin(), 0);
    std::vector<std::uint64_t> mine(static_cast<std::size_t>(starts_in.back() + lengths_in.back()));
    MPI_Alltoallv(values.data(), lengths.data(), starts.data(), MPI_UINT64_T, mine.data(), lengths_in.data(),
                  starts_in.data(), MPI_UINT64_T, MPI_COMM_WORLD);
    std::sort(mine.begin(), mine.end());

    if (total(sum_of(mine)) != sum_before || total(mine.size()) != count_before)
        throw Error("sorting lost or changed numbers");
    // My last is not beyond the next rank's first.
    std::uint64_t last = mine.empty() ? 0 : mine.back(), before = 0;
    std::uint64_t reached = 0;
    MPI_Scan(&last, &reached, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    MPI_Sendrecv(&reached, 1, MPI_UINT64_T, world.beside(1), 3, &before, 1, MPI_UINT64_T, world.beside(-1), 3,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (world.rank > 0 && !mine.empty() && mine.front() < before) throw Error("the ranks' parts overlap");
    return mine.size();
}

std::size_t windows(std::uint64_t seed) {
    const World world;
    constexpr std::size_t part = 1 << 16;
    std::size_t checked = 0;
    std::vector<unsigned char> memory(part * static_cast<std::size_t>(world.ranks), 0), out(part);
    MPI_Win window = MPI_WIN_NULL;
    MPI_Win_create(memory.data(), static_cast<MPI_Aint>(memory.size()), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    fill(out, seed, world.rank, 9);
    for (int target = 0; target < world.ranks; ++target)
        MPI_Put(out.data(), part, MPI_BYTE, target, static_cast<MPI_Aint>(part) * world.rank, part, MPI_BYTE, window);
    MPI_Win_fence(0, window);
    for (int sender = 0; sender < world.ranks; ++sender, ++checked) {
        const auto begin = memory.begin() + static_cast<long>(part) * sender;
        check({begin, begin + static_cast<long>(part)}, seed, sender, 9);
    }
    MPI_Win_fence(0, window);
    std::vector<unsigned char> in(part);
    for (int step = 1; step <= world.ranks; ++step, ++checked) {
        const int target = world.beside(step);
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window);
        MPI_Get(in.data(), part, MPI_BYTE, target, static_cast<MPI_Aint>(part) * world.rank, part, MPI_BYTE, window);
        MPI_Win_unlock(target, window);
        check(in, seed, world.rank, 9);
    }
    MPI_Win_free(&window);

    // Counters that everybody counts up at once.
    std::int64_t counters[2] = {0, 0};
    MPI_Win_create(counters, sizeof counters, sizeof counters[0], MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    constexpr int rounds = 100;
    MPI_Win_lock_all(0, window);
    for (int round = 0; round < rounds; ++round)
        for (int target = 0; target < world.ranks; ++target) {
            const std::int64_t one = 1;
            std::int64_t old = -1;
            MPI_Fetch_and_op(&one, &old, MPI_INT64_T, target, 0, MPI_SUM, window);
            MPI_Accumulate(&one, 1, MPI_INT64_T, target, 1, 1, MPI_INT64_T, MPI_SUM, window);
            MPI_Win_flush(target, window);
            if (old < round || old >= static_cast<std::int64_t>(rounds) * world.ranks)
                throw Error(fmt::format("a counter stood at {}", old));
            ++checked;
        }
    MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, world.rank, 0, window);
    for (const std::int64_t counter : counters)
        if (counter != static_cast<std::int64_t>(rounds) * world.ranks)
            throw Error(fmt::format("a counter ended at {} instead of {}", counter, rounds * world.ranks));
    MPI_Win_unlock(world.rank, window);
    MPI_Win_free(&window);
    return checked;
}

}  // namespace loom::workout
