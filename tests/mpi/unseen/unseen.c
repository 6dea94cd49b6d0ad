// MPI programs that libloom-mpi cannot give an account of: "pmpi" begins without MPI_Init, "early" ends without
// MPI_Finalize, "crash" does not even reach exit().
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
    const char* how = argc > 1 ? argv[1] : "";
    if (strcmp(how, "pmpi") == 0)
        PMPI_Init(&argc, &argv);
    else
        MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(how, "early") == 0) exit(0);
    if (strcmp(how, "crash") == 0) raise(SIGKILL);
    PMPI_Finalize();
    return 0;
}
