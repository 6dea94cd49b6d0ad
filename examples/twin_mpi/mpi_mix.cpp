// Rank 0 gives work to the rank that asks first, and all sum meanwhile, in plain MPI: `loom twin cc mpi_mix.cpp -o
// mpi_mix`, then `loom twin run -n 12 --mpi ./mpi_mix`. Who gets which piece is decided by the order of arrival in
// virtual time.
#include <mpi.h>

#include <cstdio>
#include <vector>

namespace {

constexpr int pieces = 60, ask = 1, give = 2;
std::vector<int> mine;  // each rank has its own

void hand_out(int workers) {
    for (int next = 0, over = 0; over < workers;) {
        MPI_Status from;
        int piece = next < pieces ? next++ : -1;
        MPI_Recv(nullptr, 0, MPI_INT, MPI_ANY_SOURCE, ask, MPI_COMM_WORLD, &from);
        MPI_Send(&piece, 1, MPI_INT, from.MPI_SOURCE, give, MPI_COMM_WORLD);
        if (piece < 0) ++over;
    }
}

void work() {
    for (int piece = 0; piece >= 0;) {
        MPI_Sendrecv(nullptr, 0, MPI_INT, 0, ask, &piece, 1, MPI_INT, 0, give, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (piece >= 0) mine.push_back(piece * piece);
    }
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Request barrier = MPI_REQUEST_NULL;
    MPI_Ibarrier(half, &barrier);  // goes on behind the work
    if (rank == 0)
        hand_out(size - 1);
    else
        work();
    long sum = 0, all = 0;
    for (const int each : mine) sum += each;
    int count = static_cast<int>(mine.size()), most = 0;
    MPI_Reduce(&sum, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&count, &most, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Wait(&barrier, MPI_STATUS_IGNORE);
    if (rank == 0)
        std::printf("%d ranks: the squares of %d pieces make %ld, at most %d pieces a rank\n", size, pieces, all, most);
    MPI_Comm_free(&half);
    MPI_Finalize();
}
