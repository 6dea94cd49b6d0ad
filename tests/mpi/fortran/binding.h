! The three ways to MPI from Fortran, so that one source serves all: LOOM_WITH_mpif (mpif.h), LOOM_WITH_mpi and
! LOOM_WITH_mpi_f08 (the modules). LOOM_WITH_openmpi and LOOM_WITH_mpich say whose it is.
#ifdef LOOM_WITH_mpi_f08
#define COMM type(MPI_Comm)
#define GROUP type(MPI_Group)
#define REQUEST type(MPI_Request)
#define DATATYPE type(MPI_Datatype)
#define OPERATION type(MPI_Op)
#define WINDOW type(MPI_Win)
#define FILEHANDLE type(MPI_File)
#define MESSAGE type(MPI_Message)
#define STATUSES(NAME, NUMBER) type(MPI_Status) :: NAME(NUMBER)
#define ONE_STATUS(NAME) type(MPI_Status) :: NAME
#define SOURCE_OF(NAME) NAME%MPI_SOURCE
#define TAG_OF(NAME) NAME%MPI_TAG
#define TAG_IN(NAME, I) NAME(I)%MPI_TAG
#else
#define COMM integer
#define GROUP integer
#define REQUEST integer
#define DATATYPE integer
#define OPERATION integer
#define WINDOW integer
#define FILEHANDLE integer
#define MESSAGE integer
#define STATUSES(NAME, NUMBER) integer :: NAME(MPI_STATUS_SIZE, NUMBER)
#define ONE_STATUS(NAME) integer :: NAME(MPI_STATUS_SIZE)
#define SOURCE_OF(NAME) NAME(MPI_SOURCE)
#define TAG_OF(NAME) NAME(MPI_TAG)
#define TAG_IN(NAME, I) NAME(MPI_TAG, I)
#endif
! What MPICH 4.0 does wrong in the module mpi_f08: MPI_Neighbor_alltoallw asks every communicator for a distributed
! graph, MPI_Alltoallw reads as many types as there are ranks in its own group.
#if defined(LOOM_WITH_mpi_f08) && defined(LOOM_WITH_mpich)
#define LOOM_ALLTOALLW_MISCOUNTS
#endif
! Open MPI 4.1 has the persistent collectives as extensions.
#ifdef LOOM_WITH_openmpi
#define MPI_Barrier_init MPIX_Barrier_init
#define MPI_Bcast_init MPIX_Bcast_init
#define MPI_Allreduce_init MPIX_Allreduce_init
#define MPI_Alltoallw_init MPIX_Alltoallw_init
#define MPI_Neighbor_allgather_init MPIX_Neighbor_allgather_init
#endif
