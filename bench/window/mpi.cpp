// loom_window_openmpi: what MPI has for a notified put: put, flush, and a flag that the target
// polls.
//   loom_window_MPI latency BYTES ROUNDS   half a round trip in microseconds
#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const auto bytes = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
    const auto rounds = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 0;
    if (size != 2 || bytes == 0 || rounds == 0 || std::string(argv[1]) != "latency") {
        std::fputs("usage: loom_window_MPI latency BYTES ROUNDS, two ranks\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    std::uint64_t* memory = nullptr;  // the flag, then the data
    MPI_Win window = MPI_WIN_NULL;
    MPI_Win_allocate(static_cast<MPI_Aint>(64 + bytes), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    memory[0] = 0;
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
    MPI_Barrier(MPI_COMM_WORLD);
    std::vector<char> data(bytes);
    const int other = 1 - rank;
    std::uint64_t next = 0;
    const auto put = [&](std::uint64_t flag) {
        MPI_Put(data.data(), static_cast<int>(bytes), MPI_BYTE, other, 64, static_cast<int>(bytes), MPI_BYTE, window);
        MPI_Win_flush(other, window);
        MPI_Put(&flag, 8, MPI_BYTE, other, 0, 8, MPI_BYTE, window);
        MPI_Win_flush(other, window);
    };
    const auto wait = [&](std::uint64_t flag) {
        while (__atomic_load_n(memory, __ATOMIC_ACQUIRE) != flag) MPI_Win_sync(window);
    };
    const auto run = [&](std::uint64_t number) {
        for (std::uint64_t i = 0; i < number; ++i) {
            ++next;
            if (rank == 1) wait(next);
            put(next);
            if (rank == 0) wait(next);
        }
    };
    run(rounds / 10 + 1);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    run(rounds);
    const double seconds = MPI_Wtime() - begin;
    if (rank == 0) std::printf("%.4f\n", seconds * 1e6 / static_cast<double>(rounds) / 2);
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
