/* PETSc: 2-D Laplacian n x n, pipelined CG (one MPI_Iallreduce per iteration), Jacobi, fixed iterations. */
#include <petscksp.h>
int main(int argc, char** argv) {
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscInt n = 200, its = 2000, low, high;
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-its", &its, NULL));
    Mat A;
    Vec x, b, r;
    KSP ksp;
    PC pc;
    PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n * n, n * n, 5, NULL, 2, NULL, &A));
    PetscCall(MatGetOwnershipRange(A, &low, &high));
    for (PetscInt row = low; row < high; ++row) {
        PetscInt i = row / n, j = row % n, cols[5], k = 0;
        PetscScalar v[5];
        if (i > 0) cols[k] = row - n, v[k++] = -1;
        if (j > 0) cols[k] = row - 1, v[k++] = -1;
        cols[k] = row, v[k++] = 4;
        if (j < n - 1) cols[k] = row + 1, v[k++] = -1;
        if (i < n - 1) cols[k] = row + n, v[k++] = -1;
        PetscCall(MatSetValues(A, 1, &row, k, cols, v, INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecDuplicate(b, &r));
    PetscCall(VecSet(b, 1));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetType(ksp, KSPPIPECG));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, PCJACOBI));
    PetscCall(KSPSetTolerances(ksp, 1e-50, 1e-50, PETSC_DEFAULT, its));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(KSPSetUp(ksp));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    double t = MPI_Wtime();
    PetscCall(KSPSolve(ksp, b, x));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    t = MPI_Wtime() - t;
    PetscReal rn, bn;
    PetscInt done;
    KSPType type;
    PetscCall(MatMult(A, x, r));
    PetscCall(VecAXPY(r, -1, b));
    PetscCall(VecNorm(r, NORM_2, &rn));
    PetscCall(VecNorm(b, NORM_2, &bn));
    PetscCall(KSPGetIterationNumber(ksp, &done));
    PetscCall(KSPGetType(ksp, &type));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s n=%d iterations=%d time=%.4f s residual=%.3e\n", type, (int)n,
                          (int)done, t, (double)(rn / bn)));
    PetscCall(PetscFinalize());
    return 0;
}
