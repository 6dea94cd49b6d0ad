#!/usr/bin/env bash
# Tests in a checkout of LibNBC are compiled unchanged against our nbc.h, wherever they look for theirs, and believed only
# when they compile and end well. usage: libnbc.sh SUITES LIBRARIES NBC_H
set -euo pipefail
suites=$1 libraries=$2 header=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/tests"
export LOOM_SUITE_NBC=$folder

# body STATEMENTS: those of the only test.
body() {
  printf '#include <nbc.h>\n#include "../nbc.h"\nint main(int argc, char** argv) {\n' > "$folder/tests/test_it.c"
  printf 'NBC_Handle handle; MPI_Status status; MPI_Init(&argc, &argv); %s MPI_Finalize(); return code; }\n' "$1" >> "$folder/tests/test_it.c"
}
run() { "$suites" --suite nbc --mpi "$1" --match "on 2" --libraries "$libraries" --header "$header" > "$folder/out" 2>&1; }

body 'int code = NBC_Ibarrier(MPI_COMM_WORLD, &handle) + NBC_Wait(&handle, &status);'
for mpi in openmpi mpich; do
  run $mpi
  grep -q "test_it on 2 .*passes.*passes.*100.0 %" "$folder/out"
done
body 'int code = NBC_Ibarrier(MPI_COMM_WORLD, &handle) + NBC_Wait(&handle, &status) + 1;'
run openmpi || true
grep -q "test_it on 2 .*fails.*fails" "$folder/out"
body 'int code = NBC_Ibarrier(&handle) + NBC_Wait(&handle, &status);'
if run openmpi; then exit 1; fi
grep -q "test_it.c does not compile" "$folder/out"
