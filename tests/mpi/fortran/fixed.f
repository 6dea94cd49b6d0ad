C     A program of the old kind: fixed form, mpif.h, nothing declared for
C     MPI's functions, an operation that is an external procedure.
      PROGRAM FIXED
      IMPLICIT NONE
      INCLUDE 'mpif.h'
      INTEGER ME, RANKS, IERR, OP, REQS(2), STATS(MPI_STATUS_SIZE, 2)
      INTEGER FLAG(1), GOT(1), I
      DOUBLE PRECISION X(4), Y(4)
      EXTERNAL ADDUP
      CALL MPI_INIT(IERR)
      CALL MPI_COMM_RANK(MPI_COMM_WORLD, ME, IERR)
      CALL MPI_COMM_SIZE(MPI_COMM_WORLD, RANKS, IERR)
      DO 10 I = 1, 4
        X(I) = DBLE(I * (ME + 1))
   10 CONTINUE
      CALL MPI_OP_CREATE(ADDUP, .TRUE., OP, IERR)
      CALL MPI_IALLREDUCE(X, Y, 4, MPI_DOUBLE_PRECISION, OP,
     &                    MPI_COMM_WORLD, REQS(1), IERR)
      GOT(1) = ME
      CALL MPI_IALLREDUCE(MPI_IN_PLACE, GOT, 1, MPI_INTEGER, MPI_MAX,
     &                    MPI_COMM_WORLD, REQS(2), IERR)
      CALL MPI_WAITALL(2, REQS, STATS, IERR)
      CALL MPI_OP_FREE(OP, IERR)
      FLAG(1) = 0
      IF (GOT(1) .NE. RANKS - 1) FLAG(1) = 1
      DO 20 I = 1, 4
        IF (Y(I) .NE. DBLE(I * (RANKS * (RANKS + 1) / 2))) FLAG(1) = 1
   20 CONTINUE
      CALL MPI_ALLREDUCE(MPI_IN_PLACE, FLAG, 1, MPI_INTEGER, MPI_MAX,
     &                   MPI_COMM_WORLD, IERR)
      IF (ME .EQ. 0 .AND. FLAG(1) .EQ. 0) PRINT '(A)', 'all right'
      CALL MPI_FINALIZE(IERR)
      END

      SUBROUTINE ADDUP(A, B, N, KIND)
      INTEGER N, KIND, I
      DOUBLE PRECISION A(N), B(N)
      DO 30 I = 1, N
        B(I) = A(I) + B(I)
   30 CONTINUE
      END
